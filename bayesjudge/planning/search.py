"""The cheapest design that will do, and the best one for a price."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesjudge.allocations.strata import quotas
from bayesjudge.allocations.strategies import parse_strategy
from bayesjudge.errors import BayesJudgeError
from bayesjudge.planning.designs import Design
from bayesjudge.planning.goals import Goal
from bayesjudge.planning.prices import Prices
from bayesjudge.wording import counted

FloatArray = NDArray[np.float64]

STRATIFIED = "stratified"
MOST_SCENARIOS = 1_000_000  # where nothing else limits them
MOST_CALLS = 200_000  # of a stratified design, which is worked out call by call

_BETTER = 0.99  # of the loss of a cheaper design, to be worth a place on the frontier


@dataclass(frozen=True, eq=False)
class Room:
    """Which designs there are to choose from.

    Attributes
    ----------
    strategies : tuple of str
        Ways to spend calls: names of `bayesjudge.allocations.strategies`, and `STRATIFIED`.
    panel_size : int
        Judges in the panel.
    least_scenarios, most_scenarios : int
        Numbers of scenarios; the same where they are given.
    most_generations : int
        Answers for each scenario.
    shares : tuple of float array
        Shares of the judges in the calls that a stratified design may have.
    """

    strategies: tuple[str, ...]
    panel_size: int
    least_scenarios: int
    most_scenarios: int
    most_generations: int
    shares: tuple[FloatArray, ...] = ()


class Line(NamedTuple):
    """Designs that differ in the number of scenarios alone."""

    generations: int
    budget: int
    least: int
    most: int
    design: Callable[[int], Design]


def lines(room: Room, strategy: str, few: bool = False) -> Iterator[Line]:
    """Go through what a strategy can do with each scenario.

    Parameters
    ----------
    room : Room
        Designs to choose from.
    strategy : str
        Way to spend calls.
    few : bool
        Not every number of answers, but some, the larger the farther apart.
    """
    least, most = room.least_scenarios, room.most_scenarios
    # A stratified design is worked out call by call: where numbers of scenarios are searched too,
    # not every number of answers can be tried.
    every = list(range(1, room.most_generations + 1))
    numbers = _some(room.most_generations) if few or least < most else every
    if strategy == STRATIFIED:
        for budget in numbers:
            low, high = max(least, -(-room.panel_size // budget)), min(most, MOST_CALLS // budget)
            for shares in room.shares:
                yield Line(budget, budget, low, high, _stratified(budget, shares))
        return
    each = parse_strategy(strategy, room.panel_size).judges
    for generations in numbers if few else every:
        budget = generations * each
        yield Line(generations, budget, least, most, _equal(strategy, budget))


def _equal(strategy: str, budget: int) -> Callable[[int], Design]:
    return lambda n: Design(strategy, n, budget)


def _stratified(budget: int, shares: FloatArray) -> Callable[[int], Design]:
    return lambda n: Design(STRATIFIED, n, budget, quotas(shares, n * budget))


def _some(most: int) -> list[int]:
    """Return whole numbers from 1 on, each at least a fifth larger than the one before."""
    found = [1]
    while found[-1] < most:
        found.append(min(most, max(found[-1] + 1, int(found[-1] * 1.2))))
    return found


class Found(NamedTuple):
    """A design, with what it costs and how far it is from perfect."""

    design: Design
    generations: int
    cost: float
    loss: float


def cheapest(goal: Goal, room: Room, prices: Prices, strategy: str) -> Found | None:
    """Return the cheapest design of a strategy whose loss is within the limit.

    Parameters
    ----------
    goal : Goal
        Its limit is the largest loss that will do.
    room : Room
        Designs to choose from.
    prices : Prices
        What they cost.
    strategy : str
        Way to spend calls.

    Returns
    -------
    Found or None
        None where there is no such design.
    """
    best: Found | None = None
    for line in lines(room, strategy):
        least, most = line.least, line.most
        if best is not None:  # a price that falls by a rounding of shares is let go
            price = prices.cost(line.design(least), line.generations) / least
            most = most if price == 0 else min(most, int(best.cost / price))
        if most < least:
            continue
        n = _least(_loss_of(goal, line), goal.limit, room.panel_size, least, most)
        if n is None:
            continue
        found = _found(goal, line.design(n), line.generations, prices)
        if best is None or (found.cost, found.loss) < (best.cost, best.loss):
            best = found
    return best


def _loss_of(goal: Goal, line: Line) -> Callable[[int], float]:
    return lambda n: goal.loss(line.design(n))


def _least(
    loss: Callable[[int], float], limit: float, panel_size: int, least: int, most: int
) -> int | None:
    """Return the least number of scenarios that will do.

    The loss falls with the number of scenarios, but for calls that are left over at the end of a
    rotation: a few numbers around the one found are looked at one by one.
    """
    low, high = least, least
    while not loss(high) <= limit:
        if high == most or np.isnan(loss(high)):
            return None
        low, high = high + 1, min(2 * high, most)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if loss(middle) <= limit else (middle + 1, high)
    for n in range(max(least, high - panel_size), high):
        if loss(n) <= limit:
            return n
    return high


def best_for(goal: Goal, room: Room, prices: Prices, strategy: str, spend: float) -> Found | None:
    """Return the design of a strategy with the least loss that costs no more than there is.

    Parameters
    ----------
    goal, room, prices, strategy
        As for `cheapest`.
    spend : float
        What there is to spend.
    """
    best: Found | None = None
    for line in lines(room, strategy):
        n, price = line.most, 0.0
        if line.most >= line.least:
            price = prices.cost(line.design(line.least), line.generations) / line.least
        if price > 0:
            n = min(n, int(spend / price * (1 + 1e-12)))
        while n >= line.least and prices.cost(line.design(n), line.generations) > spend * (
            1 + 1e-12
        ):
            n -= 1  # shares of calls are whole numbers
        if n < line.least:
            continue
        found = _found(goal, line.design(n), line.generations, prices)
        if not np.isnan(found.loss) and (best is None or found.loss < best.loss):
            best = found
    return best


def least_cost(room: Room, prices: Prices, strategy: str) -> float:
    """Price the smallest design of a strategy."""
    line = next(lines(room, strategy))
    return prices.cost(line.design(line.least), line.generations)


def frontier(goal: Goal, room: Room, prices: Prices, sizes: Sequence[int]) -> list[Found]:
    """Return designs, cheapest first, each better than all cheaper ones by a hundredth or more.

    Parameters
    ----------
    goal, room, prices
        As for `cheapest`.
    sizes : sequence of int
        Numbers of scenarios to look at.
    """
    every = [
        _found(goal, line.design(n), line.generations, prices)
        for strategy in room.strategies
        for line in lines(room, strategy, few=True)
        for n in sizes
        if line.least <= n <= line.most
    ]
    kept: list[Found] = []
    for found in sorted(every, key=lambda found: (found.cost, found.loss)):
        if not np.isnan(found.loss) and (not kept or found.loss < _BETTER * kept[-1].loss):
            kept.append(found)
    return kept


def why_not(goal: Goal, room: Room, prices: Prices, strategy: str) -> str:
    """Say why no design of a strategy will do: what the largest one reaches."""
    *_, line = lines(room, strategy)
    if line.most < line.least:
        return f"{strategy}: there are fewer calls than judges"
    last = line.design(line.most)
    if np.isnan(goal.loss(last)):
        return goal.reason(last)
    found = _found(goal, last, line.generations, prices)
    return (
        f"{strategy}: {counted(line.most, 'scenario')} with {counted(line.generations, 'answer')} "
        f"and {counted(line.budget, 'call')} each reach {goal.in_words(found.loss)}, for "
        f"{found.cost:,.6g}"
    )


def _found(goal: Goal, design: Design, generations: int, prices: Prices) -> Found:
    return Found(design, generations, prices.cost(design, generations), goal.loss(design))


def require_reachable(found: Sequence[Found | None], reasons: Sequence[str], what: str) -> None:
    """Refuse a plan for what no strategy reaches, saying what they do reach."""
    if not any(found):
        raise BayesJudgeError(f"{what} is out of reach. {'; '.join(reasons)}.")
