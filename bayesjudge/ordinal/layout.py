"""An ordinal specification laid on a table: parameters, priors, and tallied levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells, cells_by_model
from bayesjudge.design.estimable import PAPER_TERMS, require_estimable
from bayesjudge.design.identify import Structure, identify
from bayesjudge.errors import DesignError
from bayesjudge.layout import Slot
from bayesjudge.levels import Levels, levels_of
from bayesjudge.marginal.cumulative.lattice import LINKS, LOGIT
from bayesjudge.marginal.cumulative.tallies import Tallies, tallies
from bayesjudge.priors import Prior, widest
from bayesjudge.scores import ScoreTable
from bayesjudge.specs import Spec
from bayesjudge.terms import TERMS, carrier, parts, place, sum_name
from bayesjudge.wording import counted

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OrdinalLayout:
    """An ordinal model specification laid on a score table.

    Attributes
    ----------
    spec : Spec
        The specification.
    models, scenarios, judges : tuple of str
        The table's labels.
    levels : Levels
        The levels of the scale.
    cells : tuple of Cells
        The calls of each evaluated model.
    structures : tuple of Structure
        Which latent effects the calls of each evaluated model can tell apart. The residual is the
        noise of the link, of fixed variance: an effect that is known only in a sum with it is in
        that noise, and has no parameter. Unless another evaluated model has that effect apart
        from the noise: thresholds are common, and would be of two minds about their unit.
    slots : tuple of Slot
        The standard deviations to be estimated, in a fixed order.
    priors : dict of Prior
        By name of the term or sum, on its standard deviation (latent).
    mean_prior, threshold_prior : Prior
        Of the models' latent means and of the thresholds.
    scale_prior : Prior or None
        Of the log scale of each judge's thresholds, where the model has it.
    tallies : Tallies
        Sufficient statistics of all evaluated models.
    """

    spec: Spec
    models: tuple[str, ...]
    scenarios: tuple[str, ...]
    judges: tuple[str, ...]
    levels: Levels
    cells: tuple[Cells, ...]
    structures: tuple[Structure, ...]
    slots: tuple[Slot, ...]
    priors: Mapping[str, Prior]
    mean_prior: Prior
    threshold_prior: Prior
    scale_prior: Prior | None
    tallies: Tallies

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed of the scores, in sentences."""
        repeated = sum(
            len(c.score) - len(np.unique(c.generation * c.n_judges + c.judge)) for c in self.cells
        )
        if not repeated:
            return self.levels.notes
        note = (
            f"{counted(repeated, 'call')} of a judge on a generation that it had scored before: "
            "the ordinal model has no latent generation:judge effect, so repeated calls count as "
            "independent. Where they only repeat themselves, keep one of each."
        )
        return (*self.levels.notes, note)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the latent terms and sums that some evaluated model has, in order."""
        found = {slot.name for slot in self.slots}
        return tuple(sorted(found, key=place))

    @property
    def link(self) -> int:
        """The link as `bayesjudge.marginal.cumulative` names it."""
        return LINKS[self.spec.link]

    @property
    def concentration(self) -> float:
        """Weight of the threshold prior on each level, in scores."""
        return self.threshold_prior.kwargs["total"] / len(self.levels.values)

    @property
    def noise(self) -> float:
        """Variance of the link's noise (latent)."""
        return float(np.pi**2 / 3) if self.link == LOGIT else 1.0

    def roles(self) -> FloatArray:
        """Return where each slot's standard deviation stands in the likelihood.

        Returns
        -------
        float array, shape (models, 3, slots)
            Zeros and ones: scenario, generation, judge.
        """
        places = ("scenario", "generation", "judge")
        matrix = np.zeros((len(self.models), len(places), len(self.slots)))
        for k, slot in enumerate(self.slots):
            matrix[slot.model, places.index(carrier(parts(slot.name))), k] = 1.0
        return matrix


