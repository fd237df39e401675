"""Campaigns drawn from a pool: formulas against every outcome there is, and against resampling."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from panels import crossed, frame_of, table_of, thinned
from scipy import stats

import bayesjudge as bj
from bayesjudge.allocations.coefficients import coefficients
from bayesjudge.allocations.pool import finite_pool, pool_of, pool_variance
from bayesjudge.allocations.resampling import resampled_scores
from bayesjudge.allocations.strategies import parse_strategy
from bayesjudge.errors import BayesJudgeError, DesignError, ScoreError
from bayesjudge.readers import read_scores

EVERY = ("all", "random", "cyclic")


def every_campaign(strategy, n, m, K, B):
    """Yield the calls (scenario, generation, judge) of each campaign; all are equally likely."""
    if strategy == "all":
        q = B // K
        for answers in itertools.product(range(m), repeat=n * q):
            yield [(c // q, j, k) for c, j in enumerate(answers) for k in range(K)]
    elif strategy == "random":
        for cells in itertools.product(itertools.product(range(m), range(K)), repeat=n * B):
            yield [(c // B, j, k) for c, (j, k) in enumerate(cells)]
    else:
        shuffles = itertools.product(
            itertools.permutations(range(n)), itertools.permutations(range(K))
        )
        for order, panel in shuffles:
            for answers in itertools.product(range(m), repeat=n * B):
                yield [(order[c // B], j, panel[c % K]) for c, j in enumerate(answers)]


def every_score(strategy, x, B):
    found = [[x[call] for call in calls] for calls in every_campaign(strategy, *x.shape, B)]
    return np.array(found).mean(axis=1)


def scores_at_random(n, m, K, seed=0):
    return np.random.default_rng(seed).uniform(0, 10, (n, m, K))


TINY = [
    *[("all", *size) for size in [(2, 2, 2, 2), (2, 2, 2, 4), (2, 3, 3, 3), (2, 2, 3, 6)]],
    *[("random", *size) for size in [(2, 2, 2, 1), (2, 2, 2, 3), (2, 2, 3, 2), (1, 3, 2, 3)]],
    *[("cyclic", 2, 2, 2, B) for B in (1, 2, 3, 4)],
    *[("cyclic", 2, 2, 3, B) for B in (1, 2, 3, 4, 5)],
    *[("cyclic", 3, 1, 4, B) for B in (1, 2, 3, 5)],
    *[("cyclic", 4, 1, 3, B) for B in (1, 2, 4)],
    *[("cyclic", *size) for size in [(1, 2, 3, 2), (3, 2, 2, 3), (5, 1, 4, 3), (3, 2, 3, 2)]],
]


@pytest.mark.parametrize(("strategy", "n", "m", "K", "B"), TINY)
def test_every_outcome_enumerated(strategy, n, m, K, B):
    x = scores_at_random(n, m, K, seed=n + m + K)
    outcomes = every_score(strategy, x, B)
    assert outcomes.mean() == pytest.approx(x.mean(), rel=1e-12)
    exact = ((outcomes - x.mean()) ** 2).mean()
    assert pool_variance(pool_of(x), strategy, B) == pytest.approx(exact, rel=1e-12, abs=1e-28)


@pytest.mark.parametrize("strategy", EVERY)
def test_resampled_scores_come_as_often_as_they_should(strategy):
    x, B, repetitions = scores_at_random(2, 2, 3), 3 if strategy == "all" else 2, 40_000
    outcomes = every_score(strategy, x, B)
    expected = Counter(np.round(outcomes, 9))
    drawn = resampled_scores(x, strategy, B, repetitions, np.random.default_rng(0))
    found = Counter(np.round(drawn, 9))
    assert not found.keys() - expected.keys()
    often = np.array(list(expected.values())) * repetitions / len(outcomes)
    test = stats.chisquare([found[score] for score in expected], often)
    assert test.pvalue > 0.001


def test_resampling_goes_on_from_block_to_block(monkeypatch):
    monkeypatch.setattr("bayesjudge.allocations.resampling._BLOCK", 700)
    x = scores_at_random(7, 3, 3)
    for strategy, B in (("all", 6), ("random", 4), ("cyclic", 4)):
        drawn = resampled_scores(x - x.mean(), strategy, B, 3001, np.random.default_rng(1))
        assert len(drawn) == 3001
        error = (drawn**2).std() / np.sqrt(len(drawn))
        exact = pool_variance(pool_of(x), strategy, B)
        assert (drawn**2).mean() == pytest.approx(exact, abs=4 * error)


@pytest.mark.parametrize("name", ["mtbench", "mindeval"])
def test_resampling_the_examples_gives_what_is_predicted(name):
    found = finite_pool(bj.example(name), [1, 4, 5, 7, 10], repetitions=1000, seed=1)
    known = found[found["reason"] == ""]
    assert len(known) == 5 * (2 + 5 + 5)
    assert ((known["resampled"] - known["predicted"]).abs() < 4 * known["mc_error"]).all()
    assert known["ratio"].between(0.8, 1.2).all()
    assert known["ratio"].to_numpy() == pytest.approx(known["resampled"] / known["predicted"])
    assert (
        found.loc[found["reason"] != "", ["predicted", "resampled", "ratio"]].isna().all(axis=None)
    )


@pytest.mark.evidence
@pytest.mark.parametrize("name", ["mtbench", "mindeval"])
def test_resampling_the_examples_at_every_budget(name):
    found = finite_pool(bj.example(name), range(1, 51))
    known = found[found["reason"] == ""]
    assert len(known) == 5 * (10 + 50 + 50)
    z = (known["resampled"] - known["predicted"]) / known["mc_error"]
    assert z.abs().max() < 4.5
    assert (z**2).mean() == pytest.approx(1, abs=0.2)
    assert known["ratio"].between(0.9, 1.1).all()


class TestMeanSquares:
    """The constants are sums of squares of the table, with other divisors."""

    @pytest.fixture(params=["mindeval", "random"])
    def table(self, request):
        if request.param == "random":
            return table_of(crossed(7, 4, 3))
        return bj.example("mindeval").select(models="Qwen")

    def test_constants(self, table):
        squares = bj.mean_squares(table, interaction=True).loc[table.models[0]]
        ss, ms = squares["ss"], squares["ms"]
        n, K = len(table.scenarios), len(table.judges)
        m = len(table.generations) // n
        found = finite_pool(table, K, repetitions=0).attrs["constants"][table.models[0]]
        unbiased = n * m / (m - 1)
        assert found["all"] * unbiased == pytest.approx(ms["generation"], rel=1e-12)
        per_call = (ms["generation"] + (K - 1) * ms["generation:judge"]) / K
        assert found["cyclic"] * unbiased == pytest.approx(per_call, rel=1e-12)
        within = ss.drop(["scenario", "total"]).sum()
        assert found["random"] == pytest.approx(within / (n**2 * m * K), rel=1e-12)
        raw = bj.anova(table, interaction=True)["raw"].loc[table.models[0]]
        sizes = raw["generation"] + raw.filter(like="residual").iloc[0]
        assert found["cyclic"] * unbiased == pytest.approx(sizes, rel=1e-12)

    def test_partial_cycles_are_those_of_components(self, table):
        n, K = len(table.scenarios), len(table.judges)
        pool = pool_of(table.calls.score.reshape(n, -1, K))
        components = {
            "judge": pool.judge - pool.interaction / (n - 1),
            "scenario:judge": pool.interaction * n / (n - 1),
            "generation": n * pool.constants["cyclic"],
        }
        for B in range(1, 3 * K):
            own = coefficients(parse_strategy("cyclic", K), B, n, K)
            exact = sum(own[name] * value for name, value in components.items())
            assert pool_variance(pool, "cyclic", B) == pytest.approx(exact, rel=1e-12)


class TestWhatDoesNotMatter:
    BUDGETS = (2, 3)

    def found(self, frame, **options):
        table = read_scores(frame, scale=(-100, 100))
        return finite_pool(table, self.BUDGETS, **{"repetitions": 200} | options)

    @pytest.fixture
    def frame(self):
        return frame_of({"A": crossed(5, 3, 3), "B": crossed(4, 2, 3)})

    def test_the_order_of_rows(self, frame):
        shuffled = frame.sample(frac=1, random_state=1)
        pd.testing.assert_frame_equal(self.found(frame), self.found(shuffled), check_exact=True)

    def test_labels(self, frame):
        other = frame.assign(
            scenario=frame["scenario"].map(lambda label: f"q{9 - int(label[1:])}"),
            generation=frame["generation"].map(lambda label: f"x{9 - int(label[1:])}"),
            judge=frame["judge"].map({"j0": "z", "j1": "a", "j2": "k"}),
            model=frame["model"].map({"A": "Z", "B": "B"}),
        )
        one, two = self.found(frame, repetitions=0), self.found(other, repetitions=0)
        two = two.rename(index={"Z": "A"}).loc[one.index]
        assert two["predicted"].to_numpy() == pytest.approx(
            one["predicted"], rel=1e-12, nan_ok=True
        )

    def test_the_unit_and_the_origin_of_scores(self, frame):
        one = self.found(frame)
        two = self.found(frame.assign(score=-3 * frame["score"] + 20))
        for column, unit in (("predicted", 9), ("resampled", 9), ("mc_error", 9), ("ratio", 1)):
            expected = unit * one[column].to_numpy()
            assert two[column].to_numpy() == pytest.approx(expected, rel=1e-10, nan_ok=True)

    def test_what_else_is_asked_for(self, frame):
        whole = self.found(frame, seed=3)
        table = read_scores(frame, scale=(-100, 100)).select(models="B")
        alone = finite_pool(table, 3, "cyclic", repetitions=200, seed=3)
        row = ("B", "cyclic", 3)
        pd.testing.assert_series_equal(whole.loc[row], alone.loc[row], check_exact=True)

    def test_nothing_but_the_seed(self, frame):
        one, other = self.found(frame, seed=1), self.found(frame, seed=2)
        pd.testing.assert_frame_equal(one, self.found(frame, seed=1), check_exact=True)
        moved = one["resampled"].notna()
        assert (one["resampled"] != other["resampled"])[moved].all()
        assert (one["predicted"] == other["predicted"])[moved].all()

    def test_models_draw_apart(self, frame):
        twins = pd.concat([frame[frame["model"] == "A"].assign(model=name) for name in ("C", "D")])
        found = self.found(twins)
        known = found.loc["C"]["resampled"].notna()
        assert found.loc["C"]["predicted"].equals(found.loc["D"]["predicted"])
        assert (found.loc["C"]["resampled"] != found.loc["D"]["resampled"])[known].all()


class TestWhatIsReturned:
    def test_a_row_each(self):
        table = table_of({"A": crossed(3, 2, 3), "B": crossed(3, 2, 2)})
        seen = []
        found = finite_pool(
            table,
            [2, 3],
            ["cyclic", "all"],
            repetitions=50,
            seed=7,
            on_progress=lambda done, total: seen.append((done, total)),
        )
        assert list(found.index.names) == ["model", "strategy", "budget"]
        assert list(found.columns) == ["predicted", "resampled", "mc_error", "ratio", "reason"]
        assert list(found.index[:4]) == [("A", s, b) for s in ("cyclic", "all") for b in (2, 3)]
        assert seen == [(done, 8) for done in range(1, 9)]
        assert found.attrs["repetitions"] == 50
        assert found.attrs["seed"] == 7
        assert set(found.attrs["constants"]) == {"A", "B"}
        constants = found.attrs["constants"]["A"]
        assert set(constants) == set(EVERY)
        assert found.loc[("A", "all", 3), "predicted"] == constants["all"] / 3
        assert found.loc[("A", "cyclic", 3), "predicted"] == constants["cyclic"] / 3
        why = found.loc[("A", "all", 2), "reason"]
        assert "all spends 3 calls" in why
        assert "not a multiple of that: 3 is" in why
        assert found.loc[("B", "all", 2), "reason"] == ""  # B has another panel

    def test_predictions_alone(self):
        found = finite_pool(
            table_of(crossed(3, 2, 3)), [3, 4], repetitions=0, on_progress=lambda *_: 1 / 0
        )
        assert found["predicted"].notna().sum() == 5
        assert found[["resampled", "mc_error", "ratio"]].isna().all(axis=None)
        assert list(found.index[found["reason"] != ""]) == [("A", "all", 4)]

    def test_one_generation_leaves_whole_cycles_nothing_to_draw(self):
        found = finite_pool(table_of(crossed(6, 1, 3)), [3, 4], repetitions=300).loc["A"]
        for row in (("all", 3), ("cyclic", 3)):
            assert found.loc[row, ["predicted", "resampled", "mc_error"]].eq(0).all()
            assert np.isnan(found.loc[row, "ratio"])
            assert "every campaign has the same score" in found.loc[row, "reason"]
        for row in (("random", 3), ("cyclic", 4)):
            assert found.loc[row, "predicted"] > 0
            assert found.loc[row, "reason"] == ""

    def test_offsets_alone_vanish_where_rotations_come_out_even(self):
        x = np.zeros((6, 2, 3)) + 0.1 * np.arange(6)[:, None, None] + 0.7 * np.arange(3)
        pool = pool_of(x)
        assert pool_variance(pool, "cyclic", 2) == 0
        assert pool_variance(pool, "cyclic", 3) == 0
        assert pool_variance(pool_of(x[:5]), "cyclic", 2) > 0

    def test_a_pool_of_equal_scores(self):
        frame = frame_of(crossed(3, 2, 3)).assign(score=0.1 + 0.2)
        found = finite_pool(read_scores(frame, scale=(0, 1)), 3, repetitions=20)
        assert found[["predicted", "resampled"]].eq(0).all(axis=None)
        assert found["ratio"].isna().all()

    def test_a_model_with_one_judge_beside_another(self):
        table = table_of({"A": crossed(3, 2, 3), "B": crossed(3, 2, 1)})
        found = finite_pool(table, 3, repetitions=0)
        assert found.loc["A"]["reason"].eq("").all()
        assert found.loc["B"]["reason"].str.contains("B was scored by one judge").all()
        assert set(found.attrs["constants"]) == {"A"}

    def test_repeated_calls_averaged_on_reading(self):
        rows = crossed(3, 2, 3, repeats=2)
        found = finite_pool(table_of(rows, repeats="mean"), 3, repetitions=0)
        means = frame_of(rows).groupby(["scenario", "generation", "judge"])["score"].mean()
        x = means.to_numpy().reshape(3, 2, 3)
        assert found["predicted"].to_list() == [
            pytest.approx(pool_variance(pool_of(x), strategy, 3)) for strategy in EVERY
        ]


FULL = crossed(4, 2, 3)
REFUSED = {
    "a missing cell": (
        {"scores": table_of(FULL[:-1])},
        DesignError,
        ["draws from complete tables", "'A' (1 of 24 cells missing)", "select(", "allocation(reml"],
    ),
    "more generations of one scenario": (
        {"scores": table_of([*FULL, (0, 2, 0), (0, 2, 1), (0, 2, 2)])},
        DesignError,
        ["'A' (2 to 3 generations per scenario)"],
    ),
    "one of two models": (
        {"scores": table_of({"A": FULL, "B": thinned(FULL, 0.7)})},
        DesignError,
        ["model 'B'"],
    ),
    "repeated calls": (
        {"scores": table_of(crossed(4, 2, 3, repeats=2))},
        DesignError,
        ["model 'A' has 2 each", 'repeats="mean"'],
    ),
    "one judge": (
        {"scores": table_of(crossed(4, 2, 1))},
        BayesJudgeError,
        ["A was scored by one judge"],
    ),
    "a data frame": ({"scores": frame_of(FULL)}, ScoreError, ["read_scores"]),
    "a strategy that is not resampled": (
        {"strategies": ["all", "single"]},
        BayesJudgeError,
        ["does not resample 'single'", "'all', 'random', 'cyclic'"],
    ),
    "a misspelt strategy": ({"strategies": "cylic"}, BayesJudgeError, ["mean 'cyclic'?"]),
    "no strategy": ({"strategies": []}, BayesJudgeError, ["strategies is empty"]),
    "a strategy twice": ({"strategies": ["all", "all"]}, BayesJudgeError, ["all more than once"]),
    "no budget": ({"budgets": []}, BayesJudgeError, ["budgets is empty"]),
    "a budget of none": ({"budgets": [0]}, BayesJudgeError, ["budget = 0", "at least 1"]),
    "half a call": ({"budgets": [2.5]}, BayesJudgeError, ["budget = 2.5"]),
    "a budget that all can't spend, alone": (
        {"budgets": 4, "strategies": "all"},
        BayesJudgeError,
        ["all spends 3 calls", "3 or 6 is"],
    ),
    "fewer repetitions than none": ({"repetitions": -1}, BayesJudgeError, ["repetitions = -1"]),
    "one repetition": ({"repetitions": 1}, BayesJudgeError, ["without an error", "or 0"]),
    "no seed": ({"seed": None}, BayesJudgeError, ["seed = None", "whole number"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    change, error, words = REFUSED[case]
    given = {"scores": table_of(FULL), "budgets": [3], "repetitions": 10} | change
    with pytest.raises(error) as refusal:
        finite_pool(**given)
    for word in words:
        assert word in str(refusal.value)
