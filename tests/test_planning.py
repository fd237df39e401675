"""Plans: against a search through every design, the formulas, and simulated campaigns."""

import math

import numpy as np
import pytest
from panels import crossed, cyclic, table_of
from scipy import optimize
from unsampled_fits import linear_fit, ordinal_fit

import bayesjudge as bj
from bayesjudge.allocations.assignment import assignment_coefficients
from bayesjudge.allocations.grid import Campaign
from bayesjudge.allocations.sources import read_source
from bayesjudge.allocations.strata import (
    in_turn,
    quotas,
    stratified_coefficients,
    unit_variances,
)
from bayesjudge.errors import BayesJudgeError
from bayesjudge.planning.designs import Design
from bayesjudge.planning.prices import read_prices
from bayesjudge.terms import TERMS

FOUR = {"scenario": 1.53, "generation": 0.266, "judge": 0.947, "residual": 1.486}
WHOLE = FOUR | {"scenario:judge": 0.0, "generation:judge": 0.0}
PRICES = {"call": 0.002, "generation": 0.01}
BY_JUDGE = {"call": {"j0": 0.02, "j1": 0.002, "j2": 0.001, "j3": 0.001}, "generation": 0.001}
STRATEGIES = ("cyclic", "cyclic-2", "all", "random", "single", "subset-2")


@pytest.fixture(scope="module")
def tree():
    rows = {name: crossed(12, 3, 4) for name in ("A", "B")}
    return linear_fit(table_of(rows), 0.7, draws=100, spread=0.3)


def judges_of(strategy, K=5):
    return {"all": K, "subset-2": 2, "cyclic-2": 2}.get(strategy, 1)


def every_design(strategy, sizes, most, K=5, prices=PRICES):
    """Costs and variances of all designs, from the formulas alone."""
    for m in range(1, most + 1):
        B = m * judges_of(strategy, K)
        for n in sizes:
            yield n, m, B, n * (m * prices["generation"] + B * prices["call"])


def variance(strategy, n, B, **options):
    return bj.strategy_variance(
        strategy, budget=B, n_scenarios=n, panel_size=5, components=WHOLE, **options
    )


