"""The likelihood of `gaussian` once more, as loops for a compiler.

NumPy needs a millisecond for what the processor does in microseconds: the matrices are small and
many. The sampler asks tens of thousands of times and from several threads, so here the same
steps stand as loops that Numba compiles. `gaussian_gradient.value_and_gradient` is the statement
of the formula; tests hold the two together.
"""

from __future__ import annotations

import numpy as np

from bayesjudge.marginal.compiling import compiled
from bayesjudge.marginal.small_matrices import absorb, multiply

FIXED = 5  # columns before the residuals: scenario, generation, judge, scenario:judge, cell


@compiled
def _one(  # type: ignore[no-untyped-def]
    v,
    residual,
    prior_mean,
    prior_sd,
    center,
    counts,
    cross,
    within,
    group_scenario,
    group_pattern,
    group_size,
    group_sum,
    scenario_kind,
    kind_size,
    kind_group,
    kind_of_group,
    gradient,
    by_judge,
):
    """Write the gradient of one model and return its value; letters are those of `gaussian`."""
    P, K = len(counts), len(residual)
    n, R = len(scenario_kind), len(kind_size)
    s_b, s_z = v[1], v[4]
    work, step = np.empty((K, K)), np.empty((K, K))

    # Level 1: precision q of cell means, shrinkage w, and log determinants, by pattern.
    q, w, total = np.zeros((P, K)), np.zeros(P), np.zeros(P)
    count, log_det = np.zeros(P), np.zeros(P)
    for p in range(P):
        calls = 0.0
        for k in range(K):
            c = counts[p, k]
            if c > 0:
                noise = residual[k] + c * s_z
                q[p, k] = c / noise
                total[p] += q[p, k]
                log_det[p] += (c - 1) * np.log(residual[k]) + np.log(noise)
                calls += c
        w[p] = s_b / (1 + s_b * total[p])
        log_det[p] += np.log1p(s_b * total[p]) + calls * np.log(2 * np.pi)
    M = np.zeros((R, K, K))
    for g in range(len(kind_group)):
        m, p, size = M[kind_of_group[g]], group_pattern[kind_group[g]], group_size[kind_group[g]]
        for k in range(K):
            m[k, k] += size * q[p, k]
            for j in range(K):
                m[k, j] -= size * w[p] * q[p, k] * q[p, j]
    r = np.zeros((n, K))
    for g in range(len(group_size)):
        p, i = group_pattern[g], group_scenario[g]
        count[p] += group_size[g]
        mean = 0.0
        for k in range(K):
            mean += q[p, k] * group_sum[g, k]
        for k in range(K):
            r[i, k] += q[p, k] * (group_sum[g, k] - w[p] * mean)
    rest = 0.0
    N_q, N_ll = np.zeros((P, K)), np.zeros((P, K))  # start as those of the cross-products
    for p in range(P):
        rest += count[p] * log_det[p]
        for k in range(K):
            N_ll[p, k] = cross[p, k, k]
            for j in range(K):
                N_q[p, k] += cross[p, k, j] * q[p, j]
            rest += q[p, k] * (N_ll[p, k] - w[p] * N_q[p, k])
    for k in range(K):
        rest += within[k] / residual[k]

    # Level 2: scenarios.
    E, EM, A_kind = np.empty((R, K, K)), np.empty((R, K, K)), np.empty((R, K, K))
    A = np.zeros((K, K))
    for h in range(R):
        rest += kind_size[h] * absorb(M[h], v[0], v[3], work, E[h])
        multiply(E[h], M[h], EM[h])
        multiply(M[h], EM[h], work)
        for k in range(K):
            for j in range(K):
                A_kind[h, k, j] = M[h, k, j] - work[k, j]
                A[k, j] += kind_size[h] * A_kind[h, k, j]
    a = np.zeros(K)
    for i in range(n):
        h = scenario_kind[i]
        for k in range(K):
            a[k] += r[i, k]
            for j in range(K):
                a[k] -= EM[h, j, k] * r[i, j]
                rest -= r[i, k] * E[h, k, j] * r[i, j]

    # Level 3: the panel.
    m0 = prior_mean - center
    V, b, left = np.empty((K, K)), np.full(K, m0), a.copy()
    value = rest + absorb(A, prior_sd**2, v[2], work, V)
    pull = a.copy()
    for k in range(K):
        for j in range(K):
            pull[k] -= m0 * A[k, j]
            value += m0**2 * A[k, j]
        value -= 2 * m0 * a[k]
    for k in range(K):
        for j in range(K):
            b[k] += V[k, j] * pull[j]
        value -= pull[k] * (b[k] - m0)

    # Gradient at level 3: tr(C (A - A V A)) - |C (a - A b)|², C the contrasts of the panel.
    for k in range(K):
        for j in range(K):
            left[k] -= A[k, j] * b[j]
    multiply(A, V, step)
    multiply(step, A, work)
    d_judge = 0.0
    for k in range(K):
        for j in range(K):
            weight = (1.0 if k == j else 0.0) - 1.0 / K
            d_judge += weight * (A[k, j] - work[k, j] - left[k] * left[j])

    # Gradient at level 2, D; and the covariance X of each kind's total effect.
    D, X = np.zeros((K, K)), np.empty((R, K, K))
    for h in range(R):
        multiply(A_kind[h], V, step)
        multiply(step, A_kind[h], work)
        for k in range(K):
            for j in range(K):
                D[k, j] += kind_size[h] * (A_kind[h, k, j] - work[k, j])
        multiply(EM[h], V, work)
        for k in range(K):  # X = E + (I - EM) V (I - EM)', row by row
            for j in range(K):
                work[k, j] = V[k, j] - work[k, j]
            for j in range(K):
                product = 0.0
                for l in range(K):  # noqa: E741 - a judge, as in the formulas
                    product += work[k, l] * EM[h, j, l]
                X[h, k, j] = E[h, k, j] + work[k, j] - product
    x, u = np.empty((n, K)), np.empty(K)
    for i in range(n):
        h = scenario_kind[i]
        for k in range(K):
            x[i, k] = b[k]
            for j in range(K):
                x[i, k] += E[h, k, j] * r[i, j] - EM[h, k, j] * b[j]
        for k in range(K):
            u[k] = r[i, k]
            for j in range(K):
                u[k] -= M[h, k, j] * x[i, j]
        for k in range(K):
            for j in range(K):
                D[k, j] -= u[k] * u[j]

    # Gradient at level 1: expected cross-products N of cell means around x, by pattern.
    for g in range(len(group_size)):
        p, i, size = group_pattern[g], group_scenario[g], group_size[g]
        h = scenario_kind[i]
        xq, Sq = 0.0, 0.0
        for k in range(K):
            xq += x[i, k] * q[p, k]
            Sq += group_sum[g, k] * q[p, k]
        for k in range(K):
            Xq = 0.0
            for j in range(K):
                Xq += X[h, k, j] * q[p, j]
            N_q[p, k] += size * (Xq + x[i, k] * xq) - x[i, k] * Sq - group_sum[g, k] * xq
            N_ll[p, k] += size * (X[h, k, k] + x[i, k] ** 2) - 2 * x[i, k] * group_sum[g, k]
    d_generation, d_cell = 0.0, 0.0
    for k in range(K):
        by_judge[k] = 0.5 * within[k] / residual[k] ** 2
    for p in range(P):
        qNq = 0.0
        for k in range(K):
            qNq += q[p, k] * N_q[p, k]
        shrunk = 1 / (1 + s_b * total[p])
        d_generation += count[p] * total[p] * shrunk - shrunk**2 * qNq
        for k in range(K):
            c = counts[p, k]
            if c > 0:
                d_q = count[p] * w[p] + N_ll[p, k] - 2 * w[p] * N_q[p, k] + w[p] ** 2 * qNq
                own = count[p] * ((c - 1) / residual[k] + q[p, k] / c) - d_q * q[p, k] ** 2 / c
                by_judge[k] -= 0.5 * own
                d_cell += count[p] * q[p, k] - d_q * q[p, k] ** 2
    trace, everything = 0.0, 0.0
    for k in range(K):
        trace += D[k, k]
        for j in range(K):
            everything += D[k, j]
    gradient[0] = -0.5 * everything
    gradient[1] = -0.5 * d_generation
    gradient[2] = -0.5 * d_judge
    gradient[3] = -0.5 * (trace - everything / K)
    gradient[4] = -0.5 * d_cell
    return -0.5 * value


