"""Statistics of several evaluated models, one behind the other, as compiled loops want them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesjudge.marginal.patterns import Patterns

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Packed(NamedTuple):
    """Statistics of several evaluated models, one behind the other.

    ``starts`` has a row for each model and one more: where its patterns, groups, scenarios, kinds
    and kind groups start. Positions inside a model count from its own start. Judges are numbered
    within each model, and arrays are as wide as the largest panel.
    """

    starts: IntArray  # (models + 1, 5)
    n_judges: IntArray  # (models,)
    judge_ids: IntArray  # (models, K): columns of the residual variances
    center: FloatArray  # (models,)
    counts: FloatArray  # (patterns, K)
    cross: FloatArray  # (patterns, K, K): cross-products of cell means, over all groups
    within: FloatArray  # (models, K)
    group_scenario: IntArray  # (groups,)
    group_pattern: IntArray
    group_size: FloatArray
    group_sum: FloatArray  # (groups, K)
    scenario_kind: IntArray  # (scenarios,)
    kind_size: FloatArray  # (kinds,)
    kind_group: IntArray  # (kind groups,): position among the model's groups
    kind_of_group: IntArray  # (kind groups,)


def pack(tables: Sequence[tuple[Patterns, IntArray]]) -> Packed:
    """Put the statistics of several models one behind the other.

    Parameters
    ----------
    tables : sequence of (Patterns, int array)
        Statistics of each model, and the positions of its judges in the table.
    """
    K = max(len(ids) for _, ids in tables)

    def wide(array: FloatArray) -> FloatArray:
        judges = array.shape[1]
        pads = [(0, 0)] + [(0, K - judges if size == judges else 0) for size in array.shape[1:]]
        return np.pad(array, pads)

    sizes = [
        (
            len(s.counts),
            len(s.group_size),
            len(s.scenario_kind),
            len(s.kind_size),
            len(s.kind_group),
        )
        for s, _ in tables
    ]
    stats = [s for s, _ in tables]
    crosses = []
    for s in stats:
        pooled = np.zeros((len(s.counts), *s.group_cross.shape[1:]))
        np.add.at(pooled, s.group_pattern, s.group_cross)
        crosses.append(wide(pooled))
    kind_of_group = [
        np.searchsorted(s.kind_start, np.arange(len(s.kind_group)), side="right") - 1 for s in stats
    ]
    return Packed(
        starts=np.r_[np.zeros((1, 5), dtype=np.int64), np.cumsum(sizes, axis=0)],
        n_judges=np.array([len(ids) for _, ids in tables]),
        judge_ids=np.stack([np.pad(ids, (0, K - len(ids))) for _, ids in tables]),
        center=np.array([s.center for s in stats]),
        counts=np.concatenate([wide(s.counts) for s in stats]),
        cross=np.concatenate(crosses),
        within=np.concatenate([wide(s.within.sum(axis=0, keepdims=True)) for s in stats]),
        group_scenario=np.concatenate([s.group_scenario for s in stats]),
        group_pattern=np.concatenate([s.group_pattern for s in stats]),
        group_size=np.concatenate([s.group_size for s in stats]),
        group_sum=np.concatenate([wide(s.group_sum) for s in stats]),
        scenario_kind=np.concatenate([s.scenario_kind for s in stats]),
        kind_size=np.concatenate([s.kind_size for s in stats]),
        kind_group=np.concatenate([s.kind_group for s in stats]),
        kind_of_group=np.concatenate(kind_of_group),
    )
