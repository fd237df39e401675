"""Leave-one-scenario-out: against dense Gaussians and quadrature, and against leaving out."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from ordinal_panels import draw_panel
from panels import crossed, cyclic, dense_covariance, frame_of, simulate
from scipy import special, stats
from unsampled_fits import linear_fit, ordinal_fit

import bayesjudge as bj
import bayesjudge.posterior.loo as loo_module
from bayesjudge.design.cells import cells_by_model
from bayesjudge.errors import BayesJudgeError, DesignError, FitError
from bayesjudge.posterior import refits
from bayesjudge.posterior.cell_calls import cell_terms, log_interval
from bayesjudge.posterior.cell_likelihood import log_level_probabilities
from bayesjudge.posterior.effects import calls_of
from bayesjudge.posterior.linear_parameters import linear_parameters
from bayesjudge.posterior.loo import verdict
from bayesjudge.posterior.refits import table_again
from bayesjudge.posterior.scenario_probability import Scored
from bayesjudge.posterior.smoothing import left_out

SIGMA = {
    "scenario": 0.9,
    "generation": 0.5,
    "judge": 0.6,
    "scenario:judge": 0.7,
    "generation:judge": 0.4,
    "residual": 0.65,
}
LEVELS = np.arange(0.0, 5.0)
CUTS = (LEVELS[1:] + LEVELS[:-1]) / 2
EDGES = np.r_[-np.inf, CUTS, np.inf]


def sigma_of(layout_names):
    """By name of a component or sum, from its parts."""
    return {
        name: float(np.sqrt(sum(SIGMA[part] ** 2 for part in name.split("+"))))
        for name in layout_names
    }


class Sigma(dict):
    """Standard deviations of any sum of terms."""

    def __missing__(self, name):
        return sigma_of([name])[name]


def table(rows, seed=0, levels=LEVELS, **options):
    """Whole scores from 0 to 4 for these rows, or rows by model."""
    frame = frame_of(rows, seed)
    rng = np.random.default_rng(seed)
    place = frame["scenario"].str[1:].astype(int)
    latent = 1.7 + rng.normal(0, 0.9, place.max() + 1)[place] + rng.normal(0, 0.9, len(frame))
    frame["score"] = np.clip(np.round(latent), levels[0], levels[-1])
    return bj.read_scores(frame, levels=levels, repeats="keep", **options)


def levels_asked(tree, ordinal=None):
    """What is asked of a fit, with all levels whether an ordinal fit has them or not."""
    scored = Scored.of(calls_of(tree), tree, None)
    codes = tuple(np.searchsorted(CUTS, cells.score) for cells in scored.tables)
    return replace(scored, codes=codes, levels=LEVELS)


def probabilities(tree, scored, draws, pairs=1, seed=0):
    tables = list(zip(scored.tables, scored.codes, strict=True))
    return log_level_probabilities(
        tree,
        tables,
        LEVELS,
        np.asarray(draws),
        len(scored.scenarios),
        np.random.SeedSequence(seed),
        pairs,
    )


def one_draw(v, k):
    return type(v)(*(getattr(v, name)[k] for name in v.__dataclass_fields__))


def rectangle(mean, covariance, codes, accuracy=1e-8):
    """Probability of a box of cells under a multivariate normal, by scipy."""
    if len(codes) == 1:
        low, high = EDGES[codes], EDGES[codes + 1]
        normal = stats.norm(mean[0], np.sqrt(covariance[0, 0]))
        return float(normal.cdf(high[0]) - normal.cdf(low[0]))
    normal = stats.multivariate_normal(
        mean, covariance, abseps=accuracy, releps=1e-5, maxpts=2_000_000, seed=1
    )
    return float(normal.cdf(EDGES[codes + 1], lower_limit=EDGES[codes]))


def log_boxes(tree, scored, draw):
    """By scenario, at one draw, from the dense covariance of all its scores."""
    found = np.zeros(len(scored.scenarios))
    for cells, codes in zip(scored.tables, scored.codes, strict=True):
        means, v = linear_parameters(tree, cells)
        covariance = dense_covariance(cells, one_draw(v, draw), with_judges=False)
        centre = means[draw][cells.judge]
        for i, at in enumerate(cells.scenario_ids):
            mine = np.flatnonzero(cells.scenario == i)
            p = rectangle(centre[mine], covariance[np.ix_(mine, mine)], codes[mine])
            found[at] += np.log(p)
    return found


ON_A_LATTICE = {
    "one judge": (crossed(3, 2, 1), "linear"),
    "two judges, as published": (crossed(2, 2, 2), "linear-paper"),
    "one generation": (crossed(3, 1, 2), "linear"),
    "rotation": (cyclic(4, 2, 3), "linear"),
    "missing cells": (crossed(2, 2, 3)[:-2], "linear-paper"),
    "repeated calls, as published": (crossed(2, 1, 2, repeats=2), "linear-paper"),
}
BY_POINTS = {
    "two judges": (crossed(2, 2, 2), "linear"),
    "three judges": (crossed(2, 2, 3), "linear"),
    "missing cells": (crossed(2, 2, 3)[:-2], "linear"),
    "residual by judge": (crossed(2, 2, 2), "linear-judge-residual"),
    "residual by judge, one generation": (crossed(3, 1, 2), "linear-judge-residual"),
    "repeated calls": (crossed(2, 2, 2, repeats=2)[:-3], "linear"),
    "repeated calls, one generation": (crossed(3, 1, 2, repeats=2), "linear"),
    "two models": ({"A": crossed(2, 2, 2), "B": [*crossed(2, 1, 2), (1, 1, 0)]}, "linear"),
}


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1, 1), (5, 5.0001), (-np.inf, 0.3), (0.3, np.inf), (-np.inf, -40), (39, 40), (-31, -30.9)],
)
def test_intervals_far_out_keep_their_digits(low, high):
    a, b = (-high, -low) if low > 0 else (low, high)
    log_b = special.log_ndtr(b)
    expected = log_b + np.log(-np.expm1(special.log_ndtr(a) - log_b))
    assert log_interval(float(low), float(high)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("repeated", "calls"), [(0.0, 1), (0.3, 1), (0.0, 3), (0.3, 3)])
def test_slopes_and_curvatures_are_those_of_differences(repeated, calls):
    low, high = np.array([-np.inf, -0.5, 0.5])[:calls], np.array([-0.5, 0.5, np.inf])[:calls]
    h = 1e-3

    def value(at):
        return cell_terms(low, high, at, 0.4, repeated)[0]

    for at in (-3.0, 0.1, 2.0):
        _, slope, curvature = cell_terms(low, high, at, 0.4, repeated)
        assert slope == pytest.approx((value(at + h) - value(at - h)) / (2 * h), abs=1e-5)
        second = (value(at + h) - 2 * value(at) + value(at - h)) / h**2
        assert curvature == pytest.approx(-second, abs=1e-3)


@pytest.mark.parametrize("case", ON_A_LATTICE)
def test_levels_have_the_probability_of_their_boxes(case):
    rows, model = ON_A_LATTICE[case]
    tree = linear_fit(table(rows), Sigma(), model, draws=3, spread=0.3)
    scored = levels_asked(tree)
    found = probabilities(tree, scored, [1, 4])
    expected = np.stack([log_boxes(tree, scored, draw) for draw in (1, 4)])
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize("case", BY_POINTS)
def test_with_an_effect_of_each_judge_the_estimate_has_no_bias(case):
    rows, model = BY_POINTS[case]
    tree = linear_fit(table(rows, seed=3), Sigma(), model, draws=3, spread=0.3)
    scored = levels_asked(tree)
    expected = log_boxes(tree, scored, 2)
    p = np.exp(probabilities(tree, scored, np.full(1500, 2)) - expected)
    error = p.std(axis=0) / np.sqrt(len(p))
    assert np.all(np.abs(p.mean(axis=0) - 1) < 4 * error + 1e-4)
    assert np.all(p.std(axis=0) < 0.5)  # each of the estimates is near


def test_two_judges_by_quadrature_over_their_difference():
    """K = 2: scenario:judge is one number, and given that there is the lattice."""
    tree = linear_fit(table(crossed(2, 3, 2), seed=5), Sigma(), draws=2)
    scored = levels_asked(tree).only(0)
    means, v = linear_parameters(tree, scored.tables[0])
    assert v.interaction[0] > 0
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    total = 0.0
    for x, w in zip(nodes, weights / weights.sum(), strict=True):
        eta = np.sqrt(v.interaction[0] / 2) * x * np.array([1, -1])
        shifted = means[0] + eta
        plain = xr.DataTree.from_dict({"/posterior": _posterior(shifted, one_draw(v, 0))})
        plain.attrs = tree.attrs
        p = probabilities(plain, scored, [0])
        total += w * np.exp(p[0, 0])
    found = np.exp(probabilities(tree, scored, np.zeros(4000, dtype=int))[:, 0])
    assert abs(found.mean() - total) < 4 * found.std() / np.sqrt(len(found))
    many = np.exp(probabilities(tree, scored, [0], pairs=20_000)[0, 0])
    assert many == pytest.approx(total, rel=0.005)


def _posterior(means, v):
    """One draw without scenario:judge."""
    sds = {"scenario": v.scenario, "generation": v.generation, "residual": v.residual[0]}
    one = {
        f"sigma_{name}": (("chain", "draw", "model"), [[[np.sqrt(x)]]], {"component": name})
        for name, x in sds.items()
    }
    mu = (("chain", "draw", "model"), [[[means.mean()]]])
    gamma = (("chain", "draw", "model", "judge"), [[[means - means.mean()]]])
    return xr.Dataset(one | {"mu": mu, "gamma": gamma})


def test_probabilities_of_all_levels_sum_to_one():
    """Two judges on one answer with an effect of each: nine pairs of levels."""
    frame = pd.DataFrame(
        [(f"s{i}", "g", f"j{k}", x) for i in range(9) for k, x in ((0, i // 3), (1, i % 3))],
        columns=["scenario", "generation", "judge", "score"],
    ).assign(model="A")
    scores = bj.read_scores(frame, levels=[0, 1, 2])
    tree = linear_fit(scores, Sigma(), "linear-judge-residual", draws=2)
    ordinal = ordinal_fit(scores, draws=5)
    scored = Scored.of(calls_of(tree), tree, ordinal)
    tables = list(zip(scored.tables, scored.codes, strict=True))
    seed = np.random.SeedSequence(2)
    for draw in (0, 3):
        p = np.exp(
            log_level_probabilities(tree, tables, scored.levels, np.full(4000, draw), 9, seed)
        )
        assert p.mean(axis=0).sum() == pytest.approx(1, abs=0.005)


def test_another_unit_of_the_scores_changes_nothing():
    rows = crossed(2, 2, 2)
    plain = table(rows)
    tenfold = bj.read_scores(
        plain.frame.assign(score=10 * plain.frame["score"] + 3), levels=10 * LEVELS + 3
    )
    found = []
    for scores, unit in ((plain, 1), (tenfold, 10)):
        tree = linear_fit(scores, {n: unit * Sigma()[n] for n in NAMES}, draws=5)
        scored = Scored.of(calls_of(tree), tree, ordinal_fit(scores, draws=5))
        tables = list(zip(scored.tables, scored.codes, strict=True))
        found.append(
            log_level_probabilities(
                tree, tables, scored.levels, np.arange(10), 2, np.random.SeedSequence(1)
            )
        )
    # The prior of the mean is in units of the range; its middle moves along.
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


NAMES = ("scenario", "generation", "judge", "scenario:judge", "generation:judge+residual")


class TestWeights:
    """Against a posterior that is known: y_i ~ Normal(mu, 1), mu flat."""

    y = np.array([-1.3, 0.2, 0.4, 1.9, 0.7, -0.4, 2.6, 0.1])

    def run(self, seed, draws=1000, thinned=1):
        n, rng = len(self.y), np.random.default_rng(seed)
        mu = self.y.mean() + rng.standard_normal((4, draws, 1)) / np.sqrt(n)
        chosen = np.arange(0, 4 * draws, thinned)
        at = mu.reshape(-1, 1)[chosen]
        cell = np.log(stats.norm.cdf(np.round(self.y) + 0.5 - at) - stats.norm.cdf(
            np.round(self.y) - 0.5 - at))  # fmt: skip
        density = stats.norm.logpdf(self.y - mu)
        return left_out(density, density.reshape(4 * draws, -1), np.arange(4 * draws)), left_out(
            density, cell, chosen
        )

    def exact(self):
        n = len(self.y)
        mean = (self.y.sum() - self.y) / (n - 1)
        normal = stats.norm(mean, np.sqrt(1 + 1 / (n - 1)))
        at = np.round(self.y)
        return normal.logpdf(self.y), np.log(normal.cdf(at + 0.5) - normal.cdf(at - 0.5))

    def test_give_what_leaving_out_gives(self):
        """Also for levels, though the draws are those given the scores themselves."""
        for found, expected in zip(self.run(0, draws=20_000), self.exact(), strict=True):
            np.testing.assert_allclose(found.elpd, expected, atol=0.01)
            assert (found.k < 0.7).all()

    @pytest.mark.parametrize("thinned", [1, 5])
    def test_the_monte_carlo_error_is_what_repeating_shows(self, thinned):
        every = np.ones(len(self.y), dtype=bool)
        runs = [self.run(seed, draws=250, thinned=thinned) for seed in range(60)]
        for which, of in enumerate(self.exact()):
            if which == 0 and thinned > 1:
                continue
            sums = np.array([run[which].elpd.sum() for run in runs])
            said = np.sqrt(np.mean([run[which].variance(every) for run in runs]))
            assert 0.7 < said / sums.std() < 1.4
            assert abs(sums.mean() - of.sum()) < 4 * sums.std() / np.sqrt(len(sums)) + 0.01

    def test_of_constant_or_few_draws_are_no_error(self):
        flat = left_out(np.zeros((2, 50, 3)), np.zeros((100, 3)), np.arange(100))
        assert (flat.elpd == 0).all()
        assert (flat.k == -np.inf).all()
        few = left_out(
            np.random.default_rng(0).normal(size=(1, 8, 2)), np.zeros((8, 2)), np.arange(8)
        )
        assert (few.k == np.inf).all()


@pytest.fixture(scope="module")
def known():
    scores = table(crossed(6, 2, 2), seed=8)
    return scores, linear_fit(scores, Sigma(), draws=4000), ordinal_fit(scores, draws=50, keep=True)


class TestAgainstDenseGaussians:
    """Standard deviations known, so that what is said without a scenario has a closed form."""

    def conditional(self, tree, cells, i):
        """Mean and covariance of one scenario's scores given the others, mu and gamma unknown."""
        v = replace(one_draw(linear_parameters(tree, cells).variances, 0), judge=np.array(0.36))
        V = dense_covariance(cells, v) + 1.0**2  # the prior of the mean: a quarter of the range
        out, rest = np.flatnonzero(cells.scenario == i), np.flatnonzero(cells.scenario != i)
        B = np.linalg.solve(V[np.ix_(rest, rest)], V[np.ix_(rest, out)]).T
        mean = 2.0 + B @ (cells.score[rest] - 2.0)
        return mean, V[np.ix_(out, out)] - B @ V[np.ix_(rest, out)], out

    def test_densities(self, known):
        _, tree, _ = known
        cells = cells_by_model(calls_of(tree), 1)[0]
        found = bj.loo(tree)
        assert found.attrs["unit"] == "log density"
        expected = []
        for i in range(6):
            mean, V, out = self.conditional(tree, cells, i)
            expected.append(stats.multivariate_normal(mean, V).logpdf(cells.score[out]))
        np.testing.assert_allclose(found.attrs["pointwise"]["linear"], expected, atol=0.03)
        assert found["elpd"].iloc[0] == pytest.approx(
            sum(expected), abs=4 * found["mc_error"].iloc[0]
        )

    def expected_levels(self, tree):
        scored = levels_asked(tree)
        cells, codes = scored.tables[0], scored.codes[0]
        found = []
        for i in range(6):
            mean, V, out = self.conditional(tree, cells, i)
            found.append(np.log(rectangle(mean, V, codes[out])))
        return np.array(found)

    def test_levels(self, known):
        _, tree, ordinal = known
        found = bj.loo(tree, ordinal, refit=False)
        assert found.attrs["unit"] == "log probability of levels"
        expected = self.expected_levels(tree)
        np.testing.assert_allclose(found.attrs["pointwise"]["linear"], expected, atol=0.05)
        row = found.loc["linear"]
        assert row["elpd"] == pytest.approx(expected.sum(), abs=4 * row["mc_error"])

    def test_levels_by_leaving_out_every_scenario(self, known, monkeypatch):
        scores, tree, ordinal = known
        asked = []

        def fit(rest, model, seed, draws, **how):
            asked.append((len(rest.scenarios), rest.scale, model, seed, draws, how))
            return linear_fit(rest, Sigma(), model, draws=4000, seed=seed)

        settings = {"engine": "nuts", "chains": 2, "draws": 4000, "tune": 500}
        tree = tree.copy()
        tree.attrs = tree.attrs | settings
        monkeypatch.setattr(refits, "fit", fit)
        monkeypatch.setattr(loo_module, "K_MAX", -10.0)
        stages = []
        monkeypatch.setattr(loo_module, "_ordinal", lambda trees: ordinal)
        found = bj.loo(tree, on_stage=stages.append)
        np.testing.assert_allclose(
            found.attrs["pointwise"]["linear"], self.expected_levels(tree), atol=0.03
        )
        assert found["refits"].tolist() == found["k_high"].tolist() == [6]
        assert [len(rest) for rest in asked] == [6] * 6
        assert {(n, model, draws) for n, _, model, _, draws, _ in asked} == {(5, "linear", 4000)}
        assert len({seed for *_, seed, _, _ in asked}) == 6
        assert all(scale == (0, 4, None) for _, scale, *_ in asked)
        assert stages[-1] == f"linear: fitting without scenario {scores.scenarios[-1]!r} (6 of 6)"
        assert not found.attrs["problems"]
        assert "Not reliable" not in found.attrs["verdict"]

    def test_densities_by_leaving_out_a_scenario(self, known):
        _, tree, _ = known
        cells = cells_by_model(calls_of(tree), 1)[0]
        rest = table_again(tree, calls_of(tree)).select(scenarios=[f"s{i}" for i in range(1, 6)])
        again = linear_fit(rest, Sigma(), draws=4000, seed=9)
        scored = Scored.of(calls_of(tree), tree, None).only(0)
        every = np.arange(8000)
        found = refits.log_predicted(again, scored, every, np.random.SeedSequence(0))
        mean, V, out = self.conditional(tree, cells, 0)
        expected = stats.multivariate_normal(mean, V).logpdf(cells.score[out])
        assert np.log(np.exp(found[:, 0]).mean()) == pytest.approx(expected, abs=0.03)
        assert (found[:, 1:] == 0).all()


