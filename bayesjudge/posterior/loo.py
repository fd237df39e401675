"""Which model predicts scenarios that it has not seen: leaving one out at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.arguments import require_whole
from bayesjudge.errors import FitError
from bayesjudge.posterior.cell_likelihood import work
from bayesjudge.posterior.effects import calls_of
from bayesjudge.posterior.fits_together import fit_names, require_one_table
from bayesjudge.posterior.ordinal_parameters import is_ordinal
from bayesjudge.posterior.refits import refitted
from bayesjudge.posterior.scenario_probability import Scored, log_predicted
from bayesjudge.posterior.smoothing import LeftOut, left_out
from bayesjudge.scores import Calls, ScoreTable, require_table
from bayesjudge.tree import problems
from bayesjudge.wording import counted, listed

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

K_MAX = 0.7  # shape of the tail of the weights up to which they can be relied on (Vehtari et al.)
SCENARIOS_MIN = 100  # with fewer, the standard error of a difference is too small (Sivula et al.)
DIFFERENCE_MIN = 4.0  # and for smaller differences

LEVELS = "log probability of levels"
DENSITY = "log density"

# Draws at which a linear fit's probabilities of levels are computed: about 20 s of computing.
_DRAWS = (250, 4000)
_SCORES_TIMES_DRAWS = 8_000_000


def loo(
    *trees: xr.DataTree,
    scores: ScoreTable | None = None,
    refit: bool = True,
    max_refits: int = 20,
    draws: int | None = None,
    seed: int | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> pd.DataFrame:
    """Compare fits by how well they predict scenarios that they have not seen.

    Scenarios are left out one at a time, with the scores of all evaluated models in them, by
    weighting the draws of the fit (Pareto-smoothed importance sampling); where the weights can't
    be relied on (Pareto k above 0.7), by fitting again without the scenario.

    Where one of the fits is ordinal, all are asked for the probability of the levels that were
    given. A linear fit's probability of a level is that of the cell around it, from the middle
    between it and the level below to the middle between it and the level above, open at the ends;
    scenario, generation and scenario:judge effects are integrated out. So the two can be compared.
    Linear fits among themselves are asked for the density of the scores.

    Parameters
    ----------
    *trees : DataTree
        Fits of the same table, from `bayesjudge.fit`.
    scores : ScoreTable, optional
        The table, for fits that do not hold their scores (beyond a million).
    refit : bool
        Whether to fit again where the weights can't be relied on. It takes as long as the fit did,
        for each such scenario.
    max_refits : int
        The most scenarios of a fit that are left out by fitting again. If there are more, none is.
    draws : int, optional
        Draws at which a linear fit's probabilities of levels are computed, evenly spaced. Without,
        8,000,000 over the number of scores, but at least 250. What fewer cost is in ``mc_error``.
    seed : int, optional
        Of the new fits, and of the points at which scenario:judge effects are integrated. The same
        seed gives the same numbers; without one, that of the first fit is used.
    on_stage : callable, optional
        Called with a short text when each stage of the work begins.

    Returns
    -------
    DataFrame
        Index ``model`` (the name of the fit's model, numbered where two have the same), best
        first. Columns:

        - ``elpd``: log probability (or density) of the scores, each scenario's without it in the
          fit, summed; ``se``: its standard error over scenarios like these;
        - ``difference``: elpd less that of the best; ``se_difference``: its standard error;
        - ``k_max``: the largest Pareto k; ``k_high``: in how many scenarios it is above 0.7;
          ``refits``: how many of these were left out by a new fit;
        - ``scenarios``; ``mc_error``: standard error of ``elpd`` from the number of draws.

        ``attrs``: ``unit`` ("log probability of levels" or "log density"); ``verdict``, a
        sentence; ``pointwise``, a DataFrame of scenarios by models; ``problems``, what is wrong.

    Raises
    ------
    FitError
        When there is no fit, they are of different tables, or ordinal fits have different levels;
        when scores are needed and not there; when a setting is out of range.

    References
    ----------
    Vehtari, Gelman and Gabry (2017), Practical Bayesian model evaluation using leave-one-out
    cross-validation and WAIC. Sivula, Magnusson, Matamoros and Vehtari (2025), Uncertainty in
    Bayesian leave-one-out cross-validation based model comparison.
    """
    require_one_table(trees, "loo")
    for name, value, least in (("draws", draws, 4), ("max_refits", max_refits, 0)):
        if value is not None:
            require_whole(name, value, least, error=FitError)
    if scores is not None:
        _require_table_of(trees[0], scores)
    own_seed = int(trees[0].attrs["seed"]) if seed is None else seed
    if not 0 <= own_seed < 2**32:
        raise FitError(f"seed = {seed!r} must lie between 0 and 4294967295.")
    how = _How(
        _ordinal(trees),
        scores,
        refit,
        max_refits,
        draws,
        own_seed,
        on_stage or (lambda stage: None),
    )
    names = fit_names(trees)
    found = {name: _one(name, tree, how) for name, tree in zip(names, trees, strict=True)}
    scenarios = trees[0]["log_likelihood"]["scenario"].to_numpy()
    table = _table(found, scenarios)
    unreliable = [name for name, one in found.items() if one.k_high > one.refits]
    table.attrs |= {
        "unit": DENSITY if how.ordinal is None else LEVELS,
        "problems": [
            f"{name}: {problem}"
            for name, tree in zip(names, trees, strict=True)
            for problem in (*problems(tree), *found[name].problems)
        ],
    }
    table.attrs["verdict"] = verdict(table, unreliable)
    return table


@dataclass(frozen=True, eq=False)
class _How:
    """What is asked, and how; `ordinal` is a fit that has the levels."""

    ordinal: xr.DataTree | None
    scores: ScoreTable | None
    refit: bool
    max_refits: int
    draws: int | None
    seed: int
    say: Callable[[str], None]


@dataclass(frozen=True, eq=False)
class _One:
    """What leaving out scenarios of one fit gave; `k` before any new fit."""

    elpd: FloatArray
    k: FloatArray
    variance: float
    refits: int = 0
    problems: tuple[str, ...] = ()

    @property
    def k_high(self) -> int:
        return int((self.k > K_MAX).sum())


def _ordinal(trees: Sequence[xr.DataTree]) -> xr.DataTree | None:
    """Return a fit that has levels, if there is one."""
    ordinal = [tree for tree in trees if is_ordinal(tree)]
    levels = [tree["constant_data"]["level"].to_numpy() for tree in ordinal]
    for other in levels[1:]:
        if not np.array_equal(other, levels[0]):
            raise FitError(
                f"these ordinal fits have different levels ({_listed(levels[0])}; "
                f"{_listed(other)}), so their probabilities are not of the same thing: fit them "
                "with the same declared levels (--levels) and bins (--bins)."
            )
    return ordinal[0] if ordinal else None


def _listed(levels: FloatArray) -> str:
    return listed([f"{value:g}" for value in levels], limit=12)


def _one(name: str, tree: xr.DataTree, how: _How) -> _One:
    if "score" not in tree["log_likelihood"]:
        raise FitError(
            f"{name} does not hold the log likelihood of each scenario, which is left out of large "
            "fits. Fit with fewer draws (draws= and chains=, --draws and --chains), or a selection "
            "of the scenarios."
        )
    fitted = tree["log_likelihood"]["score"].transpose("chain", "draw", "scenario").to_numpy()
    total = fitted.shape[0] * fitted.shape[1]
    if how.ordinal is None or is_ordinal(tree):
        result = left_out(fitted, fitted.reshape(total, -1), np.arange(total))
    else:
        how.say(f"{name}: probabilities of levels")
        calls = _calls(tree, how.scores)
        scored = Scored.of(calls, tree, how.ordinal)
        chosen = _chosen(total, how.draws, work(tree, scored.tables))
        predicted = log_predicted(tree, scored, chosen, np.random.SeedSequence(how.seed))
        result = left_out(fitted, predicted, chosen)
    if not (result.k > K_MAX).any():
        return _One(result.elpd, result.k, result.variance(np.ones(len(result.k), dtype=bool)))
    return _with_refits(name, tree, how, result)


def _with_refits(name: str, tree: xr.DataTree, how: _How, result: LeftOut) -> _One:
    high = result.k > K_MAX
    number = int(high.sum())
    labels = tree["log_likelihood"]["scenario"].to_numpy()[high]
    text = (
        f"Pareto k is above {K_MAX} in {counted(number, 'scenario')} "
        f"({listed([repr(str(label)) for label in labels])}), whose weights can't be relied on"
    )
    as_it_is = _One(result.elpd, result.k, result.variance(np.ones_like(high)))
    if not how.refit:
        return replace(as_it_is, problems=(f"{text}. refit=True fits again without them.",))
    if number > how.max_refits:
        more = f"more than the {how.max_refits} that are left out by a new fit (max_refits=)"
        return replace(as_it_is, problems=(f"{text}: {more}.",))
    calls = _calls(tree, how.scores)
    again, wrong = refitted(
        tree,
        calls,
        Scored.of(calls, tree, how.ordinal),
        np.flatnonzero(high).tolist(),
        how.seed,
        lambda stage: how.say(f"{name}: {stage}"),
    )
    elpd, weighted = result.elpd.copy(), np.ones_like(high)
    for scenario, (value, _) in again.items():
        elpd[scenario], weighted[scenario] = value, False
    variance = result.variance(weighted) + sum(error for _, error in again.values())
    return _One(elpd, result.k, variance, len(again), tuple(wrong))


def _chosen(total: int, draws: int | None, each: int) -> IntArray:
    """Choose draws, evenly spaced, fewer where each is much work."""
    least, most = _DRAWS
    number = draws or int(np.clip(_SCORES_TIMES_DRAWS // each, least, most))
    return np.unique(np.linspace(0, total - 1, min(number, total)).astype(np.int64))


def _calls(tree: xr.DataTree, scores: ScoreTable | None) -> Calls:
    """Return the scores of a fit, from the fit or from the table that was passed."""
    if scores is None:
        if "observed_data" not in tree.children:
            raise FitError(
                "this fit holds no scores, only their statistics (its table had more than a "
                "million), and they are needed here: pass the table as scores=."
            )
        return calls_of(tree)
    return scores.calls


def _require_table_of(tree: xr.DataTree, scores: ScoreTable) -> None:
    """Refuse a table that is not the one of a fit."""
    require_table(scores)
    sizes, calls = tree["constant_data"], np.zeros((len(scores.models), len(scores.judges)))
    np.add.at(calls, (scores.calls.model, scores.calls.judge), 1)
    sums = np.bincount(scores.calls.model, scores.calls.score)
    same = (
        list(scores.models) == tree["posterior"]["model"].to_numpy().tolist()
        and list(scores.judges) == tree["posterior"]["judge"].to_numpy().tolist()
        and list(scores.scenarios) == tree["log_likelihood"]["scenario"].to_numpy().tolist()
        and np.array_equal(calls, sizes["n_calls"].to_numpy())
        and np.allclose(sums / calls.sum(axis=1), sizes["mean"].to_numpy(), rtol=1e-9)
    )
    if not same:
        raise FitError("scores= is not the table that these fits are of.")


def _table(found: dict[str, _One], scenarios: NDArray[np.str_]) -> pd.DataFrame:
    """Sum up over scenarios, best fit first."""
    pointwise = pd.DataFrame(
        {name: one.elpd for name, one in found.items()},
        index=pd.Index(scenarios, name="scenario"),
    )
    order = pointwise.sum().sort_values(ascending=False, kind="stable").index.tolist()
    rest = pointwise.sub(pointwise[order[0]], axis=0)

    def error(frame: pd.DataFrame) -> FloatArray:
        """Give the standard error of a sum over scenarios; NaN for one."""
        return np.asarray(np.sqrt(len(frame) * frame.var(ddof=1)))

    table = pd.DataFrame(
        {
            "elpd": pointwise[order].sum().to_numpy(),
            "se": error(pointwise[order]),
            "difference": rest[order].sum().to_numpy(),
            "se_difference": error(rest[order]),
            "k_max": [float(found[name].k.max()) for name in order],
            "k_high": [found[name].k_high for name in order],
            "refits": [found[name].refits for name in order],
            "scenarios": len(scenarios),
            "mc_error": [float(np.sqrt(found[name].variance)) for name in order],
        },
        index=pd.Index(order, name="model"),
    )
    table.attrs = {"pointwise": pointwise}
    return table


def verdict(table: pd.DataFrame, unreliable: Sequence[str] = ()) -> str:
    """Say which of the two best fits predicts better, by how much, or why that is open.

    Parameters
    ----------
    table : DataFrame
        From `loo`.
    unreliable : sequence of str
        Fits with scenarios in which the weights can't be relied on.
    """
    n, unit = int(table["scenarios"].iloc[0]), table.attrs["unit"]
    doubt = (
        f"Not reliable, since Pareto k is above {K_MAX} in some scenarios of "
        f"{' and '.join(unreliable)}. "
        if unreliable
        else ""
    )
    best = table.index[0]
    if len(table) == 1:
        return (
            f"{doubt}{best}: {table['elpd'].iloc[0]:.1f} ({unit}, "
            f"{counted(n, 'scenario')}). Pass other fits of the same table to compare it with."
        )
    second = table.index[1]
    ahead, error = abs(table["difference"].iloc[1]), table["se_difference"].iloc[1]
    monte_carlo = float(np.hypot(*table["mc_error"].iloc[:2]))
    size = f"{ahead:.1f} (standard error {error:.1f}; {unit}, {counted(n, 'scenario')})"
    open_because = [
        reason
        for reason, holds in (
            (f"there are fewer than {SCENARIOS_MIN} scenarios", n < SCENARIOS_MIN),
            (f"the difference is below {DIFFERENCE_MIN:g}", ahead < DIFFERENCE_MIN),
            ("it is within two standard errors", not ahead >= 2 * error),
            (
                f"too few draws were used (Monte Carlo error {monte_carlo:.1f})",
                2 * monte_carlo > ahead,
            ),
        )
        if holds
    ]
    behind = [
        f"{name} by {-row['difference']:.1f} (standard error {row['se_difference']:.1f})"
        for name, row in table.iloc[2:].iterrows()
    ]
    rest = f" Further behind {best}: {', '.join(behind)}." if behind else ""
    if open_because:
        return (
            f"{doubt}Inconclusive: {best} is ahead of {second} by {size}, but "
            f"{' and '.join(open_because)}.{rest}"
        )
    return (
        f"{doubt}{best} predicts scenarios that it has not seen better than {second}: by {size}."
        f"{rest}"
    )
