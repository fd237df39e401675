"""The audit of finished runs: planted faults are found, and clean runs are not blamed."""

import json
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panels import crossed, cyclic, frame_of, table_of
from scipy import stats
from test_cli import run  # noqa: F401 - a fixture
from unsampled_fits import linear_fit

import bayesjudge as bj
from bayesjudge import cli
from bayesjudge.allocations.executed import assignment_variance
from bayesjudge.cli.audits import audit as command
from bayesjudge.errors import BayesJudgeError
from bayesjudge.readers import read_scores
from bayesjudge.schedules.assignments import assign
from bayesjudge.schedules.audits import audit
from bayesjudge.schedules.dependence import of_categories, of_numbers
from bayesjudge.schedules.permutations import permutations
from bayesjudge.schedules.runs import recognise, runs
from bayesjudge.schedules.storage import write_schedule
from bayesjudge.terms import TERMS

PANEL = ["j0", "j1", "j2", "j3", "j4"]
SIX = {
    "scenario": 0.9,
    "generation": 0.4,
    "judge": 0.6,
    "scenario:judge": 0.3,
    "generation:judge": 0.2,
    "residual": 1.1,
}


def made(schedule, seed=0, **columns):
    """The frame of a run that follows a schedule, scores at random."""
    rng = np.random.default_rng(seed)
    frame = schedule.copy()
    if "model" not in frame:
        frame.insert(0, "model", "A")
    frame["generation"] = frame["generation"].astype(str)
    frame["score"] = rng.uniform(0, 10, len(frame)).round(2)
    return frame.assign(**columns)


def read(frame, **options):
    return read_scores(frame, scale=(0, 10), **options)


def scheduled(n=60, budget=5, strategy="cyclic", panel=PANEL, seed=1, **options):
    return assign([f"s{i}" for i in range(n)], panel, strategy, budget=budget, seed=seed, **options)


def text(found):
    return " ".join(found.warnings)


class TestShares:
    def test_of_a_clean_rotation(self):
        found = audit(read(made(scheduled(10, 4))))
        assert found.warnings == ()
        assert found.strategies == ("cyclic",)
        row = found.shares.loc["A", "j0"]
        assert row["calls"] == row["scored"] == 8
        assert (row["share"], row["equal_share"], row["excess"]) == (0.2, 0.2, 0)

    def test_a_judge_who_is_called_too_often(self):
        frame = made(scheduled(60, 5))
        there = frame.index[frame["judge"] == "j1"][:30]
        frame.loc[there, "judge"] = "j4"
        found = audit(read(frame), strategy="cyclic")
        assert "go from 30 (j1) to 90 (j4), and an equal share is 60" in text(found)
        assert found.shares["excess"].to_dict()["A", "j4"] == 30
        assert "drawn by chance would hardly" in text(audit(read(frame)))

    def test_two_calls_of_difference_are_no_rotation(self):
        frame = made(scheduled(12, 2, panel=PANEL[:3]))
        frame.loc[frame.index[frame["judge"] == "j0"][0], "judge"] = "j1"
        assert "go from 7 (j0) to 9 (j1)" in text(audit(read(frame), strategy="cyclic"))
        assert audit(read(frame)).warnings == ()

    def test_drawn_judges_need_not_be_equal(self):
        found = audit(read(made(scheduled(60, 5, "random", seed=2))), strategy="random")
        assert np.ptp(found.shares["scored"]) > 1
        assert found.warnings == ()

    def test_a_judge_without_calls_for_a_model_is_shown(self):
        frame = pd.concat([frame_of(crossed(4, 1, 3)), frame_of(crossed(4, 1, 2), model="B")])
        found = audit(read(frame))
        assert found.shares.loc[("B", "j2"), "calls"] == 0
        assert np.isnan(found.shares.loc[("B", "j2"), "missing_rate"])
        assert found.strategies == ("all", "subset-2")

    def test_a_judge_who_always_fails_is_of_the_panel(self):
        frame = made(scheduled(40, 5))
        frame.loc[frame["judge"] == "j3", "score"] = np.nan
        found = audit(read(frame), SIX, strategy="cyclic")
        assert found.shares.loc[("A", "j3"), "equal_share"] == 0.2
        assert "j3 fails more than the others on A: 40 of 40 calls" in text(found)
        assert "less precise than planned" in text(found)

    def test_failures_are_tested_exactly(self):
        frame = made(scheduled(40, 5))
        frame.loc[frame.index[frame["judge"] == "j2"][:6], "score"] = np.nan
        frame.loc[frame.index[frame["judge"] == "j0"][:1], "score"] = np.nan
        found = audit(read(frame)).shares["p_fails_more"]
        for judge, lost, others in (("j2", 6, 1), ("j0", 1, 6), ("j1", 0, 7)):
            by_hand = stats.fisher_exact([[lost, 40 - lost], [others, 160 - others]], "greater")
            assert found["A", judge] == pytest.approx(by_hand.pvalue)

    def test_failures_at_random_are_not_blamed(self):
        blamed = 0
        for seed in range(50):
            frame = made(scheduled(40, 5, models=["A", "B"]))
            lost = np.random.default_rng(seed).random(len(frame)) < 0.05
            frame.loc[lost, "score"] = np.nan
            shares = audit(read(frame), columns=[]).shares
            blamed += bool((shares["p_fails_more"] < 0.05 / len(shares)).any())
        assert blamed <= 7

    def test_scenarios_without_any_score(self):
        frame = made(scheduled(10, 5))
        frame.loc[frame["scenario"] == "s3", "score"] = np.nan
        found = audit(read(frame), strategy="cyclic")
        assert "1 scenario has no score at all, of 10" in text(found)
        # Nine of ten scenarios: 1/9 - 1/10 of the scenario component.
        assert found.coefficients["executed"]["A", "scenario"] == pytest.approx(1 / 9 - 1 / 10)


