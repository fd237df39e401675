r"""The linear model on any table: likelihood, gradient and conditional moments.

Three Gaussian levels are integrated out, one inside the other. With
:math:`q_l = c_l/(\sigma_{e,l}^2 + c_l \sigma_z^2)` the precision of judge l's cell mean in a
generation,

1. the generation effect leaves :math:`G = \mathrm{diag}(q) - w\,qq'`,
   :math:`w = \sigma_b^2/(1 + \sigma_b^2 \sum q)`; a scenario has :math:`M = \sum G` and
   :math:`r = \sum G \bar x`;
2. the scenario's judge totals :math:`\tau_l = \alpha + \eta_l` have covariance
   :math:`\Omega = \sigma_a^2 J + \sigma_\eta^2 (I - J/K)` and, given the data, covariance
   :math:`E = (\Omega^{-1} + M)^{-1}`; what is left for the panel is
   :math:`A = \sum (M - M E M)`, :math:`a = \sum (r - M E r)`;
3. the panel's coefficients :math:`b_l = \mu + \gamma_l` have covariance
   :math:`s_0^2 J + \sigma_j^2 (I - J/K)` around the prior mean.

Levels 2 and 3 are the same step on K x K matrices (`_absorb`). The square root of each
covariance is known, so no inverse of a variance is ever taken and a variance of zero is fine.
The gradient is Fisher's identity: the derivative in a covariance is that of the conditional
expectation of the complete-data log likelihood (Dempster, Laird and Rubin, 1977).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from bayesjudge.marginal.patterns import Patterns

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Variances:
    """Variances of one evaluated model (score²), each with the same leading draw dims.

    `judge` and `interaction` are those of the zero-sum Normal: covariance v(I - J/K).
    `residual` has a last dim of K judges.
    """

    scenario: FloatArray
    generation: FloatArray
    judge: FloatArray
    interaction: FloatArray
    cell: FloatArray
    residual: FloatArray


def by_term(values: FloatArray, residual: FloatArray) -> Variances:
    """Name variances that stand in the order of `bayesjudge.terms.TERMS`.

    Parameters
    ----------
    values : float array, shape (..., 5)
        All but the residual.
    residual : float array, shape (..., K)
        By judge.
    """
    scenario, generation, judge, interaction, cell = np.moveaxis(values, -1, 0)
    return Variances(scenario, generation, judge, interaction, cell, residual)


@dataclass(frozen=True, eq=False)
class Prior:
    """Normal prior of the panel mean (score)."""

    mean: float
    sd: float


@dataclass(frozen=True, eq=False)
class _Generations:
    """Level 1. Leading draw dims, then patterns P, judges K; kinds R; scenarios n; groups g."""

    precision: FloatArray  # q, (..., P, K)
    shrink: FloatArray  # w, (..., P)
    log_det: FloatArray  # of one generation's covariance, (..., P)
    M: FloatArray  # (..., R, K, K)
    r: FloatArray  # (..., n, K)


@dataclass(frozen=True, eq=False)
class _Level:
    """A Gaussian level integrated out: its posterior covariance and log |I + F M F|."""

    E: FloatArray
    log_det: FloatArray


def _root(common: FloatArray, contrast: FloatArray, K: int) -> FloatArray:
    """Symmetric square root of ``common J + contrast (I - J/K)``, shape (..., K, K)."""
    J = np.full((K, K), 1.0 / K)
    root = np.sqrt(common * K)[..., None, None] * J
    return np.asarray(root + np.sqrt(contrast)[..., None, None] * (np.eye(K) - J))


def _absorb(M: FloatArray, F: FloatArray) -> _Level:
    """Integrate out an effect with covariance FF (F symmetric) and precision M in the data."""
    C = np.eye(M.shape[-1]) + F @ M @ F
    L = np.linalg.cholesky(C)
    half = np.linalg.solve(L, np.broadcast_to(F, C.shape))
    log_det = 2 * np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(-1)
    return _Level(np.swapaxes(half, -1, -2) @ half, log_det)


def _generations(stats: Patterns, v: Variances) -> _Generations:
    c = stats.counts
    noise = v.residual[..., None, :] + c * v.cell[..., None, None]
    q = c / noise
    total = q.sum(-1)
    b = v.generation[..., None]
    w = b / (1 + b * total)
    asked = c > 0
    log_det = (
        np.where(asked, (c - 1) * np.log(v.residual[..., None, :]) + np.log(noise), 0.0).sum(-1)
    ) + np.log1p(b * total)

    groups = stats.kind_group
    p, size = stats.group_pattern[groups], stats.group_size[groups]
    qp = q[..., p, :]
    outer = -(size * w[..., p])[..., None, None] * qp[..., :, None] * qp[..., None, :]
    index = np.arange(q.shape[-1])
    outer[..., index, index] += size[:, None] * qp
    M = np.add.reduceat(outer, stats.kind_start, axis=-3)

    p = stats.group_pattern
    S, qp = stats.group_sum, q[..., p, :]
    mean = (qp * S).sum(-1)
    r = np.add.reduceat(qp * (S - (w[..., p] * mean)[..., None]), stats.scenario_start, axis=-2)
    return _Generations(q, w, log_det, M, r)


def _square(stats: Patterns, v: Variances, level: _Generations) -> FloatArray:
    """Return the weighted sum of squares before levels 2 and 3, by scenario, shape (..., n)."""
    p = stats.group_pattern
    q, w = level.precision[..., p, :], level.shrink[..., p]
    diagonal = np.diagonal(stats.group_cross, axis1=-2, axis2=-1)
    cross = (stats.group_cross @ q[..., None])[..., 0]
    per_group = (q * diagonal).sum(-1) - w * (q * cross).sum(-1)
    within = (stats.within / v.residual[..., None, :]).sum(-1)
    return np.add.reduceat(per_group, stats.scenario_start, axis=-1) + within


@dataclass(frozen=True, eq=False)
class Moments:
    """What the data say at given variances: all that the likelihood and the draws are made of.

    Leading draw dims, then scenarios n, kinds R, judges K. Level 2 is given b, level 3 marginal.
    """

    level1: _Generations
    E: FloatArray  # covariance of the scenario's judge totals given b, (..., R, K, K)
    log_det: FloatArray  # log |I + F M F|, (..., R)
    A: FloatArray  # precision of b in the data, by kind, (..., R, K, K)
    a: FloatArray  # by scenario, (..., n, K)
    square: FloatArray  # (..., n)
    constant: FloatArray  # log determinants and 2 pi, by scenario, (..., n)


def moments(stats: Patterns, v: Variances) -> Moments:
    """Integrate out generations and scenarios at given variances."""
    K = stats.counts.shape[1]
    level1 = _generations(stats, v)
    F = _root(v.scenario, v.interaction, K)[..., None, :, :]
    level2 = _absorb(level1.M, F)
    M, E, kind = level1.M, level2.E, stats.scenario_kind
    ME = M @ E
    A = M - ME @ np.swapaxes(M, -1, -2)
    r = level1.r[..., None]
    Er = E[..., kind, :, :] @ r
    a = level1.r - (M[..., kind, :, :] @ Er)[..., 0]
    square = _square(stats, v, level1) - (r * Er)[..., 0].sum(-1)
    p = stats.group_pattern
    calls = stats.counts.sum(1)[p]
    per_group = stats.group_size * (level1.log_det[..., p] + calls * np.log(2 * np.pi))
    constant = np.add.reduceat(per_group, stats.scenario_start, axis=-1) + level2.log_det[..., kind]
    return Moments(level1, E, level2.log_det, A, a, square, constant)


def _panel(
    stats: Patterns, v: Variances, prior: Prior | None, m: Moments
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Level 3: mean and covariance of b given the data, and the log marginal likelihood.

    Without a prior, b is flat and the value is the restricted likelihood (Patterson and
    Thompson, 1971), up to the constant (K/2) log 2 pi that is kept here.
    """
    K = stats.counts.shape[1]
    A = (stats.kind_size[:, None, None] * m.A).sum(-3)
    a = m.a.sum(-2)
    rest = m.square.sum(-1) + m.constant.sum(-1)
    if prior is None:
        L = np.linalg.cholesky(A)
        half = np.linalg.solve(L, np.broadcast_to(np.eye(K), A.shape))
        V = np.swapaxes(half, -1, -2) @ half
        mean = (V @ a[..., None])[..., 0]
        log_det = 2 * np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(-1) - K * np.log(2 * np.pi)
        return mean, V, -0.5 * (rest + log_det - (a * mean).sum(-1))
    m0 = prior.mean - stats.center
    F = _root(np.broadcast_to(np.float64(prior.sd**2), v.judge.shape), v.judge, K)
    level3 = _absorb(A, F)
    pull = a - m0 * A.sum(-1)
    mean = m0 + (level3.E @ pull[..., None])[..., 0]
    quadratic = rest - 2 * m0 * a.sum(-1) + m0**2 * A.sum((-1, -2))
    quadratic = quadratic - (pull * (mean - m0)).sum(-1)
    return mean, level3.E, -0.5 * (quadratic + level3.log_det)


