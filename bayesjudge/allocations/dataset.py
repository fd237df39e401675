"""The posterior of a campaign's variance, for every strategy and budget."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesjudge.allocations.grid import (
    Campaign,
    campaigns,
    require_budgets,
    require_strategies,
    spread,
)
from bayesjudge.allocations.predicting import panel_mean_variances
from bayesjudge.allocations.sources import read_source
from bayesjudge.errors import BayesJudgeError
from bayesjudge.wording import listed

DEFAULT_STRATEGIES = ("all", "random", "cyclic", "single")

_DIMS = ("chain", "draw", "model", "strategy", "budget")


def allocation(
    source: xr.DataTree | pd.DataFrame | Mapping[str, ArrayLike],
    budgets: Iterable[int] | int,
    strategies: Sequence[str] = DEFAULT_STRATEGIES,
    n_scenarios: int | None = None,
    target: str = "benchmark",
    dataset_size: int | None = None,
    panel_size: int | None = None,
    seed: int = 0,
) -> xr.Dataset:
    r"""Posterior variance of the score of a future campaign, by strategy and budget.

    Parameters
    ----------
    source : DataTree, DataFrame or mapping
        A fit; a table of `bayesjudge.anova` or `bayesjudge.reml`; or components by name, as numbers
        or draws (score²), which then need `panel_size` and `n_scenarios`.
    budgets : iterable of int
        Judge calls for each scenario.
    strategies : sequence of str
        "all", "random", "cyclic", "cyclic-2" and so on, "cyclic-restart", "single", "subset-2" and
        so on: see `bayesjudge.strategy_variance`.
    n_scenarios : int, optional
        Scenarios that the campaign scores: as many as the table has, if not given.
    target : {"benchmark", "population"}
        What the score is meant for: the panel mean over these scenarios, or over scenarios like
        these. A benchmark of as many scenarios as the fit has is the same one.
    dataset_size : int, optional
        For the population: scenarios there are, those of the table among them. Infinite without it.
    panel_size : int, optional
        Judges in the panel, for components by name.
    seed : int
        For the draws of scenario effects that `predictive_variance` needs.

    Returns
    -------
    Dataset
        Dims chain, draw, model, strategy, budget; one draw from estimates. NaN where a strategy
        can't spend a budget, or a component is not known:

        - ``variance`` (score²) around the panel mean, and ``call_variance``, what the calls add to
          it (all of it for the benchmark);
        - ``variance_low``, ``variance_high``: the same where there is a `variance`; the least and
          the largest that it can be where components are known only in a sum;
        - ``predictive_variance`` (model, strategy, budget): of the future score, as predicted from
          the fit, :math:`E[V] + \mathrm{Var}(\text{panel mean})`. NaN for estimates;
        - ``panel_mean_variance`` (model): its second term;
        - ``reason`` (model, strategy, budget): why there is no `variance`; empty where there is.

        ``attrs``: ``target``; ``n_scenarios``, ``panel_size`` and ``interaction_known`` (whether
        generation:judge is) by evaluated model, as JSON; ``notes`` and ``predictive_note``;
        ``verdict`` and ``problems`` of the fit.

    Raises
    ------
    BayesJudgeError
        When an argument is none, or nothing at all can be said of what is asked for: then with the
        reasons.

    References
    ----------
    arXiv 2603.01865, Eqs. 2 to 5, extended: see `bayesjudge.allocations.coefficients`.
    """
    known = read_source(source, panel_size)
    calls = require_budgets(budgets)
    names = require_strategies(strategies, (one.panel_size for one in known.models))
    planned = campaigns(known, n_scenarios, target, dataset_size)
    size = (*known.shape, len(known.models), len(names), len(calls))
    low, high, own = (np.empty(size) for _ in range(3))
    reason = np.full(size[2:], "", dtype=object)
    for t, (one, campaign) in enumerate(zip(known.models, planned, strict=True)):
        for s, name in enumerate(names):
            for b, budget in enumerate(calls):
                place = (..., t, s, b)
                found = spread(one, name, budget, campaign, relative=known.relative_sums)
                low[place], high[place] = found.low, found.high
                reason[t, s, b] = found.reason
                bench = Campaign(campaign.n_scenarios)
                own[place] = spread(one, name, budget, bench, relative=known.relative_sums).exact
    if np.isnan(low).all():
        reasons = dict.fromkeys(reason.ravel())
        raise BayesJudgeError(f"{listed(list(reasons), separator='; ')}.")
    exact = np.where(reason == "", low, np.nan)
    unknown, why = panel_mean_variances(known, planned, seed)
    predictive = exact.mean(axis=(0, 1)) + unknown[:, None, None]
    grid = ("model", "strategy", "budget")
    units = {"units": "score²"}
    return xr.Dataset(
        {
            "variance": (_DIMS, exact, units),
            "call_variance": (_DIMS, own, units),
            "variance_low": (_DIMS, low, units),
            "variance_high": (_DIMS, high, units),
            "predictive_variance": (grid, predictive, units),
            "panel_mean_variance": ("model", unknown, units),
            "reason": (grid, reason.astype(str)),
        },
        coords=known.coords
        | {
            "strategy": list(names),
            "budget": list(calls),
        },
        attrs=known.attrs
        | {
            "target": target,
            "n_scenarios": json.dumps(
                {one.model: c.n_scenarios for one, c in zip(known.models, planned, strict=True)}
            ),
            "panel_size": json.dumps({one.model: one.panel_size for one in known.models}),
            "interaction_known": json.dumps(
                {one.model: "generation:judge" in one.variances for one in known.models}
            ),
            "dataset_size": float(dataset_size or np.inf),
            "predictive_note": "\n".join(why),
        },
    )
