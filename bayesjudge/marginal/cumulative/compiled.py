"""The marginal likelihood of ordinal scores and its gradient, as loops that Numba compiles.

For one evaluated model, with total effect t = a + b of scenario and generation (section names are
those of the steps below):

1. *rows*: P(level | judge, t) on a lattice of t;
2. *ballots*: likelihood of each distinct ballot at each t, a product of rows;
3. *averages*: its average over the generation effect, at each scenario effect a on the lattice;
4. *scenarios*: log likelihood of each scenario given a, a sum over its generations, and the
   integral over a, on finer nodes between which the sum is interpolated;
5. the gradient, by the same steps backwards.

Scenarios are conditionally independent given the parameters, ballots given a.
"""

from __future__ import annotations

import math

import numpy as np

from bayesjudge.marginal.compiling import compiled
from bayesjudge.marginal.cumulative.ballots import (
    TINY,
    averaged,
    ballot_likelihood,
    least_average,
    slope_of_average,
    spread_out,
)
from bayesjudge.marginal.cumulative.lattice import (
    LOGIT,
    STENCIL,
    fine_spacing,
    spacing,
    stencils,
)
from bayesjudge.marginal.cumulative.probability import level_rows

_END = -19.0  # log of the density at the ends over the largest: 6e-9
_WIDEST = 20  # times that the reach is widened
_WIDER = 1.25
_HALF_ROOT = 0x3FE6A09E667F3BCD  # bits of the root of one half
_LOG_2 = math.log(2.0)


@compiled
def _log(values, mantissa, out):  # type: ignore[no-untyped-def]
    """Write the logs of positive numbers: exponent, and a series for the mantissa.

    The library's logarithm takes one number at a time; these loops take several.
    """
    bits, of_mantissa = values.view(np.int64), mantissa.view(np.int64)
    for a in range(len(values)):
        exponent = (bits[a] - _HALF_ROOT) >> 52  # so that the mantissa is in [0.7, 1.4)
        of_mantissa[a] = bits[a] - (exponent << 52)
        out[a] = np.float64(np.int32(exponent))
    for a in range(len(values)):
        s = (mantissa[a] - 1.0) / (mantissa[a] + 1.0)
        z = s * s
        series = 1.0 / 19.0
        series = series * z + 1.0 / 17.0
        series = series * z + 1.0 / 15.0
        series = series * z + 1.0 / 13.0
        series = series * z + 1.0 / 11.0
        series = series * z + 1.0 / 9.0
        series = series * z + 1.0 / 7.0
        series = series * z + 1.0 / 5.0
        series = series * z + 1.0 / 3.0
        out[a] = out[a] * _LOG_2 + 2.0 * s * (1.0 + z * series)


@compiled
def _scenarios(  # type: ignore[no-untyped-def]
    logs, scales, scenario_start, ballot, count, first, lagrange, log_prior, by_scenario, posterior
):
    """Integrate over scenario effects; return the largest log density at the ends.

    Writes log likelihoods by scenario, and the posterior of the scenario effect on the fine nodes.
    """
    n, size, fine = len(by_scenario), logs.shape[1], len(log_prior)
    total = np.empty(size)
    ends = -np.inf
    for i in range(n):
        total[:] = 0.0
        scale = 0.0
        for e in range(scenario_start[i], scenario_start[i + 1]):
            scale += count[e] * scales[ballot[e]]
            row, times = logs[ballot[e]], count[e]
            for a in range(size):
                total[a] += times * row[a]
        top = -np.inf
        for q in range(fine):
            value = log_prior[q]
            for k in range(STENCIL):
                value += lagrange[q, k] * total[first[q] + k]
            posterior[i, q] = value
            top = max(top, value)
        whole = 0.0
        for q in range(fine):
            posterior[i, q] = math.exp(posterior[i, q] - top)
            whole += posterior[i, q]
        for q in range(fine):
            posterior[i, q] /= whole
        by_scenario[i] = top + math.log(whole) + scale
        edge = max(posterior[i, 0], posterior[i, fine - 1]) * whole
        if fine > 1 and edge > 0.0:
            ends = max(ends, math.log(edge))
    return ends


