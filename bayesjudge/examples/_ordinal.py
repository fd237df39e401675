"""Half-point scores drawn from a cumulative-logit model, and how its parameters were calibrated.

P(score <= level c) = expit(threshold_c - (offset + alpha_i + beta_ij)), with one set of thresholds
for all evaluated models and judges. ``offset`` is, by evaluated model and judge, the sum of how
good the model is, how lenient the judge is, and the judge's affinity to the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

from bayesjudge.examples._moments import shared_effects, standard_normal
from bayesjudge.examples._targets import LABELS, MTBENCH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEVELS = np.arange(2, 21) / 2

# Per 1,000 scores over the whole panel. Chosen: most mass on 8-9.5, whole points more frequent
# than half points, a thin tail down to 1, and a ceiling that holds a sixth of the scores.
SHARES = (
    *(1.8, 0.6, 6.2, 1.4, 11.8, 2.8, 18.5, 4.7, 28.0, 7.6),  # 1 to 5.5
    *(44.0, 15.5, 74.0, 37.5, 165.0, 95.0, 227.6, 90.0, 168.0),  # 6 to 10
)

SIGMA_SCENARIO = 1.5
SIGMA_GENERATION = 0.6

# What `calibrate` finds, rounded, so that the truth behind the scores can be quoted.
THRESHOLDS = (
    *(-9.15, -8.84, -7.42, -7.24, -6.27, -6.11, -5.33, -5.18, -4.47),  # 1|1.5 to 5|5.5
    *(-4.31, -3.57, -3.35, -2.49, -2.12, -0.74, -0.01, 1.95, 3.03),  # 5.5|6 to 9.5|10
)
OFFSETS = (  # evaluated models in rows, judges in columns, both in the order of LABELS
    (-0.77, -0.05, -3.55, -2.15, -3.67),
    (-1.04, 0.67, -2.51, 0.36, -2.01),
    (-0.97, 0.91, 0.57, 4.14, 0.16),
    (-0.77, 1.36, -0.43, 5.52, 0.60),
    (-0.88, 1.59, -0.97, 3.64, 0.23),
)


def _cumulative(thresholds: Array, offsets: Array) -> Array:
    """Give P(score <= level) by model, judge and level, averaged over the Gaussian effects."""
    nodes, weights = hermegauss(61)
    effect = np.hypot(SIGMA_SCENARIO, SIGMA_GENERATION) * nodes
    at_node = expit(thresholds[:, None] - offsets[..., None, None] - effect)
    return np.asarray((at_node * (weights / weights.sum())).sum(axis=-1))


def calibrate() -> tuple[Array, Array]:
    """Find the thresholds that give `SHARES` and the offsets that give Table 1's means.

    Two bisections in turn: each offset until its cell has the wanted mean, each threshold until
    the share below it over all cells is right. The offsets sum to zero.

    Returns
    -------
    tuple of numpy.ndarray
        Thresholds (18) and offsets (evaluated model, judge).
    """
    shares = np.array(SHARES) / sum(SHARES)
    below = np.cumsum(shares)[:-1]
    means = np.array([[float(x) for x in MTBENCH.judge_means[label]] for label in LABELS])
    # The shares fix the grand mean, so Table 1 can only give the differences from it.
    means += LEVELS @ shares - means.mean()
    thresholds, offsets = np.log(below / (1 - below)), np.zeros_like(means)
    for _ in range(12):
        low, high = np.full_like(offsets, -15.0), np.full_like(offsets, 15.0)
        for _ in range(35):
            offsets = (low + high) / 2
            mean = LEVELS[-1] - 0.5 * _cumulative(thresholds, offsets).sum(axis=-1)
            low, high = np.where(mean < means, offsets, low), np.where(mean < means, high, offsets)
        low, high = np.full_like(thresholds, -25.0), np.full_like(thresholds, 25.0)
        for _ in range(35):
            thresholds = (low + high) / 2
            share = _cumulative(thresholds, offsets).mean(axis=(0, 1))
            low = np.where(share < below, thresholds, low)
            high = np.where(share < below, high, thresholds)
    return thresholds - offsets.mean(), offsets - offsets.mean()


def ordinal_panel(seed: int) -> Array:
    """Draw the scores of all evaluated models.

    Scenario effects are correlated over evaluated models, generation effects are not.

    Returns
    -------
    numpy.ndarray
        Scores by evaluated model (in the order of `LABELS`), scenario, generation and judge.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    size, n, m = len(LABELS), MTBENCH.n_scenarios, MTBENCH.n_generations
    latent = (
        np.array(OFFSETS)[:, None, None, :]
        + SIGMA_SCENARIO * shared_effects(rng, size, n, 1, 1)
        + SIGMA_GENERATION * standard_normal(rng, size, n, m, 1)
    )
    uniform = rng.random(latent.shape)
    passed = uniform[..., None] > expit(np.array(THRESHOLDS) - latent[..., None])
    return np.asarray(LEVELS[passed.sum(axis=-1)])