@compiled
def value_and_gradient(  # type: ignore[no-untyped-def]
    variances,
    prior,
    starts,
    n_judges,
    judge_ids,
    center,
    counts,
    cross,
    within,
    group_scenario,
    group_pattern,
    group_size,
    group_sum,
    scenario_kind,
    kind_size,
    kind_group,
    kind_of_group,
):
    """Sum over models of the log marginal likelihood, and its gradient.

    Parameters
    ----------
    variances : float array, shape (models, 5 + judges)
        In the order of `bayesjudge.terms.TERMS`, residuals by judge of the table (score²).
    prior : float array, shape (2,)
        Mean and standard deviation of the panel mean's Normal prior (score).
    starts, ... : array
        The fields of `Packed`.

    Returns
    -------
    float
        NaN where a matrix is not positive definite: the variances are out of all proportion.
    float array, shape (models, 5 + judges)
    """
    value = 0.0
    gradient = np.zeros(variances.shape)
    for t in range(len(n_judges)):
        K = n_judges[t]
        p0, g0, i0, r0, h0 = starts[t]
        p1, g1, i1, r1, h1 = starts[t + 1]
        ids = judge_ids[t, :K]
        residual = np.empty(K)
        for k in range(K):
            residual[k] = variances[t, FIXED + ids[k]]
        by_judge = np.empty(K)
        value += _one(
            variances[t],
            residual,
            prior[0],
            prior[1],
            center[t],
            counts[p0:p1],
            cross[p0:p1],
            within[t],
            group_scenario[g0:g1],
            group_pattern[g0:g1],
            group_size[g0:g1],
            group_sum[g0:g1],
            scenario_kind[i0:i1],
            kind_size[r0:r1],
            kind_group[h0:h1],
            kind_of_group[h0:h1],
            gradient[t],
            by_judge,
        )
        for k in range(K):
            gradient[t, FIXED + ids[k]] = by_judge[k]
    return value, gradient
