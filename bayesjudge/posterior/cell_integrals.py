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

from bayesjudge.marginal.cumulative.probability import log_normal_cdf
from bayesjudge.marginal.small_matrices import compiled, sandwich

WIDE_SHARE = 0.05  # of the pairs of points that come from the wide Gaussian

_WIDE = 1.5  # variance of the wide one, over that of the effects
_INFLATED = 1.1  # variance of the narrow one, over that at the mode
_STEP = 1.1  # of the trapezoid rule, over the least sd of an integrand: an error of 2e-7
_NEGLIGIBLE = 21.0  # logs below the largest term at which the rule may end
_LONGEST = 1_000_000  # terms of the rule
_FAR = -25.0  # in the tails, distribution functions are taken as logs
_ITERATIONS = 50
_AT_THE_MODE = 1e-3  # of the log density: what a step would gain
_ROOT_2 = math.sqrt(2.0)
_LOG_ROOT = 0.5 * math.log(2.0 * math.pi)


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
    at_low = math.exp(-0.5 * a * a - _LOG_ROOT - log_p) if a > -np.inf else 0.0
    at_high = math.exp(-0.5 * b * b - _LOG_ROOT - log_p) if b < np.inf else 0.0
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
def _cell(low, high, at, residual, repeated):  # type: ignore[no-untyped-def]
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
    step = _STEP / math.sqrt(1.0 / repeated + len(low) / residual)
    top, total, slope, square, curvature = -np.inf, 0.0, 0.0, 0.0, 0.0
    for direction in (1, -1):
        z = 0.0 if direction == 1 else -step
        before = -np.inf
        for _ in range(_LONGEST):
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
            if value < before and value < top - _NEGLIGIBLE:
                break
            before = value
            z += direction * step
    slope, square, curvature = slope / total, square / total, curvature / total
    log_p = top + math.log(total * step) - _LOG_ROOT - 0.5 * math.log(repeated)
    return log_p, slope, max(curvature - (square - slope * slope), 0.0)


@compiled
def _effects(u, scenario, interaction, out):  # type: ignore[no-untyped-def]
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
    """Give the log likelihood at given effects and its parts; see `_mode`.

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
            log_p, its_slope, curvatures[c] = _cell(
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
def _backward(C, x):  # type: ignore[no-untyped-def]
    """Solve C'y = x in place."""
    for i in range(len(x) - 1, -1, -1):
        for k in range(i + 1, len(x)):
            x[i] -= C[k, i] * x[k]
        x[i] /= C[i, i]


@compiled
def _mode(  # type: ignore[no-untyped-def]
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
        _effects(u, scenario, interaction, tau)
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
        _effects(slopes, scenario, interaction, rest)
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
        _backward(root, rest)
        _effects(rest, scenario, interaction, step)  # of tau, for the generations
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
    _effects(u, scenario, interaction, tau)


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
        step = _STEP / math.sqrt(1.0 / generation + sharpness)
    for direction in (1, -1):
        b = start if direction == 1 else start - step
        before = -np.inf
        for _ in range(_LONGEST):
            value = 0.0 if generation == 0.0 else -0.5 * b * b / generation
            for c in range(len(judge)):
                first, last = call_start[c], call_start[c + 1]
                if last - first == 1:
                    sd = math.sqrt(residual[judge[c]] + repeated)
                    at = level[c] + b
                    value += log_interval((low[first] - at) / sd, (high[first] - at) / sd)
                else:
                    calls = slice(first, last)
                    value += _cell(
                        low[calls], high[calls], level[c] + b, residual[judge[c]], repeated
                    )[0]
            if generation == 0.0:
                return value
            if value > top:
                total *= math.exp(top - value)
                top = value
            total += math.exp(value - top)
            if value < before and value < top - _NEGLIGIBLE:
                break
            before = value
            b += direction * step
    return top + math.log(total * step) - _LOG_ROOT - 0.5 * math.log(generation)


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
        _mode(
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
                _backward(root, away)
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
                _effects(point, s, h, moved)
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
