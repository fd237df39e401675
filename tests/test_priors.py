"""Priors: densities, medians, draws and units, against SciPy's integrals and PyMC."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import integrate, stats

from bayesjudge.models import _declare
from bayesjudge.priors import MEAN_FAMILIES, SD_FAMILIES, Prior, widest

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
