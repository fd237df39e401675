"""Who scores what: shares, order, exclusion, continuation, files and the command."""

import json
from itertools import pairwise
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from panels import crossed, table_of
from scipy import stats
from unsampled_fits import linear_fit

import bayesjudge as bj
from bayesjudge.allocations.assignment import assignment_coefficients
from bayesjudge.allocations.coefficients import coefficients
from bayesjudge.allocations.grid import Campaign
from bayesjudge.allocations.strata import stratified_coefficients
from bayesjudge.allocations.strategies import parse_strategy, why_unreachable
from bayesjudge.cli.schedules import assign as command
from bayesjudge.errors import BayesJudgeError
from bayesjudge.schedules.assignments import assign
from bayesjudge.schedules.rotation import (
    _in_turn,
    several_in_turn,
    shuffled_panel,
    shuffled_scenarios,
)
from bayesjudge.schedules.storage import read_schedule, write_schedule

QUICK = settings(max_examples=40, deadline=None)
EVERY = ("all", "random", "cyclic", "cyclic-restart", "single", "subset-2", "cyclic-2")
JUDGES = ["j1", "j2", "j3", "j4", "j5", "j6", "j7"]

AB, ABC, ABD, ABCD = map(list, ("ab", "abc", "abd", "abcd"))

sizes = st.integers(1, 13)
panels = st.integers(2, 7).map(lambda K: JUDGES[:K])
seeds = st.integers(0, 50)


def labels(n, start=0):
    return [f"s{i}" for i in range(start, start + n)]


def spread(counts):
    return int(counts.max() - counts.min())


def calls_of(schedule, panel, model=None):
    rows = schedule if model is None else schedule[schedule["model"] == model]
    return rows["judge"].value_counts().reindex(panel, fill_value=0)


class TestShares:
    @QUICK
    @given(n=sizes, B=st.integers(1, 9), panel=panels, seed=seeds)
    def test_judges_in_turn_differ_by_one_call_at_any_moment(self, n, B, panel, seed):
        judges = assign(labels(n), panel, budget=B, seed=seed)["judge"]
        so_far = pd.get_dummies(judges).reindex(columns=panel, fill_value=0).cumsum()
        assert (so_far.max(axis=1) - so_far.min(axis=1)).max() <= 1
        assert len(judges) == n * B

    @QUICK
    @given(data=st.data(), n=sizes, m=st.integers(1, 5), panel=panels, seed=seeds)
    def test_several_in_turn(self, data, n, m, panel, seed):
        k = data.draw(st.integers(1, len(panel)))
        schedule = assign(labels(n), panel, f"cyclic-{k}", budget=m * k, seed=seed)
        assert (schedule.attrs["budget"], schedule.attrs["generations"]) == (m * k, m)
        assert len(schedule) == n * m * k
        each = schedule.groupby(["scenario", "generation"])["judge"]
        assert each.size().eq(k).all()
        assert each.nunique().eq(k).all()
        so_far = pd.get_dummies(schedule["judge"]).reindex(columns=panel, fill_value=0).cumsum()
        assert (so_far.max(axis=1) - so_far.min(axis=1)).max() <= 1

    def test_one_in_turn_is_the_rotation(self):
        pd.testing.assert_frame_equal(
            assign(labels(7), JUDGES, "cyclic-1", budget=3), assign(labels(7), JUDGES, budget=3)
        )

    @QUICK
    @given(n=sizes, m=st.integers(1, 4), panel=panels)
    def test_all_score_each_generation_once(self, n, m, panel):
        schedule = assign(labels(n), panel, "all", generations=m)
        assert len(schedule) == n * m * len(panel)
        assert not schedule.duplicated().any()
        assert schedule.groupby(["scenario", "generation"]).size().eq(len(panel)).all()

    @pytest.mark.parametrize(("strategy", "k"), [("single", 1), ("subset-2", 2), ("subset-4", 4)])
    def test_a_subset_scores_everything(self, strategy, k):
        schedule = assign(labels(5), JUDGES, strategy, generations=3)
        assert schedule["judge"].nunique() == k
        assert len(schedule) == 5 * 3 * k
        drawn = {tuple(assign(["s"], JUDGES, strategy, seed=s)["judge"]) for s in range(60)}
        assert {judge for group in drawn for judge in group} == set(JUDGES)

    def test_restarted_judges_are_those_of_the_first_scenario(self):
        schedule = assign(labels(6), JUDGES[:3], "cyclic-restart", budget=4)
        by_scenario = schedule.groupby("scenario", sort=False)["judge"].agg(tuple)
        first = schedule.attrs["panel"]
        assert set(by_scenario) == {(*first, first[0])}

    def test_drawn_judges_are_uniform_and_independent(self):
        judges = assign(labels(3000), JUDGES[:4], "random", budget=4, seed=3)["judge"]
        assert stats.chisquare(judges.value_counts()).pvalue > 0.001
        pairs = pd.crosstab(judges.iloc[::2].to_numpy(), judges.iloc[1::2].to_numpy())
        assert stats.chi2_contingency(pairs).pvalue > 0.001

    def test_the_panel_is_shuffled_uniformly(self):
        orders = [shuffled_panel(("a", "b", "c"), seed) for seed in range(1200)]
        counts = pd.Series(orders).value_counts()
        assert len(counts) == 6
        assert stats.chisquare(counts).pvalue > 0.001