def lay_out_ordinal(
    scores: ScoreTable,
    spec: Spec,
    prior_scale: float = 1.0,
    bins: int | None = None,
    *,
    keep_unused_levels: bool = False,
) -> OrdinalLayout:
    """Lay an ordinal specification on a table.

    Parameters
    ----------
    scores : ScoreTable
        The validated table.
    spec : Spec
        A specification of the cumulative family.
    prior_scale : float
        Multiplies the priors of all standard deviations: 2 for twice as wide.
    bins : int, optional
        Cut the scale into this many levels of equal width.
    keep_unused_levels : bool
        Whether declared levels that never occur are levels.

    Raises
    ------
    TypeError
        When the specification is not of the cumulative family.
    DesignError
        When the scores have no levels, when the table can't carry the effects, or when thresholds
        by judge are asked for and there are two levels only.
    """
    if spec.threshold_prior is None:
        raise TypeError(
            f"{spec.name} is a model of the {spec.family} family, not of the cumulative: lay it "
            "out with bayesjudge.layout.lay_out"
        )
    levels = levels_of(scores, bins, keep_unused=keep_unused_levels)
    if spec.threshold_scale is not None:
        _require_scales(scores, levels)
    cells = cells_by_model(scores.calls, len(scores.models))
    structures = tuple(identify(c, PAPER_TERMS) for c in cells)
    for label, c, structure in zip(scores.models, cells, structures, strict=True):
        require_estimable(label, c, structure)
    slots = tuple(
        Slot(name, c.model)
        for c, names in zip(cells, _estimated(structures), strict=True)
        for name in names
    )
    return OrdinalLayout(
        spec=spec,
        models=scores.models,
        scenarios=scores.scenarios,
        judges=scores.judges,
        levels=levels,
        cells=cells,
        structures=structures,
        slots=slots,
        priors={
            name: widest([spec.sd[term] for term in parts(name)]).scaled(prior_scale)
            for name in dict.fromkeys(slot.name for slot in slots)
        },
        mean_prior=spec.mean,
        threshold_prior=spec.threshold_prior,
        scale_prior=spec.threshold_scale,
        tallies=tallies([(c, _codes(scores, levels, c)) for c in cells]),
    )


def _estimated(structures: Sequence[Structure]) -> list[list[str]]:
    """Name the latent standard deviations of each evaluated model.

    What all models have in the noise of the link sets the unit of the thresholds. What only some
    have there makes their noise wider than that of the others, by a parameter.
    """
    noise = [
        {term for block in structure.blocks if "residual" in block for term in block}
        for structure in structures
    ]
    common = set.intersection(*noise)
    found = []
    for structure, own in zip(structures, noise, strict=True):
        names = [name for name in structure.names if "residual" not in parts(name)]
        if own - common:
            names.append(sum_name(own - common))
        found.append(sorted(names, key=lambda name: TERMS.index(parts(name)[0])))
    return found


def _codes(scores: ScoreTable, levels: Levels, cells: Cells) -> NDArray[np.int64]:
    """Give the level of each call of one model, in the order of its cells."""
    # Cells are sorted by score last, and codes ascend with scores; so the same sort serves.
    calls = scores.calls
    mine = calls.model == cells.model
    order = np.lexsort(
        (levels.codes[mine], calls.judge[mine], calls.generation[mine], calls.scenario[mine])
    )
    return np.asarray(levels.codes[mine][order])


def _require_scales(scores: ScoreTable, levels: Levels) -> None:
    if len(levels.values) < 3:
        raise DesignError(
            f"the scores have {len(levels.values)} levels, so one threshold: a scale of its "
            "thresholds for each judge needs three levels or more. Use model='ordinal'."
        )
    if len(scores.judges) < 2:
        raise DesignError(
            "there is one judge: a scale of its thresholds relative to the panel needs two or "
            "more. Use model='ordinal'."
        )
