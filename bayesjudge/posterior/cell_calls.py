"""The levels that one judge gives one generation under Gaussian noise, as loops for Numba.

Their probability is that of intervals. Where calls are repeated they have an effect in common,
which is integrated out by the trapezoid rule: its step follows from how sharp the integrand can be
(see `bayesjudge.marginal.cumulative.lattice`).
"""

from __future__ import annotations

import math

import numpy as np

from bayesjudge.marginal.compiling import compiled
from bayesjudge.marginal.cumulative.probability import log_normal_cdf

STEP = 1.1  # of the trapezoid rule, over the least sd of an integrand: an error of 2e-7
NEGLIGIBLE = 21.0  # logs below the largest term at which the rule may end
LONGEST = 1_000_000  # terms of the rule
LOG_ROOT = 0.5 * math.log(2.0 * math.pi)

_FAR = -25.0  # in the tails, distribution functions are taken as logs
_ROOT_2 = math.sqrt(2.0)


@compiled
def log_interval(low, high):  # type: ignore[no-untyped-def]
    """Log P(low < z <= high) of a standard normal variable."""
    # In the lower tail the distribution function keeps its digits: an interval above 0 is turned.
    a, b = (-high, -low) if low > 0.0 else (low, high)
    if b > _FAR:
        return math.log(0.5 * (math.erfc(-b / _ROOT_2) - math.erfc(-a / _ROOT_2)))
    whole = log_normal_cdf(b)
    if a == -np.inf:
        return whole
    return whole + math.log(-math.expm1(min(log_normal_cdf(a) - whole, -1e-300)))


@compiled
def _interval(low, high, at, sd):  # type: ignore[no-untyped-def]
    """Log P(low < x <= high), x ~ Normal(at, sd²); its slope in `at`, and minus its curvature."""
    a, b = (low - at) / sd, (high - at) / sd
    log_p = log_interval(a, b)
    at_low = math.exp(-0.5 * a * a - LOG_ROOT - log_p) if a > -np.inf else 0.0
    at_high = math.exp(-0.5 * b * b - LOG_ROOT - log_p) if b < np.inf else 0.0
    slope = (at_low - at_high) / sd
    turn = (a * at_low if a > -np.inf else 0.0) - (b * at_high if b < np.inf else 0.0)
    curvature = slope * slope - turn / (sd * sd)
    return log_p, slope, min(max(curvature, 0.0), 1.0 / (sd * sd))


@compiled
def _calls(low, high, at, sd):  # type: ignore[no-untyped-def]
    """Sum `_interval` over calls that are independent given `at`."""
    log_p, slope, curvature = 0.0, 0.0, 0.0
    for c in range(len(low)):
        one, its_slope, its_curvature = _interval(low[c], high[c], at, sd)
        log_p += one
        slope += its_slope
        curvature += its_curvature
    return log_p, slope, curvature


@compiled
def cell_terms(low, high, at, residual, repeated):  # type: ignore[no-untyped-def]
    """Log probability of one judge's calls on one generation, and its derivatives in `at`.

    Parameters
    ----------
    low, high : float arrays, shape (calls,)
        Edges of the levels that were given (score); infinite at the ends of the scale.
    at : float
        What the effects of scenario, generation and judge add up to (score).
    residual, repeated : float
        Variances of a call, and of the effect that repeated calls have in common (score²).
    """
    if len(low) == 1:
        return _interval(low[0], high[0], at, math.sqrt(residual + repeated))
    sd = math.sqrt(residual)
    if repeated == 0.0:
        return _calls(low, high, at, sd)
    step = STEP / math.sqrt(1.0 / repeated + len(low) / residual)
    top, total, slope, square, curvature = -np.inf, 0.0, 0.0, 0.0, 0.0
    for direction in (1, -1):
        z = 0.0 if direction == 1 else -step
        before = -np.inf
        for _ in range(LONGEST):
            log_p, its_slope, its_curvature = _calls(low, high, at + z, sd)
            value = log_p - 0.5 * z * z / repeated
            if value > top:
                shrink = math.exp(top - value)
                total, slope = total * shrink, slope * shrink
                square, curvature = square * shrink, curvature * shrink
                top = value
            weight = math.exp(value - top)
            total += weight
            slope += weight * its_slope
            square += weight * its_slope**2
            curvature += weight * its_curvature
            if value < before and value < top - NEGLIGIBLE:
                break
            before = value
            z += direction * step
    slope, square, curvature = slope / total, square / total, curvature / total
    log_p = top + math.log(total * step) - LOG_ROOT - 0.5 * math.log(repeated)
    return log_p, slope, max(curvature - (square - slope * slope), 0.0)
