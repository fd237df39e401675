"""The effects of one scenario under which its levels are most probable, as loops for Numba.

The density of effects given levels is log-concave, so Newton's method finds its mode.
"""

from __future__ import annotations

import math

import numpy as np

from bayesjudge.marginal.compiling import compiled
from bayesjudge.marginal.small_matrices import sandwich
from bayesjudge.posterior.cell_calls import cell_terms

_ITERATIONS = 50
_AT_THE_MODE = 1e-3  # of the log density: what a step would gain


@compiled
def judge_effects(u, scenario, interaction, out):  # type: ignore[no-untyped-def]
    """Write the judges' scenario effects that standard normal numbers stand for."""
    K = len(u)
    own = math.sqrt(interaction)
    shared = (math.sqrt(scenario * K) - own) / K * u.sum()
    for k in range(K):
        out[k] = own * u[k] + shared


@compiled
def _at(  # type: ignore[no-untyped-def]
    low, high, call_start, judge, cell_start, centre, tau, b, generation, repeated, residual, out
):
    """Give the log likelihood at given effects and its parts; see `find_mode`.

    Writes the slopes (with generation effects eliminated), the precision of the judges' scenario
    effects, and for each cell its curvature, for each generation the step of its effect.
    """
    slopes, precision, curvatures, steps = out
    slopes[:] = 0.0
    precision[:] = 0.0
    total = 0.0
    for j in range(len(b)):
        slope, curvature = 0.0, 0.0
        for c in range(cell_start[j], cell_start[j + 1]):
            l, calls = judge[c], slice(call_start[c], call_start[c + 1])  # noqa: E741
            log_p, its_slope, curvatures[c] = cell_terms(
                low[calls], high[calls], centre[l] + tau[l] + b[j], residual[l], repeated
            )
            total += log_p
            slope += its_slope
            curvature += curvatures[c]
            slopes[l] += its_slope
            precision[l, l] += curvatures[c]
        shrink = 1.0 / (1.0 + generation * curvature)
        steps[j] = shrink * (generation * slope - b[j])
        for c in range(cell_start[j], cell_start[j + 1]):
            slopes[judge[c]] -= curvatures[c] * steps[j]
            for d in range(cell_start[j], cell_start[j + 1]):
                product = curvatures[c] * curvatures[d]
                precision[judge[c], judge[d]] -= generation * shrink * product
        if generation > 0.0:
            total -= 0.5 * b[j] * b[j] / generation
    return total


@compiled
def _factor(C):  # type: ignore[no-untyped-def]
    """Put the Cholesky factor of a matrix into its lower triangle."""
    for j in range(len(C)):
        for k in range(j):
            C[j, j] -= C[j, k] ** 2
        C[j, j] = math.sqrt(max(C[j, j], 1e-12))
        for i in range(j + 1, len(C)):
            for k in range(j):
                C[i, j] -= C[i, k] * C[j, k]
            C[i, j] /= C[j, j]


@compiled
def solve_transposed(C, x):  # type: ignore[no-untyped-def]
    """Solve C'y = x in place."""
    for i in range(len(x) - 1, -1, -1):
        for k in range(i + 1, len(x)):
            x[i] -= C[k, i] * x[k]
        x[i] /= C[i, i]


@compiled
def find_mode(  # type: ignore[no-untyped-def]
    low,
    high,
    call_start,
    judge,
    cell_start,
    centre,
    scenario,
    generation,
    interaction,
    repeated,
    residual,
    u,
    b,
    tau,
    root,
    curvatures,
):
    """Find the effects under which the levels, and they themselves, are most probable (Newton).

    Starts from `u` and `b` and writes them: standard normal numbers for the judges' scenario
    effects, and generation effects. Writes the effects `tau`, the Cholesky factor `root` of the
    precision of `u` there, and the curvature of each cell. A mode that is a little off makes the
    estimate less precise, and not wrong.
    """
    K, m = len(u), len(b)
    slopes, precision = np.empty(K), np.empty((K, K))
    steps, step, rest = np.empty(m), np.zeros(K), np.empty(K)
    old_u, old_b, b_step = u.copy(), b.copy(), np.zeros(m)
    before, share = -np.inf, 1.0
    for _ in range(_ITERATIONS):
        judge_effects(u, scenario, interaction, tau)
        parts = (slopes, precision, curvatures, steps)
        value = _at(
            *(low, high, call_start, judge, cell_start),
            *(centre, tau, b, generation, repeated, residual, parts),
        )
        value -= 0.5 * (u * u).sum()
        if value < before - 1e-9 and share > 1e-3:  # too far: go half of the way
            share *= 0.5
            for k in range(K):
                u[k] = old_u[k] + share * step[k]
            for j in range(m):
                b[j] = old_b[j] + share * b_step[j]
            continue
        sandwich(precision, scenario, interaction, root)
        for k in range(K):
            root[k, k] += 1.0
        _factor(root)
        judge_effects(slopes, scenario, interaction, rest)
        gain = 0.0
        for k in range(K):
            rest[k] -= u[k]
            for i in range(k):
                rest[k] -= root[k, i] * rest[i]
            rest[k] /= root[k, k]
            gain += rest[k] ** 2
        for j in range(m):
            gain += steps[j] ** 2 / max(generation, 1e-300)
        if gain < _AT_THE_MODE:
            return
        solve_transposed(root, rest)
        judge_effects(rest, scenario, interaction, step)  # of tau, for the generations
        for j in range(m):
            shrink, curvature = 0.0, 0.0
            for c in range(cell_start[j], cell_start[j + 1]):
                curvature += curvatures[c]
                shrink += curvatures[c] * step[judge[c]]
            b_step[j] = steps[j] - generation * shrink / (1.0 + generation * curvature)
        before, share = value, 1.0
        for k in range(K):
            step[k] = rest[k]
            old_u[k] = u[k]
            u[k] += step[k]
        for j in range(m):
            old_b[j] = b[j]
            b[j] += b_step[j]
    judge_effects(u, scenario, interaction, tau)
