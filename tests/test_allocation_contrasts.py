"""What is said of one strategy against another, of single scenarios, and of any calls."""

import math

import numpy as np
import pandas as pd
import pytest
from panels import crossed, cyclic, table_of
from scipy import stats
from test_allocation import TOGETHER, simulated
from test_allocation_dataset import levels_table
from unsampled_fits import linear_fit, ordinal_fit

import bayesjudge as bj
from bayesjudge.errors import BayesJudgeError

FOUR = {"scenario": 1.53, "generation": 0.266, "judge": 0.947, "residual": 1.486}
DRAWS = {
    "scenario": 1.0,
    "generation": np.array([0.1, 0.2, 0.3, 0.4]),
    "judge": np.array([0.9, 0.1, 0.8, 0.4]),
    "scenario:judge": np.array([0.0, 0.3, 0.1, 0.2]),
    "generation:judge": np.array([0.0, 0.0, 1.0, 2.0]),
    "residual": 1.0,
}
BY_HAND = {"n_scenarios": 10, "panel_size": 3}


@pytest.fixture(scope="module")
def tree():
    return linear_fit(table_of(crossed(12, 3, 4)), 0.7, draws=50, spread=0.3)


class TestSavings:
    def test_against_the_formulas(self):
        found = bj.savings(bj.allocation(DRAWS, [3, 6], **BY_HAND))
        b, g, h, z = (
            DRAWS[t] for t in ("generation", "judge", "scenario:judge", "generation:judge")
        )
        own, random = b + z + 1, b + g + h + z + 1
        for budget in (3, 6):
            row = found.loc["given", budget, "random"]
            assert row["ratio"] == pytest.approx(np.median(own / random))
            assert row["ratio_low"] == pytest.approx(np.quantile(own / random, 0.025))
            assert row["p_saving_10"] == np.mean(1 - own / random >= 0.1)
            assert row["extra_calls"] == pytest.approx(budget * np.median(random / own - 1))
            assert math.isnan(row["p_smaller"])  # random judges can't have less
            row = found.loc["given", budget, "all"]
            assert row["p_smaller"] == np.mean(2 * b > z) == 0.5
            assert row["ratio"] == pytest.approx(np.median(own / (3 * b + 1)))

    def test_so_many_calls_more_do_match(self):
        found = bj.savings(bj.allocation(FOUR, [5], n_scenarios=80, panel_size=5))
        rest = {"scenario:judge": 0, "generation:judge": 0}
        for other in ("all", "random"):
            more = found.loc["given", 5, other]["extra_calls"]
            at_5 = bj.strategy_variance(
                other, budget=5, n_scenarios=80, panel_size=5, components=FOUR | rest
            )
            own = bj.strategy_variance(
                "cyclic", budget=5, n_scenarios=80, panel_size=5, components=FOUR | rest
            )
            assert at_5 * 5 / (5 + more) == pytest.approx(own)

    def test_calls_are_saved_alike_for_a_population(self):
        one, other = (
            bj.savings(bj.allocation(FOUR, [5], n_scenarios=80, panel_size=5, target=target))
            for target in ("benchmark", "population")
        )
        assert np.allclose(one["extra_calls"], other["extra_calls"], equal_nan=True)
        assert (other["ratio"] > one["ratio"]).all()  # scenarios are the same to both

    def test_no_probability_that_is_one_by_construction(self, tree):
        found = bj.savings(bj.allocation(tree, [4, 5]))
        assert found["p_smaller"].isna().all()
        table = table_of(crossed(8, 2, 3, repeats=2))
        found = bj.savings(bj.allocation(linear_fit(table, 0.7, draws=20, spread=0.5), [3]))
        assert 0 < found.loc["A", 3, "all"]["p_smaller"] <= 1

    def test_estimates_have_no_probability(self):
        found = bj.savings(bj.allocation(FOUR, [5], n_scenarios=80, panel_size=5))
        assert found.filter(regex="^p_|low|high").isna().all().all()
        assert found["ratio"].notna().all()

    def test_nothing_varies(self):
        none = dict.fromkeys(DRAWS, 0.0)
        found = bj.savings(bj.allocation(none, [3], **BY_HAND))
        assert (found["ratio"] == 1).all()

    def test_refusals(self, tree):
        with pytest.raises(BayesJudgeError, match="the strategies are all"):
            bj.savings(bj.allocation(tree, [4], ["all"]), "all")
        with pytest.raises(BayesJudgeError, match="'cyclic' can't be compared"):
            bj.savings(bj.allocation(tree, [4], ["all", "random"]))


