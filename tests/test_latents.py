"""Conditional draws of scenario and generation effects of ordinal fits."""

import numpy as np
import pytest
from ordinal_panels import draw_panel
from plain_ordinal import plain_model
from scipy import stats
from scipy.interpolate import CubicSpline
from scipy.special import expit, ndtr
from unsampled_fits import linear_fit, ordinal_fit

import bayesjudge as bj
from bayesjudge.design.cells import cells_by_model
from bayesjudge.errors import FitError
from bayesjudge.levels import levels_of
from bayesjudge.marginal.cumulative.latents import ballots, draw_effects
from bayesjudge.marginal.cumulative.lattice import LOGIT, PROBIT
from bayesjudge.posterior.effects import calls_of
from bayesjudge.posterior.ordinal_parameters import parameters_of

CDF = {LOGIT: expit, PROBIT: ndtr}
THRESHOLDS = np.array([-2.0, -0.5, 1.2])
OFFSETS = np.array([-0.6, 0.1, 0.5])
EVEN = (np.arange(2000) + 0.5) / 2000  # draws at these are as good as their distribution


def table(frame):
    """Cells and levels of one evaluated model whose levels are 1, 2, ..."""
    scores = bj.read_scores(frame)
    (cells,) = cells_by_model(scores.calls, 1)
    return cells, (cells.score - 1).astype(np.int64)


def unbalanced():
    frame = draw_panel(
        *(5, 3, 3),
        thresholds=THRESHOLDS,
        sigma_scenario=1.2,
        sigma_generation=0.8,
        offsets=OFFSETS,
        seed=1,
    )
    return table(frame.drop(frame.index[[3, 40, 41, 42, 12]]))


def draw(cells, levels, sigma, link, of_scenarios, of_generations, thresholds=None):
    """Effects at given values of the distribution function, the same for all."""
    own = THRESHOLDS - OFFSETS[:, None] if thresholds is None else thresholds
    draws = len(of_scenarios)
    uniform = np.hstack(
        [
            np.repeat(of_scenarios[:, None], cells.n_scenarios, axis=1),
            np.repeat(of_generations[:, None], cells.n_generations, axis=1),
        ]
    )
    return draw_effects(
        np.repeat(own[None], draws, axis=0),
        np.repeat([sigma], draws, axis=0),
        ballots(cells, levels),
        link,
        uniform,
    )


class Quadrature:
    """The same distributions on dense grids, one ballot after the other."""

    def __init__(self, cells, levels, sigma, link, thresholds=None):
        own = THRESHOLDS - OFFSETS[:, None] if thresholds is None else thresholds
        ends = np.full((len(own), 1), np.inf)
        self.thresholds = np.hstack([-ends, own, ends])
        self.cells, self.levels, self.cdf = cells, levels, CDF[link]
        fine, coarse = np.linspace(-9, 9, 601), np.linspace(-9, 9, 301)
        self.a, self.b, self.fine_b = sigma[0] * fine, sigma[1] * coarse, sigma[1] * fine
        self.of_a, self.of_b = stats.norm.pdf(fine), stats.norm.pdf(coarse)

    def likelihood(self, generation, effect):
        found = np.ones_like(effect)
        for call in np.flatnonzero(self.cells.generation == generation):
            cuts = self.thresholds[self.cells.judge_ids[self.cells.judge[call]]]
            low, high = cuts[self.levels[call]], cuts[self.levels[call] + 1]
            # Differences in the upper tail are those of the lower one, where digits are kept.
            turn = low > effect
            found *= np.where(
                turn,
                self.cdf(effect - low) - self.cdf(effect - high),
                self.cdf(high - effect) - self.cdf(low - effect),
            )
        return found

    def of_scenario(self, scenario):
        density = self.of_a.copy()
        for generation in np.unique(self.cells.generation[self.cells.scenario == scenario]):
            both = self.likelihood(generation, self.a[:, None] + self.b)
            density *= both @ self.of_b
        return self.a, density

    def of_generation(self, generation, scenario_effect):
        density = self.of_a * self.likelihood(generation, scenario_effect + self.fine_b)
        return self.fine_b, density


