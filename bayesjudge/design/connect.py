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
    pairs = cells.pairs()[0]
    edges = (np.ones(len(pairs)), (pairs // K, n + pairs % K))
    graph = sparse.csr_matrix(edges, shape=(n + K, n + K))
    count, part = csgraph.connected_components(graph, directed=False)
    members = zip(
        _split(cells.judge_ids, part[n:], count),
        _split(cells.scenario_ids, part[:n], count),
        strict=True,
    )
    found = [Block(judges=judges, scenarios=scenarios) for judges, scenarios in members]
    return tuple(sorted(found, key=lambda block: (-len(block.scenarios), block.judges)))


def _split(ids: NDArray[np.int64], part: NDArray[np.int32], count: int) -> list[tuple[int, ...]]:
    """Gather the ids of each part."""
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(1, count))
    return [tuple(group.tolist()) for group in np.split(ids[order], ends)]


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
    K = cells.n_judges
    pairs, pair = cells.pairs()
    means = np.bincount(pair, cells.score) / np.bincount(pair)
    judge = pairs % K
    scenarios = np.bincount(judge, minlength=K)
    centre = np.bincount(judge, means, minlength=K) / scenarios
    squares = np.bincount(judge, (means - centre[judge]) ** 2, minlength=K)
    errors = np.full(K, np.nan)
    several = scenarios > 1
    errors[several] = np.sqrt(squares[several] / (scenarios[several] - 1) / scenarios[several])
    return errors
