r"""Draws from a density of few dimensions, by importance sampling that adapts to it.

Proposals are pairs of Student t distributions, one as wide as the density and one wider, for tails
that are longer on one side. The first pair is at the mode and gives few draws; each further one
has the weighted mean and covariance of all draws so far, and gives more. Every draw is weighted
against the mixture of all proposals, so that none is wasted and no weight is large because one
early proposal was narrow (adaptive multiple importance sampling: Cornuet, Marin, Mira and Robert,
2012). The largest weights are then smoothed, and the shape k of their tail says whether the draws
can be trusted (Vehtari, Simpson, Gelman, Yao and Gabry, 2024: below 0.7).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import NDArray
from scipy import optimize, special

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

Density = Callable[[FloatArray], FloatArray]
Gradient = Callable[[FloatArray], tuple[float, FloatArray]]

K_MAX = 0.7  # of the tail of weights: what is above can't be trusted
K_GOOD = 0.5  # what is below needs no further round: weights with a finite variance
_DF = 5.0  # of the proposals: heavier tails than any posterior in these coordinates
# Draws of each round, as shares of the effective draws that are wanted: the normal that touches
# the mode may be far off, and its draws are worth little.
_ROUNDS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.0, 1.0)
_PILOT = 50  # draws of the first round, at least, for each dimension
_WIDER = 1.2  # of the covariance at the mode
_WIDE, _WIDE_SHARE = 4.0, 4  # a quarter of the draws come from four times the covariance
_STEP = 1e-4  # for second derivatives from gradients
_CURVED = 0.05  # least curvature that is believed: the prior alone has 1
_FAR = 1e3


@dataclass(frozen=True, eq=False)
class Weighted:
    """Weighted draws from a density.

    Attributes
    ----------
    points : float array, shape (draws, dimensions)
        The draws.
    values : float array, shape (draws,)
        Their log density, up to a constant.
    weights : float array, shape (draws,)
        They sum to one; the largest are smoothed.
    k : float
        Shape of the tail of the weights.
    rounds : int
        Proposals that were made.
    """

    points: FloatArray
    values: FloatArray
    weights: FloatArray
    k: float
    rounds: int

    @property
    def effective(self) -> float:
        """Effective number of draws."""
        return float(1 / (self.weights**2).sum())

    def resampled(self, size: int, rng: np.random.Generator) -> IntArray:
        """Choose draws in proportion to their weights, systematically, in random order."""
        edges = np.cumsum(self.weights)
        places = (rng.random() + np.arange(size)) / size * edges[-1]
        chosen = np.minimum(np.searchsorted(edges, places), len(edges) - 1)
        return rng.permutation(chosen)


def sample_density(
    log_density: Density,
    gradient: Gradient,
    start: FloatArray,
    effective: int,
    rng: np.random.Generator,
) -> Weighted:
    """Draw from a density, until the draws are worth as many independent ones as are wanted.

    Parameters
    ----------
    log_density : callable
        From points, shape (draws, dimensions), to their log density up to a constant; minus
        infinity or NaN where there is none.
    gradient : callable
        From one point to its log density and gradient.
    start : float array, shape (dimensions,)
        Where the search for the mode begins.
    effective : int
        Effective draws that are wanted. After the last round there may be fewer.
    rng : Generator
        Source of randomness.

    Returns
    -------
    Weighted
    """
    center, covariance = mode(gradient, start)
    proposals: list[tuple[int, _Student]] = []
    points, values = np.empty((0, len(start))), np.empty(0)
    found = None
    for share in _ROUNDS:
        total = max(int(share * effective), _PILOT * len(start))
        wide = total // _WIDE_SHARE
        pair = [
            (total - wide, _Student.of(center, covariance)),
            (wide, _Student.of(center, _WIDE * covariance)),
        ]
        proposals += pair
        new = np.concatenate([one.draw(size, rng) for size, one in pair])
        points = np.concatenate([points, new])
        with np.errstate(all="ignore"):
            fresh = log_density(new)
        values = np.concatenate([values, np.where(np.isnan(fresh), -np.inf, fresh)])
        mixture = special.logsumexp(
            [np.log(size) + one.log_density(points) for size, one in proposals], axis=0
        )
        found = _weighted(points, values, mixture, len(proposals) // 2)
        if found.k < K_GOOD and found.effective >= effective:
            break
        center, covariance = _moments(found)
    assert found is not None
    return found


def mode(gradient: Gradient, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mode of a density and the covariance of the normal that touches it there.

    Parameters
    ----------
    gradient : callable
        From one point to its log density and gradient.
    start : float array, shape (dimensions,)
        Where to begin.
    """

    def downhill(x: FloatArray) -> tuple[float, FloatArray]:
        with np.errstate(all="ignore"):
            value, slope = gradient(x)
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return _FAR**3, np.zeros_like(x)
        return -value, -slope

    found = optimize.minimize(downhill, start, jac=True, method="BFGS")
    x = np.asarray(found.x, dtype=float)
    d = len(x)
    hessian = np.empty((d, d))
    for k in range(d):
        step = np.zeros(d)
        step[k] = _STEP
        hessian[k] = (downhill(x + step)[1] - downhill(x - step)[1]) / (2 * _STEP)
    value, vector = np.linalg.eigh((hessian + hessian.T) / 2)
    covariance = (vector / np.maximum(value, _CURVED)) @ vector.T
    return x, _WIDER * covariance


@dataclass(frozen=True, eq=False)
class _Student:
    """A multivariate Student t."""

    center: FloatArray
    root: FloatArray  # lower triangular, of its scale matrix
    log_constant: float

    @classmethod
    def of(cls, center: FloatArray, covariance: FloatArray) -> _Student:
        d = len(center)
        root = np.linalg.cholesky(covariance)
        log_constant = (
            special.gammaln((_DF + d) / 2)
            - special.gammaln(_DF / 2)
            - d / 2 * np.log(_DF * np.pi)
            - np.log(np.diagonal(root)).sum()
        )
        return cls(center, root, float(log_constant))

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        normal = rng.standard_normal((size, len(self.center)))
        stretch = np.sqrt(_DF / rng.chisquare(_DF, size))
        return self.center + stretch[:, None] * (normal @ self.root.T)

    def log_density(self, points: FloatArray) -> FloatArray:
        rest = np.linalg.solve(self.root, (points - self.center).T)
        distance = (rest**2).sum(axis=0)
        result: FloatArray = self.log_constant - (_DF + len(self.center)) / 2 * np.log1p(
            distance / _DF
        )
        return result


def _weighted(points: FloatArray, values: FloatArray, mixture: FloatArray, rounds: int) -> Weighted:
    """Smooth the weights and measure their tail."""
    log_ratio = values - mixture
    log_ratio = log_ratio - log_ratio.max()
    try:
        with np.errstate(all="ignore"):
            log_weight, k = array_stats.psislw(-np.maximum(log_ratio, -_FAR))
    except ValueError:  # the tail is one value over and over
        log_weight, k = log_ratio, np.inf
    weights = np.exp(log_weight - special.logsumexp(log_weight))
    return Weighted(points, values, weights, float(k) if np.isfinite(k) else float("inf"), rounds)


def _moments(found: Weighted) -> tuple[FloatArray, FloatArray]:
    """Return weighted mean and covariance, never thinner than a few draws can say."""
    center = found.weights @ found.points
    rest = found.points - center
    covariance = (found.weights[:, None] * rest).T @ rest
    return center, covariance + 1e-6 * np.eye(len(center))
