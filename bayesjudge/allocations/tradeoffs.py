"""More scenarios, or more calls for each: a number of calls spent on one or the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesjudge.allocations.dataset import DEFAULT_STRATEGIES
from bayesjudge.allocations.grid import campaigns, require_strategies, spread
from bayesjudge.allocations.sources import read_source
from bayesjudge.arguments import require_whole
from bayesjudge.errors import BayesJudgeError


def scenarios_or_calls(
    source: xr.DataTree | pd.DataFrame | Mapping[str, ArrayLike],
    calls: int,
    n_scenarios: Iterable[int] | None = None,
    strategies: Sequence[str] = DEFAULT_STRATEGIES,
    target: str = "population",
    dataset_size: int | None = None,
    panel_size: int | None = None,
) -> xr.Dataset:
    """Variance of the score when a number of calls goes to few scenarios or to many.

    Parameters
    ----------
    source, strategies, dataset_size, panel_size
        As for `bayesjudge.allocation`.
    calls : int
        Judge calls in all, for one evaluated model.
    n_scenarios : iterable of int, optional
        Numbers of scenarios to try, each a divisor of `calls`. All divisors up to `dataset_size`
        if not given.
    target : {"population", "benchmark"}
        More scenarios help with what the score says of scenarios like them. For the mean over the
        scenarios scored, whichever they are, it hardly matters how many there are.

    Returns
    -------
    Dataset
        Dims chain, draw, model, strategy, n_scenarios: ``variance``, ``variance_low``,
        ``variance_high`` (score²) and ``reason``, as `bayesjudge.allocation` has them; ``budget``
        (n_scenarios), the calls left for each scenario.

    Raises
    ------
    BayesJudgeError
        When an argument is none, or a number of scenarios does not divide the calls.

    References
    ----------
    arXiv 2603.01865, Appendix F.
    """
    known = read_source(source, panel_size)
    total = require_whole("calls", calls, 1)
    names = require_strategies(strategies, (one.panel_size for one in known.models))
    sizes = _divisors(total, dataset_size) if n_scenarios is None else _given(n_scenarios, total)
    shape = (*known.shape, len(known.models), len(names), len(sizes))
    low, high = np.empty(shape), np.empty(shape)
    reason = np.full(shape[2:], "", dtype=object)
    for k, n in enumerate(sizes):
        planned = campaigns(known, n, target, dataset_size)
        for t, (one, campaign) in enumerate(zip(known.models, planned, strict=True)):
            for s, name in enumerate(names):
                found = spread(one, name, total // n, campaign, relative=known.relative_sums)
                low[..., t, s, k], high[..., t, s, k] = found.low, found.high
                reason[t, s, k] = found.reason
    dims = ("chain", "draw", "model", "strategy", "n_scenarios")
    units = {"units": "score²"}
    return xr.Dataset(
        {
            "variance": (dims, np.where(reason == "", low, np.nan), units),
            "variance_low": (dims, low, units),
            "variance_high": (dims, high, units),
            "reason": (dims[2:], reason.astype(str)),
            "budget": ("n_scenarios", [total // n for n in sizes]),
        },
        coords=known.coords
        | {
            "strategy": list(names),
            "n_scenarios": list(sizes),
        },
        attrs=known.attrs
        | {
            "target": target,
            "calls": total,
        },
    )


def _divisors(total: int, dataset_size: Any) -> list[int]:
    most = total if dataset_size is None else min(total, int(dataset_size))
    return [n for n in range(1, most + 1) if total % n == 0]


def _given(sizes: Iterable[int], total: int) -> list[int]:
    found = [require_whole("n_scenarios", n, 1) for n in sizes]
    for n in found:
        if total % n:
            raise BayesJudgeError(
                f"n_scenarios = {n} does not divide calls = {total}: {total // n} calls for each "
                f"scenario are {total // n * n} calls, {total // n + 1} are {(total // n + 1) * n}."
            )
    if not found:
        raise BayesJudgeError("n_scenarios is empty: name numbers of scenarios, such as [40, 80].")
    return found
