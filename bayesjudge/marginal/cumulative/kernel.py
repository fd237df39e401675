"""Weights that average a function on a uniform lattice over a Gaussian, of any width.

The likelihood of a generation given its total effect, g(t), is tabulated at spacing h; what is
wanted is g averaged over t ~ Normal(a, sigma²) at every node a. With symmetric weights w_k,

    average(a) = sum_k w_k g(a + k h),

an exponential g(t) = exp(rho t) is multiplied by sum_k w_k cosh(k rho h) = sum_k w_k T_k(y), where
y = cosh(rho h) and T_k are Chebyshev polynomials; the exact factor is exp(theta arccosh(y)²/2)
with theta = (sigma/h)². Real rho (y > 1) are slopes of log g, imaginary ones (y < 1) its
frequencies. So:

- a wide Gaussian (sigma above the spacing) is sampled at the nodes, w_k = h phi(k h; sigma), whose
  error is 2 exp(-2 pi² theta) (the trapezoid rule);
- for a narrow one the weights are the coefficients of the polynomial in y that interpolates the
  exact factor at Chebyshev nodes on [cos(BAND), cosh(SLOPE)]. It's right to about 1e-8 of the
  local value of g for every slope and frequency in that range, down to sigma = 0, where the
  weights are 1, 0, 0, ... Sampling the Gaussian at the nodes would be wrong there.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from bayesjudge.marginal.compiling import compiled

FloatArray = NDArray[np.float64]

REACH = 12  # nodes on either side that a narrow Gaussian uses
BAND = 1.57  # radians a node: frequencies of g that are kept
SLOPE = 1.8  # largest change of log g from node to node
# Standard deviations at which a wide Gaussian ends. A generation at z standard deviations moves
# the integrand by z cos(u) and leaves it sin(u) wide, tan(u) = width of its likelihood / sigma:
# up to sqrt(z² + 6²) are needed, and z is 5.
_WIDE = 8.0


def _nodes() -> tuple[FloatArray, FloatArray]:
    """Chebyshev nodes x on [-1, 1], and the arccosh(y)² there."""
    x = np.cos((np.arange(REACH + 1) + 0.5) * np.pi / (REACH + 1))
    low, high = np.cos(BAND), np.cosh(SLOPE)
    y = (low + high) / 2 + (high - low) / 2 * x
    return x, np.where(
        y >= 1, np.arccosh(np.maximum(y, 1)) ** 2, -(np.arccos(np.minimum(y, 1)) ** 2)
    )


def _to_weights(x: FloatArray) -> FloatArray:
    """Matrix from values at the nodes to coefficients in T_k(y).

    By way of the coefficients in T_j(x), which is well conditioned; a direct solution in T_k(y)
    is not.
    """
    size = len(x)
    transform = chebyshev.chebvander(x, size - 1).T * (2 / size)
    transform[0] /= 2
    low, high = np.cos(BAND), np.cosh(SLOPE)
    shift = np.array([-(low + high) / (high - low), 2 / (high - low)])  # x as a series in T_k(y)
    series = [np.array([1.0]), shift]
    for _ in range(2, size):
        series.append(chebyshev.chebsub(2 * chebyshev.chebmul(shift, series[-1]), series[-2]))
    change = np.zeros((size, size))
    for j, coefficients in enumerate(series):
        change[: len(coefficients), j] = coefficients
    full = change @ transform
    full[1:] /= 2  # T_k stands for the two nodes at distance k
    return full


_X, SQUARES = _nodes()
TO_WEIGHTS = _to_weights(_X)


@compiled
def narrow(sigma, h, squares, to_weights):  # type: ignore[no-untyped-def]
    """Weights w_0 ... w_REACH of a narrow Gaussian, and their derivative in sigma."""
    theta = (sigma / h) ** 2
    exact = np.exp(0.5 * theta * squares)
    slope = exact * squares * (sigma / h**2)
    size = len(squares)
    weights, derivative = np.zeros(size), np.zeros(size)
    for k in range(size):
        for j in range(size):
            weights[k] += to_weights[k, j] * exact[j]
            derivative[k] += to_weights[k, j] * slope[j]
    return weights, derivative


@compiled
def wide(sigma, h):  # type: ignore[no-untyped-def]
    """Weights of a Gaussian that is wider than the spacing, and their derivative in sigma."""
    size = int(np.ceil(_WIDE * sigma / h)) + 1
    squares = (np.arange(size) * (h / sigma)) ** 2
    weights = h / (sigma * np.sqrt(2 * np.pi)) * np.exp(-0.5 * squares)
    return weights, weights * (squares - 1) / sigma