class TestVariance:
    """The schedule's own coefficients against the formulas of the strategies."""

    @QUICK
    @given(
        strategy=st.sampled_from([name for name in EVERY if name != "random"]),
        n=sizes,
        B=st.integers(1, 9),
        panel=panels,
        seed=seeds,
    )
    def test_is_that_of_the_strategy(self, strategy, n, B, panel, seed):
        K = len(panel)
        asked = parse_strategy(strategy, K)
        B = B if not why_unreachable(asked, B) else B * asked.judges
        schedule = assign(labels(n), panel, strategy, budget=B, seed=seed)
        own = self.coefficients(schedule, panel)
        expected = coefficients(asked, B, n, K)
        assert own == pytest.approx(expected, abs=1e-12)

    @QUICK
    @given(data=st.data(), n=sizes, m=st.integers(1, 5), panel=panels, seed=seeds)
    def test_of_several_in_turn(self, data, n, m, panel, seed):
        K = len(panel)
        name = f"cyclic-{data.draw(st.integers(1, K))}"
        asked = parse_strategy(name, K)
        B = m * asked.judges
        own = self.coefficients(assign(labels(n), panel, name, budget=B, seed=seed), panel)
        assert own == pytest.approx(coefficients(asked, B, n, K), abs=1e-12)

    def test_of_drawn_judges_on_average(self):
        n, B, panel = 6, 3, JUDGES[:4]
        drawn = [
            self.coefficients(assign(labels(n), panel, "random", budget=B, seed=s), panel)
            for s in range(250)
        ]
        found = pd.DataFrame(drawn)
        expected = coefficients(parse_strategy("random", 4), B, n, 4)
        for term, value in expected.items():
            error = found[term].std() / np.sqrt(len(found))
            assert found[term].mean() == pytest.approx(value, abs=4 * error + 1e-12), term

    @staticmethod
    def coefficients(schedule, panel):
        scenario, _ = pd.factorize(schedule["scenario"])
        judge = pd.Index(panel).get_indexer(schedule["judge"])
        return assignment_coefficients(
            scenario, schedule["generation"], judge, panel_size=len(panel)
        ).by_term


class TestOrder:
    @QUICK
    @given(data=st.data(), strategy=st.sampled_from(EVERY), seed=seeds)
    def test_of_what_is_given_does_not_matter(self, data, strategy, seed):
        given_, panel, models = labels(6), JUDGES[:4], ["A", "B"]
        options = {"generations": 3, "seed": seed}
        plain = assign(given_, panel, strategy, models=models, **options)
        other = assign(
            data.draw(st.permutations(given_)),
            data.draw(st.permutations(panel)),
            strategy,
            models=data.draw(st.permutations(models)),
            **options,
        )
        pd.testing.assert_frame_equal(plain, other)

    def test_is_the_same_in_any_process(self):
        # Written down: a schedule that is continued years later must come out the same.
        schedule = assign(labels(5), ABC, budget=2, seed=7)
        assert schedule.attrs["panel"] == ["a", "c", "b"]
        assert schedule["scenario"].iloc[::2].tolist() == ["s1", "s3", "s2", "s4", "s0"]
        drawn = assign(labels(5), ABC, "random", budget=2, seed=7)["judge"]
        assert "".join(drawn) == "abbbacbacb"

    def test_of_scenarios_is_shuffled(self):
        first = [
            shuffled_scenarios(4, before, seed)[0] for seed in range(60) for before in range(10)
        ]
        assert stats.chisquare(pd.Series(first).value_counts()).pvalue > 0.001

    def test_seeds_differ(self):
        drawn = {tuple(assign(labels(20), JUDGES, "random", seed=s)["judge"]) for s in range(20)}
        assert len(drawn) == 20

    def test_large(self):
        schedule = assign(labels(100_000), JUDGES[:5], generations=10)
        assert len(schedule) == 1_000_000
        assert spread(calls_of(schedule, JUDGES[:5])) == 0