def log_marginal(stats: Patterns, v: Variances, prior: Prior | None) -> FloatArray:
    """Log marginal likelihood of one evaluated model, all effects integrated out.

    Parameters
    ----------
    stats : Patterns
        Sufficient statistics.
    v : Variances
        Variances, with any leading draw dims.
    prior : Prior or None
        Normal prior of the panel mean; None for the restricted likelihood (REML), in which
        panel mean and judge offsets are flat and ``v.judge`` plays no part.

    Returns
    -------
    float array, shape of the draw dims
    """
    return _panel(stats, v, prior, moments(stats, v))[2]


@dataclass(frozen=True, eq=False)
class PanelMoments:
    """Conditional mean (score) and covariance (score²) of mu + gamma, shapes (..., K[, K])."""

    mean: FloatArray
    covariance: FloatArray


def panel_moments(stats: Patterns, v: Variances, prior: Prior, m: Moments) -> PanelMoments:
    """Moments of b = mu + gamma given the variances and the data."""
    mean, covariance, _ = _panel(stats, v, prior, m)
    return PanelMoments(mean + stats.center, covariance)


def log_likelihood_by_scenario(stats: Patterns, m: Moments, b: FloatArray) -> FloatArray:
    """Log likelihood of each scenario given the variances and b = mu + gamma.

    Parameters
    ----------
    stats : Patterns
        Sufficient statistics.
    m : Moments
        From `moments`, at the variances of each draw.
    b : float array, shape (..., K)
        Judge means (score).

    Returns
    -------
    float array, shape (..., n)
        The scenarios are independent given these; the effects are integrated out.
    """
    b = b - stats.center
    bAb = (b[..., None, :] * (m.A @ b[..., None, :, None])[..., 0]).sum(-1)
    square = m.square - 2 * (m.a * b[..., None, :]).sum(-1) + bAb[..., stats.scenario_kind]
    return -0.5 * (m.constant + square)