@pytest.fixture(scope="module")
def rare_level():
    """Level 4 occurs in the last scenario only."""
    frame = draw_panel(
        *(12, 2, 2),
        thresholds=[-1.0, 1.0],
        sigma_scenario=1.0,
        sigma_generation=0.5,
        offsets=[-0.3, 0.3],
        seed=2,
    )
    frame.loc[frame.index[-1], "score"] = 4
    scores = bj.read_scores(frame)
    settings = {"engine": "nuts", "chains": 2, "draws": 400, "tune": 200}
    ordinal = ordinal_fit(scores, draws=400, at="mode")
    ordinal.attrs |= settings
    return scores, ordinal


class TestOrdinal:
    def test_leaving_out_agrees_with_weighting_and_keeps_all_levels(self, rare_level, monkeypatch):
        _, tree = rare_level
        tables = []

        def fit(rest, model, seed, draws, keep_unused_levels, **_):
            tables.append(rest)
            keep = keep_unused_levels
            return ordinal_fit(rest, model, draws=draws, seed=seed, at="mode", keep=keep)

        monkeypatch.setattr(refits, "fit", fit)
        weighted = bj.loo(tree, refit=False)
        monkeypatch.setattr(loo_module, "K_MAX", -10.0)
        left = bj.loo(tree)
        assert left["refits"].iloc[0] == 12
        assert all(rest.levels == (1, 2, 3, 4) for rest in tables)
        difference = (left.attrs["pointwise"] - weighted.attrs["pointwise"])["ordinal"]
        # Both stand on normal approximations at a mode, which differ; real fits are below.
        assert difference.drop("12").abs().max() < 0.5
        assert abs(difference["12"]) < 1.0

    def test_of_bins_is_compared_with_cells_of_bins(self, monkeypatch):
        frame = simulate(
            *(10, 2, 2),
            scenario=0.5, generation=0.3, judge=0.1, interaction=0.2, residual=0.5,
        )  # fmt: skip
        scores = bj.read_scores(frame, scale=(0, 10))
        linear = linear_fit(scores, 0.6, draws=200)
        ordinal = ordinal_fit(scores, bins=8, draws=200, at="mode")
        levels = ordinal["constant_data"]["level"].to_numpy()
        assert len(levels) < 8
        table = table_again(ordinal, calls_of(ordinal))
        assert table.levels == tuple(levels)
        assert set(table.frame["score"]) == set(levels)
        found = bj.loo(linear, ordinal, refit=False)
        assert set(found.index) == {"linear", "ordinal"}
        assert np.isfinite(found["elpd"]).all()
        other = ordinal_fit(scores, bins=5, draws=20)
        with pytest.raises(FitError, match="different levels"):
            bj.loo(ordinal, other)


