"""What is said of one strategy against another."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bayesjudge.allocations.grid import Campaign, spread
from bayesjudge.allocations.sources import Known, read_source
from bayesjudge.design.cells import balance, cells_by_model
from bayesjudge.errors import BayesJudgeError
from bayesjudge.estimates.anova import anova_model
from bayesjudge.posterior.components import require_probability
from bayesjudge.posterior.effects import calls_of
from bayesjudge.settings import INTERVAL_PROB
from bayesjudge.terms import carrier, parts

FloatArray = NDArray[np.float64]

SAVINGS = (5, 10, 20)  # per cent of the other strategy's variance

_TO_MATCH = ("all", "random")  # their variance falls with the number of calls to zero


def savings(
    dataset: xr.Dataset, strategy: str = "cyclic", prob: float = INTERVAL_PROB
) -> pd.DataFrame:
    """Compare the variance of one strategy with that of the others.

    Parameters
    ----------
    dataset : Dataset
        From `bayesjudge.allocation`.
    strategy : str
        The one that is compared.
    prob : float
        Probability of the equal-tailed intervals.

    Returns
    -------
    DataFrame
        Index (model, budget, against), rows where both variances are known. Columns:

        - ``ratio``, ``ratio_low``, ``ratio_high``: median and interval of this variance over the
          other's;
        - ``p_saving_5``, ``p_saving_10``, ``p_saving_20``: probability that it is smaller by so
          many per cent or more;
        - ``extra_calls``, ``extra_calls_low``, ``extra_calls_high``: calls for each scenario that
          the other needs beyond the budget to get as far, median and interval, for *all* and
          *random* (the variance of others does not fall to zero);
        - ``p_smaller``: probability that it is smaller at all. NaN where the components can't but
          say so: of cyclic judges against all judges it is a question only where generation:judge
          is estimated, and against the others never.

        From estimates, which have no posterior, the probabilities and intervals are NaN.

    Raises
    ------
    BayesJudgeError
        When the strategy is not in the dataset, or no other is.
    """
    require_probability(prob)
    names = [str(name) for name in dataset["strategy"].to_numpy()]
    if strategy not in names or len(names) < 2:
        raise BayesJudgeError(
            f"{strategy!r} can't be compared with others here: the strategies are "
            f"{', '.join(names)}."
        )
    told_apart = json.loads(dataset.attrs["interaction_known"])
    rows = {}
    for model in map(str, dataset["model"].to_numpy()):
        for budget in dataset["budget"].to_numpy():
            here = dataset.sel(model=model, budget=budget)
            own = here.sel(strategy=strategy)
            for other in names:
                against = here.sel(strategy=other)
                if other == strategy or own["reason"].item() or against["reason"].item():
                    continue
                can_lose = told_apart[model] and (strategy, other) == ("cyclic", "all")
                rows[model, int(budget), other] = _compared(own, against, other, can_lose, prob)
    index = pd.MultiIndex.from_tuples(rows, names=["model", "budget", "against"])
    frame = pd.DataFrame(list(rows.values()), index=index)
    frame.attrs = {"strategy": strategy, "prob": prob, "target": dataset.attrs["target"]}
    return frame


def _compared(
    own: xr.Dataset, other: xr.Dataset, name: str, can_lose: bool, prob: float
) -> dict[str, float]:
    mine, theirs = own["variance"].to_numpy().ravel(), other["variance"].to_numpy().ravel()
    ratio = _ratio(mine, theirs)
    row = _interval("ratio", ratio, prob)
    for per_cent in SAVINGS:
        row[f"p_saving_{per_cent}"] = _share(ratio <= 1 - per_cent / 100)
    budget = float(own["budget"])
    extra = np.full_like(ratio, np.nan)
    if name in _TO_MATCH:
        calls = other["call_variance"].to_numpy().ravel(), own["call_variance"].to_numpy().ravel()
        extra = budget * (_ratio(*calls) - 1)
    row |= _interval("extra_calls", extra, prob)
    row["p_smaller"] = _share(mine < theirs) if can_lose else np.nan
    return row


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """Divide; nothing over nothing is no saving."""
    return np.divide(above, below, out=np.where(above == below, 1.0, np.inf), where=below > 0)


def _interval(name: str, draws: FloatArray, prob: float) -> dict[str, float]:
    tail = (1 - prob) / 2
    low, high = np.quantile(draws, [tail, 1 - tail]) if draws.size > 1 else (np.nan, np.nan)
    return {name: float(np.median(draws)), f"{name}_low": low, f"{name}_high": high}


def _share(true: NDArray[np.bool_]) -> float:
    return float(true.mean()) if true.size > 1 else np.nan


def all_or_random(
    source: xr.DataTree | pd.DataFrame | Mapping[str, ArrayLike],
    panel_size: int | None = None,
    prob: float = INTERVAL_PROB,
) -> pd.DataFrame:
    """Say whether all judges on few answers, or random judges on many, give less variance.

    Without interactions all judges are better where the judge variance is more than K - 1 times
    the generation variance; with them, where judge, scenario:judge and generation:judge together
    are.

    Parameters
    ----------
    source, panel_size
        As for `bayesjudge.allocation`.
    prob : float
        Probability of the equal-tailed interval.

    Returns
    -------
    DataFrame
        Index model. Columns ``ratio, ratio_low, ratio_high``: judge over generation variance,
        median and interval (infinite where there is no generation variance); ``threshold``: K - 1;
        ``p_above``: probability that the ratio is above it; ``p_all_smaller``: probability that
        all judges give less variance than random ones, interactions counted. NaN where the
        components are not known, and the probabilities for estimates.

    References
    ----------
    arXiv 2603.01865, section 4.4.
    """
    require_probability(prob)
    known = read_source(source, panel_size)
    rows = {}
    for one in known.models:
        judge, generation = (one.variances.get(name) for name in ("judge", "generation"))
        row: dict[str, float] = dict.fromkeys(("ratio", "ratio_low", "ratio_high"), np.nan)
        above = np.nan
        if judge is not None and generation is not None:
            ratio = _ratio(judge.ravel(), generation.ravel())
            row = _interval("ratio", ratio, prob)
            above = _share(ratio > one.panel_size - 1)
        row |= {"threshold": one.panel_size - 1, "p_above": above}
        row["p_all_smaller"] = _all_smaller(one, known.relative_sums)
        rows[one.model] = row
    frame = pd.DataFrame(list(rows.values()), index=pd.Index(list(rows), name="model"))
    frame.attrs = {"prob": prob}
    return frame


def _all_smaller(known: Known, relative: bool) -> float:
    """Probability that all judges give less variance than random ones, whatever the budget."""
    pair = [
        spread(known, name, known.panel_size, Campaign(1), relative=relative)
        for name in ("all", "random")
    ]
    if any(found.reason for found in pair):
        return np.nan
    return _share(pair[0].low < pair[1].low)


def generation_sign(source: xr.DataTree | pd.DataFrame) -> pd.DataFrame:
    """Test whether answers differ by more, or by less, than the noise of judges explains.

    Cyclic judges give less variance than all judges where (K - 1) generation variances are more
    than the generation:judge variance. Without repeated calls no model can tell the two apart, and
    a fit takes a variance to be positive: its probability that cyclic judges are better is one
    whatever the data say. The mean squares of a balanced table do say something: that of
    generations is above that of the residual on average if cyclic judges are better, and below it
    if all judges are.

    Parameters
    ----------
    source : DataTree or DataFrame
        A fit that holds its scores, or a table of `bayesjudge.anova`, better with
        ``interaction=True``: without it scenario:judge counts as noise.

    Returns
    -------
    DataFrame
        Index model, of models whose generations were scored by all judges, two or more of them in
        each scenario. Columns ``f`` (ratio of the mean squares), ``df_generation``,
        ``df_residual``; ``p_above``: p-value against "no more than noise", small where cyclic
        judges are better; ``p_below``: p-value against "no less", small where all judges are.
    """
    rows = {}
    for model, table in _mean_squares(source).items():
        by_place = {carrier(parts(str(name))): row for name, row in table.iterrows()}
        if "generation" not in by_place or "generation" not in table.index:
            continue
        above = by_place["generation"]
        below = by_place.get("generation:judge", by_place["residual"])
        f = float(above["mean_square"] / below["mean_square"])
        dfs = float(above["df"]), float(below["df"])
        rows[model] = {
            "f": f,
            "df_generation": dfs[0],
            "df_residual": dfs[1],
            "p_above": float(stats.f.sf(f, *dfs)),
            "p_below": float(stats.f.cdf(f, *dfs)),
        }
    columns = ["f", "df_generation", "df_residual", "p_above", "p_below"]
    return pd.DataFrame(
        list(rows.values()), index=pd.Index(list(rows), name="model"), columns=columns
    )


def _mean_squares(source: xr.DataTree | pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the closed-form table of each evaluated model that has one."""
    if isinstance(source, pd.DataFrame):
        if "mean_square" not in source:
            return {}
        return {
            str(model): rows.droplevel("model")
            for model, rows in source.groupby(level="model", sort=False)
        }
    if "observed_data" not in source.children:
        return {}
    labels = [str(label) for label in source["posterior"]["model"].to_numpy()]
    return {
        labels[cells.model]: anova_model(cells, interaction=True)
        for cells in cells_by_model(calls_of(source), len(labels))
        if balance(cells) is not None
    }