class TestModels:
    @QUICK
    @given(strategy=st.sampled_from(EVERY), n=sizes, m=st.integers(1, 4), seed=seeds)
    def test_have_the_same_judges(self, strategy, n, m, seed):
        options = {"generations": m, "seed": seed}
        schedule = assign(labels(n), JUDGES[:4], strategy, models=["A", "B"], **options)
        alone = assign(labels(n), JUDGES[:4], strategy, **options)
        for _, rows in schedule.groupby("model"):
            own = rows.drop(columns="model").reset_index(drop=True)
            pd.testing.assert_frame_equal(own, alone, check_dtype=False)

    def test_a_campaign_that_ends_early_has_scored_them_alike(self):
        schedule = assign(labels(9), JUDGES[:3], models=["A", "B"], budget=3)
        begun = schedule.iloc[: 5 * 2 * 3]
        assert begun["scenario"].nunique() == 5
        assert begun["model"].value_counts().tolist() == [15, 15]

    def test_stand_in_natural_order(self):
        schedule = assign(["s"], AB, models=["m10", "m2"])
        assert schedule["model"].tolist() == ["m2", "m10"]


class TestExclusion:
    @QUICK
    @given(
        allowed=st.lists(st.booleans(), min_size=1, max_size=8).filter(any),
        turns=st.integers(1, 120),
    )
    def test_turns_stay_equal_at_any_moment(self, allowed, turns):
        allowed = np.array(allowed)
        judge = _in_turn(np.arange(turns), allowed)
        so_far = (judge[:, None] == np.flatnonzero(allowed)).cumsum(axis=0)
        assert (so_far.max(axis=1) - so_far.min(axis=1)).max() <= 1
        assert (so_far.sum(axis=1) == np.arange(1, turns + 1)).all()

    @QUICK
    @given(data=st.data(), allowed=st.lists(st.booleans(), min_size=2, max_size=8))
    def test_several_in_turn_stay_equal_and_differ(self, data, allowed):
        may = np.flatnonzero(allowed)
        if len(may) < 1:
            return
        k = data.draw(st.integers(1, len(may)))
        judge = several_in_turn(np.array(allowed), k, 0, 60)
        assert judge.shape == (60, k)
        assert all(len(set(row)) == k for row in judge.tolist())
        so_far = (judge.ravel()[:, None] == may).cumsum(axis=0)
        assert (so_far.sum(axis=1) == np.arange(1, 60 * k + 1)).all()
        assert (so_far.max(axis=1) - so_far.min(axis=1)).max() <= 1
        # Any part of it is the same when it is asked for alone.
        first = data.draw(st.integers(0, 500))
        whole = several_in_turn(np.array(allowed), k, 0, first + 9)
        assert np.array_equal(several_in_turn(np.array(allowed), k, first, 9), whole[first:])

    def test_several_in_turn_keep_most_of_their_calls(self):
        # Of 7 judges one is out: each round is one call longer for the others.
        allowed = np.arange(7) != 2
        judge = several_in_turn(allowed, 3, 0, 700)
        own = (np.arange(2100) % 7).reshape(700, 3)
        kept = np.mean([len(set(a) & set(b)) for a, b in zip(judge, own, strict=True)])
        assert kept > 0.8 * 3 * 6 / 7

    @QUICK
    @given(
        of_judges=st.lists(st.sampled_from("xyz"), min_size=3, max_size=7),
        strategy=st.sampled_from(EVERY),
        n=sizes,
        m=st.integers(1, 5),
        seed=seeds,
    )
    def test_nobody_scores_its_own(self, of_judges, strategy, n, m, seed):
        panel = JUDGES[: len(of_judges)]
        families = dict(zip(panel, of_judges, strict=True)) | {"A": "x", "B": "y"}
        least = 2 if strategy.endswith("-2") else 1
        if any(sum(f != own for f in of_judges) < least for own in "xy"):
            return
        schedule = assign(
            labels(n),
            panel,
            strategy,
            generations=m,
            models=["A", "B", "C"],
            families=families,
            exclude_own_family=True,
            seed=seed,
        )
        assert (schedule["judge"].map(families) != schedule["model"].map(families)).all()
        alone = assign(labels(n), panel, strategy, generations=m, seed=seed)
        for model in ("A", "B", "C"):
            own = schedule[schedule["model"] == model].reset_index(drop=True)
            may = [j for j in panel if families[j] != families.get(model)]
            if strategy in ("cyclic", "cyclic-2"):
                assert spread(calls_of(own, may)) <= 1
            assert not own.duplicated(["scenario", "generation", "judge"]).any()
            if strategy in ("random", "cyclic", "cyclic-restart"):
                # All other judges keep their calls, so that models share them.
                stays = alone["judge"].isin(may)
                assert own["judge"][stays].equals(alone["judge"][stays])
            if strategy == "all":
                assert calls_of(own, may).eq(n * m).all()

    def test_by_name_alone(self):
        schedule = assign(
            labels(8), ["A", "j"], models=["A", "B"], budget=2, exclude_own_family=True
        )
        assert set(schedule[schedule["model"] == "A"]["judge"]) == {"j"}
        assert calls_of(schedule, ["A", "j"], "B").tolist() == [8, 8]

    def test_drawn_judges_stay_uniform(self):
        schedule = assign(
            labels(4000),
            JUDGES[:4],
            "random",
            models=["A"],
            families={"A": "x", "j1": "x"},
            exclude_own_family=True,
        )
        assert stats.chisquare(calls_of(schedule, JUDGES[1:4])).pvalue > 0.001

    def test_is_said(self):
        def notes(strategy="cyclic", **families):
            return " ".join(
                assign(
                    ["s"],
                    ABC,
                    strategy,
                    models=["M", "N"],
                    families=families,
                    exclude_own_family=True,
                ).attrs["notes"]
            )

        assert "'M' is not scored by 'b', of its own family." in notes(M="x", b="x")
        assert "not on one panel's scale" in notes(M="x", b="x")
        assert "of the family of 'b': no calls" in notes(M="x", b="x", N="x")
        assert "one panel's scale" not in notes(M="x", b="x", N="x")
        assert "2 calls for each scenario instead of 3" in notes("all", M="x", b="x")
        assert "none was excluded" in notes(M="x")
        assert "A model that not every judge may score" in notes("single", M="x", b="x")