def small_fits(n=6, models=("A",), draws=60, **options):
    frame = draw_panel(
        *(n, 2, 2),
        thresholds=[-1.0, 1.0],
        sigma_scenario=1.0,
        sigma_generation=0.5,
        offsets=[-0.3, 0.3],
        models=models,
    )
    scores = bj.read_scores(frame, levels=[1, 2, 3], **options)
    return scores, linear_fit(scores, 0.5, draws=draws), ordinal_fit(scores, draws=draws)


class TestTable:
    def test_is_one_row_a_fit_best_first(self):
        _, linear, ordinal = small_fits()
        found = bj.loo(linear, ordinal, linear, refit=False)
        assert set(found.index) == {"linear 1", "linear 2", "ordinal"}
        assert found.index.name == "model"
        assert (found["elpd"].diff().dropna() <= 0).all()
        assert found["difference"].iloc[0] == found["se_difference"].iloc[0] == 0
        pointwise = found.attrs["pointwise"]
        assert pointwise.index.name == "scenario"
        np.testing.assert_allclose(pointwise.sum()[found.index], found["elpd"])
        rest = pointwise[found.index[-1]] - pointwise[found.index[0]]
        assert found["difference"].iloc[-1] == pytest.approx(rest.sum())
        assert found["se_difference"].iloc[-1] == pytest.approx(np.sqrt(6) * rest.std())
        assert (found["scenarios"] == 6).all()
        assert found.loc["linear 1", "elpd"] == found.loc["linear 2", "elpd"]

    def test_does_not_depend_on_what_else_is_compared_nor_on_the_order(self):
        _, linear, ordinal = small_fits(models=("A", "B"))
        one, other = bj.loo(linear, ordinal, refit=False), bj.loo(ordinal, linear, refit=False)
        pd.testing.assert_frame_equal(one, other)
        alone = bj.loo(ordinal, refit=False)
        assert alone["elpd"].iloc[0] == one.loc["ordinal", "elpd"]
        assert bj.loo(linear, refit=False).attrs["unit"] == "log density"
        seeded = bj.loo(linear, ordinal, refit=False, seed=5)
        assert seeded.loc["linear", "elpd"] != one.loc["linear", "elpd"]
        error = 5 * one.loc["linear", "mc_error"]
        assert seeded.loc["linear", "elpd"] == pytest.approx(one.loc["linear", "elpd"], abs=error)

    def test_is_the_same_for_fits_that_were_saved(self, tmp_path):
        _, linear, ordinal = small_fits()
        saved = [
            bj.load(bj.save(tree, tmp_path / f"{k}.nc")) for k, tree in enumerate((linear, ordinal))
        ]
        pd.testing.assert_frame_equal(
            bj.loo(linear, ordinal, refit=False), bj.loo(*saved, refit=False)
        )

    def test_scores_can_be_passed_for_fits_that_hold_none(self):
        scores, linear, ordinal = small_fits()
        bare = linear.copy()
        del bare["observed_data"]
        with pytest.raises(FitError, match="pass the table as scores="):
            bj.loo(bare, ordinal, refit=False)
        found = bj.loo(bare, ordinal, refit=False, scores=scores)
        pd.testing.assert_frame_equal(found, bj.loo(linear, ordinal, refit=False))
        other = small_fits(n=5)[0]
        with pytest.raises(FitError, match="not the table"):
            bj.loo(bare, ordinal, refit=False, scores=other)

    def test_fewer_draws_cost_precision_and_it_is_said(self):
        _, linear, ordinal = small_fits(draws=1000)
        every, few = (
            bj.loo(linear, ordinal, refit=False, draws=d).loc["linear"] for d in (2000, 100)
        )
        assert few["mc_error"] > 1.5 * every["mc_error"]
        assert few["elpd"] == pytest.approx(every["elpd"], abs=4 * few["mc_error"])


