"""Draws of scenario and generation effects from their conditionals, given parameters and levels.

What the likelihood integrates out is drawn afterwards, exactly: first each scenario's effect a,
with its generations integrated out as in `compiled`, then each generation's effect b given a. Both
have log-concave densities, known at nodes up to a constant. A draw inverts the distribution
function of the density that is log-linear between the nodes. These are an eighth of the least
standard deviation apart that a posterior can have (see `lattice`), which puts that density within
0.2% of the true one everywhere; the differences alternate, so the moments are better than that.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells
from bayesjudge.marginal.compiling import compiled
from bayesjudge.marginal.cumulative.ballots import (
    TINY,
    averaged,
    ballot_likelihood,
    least_average,
)
from bayesjudge.marginal.cumulative.kernel import SQUARES, TO_WEIGHTS
from bayesjudge.marginal.cumulative.lattice import (
    LOGIT,
    STENCIL,
    fine_spacing,
    spacing,
    stencils,
)
from bayesjudge.marginal.cumulative.probability import level_rows
from bayesjudge.marginal.cumulative.tallies import tallies

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_FINENESS = 6.0  # on the lattice's scenario effects, at most 0.75 standard deviations apart
_NODES = 8  # to the least standard deviation of a generation effect
_TABLE = 0.2  # spacing of likelihoods over the least width that they can have
_DROP = 20.0  # of the log density, from the top, where it ends: 2e-9
# Standard deviations of an effect from the mode of its posterior to there, at most: log densities
# fall from their mode at least as fast as the prior does.
_FAR = math.sqrt(2.0 * _DROP) + 0.1
_WIDEST, _WIDER = 20, 1.25  # times that the reach is widened, and by what


class Ballots(NamedTuple):
    """Levels of one evaluated model, and which of its generations got which."""

    ballot_start: IntArray  # (ballots + 1,): first call of each distinct ballot, and the end
    judge: IntArray  # (calls of ballots,): position in the whole table
    level: IntArray  # (calls of ballots,)
    generation_start: IntArray  # (scenarios + 1,): first generation of each scenario, and the end
    ballot: IntArray  # (generations,)
    sizes: FloatArray  # (scenarios, most calls): generations with 1, 2, ... calls


def ballots(cells: Cells, levels: IntArray) -> Ballots:
    """Say which ballot each generation of an evaluated model got.

    Parameters
    ----------
    cells : Cells
        The calls of the model.
    levels : int array
        The level of each.
    """
    # Tallied as if each generation were a scenario: then each entry is one generation's ballot.
    alone = replace(cells, scenario=cells.generation, scenario_ids=cells.generation_ids)
    found = tallies([(alone, levels)])
    calls = np.diff(found.ballot_start)[found.ballot]
    sizes = np.zeros((cells.n_scenarios, int(calls.max())))
    np.add.at(sizes, (cells.generation_scenario, calls - 1), 1.0)
    start = np.searchsorted(cells.generation_scenario, np.arange(cells.n_scenarios + 1))
    return Ballots(
        found.ballot_start,
        found.judge,
        found.level,
        start.astype(np.int64),
        found.ballot,
        sizes,
    )


def draw_effects(
    thresholds: FloatArray,
    sigma: FloatArray,
    model: Ballots,
    link: int,
    uniform: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Draw the effects of one evaluated model, for each draw of the parameters.

    Parameters
    ----------
    thresholds : float array, shape (draws, judges, levels - 1)
        Of each judge, less its offset and the model's mean (latent), ascending.
    sigma : float array, shape (draws, 2)
        Standard deviations of scenario and generation (latent); zero where there is no effect.
    model : Ballots
        The levels.
    link : int
        `lattice.LOGIT` or `lattice.PROBIT`.
    uniform : float array, shape (draws, scenarios + generations)
        Independent, between 0 and 1.

    Returns
    -------
    float array, shape (draws, scenarios); float array, shape (draws, generations)
        Effects (latent); zero where the standard deviation is.
    """
    scenarios, generations = len(model.sizes), len(model.ballot)
    alpha, beta = np.empty((len(sigma), scenarios)), np.empty((len(sigma), generations))

    def one(draw: int) -> None:
        own = thresholds[draw].copy()  # contiguous and writable: compiled for one type only
        _scenarios(
            *(own, sigma[draw, 0], sigma[draw, 1], link, SQUARES, TO_WEIGHTS),
            *(*model, uniform[draw, :scenarios], alpha[draw]),
        )
        _generations(
            *(own, sigma[draw, 1], link, *model[:-1]),
            *(alpha[draw], uniform[draw, scenarios:], beta[draw]),
        )

    with ThreadPoolExecutor(min(len(sigma), os.cpu_count() or 1)) as pool:
        list(pool.map(one, range(len(sigma))))
    return alpha, beta