class TestAllOrRandom:
    def test_draws(self):
        row = bj.all_or_random(DRAWS, panel_size=3).loc["given"]
        ratio = DRAWS["judge"] / DRAWS["generation"]
        assert row["ratio"] == pytest.approx(np.median(ratio))
        assert row["threshold"] == 2
        assert row["p_above"] == np.mean(ratio > 2)
        more = DRAWS["judge"] + DRAWS["scenario:judge"] + DRAWS["generation:judge"]
        assert row["p_all_smaller"] == np.mean(2 * DRAWS["generation"] < more)

    def test_a_linear_fit_knows_which_is_smaller(self, tree):
        row = bj.all_or_random(tree).loc["A"]
        found = bj.allocation(tree, [4, 8])["variance"]
        for budget in (4, 8):
            v = found.sel(budget=budget)
            assert row["p_all_smaller"] == float(
                (v.sel(strategy="all") < v.sel(strategy="random")).mean()
            )

    def test_one_answer_a_scenario_tells_nothing(self):
        row = bj.all_or_random(linear_fit(table_of(crossed(8, 1, 3)), 0.7, draws=5)).loc["A"]
        assert row[["ratio", "p_above", "p_all_smaller"]].isna().all()


class TestGenerationSign:
    def test_it_is_the_f_test_of_generations(self):
        scores = table_of(crossed(9, 3, 4), seed=3)
        table = bj.mean_squares(scores).loc["A"]
        f = table.loc["generation", "ms"] / table.loc["generation:judge", "ms"]
        expected = [f, 18, 54, stats.f.sf(f, 18, 54), stats.f.cdf(f, 18, 54)]
        for source in (bj.anova(scores, interaction=True), linear_fit(scores, 0.7, draws=5)):
            assert bj.generation_sign(source).loc["A"].to_numpy() == pytest.approx(expected)

    def test_repeated_calls_have_noise_of_their_own(self):
        scores = table_of(crossed(9, 3, 4, repeats=2), seed=3)
        table = bj.anova(scores, interaction=True).loc["A"]
        f = table.loc["generation", "mean_square"] / table.loc["generation:judge", "mean_square"]
        assert bj.generation_sign(bj.anova(scores, interaction=True)).loc[
            "A", "f"
        ] == pytest.approx(f)

    @pytest.mark.parametrize("rows", [crossed(9, 1, 4), cyclic(9, 4, 4), crossed(9, 3, 1)])
    def test_other_designs_have_none(self, rows):
        assert bj.generation_sign(linear_fit(table_of(rows), 0.7, draws=5)).empty

    def test_reml_has_none(self):
        assert bj.generation_sign(bj.reml(table_of(crossed(9, 3, 4)))).empty

    @pytest.mark.parametrize(("z", "better"), [(0.0, True), (1.5, False)])
    def test_it_sees_who_is_better(self, z, better):
        rng, n, m, K = np.random.default_rng(1), 60, 6, 4
        rows = crossed(n, m, K)
        i, j, k = np.array(rows).T
        zeta = rng.normal(size=(n, m, K)) * math.sqrt(z)
        zeta -= zeta.mean(axis=-1, keepdims=True)
        beta = rng.normal(size=(n, m)) * 0.5
        y = beta[i, j] + zeta[i, j, k] + 0.5 * rng.normal(size=len(rows))
        frame = pd.DataFrame({"model": "A", "scenario": i, "generation": j, "judge": k, "score": y})
        found = bj.generation_sign(bj.anova(bj.read_scores(frame), interaction=True)).loc["A"]
        assert (found["p_above"] < 0.01) == better
        assert (found["p_below"] < 0.01) != better


