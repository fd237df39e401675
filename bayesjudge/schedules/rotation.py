"""Which judge gets which call: a function of the call's number alone.

Calls are numbered through the whole campaign: scenario at place p (from 0), call q of its budget B
is call c = pB + q; with k judges on each generation it is on generation q // k of that scenario.
Judges stand in a shuffled order, their places 0 to K - 1. Nothing depends on calls before, so that
a campaign can be continued, and every part of it drawn again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.allocations.strategies import Strategy

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# What random numbers are for: each has a stream of its own.
_PANEL, _SCENARIOS, _DRAW, _DRAW_AGAIN = range(4)


@dataclass(frozen=True, eq=False)
class Plan:
    """All that decides who scores what.

    Attributes
    ----------
    strategy : Strategy
        How judges are chosen.
    panel : tuple of str
        Judges, in the shuffled order.
    models : tuple of str
        Evaluated models; empty where they are not named.
    allowed : bool array, shape (models or 1, judges)
        Who may score whom.
    generations : int
        For each scenario.
    seed : int
        Of everything random.
    """

    strategy: Strategy
    panel: tuple[str, ...]
    models: tuple[str, ...]
    allowed: BoolArray
    generations: int
    seed: int

    @property
    def budget(self) -> int:
        """Judge calls for each scenario, where every judge may score."""
        return self.generations * self.strategy.judges


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls by number: each array has shape (calls,); generations count from 1, others from 0."""

    scenario: IntArray
    model: IntArray
    generation: IntArray
    judge: IntArray


def shuffled_panel(judges: tuple[str, ...], seed: int) -> tuple[str, ...]:
    """Put sorted judges into the order of the rotation."""
    order = np.argsort(_bits(seed, _PANEL, len(judges)), kind="stable")
    return tuple(judges[i] for i in order)


def shuffled_scenarios(count: int, first: int, seed: int) -> IntArray:
    """Return the order in which sorted scenarios come, after `first` that came before."""
    bits = _bits(seed, _SCENARIOS, count, first)
    return np.argsort(bits, kind="stable").astype(np.int64)


def calls(plan: Plan, first: int, count: int) -> Calls:
    """Lay out the calls of some scenarios.

    Parameters
    ----------
    plan : Plan
    first : int
        Place of the first of them in the campaign.
    count : int
        How many there are.

    Returns
    -------
    Calls
        By scenario (numbered from 0 here), then model, generation and judge.
    """
    by_model = [_places(plan, allowed, first, count) for allowed in plan.allowed]
    widths = [places.shape[2] for places in by_model]
    m = plan.generations
    model = np.repeat(np.arange(len(widths)), [m * width for width in widths])
    generation = np.concatenate([np.repeat(np.arange(1, m + 1), width) for width in widths])
    judge = np.concatenate([places.reshape(count, -1) for places in by_model], axis=1)
    return Calls(
        scenario=np.repeat(np.arange(count), len(model)),
        model=np.tile(model, count),
        generation=np.tile(generation, count),
        judge=judge.ravel(),
    )


def _places(plan: Plan, allowed: BoolArray, first: int, count: int) -> IntArray:
    """Return the judges of one model's calls, shape (scenarios, generations, judges of each)."""
    strategy, m, k = plan.strategy, plan.generations, plan.strategy.judges
    if strategy.kind in ("all", "subset"):
        chosen = np.flatnonzero(allowed)[:k]
        return np.broadcast_to(chosen, (count, m, len(chosen)))
    if strategy.kind == "random":
        judge = _drawn(plan.seed, first * m, count * m, allowed)
    elif strategy.kind == "cyclic-restart":
        judge = np.tile(_in_turn(np.arange(m), allowed), count)
    elif k > 1 and not allowed.all():
        judge = several_in_turn(allowed, k, first * m, count * m)
    else:
        judge = _in_turn(np.arange(first * m * k, (first + count) * m * k), allowed)
    return judge.reshape(count, m, k)


