"""Likelihoods of ballots on a lattice, and their averages over the generation effect."""

from __future__ import annotations

import math

import numpy as np

from bayesjudge.marginal.compiling import compiled
from bayesjudge.marginal.cumulative.lattice import LOGIT

TINY = 1e-300


@compiled
def ballot_likelihood(rows, largest, judge, level, every, out):  # type: ignore[no-untyped-def]
    """Write the likelihood of one ballot over a scale; return the log of that."""
    log_scale, scale = 0.0, 1.0
    out[:] = 1.0
    for c in range(len(judge)):
        row = rows[judge[c], level[c]]
        log_scale += largest[judge[c], level[c]]
        total = 0.0
        for t in range(len(out)):
            value = out[t] * (scale * row[t])
            out[t] = value
            total += value
        scale = 1.0
        if (c + 1) % every == 0 and c + 1 < len(judge):
            if total <= 0.0:
                return -np.inf
            log_scale += math.log(total)
            scale = 1.0 / total
    return log_scale


@compiled
def least_average(sigma_generation, most_calls, link):  # type: ignore[no-untyped-def]
    """Return the log of the least ratio of an average to the value in its middle, and its slope.

    By Jensen, averaging over the generation effect: the log likelihood of a ballot of up to
    `most_calls` calls curves down by so much at most. The slope is in `sigma_generation`.
    """
    curvature = most_calls * (0.5 if link == LOGIT else 1.0)
    return -0.5 * curvature * sigma_generation**2, -curvature * sigma_generation


@compiled
def averaged(values, weights, least, out):  # type: ignore[no-untyped-def]
    """Write the average of `values` at nodes that have all their neighbours.

    No average is below `least` times the value in its middle. Without this floor, weights of a
    narrow Gaussian could give anything where a likelihood falls too steeply for them.
    """
    reach, size = len(weights) - 1, len(out)
    w = weights[0]
    for a in range(size):
        out[a] = w * values[a + reach]
    for k in range(1, reach + 1):
        w = weights[k]
        up, down = values[reach + k : reach + k + size], values[reach - k : reach - k + size]
        for a in range(size):
            out[a] += w * (up[a] + down[a])
    for a in range(size):
        out[a] = max(out[a], least * values[a + reach], TINY)


@compiled
def spread_out(values, weights, out):  # type: ignore[no-untyped-def]
    """Write the transpose of `averaged`."""
    reach, size = len(weights) - 1, len(values)
    out[:] = 0.0
    w = weights[0]
    for a in range(size):
        out[a + reach] = w * values[a]
    for k in range(1, reach + 1):
        w = weights[k]
        up, down = out[reach + k : reach + k + size], out[reach - k : reach - k + size]
        for a in range(size):
            up[a] += w * values[a]
        for a in range(size):
            down[a] += w * values[a]


@compiled
def slope_of_average(values, adjoint, derivative):  # type: ignore[no-untyped-def]
    """Return the sum of adjoint times the average of `values` with other weights."""
    reach, size = len(derivative) - 1, len(adjoint)
    total = 0.0
    for k in range(reach + 1):
        up, down = values[reach + k : reach + k + size], values[reach - k : reach - k + size]
        found = 0.0
        for a in range(size):
            found += adjoint[a] * (up[a] + down[a])
        total += (0.5 if k == 0 else 1.0) * derivative[k] * found
    return total
