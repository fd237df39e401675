r"""Closed-form variance components of balanced tables: the published estimators and the G-study.

Each mean square of a balanced table has an expectation that is linear in the variances. Solving
for them gives unbiased estimates without iteration. Two models share one code path:

- ``interaction=False``: scenario, generation, judge and residual (arXiv 2603.01865, Eq. 1 and
  Appendix D). Strata with the same expectation are pooled; so comes about its MS_W.
- ``interaction=True``: scenario x judge with generations nested in scenarios and judges fixed,
  sum-to-zero interactions (Cornfield and Tukey, 1956; Brennan, *Generalizability Theory*, 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from bayesjudge.cells import Cells, balance, cells_by_model
from bayesjudge.errors import BayesJudgeError, DesignError
from bayesjudge.identify import identify
from bayesjudge.intervals import (
    chi2_interval,
    fixed_effects_interval,
    modified_large_sample,
    noncentral_f_interval,
    satterthwaite,
)
from bayesjudge.marginal.strata import Strata, expected_mean_squares, strata
from bayesjudge.settings import INTERVAL_PROB
from bayesjudge.terms import TERMS, carrier, parts
from bayesjudge.wording import counted, did_you_mean, listed, quoted

if TYPE_CHECKING:
    from bayesjudge.scores import ScoreTable

FloatArray = NDArray[np.float64]

PAPER_TERMS = ("scenario", "generation", "judge", "residual")

_INTERVALS = {
    "mls": ("modified large sample", modified_large_sample),
    "satterthwaite": ("Satterthwaite", satterthwaite),
}
_ERRORS = {
    "paper": ("scenario:judge", "generation:judge", "residual"),
    "interaction": ("scenario:judge",),
}
_COLUMNS = ["df", "mean_square", "estimate", "raw", "truncated", "ci_low", "ci_high", "method"]


def anova(
    scores: ScoreTable,
    interaction: bool = False,
    interval: str = "mls",
    prob: float = INTERVAL_PROB,
) -> pd.DataFrame:
    r"""Estimate the variance components of every evaluated model in closed form.

    Parameters
    ----------
    scores : ScoreTable
        Each evaluated model's part must be balanced: every judge on every generation, equally
        often, and as many generations in every scenario. Models may differ in their sizes.
    interaction : bool
        False for the published estimators, without scenario:judge; True for all six terms.
    interval : {"mls", "satterthwaite"}
        Method for differences of two mean squares: modified large-sample or Satterthwaite.
    prob : float
        Probability of the intervals, with equal tails.

    Returns
    -------
    DataFrame
        Index (model, component), the components as the design can tell them apart: a sum such as
        ``"scenario+generation"`` is one row. Columns:

        - ``df``, ``mean_square`` (score²): of the mean square the component is read from;
        - ``estimate``, ``raw`` (score²): truncated at zero, and as it came out; ``truncated``
          where they differ;
        - ``ci_low``, ``ci_high`` (score²): ends of the interval, cut at zero like the estimate;
          NaN where there is none;
        - ``method``: how the interval was made, that an end was cut, or why there is none.

        ``attrs``: ``f_test`` (list of dict, see `judge_f_test`), ``notes`` (list of str), and
        the arguments.

    Raises
    ------
    DesignError
        If an evaluated model is not balanced (use `bayesjudge.reml`), or has no degrees of
        freedom beside those of its judge means.

    Notes
    -----
    Judges are a fixed panel. ``judge`` is the dispersion of their offsets, :math:`K^{-1} \sum
    \gamma_l^2`, free of the bias that noise adds (Appendix D): :math:`(K-1)/K \cdot (MS_J -
    MS_W)/(nmr)`, with scenario:judge's mean square for MS_W where ``interaction``. Likewise
    ``scenario:judge`` and ``generation:judge`` are mean squares over the panel, (K-1)/K times the
    variance of the zero-sum effects. Without repeated calls, generation:judge is in the residual;
    its z then takes z/(K-1) from ``generation`` and adds zK/(K-1) to the sum.
    With one generation, scenario:judge does the same to ``scenario+generation``.

    Without ``interaction``, a scenario x judge variance h in the data adds to the residual and
    lowers generation by h/(K-1): raw estimates below zero are a sign of it.
    """
    _check_options(interval, prob)
    cells = _balanced_cells(scores)
    frames = [
        anova_model(c, interaction, interval, prob, label)
        for label, c in zip(scores.models, cells, strict=True)
    ]
    table = pd.concat(frames, keys=scores.models, names=["model", "component"])
    tests = [
        {"model": label, **test}
        for label, frame in zip(scores.models, frames, strict=True)
        for test in frame.attrs["f_test"]
    ]
    notes = [note for frame in frames for note in frame.attrs["notes"]]
    asked = {"interaction": interaction, "interval": interval, "prob": prob}
    table.attrs = {"f_test": tests, "notes": notes} | asked
    return table


def anova_model(
    cells: Cells,
    interaction: bool = False,
    interval: str = "mls",
    prob: float = INTERVAL_PROB,
    label: str | None = None,
) -> pd.DataFrame:
    """Estimate the variance components of one evaluated model, as `anova` does.

    Parameters
    ----------
    cells : Cells
        The calls of one evaluated model.
    interaction, interval, prob
        As for `anova`.
    label : str, optional
        The model's name, for messages.

    Returns
    -------
    DataFrame
        Index component; columns and ``attrs`` as those of `anova`.

    Raises
    ------
    DesignError
        As for `anova`.
    """
    table = _table(cells, interaction, label)
    rows = [_row(table, k, interval, prob) for k in range(len(table.names))]
    frame = pd.DataFrame(rows, columns=_COLUMNS, index=pd.Index(table.names, name="component"))
    tests = [_f_test(table.strata, name, prob) for name in _ERRORS] if cells.n_judges > 1 else []
    frame.attrs = {"f_test": tests, "notes": _notes(table, frame, interaction, label)}
    return frame


def mean_squares(scores: ScoreTable, interaction: bool = True) -> pd.DataFrame:
    """Return the analysis-of-variance table of every evaluated model.

    Parameters
    ----------
    scores : ScoreTable
        Balanced, as for `anova`.
    interaction : bool
        False pools the strata that scenario:judge would tell apart, as in MS_W.

    Returns
    -------
    DataFrame
        Index (model, stratum), with a last stratum ``"total"``; columns ``df``, ``ss``, ``ms``
        (score²), and ``expected``: the expectation of the mean square in words, such as
        ``"residual + 5 generation"``, in terms of the components that `anova` reports.

    Raises
    ------
    DesignError
        As for `anova`.
    """
    tables = [
        _table(c, interaction, label)
        for label, c in zip(scores.models, _balanced_cells(scores), strict=True)
    ]
    frames = []
    for table in tables:
        reported = table.expected @ np.linalg.inv(finite_panel(table.names, table.n_judges))
        rows = [
            (df, ms * df, ms, _in_words(table.names, row))
            for df, ms, row in zip(table.df, table.ms, reported, strict=True)
        ]
        rows.append((table.df.sum(), table.df @ table.ms, np.nan, ""))
        index = pd.Index([*table.sources, "total"])
        frames.append(pd.DataFrame(rows, columns=["df", "ss", "ms", "expected"], index=index))
    return pd.concat(frames, keys=scores.models, names=["model", "stratum"])


def judge_f_test(
    scores: ScoreTable, interaction: bool | None = None, prob: float = INTERVAL_PROB
) -> pd.DataFrame:
    r"""Test whether the judges of each evaluated model differ in their means.

    Parameters
    ----------
    scores : ScoreTable
        Balanced, as for `anova`.
    interaction : bool, optional
        False for the published test alone, True for that which allows for scenario:judge
        alone; None for both.
    prob : float
        Probability of the interval of the noncentrality.

    Returns
    -------
    DataFrame
        Index (model, test). Test "paper" (arXiv 2603.01865, Appendix H) is :math:`MS_J / MS_W`
        on K - 1 and (nm - 1)(K - 1) degrees of freedom; it rejects too often where judges react
        differently to different scenarios. Test "interaction" is :math:`MS_J / MS_{SJ}` on K - 1
        and (n - 1)(K - 1). Columns ``F, df1, df2, p``; ``noncentrality_low``,
        ``noncentrality_high`` (exact interval of :math:`\lambda = nmK r \cdot` judge / E(error
        mean square)); and ``note``, which says why where a value is NaN.

    Raises
    ------
    DesignError
        If an evaluated model is not balanced, or has one judge.
    """
    _check_options("mls", prob)
    cells = _balanced_cells(scores)
    alone = [label for label, c in zip(scores.models, cells, strict=True) if c.n_judges < 2]
    if alone:
        raise DesignError(
            f"The F test compares judges, and one judge alone scored {quoted(alone)}. Score with "
            "a second judge, or leave these models out with select(models=...)."
        )
    tests = list(_ERRORS) if interaction is None else [list(_ERRORS)[interaction]]
    rows = [
        {"model": label} | _f_test(_strata(c), test, prob)
        for label, c in zip(scores.models, cells, strict=True)
        for test in tests
    ]
    return pd.DataFrame(rows).set_index(["model", "test"])


def judge_means(scores: ScoreTable, prob: float = INTERVAL_PROB) -> pd.DataFrame:
    """Mean score of each model by each judge, and the model's rank with that judge.

    Any table will do, balanced or not. This is Table 1 of arXiv 2603.01865.

    Parameters
    ----------
    scores : ScoreTable
    prob : float
        Probability of the intervals.

    Returns
    -------
    DataFrame
        Index (model, judge). Scores of a scenario are averaged first, so that every scenario
        weighs the same. ``mean`` (score): the mean of a judge's scenario means. ``ci_low``,
        ``ci_high`` (score): t interval from their spread over scenarios, n - 1 degrees of
        freedom; it is about scenarios like these, and NaN with one scenario. ``n``: scenarios.
        ``rank``: of the model among those that the judge scored, 1 for the highest mean; ties
        share the better rank.
    """
    _check_options("mls", prob)
    calls = scores.calls
    frame = pd.DataFrame(
        {
            "model": calls.model,
            "judge": calls.judge,
            "scenario": calls.scenario,
            "score": calls.score,
        }
    )
    by_scenario = frame.groupby(["model", "judge", "scenario"])["score"].mean()
    table = by_scenario.groupby(["model", "judge"]).agg(["mean", "std", "size"])
    n = table["size"].to_numpy()
    t = special.stdtrit(np.maximum(n - 1, 1), (1 + prob) / 2)
    half = t * table["std"].to_numpy() / np.sqrt(n)
    mean = table["mean"].to_numpy()
    rank = table.groupby("judge")["mean"].rank(method="min", ascending=False)
    index = pd.MultiIndex.from_tuples(
        [(scores.models[m], scores.judges[j]) for m, j in table.index], names=["model", "judge"]
    )
    columns = {"mean": mean, "ci_low": mean - half, "ci_high": mean + half, "n": n}
    columns["rank"] = rank.to_numpy(dtype=np.int64)
    result = pd.DataFrame(columns, index=index)
    result.attrs = {"prob": prob, "interval": "t over scenario means"}
    return result


def finite_panel(names: Sequence[str], n_judges: int) -> FloatArray:
    """Return the matrix from the variance parameters of a model to the components reported.

    Parameters
    ----------
    names : sequence of str
        The identified terms and sums, from `bayesjudge.identify.identify`.
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
class _Table:
    """The pooled strata of one evaluated model, and the components they determine.

    `df`, `ms` have one entry a stratum; `expected` has strata x parameters, `weights`
    components x strata. `sources` are the names of the strata, `names` those of the components.
    """

    strata: Strata
    names: tuple[str, ...]
    absent: tuple[str, ...]
    sources: tuple[str, ...]
    df: FloatArray
    ms: FloatArray
    expected: FloatArray
    weights: FloatArray

    @property
    def n_judges(self) -> int:
        return self.strata.balance.judges