@compiled
def one_model(  # type: ignore[no-untyped-def]
    thresholds,
    sigma_scenario,
    sigma_generation,
    link,
    fineness,
    squares,
    to_weights,
    ballot_start,
    judge,
    level,
    scenario_start,
    ballot,
    count,
    sizes,
    reach,
    by_scenario,
    want_gradient,
):
    """Write log likelihoods by scenario of one model; return the gradient of their sum.

    Parameters
    ----------
    thresholds : float array, shape (judges, levels - 1)
        Of each judge, less its offset and the model's mean (latent).
    sigma_scenario, sigma_generation : float
        Standard deviations (latent); zero where the model has no such effect.
    link : int
        `LOGIT` or `PROBIT`.
    fineness : float
        1; 2 for twice as many nodes.
    squares, to_weights : float arrays
        Of `kernel`.
    ballot_start ... sizes : arrays
        The model's part of `Tallies`.
    reach : float
        Standard deviations of the scenario effect within which to integrate at first.
    by_scenario : float array, shape (scenarios,)
        Written to.
    want_gradient : bool
        Without, the gradient is zero.

    Returns
    -------
    float array, shape (judges, levels - 1); float; float; float
        Derivatives in thresholds, sigma_scenario and sigma_generation, and the reach that the
        data asked for.
    """
    U, n, C = len(ballot_start) - 1, len(by_scenario), thresholds.shape[1] + 1
    h, weights, derivative = spacing(
        sigma_generation, sizes.shape[1], link, fineness, squares, to_weights
    )
    sides_of_kernel = len(weights) - 1
    log_least, slope_of_least = least_average(sigma_generation, sizes.shape[1], link)
    least = math.exp(log_least)
    every = 8 if link == LOGIT else 1  # before a product of probabilities can underflow
    step = 1.0
    if sigma_scenario > 0.0:
        step = fine_spacing(sigma_scenario, sigma_generation, sizes, link, fineness)
    for _ in range(_WIDEST):
        sides = math.ceil(reach * sigma_scenario / step)
        effects = step * np.arange(-sides, sides + 1).astype(np.float64)
        half = math.ceil(sides * step / h) + STENCIL // 2
        size = 2 * half + 1
        nodes = h * np.arange(-half - sides_of_kernel, half + sides_of_kernel + 1).astype(
            np.float64
        )
        rows, largest, at_low, at_high = level_rows(thresholds, nodes, link)
        likelihood, average = np.empty((U, len(nodes))), np.empty((U, size))
        logs, scales, mantissa = np.empty((U, size)), np.empty(U), np.empty(size)
        for p in range(U):
            calls = slice(ballot_start[p], ballot_start[p + 1])
            scales[p] = ballot_likelihood(
                rows, largest, judge[calls], level[calls], every, likelihood[p]
            )
            averaged(likelihood[p], weights, least, average[p])
            _log(average[p], mantissa, logs[p])
        first, lagrange = stencils(effects, h, half)
        log_prior = np.zeros(len(effects))
        if sigma_scenario > 0.0:
            norm = math.log(step / (sigma_scenario * math.sqrt(2.0 * math.pi)))
            log_prior = norm - 0.5 * (effects / sigma_scenario) ** 2
        posterior = np.empty((n, len(effects)))
        ends = _scenarios(
            logs,
            scales,
            scenario_start,
            ballot,
            count,
            first,
            lagrange,
            log_prior,
            by_scenario,
            posterior,
        )
        if ends < _END or sigma_scenario == 0.0:
            break
        reach *= _WIDER

    in_thresholds = np.zeros(thresholds.shape)
    in_scenario, in_generation = 0.0, 0.0
    if not want_gradient:
        return in_thresholds, in_scenario, in_generation, reach

    # 5. Backwards: weight of each ballot's log average at each node, then of its likelihood.
    weight = np.zeros((U, size))
    mine = np.empty(size)
    for i in range(n):
        mine[:] = 0.0
        for q in range(len(effects)):
            for k in range(STENCIL):
                mine[first[q] + k] += posterior[i, q] * lagrange[q, k]
            if sigma_scenario > 0.0:
                in_scenario += posterior[i, q] * (
                    effects[q] ** 2 / sigma_scenario**3 - 1.0 / sigma_scenario
                )
        for e in range(scenario_start[i], scenario_start[i + 1]):
            row, times = weight[ballot[e]], count[e]
            for a in range(size):
                row[a] += times * mine[a]
    share = np.zeros(rows.shape)
    adjoint, at_floor, spread = np.empty(size), np.empty(size), np.empty(len(nodes))
    for p in range(U):
        for a in range(size):
            floor = least * likelihood[p, a + sides_of_kernel]
            at_floor[a] = weight[p, a] if average[p, a] == floor else 0.0
            adjoint[a] = weight[p, a] / average[p, a] if average[p, a] > max(floor, TINY) else 0.0
            in_generation += at_floor[a] * slope_of_least
        if sigma_generation > 0.0:
            in_generation += slope_of_average(likelihood[p], adjoint, derivative)
        spread_out(adjoint, weights, spread)
        for t in range(len(nodes)):
            spread[t] *= likelihood[p, t]
        for a in range(size):
            spread[a + sides_of_kernel] += at_floor[a]
        for c in range(ballot_start[p], ballot_start[p + 1]):
            row = share[judge[c], level[c]]
            for t in range(len(nodes)):
                row[t] += spread[t]
    for k in range(len(thresholds)):
        for c in range(C):
            low, high = 0.0, 0.0
            for t in range(len(nodes)):
                low += share[k, c, t] * at_low[k, c, t]
                high += share[k, c, t] * at_high[k, c, t]
            if c > 0:
                in_thresholds[k, c - 1] -= low
            if c < C - 1:
                in_thresholds[k, c] += high
    return in_thresholds, in_scenario, in_generation, reach


