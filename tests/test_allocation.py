"""The variance of ways to spend judge calls: formulas against campaigns and each other."""

import math

import numpy as np
import pytest

import bayesjudge as bj
from bayesjudge.allocations.assignment import assignment_coefficients
from bayesjudge.allocations.coefficients import coefficients
from bayesjudge.allocations.known import ranges
from bayesjudge.allocations.strategies import parse_strategy, why_unreachable
from bayesjudge.allocations.variance import strategy_variance
from bayesjudge.errors import BayesJudgeError
from bayesjudge.terms import TERMS

ALONE = {name: {**dict.fromkeys(TERMS, 0.0), name: 1.0} for name in TERMS}
TOGETHER = dict(zip(TERMS, (1.3, 0.4, 0.7, 0.5, 0.3, 0.6), strict=True))
BY_HAND = ("all", "random", "cyclic", "cyclic-restart", "single", "subset-2", "cyclic-2")


def who_scores(strategy, B, n, K, rng):
    """Draw who scores what: columns scenario, generation, judge of one campaign's calls."""
    panel = rng.permutation(K)
    i = np.repeat(np.arange(n), B)
    turn = np.tile(np.arange(B), n)
    if strategy == "random":
        return i, turn, rng.integers(K, size=n * B)
    if strategy == "cyclic":
        return i, turn, panel[np.arange(n * B) % K]
    if strategy == "cyclic-restart":
        return i, turn, panel[turn % K]
    if strategy == "cyclic-2":
        return i, turn // 2, panel[np.arange(n * B) % K]
    size = {"all": K, "single": 1, "subset-2": 2}[strategy]
    return i, turn // size, panel[turn % size]


def zero_sum(rng, shape, variance):
    """Effects that sum to zero over the last axis, of this variance on average over it."""
    K = shape[-1]
    x = rng.normal(0, math.sqrt(variance * K / (K - 1)), shape)
    return x - x.mean(axis=-1, keepdims=True)


def simulated(strategy, B, n, K, components, campaigns, seed):
    """Mean squared distance of simulated campaigns' scores from the panel mean, and its error."""
    rng = np.random.default_rng(seed)
    c = components
    gamma = zero_sum(rng, (K,), 1.0)
    gamma *= math.sqrt(c["judge"] / (gamma**2).mean())
    squares = np.empty(campaigns)
    for r in range(campaigns):
        i, j, k = who_scores(strategy, B, n, K, rng)
        generations = j.max() + 1
        beta = rng.normal(0, math.sqrt(c["generation"]), (n, generations))
        eta = zero_sum(rng, (n, K), c["scenario:judge"])
        zeta = zero_sum(rng, (n, generations, K), c["generation:judge"])
        noise = rng.normal(0, math.sqrt(c["residual"]), len(i))
        score = beta[i, j] + gamma[k] + eta[i, k] + zeta[i, j, k] + noise
        squares[r] = score.mean() ** 2
    return squares.mean(), squares.std() / math.sqrt(campaigns)


def by_formula(strategy, B, n, K, components, **options):
    return strategy_variance(
        strategy, budget=B, n_scenarios=n, panel_size=K, components=components, **options
    )


def reachable(strategy, B, K):
    return not why_unreachable(parse_strategy(strategy, K), B)


@pytest.mark.parametrize("strategy", BY_HAND)
@pytest.mark.parametrize(("n", "K", "B"), [(40, 5, 5), (41, 3, 2), (41, 3, 6), (40, 8, 12)])
def test_simulated_campaigns(strategy, n, K, B):
    if not reachable(strategy, B, K):
        pytest.skip("a budget that the strategy can't spend")
    found, error = simulated(strategy, B, n, K, TOGETHER, 1500, seed=n + K + B)
    assert found == pytest.approx(by_formula(strategy, B, n, K, TOGETHER), abs=4 * error)


@pytest.mark.evidence
@pytest.mark.parametrize("strategy", BY_HAND)
@pytest.mark.parametrize("alone", ["together", *TERMS[1:]])
@pytest.mark.parametrize("n", [40, 41])
@pytest.mark.parametrize("K", [3, 5, 8])
def test_simulated_campaigns_to_two_percent(strategy, alone, n, K):
    components = TOGETHER if alone == "together" else ALONE[alone]
    for B in range(1, 13):
        if not reachable(strategy, B, K):
            continue
        exact = by_formula(strategy, B, n, K, components)
        if exact == 0:
            found, _ = simulated(strategy, B, n, K, components, 20, seed=B)
            assert found == pytest.approx(0, abs=1e-25)
            continue
        found, error = simulated(strategy, B, n, K, components, 20_000, seed=B)
        assert error < 0.02 * exact
        assert found == pytest.approx(exact, abs=0.02 * exact + 3 * error)