def _table(cells: Cells, interaction: bool, label: str | None) -> _Table:
    structure = identify(cells, TERMS if interaction else PAPER_TERMS)
    name = f"number {cells.model + 1}" if label is None else repr(label)
    if "residual" in structure.absent:
        raise DesignError(
            f"Model {name} has {counted(len(cells.score), 'score')} and nothing varies but the "
            "judge: no variance can be estimated. It needs a second scenario, a second generation "
            "or repeated calls; or leave it out with select(models=...)."
        )
    table = _strata(cells, name)
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
    return _Table(
        strata=table,
        names=structure.names,
        absent=structure.absent,
        sources=tuple(g[0] if len(g) == 1 else "residual" for g in pooled.values()),
        df=df,
        ms=ss / df,
        expected=matrix,
        weights=np.where(np.abs(weights) > 1e-9 * np.abs(weights).max(1)[:, None], weights, 0.0),
    )


def _strata(cells: Cells, name: str = "") -> Strata:
    """Decompose a balanced model; a sum of squares that is rounding error alone is zero."""
    size = balance(cells)
    if size is None:
        raise DesignError(_unbalanced([f"{name} ({_imbalance(cells)})"]))
    table = strata(cells, size)
    rounding = len(cells.score) * (16 * np.finfo(float).eps * np.abs(cells.score).max()) ** 2
    return replace(table, ss={k: v if v > rounding else 0.0 for k, v in table.ss.items()})