@pytest.mark.parametrize(
    ("strategy", "budget", "looks_like"),
    [
        ("all", 5, "all"),
        ("cyclic", 4, "cyclic"),
        ("cyclic", 7, "cyclic"),
        ("cyclic-2", 4, "cyclic-2"),
        ("cyclic-3", 6, "cyclic-3"),
        ("cyclic-restart", 3, "cyclic-restart"),
        ("single", 2, "single"),
        ("subset-3", 3, "subset-3"),
        ("random", 4, ""),
    ],
)
def test_strategies_are_recognised(strategy, budget, looks_like):
    (found,) = runs(read(made(scheduled(30, budget, strategy))).frame, PANEL)
    assert recognise(found) == looks_like


def test_what_the_calls_look_like_is_said():
    frames = {s: made(scheduled(30, 4, s), model=s) for s in ("cyclic", "cyclic-2", "random")}
    found = audit(read(pd.concat(frames.values())))
    assert found.strategies == ("cyclic", "cyclic-2", "")
    notes = " ".join(found.notes)
    for said in (
        "calls of cyclic look like strategy 'cyclic': one judge",
        "'cyclic-2': 2 judges",
        "calls of random look like no known strategy",
    ):
        assert said in notes


class TestDepartures:
    def test_each_kind(self):
        schedule = scheduled(6, 2, panel=PANEL[:3])
        frame = made(schedule)
        frame.loc[1, "score"] = np.nan  # failed
        other = {"j0": "j1", "j1": "j2", "j2": "j0"}
        frame.loc[3, "judge"] = other[frame.loc[3, "judge"]]  # replaced
        frame.loc[5, "score"] = np.nan  # failed, and somebody else stepped in
        extra = frame.loc[[5]].assign(score=5.0, judge=other[frame.loc[5, "judge"]])
        beyond = frame.loc[[0]].assign(generation="9")  # unplanned
        frame = pd.concat([frame.drop(index=7), extra, beyond])  # 7 not made
        found = audit(read(frame), schedule=schedule)
        assert found.departures.loc["A"].to_dict() == {
            "planned": 12,
            "made": 8,
            "failed": 1,
            "replaced": 2,
            "not_made": 1,
            "unplanned": 1,
        }
        rows = found.departure_rows.set_index("kind")
        assert rows.loc["failed", "scenario"] == schedule.loc[1, "scenario"]
        assert set(rows.loc["replaced", "scenario"]) == set(schedule.loc[[3, 5], "scenario"])
        assert (rows.loc["replaced", "planned"] != rows.loc["replaced", "scored_by"]).all()
        assert rows.loc["not_made", "scenario"] == schedule.loc[7, "scenario"]
        assert rows.loc["unplanned", "generation"] == "9"
        assert (
            "A departs from the schedule: of 12 planned calls 2 replaced by another judge, "
            "1 without a score, 1 not made; 1 made that nobody planned."
        ) in found.warnings

    def test_none(self, tmp_path):
        schedule = scheduled(8, 3, models=["A", "B"])
        for ending in ("csv", "jsonl"):
            write_schedule(schedule, tmp_path / f"s.{ending}")
            found = audit(read(made(schedule)), schedule=tmp_path / f"s.{ending}")
            assert found.departures["made"].tolist() == [24, 24]
            assert not len(found.departure_rows)
            assert not [w for w in found.warnings if "departs" in w]

    def test_a_schedule_without_models_is_for_all(self):
        schedule = scheduled(8, 3)
        frame = pd.concat([made(schedule, model="A"), made(schedule, model="B")])
        found = audit(read(frame), schedule=schedule)
        assert found.departures["made"].to_dict() == {"A": 24, "B": 24}

    def test_a_model_that_was_not_run(self):
        schedule = scheduled(8, 3, models=["A", "B"])
        frame = made(schedule)
        found = audit(read(frame[frame["model"] == "A"]), schedule=schedule)
        assert found.departures["not_made"].to_dict() == {"A": 0, "B": 24}

    def test_a_planned_judge_without_calls_is_of_the_panel(self):
        schedule = scheduled(8, 3, panel=PANEL[:3])
        frame = made(schedule)
        found = audit(read(frame[frame["judge"] != "j1"]), schedule=schedule)
        assert found.shares.loc[("A", "j1"), "calls"] == 0
        assert found.departures["not_made"].tolist() == [8]
        assert "to 8 (j0), and an equal share is 5.333" in text(found)

    def test_a_call_that_was_repeated_after_it_failed_was_made(self):
        schedule = scheduled(6, 2)
        frame = made(schedule)
        frame = pd.concat([frame.loc[[0]].assign(score=np.nan), frame])
        found = audit(read(frame, repeats="keep"), schedule=schedule)
        assert found.departures.loc["A", ["made", "failed", "unplanned"]].tolist() == [12, 0, 1]

    def test_exclusion_is_no_fault_of_the_run(self):
        families = {"A": "x", "j0": "x"}
        schedule = scheduled(30, 4, models=["A", "B"], families=families, exclude_own_family=True)
        assert audit(read(made(schedule)), schedule=schedule).warnings == ()
        found = audit(read(made(schedule)), strategy="cyclic", families=families)
        assert found.warnings == ()