@pytest.mark.parametrize(
    "strategy", ["all", "cyclic", "cyclic-restart", "single", "subset-2", "cyclic-2"]
)
@pytest.mark.parametrize("n", [7, 40, 41])
@pytest.mark.parametrize("K", [2, 3, 5, 8])
@pytest.mark.parametrize("target", ["benchmark", "population"])
def test_the_general_formula_gives_the_same(strategy, n, K, target):
    for B in range(1, 13):
        if not reachable(strategy, B, K):
            continue
        own = coefficients(parse_strategy(strategy, K), B, n, K, target)
        columns = who_scores(strategy, B, n, K, np.random.default_rng(B))
        found = assignment_coefficients(*columns, panel_size=K, target=target)
        for term in TERMS:
            assert found.by_term[term] == pytest.approx(own[term], rel=1e-12, abs=1e-16), (term, B)


def test_random_judges_are_what_assignments_give_on_average():
    n, K, B = 5, 3, 4
    own = coefficients(parse_strategy("random", K), B, n, K)
    rng = np.random.default_rng(0)
    drawn = [
        assignment_coefficients(*who_scores("random", B, n, K, rng), panel_size=K).by_term
        for _ in range(4000)
    ]
    for term in TERMS:
        values = np.array([one[term] for one in drawn])
        error = values.std() / math.sqrt(len(values))
        assert values.mean() == pytest.approx(own[term], abs=4 * error + 1e-15), term


class TestAnyAssignment:
    def campaign(self, seed=0, n=6, K=4):
        rng = np.random.default_rng(seed)
        i = np.concatenate([np.arange(n), rng.integers(n, size=30)])
        w = rng.uniform(0.2, 2, len(i))
        return i, rng.integers(3, size=len(i)), rng.integers(K, size=len(i)), w / w.sum()

    @pytest.mark.parametrize("target", ["benchmark", "population"])
    def test_it_is_the_variance_of_a_dense_covariance(self, target):
        n, K = 6, 4
        i, j, k, w = self.campaign()
        c = TOGETHER
        same = {name: x[:, None] == x[None, :] for name, x in (("i", i), ("j", j), ("k", k))}
        answer = same["i"] & same["j"]
        centred = same["k"] - 1 / K
        free = K / (K - 1)
        covariance = (
            c["generation"] * answer
            + free * c["scenario:judge"] * same["i"] * centred
            + free * c["generation:judge"] * answer * centred
            + c["residual"] * np.eye(len(i))
        )
        exact = w @ covariance @ w
        places = np.bincount(k, w, minlength=K)
        exact += free * c["judge"] * ((places - 1 / K) ** 2).sum()
        by_scenario = np.bincount(i, w, minlength=n)
        if target == "benchmark":
            exact += c["scenario"] * ((by_scenario - 1 / n) ** 2).sum()
            more = {}
        else:  # twenty scenarios, of which these are the first
            contrast = np.r_[by_scenario, np.zeros(20 - n)] - 1 / 20
            exact += c["scenario"] * (contrast**2).sum()
            more = {"target": "population", "dataset_size": 20}
        found = assignment_coefficients(i, j, k, panel_size=K, weight=w, **more)
        assert sum(found.by_term[t] * c[t] for t in TERMS) == pytest.approx(exact, rel=1e-12)
        assert found.judge_weight == pytest.approx(places - 1 / K)
        assert found.residual_share.sum() == pytest.approx(found.by_term["residual"])

    def test_the_order_of_calls_and_the_names_of_generations_do_not_matter(self):
        i, j, k, w = self.campaign()
        one = assignment_coefficients(i, j, k, panel_size=4, weight=w).by_term
        order = np.random.default_rng(1).permutation(len(i))
        other = assignment_coefficients(
            i[order], 100 - 7 * j[order], k[order], panel_size=4, weight=w[order]
        ).by_term
        assert other == pytest.approx(one)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"weight": [0.5, 0.6]}, ["sum to 1.1", "Divide by their sum"]),
            ({"weight": [1.0]}, ["2 numbers, one for each call"]),
            ({"weight": [math.nan, 1.0]}, ["2 numbers"]),
            ({"judge": [0, 3]}, ["judge 3 is not among the 3 of the panel (0 to 2)"]),
            ({"judge": [0]}, ["2, 2 and 1 values"]),
            ({"judge": [0.5, 1]}, ["judge must be a column of whole numbers"]),
            ({"scenario": [-1, 0]}, ["scenario must be a column of whole numbers from 0"]),
            ({"panel_size": 1}, ["panel_size = 1", "at least 2"]),
            ({"target": "world"}, ["'benchmark'", "'population'"]),
            ({"dataset_size": 10}, ["is for target='population'"]),
            ({"scenario": [], "generation": [], "judge": []}, ["at least one"]),
        ],
    )
    def test_refusals(self, change, words):
        given = {"scenario": [0, 1], "generation": [0, 0], "judge": [0, 1], "panel_size": 3}
        given |= change
        if change.get("scenario") == []:
            given |= {name: np.array([], dtype=int) for name in ("scenario", "generation", "judge")}
        columns = [given.pop(name) for name in ("scenario", "generation", "judge")]
        with pytest.raises(BayesJudgeError) as refusal:
            assignment_coefficients(*columns, **given)
        for word in words:
            assert word in str(refusal.value)


