r"""Campaigns drawn from the scores at hand, as if these were all there are: Appendix G.

The n x m x K scores of one evaluated model are the pool. A campaign draws from it with replacement,
and its score is the mean of its nB calls. Given the pool its variance is C/B, with :math:`C_A = K
n^{-2} \sum_i \mathrm{Var}_j(\bar x_{ij})` for *all*, :math:`C_B = n^{-2} \sum_i \mathrm{Var}_{jl}
(x_{ijl})` for *random* and :math:`C_C = n^{-2} \sum_i K^{-1} \sum_l \mathrm{Var}_j(x_{ijl})` for
*cyclic* (variances with divisors m, mK and m).

Where B is no multiple of K, some judges come once more than others in a scenario, and *cyclic* adds
the variance of which these are. Let :math:`d_{il}` be the mean of scenario i and judge l less that
of the scenario; :math:`g = K^{-1} \sum_l \bar d_l^2` and :math:`h = (nK)^{-1} \sum_{il} (d_{il} -
\bar d_l)^2` its dispersions over judges and beyond; r = B mod K and t = nB mod K. Over random
orders of the panel and of the scenarios it is

.. math::
    \frac{1}{(K-1)(nB)^2} \Big[ g\,t(K-t) + h\,\frac{n^2 r(K-r) - t(K-t)}{n-1} \Big].

With one scenario h is 0, and so is its term. It is a second moment: calls of different judges
count :math:`-1/(K-1)` of what calls of one judge do, as the offsets sum to zero, and of all pairs
of extra calls :math:`K^{-1} (n^2 r^2 + t(K-t))` share a judge. In components it is the formula of
`bayesjudge.allocations.coefficients`, with judge :math:`g - h/(n-1)` and scenario:judge
:math:`nh/(n-1)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.allocations.grid import require_budgets, require_strategies
from bayesjudge.allocations.resampling import resampled_scores
from bayesjudge.allocations.strategies import parse_strategy, why_unreachable
from bayesjudge.arguments import require_whole
from bayesjudge.errors import BayesJudgeError, DesignError
from bayesjudge.estimates.pooled_strata import balanced_cells
from bayesjudge.scores import ScoreTable
from bayesjudge.wording import did_you_mean, listed, quoted

FloatArray = NDArray[np.float64]

POOL_STRATEGIES = ("all", "random", "cyclic")


@dataclass(frozen=True, eq=False)
class Pool:
    """All scores of one evaluated model, to be drawn from.

    Attributes
    ----------
    deviations : float array, shape (scenarios, generations, judges)
        Scores less their mean.
    constants : dict
        By strategy its variance times the calls for each scenario (score²): C_A, C_B and C_C.
    judge, interaction : float
        Dispersion (score²) of the judges' offsets, and of what they are beyond in each scenario.
    rounding : float
        Variances up to this one (score²) are rounding error.
    """

    deviations: FloatArray
    constants: dict[str, float]
    judge: float
    interaction: float
    rounding: float


def pool_of(scores: FloatArray) -> Pool:
    """Work out the constants of a pool.

    Parameters
    ----------
    scores : float array, shape (scenarios, generations, judges)
        None missing.
    """
    n, _, K = scores.shape
    rounding = float((16 * np.finfo(float).eps * np.abs(scores).max()) ** 2)

    def total(variances: FloatArray) -> float:
        return float(variances[variances > rounding].sum())

    x = scores - scores.mean()
    offsets = x.mean(axis=1) - x.mean(axis=(1, 2))[:, None]
    by_judge = offsets.mean(axis=0)
    return Pool(
        deviations=x,
        constants={
            "all": K * total(x.mean(axis=2).var(axis=1)) / n**2,
            "random": total(x.var(axis=(1, 2))) / n**2,
            "cyclic": total(x.var(axis=1)) / (K * n**2),
        },
        judge=total(by_judge**2) / K,
        interaction=total((offsets - by_judge) ** 2) / (n * K),
        rounding=rounding,
    )


def pool_variance(pool: Pool, strategy: str, budget: int) -> float:
    """Variance of a campaign's score around the pool's mean, exactly (score²).

    Parameters
    ----------
    pool : Pool
        From `pool_of`.
    strategy : {"all", "random", "cyclic"}
        Who scores what.
    budget : int
        Calls for each scenario; for *all*, a multiple of the number of judges.
    """
    n, _, K = pool.deviations.shape
    variance = pool.constants[strategy] / budget
    if strategy == "cyclic" and budget % K:
        r, t = budget % K, n * budget % K
        judge = pool.judge * t * (K - t)
        beyond = pool.interaction * (n**2 * r * (K - r) - t * (K - t)) / max(n - 1, 1)
        variance += (judge + beyond) / ((K - 1) * (n * budget) ** 2)
    return variance


def finite_pool(
    scores: ScoreTable,
    budgets: Iterable[int] | int,
    strategies: Sequence[str] = POOL_STRATEGIES,
    repetitions: int = 5000,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    r"""Variance of campaigns drawn from the scores themselves, by formula and by resampling.

    The scores of an evaluated model are taken for all there are. A campaign draws from them with
    replacement, and its score is the mean of its calls. No model of the scores is assumed: where
    formula and resampling agree, the formula is right for these very scores.

    Parameters
    ----------
    scores : ScoreTable
        Every judge on every generation, once.
    budgets : iterable of int
        Judge calls for each scenario, B.
    strategies : sequence of str
        Some of "all" (B/K generations of each scenario, each scored by the whole panel), "random"
        (B generations, each with a judge drawn anew) and "cyclic" (B generations, judges in turn,
        the turn carried on across scenarios; panel and scenarios in an order drawn anew for each
        campaign). Generations are drawn with replacement.
    repetitions : int
        Campaigns drawn for each row; with 0 there are predictions alone.
    seed : int
        The same seed gives the same numbers. Those of a row depend on the seed, its strategy,
        budget and model's label, the repetitions and that model's scores: not on other rows.
    on_progress : callable, optional
        Called with the rows done and all rows, after each that is resampled or can't be.

    Returns
    -------
    DataFrame
        Index (model, strategy, budget); columns

        - ``predicted``: variance of the score given the pool, exactly (score²);
        - ``resampled``: mean squared distance of the resampled scores from the pool's mean
          (score²);
        - ``mc_error``: Monte Carlo standard error of `resampled` (score²);
        - ``ratio``: resampled / predicted;
        - ``reason``: why there is no prediction, or no ratio; empty where there is.

        ``attrs``: ``constants``, for each model with a panel C_A, C_B and C_C (score²) as "all",
        "random" and "cyclic"; ``repetitions`` and ``seed``.

    Raises
    ------
    DesignError
        When an evaluated model is not balanced, or has repeated calls.
    BayesJudgeError
        When an argument is none, or nothing can be predicted: then with the reasons.

    Notes
    -----
    A pool of m generations varies less than the distribution they are from: its constants are
    (m-1)/m of what mean squares say of that one. :math:`n C_A = (m-1)/m \cdot MS_G` is (m-1)/m
    of the unbiased estimate of K generation + residual, and :math:`n C_C` of that of generation +
    residual, both with scenario:judge apart (``anova(scores, interaction=True)``). With m = 1
    there is one answer to draw: *all* then always gives the pool's mean, and so does *cyclic* in
    whole cycles; their variance is 0.

    Of a table read with ``repeats="mean"`` a judge's mean on a generation counts as one call.

    References
    ----------
    arXiv 2603.01865, Appendix G and Figure 1; partial cycles are in `bayesjudge.allocations.pool`.
    """
    pools = _pools(scores)
    calls = require_budgets(budgets)
    panels = {label: pool.deviations.shape[2] for label, pool in pools.items()}
    names = _strategies(strategies, panels.values())
    times = require_whole("repetitions", repetitions, 0)
    if times == 1:
        raise BayesJudgeError(
            "repetitions = 1 gives a variance without an error: take some thousands, or 0 for "
            "predictions alone."
        )
    seed = require_whole("seed", seed, 0)
    rows = pd.MultiIndex.from_product(
        [list(pools), names, calls], names=["model", "strategy", "budget"]
    )
    reasons = [_why_not(label, panels[label], name, B) for label, name, B in rows]
    if all(reasons):
        raise BayesJudgeError(f"{listed(list(dict.fromkeys(reasons)), separator='; ')}.")
    found = []
    for done, ((label, name, B), why) in enumerate(zip(rows, reasons, strict=True), start=1):
        found.append(_row(pools[label], label, name, B, times, seed) if not why else _nothing(why))
        if times and on_progress is not None:
            on_progress(done, len(rows))
    frame = pd.DataFrame(found, index=rows)
    frame.attrs = {
        "constants": {
            label: dict(pool.constants) for label, pool in pools.items() if panels[label] > 1
        },
        "repetitions": times,
        "seed": seed,
    }
    return frame


def _why_not(label: str, panel_size: int, strategy: str, budget: int) -> str:
    """Say why a model's pool can't give a campaign; empty where it can."""
    if panel_size < 2:
        return f"{label} was scored by one judge: there is no panel to choose from"
    return why_unreachable(parse_strategy(strategy, panel_size), budget)


def _row(
    pool: Pool, label: str, strategy: str, budget: int, repetitions: int, seed: int
) -> dict[str, Any]:
    predicted = pool_variance(pool, strategy, budget)
    row = _nothing("" if predicted else "every campaign has the same score: 0 to compare with 0")
    row["predicted"] = predicted
    if not repetitions:
        return row
    # What SeedSequence.spawn does, by what the row is and not by where it stands.
    key = (POOL_STRATEGIES.index(strategy), budget, *label.encode())
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    squares = resampled_scores(pool.deviations, strategy, budget, repetitions, rng) ** 2
    squares[squares <= pool.rounding] = 0.0
    row["resampled"] = float(squares.mean())
    row["mc_error"] = float(squares.std(ddof=1) / np.sqrt(repetitions))
    if predicted:
        row["ratio"] = row["resampled"] / predicted
    return row


def _nothing(reason: str) -> dict[str, Any]:
    numbers = dict.fromkeys(("predicted", "resampled", "mc_error", "ratio"), np.nan)
    return {**numbers, "reason": reason}


def _pools(scores: ScoreTable) -> dict[str, Pool]:
    """Return the pool of each evaluated model, or refuse the table."""
    try:
        cells = balanced_cells(scores)
    except DesignError as error:
        raise DesignError(
            f"finite_pool draws from complete tables. {error} What campaigns give by estimates of "
            "REML: allocation(reml(scores), budgets)."
        ) from error
    pools = {}
    for label, own in zip(scores.models, cells, strict=True):
        repeats = len(own.score) // (own.n_generations * own.n_judges)
        if repeats > 1:
            raise DesignError(
                f"finite_pool draws from one call of a judge on a generation, and model {label!r} "
                f'has {repeats} each. Read the table with repeats="mean": their mean then counts '
                "as one call."
            )
        pools[label] = pool_of(own.score.reshape(own.n_scenarios, -1, own.n_judges))
    return pools


def _strategies(strategies: Sequence[str], panels: Iterable[int]) -> tuple[str, ...]:
    names = [strategies] if isinstance(strategies, str) else list(strategies)
    for name in names:
        if name not in POOL_STRATEGIES:
            raise BayesJudgeError(
                f"finite_pool does not resample {name!r}."
                f"{did_you_mean(str(name), POOL_STRATEGIES)} It resamples "
                f"{quoted(POOL_STRATEGIES)}."
            )
    return require_strategies(names, panels)
