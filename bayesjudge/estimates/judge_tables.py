"""The judges of a table by closed forms: do their means differ, and how do they rank the models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import special

from bayesjudge.errors import BayesJudgeError, DesignError
from bayesjudge.estimates.intervals import noncentral_f_interval
from bayesjudge.estimates.pooled_strata import balanced_cells, balanced_strata
from bayesjudge.scores import require_table
from bayesjudge.settings import INTERVAL_PROB
from bayesjudge.wording import quoted

if TYPE_CHECKING:
    from bayesjudge.marginal.strata import Strata
    from bayesjudge.scores import ScoreTable

# Which strata are pooled for the error of each test.
TESTS = {
    "paper": ("scenario:judge", "generation:judge", "residual"),
    "interaction": ("scenario:judge",),
}


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
    check_prob(prob)
    cells = balanced_cells(scores)
    alone = [label for label, c in zip(scores.models, cells, strict=True) if c.n_judges < 2]
    if alone:
        raise DesignError(
            f"The F test compares judges, and one judge alone scored {quoted(alone)}. Score with "
            "a second judge, or leave these models out with select(models=...) or `where`."
        )
    tests = list(TESTS) if interaction is None else [list(TESTS)[interaction]]
    rows: list[dict[str, object]] = [
        {"model": label} | f_test(balanced_strata(c), test, prob)
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
    check_prob(prob)
    require_table(scores)
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


def f_test(table: Strata, test: str, prob: float) -> dict[str, object]:
    """Test the judge means of one balanced model: a row of `judge_f_test`, without the model.

    Parameters
    ----------
    table : Strata
        Of a model with two judges or more.
    test : {"paper", "interaction"}
    prob : float
        Probability of the interval of the noncentrality.
    """
    errors = [stratum for stratum in TESTS[test] if stratum in table.ss]
    df1, df2 = table.df["judge"], sum(table.df[stratum] for stratum in errors)
    F, note = np.nan, ""
    if not df2:
        one = "one scenario: " if table.balance.scenarios == 1 else ""
        note = f"{one}no degrees of freedom for the error"
    else:
        effect = table.mean_square("judge")
        error = sum(table.ss[stratum] for stratum in errors) / df2
        if error == 0:
            note = "the error mean square is zero"
        F = effect / error if error else (np.inf if effect else np.nan)
    low, high = noncentral_f_interval(F, df1, max(df2, 1), prob)
    return {
        "test": test,
        "F": float(F),
        "df1": df1,
        "df2": df2,
        "p": float(special.fdtrc(df1, max(df2, 1), F)),
        "noncentrality_low": float(low),
        "noncentrality_high": float(high),
        "note": note,
    }


def check_prob(prob: float) -> None:
    """Refuse a probability that no interval has."""
    if not 0 < prob < 1:
        raise BayesJudgeError(f"prob={prob!r} must lie between 0 and 1, such as 0.95.")
