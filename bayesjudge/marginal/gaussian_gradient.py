"""The gradient of the likelihood of any table, by Fisher's identity.

The derivative in a covariance is that of the conditional expectation of the complete-data log
likelihood (Dempster, Laird and Rubin, 1977).
"""

from __future__ import annotations

import numpy as np

from bayesjudge.marginal.gaussian import Prior, Variances, moments, panel, summed
from bayesjudge.marginal.patterns import Patterns


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
    sums = summed(stats, m)
    mean, V, value = panel(stats, v, prior, sums)
    K, kind, size = len(mean), stats.scenario_kind, stats.kind_size[:, None, None]
    M, r, E = m.M, m.r, m.spread()
    contrast = np.eye(K) - 1.0 / K

    # Level 3: derivative in the covariance of b, seen through the panel's contrasts.
    A = sums.A
    left = sums.a - A @ mean
    d_judge = 0.0 if prior is None else np.sum(contrast * (A - A @ V @ A)) - left @ contrast @ left

    # Total effect x = b + tau of a scenario given the data: its mean, and covariance by kind.
    pass_on = np.eye(K) - E @ M
    X = E + pass_on @ V @ np.swapaxes(pass_on, -1, -2)
    x = mean + (E[kind] @ (r - (M @ mean)[kind])[..., None])[..., 0]
    u = r - (M[kind] @ x[..., None])[..., 0]
    D = (size * (M - M @ X @ M)).sum(0) - u.T @ u
    d_scenario, d_interaction = D.sum(), np.sum(contrast * D)

    # Level 1: expected cross-products N of cell means around x, one pattern at a time.
    p, i = stats.group_pattern, stats.group_scenario
    q, w, S, T = m.answers.precision, m.answers.shrink, stats.group_sum, stats.group_cross
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
    d_residual = d_residual - stats.within_judge / v.residual**2
    d_cell = (count * q - d_q * q**2).sum()
    parts = (d_scenario, d_generation, d_judge, d_interaction, d_cell, d_residual)
    return float(value), Variances(*(-0.5 * np.asarray(part) for part in parts))
