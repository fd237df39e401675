"""Intervals against scipy's distributions, their limits, and their coverage by simulation."""

import numpy as np
import pytest
from scipy import integrate, stats

from bayesjudge.estimates import intervals
from bayesjudge.estimates.intervals import (
    chi2_interval,
    fixed_effects_interval,
    modified_large_sample,
    noncentral_f_interval,
    satterthwaite,
)

DRAWS = 20_000


def misses(ends, truth):
    """Share of intervals above and below the truth; one that does not exist misses below."""
    low, high = (np.maximum(end, 0) for end in ends)
    return np.mean(low > truth), np.mean(~(high >= truth))


def mean_squares(rng, expected, df, size=DRAWS):
    return [e * rng.chisquare(nu, size) / nu for e, nu in zip(expected, df, strict=True)]


def test_one_mean_square_is_exact_chi_squared():
    low, high = chi2_interval(2.0, 10, 0.9)
    assert low == pytest.approx(20 / stats.chi2.ppf(0.95, 10))
    assert high == pytest.approx(20 / stats.chi2.ppf(0.05, 10))


def test_one_mean_square_covers():
    (ms,) = mean_squares(np.random.default_rng(1), [3.0], [6])
    assert misses(chi2_interval(ms, 6), 3.0) == pytest.approx((0.025, 0.025), abs=0.004)


# 20 scenarios x 3 generations x 4 judges: df of scenario, generation, scenario:judge, rest.
SCENARIO, GENERATION, INTERACTION, REST = 19, 40, 57, 120
CASES = {
    "scenario": ((1.0 + 4 * 0.2 + 12 * 0.5, SCENARIO), (1.0 + 4 * 0.2, GENERATION)),
    "generation": ((1.0 + 4 * 0.2, GENERATION), (1.0, REST)),
    "interaction": ((1.0 + 3 * 0.3, INTERACTION), (1.0, REST)),
    "small scenario": ((1.8 + 12 * 0.02, SCENARIO), (1.8, GENERATION)),
    "few df": ((1.0 + 6 * 0.5, 9), (1.0, 10)),
}


@pytest.mark.parametrize("case", CASES)
def test_modified_large_sample_covers(case):
    (e1, df1), (e2, df2) = CASES[case]
    first, second = mean_squares(np.random.default_rng(2), (e1, e2), (df1, df2))
    above, below = misses(modified_large_sample(first, df1, second, df2), e1 - e2)
    assert above == pytest.approx(0.025, abs=0.006)
    assert below == pytest.approx(0.025, abs=0.006)


@pytest.mark.parametrize("case", ["scenario", "interaction"])
def test_satterthwaite_covers_where_the_component_is_not_small(case):
    (e1, df1), (e2, df2) = CASES[case]
    first, second = mean_squares(np.random.default_rng(3), (e1, e2), (df1, df2))
    assert sum(misses(satterthwaite(first, df1, second, df2), e1 - e2)) == pytest.approx(
        0.05, abs=0.02
    )


def test_satterthwaite_is_worse_than_modified_large_sample_where_it_is_small():
    (e1, df1), (e2, df2) = CASES["small scenario"]
    first, second = mean_squares(np.random.default_rng(4), (e1, e2), (df1, df2))
    assert sum(misses(satterthwaite(first, df1, second, df2), e1 - e2)) > 0.15


@pytest.mark.parametrize("prob", [0.8, 0.95])
def test_modified_large_sample_is_exact_where_one_mean_square_is_zero(prob):
    exact = np.array(chi2_interval(3.0, 7, prob))
    assert np.array(modified_large_sample(3.0, 7, 0.0, 9, prob)) == pytest.approx(exact)
    negative = np.array(modified_large_sample(0.0, 9, 3.0, 7, prob))
    assert -negative[::-1] == pytest.approx(exact)


@pytest.mark.parametrize("tail", [0.025, 0.975])
def test_modified_large_sample_agrees_with_the_f_test(tail):
    """An end is zero where the ratio of the mean squares is the quantile of F."""
    ratio = stats.f.ppf(1 - tail, 5, 12)
    ends = modified_large_sample(ratio, 5, 1.0, 12)
    assert ends[0 if tail < 0.5 else 1] == pytest.approx(0, abs=1e-6)


def test_satterthwaite_is_chi_squared_where_the_second_mean_square_is_zero():
    exact = np.array(chi2_interval(3.0, 7))
    assert np.array(satterthwaite(3.0, 7, 0.0, 9)) == pytest.approx(exact)


def test_where_there_is_no_interval():
    for ends in (
        chi2_interval(0.0, 3),
        satterthwaite([1.0, 1.0, 1.0001], 3, [1.0, 2.0, 1.0], 5),
        modified_large_sample(0.0, 3, 0.0, 5),
        noncentral_f_interval([np.inf, np.nan], 2, 9),
        fixed_effects_interval([2.0, 0.0], 2, 0.0, 9),
    ):
        assert np.isnan(ends).all()