@compiled
def _place(logs, mass, uniform):  # type: ignore[no-untyped-def]
    """Return where a distribution function is `uniform`, in nodes.

    `logs` is the log density at the nodes, up to a constant, linear in between. `mass` is for
    work.
    """
    top, size, total = logs.max(), len(logs), 0.0
    before = math.exp(logs[0] - top)
    for q in range(size - 1):
        after, rise = math.exp(logs[q + 1] - top), logs[q + 1] - logs[q]
        if abs(rise) < 1e-3:
            mass[q] = 0.5 * (before + after) * (1.0 - rise * rise / 12.0)
        else:
            mass[q] = (after - before) / rise
        total += mass[q]
        before = after
    left, q = uniform * total, 0
    while q < size - 2 and left >= mass[q]:
        left -= mass[q]
        q += 1
    share, rise = min(left / mass[q], 1.0), logs[q + 1] - logs[q]
    if abs(rise) < 1e-8:
        return q + share
    return q + math.log1p(share * math.expm1(rise)) / rise


@compiled
def _scenarios(  # type: ignore[no-untyped-def]
    thresholds,
    sigma_scenario,
    sigma_generation,
    link,
    squares,
    to_weights,
    ballot_start,
    judge,
    level,
    generation_start,
    ballot,
    sizes,
    uniform,
    out,
):
    """Write a draw of each scenario's effect, generations integrated out."""
    out[:] = 0.0
    if sigma_scenario == 0.0:
        return
    U, n = len(ballot_start) - 1, len(out)
    h, weights, _ = spacing(sigma_generation, sizes.shape[1], link, 1.0, squares, to_weights)
    log_least, _ = least_average(sigma_generation, sizes.shape[1], link)
    margin, least = len(weights) - 1, math.exp(log_least)
    every = 8 if link == LOGIT else 1  # before a product of probabilities can underflow
    step = fine_spacing(sigma_scenario, sigma_generation, sizes, link, _FINENESS)
    reach = _FAR
    for turn in range(_WIDEST):
        sides = math.ceil(reach * sigma_scenario / step)
        effects = step * np.arange(-sides, sides + 1).astype(np.float64)
        half = math.ceil(sides * step / h) + STENCIL // 2
        size = 2 * half + 1
        nodes = h * np.arange(-half - margin, half + margin + 1).astype(np.float64)
        rows, largest, _, _ = level_rows(thresholds, nodes, link)
        likelihood, logs = np.empty(len(nodes)), np.empty((U, size))
        for p in range(U):
            calls = slice(ballot_start[p], ballot_start[p + 1])
            ballot_likelihood(rows, largest, judge[calls], level[calls], every, likelihood)
            averaged(likelihood, weights, least, logs[p])
            for a in range(size):
                logs[p, a] = math.log(logs[p, a])
        first, lagrange = stencils(effects, h, half)
        density, mass, total = np.empty(len(effects)), np.empty(len(effects)), np.empty(size)
        ends = -np.inf
        for i in range(n):
            total[:] = 0.0
            for g in range(generation_start[i], generation_start[i + 1]):
                row = logs[ballot[g]]
                for a in range(size):
                    total[a] += row[a]
            for q in range(len(effects)):
                value = -0.5 * (effects[q] / sigma_scenario) ** 2
                for k in range(STENCIL):
                    value += lagrange[q, k] * total[first[q] + k]
                density[q] = value
            ends = max(ends, max(density[0], density[-1]) - density.max())
            if ends > -_DROP and turn < _WIDEST - 1:
                break
            out[i] = step * (_place(density, mass, uniform[i]) - sides)
        if ends < -_DROP:
            break
        reach *= _WIDER


