"""Priors: densities, medians, draws and units, against SciPy's integrals and PyMC."""

from itertools import pairwise

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import integrate, special, stats

from bayesjudge.models import _declare
from bayesjudge.priors import (
    MEAN_FAMILIES,
    SD_FAMILIES,
    THRESHOLD_FAMILIES,
    ZERO_SUM_FAMILIES,
    Prior,
    induced_dirichlet_logpdf,
    widest,
)

SD = {
    "HalfNormal": Prior("HalfNormal", {"sigma": 0.7}),
    "HalfStudentT": Prior("HalfStudentT", {"nu": 4.0, "sigma": 0.6}),
    "HalfCauchy": Prior("HalfCauchy", {"beta": 0.4}),
    "Exponential": Prior("Exponential", {"scale": 0.8}),
    "Gamma": Prior("Gamma", {"alpha": 2.5, "beta": 3.0}),
    "InverseGamma": Prior("InverseGamma", {"alpha": 3.0, "beta": 1.4}),
    "Weibull": Prior("Weibull", {"alpha": 1.6, "beta": 0.9}),
    "LogNormal": Prior("LogNormal", {"mu": -0.6, "sigma": 0.8}),
}
MEAN = Prior("Normal", {"mu": 0.5, "sigma": 0.25})
ALL = SD | {"Normal": MEAN}
JOINT = {
    "ZeroSumNormal": Prior("ZeroSumNormal", {"sigma": 2.0}),
    "InducedDirichlet": Prior("InducedDirichlet", {"total": 0.5}),
}
X = np.array([1e-4, 0.03, 0.2, 0.7, 1.5, 4.0, 30.0])


def integral(prior, low, high):
    return integrate.quad(lambda x: float(np.exp(prior.logpdf(x))), low, high, limit=200)[0]


def test_every_family_has_a_prior_in_these_tests():
    assert SD.keys() == SD_FAMILIES.keys()
    assert {MEAN.dist} == MEAN_FAMILIES.keys()
    for name, prior in ALL.items():
        assert set(prior.kwargs) == set((SD_FAMILIES | MEAN_FAMILIES)[name].parameters)


@pytest.mark.parametrize("name", SD)
def test_the_density_integrates_to_one_over_positive_numbers(name):
    middle = SD[name].median()
    parts = [(0, middle), (middle, 10 * middle), (10 * middle, np.inf)]
    assert sum(integral(SD[name], *part) for part in parts) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", SD)
def test_no_density_below_zero(name):
    assert np.all(SD[name].logpdf([-1e-9, -0.5, -3.0]) == -np.inf)


@pytest.mark.parametrize("name", SD)
def test_half_the_probability_is_below_the_median(name):
    assert integral(SD[name], 0, SD[name].median()) == pytest.approx(0.5, abs=1e-7)


def test_the_median_of_the_mean_is_its_centre():
    assert MEAN.median() == 0.5


@pytest.mark.parametrize("name", ALL)
def test_draws_follow_the_density(name):
    prior = ALL[name]
    x = prior.draw(2_000, np.random.default_rng(11))
    start = -1.0 if name == "Normal" else 1e-6
    grid = np.r_[np.linspace(start, 5, 50_000), np.geomspace(5.001, x.max() + 6, 10_000)]
    density = np.exp(prior.logpdf(grid))
    cdf = integrate.cumulative_simpson(density, x=grid, initial=0)
    assert stats.ks_1samp(x, lambda q: np.interp(q, grid, cdf)).pvalue > 0.01


@pytest.mark.parametrize("name", ALL)
def test_draws_have_the_shape_asked_for_and_repeat_with_their_seed(name):
    one, two = (ALL[name].draw((3, 4), np.random.default_rng(5)) for _ in range(2))
    assert one.shape == (3, 4)
    np.testing.assert_array_equal(one, two)
    assert name == "Normal" or (one > 0).all()


