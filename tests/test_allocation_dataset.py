"""Allocation from fits, closed forms and numbers: against the formulas, and the paper."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from panels import crossed, cyclic, frame_of, table_of
from unsampled_fits import linear_fit, ordinal_fit

import bayesjudge as bj
from bayesjudge.allocations.sources import read_source
from bayesjudge.allocations.summary import allocation_table, in_words
from bayesjudge.allocations.tradeoffs import scenarios_or_calls
from bayesjudge.errors import BayesJudgeError
from bayesjudge.examples._targets import LABELS, MINDEVAL, MTBENCH

STRATEGIES = ("all", "random", "cyclic", "cyclic-restart", "single", "subset-2")
FOUR = {"scenario": 1.53, "generation": 0.266, "judge": 0.947, "residual": 1.486}
BY_HAND = {"n_scenarios": 80, "panel_size": 5}


@pytest.fixture(scope="module")
def tree():
    return linear_fit(table_of(crossed(12, 3, 4)), 0.7, draws=50, spread=0.3)


def values(dataset, **where):
    return dataset["variance"].sel(**where).to_numpy()


class TestFromAFit:
    @pytest.mark.parametrize("target", ["benchmark", "population"])
    def test_every_draw_is_the_formula(self, tree, target):
        found = bj.allocation(tree, [1, 4, 6, 8], STRATEGIES, target=target)
        assert found["variance"].dims == ("chain", "draw", "model", "strategy", "budget")
        draws = {
            str(name): bj.components(tree).sel(component=name, model="A").to_numpy()
            for name in bj.components(tree)["component"].to_numpy()
        }
        for strategy in STRATEGIES:
            for budget in (1, 4, 6, 8):
                own = values(found, model="A", strategy=strategy, budget=budget)
                reason = found["reason"].sel(model="A", strategy=strategy, budget=budget).item()
                given = {"budget": budget, "n_scenarios": 12, "panel_size": 4, "target": target}
                if reason:
                    assert np.isnan(own).all()
                    with pytest.raises(BayesJudgeError, match=re.escape(reason)):
                        bj.strategy_variance(strategy, components=draws, **given)
                else:
                    exact = bj.strategy_variance(strategy, components=draws, **given)
                    assert own == pytest.approx(exact, rel=1e-12)

    def test_the_calls_add_the_same_for_both_targets(self, tree):
        one = bj.allocation(tree, [4, 5], STRATEGIES)
        other = bj.allocation(tree, [4, 5], STRATEGIES, target="population")
        assert np.allclose(one["call_variance"], other["call_variance"], equal_nan=True)
        assert np.allclose(one["variance"], one["call_variance"], equal_nan=True)
        a = bj.components(tree).sel(component="scenario", drop=True) / 12
        rest = (other["variance"] - other["call_variance"]).sel(strategy="cyclic", budget=4)
        assert np.allclose(rest, a)

    def test_a_finite_population(self, tree):
        found = bj.allocation(tree, 4, "cyclic", target="population", dataset_size=48)
        a = bj.components(tree).sel(component="scenario", drop=True)
        rest = (found["variance"] - found["call_variance"]).squeeze(("strategy", "budget"))
        assert np.allclose(rest, a / 12 * (1 - 12 / 48))

    def test_another_number_of_scenarios(self, tree):
        found = bj.allocation(tree, 4, ["all"], n_scenarios=24)
        assert np.allclose(found["variance"], bj.allocation(tree, 4, ["all"])["variance"] / 2)
        assert json.loads(found.attrs["n_scenarios"]) == {"A": 24}

    def test_residuals_by_judge_count_by_their_mean(self):
        fit = linear_fit(
            table_of(crossed(8, 2, 3)), 0.7, "linear-judge-residual", draws=20, spread=0.5
        )
        found = bj.allocation(fit, 3, ["cyclic"])
        c = bj.components(fit)
        noise = c.sel(component="generation:judge+residual") + c.sel(component="generation")
        assert np.allclose(found["variance"].squeeze(("strategy", "budget")), noise / 24)

    def test_an_ordinal_fit_has_all_six(self):
        fit = ordinal_fit(levels_table(), draws=20)
        found = bj.allocation(fit, [4, 8], STRATEGIES)
        c = {
            str(n): bj.components(fit).sel(component=n)
            for n in bj.components(fit)["component"].to_numpy()
        }
        assert set(c) == {
            "scenario",
            "generation",
            "judge",
            "scenario:judge",
            "generation:judge",
            "residual",
        }
        exact = (4 * c["generation"] + c["residual"]) / (12 * 8)
        assert np.allclose(found["variance"].sel(strategy="all", budget=8), exact)
        assert json.loads(found.attrs["interaction_known"]) == {"A": True}

    def test_a_failed_fit_says_so(self, tree):
        failed = tree.copy()
        failed.attrs = tree.attrs | {"verdict": "failed", "problems": "sigma: R-hat is 2"}
        found = bj.allocation(failed, 4)
        assert found.attrs["verdict"] == "failed"
        assert found.attrs["problems"] == "sigma: R-hat is 2"

    def test_models_with_panels_of_their_own(self):
        rows = {"A": crossed(6, 2, 4), "B": crossed(6, 2, 2), "C": crossed(6, 2, 1)}
        fit = linear_fit(table_of(rows), 0.7, draws=10)
        found = bj.allocation(fit, [2, 4], ["all", "subset-3", "cyclic"])
        assert json.loads(found.attrs["panel_size"]) == {"A": 4, "B": 2, "C": 1}
        reason = found["reason"].sel(strategy="all", budget=2)
        assert "all spends 4 calls" in reason.sel(model="A").item()
        assert reason.sel(model="B").item() == ""
        assert "scored by one judge" in reason.sel(model="C").item()
        assert (
            "from 1 to 2 judges"
            in found["reason"].sel(strategy="subset-3", budget=2, model="B").item()
        )


def levels_table(n=12, m=3, K=4, seed=0):
    frame = frame_of(crossed(n, m, K), seed)
    frame["score"] = 1 + (frame["score"] // 2.5).astype(int)
    return bj.read_scores(frame, levels=[1, 2, 3, 4])


class TestSums:
    def test_cyclic_data_tell_whole_cycles_and_bound_the_rest(self):
        fit = linear_fit(table_of(cyclic(12, 6, 4)), 0.7, draws=30, spread=0.3)
        found = bj.allocation(fit, [4, 6], ["all", "cyclic"])
        assert "generation:judge+residual" not in bj.components(fit)["component"]
        assert np.isfinite(values(found, model="A", strategy="cyclic", budget=4)).all()
        here = found.sel(model="A", strategy="all", budget=4)
        assert np.isnan(here["variance"]).all()
        assert "which the table does not tell" in here["reason"].item()
        c = bj.components(fit)
        together = c.sel(component="generation+generation:judge+residual", model="A")
        assert np.allclose(here["variance_high"], together / 12)  # all of it generation
        assert (here["variance_low"] == 0).all()  # all of it generation:judge, which cancels
        row = allocation_table(found).loc["A", "all", 4]
        assert math.isnan(row["median"])
        assert row["eti_low"] < row["eti_high"]

    def test_sums_of_an_ordinal_fit_are_of_parts_as_they_are(self):
        # One answer a scenario: the interactions in a sum are relative to the panel there too.
        fit = ordinal_fit(levels_table(m=1), draws=10)
        found = bj.allocation(fit, [4], ["cyclic"])
        c = bj.components(fit).sel(model="A")
        sums = [str(name) for name in c["component"].to_numpy() if "+" in str(name)]
        assert sums == ["scenario+generation", "scenario:judge+generation:judge"]
        here = found.sel(model="A", strategy="cyclic", budget=4)
        low = c.sel(component="residual") / 48
        high = low + sum(c.sel(component=name) for name in sums) / 48
        assert np.allclose(here["variance_low"], low)
        assert np.allclose(here["variance_high"], high)

    def test_what_can_not_be_seen_is_not_taken_as_zero(self):
        fit = linear_fit(table_of(crossed(1, 6, 4)), 0.7, draws=10)
        with pytest.raises(BayesJudgeError, match="scenario:judge, of which nothing is known"):
            bj.allocation(fit, [4], ["single"])


class TestPrediction:
    def test_it_is_the_law_of_total_variance(self, tree):
        found = bj.allocation(tree, [4], STRATEGIES, target="population")
        mu = tree["posterior"]["mu"].to_numpy().var()
        assert found["panel_mean_variance"].to_numpy() == pytest.approx(mu)
        v = found["variance"].mean(("chain", "draw"))
        assert np.allclose(found["predictive_variance"], v + mu, equal_nan=True)

    def test_the_same_scenarios_are_better_known_than_others(self, tree):
        here = bj.allocation(tree, [4])["panel_mean_variance"]
        others = bj.allocation(tree, [4], n_scenarios=13)["panel_mean_variance"]
        assert (here < others).all()

    def test_more_of_the_population_seen_is_better_known(self, tree):
        def known(size):
            found = bj.allocation(tree, [4], target="population", dataset_size=size)
            return found["panel_mean_variance"].item()

        benchmark = bj.allocation(tree, [4])["panel_mean_variance"].item()
        assert known(12) == pytest.approx(benchmark)
        assert known(12) < known(13) < known(100) < known(10**7)
        every = bj.allocation(tree, [4], target="population")["panel_mean_variance"].item()
        assert known(10**9) == pytest.approx(every, rel=0.01)

    def test_estimates_predict_nothing(self):
        found = bj.allocation(bj.anova(bj.example("mtbench")), [5])
        assert np.isnan(found["predictive_variance"]).all()
        assert "estimates alone" in found.attrs["predictive_note"]

    def test_answers_confounded_with_scenarios_are_said(self):
        fit = linear_fit(table_of(crossed(12, 1, 4)), 0.7, draws=10)
        found = bj.allocation(fit, [1], ["random"], target="population")
        assert np.isfinite(found["predictive_variance"]).all()
        found = bj.allocation(fit, [4], ["all"])
        assert np.isnan(found["panel_mean_variance"]).all()
        assert "scenario+generation" in found.attrs["predictive_note"]


class TestFromClosedForms:
    @pytest.mark.parametrize(("name", "tables"), [("mtbench", MTBENCH), ("mindeval", MINDEVAL)])
    def test_contributions_of_table_3(self, name, tables):
        table = bj.anova(bj.example(name))
        for term, printed in tables.contribution.items():
            for label, text in zip(LABELS, printed, strict=True):
                own = dict.fromkeys(FOUR, 0.0) | {term: table.loc[(label, term), "estimate"]}
                found = bj.allocation(
                    own, 1, "single", tables.n_scenarios, "population", panel_size=5
                )
                digits = len(text.partition(".")[2])
                slack = 0.5 * 10**-digits + 1e-9
                assert 1000 * found["variance"].item() == pytest.approx(float(text), abs=slack)

    def test_cyclic_judges_save_27_to_40_percent_of_random_ones(self):
        saved = []
        for k in range(5):
            own = {term: float(MTBENCH.variance[term][k]) for term in FOUR}
            found = bj.allocation(own, 5, **BY_HAND)
            rows = bj.savings(found).loc[("given", 5)]
            saved.append(1 - rows.loc["random", "ratio"])
        assert (round(min(saved), 2), round(max(saved), 2)) == (0.27, 0.40)

    def test_the_ratio_of_section_4_4(self):
        table = bj.anova(bj.example("mtbench"))
        found = bj.all_or_random(table)
        assert (found["threshold"] == 4).all()
        above = found.index[found["ratio"] > 4]
        assert set(above) == {"GPT", "Gemini", "Claude"}
        assert found.loc["Gemini", "ratio"] == math.inf  # no generation variance
        assert found["p_above"].isna().all()  # an estimate has no probability

    def test_notes_say_what_was_taken_as_zero(self):
        found = bj.allocation(bj.anova(bj.example("mtbench")), [5])
        assert "no scenario:judge: taken as 0" in found.attrs["notes"]
        assert "negative" in found.attrs["notes"]
        found = bj.allocation(bj.anova(bj.example("mtbench"), interaction=True), [5])
        assert "taken as 0" not in found.attrs["notes"]

    def test_restricted_likelihood(self):
        scores = bj.example("mindeval")
        one = bj.allocation(bj.anova(scores, interaction=True), [5], ["cyclic"])
        other = bj.allocation(bj.reml(scores, interaction=True), [5], ["cyclic"])
        positive = (
            (bj.anova(scores, interaction=True)["raw"] > 0).groupby("model", sort=False).all()
        )
        assert positive.any()
        same = np.isclose(one["variance"], other["variance"], rtol=1e-4).ravel()
        assert same[positive.to_numpy()].all()

    def test_without_the_interaction_all_and_random_are_right_and_cyclic_is_too_large(self):
        scores = bj.example("mtbench")
        with_it = bj.anova(scores, interaction=True)
        label = with_it["raw"].unstack("component").min(axis=1).idxmax()
        one, other = (
            bj.allocation(bj.anova(scores, interaction=own), 5).sel(model=label)["variance"]
            for own in (True, False)
        )
        # The strata are pooled in other shares of their degrees of freedom, hence the slack.
        assert other.sel(strategy="all").item() == pytest.approx(
            one.sel(strategy="all").item(), rel=0.02
        )
        assert other.sel(strategy="random").item() == pytest.approx(
            one.sel(strategy="random").item(), rel=0.02
        )
        h = with_it.loc[(label, "scenario:judge"), "raw"]
        more = (other - one).sel(strategy="cyclic").item()
        assert more == pytest.approx(h / (80 * 5), rel=0.1)


class TestFromNumbers:
    def test_numbers(self):
        found = bj.allocation(FOUR, [5], **BY_HAND)
        assert found["model"].item() == "given"
        b, g, e = FOUR["generation"], FOUR["judge"], FOUR["residual"]
        assert values(found, strategy="all").item() == pytest.approx((5 * b + e) / 400)
        assert values(found, strategy="random").item() == pytest.approx((b + g + e) / 400)
        assert values(found, strategy="cyclic").item() == pytest.approx((b + e) / 400)
        assert "no scenario:judge: taken as 0" in found.attrs["notes"]

    def test_draws(self):
        draws = np.linspace(0.1, 1, 7)
        found = bj.allocation(FOUR | {"generation": draws}, [5], **BY_HAND)
        assert dict(found.sizes)["draw"] == 7
        assert values(found, strategy="cyclic").ravel() == pytest.approx((draws + 1.486) / 400)

    def test_a_main_effect_left_out_is_not_taken_as_zero(self):
        rest = {name: value for name, value in FOUR.items() if name != "judge"}
        found = bj.allocation(rest, [5], **BY_HAND)
        assert np.isnan(values(found, strategy="single")).all()
        assert "judge, of which nothing is known" in found["reason"].sel(strategy="single").item()


class TestScenariosOrCalls:
    def test_it_is_the_formula_at_each_split(self):
        found = scenarios_or_calls(FOUR, 400, [40, 80, 400], panel_size=5)
        assert found["budget"].to_numpy().tolist() == [10, 5, 1]
        for n, budget in ((40, 10), (80, 5), (400, 1)):
            exact = bj.strategy_variance(
                "cyclic",
                budget=budget,
                n_scenarios=n,
                panel_size=5,
                components=FOUR | {"scenario:judge": 0, "generation:judge": 0},
                target="population",
            )
            assert found["variance"].sel(strategy="cyclic", n_scenarios=n).item() == pytest.approx(
                exact
            )

    def test_more_scenarios_are_better_for_a_population(self):
        found = scenarios_or_calls(FOUR, 400, strategies=["cyclic", "random"], panel_size=5)
        v = found["variance"].squeeze(("chain", "draw", "model"))
        assert (v.diff("n_scenarios") < 0).all()
        assert found["n_scenarios"].to_numpy().tolist() == [
            n for n in range(1, 401) if 400 % n == 0
        ]

    def test_and_make_no_difference_for_a_benchmark_of_whole_cycles(self):
        found = scenarios_or_calls(
            FOUR, 400, [20, 40, 80], ["cyclic"], target="benchmark", panel_size=5
        )
        assert np.ptp(found["variance"].to_numpy()) < 1e-15

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"calls": 0}, "calls = 0"),
            (
                {"n_scenarios": [30]},
                "30 does not divide calls = 400: 13 calls for each scenario are 390",
            ),
            ({"n_scenarios": []}, "n_scenarios is empty"),
        ],
    )
    def test_refusals(self, given, words):
        with pytest.raises(BayesJudgeError) as refusal:
            scenarios_or_calls(FOUR, **{"calls": 400, "panel_size": 5} | given)
        assert words in str(refusal.value)


class TestTable:
    def test_it_sums_up_the_draws(self, tree):
        found = bj.allocation(tree, [4, 8])
        table = allocation_table(found)
        row = table.loc["A", "cyclic", 8]
        draws = values(found, model="A", strategy="cyclic", budget=8).ravel()
        assert row["mean"] == pytest.approx(draws.mean())
        assert row["sd"] == pytest.approx(draws.std(ddof=1))
        assert row["se"] == pytest.approx(math.sqrt(np.median(draws)))
        assert (row["eti_low"], row["eti_high"]) == pytest.approx(
            tuple(np.quantile(draws, [0.025, 0.975]))
        )
        assert row["se_high"] == pytest.approx(math.sqrt(row["eti_high"]))
        assert table.loc[("A", "all", 4), "reason"] == ""

    def test_an_estimate_has_no_interval(self):
        table = allocation_table(bj.allocation(FOUR, [4, 5], **BY_HAND))
        assert table[["sd", "eti_low", "eti_high", "se_low", "predictive_sd"]].isna().all().all()
        assert math.isnan(table.loc[("given", "all", 4), "se"])
        assert "not a multiple" in table.loc[("given", "all", 4), "reason"]

    def test_words(self, tree):
        (said,) = in_words(bj.allocation(FOUR, [1, 5], **BY_HAND))
        assert said == (
            "given: at 5 calls a scenario cyclic judges have 38% less variance than all judges and "
            "35% less variance than random judges."
        )
        (said,) = in_words(bj.allocation(tree, [4]))
        assert "(95% interval" in said
        assert in_words(bj.allocation(FOUR, [5], ["all", "random"], **BY_HAND)) == []


REFUSED = {
    "no source": ({"source": 3}, ["can't be read from a int", "mapping such as"]),
    "another table": (
        {"source": pd.DataFrame({"estimate": [1.0]})},
        ["not one of", "attrs['sizes']"],
    ),
    "no panel": ({"panel_size": None}, ["need the number of judges", "panel_size=5"]),
    "a panel of one": ({"panel_size": 1}, ["panel_size = 1", "the same"]),
    "no scenarios": ({"n_scenarios": None}, ["n_scenarios=80"]),
    "half a scenario": ({"n_scenarios": 0.5}, ["n_scenarios = 0.5"]),
    "no budgets": ({"budgets": []}, ["budgets is empty"]),
    "a budget of nothing": ({"budgets": [5, 0]}, ["budget = 0", "judge calls for a scenario"]),
    "a budget twice": ({"budgets": [5, 5]}, ["budgets holds 5 more than once"]),
    "budgets in words": ({"budgets": "5"}, ["budget = '5'"]),
    "no strategies": ({"strategies": []}, ["strategies is empty"]),
    "a strategy twice": ({"strategies": ["all", "all"]}, ["holds all more than once"]),
    "an unknown strategy": ({"strategies": ["cylic"]}, ["Did you mean 'cyclic'?"]),
    "an unreachable budget alone": (
        {"budgets": 7, "strategies": "all"},
        ["not a multiple", "5 or 10 is."],
    ),
    "only unreachable ones": (
        {"budgets": [1, 7], "strategies": ["all"]},
        ["budget of 1", "budget of 7"],
    ),
    "an unknown target": ({"target": "world"}, ["'benchmark'", "'population'"]),
    "a small population": (
        {"target": "population", "dataset_size": 70},
        ["dataset_size = 70", "at least 80"],
    ),
    "a negative component": ({"source": FOUR | {"judge": -1}}, ["judge = -1", "0 may stand"]),
    "draws of two lengths": (
        {"source": FOUR | {"judge": [1.0, 2.0], "residual": [1.0, 2.0, 3.0]}},
        ["draws of one length", "judge: (2,)"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    change, words = REFUSED[case]
    given = {"source": FOUR, "budgets": [5], **BY_HAND} | change
    with pytest.raises(BayesJudgeError) as refusal:
        bj.allocation(**given)
    for word in words:
        assert word in str(refusal.value)


def test_a_fit_knows_its_panel(tree):
    assert read_source(tree, 4).models[0].panel_size == 4
    with pytest.raises(BayesJudgeError, match="A was scored by 4 judges"):
        bj.allocation(tree, [4], panel_size=5)


def test_a_population_smaller_than_the_table(tree):
    with pytest.raises(BayesJudgeError, match="less than the 12 scenarios that A was scored on"):
        bj.allocation(tree, [4], n_scenarios=5, target="population", dataset_size=10)