class TestThePaper:
    """arXiv 2603.01865, Eqs. 2 to 5: no interactions, whole cycles."""

    @pytest.mark.parametrize("cycles", [1, 2, 5])
    def test_equations(self, cycles):
        b, g, e, n, K = 0.31, 0.17, 0.59, 80, 5
        B = cycles * K
        four = {"scenario": 2.0, "generation": b, "judge": g, "residual": e}
        four |= {"scenario:judge": 0, "generation:judge": 0}
        found = {s: by_formula(s, B, n, K, four) for s in ("all", "random", "cyclic")}
        assert found["all"] == pytest.approx((K * b + e) / (n * B), rel=1e-14)
        assert found["random"] == pytest.approx((b + g + e) / (n * B), rel=1e-14)
        assert found["cyclic"] == pytest.approx((b + e) / (n * B), rel=1e-14)

    def test_a_restart_at_each_scenario_does_not_vanish(self):
        few = by_formula("cyclic-restart", 1, 80, 5, ALONE["judge"])
        many = by_formula("cyclic-restart", 1, 8000, 5, ALONE["judge"])
        assert few == many == pytest.approx(1.0)
        assert by_formula("cyclic", 1, 80, 5, ALONE["judge"]) == 0


KNOWN = {
    "scenario": 1.0,
    "generation": 0.3,
    "judge": 0.5,
    "scenario:judge": 0.2,
    "generation:judge+residual": 0.8,
}


class TestSums:
    """What a table knows only as a sum is enough where the strategy weighs its parts alike."""

    @pytest.mark.parametrize(
        ("strategy", "B"), [("all", 5), ("all", 10), ("random", 3), ("cyclic", 7)]
    )
    def test_a_linear_fit_is_enough(self, strategy, B):
        # Whatever z is: in the sum it counts K/(K-1) z, and the generation component is less.
        K, n = 5, 40
        found = by_formula(strategy, B, n, K, KNOWN)
        for z in (0, 0.2, 0.8 * (K - 1) / K):
            split = {
                **KNOWN,
                "generation": 0.3 + z / (K - 1),
                "generation:judge": z,
                "residual": 0.8 - z * K / (K - 1),
            }
            del split["generation:judge+residual"]
            assert found == pytest.approx(by_formula(strategy, B, n, K, split), rel=1e-12)

    @pytest.mark.parametrize("strategy", ["single", "subset-2"])
    def test_any_answer_of_a_fixed_subset_too(self, strategy):
        assert by_formula(strategy, 4, 40, 5, KNOWN) > 0

    def test_one_generation_a_scenario_tells_no_generation(self):
        known = {
            "scenario+generation": 1.3,
            "judge": 0.5,
            "scenario:judge+generation:judge+residual": 1.0,
        }
        with pytest.raises(BayesJudgeError) as refusal:
            by_formula("cyclic", 5, 40, 5, known)
        for words in ("scenario+generation", "does not tell", "two generations or more"):
            assert words in str(refusal.value)

    def test_cyclic_data_are_enough_for_whole_cycles(self):
        known = {"generation+generation:judge+residual": 0.9, "judge": 0.2, "scenario:judge": 0.1}
        assert by_formula("cyclic", 5, 40, 5, known) == pytest.approx(0.9 / 200)
        with pytest.raises(BayesJudgeError, match="how much"):
            by_formula("all", 5, 40, 5, known)

    def test_the_range_is_that_of_the_extremes(self):
        own = coefficients(parse_strategy("all", 5), 5, 40, 5)
        (found,) = ranges(["generation+residual"], own, 5).values()
        assert (found.low, found.high) == pytest.approx((1 / 200, 1 / 40))
        assert (found.lowest, found.highest) == ("residual", "generation")


