"""The variance of campaigns summed up over draws, in a table and in sentences."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import xarray as xr

from bayesjudge.allocations.contrasts import savings
from bayesjudge.posterior.components import require_probability
from bayesjudge.settings import INTERVAL_PROB
from bayesjudge.wording import counted


def allocation_table(dataset: xr.Dataset, prob: float = INTERVAL_PROB) -> pd.DataFrame:
    """Sum up what `bayesjudge.allocation` gives.

    Parameters
    ----------
    dataset : Dataset
        From `bayesjudge.allocation`.
    prob : float
        Probability of the equal-tailed intervals.

    Returns
    -------
    DataFrame
        Index (model, strategy, budget). Columns:

        - ``mean, median, sd, eti_low, eti_high`` (score²) of the variance, and ``se, se_low,
          se_high`` (score), the root of its median and of the ends;
        - ``predictive_sd`` (score): root of the predictive variance;
        - ``reason``: why there is no variance.

        Where a component is known only in a sum, ``mean``, ``median``, ``sd`` and ``se`` are NaN,
        and the interval is from the low end for the most favourable split to the high end for the
        least. From estimates there is no interval, but for such a range.
    """
    require_probability(prob)
    dims, tail = ("chain", "draw"), (1 - prob) / 2
    one = dataset.sizes["chain"] * dataset.sizes["draw"] == 1
    v, low, high = dataset["variance"], dataset["variance_low"], dataset["variance_high"]
    bottom = low.quantile(tail, dim=dims, skipna=False)
    top = high.quantile(1 - tail, dim=dims, skipna=False)
    if one:  # an estimate is no interval; a range of splits is
        known = dataset["reason"] == ""
        bottom, top = bottom.where(~known), top.where(~known)
    columns: dict[str, xr.DataArray] = {
        "mean": v.mean(dims, skipna=False),
        "median": v.median(dims, skipna=False),
        "sd": v.std(dims, ddof=1, skipna=False) if not one else v.mean(dims) * np.nan,
        "eti_low": bottom,
        "eti_high": top,
    }
    columns |= {
        "se": columns["median"] ** 0.5,
        "se_low": bottom**0.5,
        "se_high": top**0.5,
        "predictive_sd": dataset["predictive_variance"] ** 0.5,
        "reason": dataset["reason"],
    }
    order = ("model", "strategy", "budget")
    index = pd.MultiIndex.from_product(
        [dataset[name].to_numpy() for name in order], names=list(order)
    )
    frame = pd.DataFrame(
        {name: array.transpose(*order).to_numpy().ravel() for name, array in columns.items()},
        index=index,
    )
    frame.attrs = {"prob": prob, "target": dataset.attrs["target"]}
    return frame


def reliability_table(dataset: xr.Dataset, prob: float = INTERVAL_PROB) -> pd.DataFrame:
    """Sum up what `bayesjudge.reliability` gives.

    Parameters
    ----------
    dataset : Dataset
        From `bayesjudge.reliability`.
    prob : float
        Probability of the equal-tailed intervals.

    Returns
    -------
    DataFrame
        Index (model, strategy, budget); columns ``generalizability``, ``dependability`` (posterior
        medians, 0 to 1), ``relative_sem`` and ``absolute_sem`` (standard errors of measurement,
        score), each with ``_low`` and ``_high``, NaN for estimates.
    """
    found = {
        "generalizability": dataset["generalizability"],
        "dependability": dataset["dependability"],
        "relative_sem": dataset["relative_variance"] ** 0.5,
        "absolute_sem": dataset["absolute_variance"] ** 0.5,
    }
    return _medians(found, ("model", "strategy", "budget"), prob)


def tradeoff_table(dataset: xr.Dataset, prob: float = INTERVAL_PROB) -> pd.DataFrame:
    """Sum up what `bayesjudge.scenarios_or_calls` gives.

    Parameters
    ----------
    dataset : Dataset
        From `bayesjudge.scenarios_or_calls`.
    prob : float
        Probability of the equal-tailed intervals.

    Returns
    -------
    DataFrame
        Index (model, strategy, n_scenarios); columns ``budget``, and ``se`` (score, posterior
        median) with ``se_low`` and ``se_high``, NaN for estimates.
    """
    found = {"se": dataset["variance"] ** 0.5}
    frame = _medians(found, ("model", "strategy", "n_scenarios"), prob)
    calls = dict(zip(dataset["n_scenarios"].to_numpy(), dataset["budget"].to_numpy(), strict=True))
    frame.insert(0, "budget", [calls[n] for *_, n in frame.index])
    return frame


def _medians(found: dict[str, xr.DataArray], order: tuple[str, ...], prob: float) -> pd.DataFrame:
    """Lay medians and intervals over draws out in a table."""
    require_probability(prob)
    dims, tail = ("chain", "draw"), (1 - prob) / 2
    first = next(iter(found.values()))
    alone = first.sizes["chain"] * first.sizes["draw"] == 1
    columns = {}
    for name, draws in found.items():
        ends = draws.quantile([tail, 1 - tail], dim=dims, skipna=False)
        low, high = (ends.isel(quantile=k, drop=True) for k in (0, 1))
        columns[name] = draws.median(dims, skipna=False)
        columns[f"{name}_low"] = low * np.nan if alone else low
        columns[f"{name}_high"] = high * np.nan if alone else high
    index = pd.MultiIndex.from_product([first[name].to_numpy() for name in order], names=order)
    frame = pd.DataFrame(
        {name: array.transpose(*order).to_numpy().ravel() for name, array in columns.items()},
        index=index,
    )
    frame.attrs = {"prob": prob}
    return frame


def in_words(dataset: xr.Dataset, prob: float = INTERVAL_PROB) -> list[str]:
    """Say what cyclic judges save against the other strategies, one sentence a model.

    At the smallest budget that is a full cycle, else at the largest.

    Parameters
    ----------
    dataset : Dataset
        From `bayesjudge.allocation`, with "cyclic" and others among its strategies.
    prob : float
        Probability of the equal-tailed intervals.
    """
    if "cyclic" not in dataset["strategy"] or dataset.sizes["strategy"] < 2:
        return []
    table = savings(dataset, prob=prob)
    panels, found = json.loads(dataset.attrs["panel_size"]), []
    for model in map(str, dataset["model"].to_numpy()):
        if model not in table.index.get_level_values("model"):
            continue
        rows = table.loc[model]
        budgets = sorted(set(rows.index.get_level_values("budget")))
        full = [budget for budget in budgets if budget % panels[model] == 0]
        budget = full[0] if full else budgets[-1]
        said = [
            _saving(str(other), row, prob)
            for other, row in rows.loc[budget].iterrows()
            if other in ("all", "random")
        ]
        if said:
            calls = counted(int(budget), "call")
            found.append(f"{model}: at {calls} a scenario cyclic judges have {' and '.join(said)}.")
    return found


def _saving(other: str, row: pd.Series, prob: float) -> str:
    """Say how much less variance there is than with another strategy."""
    judges = {"all": "all judges", "random": "random judges"}[other]
    saved = 1 - row["ratio"]
    less = f"{abs(saved):.0%} {'less' if saved >= 0 else 'more'} variance than {judges}"
    if np.isnan(row["ratio_low"]):
        return less
    ends = sorted((1 - row["ratio_high"], 1 - row["ratio_low"]))
    if saved < 0:
        ends = sorted(-end for end in ends)
    return f"{less} ({prob:.0%} interval {ends[0]:.0%} to {ends[1]:.0%})"
