"""Whether judges can be compared: the graph of who scored what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from bayesjudge.design.cells import Cells

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """Judges and scenarios joined by calls, and by none to the rest of the table."""

    judges: tuple[int, ...]
    scenarios: tuple[int, ...]


def blocks(cells: Cells) -> tuple[Block, ...]:
    """Find the connected parts of one evaluated model's judge-scenario graph.

    Two judges in one part can be compared within scenarios. Judges in different parts can be
    compared only if the scenarios of the parts are alike, that is randomly assigned.

    Returns
    -------
    tuple of Block
        Positions in the table's judges and scenarios; the largest part first.
    """
    n, K = cells.n_scenarios, cells.n_judges
    ones = np.ones(len(cells.score))
    graph = sparse.csr_matrix((ones, (cells.scenario, n + cells.judge)), shape=(n + K, n + K))
    count, part = csgraph.connected_components(graph, directed=False)
    found = [
        Block(
            judges=tuple(int(j) for j in cells.judge_ids[part[n:] == k]),
            scenarios=tuple(int(i) for i in cells.scenario_ids[part[:n] == k]),
        )
        for k in range(count)
    ]
    return tuple(sorted(found, key=lambda block: (-len(block.scenarios), block.judges)))


def offset_errors(cells: Cells) -> FloatArray:
    """Return the standard error of each judge's mean when its scenarios are a random share of all.

    The variance between a judge's scenario means holds the scenario variance, as it must when
    two judges have no scenario in common: SE(gamma_l - gamma_k)² is the sum of two of these
    squared.

    Returns
    -------
    float array, shape (K,)
        In score points; NaN for a judge with fewer than two scenarios.
    """
    n, K = cells.n_scenarios, cells.n_judges
    pair = cells.scenario * K + cells.judge
    count = np.bincount(pair, minlength=n * K).reshape(n, K)
    total = np.bincount(pair, cells.score, minlength=n * K).reshape(n, K)
    means = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    scenarios = (count > 0).sum(axis=0)
    errors = np.full(K, np.nan)
    several = scenarios > 1
    spread = np.nanvar(means[:, several], axis=0, ddof=1)
    errors[several] = np.sqrt(spread / scenarios[several])
    return errors