def _in_turn(turn: IntArray, allowed: BoolArray) -> IntArray:
    """Return the judges of some turns.

    A turn of a judge who may not score goes to the next of those who may, and these stand in from
    the last place backwards. After any number of turns those ahead by their own turns are the first
    places, and those ahead by standing in the last ones: either the two groups don't meet, or
    together they are everyone. So the numbers of calls differ by one at most.
    """
    K, may = len(allowed), np.flatnonzero(allowed)
    place = turn % K
    if len(may) == K:
        return place
    before = np.concatenate([[0], np.cumsum(~allowed)])[place]
    stood_in = (K - len(may)) * (turn // K) + before
    return np.where(allowed[place], place, may[::-1][stood_in % len(may)])


def several_in_turn(allowed: BoolArray, k: int, first: int, count: int) -> IntArray:
    """Return k judges for each of some generations, where some judges may not score.

    Calls go round by round, each of the judges who may score once in a round, so that numbers of
    calls differ by one at most, at any moment. Which of them comes when in a round is free: those
    whose own turn it is come first, then those whose own turn is farthest off. A generation in
    which a round ends takes all who are left of it, and others from the next: nobody comes twice.

    Parameters
    ----------
    allowed : bool array, shape (judges,)
        Who may score; at least k of them.
    k : int
        Judges of one generation.
    first, count : int
        The first generation, counted through the whole campaign, and how many there are.

    Returns
    -------
    int array, shape (count, k)
    """
    K = len(allowed)
    seen: dict[tuple[int, frozenset[int]], int] = {}
    chosen: list[list[int]] = []
    start, left = 0, frozenset(np.flatnonzero(allowed).tolist())
    # What follows depends on the turn and on who is left of a round alone, so it comes again.
    while (start, left) not in seen and len(chosen) < first + count:
        seen[start, left] = len(chosen)
        judges, left = _one_generation(allowed, k, start, left)
        chosen.append(judges)
        start = (start + k) % K
    number = np.arange(first, first + count)
    begin = seen.get((start, left), 0)
    again = begin + (number - begin) % (len(chosen) - begin)
    found: IntArray = np.array(chosen, dtype=np.int64)[
        np.where(number < len(chosen), number, again)
    ]
    return found


def _one_generation(
    allowed: BoolArray, k: int, start: int, left: frozenset[int]
) -> tuple[list[int], frozenset[int]]:
    """Return the judges of one generation, and who is left of the round after it."""
    K = len(allowed)

    def preferred(judges: frozenset[int]) -> list[int]:
        def wait(judge: int) -> tuple[bool, int]:
            turns = (judge - start) % K
            return (turns >= k, turns if turns < k else -turns)

        return sorted(judges, key=wait)

    judges = preferred(left)[:k]
    left = left - set(judges)
    if not left:
        left = frozenset(np.flatnonzero(allowed).tolist())
        more = preferred(left - set(judges))[: k - len(judges)]
        judges, left = judges + more, left - set(more)
    return judges, left


def _drawn(seed: int, first: int, count: int, allowed: BoolArray) -> IntArray:
    """Return judges drawn for some calls; one who may not score is drawn again from the others."""
    may = np.flatnonzero(allowed)
    place = (_skipped(seed, _DRAW, first, count) % len(allowed)).astype(np.int64)
    if len(may) == len(allowed):
        return place
    again = (_skipped(seed, _DRAW_AGAIN, first, count) % len(may)).astype(np.int64)
    return np.where(allowed[place], place, may[again])


def _bits(seed: int, purpose: int, count: int, block: int = 0) -> NDArray[np.uint64]:
    # Raw 64-bit numbers: NumPy keeps these streams from release to release (NEP 19), and not those
    # of Generator, which would break a schedule that is continued a year later.
    return np.random.PCG64([seed, purpose, block]).random_raw(count)


def _skipped(seed: int, purpose: int, first: int, count: int) -> NDArray[np.uint64]:
    """Return some numbers of a stream, whatever was asked of it before."""
    source = np.random.PCG64([seed, purpose, 0])
    source.advance(first)
    return source.random_raw(count)
