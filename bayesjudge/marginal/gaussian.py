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
covariance is known, so no inverse of a variance is ever taken and a variance of zero is fine:
with :math:`\Omega = F^2` and :math:`I + F M F = L L'`, :math:`E = H'H` for :math:`H = L^{-1} F`.

The likelihood alone needs sums over scenarios (`Totals`); draws and gradients need each scenario
(`Moments`).
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
class _Answers:
    """Level 1, by pattern. Leading draw dims, then patterns P, judges K."""

    precision: FloatArray  # q, (..., P, K)
    shrink: FloatArray  # w, (..., P)
    constant: FloatArray  # log determinant and 2 pi of one generation, (..., P)
    G: FloatArray  # (..., P, K, K)


@dataclass(frozen=True, eq=False)
class Moments:
    """What the data say of each scenario at given variances.

    Leading draw dims, then scenarios n, kinds R, judges K. Level 2 is given b.
    """

    answers: _Answers
    M: FloatArray  # precision of the judge totals in the data, by kind, (..., R, K, K)
    r: FloatArray  # by scenario, (..., n, K)
    H: FloatArray  # a root of E, the covariance of the judge totals given b, (..., R, K, K)
    A: FloatArray  # precision of b in the data, by kind, (..., R, K, K)
    a: FloatArray  # by scenario, (..., n, K)
    square: FloatArray  # (..., n)
    constant: FloatArray  # log determinants and 2 pi, by scenario, (..., n)

    def spread(self) -> FloatArray:
        """Return E, the covariance of a scenario's judge totals given b, shape (..., R, K, K)."""
        return np.swapaxes(self.H, -1, -2) @ self.H


@dataclass(frozen=True, eq=False)
class Totals:
    """What the data say of the panel at given variances, scenarios summed over."""

    A: FloatArray  # precision of b in the data, (..., K, K)
    a: FloatArray  # (..., K)
    rest: FloatArray  # squares, log determinants and 2 pi, (...)


def _root(common: FloatArray, contrast: FloatArray, K: int) -> FloatArray:
    """Symmetric square root of ``common J + contrast (I - J/K)``, shape (..., K, K)."""
    J = np.full((K, K), 1.0 / K)
    root = np.sqrt(common * K)[..., None, None] * J
    return np.asarray(root + np.sqrt(contrast)[..., None, None] * (np.eye(K) - J))