class TestAgainstEveryDesign:
    @pytest.mark.parametrize("limit", [0.15, 0.3, 0.5])
    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_the_cheapest_for_a_population(self, strategy, limit):
        costs = [
            cost
            for n, _, B, cost in every_design(strategy, range(1, 101), 6)
            if variance(strategy, n, B, target="population") <= limit**2
        ]
        given = {"prices": PRICES, "target": "population", "scenarios": 100, "panel_size": 5}
        given |= {"max_generations": 6, "strategies": [strategy]}
        if not costs:
            with pytest.raises(BayesJudgeError, match="out of reach"):
                bj.plan(FOUR, limit, **given)
            return
        row = bj.plan(FOUR, limit, **given).iloc[0]
        assert row["cost"] == pytest.approx(min(costs))
        n, B = int(row["n_scenarios"]), int(row["budget"])
        assert row["se"] ** 2 == pytest.approx(variance(strategy, n, B, target="population"))
        assert row["calls"] == n * B

    @pytest.mark.parametrize("strategy", STRATEGIES[:4])
    def test_the_cheapest_for_a_benchmark(self, strategy):
        found = bj.plan(
            FOUR, 0.06, prices=PRICES, scenarios=80, panel_size=5, strategies=[strategy]
        ).iloc[0]
        costs = [
            cost
            for n, _, B, cost in every_design(strategy, [80], 50)
            if variance(strategy, n, B) <= 0.06**2
        ]
        assert found["cost"] == pytest.approx(min(costs))
        assert found["n_scenarios"] == 80

    @pytest.mark.parametrize("strategy", STRATEGIES)
    @pytest.mark.parametrize("spend", [1.0, 3.7])
    def test_the_best_for_a_price(self, strategy, spend):
        row = bj.plan(
            FOUR,
            spend=spend,
            prices=PRICES,
            target="population",
            scenarios=100,
            panel_size=5,
            strategies=[strategy],
            max_generations=6,
        ).iloc[0]
        best = min(
            variance(strategy, n, B, target="population")
            for n, _, B, cost in every_design(strategy, range(1, 101), 6)
            if cost <= spend + 1e-9
        )
        assert row["cost"] <= spend + 1e-9
        # Calls left over at the end of a rotation can make one scenario less a little better.
        assert row["se"] ** 2 == pytest.approx(best, rel=0.01)

    def test_the_frontier(self):
        given = {"prices": PRICES, "target": "population", "scenarios": 30, "panel_size": 5}
        found = bj.cost_frontier(FOUR, strategies=["cyclic", "all"], max_generations=5, **given)
        assert (found["cost"].diff().dropna() > 0).all()
        assert (found["se"].diff().dropna() < 0).all()
        every = [
            (cost, math.sqrt(variance(s, n, B, target="population")))
            for s in ("cyclic", "all")
            for n, _, B, cost in every_design(s, range(1, 31), 5)
        ]
        for cost, se in every:
            as_cheap = found[found["cost"] <= cost + 1e-12]
            assert as_cheap["se"].min() <= se / 0.99 + 1e-12

    def test_strategies_come_best_first(self):
        found = bj.plan(
            FOUR, 0.1, prices=PRICES, target="population", panel_size=5, strategies=STRATEGIES
        )
        assert found["cost"].is_monotonic_increasing
        assert set(found.index) < set(STRATEGIES)
        assert [text.partition(":")[0] for text in found.attrs["out_of_reach"]] == [
            "single",
            "subset-2",
        ]
        found = bj.plan(FOUR, spend=5.0, prices=PRICES, scenarios=80, panel_size=5)
        assert found["se"].is_monotonic_increasing


class TestPosterior:
    def test_the_probability_is_that_of_the_draws(self, tree):
        found = bj.plan(tree, 0.12, prices=PRICES, probability=0.8)
        v = bj.allocation(tree, sorted(set(found["budget"])), list(found.index))["variance"]
        for strategy, row in found.iterrows():
            here = v.sel(strategy=strategy, budget=row["budget"])
            by_model = (here <= 0.12**2).mean(("chain", "draw"))
            assert row["p_met"] == pytest.approx(by_model.min().item())
            assert 0.8 <= row["p_met"] <= 1
            worst = np.sqrt(here.quantile(0.8, ("chain", "draw")).max()).item()
            assert row["se_certain"] == pytest.approx(worst)
            assert row["se_certain"] <= 0.12

    def test_more_certainty_costs_more(self, tree):
        costs = [
            bj.plan(tree, 0.2, prices=PRICES, probability=p, target="population")["cost"].iloc[0]
            for p in (0.5, 0.9, 0.99)
        ]
        assert costs[0] < costs[1] < costs[2]

    def test_costs_are_of_all_models(self, tree):
        both = bj.plan(tree, 0.2, prices=PRICES, strategies=["cyclic"])
        one = bj.plan(tree, 0.2, prices=PRICES, strategies=["cyclic"], models=["A"])
        assert both.attrs["models"] == ["A", "B"]
        assert both["cost"].iloc[0] >= 2 * one["cost"].iloc[0]
        dear = PRICES | {"generation": {"A": 0.01, "B": 1.0}}
        found = bj.plan(tree, 0.2, prices=dear, strategies=["cyclic"]).iloc[0]
        each = 1.01 + 2 * found["budget"] / found["generations"] * 0.002
        assert found["cost"] == pytest.approx(12 * found["generations"] * each)

    def test_estimates_know_no_probability(self):
        found = bj.plan(FOUR, 0.1, prices=PRICES, scenarios=80, panel_size=5)
        assert found[["se_certain", "p_met"]].isna().all().all()
        assert "probability" not in found.attrs["goal"]

    def test_an_open_sum_counts_at_its_worst(self):
        fit = linear_fit(table_of(cyclic(12, 6, 4)), 0.7, draws=30, spread=0.3)
        found = bj.plan(fit, 0.5, prices=PRICES, strategies=["all"]).iloc[0]
        high = bj.allocation(fit, int(found["budget"]), ["cyclic", "all"])["variance_high"]
        worst = np.sqrt(high.sel(strategy="all").quantile(0.9)).item()
        assert found["se_certain"] == pytest.approx(worst)
        notes = bj.plan(fit, 0.5, prices=PRICES, strategies=["all"]).attrs["notes"]
        assert any("least favourable split" in note for note in notes)

    def test_an_ordinal_fit(self):
        from test_allocation_dataset import levels_table

        found = bj.plan(ordinal_fit(levels_table(), draws=20), 0.2, prices=PRICES)
        assert (found["p_met"] >= 0.9).all()

    def test_a_failed_fit_says_so(self, tree):
        failed = tree.copy()
        failed.attrs = tree.attrs | {"verdict": "failed", "problems": "sigma: R-hat is 2"}
        found = bj.plan(failed, 0.2, prices=PRICES)
        assert found.attrs["verdict"] == "failed"
        assert found.attrs["problems"] == ["sigma: R-hat is 2"]