@compiled
def all_models(  # type: ignore[no-untyped-def]
    thresholds,
    sigma,
    link,
    fineness,
    squares,
    to_weights,
    starts,
    ballot_start,
    judge,
    level,
    scenario_start,
    ballot,
    count,
    sizes,
    reach,
    want_gradient,
):
    """Return log likelihoods by scenario of all models, and the gradient of their sum.

    Parameters
    ----------
    thresholds : float array, shape (models, judges, levels - 1)
        Of each judge, less its offset and the model's mean (latent).
    sigma : float array, shape (models, 2)
        Of scenario and generation (latent).
    link, fineness, squares, to_weights, want_gradient
        As in `one_model`.
    starts ... sizes : arrays
        The fields of `Tallies`.
    reach : float array, shape (models,)
        Standard deviations of the scenario effect within which to integrate at first.

    Returns
    -------
    float array, shape (scenarios of all models,); float arrays shaped as thresholds and sigma; \
float array, shape (models,)
        The last is the reach that the data asked for.
    """
    by_scenario = np.empty(starts[-1, 2])
    in_thresholds, in_sigma = np.zeros(thresholds.shape), np.zeros(sigma.shape)
    reached = np.zeros(len(reach))
    for m in range(len(thresholds)):
        ballots, calls = starts[m, 0], slice(starts[m, 1], starts[m + 1, 1])
        scenarios, entries = starts[m, 2], slice(starts[m, 3], starts[m + 1, 3])
        mine = by_scenario[scenarios : starts[m + 1, 2]]
        in_thresholds[m], in_sigma[m, 0], in_sigma[m, 1], reached[m] = one_model(
            thresholds[m],
            sigma[m, 0],
            sigma[m, 1],
            link,
            fineness,
            squares,
            to_weights,
            ballot_start[ballots + m : starts[m + 1, 0] + m + 1],
            judge[calls],
            level[calls],
            scenario_start[scenarios + m : starts[m + 1, 2] + m + 1],
            ballot[entries],
            count[entries],
            sizes[scenarios : starts[m + 1, 2]],
            reach[m],
            mine,
            want_gradient,
        )
    return by_scenario, in_thresholds, in_sigma, reached