class TestNotes:
    def test_the_price_of_restarting(self):
        (note,) = assign(labels(40), JUDGES[:3], "cyclic-restart", budget=2).attrs["notes"]
        # g r(K-r)/((K-1)B²) with r = 2, and g t(K-t)/((K-1)(nB)²) with t = 80 mod 3.
        assert "0.25, however many" in note
        assert f"{2 / (2 * 80**2):.3g} with these 40 scenarios" in note
        (note,) = assign(labels(40), JUDGES[:3], "cyclic-restart", budget=6).attrs["notes"]
        assert "costs nothing" in note

    def test_who_was_drawn(self):
        schedule = assign(labels(4), JUDGES, "subset-2")
        (note,) = schedule.attrs["notes"]
        assert all(repr(judge) in note for judge in schedule["judge"].unique())

    def test_one_call_for_each_scenario(self):
        assert "no two judges" in assign(labels(4), AB).attrs["notes"][0]
        assert assign(labels(4), AB, budget=2).attrs["notes"] == []

    def test_one_judge(self):
        schedule = assign(labels(2), ["j"], "single")
        assert schedule["judge"].tolist() == ["j", "j"]
        assert "how lenient" in " ".join(schedule.attrs["notes"])

    def test_changed_labels(self):
        schedule = assign([1.0, 2.0], [" a", "b"], budget=2)
        assert set(schedule["scenario"]) == {"1", "2"}
        assert len(schedule.attrs["notes"]) == 2