def categories(n, seed, kinds=3):
    drawn = np.random.default_rng(seed).integers(kinds, size=n)
    return {f"s{i}": "abcdefgh"[kind] for i, kind in enumerate(drawn)}


class TestAliasing:
    def test_clean_rotations_are_not_flagged(self):
        flagged = 0
        for seed in range(50):
            schedule = scheduled(60, 5, panel=[*PANEL, "j5", "j6"], seed=seed)
            of = categories(60, 100 + seed)
            frame = made(schedule, category=schedule["scenario"].map(of))
            found = audit(read(frame), strategy="cyclic", columns=["category"])
            flagged += bool(found.aliasing["flagged"]["A", "category"])
            assert not [w for w in found.warnings if "depends on" in w]
        assert flagged <= 5

    @pytest.mark.parametrize("strategy", ["random", "cyclic"])
    def test_p_values_of_clean_runs_are_uniform_or_larger(self, strategy):
        p = []
        for seed in range(80):
            rng = np.random.default_rng(seed)
            schedule = scheduled(20, 3, strategy, panel=PANEL[:4], seed=seed)
            level = schedule["scenario"].map({f"s{i}": rng.normal() for i in range(20)})
            # Alike within scenarios, though not the same.
            length = level + 0.3 * rng.normal(size=len(schedule))
            frame = made(schedule, length=length)
            p.append(audit(read(frame), columns=["length"]).aliasing["p_value"]["A", "length"])
        for level in (0.05, 0.2):
            assert np.mean(np.array(p) <= level) < level + 3 * sqrt(level * (1 - level) / 80)

    def test_a_category_that_goes_to_one_judge(self):
        schedule = scheduled(60, 5)
        of = categories(60, 3)
        frame = made(schedule, category=schedule["scenario"].map(of))
        of_a = frame.index[(frame["category"] == "a") & (frame["judge"] != "j2")]
        frame.loc[of_a[::2], "judge"] = "j2"
        found = audit(read(frame.drop_duplicates(["scenario", "generation", "judge"])))
        row = found.aliasing.loc["A", "category"]
        assert row["flagged"]
        assert (row["judge"], row["value"], row["constant_within"]) == ("j2", "a", "scenario")
        assert "which judge scores depends on 'category'" in text(found)
        assert f"j2 has {row['observed']:.0f} scored calls where category is 'a'" in text(found)

    def test_long_answers_that_go_to_one_judge(self):
        schedule = scheduled(60, 5)
        rng = np.random.default_rng(0)
        length = rng.normal(500, 100, len(schedule)) + 150 * (schedule["judge"] == "j1")
        found = audit(read(made(schedule, length=length)))
        row = found.aliasing.loc["A", "length"]
        assert row["flagged"]
        assert (row["measure"], row["judge"]) == ("eta²", "j1")
        assert "the calls of j1 have a mean length of" in text(found)

    def test_failures_on_a_category(self):
        schedule = scheduled(60, 5)
        frame = made(schedule, category=schedule["scenario"].map(categories(60, 4)))
        lost = (frame["judge"] == "j3") & (frame["category"] == "b")
        frame.loc[lost, "score"] = np.nan
        found = audit(read(frame))
        assert found.aliasing.loc[("A", "category"), "p_value"] == 0.001

    def test_generations_in_full_cycles_are_noted(self):
        found = audit(read(made(scheduled(60, 5))))
        assert found.aliasing.loc[("A", "generation"), "effect"] == pytest.approx(1)
        assert found.warnings == ()
        assert "harmless where generations are exchangeable" in " ".join(found.notes)
        found = audit(read(made(scheduled(60, 4))))
        assert not found.aliasing["flagged"].any()

    def test_where_all_score_all_there_is_none(self):
        frame = frame_of(crossed(10, 2, 3)).assign(category="x")
        found = audit(read(frame))
        assert found.aliasing["p_value"].isna().all()
        assert any("every judge scored every generation" in note for note in found.notes)

    def test_columns_that_can_not_be_tested(self):
        schedule = scheduled(30, 4)
        n = len(schedule)
        frame = made(
            schedule,
            answer=[f"text {i}" for i in range(n)],
            constant="x",
            tags=[["a", i % 2] for i in range(n)],
            day=pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(n), "D"),
        )
        table = audit(read(frame)).aliasing.loc["A"]
        assert "different texts, too many" in table.loc["answer", "reason"]
        assert table.loc["constant", "reason"] == "it has one value"
        assert table.loc["tags", "measure"] == "Cramér's V"
        assert table.loc["day", "measure"] == "eta²"
        frame = made(scheduled(30, 4, "cyclic-2"))
        found = audit(read(frame.assign(maker=frame["judge"].str.upper())))
        assert "describes the judges" in found.aliasing.loc[("A", "maker"), "reason"]

    def test_missing_values_are_a_category(self):
        schedule = scheduled(60, 5)
        category = schedule["scenario"].map(categories(60, 4))
        category = category.where((schedule["judge"] != "j2"), None)
        row = audit(read(made(schedule, category=category))).aliasing.loc["A", "category"]
        assert row["flagged"]
        assert (row["judge"], row["value"]) == ("j2", "(missing)")

    def test_many_tests_have_permutations_enough(self):
        columns = {f"c{i}": 0 for i in range(40)}
        frame = made(scheduled(30, 4))
        rng = np.random.default_rng(0)
        frame = frame.assign(**{name: rng.integers(3, size=len(frame)) for name in columns})
        frame["c7"] = frame["judge"].map({j: k // 2 for k, j in enumerate(PANEL)})
        found = audit(read(frame)).aliasing
        assert found.attrs["tests"] == 41
        assert found.attrs["permutations"] == 40 * 41 - 1
        assert found.loc[("A", "c7"), "flagged"]
        assert found["flagged"].sum() == 1


class TestDependence:
    def test_cramers_v_by_scipy(self):
        rng = np.random.default_rng(0)
        judge, code = rng.integers(4, size=300), rng.integers(3, size=300)
        code[judge == 1] = 0
        unit = np.arange(300)
        found = of_categories(code, unit, np.zeros(300, dtype=int), judge, 999, rng)
        table = pd.crosstab(judge, code).to_numpy()
        chi2 = stats.chi2_contingency(table, correction=False).statistic
        phi2 = max(0, chi2 / 300 - 6 / 299)
        assert found.effect == pytest.approx(sqrt(phi2 / (min(4 - 9 / 299, 3 - 4 / 299) - 1)))
        assert (found.judge, found.value) == (1, 0)
        assert found.p_value == 0.001

    def test_p_values_are_those_of_free_permutations_in_one_scenario(self):
        rng = np.random.default_rng(3)
        judge, value = rng.integers(4, size=80), rng.normal(size=80)
        value += 0.3 * (judge == 2)
        one = np.zeros(80, dtype=int)
        found = of_numbers(value, np.arange(80), one, judge, 9999, rng)
        by_f = stats.f_oneway(*(value[judge == k] for k in range(4)))
        assert found.p_value == pytest.approx(by_f.pvalue, abs=0.03)
        own = [
            (judge == k).sum() * (value[judge == k].mean() - value.mean()) ** 2 for k in range(4)
        ]
        eta2 = sum(own) / ((value - value.mean()) ** 2).sum()
        assert found.effect == pytest.approx(max(0, 1 - (1 - eta2) * 79 / 76))

    @settings(max_examples=40, deadline=None)
    @given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=8), seed=st.integers(0, 99))
    def test_permutations_keep_scenarios_together(self, sizes, seed):
        scenario = np.repeat(np.arange(len(sizes)), sizes)
        orders = list(permutations(scenario, 7, 10, np.random.default_rng(seed)))
        order = np.concatenate(orders)
        assert order.shape == (7, len(scenario))
        for row in order:
            assert sorted(row) == list(range(len(scenario)))
            came = scenario[row]
            for i, size in enumerate(sizes):
                (source,) = set(came[scenario == i])
                assert sizes[source] == size


