"""Scores of campaigns drawn with replacement from a pool of scores, many campaigns at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_BLOCK = 500_000  # draws held at a time, about 20 MB with what is made of them


def resampled_scores(
    pool: FloatArray, strategy: str, budget: int, repetitions: int, rng: np.random.Generator
) -> FloatArray:
    """Draw campaigns and return the mean of each one's calls.

    Parameters
    ----------
    pool : float array, shape (scenarios, generations, judges)
        What each judge gives each generation.
    strategy : {"all", "random", "cyclic"}
        Who scores what. Every strategy draws generations with replacement; *random* judges too;
        *cyclic* shuffles panel and scenarios anew in each campaign, then carries the rotation on
        from one scenario to the next.
    budget : int
        Calls for each scenario; for *all*, a multiple of the number of judges.
    repetitions : int
        Campaigns.
    rng : Generator
        Numbers are drawn block by block of campaigns, and scenario by scenario within.

    Returns
    -------
    float array, shape (repetitions,)
        In points of the pool.
    """
    draw = {"all": _all, "random": _random, "cyclic": _cyclic}[strategy]
    size = max(1, _BLOCK // max(budget, len(pool)))
    sums = [
        draw(pool, budget, min(size, repetitions - start), rng)
        for start in range(0, repetitions, size)
    ]
    return np.concatenate(sums) / (len(pool) * budget)


def _all(pool: FloatArray, budget: int, size: int, rng: np.random.Generator) -> FloatArray:
    total, judges = np.zeros(size), pool.shape[2]
    for scenario in pool:
        answers = scenario.sum(axis=1)
        drawn = rng.integers(len(answers), size=(size, budget // judges))
        total += answers.take(drawn).sum(axis=1)
    return total


def _random(pool: FloatArray, budget: int, size: int, rng: np.random.Generator) -> FloatArray:
    total = np.zeros(size)
    for scenario in pool:
        drawn = rng.integers(scenario.size, size=(size, budget))
        total += scenario.take(drawn).sum(axis=1)
    return total


def _cyclic(pool: FloatArray, budget: int, size: int, rng: np.random.Generator) -> FloatArray:
    n, m, K = pool.shape
    cycles, extra = divmod(budget, K)
    panel, position = _shuffles(rng, size, K), _shuffles(rng, size, n)
    total = np.zeros(size)
    for scenario, place in zip(pool, position.T, strict=True):
        # In whole cycles every judge comes once, wherever the rotation stands.
        drawn = rng.integers(m, size=(size, cycles, K)) * K + np.arange(K)
        total += scenario.take(drawn).sum(axis=(1, 2))
        if extra:
            turn = (place[:, None] * extra + np.arange(extra)) % K
            judge = np.take_along_axis(panel, turn, axis=1)
            drawn = rng.integers(m, size=(size, extra)) * K + judge
            total += scenario.take(drawn).sum(axis=1)
    return total


def _shuffles(rng: np.random.Generator, size: int, length: int) -> NDArray[np.int64]:
    """Return permutations of so many, one a row."""
    return rng.permuted(np.tile(np.arange(length), (size, 1)), axis=1)