@pytest.fixture(scope="module")
def fits():
    return small_fits()


class TestWhatCannotBeReliedOn:
    def test_is_said_without_new_fits(self, fits, monkeypatch):
        monkeypatch.setattr(loo_module, "K_MAX", -10.0)
        _, linear, ordinal = fits
        found = bj.loo(linear, ordinal, refit=False)
        assert (found["k_high"] == 6).all()
        assert (found["refits"] == 0).all()
        assert found.attrs["verdict"].startswith("Not reliable")
        assert len(found.attrs["problems"]) == 2
        assert "refit=True" in found.attrs["problems"][0]

    def test_is_said_when_there_are_too_many(self, fits, monkeypatch):
        monkeypatch.setattr(loo_module, "K_MAX", -10.0)
        found = bj.loo(fits[1], max_refits=5)
        assert "more than the 5" in found.attrs["problems"][0]
        assert "6 scenarios" in found.attrs["problems"][0]
        assert found.attrs["verdict"].startswith("Not reliable")

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ("fails", "no variance can be estimated"),
            ("judge", "judge judge 2 has scores in this scenario only"),
            ("asked", "a judge scored a model in this scenario only"),
            ("structure", "fewer variance components apart"),
            ("specification", "has changed since"),
        ],
    )
    def test_is_said_when_the_rest_is_no_fit_like_it(self, fits, monkeypatch, change, reason):
        linear = fits[1].copy()
        linear.attrs |= {"engine": "nuts", "chains": 2, "draws": 60, "tune": 60}
        if change == "specification":
            linear.attrs["spec_sha256"] = "another"

        def fit(rest, **_):
            if change == "fails":
                raise DesignError("no variance can be estimated")
            if change == "judge":
                rest = rest.select(judges=["judge 1"])
            again = linear_fit(rest, 0.5, draws=60)
            if change == "asked":
                again["constant_data"]["n_calls"][0, 0] = 0
            if change == "structure":
                again.attrs["structure"] = "{}"
            return again

        monkeypatch.setattr(refits, "fit", fit)
        monkeypatch.setattr(loo_module, "K_MAX", -10.0)
        found = bj.loo(linear)
        assert found["refits"].iloc[0] == 0
        assert len(found.attrs["problems"]) == 6
        assert all(
            "can't be left out" in text and reason in text for text in found.attrs["problems"]
        )
        assert found.attrs["verdict"].startswith("Not reliable")

    def test_problems_of_fits_are_passed_on(self, fits):
        linear = fits[1].copy()
        linear.attrs["problems"] = "Chains disagree."
        found = bj.loo(linear, refit=False)
        assert "linear: Chains disagree." in found.attrs["problems"]


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ([], {}, "loo needs a fit"),
        (["table"], {}, "needs a fit, not a"),
        (["linear", "other"], {}, "different tables"),
        (["linear"], {"draws": 2}, "draws = 2"),
        (["linear"], {"draws": 10.5}, "draws = 10.5"),
        (["linear"], {"max_refits": -1}, "max_refits = -1"),
        (["linear"], {"seed": -1}, "seed = -1"),
    ],
)
def test_refusals(arguments, options, text):
    scores, linear, _ = small_fits()
    things = {"table": scores, "linear": linear, "other": small_fits(n=5)[1]}
    with pytest.raises(BayesJudgeError, match=text):
        bj.loo(*(things[name] for name in arguments), **options)


