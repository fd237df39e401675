"""Probabilities of levels at the nodes of a lattice, and their derivatives, at any distance."""

from __future__ import annotations

import math

import numpy as np

from bayesjudge.marginal.compiling import compiled
from bayesjudge.marginal.cumulative.lattice import LOGIT

_FAR = -25.0  # below, the normal distribution function is taken from its asymptotic series
_WIDTH = 1e-200  # least distance of thresholds; levels nobody used may have none
_LEAST = -690.0  # log of the least of a row over its largest, so that products stay above zero


@compiled
def log_normal_cdf(x):  # type: ignore[no-untyped-def]
    """Log of the standard normal distribution function."""
    if x > 0.0:
        return math.log1p(-0.5 * math.erfc(x / math.sqrt(2.0)))
    if x > _FAR:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2.0)))
    r = 1.0 / (x * x)
    series = 1.0 - r * (1.0 - r * (3.0 - r * (15.0 - r * 105.0)))
    return -0.5 * x * x - 0.5 * math.log(2.0 * math.pi) - math.log(-x) + math.log(series)


@compiled
def _normal_level(low, high):  # type: ignore[no-untyped-def]
    """Log P(low < z <= high), and the log densities at both ends less that."""
    # In the lower tail the distribution function keeps its digits, so a level above 0 is turned.
    a, b = (-high, -low) if low > 0.0 else (low, high)
    log_p = log_normal_cdf(b)
    if a > -np.inf:
        log_p += math.log(-math.expm1(min(log_normal_cdf(a) - log_p, -_WIDTH)))
    constant = -0.5 * math.log(2.0 * math.pi) - log_p
    at_high = constant - 0.5 * high * high if high < np.inf else -np.inf
    at_low = constant - 0.5 * low * low if low > -np.inf else -np.inf
    return log_p, at_low, at_high


@compiled
def _logit_rows(thresholds, nodes, rows, largest, at_low, at_high):  # type: ignore[no-untyped-def]
    """Fill in one judge's levels: P = F(high) (1 - F(low)) (1 - exp(low - high))."""
    cuts, size = len(thresholds), len(nodes)
    below, above = np.empty((cuts, size)), np.empty((cuts, size))
    for c in range(cuts):
        for t in range(size):
            x = thresholds[c] - nodes[t]
            q = math.exp(-min(abs(x), 690.0))
            big, small = 1.0 / (1.0 + q), q / (1.0 + q)
            below[c, t] = big if x >= 0.0 else small
            above[c, t] = small if x >= 0.0 else big
    for c in range(cuts + 1):
        for t in range(size):
            if c == 0:
                rows[c, t], at_low[c, t], at_high[c, t] = below[0, t], 0.0, above[0, t]
            elif c == cuts:
                rows[c, t], at_low[c, t], at_high[c, t] = above[c - 1, t], below[c - 1, t], 0.0
            else:
                gap = -math.expm1(min(thresholds[c - 1] - thresholds[c], -_WIDTH))
                rows[c, t] = below[c, t] * above[c - 1, t] * gap
                at_low[c, t] = below[c - 1, t] / (below[c, t] * gap)
                at_high[c, t] = above[c, t] / (above[c - 1, t] * gap)
        top = rows[c].max()
        largest[c] = math.log(top)
        rows[c] /= top


@compiled
def _probit_rows(thresholds, nodes, rows, largest, at_low, at_high):  # type: ignore[no-untyped-def]
    cuts, size = len(thresholds), len(nodes)
    for c in range(cuts + 1):
        for t in range(size):
            low = thresholds[c - 1] - nodes[t] if c > 0 else -np.inf
            high = thresholds[c] - nodes[t] if c < cuts else np.inf
            rows[c, t], below, above = _normal_level(low, high)
            at_low[c, t], at_high[c, t] = math.exp(below), math.exp(above)
        largest[c] = rows[c].max()
        for t in range(size):
            rows[c, t] = math.exp(max(rows[c, t] - largest[c], _LEAST))


@compiled
def level_rows(thresholds, nodes, link):  # type: ignore[no-untyped-def]
    """Tabulate P(level | judge, total effect) on a lattice.

    Parameters
    ----------
    thresholds : float array, shape (judges, levels - 1)
        Ascending; each judge's, less its offset and the model's mean (latent).
    nodes : float array, shape (nodes,)
        Total effects (latent).
    link : int
        `LOGIT` or `PROBIT`.

    Returns
    -------
    rows : float array, shape (judges, levels, nodes)
        Probability over its largest value on the lattice.
    largest : float array, shape (judges, levels)
        Log of that largest value.
    at_low, at_high : float arrays, shape (judges, levels, nodes)
        Density of the link at the level's lower and upper threshold over the probability: the
        derivative of log P is at_high in the upper threshold and -at_low in the lower one.
    """
    K, C, T = thresholds.shape[0], thresholds.shape[1] + 1, len(nodes)
    rows, largest = np.empty((K, C, T)), np.empty((K, C))
    at_low, at_high = np.empty((K, C, T)), np.empty((K, C, T))
    for k in range(K):
        if link == LOGIT:
            _logit_rows(thresholds[k], nodes, rows[k], largest[k], at_low[k], at_high[k])
        else:
            _probit_rows(thresholds[k], nodes, rows[k], largest[k], at_low[k], at_high[k])
    return rows, largest, at_low, at_high