class TestContinuing:
    @QUICK
    @given(
        strategy=st.sampled_from(EVERY),
        parts=st.lists(st.integers(1, 6), min_size=2, max_size=4),
        m=st.integers(1, 4),
        seed=seeds,
    )
    def test_keeps_what_is_there_and_carries_on(self, strategy, parts, m, seed):
        ends = np.cumsum(parts)
        options = {
            "generations": m,
            "models": ["A", "B"],
            "families": {"j1": "A"},
            "exclude_own_family": True,
            "seed": seed,
        }
        steps = [assign(labels(ends[0]), JUDGES[:4], strategy, **options)]
        for end in ends[1:]:
            steps.append(
                assign(labels(end), JUDGES[:4], strategy, continue_from=steps[-1], **options)
            )
        for old, new in pairwise(steps):
            pd.testing.assert_frame_equal(new.iloc[: len(old)], old)
        whole = assign(labels(ends[-1]), JUDGES[:4], strategy, **options)
        last = steps[-1]
        assert set(last["scenario"]) == set(whole["scenario"])
        # Call by call the same judges; only the order of the scenarios is another.
        assert last["judge"].equals(whole["judge"])
        assert last.attrs["panel"] == whole.attrs["panel"]
        if strategy in ("cyclic", "cyclic-2"):
            assert spread(calls_of(last, JUDGES[:4], "B")) <= 1
            assert spread(calls_of(last, JUDGES[1:4], "A")) <= 1

    def test_of_nothing_new(self):
        old = assign(labels(3), AB, budget=2)
        again = assign(labels(2), AB, budget=2, continue_from=old)
        pd.testing.assert_frame_equal(again, old)
        assert again.attrs["notes"] == [
            "3 scenarios are scheduled already (continue_from), 0 added.",
            "1 of those scheduled already are not among the scenarios given; their rows are kept.",
        ]

    def test_of_rows_sorted_by_model(self):
        old = assign(labels(5), ABC, budget=2, models=["A", "B"])
        moved = old.sort_values("model", kind="stable")
        new = assign(labels(9), ABC, budget=2, models=["A", "B"], continue_from=moved)
        assert new.iloc[:20]["model"].tolist() == moved["model"].tolist()
        straight = assign(labels(9), ABC, budget=2, models=["A", "B"], continue_from=old)
        pd.testing.assert_frame_equal(new.iloc[20:], straight.iloc[20:])

    def test_the_columns_of_scenarios_are_kept(self):
        frame = pd.DataFrame({"scenario": labels(4), "category": list("wxyz"), "length": range(4)})
        old = assign(frame.head(2), AB, budget=2)
        new = assign(frame, AB, budget=2, continue_from=old)
        assert list(new.columns) == ["scenario", "generation", "judge", "category", "length"]
        joined = new.merge(frame, on="scenario", suffixes=("", "_given"))
        assert len(joined) == 8
        assert (joined["category"] == joined["category_given"]).all()
        assert (joined["length"] == joined["length_given"]).all()

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"panel": ABD}, "The panel differs: in row"),
            ({"panel": ABCD}, "a panel of a, b, c. Ask for the same"),
            ({"strategy": "random"}, "gives: strategy 'cyclic', budget 2."),
            ({"strategy": "subset-2", "budget": 4}, "gives: strategy 'cyclic', budget 2."),
            ({"budget": 3}, "gives: strategy 'cyclic', budget 2."),
            ({"strategy": "cyclic-2", "budget": 4}, "gives: strategy 'cyclic', budget 2."),
            ({"seed": 3}, "The first difference: row 1 gives generation 1 of scenario"),
            ({"models": ["M", "O"]}, "The models differ: continue_from is for 'M', 'N', and 'M'"),
            ({"models": None}, "no models are asked for"),
            (
                {"exclude_own_family": True, "families": {"M": "x", "a": "x"}},
                "no exclusion of families. Ask",
            ),
        ],
    )
    def test_with_other_arguments_is_refused(self, change, says):
        same = {"panel": ABC, "strategy": "cyclic", "budget": 2, "models": ["M", "N"], "seed": 1}
        old = assign(labels(5), **same)
        assert len(assign(labels(6), **same, continue_from=old)) == 6 * 2 * 2
        with pytest.raises(BayesJudgeError) as refused:
            assign(labels(6), **same | change, continue_from=old)
        assert says in str(refused.value)

    def test_several_in_turn_are_told_from_one(self):
        old = assign(labels(5), ABC, "cyclic-2", budget=4)
        with pytest.raises(BayesJudgeError, match="gives: strategy 'cyclic-2', budget 4"):
            assign(labels(6), ABC, "all", generations=2, continue_from=old)

    @pytest.mark.parametrize(
        ("spoil", "says"),
        [
            (lambda old: old.iloc[:-1], "It has no call of"),
            (lambda old: pd.concat([old, old.tail(1)]), "The call in row 11 is there twice"),
            (lambda old: old.assign(judge="a"), "The first difference: row"),
            (lambda old: old.sort_values("scenario"), "put in another order"),
            (
                lambda old: old.assign(generation=old["generation"] + 2),
                "here there is no such call",
            ),
            (lambda old: old.assign(generation=0.5), "is '0.5', and must be a whole number from 1"),
            (lambda old: old.rename(columns={"judge": "Judge"}), "Did you mean 'Judge'"),
            (lambda old: old.assign(category="x"), "Only continue_from has the column 'category'"),
            (lambda old: old.replace("s4", "S5"), "two spellings"),
            (lambda old: old.head(0), "no rows"),
            (lambda old: old["judge"].tolist(), "of type list"),
            (lambda old: "nowhere.csv", "no file nowhere.csv"),
        ],
    )
    def test_of_what_is_no_schedule_is_refused(self, spoil, says):
        old = assign(labels(5), ABC, budget=2)
        with pytest.raises(BayesJudgeError) as refused:
            assign(labels(6), ABC, budget=2, continue_from=spoil(old))
        assert says in str(refused.value)

    def test_one_row_changed_is_no_other_schedule(self):
        old = assign(labels(300), ABC, budget=2)
        old.loc[599, "judge"] = {"a": "b", "b": "c", "c": "a"}[old.loc[599, "judge"]]
        with pytest.raises(BayesJudgeError, match=r"row 600 gives .* or rows were changed"):
            assign(labels(301), ABC, budget=2, continue_from=old)