class TestReliability:
    def test_the_coefficients_of_a_crossed_design(self):
        a, b, g, e = 2.0, 0.3, 0.5, 1.0
        given = {"scenario": a, "generation": b, "judge": g, "residual": e}
        found = bj.reliability(given, [5, 10], ["all", "single"], panel_size=5)
        here = found.sel(model="given", strategy="single", budget=5).squeeze(("chain", "draw"))
        assert here["generalizability"].item() == pytest.approx(a / (a + b / 5 + e / 5))
        assert here["dependability"].item() == pytest.approx(a / (a + b / 5 + e / 5 + g))
        here = found.sel(model="given", strategy="all", budget=10).squeeze(("chain", "draw"))
        assert here["dependability"].item() == pytest.approx(a / (a + b / 2 + e / 10))
        assert here["generalizability"].item() == here["dependability"].item()

    @pytest.mark.parametrize(("strategy", "B"), [("all", 5), ("random", 3), ("cyclic", 7)])
    def test_the_absolute_error_is_that_of_campaigns_of_one_scenario(self, strategy, B):
        found = bj.reliability(TOGETHER, [B], [strategy], panel_size=5)
        exact, error = simulated(strategy, B, 1, 5, TOGETHER, 4000, seed=B)
        assert found["absolute_variance"].item() == pytest.approx(exact, abs=4 * error)

    @pytest.mark.parametrize(
        ("strategy", "B", "shared"),
        [
            ("cyclic", 3, False),
            ("random", 5, False),
            ("cyclic-restart", 3, True),
            ("subset-2", 4, True),
        ],
    )
    def test_what_all_scenarios_share_is_no_relative_error(self, strategy, B, shared):
        found = bj.reliability(TOGETHER, [B], [strategy], panel_size=5)
        same = found["relative_variance"].item() == found["absolute_variance"].item()
        assert same != shared

    def test_nan_where_it_can_not_be_told(self, tree):
        found = bj.reliability(tree, [4, 5], ["all", "subset-2"])
        assert np.isnan(found["dependability"].sel(strategy="all", budget=5)).all()
        assert (
            (found["dependability"].sel(budget=4) > 0) & (found["dependability"].sel(budget=4) < 1)
        ).all()
        one = linear_fit(table_of(crossed(8, 1, 3)), 0.7, draws=5)
        assert np.isnan(bj.reliability(one, [3])["dependability"]).all()


class TestAnyCalls:
    def calls(self, rows):
        frame = pd.DataFrame(rows, columns=["scenario", "generation", "judge"])
        return frame.astype(str).assign(judge="j" + frame["judge"].astype(str))

    def test_a_strategy_written_out_is_the_strategy(self, tree):
        found = bj.assignment_variance(tree, self.calls(crossed(12, 2, 4)))
        exact = bj.allocation(tree, 8, "all")["variance"].squeeze(("strategy", "budget"))
        assert np.allclose(found["variance"], exact)
        assert np.allclose(found["bias"], 0)
        found = bj.assignment_variance(tree, self.calls(cyclic(12, 5, 4)), target="population")
        exact = bj.allocation(tree, 5, "cyclic", target="population")["variance"]
        assert np.allclose(found["variance"], exact.squeeze(("strategy", "budget")))

    def test_weights_and_the_bias_of_this_panel(self, tree):
        rows = [(i, 0, k) for i in range(12) for k in (0, 1)]
        w = np.where(np.arange(24) % 2, 0.25, 0.75) / 12
        found = bj.assignment_variance(tree, self.calls(rows).assign(weight=w))
        gamma = tree["posterior"]["gamma"].isel(model=0)
        bias = 0.75 * gamma.sel(judge="j0") + 0.25 * gamma.sel(judge="j1")
        assert np.allclose(found["bias"].squeeze("model"), bias)

    def test_residuals_of_each_judge(self):
        fit = linear_fit(
            table_of(crossed(8, 2, 3)), 0.7, "linear-judge-residual", draws=20, spread=0.5
        )
        rows = [(i, 0, 1) for i in range(8)]
        found = bj.assignment_variance(fit, self.calls(rows))
        array = next(
            v
            for v in fit["posterior"].data_vars.values()
            if "residual" in v.attrs.get("component", "")
        )
        own = (array.sel(judge="j1") ** 2).squeeze()
        c = bj.components(fit).sel(model="A")
        weight = {"generation": 1 / 8, "judge": 1.0, "scenario:judge": 1 / 8}
        rest = sum(weight[n] * c.sel(component=n) for n in weight)
        assert np.allclose(found["variance"].squeeze("model"), rest + own / 8)

    def test_rows_by_model_and_numbers(self):
        rows = self.calls(crossed(4, 1, 3))
        found = bj.assignment_variance(DRAWS, rows.assign(model="given"))
        exact = bj.strategy_variance("all", budget=3, n_scenarios=4, panel_size=3, components=DRAWS)
        assert found["variance"].to_numpy().ravel() == pytest.approx(exact)
        assert np.isnan(found["bias"]).all()

    def test_models_without_calls_are_left_out(self):
        fit = linear_fit(table_of({name: crossed(6, 2, 3) for name in "AB"}), 0.7, draws=5)
        found = bj.assignment_variance(fit, self.calls(crossed(6, 1, 3)).assign(model="B"))
        assert found["model"].to_numpy().tolist() == ["B"]
        assert "No calls of 'A': left out." in found.attrs["notes"]

    def test_an_open_sum_is_bounded(self):
        fit = linear_fit(table_of(cyclic(12, 6, 4)), 0.7, draws=5)
        found = bj.assignment_variance(fit, self.calls(crossed(12, 2, 4)))
        assert np.isnan(found["variance"]).all()
        assert "does not tell" in found["reason"].item()
        assert (found["variance_low"] < found["variance_high"]).all()

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda f: f.drop(columns="judge"), ["missing: judge", "there are 'scenario'"]),
            (lambda f: f[:0], ["no rows"]),
            (lambda f: f.assign(judge=[None, *f["judge"][1:]]), ["row 1 has no judge"]),
            (lambda f: f.assign(judge="j9"), ["'j9'", "not of the panel of A"]),
            (lambda f: f.assign(model="B"), ["calls name the model 'B'", "of 'A'"]),
            (lambda f: f.assign(weight=1.0), ["the weights sum to 4"]),
        ],
    )
    def test_refusals(self, tree, change, words):
        with pytest.raises(BayesJudgeError) as refusal:
            bj.assignment_variance(tree, change(self.calls(crossed(1, 1, 4))))
        for word in words:
            assert word in str(refusal.value)

    def test_a_panel_that_is_not_all_there(self):
        with pytest.raises(BayesJudgeError, match="at least 2"):
            bj.assignment_variance(DRAWS, self.calls([(0, 0, 0)]))
        found = bj.assignment_variance(DRAWS, self.calls([(0, 0, 0)]), panel=["j0", "j1", "j2"])
        assert found["coefficient"].sel(term="judge").item() == pytest.approx(1)