def _absorb(M: FloatArray, F: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Integrate out an effect with covariance FF (F symmetric) and precision M in the data.

    Returns
    -------
    H : float array, shape of M
        A root of its covariance given the data.
    log_det : float array
        log |I + F M F|.
    """
    C = np.eye(M.shape[-1]) + F @ M @ F
    L = np.linalg.cholesky(C)
    H = np.linalg.solve(L, np.broadcast_to(F, C.shape))
    return H, 2 * np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(-1)


def _answers(stats: Patterns, v: Variances) -> _Answers:
    c = stats.counts
    noise = v.residual[..., None, :] + c * v.cell[..., None, None]
    q = c / noise
    total = q.sum(-1)
    b = v.generation[..., None]
    w = b / (1 + b * total)
    log_det = np.where(c > 0, (c - 1) * np.log(v.residual[..., None, :]) + np.log(noise), 0.0)
    constant = log_det.sum(-1) + np.log1p(b * total) + c.sum(-1) * np.log(2 * np.pi)
    G = -w[..., None, None] * q[..., :, None] * q[..., None, :]
    index = np.arange(q.shape[-1])
    G[..., index, index] += q
    return _Answers(q, w, constant, G)


def _precision(stats: Patterns, answers: _Answers) -> FloatArray:
    """Sum G over the generations of a scenario of each kind, shape (..., R, K, K)."""
    G = np.moveaxis(answers.G, -3, 0)
    return np.moveaxis(
        (stats.kind_pattern @ G.reshape(len(G), -1)).reshape(-1, *G.shape[1:]), 0, -3
    )


def _weighted_sums(stats: Patterns, answers: _Answers) -> FloatArray:
    """Sum G times the cell means over the generations of each scenario, shape (..., n, K)."""
    p, S = stats.group_pattern, stats.group_sum
    q = answers.precision[..., p, :]
    mean = (q * S).sum(-1)
    by_group = q * (S - (answers.shrink[..., p] * mean)[..., None])
    return np.add.reduceat(by_group, stats.scenario_start, axis=-2)


def of_scenarios(stats: Patterns, by_kind: FloatArray) -> FloatArray:
    """Repeat matrices for all scenarios of a kind, shape (..., R, K, K) to (..., n, K, K)."""
    # Where each scenario is of its own kind, they are in order.
    alone = len(stats.kind_size) == len(stats.scenario_kind)
    return by_kind if alone else by_kind[..., stats.scenario_kind, :, :]


def moments(stats: Patterns, v: Variances) -> Moments:
    """Integrate out generations and scenarios at given variances."""
    answers = _answers(stats, v)
    M, r = _precision(stats, answers), _weighted_sums(stats, answers)
    F = _root(v.scenario, v.interaction, M.shape[-1])[..., None, :, :]
    H, log_det = _absorb(M, F)
    HM = H @ M
    h = (of_scenarios(stats, H) @ r[..., None])[..., 0]
    a = r - (h[..., None, :] @ of_scenarios(stats, HM))[..., 0, :]

    p, q = stats.group_pattern, answers.precision
    diagonal = np.diagonal(stats.group_cross, axis1=-2, axis2=-1)
    cross = (stats.group_cross @ q[..., p, :, None])[..., 0]
    by_group = (q[..., p, :] * (diagonal - answers.shrink[..., p, None] * cross)).sum(-1)
    within = (stats.within / v.residual[..., None, :]).sum(-1)
    square = np.add.reduceat(by_group, stats.scenario_start, axis=-1) + within - (h**2).sum(-1)
    by_kind = answers.constant @ stats.kind_pattern.T + log_det
    return Moments(
        answers,
        M,
        r,
        H,
        A=M - np.swapaxes(HM, -1, -2) @ HM,
        a=a,
        square=square,
        constant=by_kind[..., stats.scenario_kind],
    )


def summed(stats: Patterns, m: Moments) -> Totals:
    """Sum the moments over scenarios."""
    A = (stats.kind_size[:, None, None] * m.A).sum(-3)
    return Totals(A, m.a.sum(-2), m.square.sum(-1) + m.constant.sum(-1))


def totals(stats: Patterns, v: Variances) -> Totals:
    """Do what `moments` and `summed` do, without the scenarios' own squares and matrices."""
    answers = _answers(stats, v)
    M, r = _precision(stats, answers), _weighted_sums(stats, answers)
    K, size = M.shape[-1], stats.kind_size
    F = _root(v.scenario, v.interaction, K)[..., None, :, :]
    H, log_det = _absorb(M, F)
    h = (of_scenarios(stats, H) @ r[..., None])[..., 0]
    HM = H @ M
    stacked = (np.sqrt(size)[:, None, None] * HM).reshape(*HM.shape[:-3], -1, K)
    summed_M = np.tensordot(M, size, (-3, 0)) if M.ndim == 3 else np.einsum("...rkl,r", M, size)
    a = r.sum(-2) - np.einsum("...nk,...nkl->...l", h, of_scenarios(stats, HM), optimize=True)
    rest = (
        (answers.G * stats.pattern_cross).sum((-3, -2, -1))
        + (stats.within_judge / v.residual).sum(-1)
        + answers.constant @ stats.pattern_size
        + log_det @ size
        - (h**2).sum((-2, -1))
    )
    return Totals(summed_M - np.swapaxes(stacked, -1, -2) @ stacked, a, rest)


def panel(
    stats: Patterns, v: Variances, prior: Prior | None, sums: Totals
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Level 3: mean and covariance of b given the data, and the log marginal likelihood.

    Without a prior, b is flat and the value is the restricted likelihood (Patterson and
    Thompson, 1971), up to the constant (K/2) log 2 pi that is kept here.
    """
    A, a, rest = sums.A, sums.a, sums.rest
    K = A.shape[-1]
    if prior is None:
        L = np.linalg.cholesky(A)
        half = np.linalg.solve(L, np.broadcast_to(np.eye(K), A.shape))
        V = np.swapaxes(half, -1, -2) @ half
        mean = (V @ a[..., None])[..., 0]
        log_det = 2 * np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(-1) - K * np.log(2 * np.pi)
        return mean, V, -0.5 * (rest + log_det - (a * mean).sum(-1))
    m0 = prior.mean - stats.center
    F = _root(np.broadcast_to(np.float64(prior.sd**2), v.judge.shape), v.judge, K)
    H, log_det = _absorb(A, F)
    V = np.swapaxes(H, -1, -2) @ H
    pull = a - m0 * A.sum(-1)
    mean = m0 + (V @ pull[..., None])[..., 0]
    quadratic = rest - 2 * m0 * a.sum(-1) + m0**2 * A.sum((-1, -2))
    quadratic = quadratic - (pull * (mean - m0)).sum(-1)
    return mean, V, -0.5 * (quadratic + log_det)


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
    return panel(stats, v, prior, totals(stats, v))[2]


@dataclass(frozen=True, eq=False)
class PanelMoments:
    """Conditional mean (score) and covariance (score²) of mu + gamma, shapes (..., K[, K])."""

    mean: FloatArray
    covariance: FloatArray


def panel_moments(stats: Patterns, v: Variances, prior: Prior, sums: Totals) -> PanelMoments:
    """Moments of b = mu + gamma given the variances and the data."""
    mean, covariance, _ = panel(stats, v, prior, sums)
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


def take(v: Variances, index: slice) -> Variances:
    """Return the variances of some draws."""
    return Variances(*(getattr(v, field.name)[index] for field in fields(v)))