def test_draws_give_draws():
    draws = np.array([0.1, 0.2, 0.3])
    found = by_formula("cyclic", 5, 40, 5, {**ALONE["residual"], "residual": draws})
    assert found == pytest.approx(draws / 200)
    assert isinstance(by_formula("cyclic", 5, 40, 5, ALONE["residual"]), float)


def test_the_scenarios_of_a_population_count_less_when_most_are_scored():
    some = by_formula("all", 5, 40, 5, ALONE["scenario"], target="population")
    assert some == pytest.approx(1 / 40)
    most = by_formula("all", 5, 40, 5, ALONE["scenario"], target="population", dataset_size=50)
    assert most == pytest.approx(1 / 40 * (1 - 40 / 50))
    every = by_formula("all", 5, 40, 5, ALONE["scenario"], target="population", dataset_size=40)
    assert every == 0
    assert by_formula("all", 5, 40, 5, ALONE["scenario"]) == 0


REFUSED = {
    "an unknown strategy": ({"strategy": "cylic"}, ["no strategy 'cylic'", "'cyclic'", "subset-2"]),
    "a subset larger than the panel": ({"strategy": "subset-6"}, ["from 1 to 5 judges"]),
    "a subset of none": ({"strategy": "subset-0"}, ["from 1 to 5 judges"]),
    "more judges in turn than there are": ({"strategy": "cyclic-6"}, ["an answer has from 1 to 5"]),
    "a subset of words": ({"strategy": "subset-two"}, ["no strategy 'subset-two'"]),
    "a strategy that is no name": ({"strategy": 3}, ["no strategy 3"]),
    "no budget": ({"budget": 0}, ["budget = 0", "at least 1"]),
    "half a call": ({"budget": 2.5}, ["budget = 2.5", "whole number"]),
    "a budget in words": ({"budget": "5"}, ["budget = '5'"]),
    "no scenarios": ({"n_scenarios": 0}, ["n_scenarios = 0"]),
    "one judge": ({"panel_size": 1}, ["panel_size = 1", "at least 2", "the same"]),
    "part of a panel": (
        {"strategy": "all", "budget": 7},
        ["all spends 5 calls", "budget of 7", "5 or 10 is"],
    ),
    "less than a panel": ({"strategy": "all", "budget": 3}, ["not a multiple of that: 5 is"]),
    "an unknown target": ({"target": "Population"}, ["Did you mean 'population'?"]),
    "a size of a benchmark": ({"dataset_size": 100}, ["for target='population'"]),
    "fewer scenarios than are scored": (
        {"target": "population", "dataset_size": 39},
        ["dataset_size = 39", "at least 40, the 40 scenarios scored"],
    ),
    "no components": ({"components": {}}, ["no components were given"]),
    "an unknown component": (
        {"components": {**TOGETHER, "judges": 1}},
        ["no component 'judges'. Did you mean 'judge'?"],
    ),
    "a component twice": (
        {"components": {**TOGETHER, "scenario+judge": 1}},
        ["scenario is given twice: in 'scenario' and in 'scenario+judge'"],
    ),
    "a negative component": (
        {"components": {**TOGETHER, "judge": -0.1}},
        ["judge = -0.1 can't be a variance", "0 may stand for it"],
    ),
    "no number": ({"components": {**TOGETHER, "judge": "big"}}, ["judge = 'big' is not a number"]),
    "an infinite component": ({"components": {**TOGETHER, "judge": math.inf}}, ["judge = inf"]),
    "a component left out": (
        {"components": {"generation": 1.0, "residual": 1.0}},
        ["cyclic depends on scenario:judge, generation:judge, of which", "scenario:judge=0"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    change, words = REFUSED[case]
    given = {"strategy": "cyclic", "budget": 4, "n_scenarios": 40, "panel_size": 5}
    given |= {"components": TOGETHER} | change
    with pytest.raises(BayesJudgeError) as refusal:
        strategy_variance(given.pop("strategy"), **given)
    for word in words:
        assert word in str(refusal.value)


def test_it_is_public():
    assert bj.strategy_variance is strategy_variance
