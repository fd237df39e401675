"""Importance sampling: against integration on a grid, known densities, and NUTS."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from panels import crossed, cyclic, table_of, thinned
from scipy import stats
from test_allocation_dataset import levels_table

import bayesjudge as bj
from bayesjudge.engines import psis
from bayesjudge.engines.cross_check import cross_check
from bayesjudge.engines.draws import Draws, Sampling
from bayesjudge.engines.importance import sample_density
from bayesjudge.errors import FitError
from bayesjudge.layout import lay_out
from bayesjudge.priors import SD_FAMILIES, Prior
from bayesjudge.specs import read_spec


def layout_of(rows, model="linear", seed=0, **options):
    return lay_out(table_of(rows, seed, **options), read_spec(model))


class TestDensities:
    """Densities whose moments are known."""

    def sample(self, log_density, d, effective=4000, seed=0):
        def gradient(x):
            h = 1e-5
            around = x + h * np.concatenate([np.zeros((1, d)), np.eye(d), -np.eye(d)])
            value = log_density(around)
            return float(value[0]), (value[1 : d + 1] - value[d + 1 :]) / (2 * h)

        rng = np.random.default_rng(seed)
        return sample_density(log_density, gradient, np.zeros(d), effective, rng)

    def test_a_normal(self):
        covariance = np.array([[2.0, 0.9], [0.9, 0.5]])
        density = stats.multivariate_normal([3.0, -1.0], covariance)
        found = self.sample(density.logpdf, 2)
        assert found.k < 0.5
        assert found.weights @ found.points == pytest.approx([3.0, -1.0], abs=0.1)
        rest = found.points - found.weights @ found.points
        assert (found.weights[:, None] * rest).T @ rest == pytest.approx(covariance, abs=0.15)

    @pytest.mark.parametrize("a", [2.0, 5.0])
    def test_a_skewed_one(self, a):
        density = stats.skewnorm(a, loc=1, scale=2)
        found = self.sample(lambda x: density.logpdf(x[:, 0]), 1)
        assert found.k < 0.7
        assert (found.weights @ found.points).item() == pytest.approx(density.mean(), abs=0.08)

    def test_two_bumps(self):
        near, far = stats.norm(0, 1), stats.norm(3.5, 0.7)
        found = self.sample(
            lambda x: np.logaddexp(near.logpdf(x[:, 0]), far.logpdf(x[:, 0])), 1, 8000
        )
        assert (found.weights @ found.points).item() == pytest.approx(1.75, abs=0.1)

    @pytest.mark.parametrize("seed", range(5))
    def test_tails_that_are_too_heavy_are_seen(self, seed):
        # Far heavier than those of any posterior in quantiles of its prior, which are normal.
        density = stats.t(0.15, scale=0.05)
        assert self.sample(lambda x: density.logpdf(x[:, 0]), 1, seed=seed).k > 0.7

    def test_resampling_keeps_the_weights(self):
        density = stats.skewnorm(4.0)
        found = self.sample(lambda x: density.logpdf(x[:, 0]), 1)
        again = found.points[found.resampled(50_000, np.random.default_rng(1)), 0]
        quantiles = np.quantile(again, [0.1, 0.5, 0.9])
        assert quantiles == pytest.approx(density.ppf([0.1, 0.5, 0.9]), abs=0.08)


@pytest.mark.parametrize("dist", SD_FAMILIES)
def test_prior_quantiles(dist):
    kwargs = dict.fromkeys(SD_FAMILIES[dist].parameters, 1.7)
    prior = Prior(dist, kwargs)
    z = np.array([-5.0, -1.0, 0.0, 0.3, 4.0])
    x = prior.at_normal(z)
    assert (np.diff(x) > 0).all()
    assert x[2] == pytest.approx(prior.median())
    h = 1e-6
    slope = (prior.at_normal(z + h) - prior.at_normal(z - h)) / (2 * h)
    assert np.log(slope) + prior.logpdf(x) == pytest.approx(stats.norm.logpdf(z), abs=1e-4)


DESIGNS = {
    "balanced": (crossed(6, 2, 3), "linear"),
    "paper": (crossed(6, 2, 3), "linear-paper"),
    "one generation": (crossed(8, 1, 3), "linear"),
    "repeats": (crossed(4, 2, 2, repeats=2), "linear"),
    "missing": (thinned(crossed(6, 3, 3), 0.8), "linear"),
    "cyclic": (cyclic(8, 5, 3), "linear"),
    "residuals by judge": (crossed(6, 2, 3), "linear-judge-residual"),
}


@pytest.mark.parametrize("case", DESIGNS)
def test_gradients(case):
    layout = layout_of(*DESIGNS[case])
    target = psis._target(layout, 0)
    d = len(target.slots)
    rng = np.random.default_rng(1)
    for z in (np.zeros(d), rng.normal(size=d) * 0.5, np.full(d, -2.0)):
        value, slope = target.gradient(z)
        assert value == pytest.approx(target.log_density(z[None])[0], rel=1e-9)
        h = 1e-5
        numeric = [
            (target.log_density((z + h * e)[None]) - target.log_density((z - h * e)[None]))[0]
            / (2 * h)
            for e in np.eye(d)
        ]
        assert slope == pytest.approx(np.array(numeric), rel=1e-4, abs=1e-4)


def test_strata_and_patterns_are_one_likelihood():
    layout = layout_of(crossed(6, 3, 3))
    z = np.random.default_rng(0).normal(size=(20, len(layout.slots)))
    sigma = psis._target(layout, 0).to_sigma(z)
    one = psis._Balanced.of(layout, 0).log_marginal(sigma)
    other = psis._General(layout, 0).log_marginal(sigma)
    assert np.ptp(one - other) < 1e-8


ON_A_GRID = {
    "five scenarios": (crossed(5, 2, 3), "linear-paper", 0),
    "two judges": (crossed(8, 3, 2), "linear-paper", 1),
    "one generation": (crossed(10, 1, 3), "linear-paper", 2),
    "cyclic": (cyclic(10, 3, 3), "linear", 3),
    "one judge": (crossed(10, 3, 1), "linear", 4),
}


class TestAgainstAGrid:
    """Posterior means by brute force, in the same coordinates."""

    @pytest.mark.parametrize("case", ON_A_GRID)
    def test_means_and_quantiles(self, case):
        rows, model, seed = ON_A_GRID[case]
        layout = layout_of(rows, model, seed)
        target = psis._target(layout, 0)
        d = len(target.slots)
        found = psis.sample(layout, Sampling(1, draws=5000))
        assert found.trusted
        z = psis_z(layout, draws_of(found).reshape(-1, d))
        center, reach = z.mean(axis=0), np.minimum(6 * z.std(axis=0), 5.0)
        nodes = np.linspace(-1, 1, {2: 400, 3: 90, 4: 32}[d])
        axes = [center[k] + reach[k] * nodes for k in range(d)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
        log_p = np.concatenate(
            [
                target.log_density(block)
                for block in np.array_split(grid, max(1, len(grid) // 50_000))
            ]
        )
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        for k in range(d):
            sigma = target.to_sigma(grid)[:, k]
            draws = draws_of(found)[..., k].ravel()
            mean, sd = p @ sigma, np.sqrt(p @ sigma**2 - (p @ sigma) ** 2)
            error = sd / np.sqrt(found.effective)
            assert draws.mean() == pytest.approx(mean, abs=4 * error + 0.01 * sd)
            assert draws.std() == pytest.approx(sd, rel=0.08)
            by_node = np.bincount(np.searchsorted(axes[k], grid[:, k]), p, minlength=len(nodes))
            for level in (0.05, 0.95):
                at = np.quantile(z[:, k], level)
                below = np.interp(at, axes[k], np.cumsum(by_node) - by_node / 2)
                assert below == pytest.approx(level, abs=0.03)

    def test_no_generation_variance(self):
        """A mode at the boundary: answers are copies but for the noise of judges."""
        rng, rows = np.random.default_rng(5), crossed(12, 4, 3)
        i, _, k = np.array(rows).T
        frame = pd.DataFrame(rows, columns=["scenario", "generation", "judge"]).astype(str)
        y = 5 + rng.normal(size=12)[i] + 0.5 * k + rng.normal(size=len(rows)) * 0.7
        scores = bj.read_scores(frame.assign(model="A", score=y), scale=(0, 10), outside="keep")
        layout = lay_out(scores, read_spec("linear-paper"))
        found = psis.sample(layout, Sampling(1))
        assert found.trusted
        generation = draws_of(found)[..., 1].ravel()
        assert np.quantile(generation, 0.05) < 0.06
        target = psis._target(layout, 0)
        axis = np.linspace(-6, 4, 120)
        best = draws_of(found).reshape(-1, 4).mean(axis=0)
        z = np.tile(psis_z(layout, best), (len(axis), 1))
        z[:, 1] = axis
        profile = target.log_density(z) + axis**2 / 2
        assert profile[0] - profile.max() > -3  # the likelihood does not rule out none at all


def draws_of(found):
    """Standard deviations, shape (chains, draws, slots)."""
    return np.asarray(found.draws.values)


def psis_z(layout, sigma):
    """Prior quantiles of standard deviations with half-normal priors."""
    scale = np.array([layout.priors[slot.name].kwargs["sigma"] for slot in layout.slots])
    return stats.norm.ppf(stats.halfnorm.cdf(sigma / scale))


class TestFit:
    @pytest.fixture(scope="class")
    @classmethod
    def scores(cls):
        return table_of({"A": crossed(12, 3, 4), "B": thinned(crossed(12, 3, 4), 0.9)}, seed=2)

    def test_it_agrees_with_nuts(self, scores):
        quick = bj.fit(scores, engine="psis", seed=1)
        slow = bj.fit(scores, seed=1)
        assert quick.attrs["engine"] == "psis"
        assert slow.attrs["engine"] == "nuts"
        assert slow.attrs["psis_disagreement"] < 4.5
        for name in (
            "mu",
            "gamma",
            *(v for v in quick["posterior"].data_vars if "sigma" in str(v)),
        ):
            one, other = (tree["posterior"][name] for tree in (quick, slow))
            sd = other.std(("chain", "draw"))
            apart = abs(one.mean(("chain", "draw")) - other.mean(("chain", "draw"))) / sd
            assert float(apart.max()) < 0.1, name
            ratio = one.std(("chain", "draw")) / sd
            assert float(abs(ratio - 1).max()) < 0.12, name

    def test_everything_after_it_works(self, scores, tmp_path):
        tree = bj.fit(scores, engine="psis", seed=1)
        again = bj.load(bj.save(tree, tmp_path / "fit.nc"))
        assert again.attrs["k_hat"] == tree.attrs["k_hat"] < 0.7
        assert again.attrs["verdict"] == "passed"
        assert bj.components(again).sizes["draw"] == 1000
        assert bj.compare(again).shape[0] > 0
        assert "alpha" in bj.effects(again)
        assert np.isfinite(bj.allocation(again, 4)["variance"].sel(model="A")).any()

    def test_the_same_seed_gives_the_same(self, scores):
        one, other = (bj.fit(scores, engine="psis", seed=3, draws=200) for _ in range(2))
        assert (bj.components(one) == bj.components(other)).all()

    def test_it_needs_neither_pymc_nor_numba(self):
        code = (
            "import sys, bayesjudge as bj\n"
            "tree = bj.fit(bj.example('mindeval').select(models=['GPT']), engine='psis', seed=1)\n"
            "bj.components(tree), bj.panel_means(tree), bj.judge_offsets(tree)\n"
            "heavy = {'pymc', 'numba', 'pytensor', 'nutpie'} & set(sys.modules)\n"
            "print(tree.attrs['verdict'], heavy)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout == "passed set()\n"

    def test_it_hands_over(self, monkeypatch):
        monkeypatch.setattr(psis, "K_MAX", -99.0)
        scores = table_of(crossed(8, 2, 3))
        tree = bj.fit(scores, engine="psis", seed=1, draws=200, tune=200, chains=2)
        assert tree.attrs["engine"] == "nuts"
        assert "handed over to NUTS: the largest weights carry too much" in tree.attrs["notes"]
        assert np.isnan(tree.attrs["psis_disagreement"])
        assert "k-hat" in tree.attrs["psis_problem"]

    def test_a_handful_of_draws_is_not_enough(self, scores):
        tree = bj.fit(scores, engine="psis", seed=1, draws=4)
        assert tree.attrs["verdict"] == "failed"
        assert "effective draws" in tree.attrs["problems"]

    def test_not_for_an_ordinal_model(self):
        with pytest.raises(FitError, match="too few draws carry all the weight"):
            bj.fit(levels_table(), "ordinal", engine="psis")


class TestCrossCheck:
    def test_wrong_draws_are_seen(self):
        layout, how = layout_of(crossed(12, 3, 4)), Sampling(1)
        right = psis.sample(layout, Sampling(2)).draws
        assert cross_check(layout, right, how).apart == ""
        values = np.array(right.values)
        values[..., 1] *= 1.2
        found = cross_check(layout, Draws(values, right.stats, right.settings), how)
        assert "the means of sigma_generation[A] are" in found.apart
        assert found.where == "sigma_generation[A]"
