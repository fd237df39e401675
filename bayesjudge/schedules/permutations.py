"""Random permutations of a column that keep what belongs to one scenario together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayesjudge.schedules.rotation import IntArray

_AT_ONCE = 2_000_000  # numbers in one batch


def permutations(
    scenario: IntArray, count: int, calls: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Permute units that are nested in scenarios.

    Whole scenarios change places with others of as many units, and units change places within a
    scenario. So a column that is alike within scenarios stays so, and a judge who has several calls
    in one scenario does not seem to have that many independent ones.

    Parameters
    ----------
    scenario : int array, shape (units,)
        Of each unit, numbered from 0.
    count : int
        How many permutations.
    calls : int
        How many calls the units have, which decides how many permutations are made at once.
    rng : Generator

    Yields
    ------
    int array, shape (some, units)
        Row by row, the unit whose value each unit gets.
    """
    size = np.bincount(scenario)
    slots = np.lexsort([scenario, size[scenario]])
    batch = max(1, _AT_ONCE // max(calls, len(scenario)))
    for first in range(0, count, batch):
        b = min(batch, count - first)
        order = np.argsort(size + rng.random((b, len(size))), axis=1)
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.broadcast_to(np.arange(len(size)), order.shape), axis=1)
        source = np.argsort(place[:, scenario] + rng.random((b, len(scenario))), axis=1)
        found = np.empty_like(source)
        found[:, slots] = source
        yield found.astype(np.int64)
