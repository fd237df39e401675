"""Sufficient statistics of ordinal scores: which generations got the same levels from whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class Tallies(NamedTuple):
    """Levels of several evaluated models, one model behind the other.

    Generations of a model that got the same levels from the same judges have the same likelihood
    as functions of their total effect: they share a *ballot*.

    ``starts`` has a row for each model and one more: where its ballots, calls, scenarios and
    entries start. Positions inside a model count from its own start.
    """

    starts: IntArray  # (models + 1, 4)
    ballot_start: IntArray  # (ballots + models,): first call of each ballot, and one past the last
    judge: IntArray  # (calls of ballots,): position in the whole table
    level: IntArray  # (calls of ballots,)
    scenario_start: IntArray  # (scenarios + models,): first entry of each scenario, and the end
    ballot: IntArray  # (entries,)
    copies: FloatArray  # (entries,): how many generations of the scenario have this ballot
    sizes: FloatArray  # (scenarios, most calls): generations with 1, 2, ... calls


def tallies(tables: Sequence[tuple[Cells, IntArray]]) -> Tallies:
    """Tally the levels of several evaluated models.

    Parameters
    ----------
    tables : sequence of (Cells, int array)
        The calls of each model, and the level of each of them.
    """
    most = max(int(np.bincount(cells.generation).max()) for cells, _ in tables)
    parts = [_one(cells, levels, most) for cells, levels in tables]
    sizes = [(len(p[0]) - 1, len(p[1]), len(p[3]) - 1, len(p[4])) for p in parts]
    starts = np.r_[np.zeros((1, 4), dtype=np.int64), np.cumsum(sizes, axis=0)].astype(np.int64)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Tallies(starts, *columns)


def _one(
    cells: Cells, levels: IntArray, most: int
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray, FloatArray, FloatArray]:
    order = np.lexsort((levels, cells.judge, cells.generation))
    generation, judge, level = cells.generation[order], cells.judge[order], levels[order]
    calls = np.bincount(generation)
    first = np.cumsum(calls) - calls
    # A ballot as a row: judge and level of each call, -1 beyond the last.
    place = np.arange(len(generation)) - first[generation]
    ballots = np.full((len(calls), int(calls.max())), -1, dtype=np.int64)
    ballots[generation, place] = judge * (int(levels.max()) + 1) + level
    unique, which = np.unique(ballots, axis=0, return_inverse=True)
    which = which.reshape(-1)
    used = unique >= 0
    base = int(levels.max()) + 1
    pairs = unique[used]
    ballot_start = np.r_[0, np.cumsum(used.sum(axis=1))]
    n = cells.n_scenarios
    entry, count = np.unique(cells.generation_scenario * len(unique) + which, return_counts=True)
    scenario_start = np.searchsorted(entry // len(unique), np.arange(n + 1))
    sizes = np.zeros((n, most))
    np.add.at(sizes, (cells.generation_scenario, calls - 1), 1.0)
    return (
        ballot_start.astype(np.int64),
        cells.judge_ids[pairs // base].astype(np.int64),
        (pairs % base).astype(np.int64),
        scenario_start.astype(np.int64),
        (entry % len(unique)).astype(np.int64),
        count.astype(float),
        sizes,
    )
