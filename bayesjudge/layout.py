"""A specification laid on a table: which parameters there are, their priors, the statistics.

This is where the two meet. What stands to the right (models, engines, fit) asks nothing more
of either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.design.cells import Balance, Cells, balance, cells_by_model
from bayesjudge.design.estimable import require_estimable, require_noise
from bayesjudge.design.identify import Structure, identify
from bayesjudge.errors import DesignError
from bayesjudge.marginal.patterns import Patterns, patterns
from bayesjudge.marginal.strata import Strata, strata
from bayesjudge.priors import Prior, widest
from bayesjudge.scores import ScoreTable
from bayesjudge.specs import Spec
from bayesjudge.terms import TERMS, carrier, parts, place

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Slot:
    """One standard deviation: of a term or sum, in one evaluated model, perhaps of one judge."""

    name: str
    model: int
    judge: int | None = None


@dataclass(frozen=True, eq=False)
class Layout:
    """A model specification laid on a score table.

    Attributes
    ----------
    spec : Spec
        The specification.
    models, scenarios, judges : tuple of str
        The table's labels.
    cells : tuple of Cells
        The calls of each evaluated model.
    structures : tuple of Structure
        What the calls of each evaluated model can tell apart.
    slots : tuple of Slot
        The standard deviations to be estimated, in a fixed order: one for each term or sum of
        each evaluated model, or one a judge.
    priors : dict of Prior
        By name of the term or sum, on its standard deviation (score).
    mean_prior : Prior
        Normal prior of the panel mean (score).
    patterns : tuple of Patterns
        Sufficient statistics of each evaluated model.
    strata : tuple of (Strata or None)
        The analysis of variance of each balanced evaluated model.
    """

    spec: Spec
    models: tuple[str, ...]
    scenarios: tuple[str, ...]
    judges: tuple[str, ...]
    cells: tuple[Cells, ...]
    structures: tuple[Structure, ...]
    slots: tuple[Slot, ...]
    priors: Mapping[str, Prior]
    mean_prior: Prior
    patterns: tuple[Patterns, ...]
    strata: tuple[Strata | None, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the terms and sums that some evaluated model has, in order."""
        found = {slot.name for slot in self.slots}
        return tuple(sorted(found, key=place))

    @property
    def by_judge(self) -> bool:
        """Whether the residual has one standard deviation for each judge."""
        return self.spec.residual == "judge"

    def roles(self) -> FloatArray:
        """Return where each slot's variance stands in the likelihood.

        Returns
        -------
        float array, shape (models, 5 + judges, slots)
            Zeros and ones: the terms of `bayesjudge.terms.TERMS`, with the residual of each
            judge of the table. A sum takes the place of its carrier
            (`bayesjudge.terms.carrier`); the other terms of the sum are zero.
        """
        fixed = len(TERMS) - 1
        matrix = np.zeros((len(self.models), fixed + len(self.judges), len(self.slots)))
        for k, slot in enumerate(self.slots):
            term = TERMS.index(carrier(parts(slot.name)))
            if term < fixed:
                matrix[slot.model, term, k] = 1.0
            elif slot.judge is None:
                matrix[slot.model, fixed:, k] = 1.0
            else:
                matrix[slot.model, fixed + slot.judge, k] = 1.0
        return matrix


def lay_out(scores: ScoreTable, spec: Spec, prior_scale: float = 1.0) -> Layout:
    """Lay a specification on a table.

    Parameters
    ----------
    scores : ScoreTable
        The validated table.
    spec : Spec
        The model specification.
    prior_scale : float
        Multiplies the priors of all standard deviations: 2 for twice as wide.

    Raises
    ------
    TypeError
        When the specification is not of the gaussian family.
    DesignError
        When the table has no degrees of freedom for a residual, when terms are entangled in a
        way that no single sum describes, or when the scale has no extent.
    """
    if spec.family != "gaussian":
        raise TypeError(
            f"{spec.name} is a model of the {spec.family} family, not of the gaussian: lay it out "
            "with bayesjudge.ordinal.layout.lay_out_ordinal"
        )
    low, high, _ = scores.scale
    unit = high - low if spec.unit == "range" else 1.0
    if not unit > 0:
        raise DesignError(
            f"the scale runs from {low:g} to {high:g}: priors in units of its range need an "
            'extent. Declare it: scale=(low, high) or --scale "low:high".'
        )
    cells = cells_by_model(scores.calls, len(scores.models))
    structures = tuple(identify(c, spec.terms) for c in cells)
    for label, c, structure in zip(scores.models, cells, structures, strict=True):
        require_estimable(label, c, structure)
        require_noise(label, c, structure)
    slots = tuple(
        slot
        for c, structure in zip(cells, structures, strict=True)
        for slot in _slots(c, structure, by_judge=spec.residual == "judge")
    )
    sizes: list[Balance | None] = [None if spec.residual == "judge" else balance(c) for c in cells]
    return Layout(
        spec=spec,
        models=scores.models,
        scenarios=scores.scenarios,
        judges=scores.judges,
        cells=cells,
        structures=structures,
        slots=slots,
        priors={
            name: widest([spec.sd[term] for term in parts(name)]).scaled(unit * prior_scale)
            for name in dict.fromkeys(slot.name for slot in slots)
        },
        mean_prior=spec.mean.scaled(unit).shifted(low if spec.unit == "range" else 0.0),
        patterns=tuple(patterns(c) for c in cells),
        strata=tuple(
            None if b is None else strata(c, b) for c, b in zip(cells, sizes, strict=True)
        ),
    )


def _slots(cells: Cells, structure: Structure, by_judge: bool) -> list[Slot]:
    slots = []
    for name in structure.names:
        if by_judge and "residual" in parts(name):
            slots += [Slot(name, cells.model, int(judge)) for judge in cells.judge_ids]
        else:
            slots.append(Slot(name, cells.model))
    return slots