def dense(frame, panel, planned_scenarios, variances=SIX):
    """Variance of the mean of the scored calls around the panel mean, effect by effect."""
    K = len(panel)
    rows = frame[frame["score"].notna()]
    s = sorted(planned_scenarios)
    i = rows["scenario"].map({x: k for k, x in enumerate(s)}).to_numpy()
    answers = (rows["scenario"] + "/" + rows["generation"]).to_numpy()
    j = np.unique(answers, return_inverse=True)[1]
    k = rows["judge"].map({x: k for k, x in enumerate(panel)}).to_numpy()
    N = len(rows)
    centre = (np.eye(K) - 1 / K) * K / (K - 1)

    def one_hot(codes, size):
        return np.eye(size)[codes].mean(axis=0)

    def by_judge(codes, size):
        cells = np.zeros((size, K))
        np.add.at(cells, (codes, k), 1 / N)
        return float(np.einsum("ik,kl,il", cells, centre, cells))

    n, answers_n = len(s), int(j.max()) + 1
    return sum(
        variances[name] * value
        for name, value in {
            "scenario": ((one_hot(i, n) - 1 / n) ** 2).sum(),
            "generation": (one_hot(j, answers_n) ** 2).sum(),
            "judge": by_judge(np.zeros(N, dtype=int), 1),
            "scenario:judge": by_judge(i, n),
            "generation:judge": by_judge(j, answers_n),
            "residual": 1 / N,
        }.items()
    )