@pytest.fixture(scope="module")
def fits():
    return {
        "linear": linear_fit(table_of(crossed(12, 3, 4)), 0.7, draws=2000, spread=0.2),
        "ordinal": ordinal_fit(levels_table(), draws=2000, spread=0.2),
    }


class TestFutureScores:
    @pytest.mark.parametrize("family", ["linear", "ordinal"])
    @pytest.mark.parametrize("target", ["benchmark", "population"])
    def test_their_variance_is_the_predicted_one(self, family, target, fits):
        fit = fits[family]
        strategies = {
            "all": 4,
            "random": 3,
            "cyclic": 5,
            "cyclic-restart": 5,
            "single": 2,
            "subset-2": 4,
        }
        found = bj.allocation(
            fit, sorted(set(strategies.values())), list(strategies), target=target
        )
        for strategy, budget in strategies.items():
            scores = bj.future_scores(fit, strategy, budget, target=target, seed=2).to_numpy()
            predicted = found["predictive_variance"].sel(strategy=strategy, budget=budget).item()
            kurtosis = stats.kurtosis(scores.ravel(), fisher=False)
            error = math.sqrt((kurtosis - 1) / scores.size)
            # The judges' offsets and a few scenarios are the same in all draws: hence the slack.
            assert scores.var() / predicted == pytest.approx(1, abs=4 * error + 0.03), strategy

    def test_repeats_and_residuals_by_judge(self):
        fit = linear_fit(
            table_of(crossed(10, 2, 3, repeats=2)),
            0.7,
            "linear-judge-residual",
            draws=2000,
            spread=0.2,
        )
        predicted = bj.allocation(fit, 3, "all")["predictive_variance"].item()
        assert bj.future_scores(fit, "all", 3).to_numpy().var() == pytest.approx(predicted, rel=0.1)

    def test_a_finite_population(self, fits):
        fit = fits["linear"]
        for size in (12, 15, 40):
            own = {"target": "population", "dataset_size": size}
            predicted = bj.allocation(fit, 4, "cyclic", **own)["predictive_variance"].item()
            found = bj.future_scores(fit, "cyclic", 4, **own).to_numpy().var()
            assert found == pytest.approx(predicted, rel=0.15), size

    def test_the_same_seed_gives_the_same(self, fits):
        one, other = (bj.future_scores(fits["linear"], "random", 2, seed=5) for _ in range(2))
        assert (one == other).all()
        assert (one != bj.future_scores(fits["linear"], "random", 2, seed=6)).any()

    def test_refusals(self):
        fit = linear_fit(table_of(crossed(8, 1, 3)), 0.7, draws=5)
        with pytest.raises(BayesJudgeError, match="how much of scenario"):
            bj.future_scores(fit, "all", 3)
        with pytest.raises(BayesJudgeError, match="not a multiple"):
            bj.future_scores(fit, "all", 2)