class TestOrder:
    def test_the_probability_is_that_of_simulated_campaigns(self, tree):
        found = bj.plan(
            tree,
            order=("A", "B"),
            probability=0.6,
            prices=PRICES,
            target="population",
            scenarios=40,
        )
        row = found.loc["cyclic"]
        n, B, K = int(row["n_scenarios"]), int(row["budget"]), 4
        rng = np.random.default_rng(0)
        c, gamma = bj.components(tree), tree["posterior"]["gamma"].to_numpy().reshape(-1, 2, K)
        mu = tree["posterior"]["mu"].to_numpy().reshape(-1, 2)
        sd = {
            name: np.sqrt(c.sel(component=name).to_numpy().reshape(-1, 2))
            for name in map(str, c["component"].to_numpy())
        }
        right = []
        for _ in range(40):
            for d in range(len(mu)):
                panel = rng.permutation(K)[np.arange(n * B) % K]
                score = mu[d] + gamma[d][:, panel].mean(axis=1)
                calls = n * B
                scale = sd["generation"][d] ** 2 + sd["generation:judge+residual"][d] ** 2
                # scenario:judge of whole calls, each scenario's effects summing to zero
                eta = (
                    rng.normal(size=(2, n, K))
                    * (sd["scenario:judge"][d] * math.sqrt(K / (K - 1)))[:, None, None]
                )
                eta -= eta.mean(axis=-1, keepdims=True)
                score = score + eta[:, np.arange(calls) // B, panel].mean(axis=1)
                score = score + rng.normal(size=2) * sd["scenario"][d] / math.sqrt(n)
                score = score + rng.normal(size=2) * np.sqrt(scale / calls)
                right.append((score[0] > score[1]) == (mu[d, 0] > mu[d, 1]))
        error = math.sqrt(0.25 / len(right))
        assert row["p_order"] == pytest.approx(np.mean(right), abs=4 * error)
        assert row["p_order"] >= 0.6

    def test_what_judges_have_against_both_cancels(self):
        rows = {name: crossed(12, 3, 4) for name in ("A", "B")}
        fit = linear_fit(table_of(rows), 0.7, draws=50)
        same = fit.copy()
        gamma = fit["posterior"]["gamma"]
        same["posterior"]["gamma"] = gamma.copy(
            data=np.repeat(gamma.to_numpy()[:, :, :1], 2, axis=2)
        )
        found = bj.plan(
            same, order=("A", "B"), probability=0.5, prices=PRICES, strategies=["single"]
        )
        scenario_judge = bj.components(fit).sel(component="scenario:judge").sum("model") / 12
        assert (found["se_difference"] ** 2).item() > float(np.median(scenario_judge))
        alone = bj.allocation(fit, int(found["budget"].iloc[0]), ["single", "all", "cyclic"])
        judge = bj.components(fit).sel(component="judge").sum("model")
        rest = alone["variance"].sel(strategy="single").sum("model").squeeze("budget") - judge
        assert (found["se_difference"] ** 2).item() == pytest.approx(float(np.median(rest)))

    @pytest.mark.parametrize(
        ("source", "pair", "words"),
        [
            (FOUR, ("A", "B"), "needs a fit"),
            ("tree", ("A", "C"), "'A', 'B'"),
            ("tree", ("A", "A"), "two different evaluated models"),
            ("tree", "AB", "two different evaluated models"),
        ],
    )
    def test_refusals(self, tree, source, pair, words):
        source = tree if source == "tree" else source
        more = {} if source is tree else {"scenarios": 80, "panel_size": 5}
        with pytest.raises(BayesJudgeError, match=words):
            bj.plan(source, order=pair, prices=PRICES, **more)


class TestStratified:
    def test_quotas_sum_up(self):
        rng = np.random.default_rng(0)
        for _ in range(200):
            shares, calls = rng.uniform(0, 1, 5), int(rng.integers(5, 300))
            found = quotas(shares, calls)
            assert sum(found) == calls
            assert min(found) >= 1
        assert quotas([1, 1, 1], 7) == (3, 2, 2)

    def test_whole_rounds_have_each_judge_alike(self):
        sequence = in_turn((10, 20, 30)).reshape(10, 6)
        counts = [np.bincount(row, minlength=3).tolist() for row in sequence]
        assert counts == [[1, 2, 3]] * 10

    def test_equal_shares_are_the_cyclic_strategy(self):
        found = stratified_coefficients((40, 40, 40), 3, Campaign(40))
        own = bj.allocations.coefficients.coefficients
        exact = own(bj.allocations.strategies.parse_strategy("cyclic", 3), 3, 40, 3)
        assert found.by_term == pytest.approx(exact)

    def test_each_judge_weighs_the_same(self):
        found = stratified_coefficients((5, 20, 75), 4, Campaign(25))
        assert found.judge_weight == pytest.approx(np.zeros(3))
        assert found.residual_share == pytest.approx([1 / (9 * n) for n in (5, 20, 75)])

    def test_one_call_a_scenario_is_the_rule_of_neyman(self):
        """n_l in proportion to sqrt(unit variance / price) is what minimising gives."""
        residual, price = np.array([0.4, 1.0, 2.5]), np.array([5.0, 1.0, 0.5])
        shared = 1.5 + 0.3 + 0.2  # scenario, generation, scenario:judge
        n, K = 3000, 3

        def exact(calls):
            own = stratified_coefficients(calls, 1, Campaign(n, "population"))
            terms = {"scenario": 1.5, "generation": 0.3, "scenario:judge": 0.2}
            return sum(own.by_term[t] * v for t, v in terms.items()) + own.residual_share @ residual

        best = np.sqrt((shared + residual) / price)
        calls = quotas(best, n)
        approximation = ((shared + residual) / np.array(calls)).sum() / K**2
        assert exact(calls) == pytest.approx(approximation, rel=1e-9)

        def cost_times_variance(logits):
            share = np.exp(logits) / np.exp(logits).sum()
            return (share @ price) * ((shared + residual) / share).sum()

        found = optimize.minimize(cost_times_variance, np.zeros(3), method="Nelder-Mead").x
        assert np.exp(found) / np.exp(found).sum() == pytest.approx(best / best.sum(), rel=1e-3)

    def test_the_dense_variance(self):
        calls, B, n = (3, 5, 12), 4, 5
        own = stratified_coefficients(calls, B, Campaign(n))
        judge = in_turn(calls)
        again = assignment_coefficients(
            np.repeat(np.arange(n), B),
            np.tile(np.arange(B), n),
            judge,
            panel_size=3,
            weight=1 / (3 * np.array(calls)[judge]),
        )
        assert own.by_term == pytest.approx(again.by_term)
        assert set(own.by_term) == set(TERMS)

    @pytest.mark.parametrize("target", ["benchmark", "population"])
    def test_it_is_cheaper_than_equal_shares_where_prices_differ(self, tree, target):
        found = bj.plan(tree, 0.3, prices=BY_JUDGE, target=target)
        assert found.loc["stratified", "cost"] < found.loc["cyclic", "cost"]
        assert found.loc["stratified", "p_met"] >= 0.9
        calls = found.attrs["calls_by_judge"]
        row = found.loc["stratified"]
        assert sum(calls.values()) == row["n_scenarios"] * row["budget"]
        assert calls["j0"] < calls["j1"] < calls["j2"]
        price = sum(calls[j] * p for j, p in BY_JUDGE["call"].items())
        answers = row["n_scenarios"] * row["generations"] * 0.001
        assert row["cost"] == pytest.approx(2 * (price + answers))

    def test_noisy_judges_have_more_calls(self):
        fit = linear_fit(
            table_of(crossed(12, 3, 4)), 0.7, "linear-judge-residual", draws=20, spread=0.5
        )
        found = bj.plan(fit, 0.2, prices=PRICES)
        assert "stratified" in found.index
        calls = list(found.attrs["calls_by_judge"].values())
        noise = read_source(fit).models[0].own_residuals.mean(axis=(0, 1))
        assert np.argmax(calls) == np.argmax(noise)
        unit = unit_variances(read_source(fit), sees_all=True)
        assert unit - unit.mean() == pytest.approx(noise - noise.mean())

    def test_a_price(self, tree):
        found = bj.plan(tree, spend=3.0, prices=BY_JUDGE)
        assert (found["cost"] <= 3.0).all()
        assert found.index[0] == "stratified"

    def test_no_price_at_all(self, tree):
        free = {"call": {"j0": 0.02, "j1": 0.0, "j2": 0.0, "j3": 0.0}, "generation": 0}
        found = bj.plan(tree, 0.3, prices=free, strategies=["stratified", "cyclic"])
        assert found.index[0] == "stratified"
        assert min(found.attrs["calls_by_judge"].values()) >= 1

    def test_refused_where_all_are_alike(self, tree):
        with pytest.raises(BayesJudgeError, match="equal shares, as in 'cyclic', are best"):
            bj.plan(tree, 0.3, prices=PRICES, strategies=["stratified"])


class TestPrices:
    def test_costs(self):
        priced = read_prices({"call": 0.5, "generation": {"A": 1, "B": 2}}, ["A", "B"], None)
        assert priced.cost(Design("all", 10, 5), 1) == 10 * (3 + 2 * 5 * 0.5)
        priced = read_prices({"call": {"x": 1, "y": 3}, "generation": 0}, ["A"], ["x", "y"])
        assert priced.cost(Design("cyclic", 10, 4), 4) == 10 * 4 * 2
        assert priced.cost(Design("stratified", 10, 4, (30, 10)), 4) == 30 + 30

    @pytest.mark.parametrize(
        ("prices", "words"),
        [
            (0.1, ["must be a mapping"]),
            ({"call": 1}, ["generation is missing", "generation: 0 if nothing"]),
            ({"generation": 1}, ["call is missing: what one judge call costs"]),
            ({"call": 1, "generation": 1, "calls": 2}, ["no 'calls'", "Did you mean 'call'?"]),
            ({"call": -1, "generation": 1}, ["call = -1", "at least 0"]),
            ({"call": "dear", "generation": 1}, ["call = 'dear'"]),
            ({"call": math.nan, "generation": 1}, ["call = nan"]),
            ({"call": True, "generation": 1}, ["call = True"]),
            ({"call": 0, "generation": 0}, ["nothing costs anything"]),
            ({"call": {"x": 1}, "generation": 1}, ["none for 'y'", "one for each judge: 'x', 'y'"]),
            ({"call": {"x": 1, "y": 1, "z": 1}, "generation": 1}, ["one for 'z'"]),
            ({"call": {"x": 1, "y": -1}, "generation": 1}, ["call of y = -1"]),
            ({"call": 1, "generation": {"B": 1}}, ["none for 'A'", "each model"]),
        ],
    )
    def test_refusals(self, prices, words):
        with pytest.raises(BayesJudgeError) as refusal:
            read_prices(prices, ["A"], ["x", "y"])
        for word in words:
            assert word in str(refusal.value)


REFUSED = {
    "no goal": ({"target_se": None}, ["what for?", "spend=100"]),
    "two goals": ({"order": ("A", "B")}, ["one goal"]),
    "a target and a price": ({"spend": 3}, ["one goal"]),
    "a target of nothing": ({"target_se": 0}, ["target_se = 0", "above 0"]),
    "a target in words": ({"target_se": "small"}, ["target_se = 'small'"]),
    "a price of nothing": ({"target_se": None, "spend": -1}, ["spend = -1"]),
    "too little to spend": (
        {"target_se": None, "spend": 1e-6},
        ["a campaign for 1e-06 is out of reach", "cyclic: the smallest design costs 0.96"],
    ),
    "a certainty": ({"probability": 1.0}, ["prob"]),
    "a size of the benchmark": ({"scenarios": None}, ["how many scenarios", "scenarios=80"]),
    "no scenarios": ({"scenarios": 0}, ["scenarios = 0"]),
    "no generations": ({"max_generations": 0}, ["max_generations = 0"]),
    "no panel": ({"panel_size": None}, ["panel_size=5"]),
    "an unknown strategy": ({"strategies": ["cylic"]}, ["Did you mean 'cyclic'?"]),
    "an unknown model": ({"models": ["A"]}, ["models = ['A']", "'given'"]),
    "an unknown target": ({"target": "world"}, ["'population'"]),
    "out of reach": (
        {"target_se": 1e-4},
        [
            "a standard error of 0.0001 is out of reach",
            "cyclic: 80 scenarios with 50 answers and 50 calls each reach",
            "a standard error of 0.0209",
        ],
    ),
    "prices of other judges": (
        {"prices": {"call": {"x": 1, "y": 2}, "generation": 0}},
        ["names 2 judges of a panel of 5"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    change, words = REFUSED[case]
    given = {"target_se": 0.1, "prices": PRICES, "scenarios": 80, "panel_size": 5} | change
    with pytest.raises(BayesJudgeError) as refusal:
        bj.plan(FOUR, **given)
    for word in words:
        assert word in str(refusal.value)


def test_a_frontier_needs_an_end():
    with pytest.raises(BayesJudgeError, match="scenarios=500"):
        bj.cost_frontier(FOUR, prices=PRICES, target="population", panel_size=5)


def test_a_component_that_is_not_known():
    rest = {name: value for name, value in FOUR.items() if name != "judge"}
    with pytest.raises(BayesJudgeError, match="judge, of which nothing is known"):
        bj.plan(rest, 0.1, prices=PRICES, scenarios=80, panel_size=5, strategies=["single"])


def test_models_of_different_panels():
    rows = {"A": crossed(6, 2, 4), "B": crossed(6, 2, 2)}
    fit = linear_fit(table_of(rows), 0.7, draws=10)
    with pytest.raises(BayesJudgeError, match="not scored by the same judges"):
        bj.plan(fit, 0.1, prices=PRICES)
    assert len(bj.plan(fit, 0.5, prices=PRICES, models=["B"], strategies=["cyclic"])) == 1