@pytest.mark.parametrize("unit", [1e-3, 0.5, 1.0, 9.0, 1e4])
@pytest.mark.parametrize("name", ALL)
def test_a_prior_in_other_units_is_that_of_the_multiple(name, unit):
    prior = ALL[name]
    scaled = prior.scaled(unit)
    assert scaled.dist == prior.dist
    np.testing.assert_allclose(
        scaled.logpdf(unit * X) + np.log(unit), prior.logpdf(X), rtol=1e-9, atol=1e-9
    )
    assert scaled.median() == pytest.approx(unit * prior.median(), rel=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_there_and_back_is_the_same_prior(name):
    back = ALL[name].scaled(9.0).scaled(1 / 9.0)
    assert back.kwargs == pytest.approx(ALL[name].kwargs)


def test_scaling_leaves_the_prior_itself_alone():
    MEAN.scaled(9.0).shifted(1.0)
    assert MEAN.kwargs == {"mu": 0.5, "sigma": 0.25}
    assert MEAN.scaled(9.0).shifted(1.0) == Prior("Normal", {"mu": 5.5, "sigma": 2.25})


def test_pymc_means_the_same_by_the_same_names():
    # as arrays: PyTensor rounds plain numbers to single precision where that looks enough
    named = [
        getattr(pm, prior.dist).dist(**{key: np.array(x) for key, x in prior.kwargs.items()})
        for prior in ALL.values()
    ]
    outputs = [pm.logp(rv, pt.constant(X)) for rv in named]
    found = pytensor.function([], outputs, mode="FAST_COMPILE")()
    for prior, density in zip(ALL.values(), found, strict=True):
        np.testing.assert_allclose(density, prior.logpdf(X), rtol=1e-8, atol=1e-8)


def test_the_fitted_model_knows_every_family():
    # by draws, whatever variable the sampler moves: two of each, one of them in other units
    with pm.Model():
        declared = [_declare(name, [prior, prior.scaled(3.0)]) for name, prior in SD.items()]
    draws = pm.draw(declared, 2_000, random_seed=12, mode="FAST_COMPILE")
    rng = np.random.default_rng(13)
    for prior, x in zip(SD.values(), draws, strict=True):
        for k, own in enumerate([prior, prior.scaled(3.0)]):
            assert stats.ks_2samp(x[:, k], own.draw(4_000, rng)).pvalue > 0.002, own


def test_the_widest_prior_has_the_largest_median_whatever_its_family():
    assert widest([SD["HalfNormal"], SD["Exponential"].scaled(9.0), SD["Gamma"]]) == SD[
        "Exponential"
    ].scaled(9.0)
    narrow, wide = (Prior("HalfNormal", {"sigma": sigma}) for sigma in (0.125, 0.2))
    assert widest([narrow, wide]) == widest([wide, narrow]) == wide


def test_a_prior_is_written_as_in_a_paper():
    assert str(SD["HalfNormal"].scaled(9)) == "HalfNormal(sigma=6.3)"
    assert str(MEAN) == "Normal(mu=0.5, sigma=0.25)"
    assert str(JOINT["ZeroSumNormal"]) == "ZeroSumNormal(sigma=2)"
    assert str(JOINT["InducedDirichlet"]) == "InducedDirichlet(total=0.5)"


@pytest.mark.parametrize("name", JOINT)
def test_a_joint_prior_is_a_value_that_refuses_what_is_asked_of_one_quantity(name):
    prior = JOINT[name]
    assert set(prior.kwargs) == set((ZERO_SUM_FAMILIES | THRESHOLD_FAMILIES)[name].parameters)
    assert prior == Prior(name, dict(prior.kwargs))
    rng = np.random.default_rng(1)
    for ask in (
        lambda: prior.logpdf(1.0),
        prior.median,
        lambda: prior.scaled(2.0),
        lambda: prior.draw(3, rng),
    ):
        with pytest.raises(TypeError, match=f"{name}.* is no prior of one quantity.*HalfNormal"):
            ask()


CDF = {"logit": special.expit, "probit": special.ndtr}
LINKS = list(CDF)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("concentration", [0.4, 1.0, 2.5])
@pytest.mark.parametrize("levels", [2, 3, 4, 7])
def test_the_density_of_thresholds_is_a_change_of_variables(link, concentration, levels):
    k = np.sort(np.random.default_rng(levels).normal(0, 1.2, levels - 1))

    def probabilities(k):
        return np.diff(CDF[link](k), prepend=0.0, append=1.0)

    step, columns = 1e-6, np.eye(levels - 1)
    jacobian = [
        (probabilities(k + step * e) - probabilities(k - step * e))[:-1] / (2 * step)
        for e in columns
    ]
    dirichlet = stats.dirichlet(np.full(levels, concentration))
    expected = dirichlet.logpdf(probabilities(k)) + np.linalg.slogdet(np.array(jacobian))[1]
    found = induced_dirichlet_logpdf(k, concentration, link)
    assert found == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("concentration", [0.7, 1.0, 3.0])
def test_the_density_of_thresholds_integrates_to_one(link, concentration):
    def density(*k):
        return float(np.exp(induced_dirichlet_logpdf(k, concentration, link)))

    assert integrate.quad(density, -60, 60, points=[0])[0] == pytest.approx(1, abs=1e-6)
    # Over both of two thresholds: the lower one, and the log of the distance to the upper one.
    lower, log_gap = np.linspace(-50, 25, 601), np.linspace(-25, 5, 401)
    k = np.stack(np.broadcast_arrays(lower[:, None], lower[:, None] + np.exp(log_gap)), axis=-1)
    values = np.exp(induced_dirichlet_logpdf(k, concentration, link) + log_gap)
    total = integrate.simpson(integrate.simpson(values, x=log_gap), x=lower)
    assert total == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("link", LINKS)
def test_thresholds_of_any_number_of_draws_at_once(link):
    k = np.sort(np.random.default_rng(3).normal(0, 1, (2, 5, 3)), axis=-1)
    found = induced_dirichlet_logpdf(k, 0.5, link)
    assert found.shape == (2, 5)
    one_by_one = [[induced_dirichlet_logpdf(row, 0.5, link) for row in block] for block in k]
    np.testing.assert_allclose(found, one_by_one, rtol=1e-13)


def log_density(x, link):
    if link == "logit":
        return -np.abs(x) - 2 * np.log1p(np.exp(-np.abs(x)))
    return -0.5 * x**2 - 0.5 * np.log(2 * np.pi)


def log_probability(low, high, link):
    """Log of the integral of the density, by quadrature on short pieces."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    ends = np.linspace(max(low, -110), min(high, 110), 500)
    half = np.diff(ends)[:, None] / 2
    x = ends[:-1, None] + half * (1 + nodes)
    return special.logsumexp(log_density(x, link), b=half * weights)


@pytest.mark.parametrize(
    "k", [[-40.0, 0.0, 40.0], [38.0, 39.0, 40.0], [-40.0, -39.0, -38.0], [39.99, 40.0], [-40.0]]
)
@pytest.mark.parametrize("link", LINKS)
def test_thresholds_far_out_keep_their_density(link, k):
    edges, n, a = [-np.inf, *k, np.inf], len(k) + 1, 2.5
    log_p = [log_probability(*pair, link) for pair in pairwise(edges)]
    expected = special.gammaln(n * a) - n * special.gammaln(a) + (a - 1) * sum(log_p)
    expected += log_density(np.array(k), link).sum()
    assert induced_dirichlet_logpdf(k, a, link) == pytest.approx(expected, rel=1e-10)
    # The other way round, the levels are read from the other end.
    mirrored = induced_dirichlet_logpdf([-x for x in reversed(k)], a, link)
    assert mirrored == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("concentration", [0.5, 1.0, 2.0])
def test_thresholds_that_do_not_ascend_have_no_density(link, concentration):
    k = [[0.0, 0.0], [1.0, 0.5], [-0.5, 0.5]]
    found = induced_dirichlet_logpdf(k, concentration, link)
    assert list(np.isfinite(found)) == [False, False, True]
    assert found[0] == found[1] == -np.inf
    closest = [1.0, np.nextafter(1.0, 2.0)]
    assert np.isfinite(induced_dirichlet_logpdf(closest, concentration, link))
