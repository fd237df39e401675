r"""How probable levels are under Gaussian scores: integrals over boxes, as loops for Numba.

For one scenario of one evaluated model, with :math:`\tau_l = \alpha + \eta_l` the judges' scenario
effects, b the effect of a generation and z that of a judge on it (where calls are repeated), the
probability of the levels that were given is

.. math:: \int N(\tau; 0, \Omega) \prod_j \int N(b; 0, \sigma_b^2) \prod_l
    \int N(z; 0, \sigma_z^2) \prod_c [\Phi(\cdot) - \Phi(\cdot)]\, dz\, db\, d\tau .

The inner integrals have one dimension and are done by the trapezoid rule, whose step follows from
how sharp the integrand can be (see `bayesjudge.marginal.cumulative.lattice`). The outer one has as
many dimensions as there are judges: it's estimated by importance sampling, without bias. The
integrand is log-concave; points come from the Gaussian at its mode with the curvature there, in
pairs on both sides of it. Where a score is at an end of the scale, the integrand is wider than its
mode lets on: one pair in twenty comes from a Gaussian that is wider than the effects can be, which
keeps the weights bounded.
"""

from __future__ import annotations

import math

import numpy as np

from bayesjudge.marginal.compiling import compiled
from bayesjudge.posterior.cell_calls import (
    LOG_ROOT,
    LONGEST,
    NEGLIGIBLE,
    STEP,
    cell_terms,
    log_interval,
)
from bayesjudge.posterior.cell_modes import find_mode, judge_effects, solve_transposed

WIDE_SHARE = 0.05  # of the pairs of points that come from the wide Gaussian

_WIDE = 1.5  # variance of the wide one, over that of the effects
_INFLATED = 1.1  # variance of the narrow one, over that at the mode


@compiled
def _generation(  # type: ignore[no-untyped-def]
    low, high, call_start, judge, level, generation, repeated, residual, start
):
    """Log probability of one generation's levels, its effect integrated out.

    `level` is what a judge gives without it, for each cell; `start` is near the mode.
    """
    sharpness = 0.0
    for c in range(len(judge)):
        calls = call_start[c + 1] - call_start[c]
        sharpness += calls / (residual[judge[c]] + calls * repeated)
    b, step, top, total = 0.0, 1.0, -np.inf, 0.0
    if generation > 0.0:
        step = STEP / math.sqrt(1.0 / generation + sharpness)
    for direction in (1, -1):
        b = start if direction == 1 else start - step
        before = -np.inf
        for _ in range(LONGEST):
            value = 0.0 if generation == 0.0 else -0.5 * b * b / generation
            for c in range(len(judge)):
                first, last = call_start[c], call_start[c + 1]
                if last - first == 1:
                    sd = math.sqrt(residual[judge[c]] + repeated)
                    at = level[c] + b
                    value += log_interval((low[first] - at) / sd, (high[first] - at) / sd)
                else:
                    calls = slice(first, last)
                    value += cell_terms(
                        low[calls], high[calls], level[c] + b, residual[judge[c]], repeated
                    )[0]
            if generation == 0.0:
                return value
            if value > top:
                total *= math.exp(top - value)
                top = value
            total += math.exp(value - top)
            if value < before and value < top - NEGLIGIBLE:
                break
            before = value
            b += direction * step
    return top + math.log(total * step) - LOG_ROOT - 0.5 * math.log(generation)


@compiled
def log_probability(  # type: ignore[no-untyped-def]
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
    normal,
    wide,
    out,
):
    """Estimate the log probability of the levels of one scenario of one evaluated model.

    Parameters
    ----------
    low, high : float arrays, shape (calls,)
        Edges of the levels that were given (score); infinite at the ends of the scale.
    call_start : int array, shape (cells + 1,)
        First call of each cell, and the end.
    judge : int array, shape (cells,)
        Of each cell.
    cell_start : int array, shape (generations + 1,)
        First cell of each generation, and the end.
    centre : float array, shape (draws, judges)
        Mean of the model plus judge offset (score).
    scenario, generation, interaction, repeated : float arrays, shape (draws,)
        Variances (score²): `interaction` of a zero-sum Normal over all judges, `repeated` of the
        effect that one judge's calls on one generation have in common.
    residual : float array, shape (draws, judges)
        Variances (score²), above zero.
    normal : float array, shape (draws, pairs, judges)
        Standard normal numbers.
    wide : bool array, shape (draws, pairs)
        True with probability `WIDE_SHARE`.
    out : float array, shape (draws,)
        Written to. Its exponential has no bias.
    """
    D, pairs, K = normal.shape
    m, cells = len(cell_start) - 1, len(judge)
    u, b, tau, point = np.zeros(K), np.zeros(m), np.empty(K), np.empty(K)
    root, curvatures, level = np.empty((K, K)), np.empty(cells), np.empty(cells)
    away, moved, values = np.empty(K), np.empty(K), np.empty(2 * pairs)
    for d in range(D):
        s, g, h, z, e, mean = (
            scenario[d],
            generation[d],
            interaction[d],
            repeated[d],
            residual[d],
            centre[d],
        )
        if g == 0.0:
            b[:] = 0.0
        # The modes of the draws are near each other: each starts from the last.
        find_mode(
            *(low, high, call_start, judge, cell_start),
            *(mean, s, g, h, z, e, u, b, tau, root, curvatures),
        )
        log_det = 0.0
        for k in range(K):
            log_det += math.log(root[k, k])
        narrow = log_det - 0.5 * K * math.log(_INFLATED) + math.log(1.0 - WIDE_SHARE)
        far = -0.5 * K * math.log(_WIDE) + math.log(WIDE_SHARE)
        for p in range(pairs):
            for k in range(K):
                away[k] = normal[d, p, k]
            if wide[d, p]:
                away *= math.sqrt(_WIDE)
            else:
                solve_transposed(root, away)
                away *= math.sqrt(_INFLATED)
            square, inner = 0.0, 0.0
            for k in range(K):
                square += away[k] ** 2
                product = 0.0
                for i in range(k, K):
                    product += root[i, k] * away[i]
                inner += product**2
            one, other = narrow - 0.5 * inner / _INFLATED, far - 0.5 * square / _WIDE
            log_q = max(one, other) + math.log1p(math.exp(-abs(one - other)))
            for side in (0, 1):
                for k in range(K):
                    point[k] = u[k] + (away[k] if side == 0 else -away[k])
                judge_effects(point, s, h, moved)
                value = -0.5 * (point * point).sum() - log_q
                for j in range(m):
                    own = slice(cell_start[j], cell_start[j + 1])
                    pull, curvature = 0.0, 0.0
                    for c in range(cell_start[j], cell_start[j + 1]):
                        l = judge[c]  # noqa: E741
                        level[c] = mean[l] + moved[l]
                        pull += curvatures[c] * (moved[l] - tau[l])
                        curvature += curvatures[c]
                    value += _generation(
                        low,
                        high,
                        call_start[cell_start[j] : cell_start[j + 1] + 1],
                        judge[own],
                        level[own],
                        g,
                        z,
                        e,
                        b[j] - g * pull / (1.0 + g * curvature),
                    )
                values[2 * p + side] = value
        top = values.max()
        total = 0.0
        for value in values:
            total += math.exp(value - top)
        out[d] = top + math.log(total / (2 * pairs))