FRAME = pd.DataFrame({"scenario": ["s1", "s2"]})
OWN = {"models": ["M", "N"], "exclude_own_family": True}


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (([], AB), {}, "scenarios is empty"),
        (("s1", AB), {}, "scenarios must be a list of scenario labels"),
        ((5, AB), {}, "and is 5 (int)"),
        ((["s1", "s2", "s1"], AB), {}, "has the scenario 's1' more than once: row 1, row 3"),
        ((["s1", " "], AB), {}, "scenarios: row 2 has no scenario label"),
        ((["s1", None], AB), {}, "row 2 has no scenario label"),
        ((["s1", ["s2"]], AB), {}, "holds a list"),
        ((["s1", "S1"], AB), {}, "two spellings"),
        ((FRAME.head(0), AB), {}, "no rows"),
        ((FRAME.rename(columns={"scenario": "Scenario"}), AB), {}, "Did you mean 'Scenario'"),
        ((FRAME.assign(judge="x"), AB), {}, "the column 'judge', which the schedule"),
        ((pd.concat([FRAME, FRAME]), AB), {}, "(and 1 other)"),
        ((["s"], []), {}, "panel is empty"),
        ((["s"], FRAME), {}, "panel must be a list of judge labels"),
        ((["s"], ["a", "b", "a"]), {}, "panel has the judge 'a' more than once: row 1, row 3"),
        ((["s"], ["a", "b", "A"]), {}, "'a' (1 row) and 'A' (1 row)"),
        ((["s"], ["a", "b", " a"]), {}, "' a' (1 row)"),
        ((["s"], ["a"]), {}, "The panel is 'a' alone"),
        ((["s"], ["a"], "all"), {}, "with one judge every strategy is the same"),
        ((["s"], AB, "cylcic"), {}, "Did you mean 'cyclic'"),
        ((["s"], AB, "subset-3"), {}, "from 1 to 2 judges"),
        ((["s"], ABC, "all"), {"budget": 4}, "3 or 6 is"),
        ((["s"], AB), {"budget": 0}, "budget = 0"),
        ((["s"], AB), {"generations": 1.5}, "generations = 1.5"),
        ((["s"], AB), {"seed": -1}, "seed = -1"),
        (
            (["s"], ABC, "all"),
            {"budget": 6, "generations": 3},
            "3 generations are a budget of 9, and a budget of 6 is 2 generations",
        ),
        ((["s"], AB), {"models": []}, "models is empty"),
        ((["s"], AB), {"models": ["A", "A"]}, "the model 'A' more than once"),
        ((["s"], AB), {"exclude_own_family": True}, "needs the models"),
        ((["s"], AB), {"families": {"a": "x"}}, "does nothing without"),
        ((["s"], AB), OWN | {"families": {"c": "x"}}, "'c', which is no judge and no model"),
        ((["s"], AB), OWN | {"families": {"a": " "}}, "family of 'a' is blank"),
        ((["s"], AB), OWN | {"families": ["a"]}, "of type list"),
        ((["s"], AB), OWN | {"families": {"a": "OpenAI", "M": "openai"}}, "two spellings"),
        ((["s"], ["a", "b"]), {"models": ["A"], "exclude_own_family": True}, "two spellings"),
        (
            (["s"], AB),
            OWN | {"families": {"a": "x", "b": "x", "M": "x"}},
            "nobody may score the model 'M': every judge",
        ),
        (
            (["s"], AB, "subset-2"),
            OWN | {"families": {"a": "x", "M": "x"}},
            "needs 2 judges, and only 1 may score the model 'M'",
        ),
        (
            (["s"], ABC, "cyclic-3"),
            OWN | {"families": {"a": "x", "M": "x"}},
            "only 2 may score the model 'M': the others are of its family. Ask for fewer in turn",
        ),
        ((["s"], AB, "cyclic-3"), {}, "an answer has from 1 to 2 judges"),
        ((["s"], ABC, "cyclic-2"), {"budget": 3}, "2 or 4 is"),
    ],
)
def test_refusals(arguments, options, says):
    with pytest.raises(BayesJudgeError) as refused:
        assign(*arguments, **options)
    assert says in str(refused.value)


ODD = ["=1+1", "'=1+1", "''-2", "'plain", "-3", "@x", "a,b", 'say "hi"', "ünï/code", "+"]


class TestFiles:
    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    def test_hold_any_label(self, tmp_path, ending):
        frame = pd.DataFrame({"scenario": ODD, "category": ODD[::-1], "length": range(len(ODD))})
        old = assign(frame.head(6), AB, models=["=A", "B"])
        path = tmp_path / f"schedule.{ending}"
        write_schedule(old, path)
        new = assign(frame, AB, models=["=A", "B"], continue_from=path)
        pd.testing.assert_frame_equal(new.iloc[: len(old)], old)
        assert not list(tmp_path.glob("*.tmp"))

    def test_a_spreadsheet_runs_nothing(self, tmp_path):
        notes = write_schedule(assign(ODD, AB), tmp_path / "s.csv")
        cells = pd.read_csv(tmp_path / "s.csv", dtype=str, keep_default_na=False)
        assert not cells["scenario"].str.match(r"[=+\-@]").any()
        assert "'plain" in cells["scenario"].tolist()
        assert "6 labels" in notes[0]
        assert write_schedule(assign(ODD, AB), tmp_path / "s.jsonl") == []
        assert write_schedule(assign(["s"], AB), tmp_path / "s.csv") == []

    def test_lines_of_json(self, tmp_path):
        frame = pd.DataFrame({"scenario": ["s/1"], "tags": [["x", 1]], "size": [float("nan")]})
        write_schedule(assign(frame, AB, "all", models=["m"]), tmp_path / "s.jsonl")
        lines = (tmp_path / "s.jsonl").read_text(encoding="utf-8").splitlines()
        told = json.loads(lines[0])
        assert told | {"judge": "?"} == {
            "model": "m",
            "scenario": "s/1",
            "generation": 1,
            "judge": "?",
            "tags": ["x", 1],
            "size": None,
        }
        assert len(lines) == 2

    def test_refusals(self, tmp_path):
        schedule = assign(["s"], AB)
        with pytest.raises(BayesJudgeError, match=r"\.csv or \.jsonl, not '\.xlsx'"):
            write_schedule(schedule, tmp_path / "s.xlsx")
        with pytest.raises(BayesJudgeError, match="can't write"):
            write_schedule(schedule, tmp_path / "no" / "s.csv")
        with pytest.raises(BayesJudgeError, match="'size' holds inf"):
            write_schedule(schedule.assign(size=np.inf), tmp_path / "s.jsonl")
        assert not list(tmp_path.iterdir())

    def test_read_as_written(self, tmp_path):
        schedule = assign(labels(4), AB, budget=2)
        write_schedule(schedule, tmp_path / "s.csv")
        found = read_schedule(tmp_path / "s.csv").frame
        assert found["judge"].tolist() == schedule["judge"].tolist()


