"""Products and inverses of small matrices, as loops that Numba compiles.

The matrices are K x K with a handful of judges, and there are many: calls to BLAS and new arrays
would cost more than the sums.
"""

from __future__ import annotations

import numpy as np

from bayesjudge.marginal.compiling import compiled


@compiled
def multiply(A, B, out):  # type: ignore[no-untyped-def]
    """Write the product of two square matrices."""
    K = len(A)
    for i in range(K):
        for j in range(K):
            out[i, j] = 0.0
        for k in range(K):
            a = A[i, k]
            for j in range(K):
                out[i, j] += a * B[k, j]


@compiled
def sandwich(M, common, contrast, out):  # type: ignore[no-untyped-def]
    """Write F M F, F the root of ``common J + contrast (I - J/K)``, M symmetric."""
    K = len(M)
    own = np.sqrt(contrast)
    shared = (np.sqrt(common * K) - own) / K
    total = 0.0
    for i in range(K):
        out[i, i] = 0.0
        for j in range(K):
            out[i, i] += M[i, j]
        total += out[i, i]
    rows = np.empty(K)
    for i in range(K):
        rows[i] = out[i, i]
    for i in range(K):
        for j in range(K):
            out[i, j] = own * (own * M[i, j] + shared * (rows[i] + rows[j])) + shared**2 * total


@compiled
def invert(C, out):  # type: ignore[no-untyped-def]
    """Write the inverse of a positive definite matrix, spoil the matrix, return its log det.

    NaN when it is not positive definite.
    """
    K = len(C)
    log_det = 0.0
    for j in range(K):
        square = C[j, j]
        for k in range(j):
            square -= C[j, k] ** 2
        log_det += np.log(square)
        C[j, j] = np.sqrt(square)
        for i in range(j + 1, K):
            product = 0.0
            for k in range(j):
                product += C[i, k] * C[j, k]
            C[i, j] = (C[i, j] - product) / C[j, j]
    for j in range(K):  # the lower triangle of `out` becomes the inverse factor
        out[j, j] = 1 / C[j, j]
        for i in range(j + 1, K):
            out[i, j] = 0.0
            for k in range(j, i):
                out[i, j] -= C[i, k] * out[k, j]
            out[i, j] /= C[i, i]
    for i in range(K):
        for j in range(i + 1):
            C[i, j] = 0.0
            for k in range(i, K):
                C[i, j] += out[k, i] * out[k, j]
    for i in range(K):
        for j in range(i + 1):
            out[i, j] = C[i, j]
            out[j, i] = C[i, j]
    return log_det


@compiled
def absorb(M, common, contrast, work, out):  # type: ignore[no-untyped-def]
    """Write the posterior covariance E of an effect with data precision M; log |I + F M F|."""
    sandwich(M, common, contrast, work)
    for k in range(len(M)):
        work[k, k] += 1.0
    log_det = invert(work, out)
    for i in range(len(M)):
        for j in range(len(M)):
            work[i, j] = out[i, j]
    sandwich(work, common, contrast, out)
    return log_det
