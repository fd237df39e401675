r"""Restricted maximum likelihood: variance components of any table, balanced or not.

What is maximised is the likelihood of the linear model with the judge means flat, so that they cost
degrees of freedom and don't bias the variances (Patterson and Thompson, 1971). It is the model that
lme4 calls ``score ~ judge + (1|scenario) + (1|scenario:generation) [+ (1|scenario:judge)]``. Its
interaction is free, ours sums to zero over the judges: scenario here is scenario + interaction/K
there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, special

from bayesjudge.design.cells import Cells, cells_by_model
from bayesjudge.design.estimable import PAPER_TERMS, require_estimable
from bayesjudge.design.identify import identify, sizes_of
from bayesjudge.estimates.judge_tables import check_prob
from bayesjudge.estimates.pooled_strata import finite_panel
from bayesjudge.marginal.gaussian import Variances, by_term, moments
from bayesjudge.marginal.gaussian_gradient import value_and_gradient
from bayesjudge.marginal.patterns import Patterns, patterns
from bayesjudge.scores import require_table
from bayesjudge.terms import TERMS, carrier, parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayesjudge.scores import ScoreTable

FloatArray = NDArray[np.float64]

_FIELDS = {
    "scenario": "scenario",
    "generation": "generation",
    "scenario:judge": "interaction",
    "generation:judge": "cell",
    "residual": "residual",
}
# A residual of zero has no likelihood; below this share of the variance it is reported as zero.
_FLOOR = 1e-6
# The first climb keeps away from there, where a long step could lose all digits.
_CLIMB_FLOOR = 1e-4
_WORST = 1e6  # negative log likelihood a score, in place of infinity
_ROUNDS = 60
# Newton's decrement is twice the log likelihood still to be gained.
_DECREMENT = 1e-13
_CONVERGED = 1e-6


def reml(scores: ScoreTable, interaction: bool = False, prob: float | None = None) -> pd.DataFrame:
    r"""Estimate the variance components of every evaluated model by restricted likelihood.

    Parameters
    ----------
    scores : ScoreTable
        Any table; scores may be missing, and generations and calls may vary in number.
    interaction : bool
        False for scenario, generation, judge and residual; True for all six terms.
    prob : float, optional
        Adds intervals of this probability, from the profile of the restricted likelihood.

    Returns
    -------
    DataFrame
        Index (model, component), the components as the design can tell them apart. Columns:

        - ``estimate`` (score²), never negative;
        - ``at_boundary``: the likelihood is largest with this variance at zero;
        - ``converged``: the gradient vanishes, or points below zero at the boundary;
        - ``ci_low``, ``ci_high`` (score²), with `prob` only: where twice the log likelihood,
          maximised over the other variances, falls by the quantile of chi-squared on 1 df. NaN
          for judge, and for generation where repeated calls tell generation:judge apart.

        ``attrs``: the arguments, and ``sizes``: by evaluated model its ``scenarios``, ``judges``
        and the terms that are ``absent``.

    Raises
    ------
    DesignError
        If nothing varies but the judge, or terms are known in no separate or common variance.

    Notes
    -----
    On a balanced table whose closed-form estimates are all positive, these are the same. Where
    one is negative, REML is not that estimate cut at zero: the others change with it.
    ``scenario:judge`` and ``generation:judge`` are reported as mean squares over the panel, and
    ``judge`` is the dispersion of the estimated offsets less what their errors add to it,
    :math:`K^{-1} (\hat\gamma'\hat\gamma - \mathrm{tr}\,V_\gamma)`, cut at zero: see
    `bayesjudge.anova`.
    """
    require_table(scores)
    if prob is not None:
        check_prob(prob)
    frames = [
        reml_model(c, interaction, prob, label)
        for label, c in zip(
            scores.models, cells_by_model(scores.calls, len(scores.models)), strict=True
        )
    ]
    table = pd.concat(frames, keys=scores.models, names=["model", "component"])
    table.attrs = {
        "interaction": interaction,
        "prob": prob,
        "criterion": "restricted likelihood",
        "sizes": {
            label: frame.attrs["sizes"] for label, frame in zip(scores.models, frames, strict=True)
        },
    }
    return table


def reml_model(
    cells: Cells, interaction: bool = False, prob: float | None = None, label: str | None = None
) -> pd.DataFrame:
    """Estimate the variance components of one evaluated model, as `reml` does.

    Parameters
    ----------
    cells : Cells
        The calls of one evaluated model.
    interaction, prob
        As for `reml`.
    label : str, optional
        The model's name, for messages.

    Returns
    -------
    DataFrame
        Index component; columns as those of `reml`.

    Raises
    ------
    DesignError
        As for `reml`.
    """
    structure = identify(cells, TERMS if interaction else PAPER_TERMS)
    require_estimable(label, cells, structure)
    names = tuple(name for name in structure.names if name != "judge")
    K = cells.n_judges
    problem = _problem(cells, names)
    if problem.scale == 0:  # each judge gave one and the same score throughout
        x, converged = np.zeros(len(names)), True
        judge = float(np.var(np.bincount(cells.judge, cells.score) / np.bincount(cells.judge)))
    else:
        x, converged = _maximise(problem)
        judge = _judge_dispersion(problem, x)
    zero = x <= problem.lower
    panel = finite_panel(names, K)
    estimates = panel @ (np.where(zero, 0.0, x) * problem.scale)
    ends = np.full((len(names), 2), np.nan)
    if prob is not None and problem.scale:
        for k in range(len(names)):
            if np.count_nonzero(panel[k]) == 1:
                ends[k] = panel[k, k] * problem.scale * _profile(problem, x, k, prob)
    rows = {
        name: (float(estimates[k]), bool(zero[k]), converged, *ends[k])
        for k, name in enumerate(names)
    }
    rows["judge"] = (max(judge, 0.0), judge <= 0, converged, np.nan, np.nan)
    columns = ["estimate", "at_boundary", "converged", "ci_low", "ci_high"]
    index = pd.Index(structure.names, name="component")
    frame = pd.DataFrame([rows[name] for name in index], index=index, columns=columns)
    frame = frame if prob is not None else frame.iloc[:, :3]
    frame.attrs = {"sizes": sizes_of(cells, structure)}
    return frame


@dataclass(frozen=True, eq=False)
class _Problem:
    """The restricted likelihood as a function of variances in units of `scale` (score²)."""

    stats: Patterns
    fields: tuple[str, ...]
    lower: FloatArray
    scale: float

    def variances(self, x: FloatArray) -> Variances:
        K = self.stats.counts.shape[1]
        v = dict(zip(self.fields, x * self.scale, strict=True))
        order = ("scenario", "generation", "judge", "interaction", "cell")
        return by_term(np.array([v.get(f, 0.0) for f in order]), np.full(K, v["residual"]))

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        try:
            value, slope = value_and_gradient(self.stats, self.variances(x), None)
        except np.linalg.LinAlgError:  # so small a residual that the precisions lose their digits
            return -np.inf, np.zeros_like(x)
        parts = [np.sum(getattr(slope, field)) for field in self.fields]
        return value, np.array(parts) * self.scale


def _problem(cells: Cells, names: tuple[str, ...]) -> _Problem:
    calls = np.bincount(cells.judge)
    # Differences from the grand mean first: a shift of all scores must not cost digits.
    score = cells.score - cells.score.mean()
    score = score - (np.bincount(cells.judge, score) / calls)[cells.judge]
    rounding = (16 * np.finfo(float).eps * np.abs(cells.score).max()) ** 2
    variance = float((score**2).sum() / (len(score) - len(calls)))
    fields = tuple(_FIELDS[carrier(parts(name))] for name in names)
    return _Problem(
        stats=patterns(cells),
        fields=fields,
        lower=np.array([_FLOOR if field == "residual" else 0.0 for field in fields]),
        scale=variance if variance > rounding else 0.0,
    )


def _starts(problem: _Problem) -> list[FloatArray]:
    """Spread the variance evenly, nearly all of it on the residual, all of it, and little."""
    residual = problem.lower > 0
    others = max(len(residual) - 1, 1)
    shares = (1 / (others + 1), 0.95, 1.0, 0.2)
    return [np.where(residual, share, (1 - share) / others) for share in shares]


def _maximise(problem: _Problem) -> tuple[FloatArray, bool]:
    """Find the largest restricted likelihood: L-BFGS-B from several starts, then Newton."""
    found = [_climb(problem, start) for start in _starts(problem)]
    best = max(found, key=lambda x: problem(x)[0])
    return _polish(problem, best)


def _climb(problem: _Problem, start: FloatArray, fixed: int | None = None) -> FloatArray:
    """Maximise from one start, with one variance held where it is if `fixed`."""
    size = problem.stats.n_calls

    def downhill(x: FloatArray) -> tuple[float, FloatArray]:
        value, slope = problem(x)
        return min(-value / size, _WORST), -slope / size

    floor = np.where(problem.lower > 0, _CLIMB_FLOOR, 0.0)
    bounds: list[tuple[float, float | None]] = [(low, None) for low in floor]
    if fixed is not None:
        bounds[fixed] = (start[fixed], start[fixed])
    options = {"maxiter": 500, "ftol": 1e-15, "gtol": 1e-10}
    found = optimize.minimize(
        downhill, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    return np.asarray(found.x)


def _polish(problem: _Problem, x: FloatArray) -> tuple[FloatArray, bool]:
    """Newton steps on the variances off the boundary, until the gradient is rounding error."""
    decrement = np.inf
    for _ in range(_ROUNDS):
        value, slope = problem(x)
        free = (x > problem.lower) | (slope > 0)
        step = np.zeros_like(x)
        step[free] = _newton(problem, x, slope, free)
        decrement = float(slope @ step)
        if decrement < _DECREMENT:
            break
        shorter = 1.0
        while shorter > 1e-6:
            new = np.maximum(x + shorter * step, problem.lower)
            if problem(new)[0] > value:
                break
            shorter /= 2
        else:
            break
        x = new
    return x, decrement < _CONVERGED


def _newton(
    problem: _Problem, x: FloatArray, slope: FloatArray, free: NDArray[np.bool_]
) -> FloatArray:
    """Return the uphill Newton step of the free variances, the Hessian by differences."""
    index = np.flatnonzero(free)
    hessian = np.empty((len(index), len(index)))
    for row, k in enumerate(index):
        nudge = 1e-5 * max(x[k], 1e-4)
        ahead, behind = x.copy(), x.copy()
        ahead[k] += nudge
        behind[k] = max(x[k] - nudge, problem.lower[k])
        rise = problem(ahead)[1] - problem(behind)[1]
        hessian[row] = rise[index] / (ahead[k] - behind[k])
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    # Away from a maximum some curvature may be upward: its size still gives a sensible step.
    curvature = np.maximum(np.abs(values), 1e-12 * np.abs(values).max())
    return np.asarray(vectors @ ((vectors.T @ slope[index]) / curvature))


def _judge_dispersion(problem: _Problem, x: FloatArray) -> float:
    """Mean square of the judge offsets, less the share of their estimation errors (score²)."""
    m = moments(problem.stats, problem.variances(x))
    V = np.linalg.inv((problem.stats.kind_size[:, None, None] * m.A).sum(0))
    means = V @ m.a.sum(0)
    K = len(means)
    contrast = np.eye(K) - 1 / K
    return float((means @ contrast @ means - np.sum(contrast * V)) / K)


def _profile(problem: _Problem, x: FloatArray, k: int, prob: float) -> FloatArray:
    """Find where the profile of one variance falls by half the chi-squared quantile."""
    fall = special.chdtri(1, 1 - prob) / 2
    top = problem(x)[0]
    last = x.copy()

    def excess(value: float) -> float:
        nonlocal last
        start = last.copy()
        start[k] = value
        last = _climb(problem, start, fixed=k)
        return max(float(problem(last)[0] - top + fall), -_WORST)

    floor = float(problem.lower[k])
    low = floor if excess(floor) >= 0 else _root(excess, floor, float(x[k]))
    last = x.copy()
    high = 2 * max(float(x[k]), 0.01)
    while excess(high) > 0:
        high *= 2
    return np.array([0.0 if low == floor else low, _root(excess, float(x[k]), high)])


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    return float(optimize.brentq(function, low, high, xtol=1e-7, rtol=1e-6))
