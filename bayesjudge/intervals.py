r"""Classical intervals for variances, from mean squares and their degrees of freedom.

A mean square :math:`S_k` with :math:`\nu_k` degrees of freedom is :math:`E_k \chi^2_{\nu_k} /
\nu_k`, independent of the others. Every function takes numbers or arrays, broadcasts them, and
returns ends that are not cut at zero: a difference of mean squares can be negative, and so can the
ends of its interval. Where there is no interval, both ends are NaN.

Methods: Burdick and Graybill, *Confidence Intervals on Variance Components* (1992), and Ting,
Burdick, Graybill, Jeyaratnam and Lu (1990) for differences; Satterthwaite (1946).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

FloatArray = NDArray[np.float64]

# scipy's noncentral F loses its way at very large noncentralities. From here on the numerator
# varies by less than 0.1%, so that the chi-squared denominator alone makes the interval.
_LARGE_NONCENTRALITY = 1e7

# With fewer degrees of freedom the lower quantile of chi-squared is zero to machine precision.
_FEWEST_DF = 0.05


def chi2_interval(
    mean_square: ArrayLike, df: ArrayLike, prob: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    r"""Interval for the expectation of one mean square: exact.

    Parameters
    ----------
    mean_square : array_like
        (score²).
    df : array_like
        Degrees of freedom; need not be whole.
    prob : float
        Probability, with equal tails.

    Returns
    -------
    low, high : float array
        :math:`\nu S / \chi^2_{\nu}` at its upper and lower quantile (score²).
    """
    S, nu = _arrays(mean_square, df)
    tail = (1 - prob) / 2
    ends = nu * S / special.chdtri(nu, tail), nu * S / special.chdtri(nu, 1 - tail)
    return _where(S > 0, *ends)


def satterthwaite(
    first: ArrayLike,
    df_first: ArrayLike,
    second: ArrayLike,
    df_second: ArrayLike,
    prob: float = 0.95,
) -> tuple[FloatArray, FloatArray]:
    r"""Interval for :math:`E_1 - E_2` by Satterthwaite's approximation.

    The difference of two mean squares is treated as one, with the degrees of freedom that give
    it the right variance. Poor where the difference is small beside the mean squares: there
    `modified_large_sample` is to be preferred.

    Parameters
    ----------
    first, second : array_like
        Mean squares (score²).
    df_first, df_second : array_like
        Their degrees of freedom.
    prob : float
        Probability, with equal tails.

    Returns
    -------
    low, high : float array
        (score²). NaN where the first mean square is not the larger one, and where the
        difference is so small that hardly any degrees of freedom are left for it.
    """
    S1, nu1, S2, nu2 = _arrays(first, df_first, second, df_second)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = S1 - S2
        df = gap**2 / (S1**2 / nu1 + S2**2 / nu2)
    usable = (gap > 0) & (df > _FEWEST_DF)
    return _where(usable, *chi2_interval(gap, np.where(usable, df, 1.0), prob))


def modified_large_sample(
    first: ArrayLike,
    df_first: ArrayLike,
    second: ArrayLike,
    df_second: ArrayLike,
    prob: float = 0.95,
) -> tuple[FloatArray, FloatArray]:
    """Interval for a difference of expected mean squares, by the modified large-sample method.

    Exact where either expected mean square is zero, and its lower end is above zero exactly
    where the F test of the two mean squares rejects at (1 - prob)/2.

    Parameters
    ----------
    first, second : array_like
        Mean squares (score²); the interval is for the expectation of first minus second.
    df_first, df_second : array_like
        Their degrees of freedom.
    prob : float
        Probability, with equal tails.

    Returns
    -------
    low, high : float array
        (score²), possibly negative. NaN where both mean squares are zero.

    Notes
    -----
    Ting et al. (1990); Burdick and Graybill (1992), equation 3.3.1 with two mean squares.
    """
    S1, nu1, S2, nu2 = _arrays(first, df_first, second, df_second)
    tail = (1 - prob) / 2
    G1, G2 = (1 - nu / special.chdtri(nu, tail) for nu in (nu1, nu2))
    H1, H2 = (nu / special.chdtri(nu, 1 - tail) - 1 for nu in (nu1, nu2))
    upper, lower = special.fdtri(nu1, nu2, 1 - tail), special.fdtri(nu1, nu2, tail)
    G12 = ((upper - 1) ** 2 - (G1 * upper) ** 2 - H2**2) / upper
    H12 = ((1 - lower) ** 2 - (H1 * lower) ** 2 - G2**2) / lower
    down = (G1 * S1) ** 2 + (H2 * S2) ** 2 + G12 * S1 * S2
    up = (H1 * S1) ** 2 + (G2 * S2) ** 2 + H12 * S1 * S2
    gap = S1 - S2
    low, high = gap - np.sqrt(np.maximum(down, 0)), gap + np.sqrt(np.maximum(up, 0))
    return _where(S1 + S2 > 0, low, high)


def noncentral_f_interval(
    F: ArrayLike, df1: ArrayLike, df2: ArrayLike, prob: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    r"""Interval for the noncentrality of an F statistic: exact.

    Parameters
    ----------
    F : array_like
        The statistic.
    df1, df2 : array_like
        Its degrees of freedom.
    prob : float
        Probability, with equal tails.

    Returns
    -------
    low, high : float array
        The :math:`\lambda \ge 0` at which :math:`P(F'_{df1,df2}(\lambda) \le F)` is
        (1 + prob)/2 and (1 - prob)/2; zero where no noncentrality is small enough. NaN where F
        is not finite.
    """
    F, df1, df2 = _arrays(F, df1, df2)
    tail = (1 - prob) / 2
    ends = _noncentrality(F, df1, df2, 1 - tail), _noncentrality(F, df1, df2, tail)
    return _where(np.isfinite(F), *ends)


def _noncentrality(F: FloatArray, df1: FloatArray, df2: FloatArray, p: float) -> FloatArray:
    """Find by bisection where P(F' <= F) falls to p."""
    found = df1 * F * special.chdtri(df2, p) / df2  # the limit for a large noncentrality
    sought = np.isfinite(F) & (found < _LARGE_NONCENTRALITY)
    F, df1, df2 = (np.where(sought, x, 1.0) for x in (F, df1, df2))
    low, high = np.zeros_like(F), np.where(sought, 2 * (found + df1 + 10), 1e3)
    while (short := special.ncfdtr(df1, df2, high, F) > p).any():
        high = np.where(short, 2 * high, high)
    for _ in range(60):
        middle = (low + high) / 2
        above = special.ncfdtr(df1, df2, middle, F) > p
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    none = special.ncfdtr(df1, df2, 0.0, F) <= p
    return np.where(sought, np.where(none, 0.0, (low + high) / 2), found)


def _arrays(*values: ArrayLike) -> tuple[FloatArray, ...]:
    return tuple(np.asarray(x, dtype=np.float64) for x in np.broadcast_arrays(*values))


def _where(
    good: NDArray[np.bool_], low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    return np.where(good, low, np.nan), np.where(good, high, np.nan)
