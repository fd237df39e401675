"""The score scale of the ordinal model against quadrature, closed forms and simulation."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from bayesjudge.marginal.cumulative.score_scale import level_probabilities, score_scale
from bayesjudge.terms import TERMS

CDF = {"logit": special.expit, "probit": special.ndtr}
LINKS = list(CDF)
ROOT_TAU = math.sqrt(2 * math.pi)
SEVERAL_JUDGES = [TERMS.index(t) for t in ("judge", "scenario:judge", "generation:judge")]


def panel(judges, levels, spread, seed=0):
    """Thresholds by judge with offsets and stretches of their own, and scores unevenly apart."""
    rng = np.random.default_rng(seed)
    common = np.sort(rng.normal(0.4, 1.2, levels - 1)) * max(1.0, spread)
    stretch, offset = np.exp(rng.normal(0, 0.2, judges)), rng.normal(0, 0.6, judges)
    return stretch[:, None] * common - offset[:, None], np.cumsum(rng.uniform(0.3, 1.5, levels))


def draws(count, judges, levels, low, high, seed=0):
    """Random thresholds and standard deviations between low and high, one often far the lesser."""
    rng = np.random.default_rng(seed)
    s = np.exp(rng.uniform(np.log(low), np.log(high), count))
    angle = rng.uniform(0, np.pi / 2, count)
    angle[::3] *= 1e-3
    angle[1::3] = np.pi / 2 - 1e-3 * angle[1::3]
    width = np.maximum(1.0, s)[:, None, None]
    kappa = np.sort(rng.normal(0, 1, (count, judges, levels - 1)) * width, axis=-1)
    kappa += rng.normal(0, 0.5, (count, judges, 1))
    return kappa, s * np.cos(angle), s * np.sin(angle)


def one(kappa, sigma_scenario, sigma_generation, values, link):
    found = score_scale(
        kappa[None], np.array([sigma_scenario]), np.array([sigma_generation]), values, link
    )
    return found.mu[0], found.gamma[0], found.variance[0]


# By quadrature: the definitions, integrated by adaptive rules over b within adaptive rules over a.


def expectation(function, sigma, breaks):
    """E of a function of N(0, sigma²), with a hint of where it bends when that is sharp."""
    if sigma == 0:
        return function(0.0)
    reach = 8 * sigma
    return integrate.quad_vec(
        lambda x: function(x) * (math.exp(-0.5 * (x / sigma) ** 2) / (sigma * ROOT_TAU)),
        *(-reach, reach),
        epsabs=1e-8,
        epsrel=1e-8,
        norm="max",
        points=np.unique(np.clip(breaks, -reach, reach)) if sigma > 2 else None,
    )[0]


def by_quadrature(kappa, sigma_scenario, sigma_generation, values, link):
    steps, K = np.diff(values), len(kappa)

    def at_node(t):
        F = CDF[link](kappa - t)
        u = values[-1] - F @ steps
        second = values[-1] ** 2 - F @ np.diff(values**2)
        m = u.sum() / K
        own = u - m
        return np.array([*u, m**2, own @ own / K, (second - u * u).sum() / K])

    bends = np.quantile(kappa, [0, 0.5, 1])

    def at_scenario(a):
        *u, shared, own, v = expectation(lambda b: at_node(a + b), sigma_generation, bends - a)
        u, m = np.array(u), np.mean(u)
        eta = u - m  # with gamma
        within = [shared - m**2, own - np.mean(eta**2)]
        return np.concatenate([u, eta**2, [m**2, *within, v]])

    moments = expectation(at_scenario, sigma_scenario, bends)
    u, eta2, (m2, generation, cell, v) = moments[:K], moments[K:-4], moments[-4:]
    mu = u.mean()
    gamma = u - mu
    interaction = np.mean(eta2 - gamma**2)
    return mu, gamma, [m2 - mu**2, generation, np.mean(gamma**2), interaction, cell, v]


QUADRATURE = [
    ("logit", 1, 2, 1.0, 0.5),
    ("logit", 1, 10, 0.5, 1.0),
    ("logit", 2, 2, 3.0, 1.0),
    ("logit", 2, 3, 0.1, 3.0),
    ("logit", 2, 3, 8.0, 0.0),
    ("logit", 2, 10, 0.0, 8.0),
    ("logit", 5, 3, 1e-4, 0.5),
    ("logit", 5, 3, 3.0, 1e-4),
    ("logit", 5, 10, 0.5, 0.1),
    ("logit", 5, 19, 1.0, 0.5),
    ("logit", 2, 3, 8.0, 8.0),
    ("probit", 1, 2, 8.0, 3.0),
    ("probit", 2, 3, 0.5, 3.0),
    ("probit", 5, 10, 1.0, 1e-4),
    ("probit", 5, 19, 0.5, 0.1),
]


@pytest.mark.parametrize(("link", "judges", "levels", "scenario", "generation"), QUADRATURE)
def test_components_equal_nested_quadrature(link, judges, levels, scenario, generation):
    kappa, values = panel(judges, levels, max(scenario, generation))
    mu, gamma, variance = one(kappa, scenario, generation, values, link)
    expected_mu, expected_gamma, expected = by_quadrature(kappa, scenario, generation, values, link)
    total = np.sum(expected)
    assert variance == pytest.approx(expected, abs=1e-6 * total)
    assert variance.sum() == pytest.approx(total, rel=1e-6)
    assert mu == pytest.approx(expected_mu, abs=1e-6 * np.sqrt(total))
    assert gamma == pytest.approx(expected_gamma, abs=1e-6 * np.sqrt(total))


@pytest.mark.parametrize(("link", "levels"), [("logit", 2), ("logit", 10), ("probit", 3)])
@pytest.mark.parametrize("scenario", [0.0, 1e-4, 0.5, 3.0, 8.0])
def test_level_probabilities_equal_quadrature(link, levels, scenario):
    kappa, _ = panel(2, levels, scenario)
    found = level_probabilities(kappa[None], np.array([scenario]), np.array([0.7]), link)[0]

    def levels_at(t):
        return np.diff(CDF[link](kappa - t), axis=1, prepend=0.0, append=1.0)

    expected = expectation(levels_at, np.hypot(scenario, 0.7), kappa.ravel())
    assert found == pytest.approx(expected, abs=2e-8)


# In closed form: a probit threshold model cuts jointly normal variables.


def both_below(h, k, rho):
    """P(x < h, y < k) of two standard normal variables that correlate by rho (Owen, 1956)."""
    root = np.sqrt(1 - rho**2)
    half = 0.5 * ((h * k < 0) | ((h * k == 0) & (h + k < 0)))
    return (
        (special.ndtr(h) + special.ndtr(k)) / 2
        - special.owens_t(h, (k / h - rho) / root)
        - special.owens_t(k, (h / k - rho) / root)
        - half
    )


def by_owen(kappa, sigma_scenario, sigma_generation, values):
    """Panel mean and components of the probit model, from bivariate normal probabilities."""
    steps, K = np.diff(values), len(kappa)
    s2 = 1 + sigma_scenario**2 + sigma_generation**2
    h = kappa / np.sqrt(s2)
    P = special.ndtr(h)
    u = values[-1] - P @ steps
    first, second = h[:, :, None, None], h[None, None]
    product = P[:, :, None, None] * P[None, None]

    def covariance(rho):  # of the expected scores of two judges
        both = both_below(first, second, rho) - product
        return np.einsum("icjd,c,d->ij", both, steps, steps)

    between, everything = covariance(sigma_scenario**2 / s2), covariance((s2 - 1) / s2)
    center = np.eye(K) - 1 / K

    def parts(C):
        return C.mean(), np.trace(center @ C) / K

    (scenario, interaction), (shared, own) = parts(between), parts(everything)
    p = np.diff(P, axis=1, prepend=0.0, append=1.0)
    by_judge = p @ values**2 - u**2  # variance of each judge's scores
    residual = by_judge.mean() - shared - own
    judge = np.mean((u - u.mean()) ** 2)
    return u.mean(), [scenario, shared - scenario, judge, interaction, own - interaction, residual]


@pytest.mark.parametrize(("judges", "levels"), [(1, 2), (2, 3), (5, 10), (5, 19)])
def test_probit_equals_closed_form(judges, levels):
    values = panel(judges, levels, 1.0)[1]
    kappa, scenario, generation = draws(120, judges, levels, 0.03, 16.0)
    found = score_scale(kappa, scenario, generation, values, "probit")
    for d in range(len(kappa)):
        mu, expected = by_owen(kappa[d], scenario[d], generation[d], values)
        total = np.sum(expected)
        assert found.variance[d] == pytest.approx(expected, abs=2e-9 * total)
        assert found.mu[d] == pytest.approx(mu, abs=1e-9)


@pytest.mark.parametrize(("spread", "error"), [(20.0, 1e-6), (30.0, 1e-3), (50.0, 1e-2)])
def test_accuracy_beyond_the_largest_order_is_as_stated(spread, error):
    kappa, scenario, generation = draws(60, 2, 4, spread, spread * 1.0001)
    found = score_scale(kappa, scenario, generation, np.arange(4.0), "probit")
    for d in range(len(kappa)):
        expected = by_owen(kappa[d], scenario[d], generation[d], np.arange(4.0))[1]
        assert found.variance[d] == pytest.approx(expected, abs=error * np.sum(expected))


# By simulation: scores drawn from the model, and unbiased products of pairs of them.


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(
    ("levels", "scenario", "generation"), [(3, 2.5, 1.0), (10, 0.6, 1.5), (5, 6.0, 4.0)]
)
def test_components_agree_with_simulated_scores(link, levels, scenario, generation):
    n, K = 100_000, 3
    kappa, values = panel(K, levels, scenario, seed=5)
    rng = np.random.default_rng(levels)
    t = rng.normal(0, scenario, (n, 1)) + rng.normal(0, generation, (n, 2))
    F = [CDF[link](cuts - t[..., None]) for cuts in kappa]  # scenario, generation, cut
    level = np.stack([(rng.random((n, 2, 2, 1)) > f[:, :, None]).sum(-1) for f in F], axis=-1)
    x = values[level]  # scenario, generation, call, judge

    def errors(statistic, expected):  # in standard errors
        return (statistic.mean(0) - expected) / (statistic.std(0) / np.sqrt(n))

    mu, gamma, variance = one(kappa, scenario, generation, values, link)
    shared = x.mean(-1)
    own = x - shared[..., None] - gamma
    scenario_part = (shared[:, 0, 0] - mu) * (shared[:, 1, 0] - mu)
    interaction = (own[:, 0, 0] * own[:, 1, 0]).mean(-1)
    found = {
        "scenario": scenario_part,
        "generation": (shared[:, 0, 0] - mu) * (shared[:, 0, 1] - mu) - scenario_part,
        "scenario:judge": interaction,
        "generation:judge": (own[:, 0, 0] * own[:, 0, 1]).mean(-1) - interaction,
        "residual": np.mean((x[:, :, 0] - x[:, :, 1]) ** 2, axis=(1, 2)) / 2,
    }
    for term, statistic in found.items():
        assert abs(errors(statistic, variance[TERMS.index(term)])) < 4, term
    assert abs(errors(shared.mean((1, 2)), mu)) < 4
    assert np.all(np.abs(errors((x - shared[..., None]).mean((1, 2)), gamma)) < 4)
    total = variance[TERMS.index("judge")] - np.mean(gamma**2)
    assert total == pytest.approx(0, abs=1e-14)

    p = level_probabilities(kappa[None], np.array([scenario]), np.array([generation]), link)[0]
    for c in range(levels):
        assert np.all(np.abs(errors((level == c).mean((1, 2)), p[:, c])) < 4)


# What holds for all.


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("judges", "levels"), [(1, 3), (2, 2), (5, 19)])
def test_components_sum_to_the_variance_of_a_random_cell(link, judges, levels):
    values = panel(judges, levels, 1.0)[1]
    kappa, scenario, generation = draws(400, judges, levels, 1e-5, 14.0)
    scenario[:40], generation[20:60] = 0.0, 0.0
    found = score_scale(kappa, scenario, generation, values, link)
    p = level_probabilities(kappa, scenario, generation, link)
    assert np.all(p >= 0)
    assert p.sum(-1) == pytest.approx(1.0, abs=1e-14)
    p = p.mean(axis=1)  # the probit's are exact
    assert found.mu == pytest.approx(p @ values, rel=1e-9)
    center = values - (p @ values)[:, None]
    assert found.variance.sum(1) == pytest.approx(np.sum(p * center**2, axis=1), rel=1e-9)
    assert np.all(found.variance >= 0)
    assert found.gamma.sum(1) == pytest.approx(0, abs=1e-13)
    assert found.variance[:, 2] == pytest.approx(np.mean(found.gamma**2, axis=1), rel=1e-12)


@pytest.mark.parametrize("link", LINKS)
def test_an_effect_that_is_not_there_has_no_variance(link):
    kappa, values = panel(3, 4, 1.0)
    of_scenario, of_generation = [0, 3], [1, 4]
    assert not one(kappa, 0.0, 1.3, values, link)[2][of_scenario].any()
    assert not one(kappa, 1.3, 0.0, values, link)[2][of_generation].any()
    nothing = one(kappa, 0.0, 0.0, values, link)[2]
    assert not nothing[of_scenario + of_generation].any()
    assert nothing[-1] > 0
    for sigmas in [(0.4, 0.9), (5.0, 1e-4), (0.0, 0.0), (1e-4, 9.0)]:
        _, gamma, variance = one(kappa[:1], *sigmas, values, link)
        assert not gamma.any()
        assert not variance[SEVERAL_JUDGES].any()


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("spread", [0.2, 2.0, 6.0])
def test_a_tiny_effect_has_its_slope_times_its_variance(link, spread):
    # u(a + b) is u(a) + u'(a) b, so the generation component is sigma_b² E u'².
    kappa, values = np.array([[-1.0, 0.5, 2.0]]), np.arange(4.0)

    def slope2(t):
        F = CDF[link](kappa[0] - t)
        density = F * (1 - F) if link == "logit" else np.exp(-0.5 * (kappa[0] - t) ** 2) / ROOT_TAU
        return np.array([density.sum() ** 2])

    expected = 1e-8 * expectation(slope2, spread, kappa[0])[0]
    found = one(kappa, spread, 1e-4, values, link)[2][1]
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("link", LINKS)
def test_a_draw_does_not_depend_on_its_neighbours(link):
    kappa, scenario, generation = draws(700, 2, 5, 0.1, 6.0)
    values = np.arange(5.0)
    together = score_scale(kappa, scenario, generation, values, link)
    again = score_scale(kappa[::3], scenario[::3], generation[::3], values, link)
    for name in ("mu", "gamma", "variance"):
        assert np.array_equal(getattr(together, name)[::3], getattr(again, name))


@pytest.mark.parametrize("link", LINKS)
def test_levels_out_of_reach_are_left_out_and_nan_stays_nan(link):
    kappa = np.array([[[-np.inf, -800.0, 0.3, 900.0, np.inf]]] * 3)
    sigmas = np.array([1.0, np.nan, 60.0])
    found = score_scale(kappa, sigmas, np.ones(3), np.arange(6.0), link)
    two = score_scale(kappa[..., 2:3], sigmas, np.ones(3), np.array([2.0, 3.0]), link)
    p = level_probabilities(kappa, sigmas, np.ones(3), link)
    assert found.variance == pytest.approx(two.variance, rel=1e-12, nan_ok=True)
    assert found.mu == pytest.approx(two.mu, rel=1e-12, nan_ok=True)
    assert p[0, 0] == pytest.approx([0, 0, p[0, 0, 2], 1 - p[0, 0, 2], 0, 0], abs=1e-15)
    assert np.isnan(found.mu).tolist() == [False, True, False]
    assert np.isnan(found.variance[1, [0, 1, 5]]).all()


def test_no_draws_are_no_trouble():
    found = score_scale(np.empty((0, 2, 3)), np.empty(0), np.empty(0), np.arange(4.0), "logit")
    assert found.variance.shape == (0, 6)
    assert level_probabilities(np.empty((0, 2, 3)), np.empty(0), np.empty(0), "logit").size == 0


def test_what_does_not_fit_together_is_refused():
    kappa, sigma, values = np.zeros((2, 3, 1)), np.ones(2), np.arange(2.0)
    with pytest.raises(ValueError, match="cloglog"):
        score_scale(kappa, sigma, sigma, values, "cloglog")
    with pytest.raises(ValueError, match="cloglog"):
        level_probabilities(kappa, sigma, sigma, "cloglog")
    with pytest.raises(ValueError, match="match"):
        score_scale(kappa, np.ones(3), np.ones(3), values, "logit")
    with pytest.raises(ValueError, match="2 values"):
        score_scale(kappa, sigma, sigma, np.arange(3.0), "logit")