def made(n=150, difference=-20.0, error=5.0, mc=0.1, fits=2):
    table = pd.DataFrame(
        {
            "elpd": [-100.0, -100.0 + difference],
            "difference": [0.0, difference],
            "se_difference": [0.0, error],
            "scenarios": n,
            "mc_error": mc,
        },
        index=["ordinal", "linear"],
    ).iloc[:fits]
    table.attrs["unit"] = "log probability of levels"
    return table


@pytest.mark.parametrize(
    ("table", "starts", "says"),
    [
        (made(), "ordinal predicts scenarios", "better than linear: by 20.0 (standard error 5.0;"),
        (made(n=99), "Inconclusive", "but there are fewer than 100 scenarios."),
        (made(difference=-3.9, error=1), "Inconclusive", "but the difference is below 4."),
        (made(error=11), "Inconclusive", "but it is within two standard errors."),
        (made(mc=9), "Inconclusive", "too few draws were used (Monte Carlo error 12.7)"),
        (
            made(n=50, difference=-1.0, error=0.2),
            "Inconclusive: ordinal is ahead of linear by 1.0",
            "fewer than 100 scenarios and the difference is below 4.",
        ),
        (made(fits=1), "ordinal: -100.0", "Pass other fits"),
    ],
)
def test_the_verdict_in_words(table, starts, says):
    text = verdict(table)
    assert text.startswith(starts)
    assert says in text
    doubted = verdict(table, ["linear"])
    assert doubted == (
        "Not reliable, since Pareto k is above 0.7 in some scenarios of linear. " + text
    )


