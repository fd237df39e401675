"""A specification laid on a table: which parameters there are, their priors, the statistics.

This is where the two meet. What stands to the right (models, engines, fit) asks nothing more
of either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.cells import Balance, Cells, balance, cells_by_model
from bayesjudge.errors import DesignError
from bayesjudge.identify import Structure, identify
from bayesjudge.marginal.patterns import Patterns, patterns
from bayesjudge.marginal.strata import Strata, strata
from bayesjudge.priors import Prior, widest
from bayesjudge.scores import ScoreTable
from bayesjudge.specs import Spec
from bayesjudge.terms import TERMS, carrier, parts

FloatArray = NDArray[np.float64]


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
    parameters : tuple of str
        Names of the terms and sums that some evaluated model has, such as "scenario" or
        "generation:judge+residual"; each has a standard deviation for each model.
    applies : bool array, shape (models, parameters)
        Which evaluated model has which.
    priors : dict of Prior
        By parameter, on its standard deviation (score).
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
    parameters: tuple[str, ...]
    applies: NDArray[np.bool_]
    priors: Mapping[str, Prior]
    mean_prior: Prior
    patterns: tuple[Patterns, ...]
    strata: tuple[Strata | None, ...]

    @property
    def residual(self) -> str:
        """Name of the parameter that carries the residual."""
        return next(name for name in self.parameters if "residual" in parts(name))

    @property
    def by_judge(self) -> bool:
        """Whether the residual has one standard deviation for each judge."""
        return self.spec.residual == "judge"

    def judged(self) -> NDArray[np.bool_]:
        """Which judge scored which evaluated model, shape (models, judges)."""
        mask = np.zeros((len(self.models), len(self.judges)), dtype=bool)
        for cells in self.cells:
            mask[cells.model, cells.judge_ids] = True
        return mask


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
    DesignError
        When the table has no degrees of freedom for a residual, when terms are entangled in a
        way that no single sum describes, or when the scale has no extent.
    """
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
        _fit_for_use(label, c, structure)
    names = {name for structure in structures for name in structure.names}
    parameters = tuple(sorted(names, key=lambda name: [TERMS.index(t) for t in parts(name)]))
    sizes: list[Balance | None] = [
        None if spec.residual == "judge" else balance(c) for c in cells
    ]
    return Layout(
        spec=spec,
        models=scores.models,
        scenarios=scores.scenarios,
        judges=scores.judges,
        cells=cells,
        structures=structures,
        parameters=parameters,
        applies=np.array([[name in s.names for name in parameters] for s in structures]),
        priors={
            name: widest([spec.sd[term] for term in parts(name)]).scaled(unit * prior_scale)
            for name in parameters
        },
        mean_prior=spec.mean.scaled(unit).shifted(low if spec.unit == "range" else 0.0),
        patterns=tuple(patterns(c) for c in cells),
        strata=tuple(b and strata(c, b) for c, b in zip(cells, sizes, strict=True)),
    )


def _fit_for_use(label: str, cells: Cells, structure: Structure) -> None:
    if "residual" in structure.absent:
        raise DesignError(
            f"model {label!r} has {len(cells.score)} scores from {cells.n_judges} judges and "
            "nothing varies but the judge: no variance can be estimated. It needs a second "
            "scenario, a second generation or repeated calls; or leave it out with `where`."
        )
    if structure.entangled:
        block = ", ".join(structure.entangled[0])
        raise DesignError(
            f"model {label!r}: the design mixes scenarios in such a way that {block} are known "
            "only in combinations, not as separate variances nor as one common term. Score a "
            "few scenarios with two judges on two generations, or fit a model without "
            "scenario:judge (model='linear-paper')."
        )


def role_matrix(parameters: tuple[str, ...]) -> FloatArray:
    """Return where each parameter stands in the likelihood, shape (parameters, terms).

    A sum takes the place of its carrier (`bayesjudge.terms.carrier`); the other terms of the
    sum are zero there.
    """
    matrix = np.zeros((len(parameters), len(TERMS)))
    for p, name in enumerate(parameters):
        matrix[p, TERMS.index(carrier(parts(name)))] = 1.0
    return matrix
