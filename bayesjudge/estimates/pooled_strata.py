r"""Balanced tables as a triangular system: mean squares on one side, components on the other.

Strata whose mean squares have the same expectation under the model are pooled. What is left are as
many strata as components that the design can tell apart, and every component is a multiple of one
mean square, or of the difference of two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells, balance, cells_by_model
from bayesjudge.design.estimable import PAPER_TERMS, require_estimable
from bayesjudge.design.identify import Structure, identify
from bayesjudge.errors import DesignError
from bayesjudge.marginal.strata import Strata, expected_mean_squares, strata
from bayesjudge.scores import require_table
from bayesjudge.terms import TERMS, carrier, parts
from bayesjudge.wording import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayesjudge.scores import ScoreTable

FloatArray = NDArray[np.float64]


_NONE = 1e-9  # what rounding leaves of a coefficient that is zero


def finite_panel(names: Sequence[str], n_judges: int) -> FloatArray:
    """Return the matrix from the variance parameters of a model to the components reported.

    Parameters
    ----------
    names : sequence of str
        The identified terms and sums, from `bayesjudge.design.identify.identify`.
    n_judges : int
        Judges of the panel, K.

    Returns
    -------
    float array, shape (components, parameters)
        The identity, but: judge, scenario:judge and generation:judge are mean squares over the
        panel, (K-1)/K times the parameter; and 1/K of generation:judge's parameter, where it is
        told apart, is common to all judges and so belongs to generation.
    """
    matrix = np.eye(len(names))
    if n_judges < 2:
        return matrix
    for k, name in enumerate(names):
        carried = carrier(parts(name))
        if carried in ("judge", "scenario:judge", "generation:judge"):
            matrix[k, k] = 1 - 1 / n_judges
        if carried == "generation:judge":
            for other, block in enumerate(names):
                if "generation" in parts(block):
                    matrix[other, k] = 1 / n_judges
    return matrix


@dataclass(frozen=True, eq=False)
class PooledStrata:
    """The strata of one evaluated model under a model, and the components they determine.

    Attributes
    ----------
    strata : Strata
        Before pooling.
    structure : Structure
        The components and sums that the design can tell apart, and the terms that it can't show.
    sources : tuple of str
        Names of the strata; those that were pooled are "residual".
    df, ms : float array, shape (strata,)
        Degrees of freedom and mean squares (score²).
    expected : float array, shape (strata, components)
        Coefficients of the variance parameters in the expected mean squares.
    weights : float array, shape (components, strata)
        Of the mean squares in the components as reported.
    """

    strata: Strata
    structure: Structure
    sources: tuple[str, ...]
    df: FloatArray
    ms: FloatArray
    expected: FloatArray
    weights: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components and sums."""
        return self.structure.names

    @property
    def n_judges(self) -> int:
        """Judges of the panel."""
        return self.strata.balance.judges

    def in_words(self, coefficients: FloatArray) -> str:
        """Write an expected mean square, such as ``"residual + 5 generation"``."""
        words = []
        for name, weight in reversed(list(zip(self.names, coefficients, strict=True))):
            if abs(weight) > _NONE * np.abs(coefficients).max():
                factor = "" if np.isclose(weight, 1) else f"{weight:.4g} "
                words.append(f"{factor}({name})" if "+" in name else f"{factor}{name}")
        return " + ".join(words)


def pooled_strata(cells: Cells, interaction: bool, label: str | None) -> PooledStrata:
    """Pool the strata of one evaluated model and solve for its components.

    Parameters
    ----------
    cells : Cells
        The calls of one evaluated model.
    interaction : bool
        Whether the model has scenario:judge and generation:judge.
    label : str or None
        The model's name, for messages.

    Raises
    ------
    DesignError
        If it is not balanced, or nothing in it varies but the judge.
    """
    structure = identify(cells, TERMS if interaction else PAPER_TERMS)
    name = require_estimable(label, cells, structure)
    table = balanced_strata(cells, name)
    expected = expected_mean_squares(table.balance)
    carriers = [carrier(parts(block)) for block in structure.names]
    pooled: dict[tuple[float, ...], list[str]] = {}
    for stratum in table.ss:
        row = tuple(expected[stratum].get(term, 0.0) for term in carriers)
        pooled.setdefault(row, []).append(stratum)
    df = np.array([sum(table.df[s] for s in group) for group in pooled.values()], dtype=float)
    ss = np.array([sum(table.ss[s] for s in group) for group in pooled.values()])
    matrix = np.array(list(pooled))
    # As many strata as parameters, in an order that makes the system triangular.
    weights = finite_panel(structure.names, cells.n_judges) @ np.linalg.inv(matrix)
    return PooledStrata(
        strata=table,
        structure=structure,
        sources=tuple(g[0] if len(g) == 1 else "residual" for g in pooled.values()),
        df=df,
        ms=ss / df,
        expected=matrix,
        weights=np.where(np.abs(weights) > _NONE * np.abs(weights).max(1)[:, None], weights, 0.0),
    )


def balanced_strata(cells: Cells, name: str = "") -> Strata:
    """Decompose a balanced model; a sum of squares that is rounding error alone is zero."""
    size = balance(cells)
    if size is None:
        raise DesignError(_unbalanced([f"{name} ({_imbalance(cells)})"]))
    table = strata(cells, size)
    rounding = len(cells.score) * (16 * np.finfo(float).eps * np.abs(cells.score).max()) ** 2
    return replace(table, ss={k: v if v > rounding else 0.0 for k, v in table.ss.items()})


def balanced_cells(scores: ScoreTable) -> tuple[Cells, ...]:
    """Return the calls of each evaluated model, or refuse if some are not balanced."""
    require_table(scores)
    cells = cells_by_model(scores.calls, len(scores.models))
    bad = [
        f"{label!r} ({_imbalance(c)})"
        for label, c in zip(scores.models, cells, strict=True)
        if balance(c) is None
    ]
    if bad:
        raise DesignError(_unbalanced(bad))
    return cells


def _unbalanced(models: Sequence[str]) -> str:
    one = len(models) == 1
    return (
        f"The closed forms need a balanced table, and {'model' if one else 'models'} "
        f"{listed(models)} {'is' if one else 'are'} not. "
        "REML (`reml`) estimates the same components from any table; or leave out the scenarios "
        "or judges that are incomplete, with select(...) or `where`."
    )


def _imbalance(cells: Cells) -> str:
    """Say what keeps a model's calls from being balanced."""
    K, generations = cells.n_judges, cells.n_generations
    per_scenario = np.bincount(cells.generation_scenario)
    per_cell = np.bincount(cells.generation * K + cells.judge, minlength=generations * K)
    found = []
    if empty := int((per_cell == 0).sum()):
        found.append(f"{empty:,} of {per_cell.size:,} cells missing")
    if np.ptp(per_scenario):
        found.append(f"{per_scenario.min()} to {per_scenario.max()} generations per scenario")
    asked = per_cell[per_cell > 0]
    if np.ptp(asked):
        found.append(f"{asked.min()} to {asked.max()} calls per cell")
    return ", ".join(found)
