r"""Closed-form variance components of balanced tables: the published estimators and the G-study.

Each mean square of a balanced table has an expectation that is linear in the variances. Solving
for them gives unbiased estimates without iteration. Two models share one code path:

- ``interaction=False``: scenario, generation, judge and residual (arXiv 2603.01865, Eq. 1 and
  Appendix D). Strata with the same expectation are pooled; so comes about its MS_W.
- ``interaction=True``: scenario x judge with generations nested in scenarios and judges fixed,
  sum-to-zero interactions (Cornfield and Tukey, 1956; Brennan, *Generalizability Theory*, 2001).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesjudge.design.identify import sizes_of
from bayesjudge.errors import BayesJudgeError
from bayesjudge.estimates.intervals import (
    chi2_interval,
    fixed_effects_interval,
    modified_large_sample,
    satterthwaite,
)
from bayesjudge.estimates.judge_tables import TESTS, check_prob, f_test, judge_f_test, judge_means
from bayesjudge.estimates.pooled_strata import (
    PooledStrata,
    balanced_cells,
    finite_panel,
    pooled_strata,
)
from bayesjudge.settings import INTERVAL_PROB
from bayesjudge.wording import did_you_mean, quoted

if TYPE_CHECKING:
    from bayesjudge.design.cells import Cells
    from bayesjudge.scores import ScoreTable

__all__ = ["anova", "anova_model", "judge_f_test", "judge_means", "mean_squares"]

_INTERVALS = {
    "mls": ("modified large sample", modified_large_sample),
    "satterthwaite": ("Satterthwaite", satterthwaite),
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

        ``attrs``: ``f_test`` (list of dict, see `judge_f_test`), ``notes`` (list of str),
        ``sizes`` (by evaluated model its ``scenarios``, ``judges`` and the terms that are
        ``absent``), and the arguments.

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
    if interval not in _INTERVALS:
        raise BayesJudgeError(
            f"interval={interval!r} is not a choice; it is one of {quoted(_INTERVALS)}."
            f"{did_you_mean(str(interval), _INTERVALS)}"
        )
    check_prob(prob)
    cells = balanced_cells(scores)
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
    table.attrs = {
        "f_test": tests,
        "notes": notes,
        "interaction": interaction,
        "interval": interval,
        "prob": prob,
        "sizes": {
            label: frame.attrs["sizes"] for label, frame in zip(scores.models, frames, strict=True)
        },
    }
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
    table = pooled_strata(cells, interaction, label)
    rows = [_row(table, k, interval, prob) for k in range(len(table.names))]
    frame = pd.DataFrame(rows, columns=_COLUMNS, index=pd.Index(table.names, name="component"))
    tests = [f_test(table.strata, name, prob) for name in TESTS] if cells.n_judges > 1 else []
    frame.attrs = {
        "f_test": tests,
        "notes": _notes(table, frame, interaction, label),
        "sizes": sizes_of(cells, table.structure),
    }
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
    frames = []
    for label, cells in zip(scores.models, balanced_cells(scores), strict=True):
        table = pooled_strata(cells, interaction, label)
        reported = table.expected @ np.linalg.inv(finite_panel(table.names, table.n_judges))
        rows = [
            (int(df), ms * df, ms, table.in_words(row))
            for df, ms, row in zip(table.df, table.ms, reported, strict=True)
        ]
        rows.append((int(table.df.sum()), table.df @ table.ms, np.nan, ""))
        index = pd.Index([*table.sources, "total"])
        frames.append(pd.DataFrame(rows, columns=["df", "ss", "ms", "expected"], index=index))
    return pd.concat(frames, keys=scores.models, names=["model", "stratum"])


def _row(table: PooledStrata, k: int, interval: str, prob: float) -> tuple[object, ...]:
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
        zero = not ms[own] or not ms[less]
        why = "a mean square is zero" if zero else "the estimate is not far enough above zero"
        method = f"none ({method}: {why})"
    elif low < 0:
        method += ", cut at 0"
    low, high = max(low, 0.0), max(high, 0.0)
    return int(df[own]), ms[own], max(raw, 0.0), raw, raw < 0, low, high, method


def _notes(
    table: PooledStrata, frame: pd.DataFrame, interaction: bool, label: str | None
) -> list[str]:
    who = "" if label is None else f"{label}: "
    notes = [
        f"{who}{name} came out negative ({raw:.4g}) and is reported as 0."
        for name, raw in frame.loc[frame["truncated"], "raw"].items()
    ]
    if not interaction and frame["truncated"].get("generation", False):
        notes.append(f"{who}scenario:judge may be why; see interaction=True (--interaction).")
    if table.structure.absent:
        notes.append(f"{who}not to be seen in this design: {', '.join(table.structure.absent)}.")
    if table.strata.balance.scenarios == 1 and "judge" in table.names:
        notes.append(f"{who}judge is that within the one scenario, scenario:judge included.")
    return notes
