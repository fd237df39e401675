"""How fine, and how far: the nodes on which one evaluated model's effects are integrated.

Bounds, not guesses. The log likelihood of one call has curvature at most 1/2 (logit) or 1
(probit) in its total effect, so that of a generation with c calls is at least as wide as a
Gaussian of standard deviation (c/2)^-1/2 or c^-1/2. Averaging over a Gaussian of variance v turns
a curvature of at most k into one of at most k/(1 + k v) (Brascamp and Lieb, 1976; the posterior
variance of the generation effect is at least 1/(k + 1/v)), which bounds the width of a scenario's
posterior from below. The trapezoid rule on a Gaussian of standard deviation s with spacing d errs
by 2 exp(-2 pi² (s/d)²).
"""

from __future__ import annotations

import numpy as np

from bayesjudge.marginal.compiling import compiled
from bayesjudge.marginal.cumulative.kernel import narrow, wide

LOGIT, PROBIT = 0, 1
LINKS = {"logit": LOGIT, "probit": PROBIT}  # as specifications name them
# Nodes for a sampler, over those for 1e-8: a total off by 1e-5 moves no draw, and half the time
# is saved. Every fit compares this lattice with one of twice as many nodes.
SAMPLING = 0.75
STENCIL = 12  # nodes of the polynomial through log likelihoods, between which effects lie
REACH = 4.5  # standard deviations of the scenario effect, widened where data ask for it

_LARGEST = 0.3  # spacing; the logistic function has its poles at distance pi
# Nodes to the least standard deviation of a generation's likelihood. The logistic function's
# slopes end at 1, so that likelihoods stay well above the bound; the normal one's do not.
_NARROW = (3.0, 4.5)
_WIDE = 0.9  # spacing over the standard deviation of that likelihood times the Gaussian
_SAMPLED = 1.2  # standard deviation over spacing from which the Gaussian is sampled at the nodes
_FINE = 0.75  # spacing over the least standard deviation of a scenario's posterior
_LARGEST_FINE = (0.5, np.inf)  # with few calls the poles matter before that deviation does


@compiled
def spacing(sigma_generation, calls, link, fineness, squares, to_weights):  # type: ignore[no-untyped-def]
    """Choose the spacing of total effects and the weights of the generation effect.

    Parameters
    ----------
    sigma_generation : float
        Standard deviation (latent).
    calls : int
        Most calls that a generation has.
    link : int
        `LOGIT` or `PROBIT`.
    fineness : float
        1; 2 halves the spacing, to see what it matters.
    squares, to_weights : float arrays
        Of `kernel`.

    Returns
    -------
    float, float array, float array
        Spacing, weights by distance in nodes, and the weights' derivative in sigma_generation.
    """
    s = 1.0 / np.sqrt(calls * (0.5 if link == LOGIT else 1.0))
    together = s * sigma_generation / np.sqrt(s**2 + sigma_generation**2)
    h = min(max(_WIDE * together, s / _NARROW[link]), _LARGEST) / fineness
    if sigma_generation >= _SAMPLED * h:
        weights, derivative = wide(sigma_generation, h)
    else:
        weights, derivative = narrow(sigma_generation, h, squares, to_weights)
    return h, weights, derivative


@compiled
def fine_spacing(sigma_scenario, sigma_generation, scenario_calls, link, fineness):  # type: ignore[no-untyped-def]
    """Choose the spacing of scenario effects.

    `scenario_calls` has, by scenario, the calls of each of its generations, flattened: see
    `tallies`. It enters as the largest sum of curvatures.
    """
    k1 = 0.5 if link == LOGIT else 1.0
    most = 0.0
    for i in range(scenario_calls.shape[0]):
        total = 0.0
        for j in range(scenario_calls.shape[1]):
            k = k1 * (j + 1)
            total += scenario_calls[i, j] * k / (1.0 + k * sigma_generation**2)
        most = max(most, total)
    least = 1.0 / np.sqrt(1.0 / sigma_scenario**2 + most)
    return min(_FINE * least, _LARGEST_FINE[link]) / fineness


@compiled
def stencils(effects, h, half):  # type: ignore[no-untyped-def]
    """Lagrange weights of the `STENCIL` nodes around each effect.

    Parameters
    ----------
    effects : float array, shape (q,)
        Where a function is wanted.
    h : float
        Spacing of the nodes ``h * (k - half)`` where it is known.
    half : int
        Nodes on either side of zero.

    Returns
    -------
    int array, shape (q,); float array, shape (q, STENCIL)
        First node of each stencil, and the weights.
    """
    first = np.empty(len(effects), dtype=np.int64)
    weights = np.empty((len(effects), STENCIL))
    for q in range(len(effects)):
        place = effects[q] / h
        below = int(np.floor(place))
        first[q] = below + half - STENCIL // 2 + 1
        u = place - below + STENCIL // 2 - 1
        for k in range(STENCIL):
            product = 1.0
            for other in range(STENCIL):
                if other != k:
                    product *= (u - other) / (k - other)
            weights[q, k] = product
    return first, weights