def test_the_verdict_names_all_fits():
    table = pd.concat([made(), made(difference=-31.0, error=6.0).iloc[1:].rename({"linear": "x"})])
    table.attrs["unit"] = "log density"
    assert verdict(table).endswith(" Further behind ordinal: x by 31.0 (standard error 6.0).")


@pytest.fixture(scope="module")
def ceiling():
    """Half of the scores are at the top of a scale of five; really sampled."""
    frame = draw_panel(
        *(40, 2, 2),
        thresholds=[-3.0, -2.0, -1.0, 0.0],
        sigma_scenario=1.5,
        sigma_generation=0.5,
        offsets=[-0.4, 0.4],
        seed=4,
    )
    scores = bj.read_scores(frame, levels=[1, 2, 3, 4, 5])
    how = {"seed": 1, "chains": 2, "draws": 500}
    return bj.fit(scores, **how), bj.fit(scores, model="ordinal", **how)


def test_a_ceiling_favours_the_ordinal_model(ceiling):
    found = bj.loo(*ceiling)
    assert found.index.tolist() == ["ordinal", "linear"]
    assert found.loc["linear", "difference"] < -4
    assert found.attrs["verdict"].startswith("Inconclusive: ordinal is ahead of linear")
    assert "fewer than 100 scenarios" in found.attrs["verdict"]