@pytest.fixture
def run():
    """Run the command; return exit status, what it printed, and the refusal if there was one."""

    def invoke(*words):
        done = CliRunner().invoke(command, [str(word) for word in words])
        refused = done.exception if isinstance(done.exception, BayesJudgeError) else None
        if done.exception and not refused and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.output, refused

    return invoke


class TestCommand:
    def test_shows_counts_and_first_rows(self, run):
        status, out, _ = run("--scenarios", 7, "--panel", "a,b,c", "--budget", 2)
        assert status == 0
        for text in (
            "14 calls, budget 2 for each of 7 scenarios, seed 1",
            "First rows",
            "4 more: --out",
        ):
            assert text in out

    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    def test_writes_and_continues(self, run, tmp_path, ending):
        place = tmp_path / f"schedule.{ending}"
        table = tmp_path / "scenarios.csv"
        table.write_text("scenario,category\n01,x\n02,=y\n", encoding="utf-8")
        words = ["--panel", "a, b,c", "--models", "M,N", "--generations", 4, "--seed", 5]
        own = ["--exclude-own-family", "--family", "a=x", "--family", "M=x"]
        status, out, _ = run(table, *words, *own, "--out", place)
        assert status == 0
        assert "First rows" not in out
        assert f"Written: {place}" in out
        first = read_schedule(place).frame
        table.write_text("scenario,category\n03,z\n01,x\n02,=y\n", encoding="utf-8")
        status, out, refused = run(
            table, *words, *own, "--continue-from", place, "--out", place, "--json"
        )
        assert (status, refused) == (0, None)
        told = json.loads(out)
        options = {"families": {"a": "x", "M": "x"}, "exclude_own_family": True}
        expected = assign(
            pd.read_csv(table, dtype=str),
            ABC,
            models=["M", "N"],
            generations=4,
            seed=5,
            continue_from=first,
            **options,
        )
        assert (told["strategy"], told["seed"], told["budget"]) == ("cyclic", 5, 4)
        assert told["panel"] == expected.attrs["panel"]
        assert [row["judge"] for row in told["schedule"]] == expected["judge"].tolist()
        final = read_schedule(place).frame
        assert final["scenario"].tolist() == expected["scenario"].tolist()
        assert final["category"].tolist() == expected["category"].tolist()
        pd.testing.assert_frame_equal(final.iloc[: len(first)], first, check_dtype=False)

    def test_a_text_file_has_a_label_on_each_line(self, run, tmp_path):
        (tmp_path / "s.txt").write_text("q 1\n\n q 2\r\nq,3\n", encoding="utf-8")
        status, out, _ = run(tmp_path / "s.txt", "--panel", "a,b", "--strategy", "all", "--json")
        assert status == 0
        rows = json.loads(out)["schedule"]
        assert {row["scenario"] for row in rows} == {"q 1", "q 2", "q,3"}
        assert len(rows) == 6

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ([], "Missing option '--panel'"),
            (["--panel", "a,b"], "one of the two"),
            (["{file}", "--scenarios", "3", "--panel", "a,b"], "one of the two"),
            (["{file}", "--panel", "a,,b"], "should look like a,b,c"),
            (["{file}", "--panel", "a,b", "--family", "openai"], "should look like gpt-4o=openai"),
            (["{file}", "--panel", "a,b", "--family", "a=x", "--family", "a=y"], "the families"),
            (["{file}", "--panel", "a,b", "--out", "x.parquet"], "should end in .csv or .jsonl"),
            (["{file}", "--panel", "a,b", "--out", "{file}"], "would be overwritten"),
            (["{file}", "--panel", "a,b", "--budget", "0"], "--budget"),
        ],
    )
    def test_usage(self, run, tmp_path, words, says):
        file = tmp_path / "s.csv"
        file.write_text("scenario\ns1\n", encoding="utf-8")
        status, out, _ = run(*(word.format(file=file) for word in words))
        assert status == 2
        assert says in " ".join(out.replace("│", " ").split())

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (["{dir}/none.txt", "--panel", "a,b"], "There is no file"),
            (["{dir}/s.csv", "--panel", "a"], "alone"),
            (["{dir}/s.csv", "--panel", "a,b", "--out", "{dir}/no/s.csv"], "can't write"),
            (["{dir}/twice.csv", "--panel", "a,b"], "more than once"),
        ],
    )
    def test_refusals(self, run, tmp_path, words, says):
        (tmp_path / "s.csv").write_text("scenario\ns1\n", encoding="utf-8")
        (tmp_path / "twice.csv").write_text("scenario\ns1\ns1\n", encoding="utf-8")
        status, _, refused = run(*(word.format(dir=tmp_path) for word in words))
        assert status == 1
        assert says in str(refused)


