"""Any table: the scores of one evaluated model, reduced to what its likelihood needs.

Within a generation the likelihood depends on the data through the call counts and the cell
means by judge alone. Generations of one scenario with the same counts form a *group*; their
cell means enter by sum and cross-product. Scenarios with the same groups share every matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesjudge.design.cells import Cells

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Patterns:
    """Sufficient statistics of one evaluated model.

    Attributes
    ----------
    counts : float array, shape (patterns, K)
        Calls by judge in a generation, one row a distinct pattern.
    center : float
        What was subtracted from every score (score).
    group_scenario, group_pattern : int array, shape (groups,)
        Scenario and pattern of each group, sorted by scenario, then pattern.
    group_size : float array, shape (groups,)
        Number of generations.
    group_sum : float array, shape (groups, K)
        Sum over generations of the cell means (score), zero where there is no call.
    group_cross : float array, shape (groups, K, K)
        Sum over generations of the outer products of the cell means (score²).
    within : float array, shape (n, K)
        Sum of squares of repeated calls around their cell means (score²).
    scenario_kind : int array, shape (n,)
        Which scenarios share all their group sizes and patterns.
    kind_scenario : int array, shape (kinds,)
        One scenario of each kind.
    kind_size : float array, shape (kinds,)
        Number of scenarios of each kind.
    scenario_start, kind_group, kind_start, pattern_order, pattern_start : int array
        Where each scenario's groups start; the groups of one scenario of each kind, and where
        each kind starts among them; the groups sorted by pattern, and where each pattern starts
        among them.
    kind_pattern : sparse array, shape (kinds, patterns)
        Number of generations of each pattern in a scenario of each kind.
    pattern_cross : float array, shape (patterns, K, K)
        The sum of `group_cross` over the groups of each pattern (score²).
    pattern_size, within_judge : float array, shapes (patterns,) and (K,)
        Number of generations of each pattern, and the sum of `within` over scenarios (score²).

    What stands from `scenario_start` on follows from the rest. It is kept because every evaluation
    of the likelihood sums along it.
    """

    counts: FloatArray
    center: float
    group_scenario: IntArray
    group_pattern: IntArray
    group_size: FloatArray
    group_sum: FloatArray
    group_cross: FloatArray
    within: FloatArray
    scenario_kind: IntArray
    kind_scenario: IntArray
    kind_size: FloatArray
    scenario_start: IntArray
    kind_group: IntArray
    kind_start: IntArray
    pattern_order: IntArray
    pattern_start: IntArray
    kind_pattern: sparse.csr_array
    pattern_cross: FloatArray
    pattern_size: FloatArray
    within_judge: FloatArray

    @property
    def n_calls(self) -> float:
        """Number of scores."""
        return float(self.pattern_size @ self.counts.sum(axis=1))


def patterns(cells: Cells) -> Patterns:
    """Reduce the calls of one evaluated model to its sufficient statistics."""
    K, n, generations = cells.n_judges, cells.n_scenarios, cells.n_generations
    center = float(cells.score.mean())
    score = cells.score - center
    cell = cells.generation * K + cells.judge
    per_cell = np.bincount(cell, minlength=generations * K).reshape(generations, K)
    total = np.bincount(cell, score, minlength=generations * K).reshape(generations, K)
    means = total / np.maximum(per_cell, 1)
    spread = (score - means.ravel()[cell]) ** 2
    within = np.bincount(cells.scenario * K + cells.judge, spread, minlength=n * K)

    counts, pattern = np.unique(per_cell, axis=0, return_inverse=True)
    group, member = np.unique(
        cells.generation_scenario * len(counts) + pattern.ravel(), return_inverse=True
    )
    sums, cross = np.zeros((len(group), K)), np.zeros((len(group), K, K))
    order = np.argsort(member, kind="stable")
    starts = np.searchsorted(member[order], np.arange(len(group)))
    np.add.reduceat(means[order], starts, out=sums)
    ends = np.r_[starts[1:], generations]
    for g, (start, end) in enumerate(zip(starts, ends, strict=True)):
        block = means[order[start:end]]
        cross[g] = block.T @ block
    scenario, size = group // len(counts), np.bincount(member).astype(float)
    group_pattern = group % len(counts)
    kind_scenario, kind, kind_size = _kinds(scenario, group_pattern, size)
    scenario_start = np.searchsorted(scenario, np.arange(n + 1))
    chosen = [np.arange(scenario_start[i], scenario_start[i + 1]) for i in kind_scenario]
    kind_group = np.concatenate(chosen)
    kind_start = np.cumsum([0] + [len(groups) for groups in chosen])
    order = np.argsort(group_pattern, kind="stable")
    pattern_start = np.searchsorted(group_pattern[order], np.arange(len(counts)))
    within = within.reshape(n, K)
    return Patterns(
        counts=counts.astype(float),
        center=center,
        group_scenario=scenario,
        group_pattern=group_pattern,
        group_size=size,
        group_sum=sums,
        group_cross=cross,
        within=within,
        scenario_kind=kind,
        kind_scenario=kind_scenario,
        kind_size=kind_size,
        scenario_start=scenario_start[:-1],
        kind_group=kind_group,
        kind_start=kind_start[:-1],
        pattern_order=order,
        pattern_start=pattern_start,
        kind_pattern=sparse.csr_array(
            (size[kind_group], group_pattern[kind_group], kind_start),
            shape=(len(kind_scenario), len(counts)),
        ),
        pattern_cross=np.add.reduceat(cross[order], pattern_start),
        pattern_size=np.bincount(group_pattern, size, minlength=len(counts)),
        within_judge=within.sum(axis=0),
    )


def _kinds(
    scenario: IntArray, pattern: IntArray, size: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Find the scenarios that have the same patterns, each equally often."""
    starts = np.flatnonzero(np.r_[True, scenario[1:] != scenario[:-1]])
    seen: dict[bytes, int] = {}
    kind = np.zeros(len(starts), dtype=np.int64)
    for i, (start, end) in enumerate(zip(starts, np.r_[starts[1:], len(scenario)], strict=True)):
        key = pattern[start:end].tobytes() + b"|" + size[start:end].tobytes()
        kind[i] = seen.setdefault(key, len(seen))
    first = np.unique(kind, return_index=True)[1]
    return first, kind, np.bincount(kind).astype(float)
