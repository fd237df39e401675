"""How much a column depends on the judge, and what chance alone would give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesjudge.schedules.permutations import permutations
from bayesjudge.schedules.rotation import IntArray

FloatArray = NDArray[np.float64]

_ROUNDING = 1e-9  # of statistics that are equal but for the order of their sums


class Dependence(NamedTuple):
    """How much a column depends on the judge.

    `effect` is corrected for what chance gives on average; `judge` and `value` are where a column
    of categories is most above an equal share, with the calls `observed` and `expected` there; of
    a column of numbers they are the judge whose mean is farthest off, that mean, and the mean of
    all (`value` is -1).
    """

    effect: float
    p_value: float
    judge: int
    value: int
    observed: float
    expected: float


def of_categories(
    code: IntArray,
    unit: IntArray,
    scenario: IntArray,
    judge: IntArray,
    count: int,
    rng: np.random.Generator,
) -> Dependence:
    """Cramér's V of judge and category, corrected for bias (Bergsma, 2013).

    Parameters
    ----------
    code : int array, shape (units,)
        Category of each unit: a scenario, a generation or a call.
    unit : int array, shape (scored calls,)
        The unit of each call.
    scenario : int array, shape (units,)
        The scenario of each unit.
    judge : int array, shape (scored calls,)
    count : int
        Permutations.
    rng : Generator

    References
    ----------
    W. Bergsma, "A bias-correction for Cramér's V and Tschuprow's T", Journal of the Korean
    Statistical Society 42 (2013).
    """
    K, C, N = int(judge.max()) + 1, int(code.max()) + 1, len(judge)

    def tables(codes: IntArray) -> FloatArray:
        """Count calls, shape (permutations, judges, categories)."""
        own = np.arange(len(codes))[:, None] * K + judge
        flat = np.bincount((own * C + codes[:, unit]).ravel(), minlength=len(codes) * K * C)
        return flat.reshape(-1, K, C).astype(np.float64)

    def phi2(table: FloatArray) -> FloatArray:
        rows, columns = table.sum(axis=2, keepdims=True), table.sum(axis=1, keepdims=True)
        product = rows * columns
        found: FloatArray = (
            np.divide(table**2, product, out=np.zeros_like(table), where=product > 0).sum((1, 2))
            - 1
        )
        return found

    table = tables(code[None, :])
    own = float(phi2(table)[0])
    beyond = sum(
        int((phi2(tables(code[order])) >= own - _ROUNDING).sum())
        for order in permutations(scenario, count, N, rng)
    )
    expected = table[0].sum(axis=1, keepdims=True) * table[0].sum(axis=0) / N
    there = expected > 0
    apart = np.divide(table[0] - expected, np.sqrt(expected), out=np.zeros((K, C)), where=there)
    j, c = (int(i) for i in np.unravel_index(int(apart.argmax()), apart.shape))
    r, k = there.any(axis=1).sum(), there.any(axis=0).sum()
    return Dependence(
        _corrected(own, int(r), int(k), N),
        (1 + beyond) / (1 + count),
        j,
        c,
        float(table[0, j, c]),
        float(expected[j, c]),
    )


def of_numbers(
    value: FloatArray,
    unit: IntArray,
    scenario: IntArray,
    judge: IntArray,
    count: int,
    rng: np.random.Generator,
) -> Dependence:
    """eta² of a column of numbers by judge, corrected for bias (Kelley's epsilon²).

    Parameters
    ----------
    value : float array, shape (units,)
        Of each unit.
    unit, scenario, judge, count, rng
        As for `of_categories`.
    """
    K, N = int(judge.max()) + 1, len(judge)
    calls = np.bincount(judge, minlength=K)
    there = calls > 0
    centred = value - value[unit].mean()
    centred = centred / np.abs(centred).max()

    def sums(values: FloatArray) -> FloatArray:
        own = np.arange(len(values))[:, None] * K + judge
        flat = np.bincount(own.ravel(), values[:, unit].ravel(), minlength=len(values) * K)
        return flat.reshape(-1, K)

    def eta2(values: FloatArray) -> FloatArray:
        by_judge, on_calls = sums(values), values[:, unit]
        middle = by_judge.sum(axis=1) ** 2 / N
        between = (by_judge[:, there] ** 2 / calls[there]).sum(axis=1) - middle
        total = (on_calls**2).sum(axis=1) - middle
        return np.divide(between, total, out=np.zeros(len(values)), where=total > _ROUNDING)

    own = float(eta2(centred[None, :])[0])
    beyond = sum(
        int((eta2(centred[order]) >= own - _ROUNDING).sum())
        for order in permutations(scenario, count, N, rng)
    )
    mean = np.divide(sums(value[None, :])[0], calls, out=np.zeros(K), where=there)
    overall = float(value[unit].mean())
    far = np.where(there, np.abs(mean - overall) * np.sqrt(calls), 0.0)
    j, groups = int(far.argmax()), int(there.sum())
    left = (1 - own) * (N - 1) / (N - groups) if groups < N else 1.0
    p = (1 + beyond) / (1 + count)
    return Dependence(max(0.0, 1 - left), p, j, -1, float(mean[j]), overall)


def _corrected(phi2: float, rows: int, columns: int, calls: int) -> float:
    if min(rows, columns, calls) < 2:
        return 0.0
    phi2 = max(0.0, phi2 - (rows - 1) * (columns - 1) / (calls - 1))
    r = rows - (rows - 1) ** 2 / (calls - 1)
    c = columns - (columns - 1) ** 2 / (calls - 1)
    return float(np.sqrt(phi2 / (min(r, c) - 1))) if min(r, c) > 1 else 0.0