def test_a_new_fit_says_what_the_weights_say(ceiling, monkeypatch):
    linear, ordinal = ceiling
    weighted = bj.loo(linear, ordinal, refit=False)
    shapes = []
    monkeypatch.setattr(loo_module, "_ordinal", lambda trees: ordinal)

    def left_out_high(*arguments):
        result = left_out(*arguments)
        shapes.append(result.k)
        k = np.full(len(result.k), 0.1)
        k[np.argmax(result.k)] = 0.9
        return replace(result, k=k)

    monkeypatch.setattr(loo_module, "left_out", left_out_high)
    found = bj.loo(linear)
    assert found["refits"].tolist() == [1]
    worst = int(np.argmax(shapes[0]))
    one, other = (t.attrs["pointwise"]["linear"].to_numpy() for t in (weighted, found))
    assert one[worst] == pytest.approx(other[worst], abs=0.1)
    np.testing.assert_array_equal(np.delete(one, worst), np.delete(other, worst))


@pytest.mark.evidence
def test_rounded_gaussian_scores_on_many_levels_leave_little_to_choose():
    frame = simulate(
        *(120, 2, 3), scenario=0.6, generation=0.3, judge=0.1, interaction=0, residual=0.6, seed=1
    )
    frame["score"] = np.clip(np.round(2 * frame["score"]) / 2, 0, 10)
    scores = bj.read_scores(frame, scale=(0, 10, 0.5))
    models = ("linear", "ordinal_probit")
    found = bj.loo(*(bj.fit(scores, model=name, seed=1) for name in models))
    # Thresholds that are estimated cost about half a unit each; the scores have a dozen levels.
    assert abs(found["difference"].iloc[1]) < 15
    assert abs(found["difference"].iloc[1]) < 0.01 * abs(found["elpd"].iloc[0])


