r"""Classical intervals for variances, from mean squares and their degrees of freedom.

A mean square :math:`S_k` with :math:`\nu_k` degrees of freedom is :math:`E_k \chi^2_{\nu_k} /
\nu_k`, independent of the others. Every function takes numbers or arrays, broadcasts them, and
returns ends that are not cut at zero: a difference of mean squares can be negative, and so can the
ends of its interval. Where there is no interval, both ends are NaN.

Methods: Burdick and Graybill, *Confidence Intervals on Variance Components* (1992), and Ting,
Burdick, Graybill, Jeyaratnam and Lu (1990) for differences; Satterthwaite (1946); Weerahandi,
*Exact Statistical Methods for Data Analysis* (1995), for fixed effects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Callable

FloatArray = NDArray[np.float64]

# scipy's noncentral F loses its way at very large noncentralities. From here on the numerator
# varies by less than 0.1%, so that the chi-squared denominator alone makes the interval.
_LARGE_NONCENTRALITY = 1e7

# Above this ratio of sum of squares to error mean square, the Normal limit is as good.
_LARGE_TOTAL = 1e5

# Gauss-Legendre nodes on (0, 1), for averages over the quantiles of chi-squared.
_NODES, _WEIGHTS = special.roots_sh_legendre(32)

_HALVINGS = 36

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
    Ting et al. (1990), with two mean squares; Burdick and Graybill (1992), chapter 3.
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


def fixed_effects_interval(
    mean_square: ArrayLike,
    df: ArrayLike,
    error: ArrayLike,
    df_error: ArrayLike,
    prob: float = 0.95,
) -> tuple[FloatArray, FloatArray]:
    r"""Interval for the sum of squares of fixed effects behind a mean square.

    Parameters
    ----------
    mean_square, df : array_like
        A mean square (score²) and its degrees of freedom: :math:`\nu_1 S_1 / E` is noncentral
        chi-squared with noncentrality :math:`Q / E`, and Q is what the interval is for.
    error, df_error : array_like
        The mean square of expectation E, and its degrees of freedom.
    prob : float
        Probability, with equal tails.

    Returns
    -------
    low, high : float array
        Ends for Q (score²), not below zero. NaN where the error mean square is zero.

    Notes
    -----
    A generalized confidence interval (Weerahandi, 1995): E is averaged over :math:`\nu_2 S_2 /
    \chi^2_{\nu_2}`. Inverting the noncentral F instead and multiplying by :math:`S_2` counts the
    uncertainty of E as if it moved the effects. That covers 100% rather than 95%, and is several
    times too wide, where effects are large and error df few (3 judges, 10 scenarios).
    """
    S1, nu1, S2, nu2 = _arrays(mean_square, df, error, df_error)
    good = S2 > 0
    S1, S2 = np.where(good, S1, 1.0), np.where(good, S2, 1.0)
    tail = (1 - prob) / 2
    ends = (S2 * _effects(nu1 * S1 / S2, nu1, nu2, p) for p in (1 - tail, tail))
    return _where(good, *ends)


def _effects(total: FloatArray, df: FloatArray, df_error: FloatArray, p: float) -> FloatArray:
    """Find the Q at which P(sum of squares <= total) is p, in units of the error mean square."""
    # With large effects the root of the sum of squares is Normal: a t interval.
    limit = np.sqrt(np.maximum(total - df + 1, 0)) - special.stdtrit(df_error, p)
    sought = total < _LARGE_TOTAL
    total = np.where(sought, total, 1.0)
    W = special.chdtri(df_error[..., None], 1 - _NODES) / df_error[..., None]

    def below(Q: FloatArray) -> FloatArray:
        scaled = total[..., None] * W, df[..., None], Q[..., None] * W
        return np.asarray((special.chndtr(*scaled) * _WEIGHTS).sum(axis=-1))

    found = _falls_to(below, p, start=2 * total + 10)
    return np.where(sought, found, np.maximum(limit, 0) ** 2)


def _noncentrality(F: FloatArray, df1: FloatArray, df2: FloatArray, p: float) -> FloatArray:
    """Find the noncentrality at which P(F' <= F) is p."""
    limit = df1 * F * special.chdtri(df2, p) / df2
    sought = np.isfinite(F) & (limit < _LARGE_NONCENTRALITY)
    F = np.where(sought, F, 1.0)
    found = _falls_to(lambda x: special.ncfdtr(df1, df2, x, F), p, start=2 * df1 * F + 10)
    return np.where(sought, found, limit)


def _falls_to(
    function: Callable[[FloatArray], FloatArray], p: float, start: FloatArray
) -> FloatArray:
    """Find by bisection where a falling function is p; zero where it starts below."""
    low, high = np.zeros_like(start), start
    none = function(low) <= p
    while (short := function(high) > p).any():
        high = np.where(short, 2 * high, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = function(middle) > p
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(none, 0.0, (low + high) / 2)


def _arrays(*values: ArrayLike) -> tuple[FloatArray, ...]:
    return tuple(np.asarray(x, dtype=np.float64) for x in np.broadcast_arrays(*values))


def _where(
    good: NDArray[np.bool_], low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    return np.where(good, low, np.nan), np.where(good, high, np.nan)