def value_and_gradient(
    stats: Patterns, v: Variances, prior: Prior | None
) -> tuple[float, Variances]:
    """Log marginal likelihood and its derivative in every variance, for one draw.

    Parameters
    ----------
    stats : Patterns
        Sufficient statistics.
    v : Variances
        Scalars, and `residual` of shape (K,).
    prior : Prior or None
        As in `log_marginal`.

    Returns
    -------
    float
        The value of `log_marginal`.
    Variances
        Derivatives with respect to each field (1/score²).
    """
    m = moments(stats, v)
    mean, V, value = _panel(stats, v, prior, m)
    K, kind, size = len(mean), stats.scenario_kind, stats.kind_size[:, None, None]
    M, r = m.level1.M, m.level1.r
    contrast = np.eye(K) - 1.0 / K

    # Level 3: derivative in the covariance of b, seen through the panel's contrasts.
    A, a = (size * m.A).sum(0), m.a.sum(0)
    left = a - A @ mean
    d_judge = 0.0 if prior is None else np.sum(contrast * (A - A @ V @ A)) - left @ contrast @ left

    # Total effect x = b + tau of a scenario given the data: its mean, and covariance by kind.
    pass_on = np.eye(K) - m.E @ M
    X = m.E + pass_on @ V @ np.swapaxes(pass_on, -1, -2)
    x = mean + (m.E[kind] @ (r - (M @ mean)[kind])[..., None])[..., 0]
    u = r - (M[kind] @ x[..., None])[..., 0]
    D = (size * (M - M @ X @ M)).sum(0) - u.T @ u
    d_scenario, d_interaction = D.sum(), np.sum(contrast * D)

    # Level 1: expected cross-products N of cell means around x, one pattern at a time.
    p, i = stats.group_pattern, stats.group_scenario
    q, w, S, T = m.level1.precision, m.level1.shrink, stats.group_sum, stats.group_cross
    qg, xg, Xg, n_g = q[p], x[i], X[kind[i]], stats.group_size
    xq, Sq = (xg * qg).sum(1), (S * qg).sum(1)
    Xq, Tq = (Xg @ qg[..., None])[..., 0], (T @ qg[..., None])[..., 0]
    N_q = n_g[:, None] * (Xq + xg * xq[:, None]) - xg * Sq[:, None] - S * xq[:, None] + Tq
    diagonal = np.diagonal(Xg, axis1=1, axis2=2)
    N_ll = n_g[:, None] * (diagonal + xg**2) - 2 * xg * S + np.diagonal(T, axis1=1, axis2=2)
    by_pattern, start = stats.pattern_order, stats.pattern_start
    N_q, N_ll, count = (np.add.reduceat(each[by_pattern], start) for each in (N_q, N_ll, n_g))
    qNq, total = (q * N_q).sum(1), q.sum(1)
    shrunk = 1 / (1 + v.generation * total)
    d_generation = (count * total * shrunk - shrunk**2 * qNq).sum()
    d_q = (count * w)[:, None] + N_ll - 2 * w[:, None] * N_q + (w**2 * qNq)[:, None]

    c, asked = stats.counts, stats.counts > 0
    count = count[:, None]
    # dq/d residual = -q²/c and dq/d cell = -q², beside the noise's own log determinant.
    repeats = np.where(asked, (c - 1) / v.residual + q / np.maximum(c, 1), 0.0)
    d_residual = (count * repeats - d_q * q**2 / np.maximum(c, 1)).sum(0)
    d_residual = d_residual - stats.within.sum(0) / v.residual**2
    d_cell = (count * q - d_q * q**2).sum()
    parts = (d_scenario, d_generation, d_judge, d_interaction, d_cell, d_residual)
    return float(value), Variances(*(-0.5 * np.asarray(part) for part in parts))


def take(v: Variances, index: slice) -> Variances:
    """Return the variances of some draws."""
    return Variances(*(getattr(v, field.name)[index] for field in fields(v)))