@pytest.mark.evidence
def test_with_enough_scenarios_a_ceiling_is_decided():
    frame = draw_panel(
        *(120, 2, 3),
        thresholds=[-3.0, -2.0, -1.0, 0.0],
        sigma_scenario=1.5,
        sigma_generation=0.5,
        offsets=[-0.4, 0.0, 0.4],
    )
    scores = bj.read_scores(frame, levels=[1, 2, 3, 4, 5])
    found = bj.loo(*(bj.fit(scores, model=name, seed=1) for name in ("linear", "ordinal")))
    assert found.attrs["verdict"].startswith("ordinal predicts scenarios")


@pytest.mark.evidence
def test_leaving_out_every_scenario_by_real_fits(monkeypatch):
    frame = draw_panel(
        *(12, 3, 3),
        thresholds=[-2.0, -0.5, 1.0],
        sigma_scenario=1.2,
        sigma_generation=0.5,
        offsets=[-0.4, 0.0, 0.4],
        seed=6,
    )
    scores = bj.read_scores(frame, levels=[1, 2, 3, 4])
    fits = [bj.fit(scores, model=name, seed=1) for name in ("linear", "ordinal")]
    weighted = bj.loo(*fits, refit=False)
    monkeypatch.setattr(loo_module, "K_MAX", -10.0)
    left = bj.loo(*fits)
    assert (left["refits"] == 12).all()
    difference = left.attrs["pointwise"] - weighted.attrs["pointwise"]
    assert difference.abs().to_numpy().max() < 0.15
    for name in weighted.index:
        error = np.hypot(weighted.loc[name, "mc_error"], left.loc[name, "mc_error"])
        assert abs(difference[name].sum()) < 4 * error + 0.05