def _row(table: _Table, k: int, interval: str, prob: float) -> tuple[object, ...]:
    """Estimate one component: a mean square, or a difference of two, times a constant."""
    weights, ms, df = table.weights[k], table.ms, table.df
    raw = float(weights @ ms)
    own, less = int(np.argmax(weights)), int(np.argmin(weights))
    if table.names[k] == "judge":
        method = "noncentral chi²"
        sizes = table.strata.balance
        ends = fixed_effects_interval(ms[own], df[own], ms[less], df[less], prob)
        scale = 1 / (sizes.scenarios * sizes.generations * sizes.judges * sizes.repeats)
    elif weights[less] < 0:
        method, function = _INTERVALS[interval]
        ends = function(ms[own], df[own], ms[less], df[less], prob)
        scale = weights[own]
    else:
        method, scale = "exact chi²", weights[own]
        ends = chi2_interval(ms[own], df[own], prob)
    low, high = (float(scale * end) for end in ends)
    if np.isnan(low):
        zero = ms[less if table.names[k] == "judge" else own] == 0
        method = f"none ({method}: {'a mean square is zero' if zero else 'the estimate is too near zero'})"
    elif low < 0:
        method += ", cut at 0"
    low, high = max(low, 0.0), max(high, 0.0)
    return int(df[own]), ms[own], max(raw, 0.0), raw, raw < 0, low, high, method