@pytest.mark.parametrize(("F", "df1", "df2"), [(5.0, 2, 18), (638.2, 4, 3196), (1280.1, 4, 996)])
def test_noncentrality_inverts_the_noncentral_f(F, df1, df2):
    low, high = noncentral_f_interval(F, df1, df2)
    assert stats.ncf.cdf(F, df1, df2, low) == pytest.approx(0.975, abs=1e-8)
    assert stats.ncf.cdf(F, df1, df2, high) == pytest.approx(0.025, abs=1e-8)


def test_noncentrality_is_zero_where_f_is_small():
    low, high = noncentral_f_interval([0.01, 1.0], 4, 20)
    assert low.tolist() == [0, 0]
    assert high[0] == 0
    assert stats.ncf.cdf(1.0, 4, 20, high[1]) == pytest.approx(0.025, abs=1e-8)


def test_noncentrality_covers():
    rng = np.random.default_rng(5)
    for truth in (0.5, 20.0):
        F = stats.ncf.rvs(3, 57, truth, size=4000, random_state=rng)
        low, high = noncentral_f_interval(F, 3, 57)
        assert np.mean((low <= truth) & (truth <= high)) == pytest.approx(0.95, abs=0.012)


@pytest.mark.parametrize("df_error", [3, 30, 3000])
def test_very_large_noncentralities_follow_their_limit(df_error, monkeypatch):
    exact = np.array(noncentral_f_interval(1e6, 4, df_error))
    monkeypatch.setattr(intervals, "_LARGE_NONCENTRALITY", 1.0)
    assert np.array(noncentral_f_interval(1e6, 4, df_error)) == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize(("total", "df", "df_error"), [(12.0, 2, 6), (60.0, 4, 57), (0.2, 4, 9)])
def test_fixed_effects_average_the_noncentral_chi_squared(total, df, df_error):
    """The probability that defines the ends, by adaptive quadrature over the error variance."""
    e = 1.7
    for end, p in zip(
        fixed_effects_interval(e * total / df, df, e, df_error), (0.975, 0.025), strict=True
    ):

        def at(w, end=end):
            inside = stats.ncx2.cdf(total * w / df_error, df, end / e * w / df_error)
            return inside * stats.chi2.pdf(w, df_error)

        value = integrate.quad(at, 0, stats.chi2.isf(1e-12, df_error), epsabs=1e-10)[0]
        assert value == pytest.approx(p, abs=1e-4) or (end == 0 and value < p)


@pytest.mark.parametrize(("df", "df_error"), [(1, 5), (2, 18), (3, 57)])
@pytest.mark.parametrize("truth", [2.0, 50.0, 400.0])
def test_fixed_effects_cover_with_few_degrees_of_freedom(df, df_error, truth):
    rng = np.random.default_rng(6)
    error = 2.0 * rng.chisquare(df_error, 1500) / df_error
    total = 2.0 * rng.noncentral_chisquare(df, truth / 2.0, 1500)
    above, below = misses(fixed_effects_interval(total / df, df, error, df_error), truth)
    assert above + below == pytest.approx(0.05, abs=0.018)
    assert max(above, below) < 0.05


def test_the_noncentral_f_is_too_wide_for_fixed_effects():
    """Why it isn't used: times the error mean square, it hardly ever misses large effects."""
    rng = np.random.default_rng(7)
    error = rng.chisquare(18, 500) / 18
    total = rng.noncentral_chisquare(2, 500.0, 500)
    by_f = [end * error for end in noncentral_f_interval(total / 2 / error, 2, 18)]
    ours = fixed_effects_interval(total / 2, 2, error, 18)
    assert sum(misses(by_f, 500.0)) < 0.002
    assert np.median(by_f[1] - by_f[0]) > 3 * np.median(ours[1] - ours[0])


@pytest.mark.parametrize("df_error", [2, 60])
def test_very_large_effects_follow_their_limit(df_error, monkeypatch):
    exact = np.array(fixed_effects_interval(2e4, 4, 1.0, df_error))
    monkeypatch.setattr(intervals, "_LARGE_TOTAL", 1.0)
    limit = np.array(fixed_effects_interval(2e4, 4, 1.0, df_error))
    assert limit == pytest.approx(exact, abs=0.015 * (exact[1] - exact[0]))


def test_scale_and_shape():
    low, high = fixed_effects_interval([[4.0, 9.0]], 3, [[1.0], [2.0]], 30, prob=0.8)
    assert low.shape == high.shape == (2, 2)
    scaled = fixed_effects_interval([[40.0, 90.0]], 3, [[10.0], [20.0]], 30, prob=0.8)
    assert np.array(scaled) == pytest.approx(10 * np.array([low, high]))
    assert np.all(low <= high)
