"""What is asked of a plan: components, prices, and the designs to choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesjudge.allocations.design import require_dataset_size, require_target
from bayesjudge.allocations.grid import Campaign, require_strategies
from bayesjudge.allocations.sources import Source, read_source
from bayesjudge.allocations.strata import unit_variances
from bayesjudge.arguments import require_whole
from bayesjudge.errors import BayesJudgeError
from bayesjudge.planning.goals import thinned
from bayesjudge.planning.prices import Prices, read_prices
from bayesjudge.planning.search import MOST_SCENARIOS, STRATIFIED, Room
from bayesjudge.wording import listed

FloatArray = NDArray[np.float64]

MOST_IN_TURN = 4  # judges in turn on one answer, where no strategies are named

_FREE = 0.01  # of the least price, for a judge that costs nothing


class Asked(NamedTuple):
    """What both public functions make of their arguments."""

    source: Source
    prices: Prices
    campaign: Campaign
    room: Room


def read_arguments(
    source: xr.DataTree | pd.DataFrame | Mapping[str, ArrayLike],
    prices: Mapping[str, Any],
    target: str,
    scenarios: int | None,
    dataset_size: int | None,
    strategies: Sequence[str] | None,
    max_generations: int,
    models: Sequence[str] | None,
    panel_size: int | None,
) -> Asked:
    """Read the arguments that `plan` and `cost_frontier` share, or refuse them."""
    known = read_source(source, panel_size).only(models)
    panel, judges = _panel(known)
    priced = read_prices(prices, [one.model for one in known.models], judges)
    if isinstance(priced.call, Mapping) and len(priced.call) != panel:
        raise BayesJudgeError(
            f"prices: call names {len(priced.call)} judges of a panel of {panel}."
        )
    campaign, least = _campaign(known, target, scenarios, dataset_size)
    few = thinned(known)
    names = _strategies(strategies, panel, priced, few)
    room = Room(
        names,
        panel,
        least,
        campaign.n_scenarios,
        require_whole("max_generations", max_generations, 1),
        _shares(few, priced) if STRATIFIED in names else (),
    )
    return Asked(few, priced, campaign, room)


def _panel(known: Source) -> tuple[int, tuple[str, ...] | None]:
    """Return the size of the panel that all models have, and its judges if they are known."""
    labels = [one.model for one in known.models]
    panels = {(one.panel_size, one.judges) for one in known.models}
    if len(panels) > 1:
        raise BayesJudgeError(
            f"{listed(labels)} were not scored by the same judges: plan for those with the same "
            "panel (models=[...])."
        )
    ((size, judges),) = panels
    if size < 2:
        raise BayesJudgeError(
            f"{labels[0]} was scored by one judge: there is no panel to plan for."
        )
    return size, judges or None


def _campaign(
    known: Source, target: str, scenarios: int | None, dataset_size: int | None
) -> tuple[Campaign, int]:
    """Return the campaign with all scenarios there are, and how few they may be."""
    require_target(target)
    if target == "population":
        most = MOST_SCENARIOS if scenarios is None else require_whole("scenarios", scenarios, 1)
        size = require_dataset_size(dataset_size, 1, target)
        return Campaign(int(min(most, size)), target, size), 1
    sizes = {one.n_scenarios for one in known.models}
    if scenarios is None and (None in sizes or len(sizes) > 1):
        raise BayesJudgeError("how many scenarios has the benchmark? For example scenarios=80.")
    (own,) = sizes if scenarios is None else (scenarios,)
    most = require_whole("scenarios", own, 1)
    return Campaign(most, target, require_dataset_size(dataset_size, most, target)), most


def _strategies(
    strategies: Sequence[str] | None, panel: int, prices: Prices, source: Source
) -> tuple[str, ...]:
    """Return the strategies to choose from, or refuse them."""
    differ = prices.by_judge or any(one.own_residuals is not None for one in source.models)
    if strategies is None:
        in_turn = tuple(f"cyclic-{k}" for k in range(2, min(panel, MOST_IN_TURN + 1)))
        every = ("cyclic", *in_turn, "all", "random", "single")
        return (*every, STRATIFIED) if differ else every
    names = [strategies] if isinstance(strategies, str) else list(strategies)
    rest = [name for name in names if name != STRATIFIED]
    found = require_strategies(rest, [panel]) if rest or not names else ()
    if STRATIFIED not in names:
        return found
    if not differ:
        raise BayesJudgeError(
            "stratified: all judges have one price and one residual variance here, and equal "
            "shares, as in 'cyclic', are best. Give prices by judge."
        )
    return (*found, STRATIFIED)


def _shares(source: Source, prices: Prices) -> tuple[FloatArray, ...]:
    """Return shares of judges in the calls: one optimum for few calls, one for many."""
    price = np.array(
        list(prices.call.values())
        if isinstance(prices.call, Mapping)
        else [prices.call] * source.models[0].panel_size
    )
    price = price + np.mean(list(prices.generation.values()))
    # A judge that costs nothing would have all calls: the least price stands in.
    price = np.maximum(price, price[price > 0].min() * _FREE)
    every = (unit_variances(source, sees_all=own) for own in (False, True))
    return tuple(np.sqrt(np.maximum(unit, 0.0) / price) + 1e-12 for unit in every)