def _f_test(table: Strata, test: str, prob: float) -> dict[str, object]:
    errors = [s for s in _ERRORS[test] if s in table.ss]
    df1, df2 = table.df["judge"], sum(table.df[s] for s in errors)
    note, F = "", np.nan
    if df2:
        error, effect = sum(table.ss[s] for s in errors) / df2, table.mean_square("judge")
        if error > 0:
            F = effect / error
        else:
            note = "the error mean square is zero"
            F = np.inf if effect > 0 else np.nan
    elif table.balance.scenarios == 1:
        note = "one scenario: no degrees of freedom for the error"
    else:
        note = "no degrees of freedom for the error"
    low, high = noncentral_f_interval(F, df1, max(df2, 1), prob)
    p = special.fdtrc(df1, max(df2, 1), F)
    numbers = {"F": F, "df1": df1, "df2": df2, "p": p}
    numbers |= {"noncentrality_low": low, "noncentrality_high": high}
    return (
        {"test": test}
        | {k: v if isinstance(v, int) else float(v) for k, v in numbers.items()}
        | {"note": note}
    )


def _notes(table: _Table, frame: pd.DataFrame, interaction: bool, label: str | None) -> list[str]:
    who = "" if label is None else f"{label}: "
    notes = [
        f"{who}{name} came out negative ({raw:.4g}) and is reported as 0."
        for name, raw in frame.loc[frame["truncated"], "raw"].items()
    ]
    if not interaction and frame["truncated"].get("generation", False):
        notes.append(f"{who}a scenario:judge effect may be why; see interaction=True.")
    if table.absent:
        notes.append(f"{who}not to be seen in this design: {', '.join(table.absent)}.")
    if table.strata.balance.scenarios == 1 and "judge" in table.names:
        notes.append(f"{who}judge is that within the one scenario, scenario:judge included.")
    return notes


def _in_words(names: Sequence[str], row: FloatArray) -> str:
    """Write an expected mean square, the residual first."""
    words = []
    for name, weight in reversed(list(zip(names, row, strict=True))):
        if abs(weight) > 1e-9 * np.abs(row).max():
            factor = "" if np.isclose(weight, 1) else f"{weight:.4g} "
            words.append(f"{factor}({name})" if "+" in name else f"{factor}{name}")
    return " + ".join(words)


def _balanced_cells(scores: ScoreTable) -> tuple[Cells, ...]:
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
    noun = "model" if len(models) == 1 else "models"
    return (
        f"The closed forms need a balanced table, and {noun} {listed(models)} is not. "
        "reml(scores) estimates the same components from any table; or leave out the scenarios "
        "or judges that are incomplete with select(...)."
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


def _check_options(interval: str, prob: float) -> None:
    if interval not in _INTERVALS:
        raise BayesJudgeError(
            f"interval={interval!r} is not a choice; it is one of {quoted(_INTERVALS)}."
            f"{did_you_mean(str(interval), _INTERVALS)}"
        )
    if not 0 < prob < 1:
        raise BayesJudgeError(f"prob={prob!r} must lie between 0 and 1, such as 0.95.")