@compiled
def _at(values, place):  # type: ignore[no-untyped-def]
    """Return a function between nodes, from the cubic through the four nearest ones."""
    k = min(max(int(place), 1), len(values) - 3)
    f = place - k
    return (
        values[k - 1] * (-f * (f - 1.0) * (f - 2.0) / 6.0)
        + values[k] * ((f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0)
        + values[k + 1] * (-(f + 1.0) * f * (f - 2.0) / 2.0)
        + values[k + 2] * ((f + 1.0) * f * (f - 1.0) / 6.0)
    )


@compiled
def _generations(  # type: ignore[no-untyped-def]
    thresholds,
    sigma_generation,
    link,
    ballot_start,
    judge,
    level,
    generation_start,
    ballot,
    scenario_effects,
    uniform,
    out,
):
    """Write a draw of each generation's effect given that of its scenario."""
    out[:] = 0.0
    if sigma_generation == 0.0:
        return
    U, C = len(ballot_start) - 1, thresholds.shape[1] + 1
    curvature = 0.5 if link == LOGIT else 1.0  # the most that one call adds
    most = np.diff(ballot_start).max()
    # The mode of a + b lies between a and the thresholds; or beyond, where all calls are of the
    # highest (or lowest) level, but not by more than log(1 + calls sigma²).
    beyond = _FAR * sigma_generation + math.log1p(most * sigma_generation**2)
    h = _TABLE / math.sqrt(curvature * most)
    low = min(thresholds.min(), scenario_effects.min()) - beyond - 2.0 * h
    high = max(thresholds.max(), scenario_effects.max()) + beyond + 2.0 * h
    size = math.ceil((high - low) / h) + 1
    rows, _, _, _ = level_rows(thresholds, low + h * np.arange(size).astype(np.float64), link)
    for k in range(len(thresholds)):
        for c in range(C):
            for t in range(size):
                rows[k, c, t] = math.log(max(rows[k, c, t], TINY))
    table = np.zeros((U, size))
    for p in range(U):
        for c in range(ballot_start[p], ballot_start[p + 1]):
            row, values = rows[judge[c], level[c]], table[p]
            for t in range(size):
                values[t] += row[t]
    precision = 1.0 / sigma_generation**2
    widest = _FAR * sigma_generation * math.sqrt(precision + curvature * most)
    limit = int(_NODES * (widest + 3.0))
    density, mass = np.empty(2 * limit + 1), np.empty(2 * limit + 1)
    for i in range(len(scenario_effects)):
        start = (scenario_effects[i] - low) / h
        for g in range(generation_start[i], generation_start[i + 1]):
            p = ballot[g]
            calls = ballot_start[p + 1] - ballot_start[p]
            step = 1.0 / (_NODES * math.sqrt(precision + curvature * calls))
            by, curve, values = step / h, 0.5 * step * step * precision, table[p]
            # Uphill in strides from no effect, then down on both sides.
            top, peak = _at(values, start), 0
            for side in (_NODES, -_NODES):
                while peak * side >= 0:
                    j = peak + side
                    value = _at(values, start + by * j) - curve * j * j
                    if not value > top:
                        break
                    top, peak = value, j
            first, last = peak, peak
            for side in (-_NODES, _NODES):
                j = peak
                while abs(j - peak) < limit - _NODES:
                    j += side
                    if _at(values, start + by * j) - curve * j * j < top - _DROP:
                        break
                first, last = min(first, j), max(last, j)
            for j in range(first, last + 1):
                density[j - first] = _at(values, start + by * j) - curve * j * j
            count = last - first + 1
            out[g] = step * (first + _place(density[:count], mass[:count], uniform[g]))