class TestVariance:
    @settings(max_examples=30, deadline=None)
    @given(
        n=st.integers(2, 8),
        B=st.integers(1, 5),
        lost=st.floats(0, 0.6),
        seed=st.integers(0, 1000),
    )
    def test_as_executed_is_that_of_a_dense_computation(self, n, B, lost, seed):
        frame = made(scheduled(n, B, "random", seed=seed))
        rng = np.random.default_rng(seed)
        frame.loc[rng.random(len(frame)) < lost, "score"] = np.nan
        if frame["score"].isna().all():
            return
        panel = sorted(frame["judge"].unique())
        if len(panel) < 2:
            return
        found = audit(read(frame), SIX, columns=[])
        expected = dense(frame, panel, set(frame["scenario"]))
        assert found.variance["se_executed"]["A"] == pytest.approx(sqrt(expected))

    @pytest.mark.parametrize(("strategy", "budget"), [("cyclic", 4), ("cyclic-2", 4), ("all", 5)])
    def test_a_clean_run_is_as_planned(self, strategy, budget):
        schedule = scheduled(9, budget, strategy)
        for planned in ({"strategy": strategy}, {"schedule": schedule}):
            found = audit(read(made(schedule)), SIX, **planned)
            assert found.variance["se_ratio"]["A"] == pytest.approx(1)
            assert found.coefficients["planned"].to_numpy() == pytest.approx(
                found.coefficients["executed"].to_numpy()
            )
            assert list(found.coefficients.loc["A"].index) == list(TERMS)
            expected = bj.strategy_variance(
                strategy, budget=budget, n_scenarios=9, panel_size=5, components=SIX
            )
            assert found.variance["se_planned"]["A"] == pytest.approx(sqrt(expected))

    def test_scenarios_that_were_not_reached_count(self):
        schedule = scheduled(10, 5)
        frame = made(schedule)
        frame = frame[frame["scenario"].isin(schedule["scenario"].unique()[:6])]
        found = audit(read(frame), SIX, schedule=schedule)
        expected = dense(frame, PANEL, set(schedule["scenario"]))
        assert found.variance["se_executed"]["A"] == pytest.approx(sqrt(expected))
        assert "less precise than planned" in text(found)
        of_more = audit(read(frame), SIX, schedule=schedule, target="population", dataset_size=10)
        assert of_more.coefficients["executed"]["A", "scenario"] == pytest.approx(1 / 6 - 1 / 10)

    def test_lopsided_runs_are_less_precise(self):
        frame = made(scheduled(60, 5))
        frame.loc[frame.index[frame["judge"] == "j1"], "judge"] = "j0"
        panel = [*PANEL[:1], *PANEL[2:]]
        found = audit(read(frame), SIX, strategy="cyclic")
        assert "the run as executed is less precise than planned: the standard error" in text(found)
        expected = dense(frame, panel, set(frame["scenario"]))
        assert found.variance["se_executed"]["A"] == pytest.approx(sqrt(expected))

    def test_a_fit_tells_the_bias(self):
        frame = made(scheduled(30, 4, models=["A", "B"]))
        frame.loc[frame.index[(frame["judge"] == "j1") & (frame["model"] == "A")][:9], "judge"] = (
            "j0"
        )
        scores = read(frame)
        tree = linear_fit(scores, 0.7, draws=40, spread=0.3)
        found = audit(scores, tree, strategy="cyclic")
        by_hand = assignment_variance(tree, scores.frame)
        bias = by_hand["bias"].mean(("chain", "draw")).to_numpy()
        assert found.variance["bias"].to_numpy() == pytest.approx(bias)
        ends = by_hand["bias"].quantile(0.975, ("chain", "draw")).to_numpy()
        assert found.variance["bias_high"].to_numpy() == pytest.approx(ends)
        low = by_hand["variance_low"].quantile(0.025, ("chain", "draw")).to_numpy()
        assert found.variance["se_executed_low"].to_numpy() == pytest.approx(np.sqrt(low))
        assert abs(found.variance["bias"]["B"]) < 1e-9 < abs(found.variance["bias"]["A"])

    def test_components_known_in_a_sum_give_a_range(self):
        components = {"scenario": 1.0, "judge": 0.5, "scenario:judge+generation+residual": 2.0}
        found = audit(read(made(scheduled(9, 4))), components, strategy="cyclic")
        row = found.variance.loc["A"]
        assert np.isnan(row["se_executed"])
        assert row["se_executed_low"] < row["se_executed_high"]
        assert "the score as executed" in row["reason"]

    def test_estimates_of_the_table_itself(self):
        scores = table_of(crossed(12, 2, 4))
        found = audit(scores, bj.anova(scores, interaction=True), strategy="all")
        assert found.variance["se_ratio"]["A"] == pytest.approx(1)
        assert np.isnan(found.variance["bias"]["A"])

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({}, "how it was planned is not said"),
            ({"strategy": "all"}, "is not a multiple of that"),
        ],
    )
    def test_why_there_is_no_plan(self, options, says):
        found = audit(read(made(scheduled(9, 4))), SIX, **options)
        assert says in found.variance["reason"]["A"]
        assert np.isnan(found.variance["se_planned"]["A"])
        assert found.variance["se_executed"]["A"] > 0

    def test_scenarios_with_different_numbers_of_calls(self):
        frame = made(scheduled(9, 4)).iloc[1:]
        found = audit(read(frame), SIX, strategy="cyclic")
        assert "A has from 3 to 4 calls on a scenario" in found.variance["reason"]["A"]

    def test_one_judge(self):
        found = audit(table_of(crossed(6, 2, 1)))
        assert "one judge" in found.variance["reason"]["A"]
        assert found.strategies == ("all",)