def moments(grid, density):
    share = density / density.sum()
    mean = share @ grid
    return mean, np.sqrt(share @ (grid - mean) ** 2)


def assert_distribution(draws, at, grid, density):
    """Draws at values `at` of the distribution function of a density that is known on a grid."""
    unit = grid[1] - grid[0]
    cumulative = CubicSpline(grid / unit, density / density.sum()).antiderivative()
    np.testing.assert_allclose(cumulative(draws / unit), at, atol=3e-4)
    mean, sd = moments(grid, density)
    assert abs(draws.mean() - mean) < 2 / len(draws) * sd
    assert draws.std() == pytest.approx(sd, rel=4 / len(draws))


SIGMAS = [(1.2, 0.8), (3.0, 0.05), (0.1, 2.5), (0.5, 1e-6), (1e-5, 0.6)]


@pytest.mark.parametrize("link", CDF)
@pytest.mark.parametrize("sigma", SIGMAS)
def test_effects_have_the_distributions_that_quadrature_gives(link, sigma):
    cells, levels = unbalanced()
    truth = Quadrature(cells, levels, sigma, link)
    alpha, _ = draw(cells, levels, sigma, link, EVEN, EVEN)
    for scenario in range(cells.n_scenarios):
        assert_distribution(alpha[:, scenario], EVEN, *truth.of_scenario(scenario))
    # With scenario effects held still, generation effects given them are seen.
    alpha, beta = draw(cells, levels, sigma, link, np.full(len(EVEN), 0.2), EVEN)
    assert (alpha == alpha[0]).all()
    for generation, scenario in enumerate(cells.generation_scenario):
        expected = truth.of_generation(generation, alpha[0, scenario])
        assert_distribution(beta[:, generation], EVEN, *expected)


@pytest.mark.parametrize("link", CDF)
@pytest.mark.parametrize("sigma", [(1.0, 4.0), (3.0, 1.5)])
def test_effects_are_right_where_all_judges_give_the_highest_level_or_disagree(link, sigma):
    K, few = 12, EVEN[2::5]
    frame = draw_panel(
        *(3, 2, K),
        thresholds=[0.0, 1.0, 2.0],
        sigma_scenario=1,
        sigma_generation=1,
        offsets=[0] * K,
    )
    frame["score"] = np.where(frame["scenario"] == 1, 4, np.where(frame["scenario"] == 2, 1, 2))
    apart = (frame["scenario"] == 3) & (frame["generation"] == 1)
    frame.loc[apart, "score"] = np.where(frame.loc[apart, "judge"].str.len() > 7, 1, 4)
    cells, levels = table(frame)
    own = np.repeat([[-1.0, 0.3, 2.0]], K, axis=0)
    truth = Quadrature(cells, levels, sigma, link, own)
    alpha, _ = draw(cells, levels, sigma, link, few, few, own)
    for scenario in range(3):
        assert_distribution(alpha[:, scenario], few, *truth.of_scenario(scenario))
    alpha, beta = draw(cells, levels, sigma, link, np.full(len(few), 0.9), few, own)
    for generation, scenario in enumerate(cells.generation_scenario):
        expected = truth.of_generation(generation, alpha[0, scenario])
        assert_distribution(beta[:, generation], few, *expected)


def test_effects_without_variance_are_zero():
    cells, levels = unbalanced()
    alpha, beta = draw(cells, levels, (0.0, 0.8), LOGIT, EVEN[:2], EVEN[:2])
    assert not alpha.any()
    assert beta.all()
    alpha, beta = draw(cells, levels, (0.8, 0.0), LOGIT, EVEN[:2], EVEN[:2])
    assert alpha.all()
    assert not beta.any()