class TestStratified:
    """Schedules in which each judge has its own number of calls."""

    CALLS = MappingProxyType({"a": 30, "b": 60, "c": 10})

    def schedule(self, **options):
        scenarios = [f"q{i}" for i in range(20)]
        given = {"calls": self.CALLS, "models": ["A", "B"], "seed": 3} | options
        return assign(scenarios, ["c", "a", "b"], "stratified", **given)

    def test_each_judge_has_its_calls(self):
        found = self.schedule()
        for model in ("A", "B"):
            own = found[found["model"] == model]
            assert own["judge"].value_counts().to_dict() == dict(self.CALLS)
            assert (own.groupby("scenario").size() == 5).all()
            assert not own.duplicated(["scenario", "generation"]).any()
        assert found.attrs["budget"] == 5

    def test_models_share_judges(self):
        found = self.schedule()
        by_model = found.pivot(index=["scenario", "generation"], columns="model", values="judge")
        assert (by_model["A"] == by_model["B"]).all()

    def test_judges_come_at_even_distances(self):
        own = self.schedule(models=None)
        by_scenario = own.groupby(["scenario", "judge"]).size().unstack(fill_value=0)
        assert by_scenario["b"].between(2, 4).all()
        assert by_scenario["c"].max() == 1

    def test_its_variance_is_what_was_planned(self):
        own = self.schedule(models=None)
        counts = np.array([self.CALLS[name] for name in own.attrs["panel"]])
        planned = stratified_coefficients(counts, 5, Campaign(20))
        judge = own["judge"].map({name: k for k, name in enumerate(own.attrs["panel"])})
        executed = assignment_coefficients(
            pd.factorize(own["scenario"])[0],
            own["generation"].to_numpy(),
            judge.to_numpy(),
            panel_size=3,
            weight=1 / (3 * counts[judge]),
        )
        assert executed.by_term == pytest.approx(planned.by_term)

    def test_the_order_of_rows_does_not_matter(self):
        one = self.schedule()
        other = assign(
            [f"q{i}" for i in reversed(range(20))],
            ["a", "b", "c"],
            "stratified",
            calls=dict(reversed(self.CALLS.items())),
            models=["A", "B"],
            seed=3,
        )
        pd.testing.assert_frame_equal(one, other)

    def test_a_plan_can_be_scheduled(self):
        rows = {name: crossed(12, 3, 4) for name in ("A", "B")}
        fit = linear_fit(table_of(rows), 0.7, draws=20)
        call = {"j0": 0.02, "j1": 0.002, "j2": 0.001, "j3": 0.001}
        plan = bj.plan(fit, 0.3, prices={"call": call, "generation": 0.001})
        calls = plan.attrs["calls_by_judge"]
        own = assign([f"s{i}" for i in range(12)], list(calls), "stratified", calls=calls)
        assert len(own) == plan.loc["stratified", "calls"] / 2

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"calls": None}, "needs calls by judge"),
            ({"calls": {"a": 40, "b": 60}}, "none for 'c'"),
            ({"calls": {"a": 30, "b": 60, "c": 9, "d": 1}}, "some for 'd'"),
            ({"calls": {"a": 30, "b": 60, "c": 0}}, "calls of c = 0"),
            ({"calls": {"a": 30, "b": 60, "c": 11}}, "101 calls, and there are 20 scenarios"),
            ({"budget": 4}, "5 for each scenario, where 4 (the budget) is wanted"),
            ({"generations": 6}, "5 for each scenario, where 6 (the budget) is wanted"),
            ({"generations": 5, "budget": 6}, "do not agree"),
            ({"exclude_own_family": True}, "exclude_own_family: of no effect"),
        ],
    )
    def test_refusals(self, change, words):
        with pytest.raises(BayesJudgeError) as refusal:
            self.schedule(**change)
        assert words in str(refusal.value)

    def test_calls_are_for_it_alone(self):
        with pytest.raises(BayesJudgeError, match="are for strategy='stratified'"):
            assign(["q1"], ["a", "b"], calls={"a": 1, "b": 1})