def test_own_family():
    schedule = scheduled(20, 5, models=["A", "B"])
    families = {"A": "x", "j2": "x"}
    found = audit(read(made(schedule)), families=families)
    assert text(found).startswith("A was scored by judges of its own family ('x'): 20 by j2 of 100")
    assert "B was scored" not in text(found)


class TestProperties:
    @settings(max_examples=5, deadline=None)
    @given(seed=st.integers(0, 200))
    def test_the_order_of_rows_does_not_matter(self, seed):
        schedule = scheduled(12, 4, models=["A", "B"])
        frame = made(schedule, category=schedule["scenario"].map(categories(12, 1)))
        frame.loc[::7, "score"] = np.nan
        shuffled = frame.sample(frac=1, random_state=seed)
        one, other = (
            audit(read(rows), SIX, schedule=schedule, families={}) for rows in (frame, shuffled)
        )
        for name in ("shares", "departures", "departure_rows", "aliasing", "variance"):
            pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))
        assert one.warnings == other.warnings
        assert one.notes == other.notes

    def test_other_labels_of_judges_give_the_same_numbers(self):
        schedule = scheduled(12, 4)
        frame = made(schedule, category=schedule["scenario"].map(categories(12, 1)))
        frame.loc[::7, "score"] = np.nan
        new = dict(zip(PANEL, ["z", "y", "x", "w", "v"], strict=True))
        one = audit(read(frame), SIX)
        other = audit(read(frame.replace({"judge": new})), SIX)
        for judge in PANEL:
            assert one.shares.loc["A", judge].equals(
                other.shares.loc["A", new[judge]].rename(judge)
            ) or np.allclose(one.shares.loc["A", judge], other.shares.loc["A", new[judge]])
        p = one.aliasing["p_value"].to_numpy()
        assert other.aliasing["p_value"].to_numpy() == pytest.approx(p)
        assert other.variance["se_executed"]["A"] == pytest.approx(one.variance["se_executed"]["A"])

    def test_the_seed_gives_the_same(self):
        frame = made(scheduled(20, 3, "random"), category=np.arange(60) % 4)
        first, again, other = (audit(read(frame), seed=s).aliasing for s in (3, 3, 4))
        pd.testing.assert_frame_equal(first, again)
        assert not first["p_value"].equals(other["p_value"])

    def test_prints(self):
        schedule = scheduled(9, 3)
        printed = str(audit(read(made(schedule)), SIX, schedule=schedule))
        for title in ("Calls:", "Departures", "Variance", "Notes:"):
            assert title in printed