@pytest.mark.parametrize("link", CDF)
def test_ranks_of_true_effects_among_draws_are_uniform(link):
    rng = np.random.default_rng(7)
    n, m, K, draws = 500, 2, 3, 99
    sigma = np.array([1.1, 0.9])
    alpha, beta = rng.normal(0, sigma[0], n), rng.normal(0, sigma[1], (n, m))
    noise = (rng.logistic if link == LOGIT else rng.normal)(size=(n, m, K))
    latent = alpha[:, None, None] + beta[..., None] + OFFSETS + noise
    frame = draw_panel(
        n, m, K, thresholds=THRESHOLDS, sigma_scenario=1, sigma_generation=1, offsets=OFFSETS
    )
    frame["score"] = 1 + (latent[..., None] > THRESHOLDS).sum(axis=-1).ravel()
    cells, levels = table(frame)
    a, b = draw_effects(
        np.repeat([THRESHOLDS - OFFSETS[:, None]], draws, axis=0),
        np.repeat([sigma], draws, axis=0),
        ballots(cells, levels),
        link,
        rng.random((draws, n + n * m)),
    )
    b = b.reshape(draws, n, m)
    ranks = {
        "scenario": (a < alpha).sum(axis=0),
        "generation": (b < beta).sum(axis=0)[:, 0],
        "both": (a + b[..., 1] < alpha + beta[:, 1]).sum(axis=0),
        "difference": (b[..., 0] - b[..., 1] < beta[:, 0] - beta[:, 1]).sum(axis=0),
    }
    for name, rank in ranks.items():
        counts = np.bincount(rank // 10, minlength=10)
        assert stats.chisquare(counts).pvalue > 1e-3, name


SETTING = {"thresholds": THRESHOLDS, "sigma_scenario": 1.2, "sigma_generation": 0.8}


def two_models(m=2, K=3):
    return draw_panel(6, m, K, **SETTING, offsets=OFFSETS[:K], models=("A", "B"))


class TestOfFits:
    @pytest.mark.parametrize("model", ["ordinal", "ordinal_probit", "ordinal_judge_scale"])
    def test_there_is_a_draw_of_each_effect_for_each_draw(self, model):
        frame = two_models()
        frame = frame[~((frame["model"] == "B") & (frame["scenario"] == 3))]
        tree = ordinal_fit(bj.read_scores(frame), model, draws=8)
        found = bj.effects(tree, seed=2)
        assert set(found.data_vars) == {"alpha", "beta"}
        assert found["alpha"].dims == ("chain", "draw", "model", "scenario")
        assert found["beta"].dims == ("chain", "draw", "generation")
        assert found["beta"].sizes == {"chain": 2, "draw": 8, "generation": 22}
        assert found["alpha"].attrs == {"units": "latent", "component": "scenario"}
        assert found["beta"].attrs == {"units": "latent", "component": "generation"}
        gone = np.isnan(found["alpha"]).all(("chain", "draw"))
        assert gone.to_numpy().sum() == 1
        assert gone.sel(model="B", scenario="3")
        assert np.isfinite(found["beta"]).all()
        assert set(found["generation_model"].to_numpy()) == {"A", "B"}

    def test_they_follow_parameters_and_scores_of_their_own_model(self):
        frame = two_models()
        frame.loc[(frame["model"] == "B") & (frame["scenario"] == 2), "score"] = 4
        frame.loc[(frame["model"] == "B") & (frame["scenario"] == 6), "score"] = 1
        scores = bj.read_scores(frame)
        tree = ordinal_fit(scores, draws=300, spread=0.2)
        found = bj.effects(tree, seed=1)
        thresholds, sigma = parameters_of(tree)
        cells = cells_by_model(calls_of(tree), 2)[1]
        levels = levels_of(scores).codes[calls_of(tree).model == 1]
        by_scenario = found["alpha"].sel(model="B").mean(("chain", "draw")).to_numpy()
        assert by_scenario.argmax() == 1
        assert by_scenario.argmin() == 5
        expected = []
        for d in range(0, 600, 60):
            truth = Quadrature(cells, levels, sigma[d, 1], LOGIT, thresholds[d, 1])
            expected.append(moments(*truth.of_scenario(1)))
        mean, sd = np.mean(expected, axis=0)
        # Parameters differ little between the draws, so all are held against some.
        drawn = found["alpha"].sel(model="B", scenario="2").to_numpy()
        assert drawn.mean() == pytest.approx(mean, abs=0.25 * sd)
        assert drawn.std() == pytest.approx(sd, rel=0.2)

    def test_the_same_seed_gives_the_same_draws(self):
        tree = ordinal_fit(bj.read_scores(two_models()), draws=5)
        assert bj.effects(tree, seed=3).identical(bj.effects(tree, seed=3))
        again = bj.effects(tree, seed=4)
        assert not bj.effects(tree, seed=3)["alpha"].equals(again["alpha"])

    def test_an_effect_known_only_in_a_sum_is_that_of_the_sum(self):
        found = bj.effects(ordinal_fit(bj.read_scores(two_models(m=1)), draws=5))
        assert set(found.data_vars) == {"alpha"}
        assert found["alpha"].attrs["component"] == "scenario+generation"

    def test_an_effect_in_the_noise_of_the_link_is_left_out(self):
        tree = ordinal_fit(bj.read_scores(two_models(K=1)), draws=5)
        assert set(bj.effects(tree).data_vars) == {"alpha"}
        frame = draw_panel(40, 1, 1, **SETTING, offsets=[0.0])
        assert not bj.effects(ordinal_fit(bj.read_scores(frame), draws=5)).data_vars

    def test_models_may_differ_in_what_they_tell_apart(self):
        frame = two_models()
        frame = frame[(frame["model"] == "A") | (frame["generation"] == 1)]
        found = bj.effects(ordinal_fit(bj.read_scores(frame), draws=5))
        assert found["alpha"].attrs["component"] == "scenario or scenario+generation"
        assert np.isfinite(found["alpha"]).all()
        of_a = (found["generation_model"] == "A").to_numpy()
        assert np.isfinite(found["beta"][..., of_a]).all()
        assert np.isnan(found["beta"][..., ~of_a]).all()

    def test_a_fit_without_its_scores_is_refused(self):
        tree = ordinal_fit(bj.read_scores(two_models()), draws=5)
        del tree["observed_data"]
        with pytest.raises(FitError, match="holds no scores"):
            bj.effects(tree)

    def test_a_fit_that_does_not_say_its_family_is_linear(self):
        tree = linear_fit(bj.read_scores(two_models()), 0.5, draws=5)
        new = bj.effects(tree, seed=1)
        del tree.attrs["family"]
        assert new["alpha"].attrs["units"] == "score"
        assert bj.effects(tree, seed=1).identical(new)


@pytest.mark.evidence
def test_fits_agree_with_a_model_that_samples_every_effect():
    import pymc as pm

    frame = draw_panel(15, 3, 3, **SETTING, offsets=OFFSETS, seed=4)
    found = bj.effects(bj.fit(bj.read_scores(frame), model="ordinal", seed=1), seed=1)
    with plain_model(frame["score"] - 1, frame["scenario"], frame["generation"], frame["judge"], 4):
        plain = pm.sample(
            1000, tune=1000, chains=4, random_seed=1, target_accept=0.95, progressbar=False
        )["posterior"]
    alpha = found["alpha"].isel(model=0).to_numpy()[..., order(found["scenario"])]
    both = 10 * found["generation_scenario"].astype(int) + found["generation_label"].astype(int)
    beta = found["beta"].to_numpy()[..., order(both)]
    for own, other in ((alpha, plain["alpha"].to_numpy()), (beta, plain["beta"].to_numpy())):
        own, other = own.reshape(4000, -1), other.reshape(4000, -1)
        sd = other.std(axis=0)
        assert np.abs((own.mean(axis=0) - other.mean(axis=0)) / sd).max() < 0.12
        assert np.abs(np.log(own.std(axis=0) / sd)).max() < 0.1


def order(labels):
    return np.argsort(labels.to_numpy().astype(int))