SCHEDULE = scheduled(5, 2, panel=PANEL[:3])
TABLE = read(made(SCHEDULE, category="x"))
REFUSED = {
    "no table": ((TABLE.frame,), {}, "needs a score table"),
    "a strategy": ((TABLE,), {"strategy": "cylic"}, "Did you mean 'cyclic'?"),
    "a subset": ((TABLE,), {"strategy": "subset-4"}, "from 1 to 3 judges"),
    "a column": ((TABLE,), {"columns": ["categry"]}, "Did you mean 'category'?"),
    "the score": ((TABLE,), {"columns": "score"}, "no extra column 'score'"),
    "a target": ((TABLE,), {"target": "bench"}, "Did you mean 'benchmark'?"),
    "a size": ((TABLE,), {"dataset_size": 9}, "is for target='population'"),
    "too small": ((TABLE,), {"target": "population", "dataset_size": 3}, "the 5 scenarios scored"),
    "a seed": ((TABLE,), {"seed": -1}, "seed = -1"),
    "a family": ((TABLE,), {"families": {"j9": "x"}}, "'j9', which is no judge and no model"),
    "no schedule": ((TABLE,), {"schedule": 5}, "schedule is of type int"),
    "no file": ((TABLE,), {"schedule": "none.csv"}, "no file none.csv"),
    "no column": ((TABLE,), {"schedule": SCHEDULE.drop(columns="judge")}, "no column 'judge'"),
    "a call twice": (
        (TABLE,),
        {"schedule": pd.concat([SCHEDULE, SCHEDULE.tail(1)])},
        "has the call in row 11 twice",
    ),
    "another schedule": (
        (TABLE,),
        {"schedule": SCHEDULE.assign(generation=SCHEDULE["generation"] + 5)},
        "generations are '1', '2' in the table and '6', '7' in the schedule",
    ),
    "no components": ((TABLE, 5), {}, "variance components can't be read from a int"),
    "bad components": ((TABLE, {"judge": -1}), {}, "judge = -1"),
    "another panel": (
        (TABLE, bj.anova(table_of(crossed(6, 2, 4)))),
        {},
        "a panel of 4 judges, and the table has 3",
    ),
    "other judges": (
        (TABLE, linear_fit(read(frame_of(crossed(5, 2, 3)).replace("j2", "k")), 0.5)),
        {},
        "A has scores of 'j2', not of the panel",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    arguments, options, says = REFUSED[case]
    with pytest.raises(BayesJudgeError) as refused:
        audit(*arguments, **options)
    assert says in str(refused.value)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A run with a fault, and its schedule."""
    if command.name not in cli.app.commands:
        monkeypatch.setitem(cli.app.commands, command.name, command)
    schedule = scheduled(30, 4)
    frame = made(schedule, category=schedule["scenario"].map(categories(30, 1)))
    frame.loc[frame.index[frame["judge"] == "j1"][:12], "score"] = np.nan
    write_schedule(schedule, tmp_path / "plan.csv")
    frame.to_csv(tmp_path / "run.csv", index=False)
    return tmp_path


class TestCommand:
    def test_shows_what_was_found(self, run, files):  # noqa: F811
        given = "scenario=1,generation=0.3,judge=0.5,scenario:judge=0.1,residual=1"
        status, out, _ = run(
            *("audit", files / "run.csv", "--scale", "0:10", "--components", given),
            *("--schedule", files / "plan.csv", "--family", "j0=x", "--family", "A=x"),
        )
        assert status == 0
        for words in (
            "Calls of the judges",
            "Calls against the schedule",
            "The first departures",
            "Cramér's V",
            "Standard error of the score",
            "j1 fails more than the others on A: 12 of 24 calls",
            "of its own family ('x'): 24 by j0",
        ):
            assert words in out

    def test_json_and_file_say_the_same(self, run, files):  # noqa: F811
        words = ("audit", files / "run.csv", "--scale", "0:10", "--strategy", "cyclic", "--json")
        status, out, _ = run(*words, "--out", files / "a.json", "--alias-columns", "category")
        told = json.loads(out)
        assert status == 0
        assert told == json.loads((files / "a.json").read_text(encoding="utf-8"))
        assert told["strategies"] == {"A": "cyclic"}
        assert told["departures"] is None
        assert [row["column"] for row in told["aliasing"]] == ["generation", "category"]
        assert len(told["warnings"]) == 2

    def test_a_fit_and_a_table_of_shares(self, run, files):  # noqa: F811
        tree = linear_fit(read_scores(files / "run.csv", scale=(0, 10)), 0.7, draws=30, spread=0.2)
        fit = bj.save(tree, files / "fit.nc")
        words = ("audit", files / "run.csv", "--scale", "0:10", "--fit", fit)
        status, out, _ = run(*words, "--strategy", "cyclic", "--out", files / "shares.csv")
        assert status == 0
        assert "bias" in out
        assert pd.read_csv(files / "shares.csv")["missing"].tolist() == [0, 12, 0, 0, 0]

    def test_nothing_to_warn_of(self, run, files):  # noqa: F811
        frame = frame_of(cyclic(12, 4, 3))
        frame.to_csv(files / "clean.csv", index=False)
        status, out, _ = run("audit", files / "clean.csv", "--scale", "0:10")
        assert status == 0
        assert "Nothing to warn of." in out

    @pytest.mark.parametrize(
        ("words", "status", "says"),
        [
            (("none.csv",), 1, "no file none.csv"),
            (
                ("run.csv", "--scale", "0:10", "--alias-columns", "kind"),
                1,
                "no extra column 'kind'",
            ),
            (("run.csv", "--scale", "0:10", "--schedule", "none.csv"), 1, "no file none.csv"),
            (("run.csv", "--fit", "a.nc", "--components", "judge=1"), 2, "one of the two"),
            (("run.csv", "--components", "judge"), 2, "'judge' should look like"),
            (("run.csv", "--out", "a.txt"), 1, ".csv and .json"),
            (("run.csv", "--out", "run.csv"), 2, "would be overwritten"),
        ],
    )
    def test_refusals(self, run, files, monkeypatch, words, status, says):  # noqa: F811
        monkeypatch.chdir(files)
        ended, out, err = run("audit", *words)
        assert ended == status
        assert says in " ".join(err.split())
        assert not out
