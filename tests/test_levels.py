"""The levels of a table: what counts as one, what is said of it, and what is refused."""

# ruff: noqa: PD011  (values of levels, not of a frame)

import numpy as np
import pandas as pd
import pytest

from bayesjudge.errors import DesignError, FitError
from bayesjudge.examples import load
from bayesjudge.levels import MOST, Levels, levels_of
from bayesjudge.readers import read_scores

WHERE = "model 'm', scenario 's{}', generation '1', judge 'j{}'"


def frame_of(score, judges=3):
    """A crossed table with these scores: of scenario 0 by each judge, then of scenario 1..."""
    k = np.arange(len(score))
    return pd.DataFrame(
        {
            "model": "m",
            "scenario": [f"s{i}" for i in k // judges],
            "judge": [f"j{j}" for j in k % judges],
            "score": np.asarray(score, dtype=float),
        }
    )


def table_of(score, **options):
    return read_scores(frame_of(score), **options)


def repeated(values, times=6):
    return np.tile(np.asarray(values, dtype=float), times)


def at(i):
    return WHERE.format(i // 3, i % 3)


def consistent(levels, scores):
    """What holds for all levels: sorted, counted, aligned with the calls, read-only."""
    assert isinstance(levels, Levels)
    assert levels.values.dtype == np.float64
    assert levels.codes.dtype == levels.counts.dtype == np.int64
    assert (np.diff(levels.values) > 0).all()
    assert levels.codes.shape == scores.calls.score.shape
    np.testing.assert_array_equal(
        levels.counts, np.bincount(levels.codes, minlength=len(levels.values))
    )
    assert len(levels.labels) == len(set(levels.labels)) == len(levels.values)
    assert all(note.endswith(".") and not note.startswith(" ") for note in levels.notes)
    for array in (levels.values, levels.codes, levels.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    return levels


def found(scores, **options):
    return consistent(levels_of(scores, **options), scores)


class TestLevels:
    @pytest.mark.parametrize(
        ("values", "options"),
        [
            ([0, 1], {}),
            ([0, 1, 2], {"scale": (0, 2, 1)}),
            ([0, 1, 2], {"levels": [0, 1, 2]}),
            ([1, 1.5, 2, 2.5, 3], {}),
            ([1, 1.5, 2, 2.5, 3], {"scale": "1:3:0.5"}),
            (range(1, 11), {"scale": (1, 10)}),
            ([0, 25, 50, 75, 100], {}),
            ([0, 25, 50, 75, 100], {"scale": (0, 100)}),
            ([0, 30, 31, 100], {"levels": "0,30,31,100"}),
            ([-2, -1, 0, 1, 2], {"scale": (-2, 2, 1)}),
            (np.arange(1, 8) / 10, {"scale": (0.1, 0.7, 0.1)}),
            (np.linspace(0, 1, 50), {"scale": (0, 1)}),
        ],
    )
    def test_levels_that_simply_work(self, values, options):
        scores = table_of(repeated(values), **options)
        levels = found(scores)
        np.testing.assert_allclose(levels.values, list(values))
        np.testing.assert_array_equal(levels.counts, 6)
        np.testing.assert_allclose(levels.values[levels.codes], scores.calls.score)
        assert levels.labels == tuple(f"{value:g}" for value in values)
        assert levels.declared == ("levels" in options or scores.scale.step is not None)
        assert bool(levels.notes) != levels.declared

    def test_verdicts(self):
        frame = frame_of(repeated([0, 1])).assign(score=[True, False] * 6)
        assert found(read_scores(frame)).labels == ("0", "1")

    def test_without_declared_levels_the_scores_that_occur_are_they_and_that_is_said(self):
        levels = found(table_of(repeated([1, 2, 4]), scale=(1, 5)))
        assert list(levels.values) == [1, 2, 4]
        assert not levels.declared
        [note] = levels.notes
        for part in (
            "No levels were declared: the 3 distinct scores that occur are the levels (1, 2, 4)",
            "probability zero",
            "levels=",
            "--scale LOW:HIGH:STEP",
        ):
            assert part in note

    def test_declared_levels_that_never_occur_are_left_out_and_named(self):
        levels = found(table_of(repeated([3, 5, 6]), scale=(1, 8, 1)))
        assert list(levels.values) == [3, 5, 6]
        assert list(levels.counts) == [6, 6, 6]
        assert levels.declared
        [note] = levels.notes
        for part in (
            "5 declared levels are never used (1, 2, 4, 7, 8): the 3 that occur are the levels",
            "probability zero in this model",
            "keep_unused_levels=True (--keep-unused-levels)",
        ):
            assert part in note

    def test_declared_levels_that_never_occur_can_be_kept(self):
        levels = found(table_of(repeated([3, 5, 6]), scale=(1, 8, 1)), keep_unused=True)
        assert list(levels.values) == list(range(1, 9))
        assert list(levels.counts) == [0, 0, 6, 0, 6, 6, 0, 0]
        assert levels.declared
        [note] = levels.notes
        assert note.startswith("5 declared levels are never used (1, 2, 4, 7, 8).")
        assert "All 8 are kept, as asked for" in note
        assert "its probability rests on the prior" in note

    def test_one_declared_level_is_never_used(self):
        for keep in (False, True):
            [note] = found(table_of(repeated([1, 2]), levels=[1, 2, 3]), keep_unused=keep).notes
            assert note.startswith("1 declared level is never used (3)")

    @pytest.mark.parametrize("options", [{}, {"scale": (1, 5)}])
    def test_unused_levels_are_kept_only_where_levels_are_declared(self, options):
        with pytest.raises(FitError, match="no levels were declared: leave it out"):
            levels_of(table_of(repeated([1, 2, 4]), **options), keep_unused=True)

    def test_unused_levels_are_not_kept_beside_bins(self):
        scores = table_of(repeated([1, 2, 4]), scale=(1, 5, 1))
        with pytest.raises(FitError, match="bins= makes levels"):
            levels_of(scores, bins=2, keep_unused=True)

    def test_more_unused_levels_than_can_be_modelled_are_not_kept(self):
        with pytest.raises(DesignError, match="101 levels are declared, more than the 50"):
            levels_of(table_of(repeated([0, 25, 90]), scale=(0, 100, 1)), keep_unused=True)

    def test_all_declared_levels_used_often_leave_nothing_to_say(self):
        assert found(table_of(repeated([1, 2, 3]), scale=(1, 3, 1))).notes == ()

    def test_of_more_declared_levels_than_can_be_modelled_those_that_occur_are_used(self):
        levels = found(table_of(repeated([0, 25, 90]), scale=(0, 100, 1)))
        assert list(levels.values) == [0, 25, 90]
        assert levels.declared
        [note] = levels.notes
        assert note.startswith("98 declared levels are never used (1, 2, 3")
        assert "the 3 that occur are the levels (0, 25, 90)" in note

    def test_as_many_declared_levels_as_can_be_modelled(self):
        scores = table_of(repeated([1, 9]), scale=(1, MOST, 1))
        assert len(found(scores, keep_unused=True).values) == MOST

    def test_declared_levels_are_never_taken_for_continuous(self):
        score = np.random.default_rng(0).permutation(np.arange(30))
        levels = found(table_of(score, scale=(0, 39, 1)))
        assert len(levels.values) == 30

    def test_a_level_used_once_is_named_with_the_place_of_its_score(self):
        score = [*repeated([1, 2], 4), 3, 5]
        levels = found(table_of(score, scale=(1, 5, 1)))
        note = levels.notes[-1]
        assert note.startswith("2 levels are used only once, so that a threshold there rests on")
        assert f"3 ({at(8)}); 5 ({at(9)})." in note
        [_, note] = found(table_of([*repeated([1, 2]), 9])).notes
        assert note.startswith("1 level is used only once")

    def test_only_some_of_many_levels_used_once_are_named(self):
        note = found(table_of(range(9), scale=(0, 8, 1))).notes[-1]
        assert note.startswith("9 levels are used only once")
        assert note.endswith(f"4 ({at(4)}); and 4 more.")

    def test_codes_follow_the_calls_in_any_order_of_rows(self):
        frame = frame_of(np.random.default_rng(1).integers(1, 6, 60))
        frame.loc[3, "score"] = np.nan
        one = read_scores(frame, scale=(1, 5, 1))
        two = read_scores(frame.sample(frac=1, random_state=2), scale=(1, 5, 1))
        np.testing.assert_array_equal(found(one).codes, found(two).codes)
        np.testing.assert_array_equal(found(one).codes, one.calls.score - 1)

    def test_a_selection_keeps_the_declared_levels(self):
        frame = pd.concat(
            [frame_of(repeated([1, 2])), frame_of(repeated([3, 4])).assign(model="n")]
        )
        scores = read_scores(frame, scale=(1, 4, 1)).select(models="n")
        assert list(found(scores, keep_unused=True).counts) == [0, 0, 6, 6]

    def test_scores_within_rounding_are_one_level(self):
        score = [*repeated([0.1 * 3, 0.3, 0.7]), 0.1 * 7]
        levels = found(table_of(score))
        assert levels.labels == ("0.3", "0.7")
        assert list(levels.counts) == [12, 7]
        declared = found(table_of(score, levels=[0.3, 0.7]))
        assert list(declared.values) == [0.3, 0.7]
        assert list(declared.codes) == list(levels.codes)

    def test_one_score_far_out_does_not_melt_the_others_into_one(self):
        assert len(found(table_of([*repeated([1, 2, 3]), 1e15])).values) == 4

    def test_averages_within_rounding_of_a_level_are_on_it(self):
        frame = frame_of(repeated([0.1, 0.2, 0.7]))
        scores = read_scores(pd.concat([frame] * 3), levels=[0.1, 0.2, 0.7], repeats="mean")
        assert list(found(scores).counts) == [6, 6, 6]

    def test_averages_that_count_as_levels_are_pointed_out(self):
        frame = pd.concat([frame_of(repeated([1, 2])), frame_of(repeated([2, 2]))])
        levels = found(read_scores(frame, repeats="mean"))
        assert list(levels.values) == [1.5, 2]
        assert 'repeats="keep" (--repeats keep)' in levels.notes[1]

    def test_labels_stay_apart_where_six_digits_do_not_tell(self):
        levels = found(table_of(repeated([1.0000001, 1.0000002, 2.0])))
        assert levels.labels == ("1.0000001", "1.0000002", "2.0")

    def test_of_many_levels_some_are_listed(self):
        [note] = found(table_of(repeated(np.arange(30)))).notes
        assert "(0, 1, " in note
        assert "19, and 10 more)" in note

    def test_the_ordinal_example(self):
        levels = found(load("mtbench-ordinal"))
        np.testing.assert_allclose(levels.values, np.arange(2, 21) / 2)
        assert levels.counts.sum() == 20_000


class TestBins:
    def test_the_declared_range_is_cut_and_a_bin_is_worth_its_midpoint(self):
        score = [0, 1, 2.4, 2.5, 4.9, 5, 7.4, 7.5, 9, 10, 10, 0]
        levels = found(table_of(score, scale=(0, 10)), bins=4)
        assert list(levels.values) == [1.25, 3.75, 6.25, 8.75]
        assert list(levels.codes) == [0, 0, 0, 1, 1, 2, 2, 3, 3, 3, 3, 0]
        assert not levels.declared
        [note] = levels.notes
        for part in (
            "bins=4: the declared range 0 to 10 was cut into 4 bins of width 2.5",
            "each score counts as the midpoint of its bin (1.25, 3.75, 6.25, 8.75)",
            "on the edge of two bins is in the upper one",
        ):
            assert part in note

    def test_without_a_declared_scale_the_observed_range_is_cut(self):
        levels = found(table_of(repeated(np.linspace(2, 5, 7))), bins=3)
        assert list(levels.values) == [2.5, 3.5, 4.5]
        assert "the observed range 2 to 5" in levels.notes[0]

    def test_empty_bins_are_left_out_and_said(self):
        score = repeated([0, 0.5, 1, 9.5, 10])
        levels = found(table_of(score, scale=(0, 10)), bins=4)
        assert list(levels.values) == [1.25, 8.75]
        assert list(levels.counts) == [18, 12]
        assert levels.notes[1].startswith("2 bins hold no score and are left out (midpoint 3.75, 6")
        assert "probability zero" in levels.notes[1]
        score = repeated([0, 0.5, 1, 4, 9.5, 10])
        note = found(table_of(score, scale=(0, 10)), bins=4).notes[1]
        assert note.startswith("1 bin holds no score and is left out (midpoint 6.25)")

    def test_a_bin_with_one_score_is_named(self):
        levels = found(table_of([*repeated([0, 1, 2]), 9], scale=(0, 10)), bins=2)
        assert levels.notes[-1].startswith("1 level is used only once")
        assert f"7.5 ({at(18)})" in levels.notes[-1]

    def test_declared_levels_can_be_binned(self):
        levels = found(table_of(repeated(range(0, 101, 5)), scale=(0, 100, 5)), bins=10)
        assert list(levels.values) == list(range(5, 100, 10))
        assert list(levels.counts) == [12] * 9 + [18]

    @pytest.mark.parametrize("bins", [3, 7, 10, 49])
    def test_edges_are_not_moved_by_rounding(self, bins):
        edges = np.arange(bins + 1) * (0.7 / bins)
        levels = found(table_of(repeated(edges), scale=(0, 0.7)), bins=bins)
        assert list(levels.counts) == [6] * (bins - 1) + [12]

    def test_continuous_scores(self):
        score = np.random.default_rng(3).uniform(1, 10, 300)
        levels = found(table_of(score, scale=(1, 10)), bins=10)
        assert len(levels.values) == 10
        assert np.abs(levels.values[levels.codes] - score).max() <= 0.45

    @pytest.mark.parametrize("bins", [4, np.int64(4), 4.0])
    def test_any_whole_number_will_do(self, bins):
        scores = table_of(repeated(range(9)))
        np.testing.assert_array_equal(found(scores, bins=bins).values, found(scores, bins=4).values)

    @pytest.mark.parametrize(
        "bins", [0, 1, -3, MOST + 1, 2.5, True, "10", np.nan, np.inf, [10], "ten"]
    )
    def test_numbers_of_bins_that_are_refused(self, bins):
        with pytest.raises(FitError, match=r"bins = .* must be a whole number from 2 to 50"):
            levels_of(table_of(repeated(range(9))), bins=bins)


def continuous(n=300):
    return np.random.default_rng(4).uniform(1, 10, n)


REFUSED = {
    "all scores the same": (
        repeated([7], 12),
        {"scale": (1, 10, 1)},
        None,
        ["All 12 scores are 7", "nothing to model", "two levels or more"],
    ),
    "all scores the same, nothing declared": (repeated([0.5], 5), {}, None, ["All 5 scores"]),
    "all scores the same, in bins": (repeated([7], 9), {"scale": (1, 10)}, 5, ["All 9 scores"]),
    "one score": ([4], {}, None, ["The only score is 4"]),
    "continuous": (
        continuous(),
        {"scale": (1, 10)},
        None,
        [
            "The 300 scores take 300 distinct values from 1.",
            "more than the 50 levels",
            "continuous scores",
            'model="linear" (--model linear)',
            "bins=10 (--bins 10)",
        ],
    ),
    "continuous, nothing declared": (continuous(), {}, None, ["continuous scores", "bins=10"]),
    "continuous, to two decimals": (
        np.round(continuous(60), 1),
        {},
        None,
        ["distinct values", "on average 1.", "continuous scores", "at most 50: levels="],
    ),
    "continuous, few": (continuous(18), {}, None, ["18 scores take 18", "continuous scores"]),
    "51 values, each often": (
        repeated(range(51), 9),
        {},
        None,
        ["459 scores take 51 distinct values from 0 to 50", "more than the 50 levels"],
    ),
    "percentages of all kinds": (
        repeated(range(101)),
        {"scale": (0, 100, 1)},
        None,
        ["take 101 distinct values from 0 to 100", "continuous scores"],
    ),
    "percentages, few scores": (
        np.random.default_rng(5).choice(101, 40, replace=False),
        {"scale": (0, 100, 1)},
        None,
        ["40 scores take 40 distinct values", "on average 1.0 scores for each"],
    ),
    "21 values, fewer than 5 each": (
        repeated(range(21), 4),
        {},
        None,
        ["84 scores take 21 distinct values", "on average 4.0 scores for each"],
    ),
    "11 values, fewer than 2 each": (range(11), {}, None, ["continuous scores"]),
    "kept between levels": (
        [*repeated([1, 2, 3]), 2.5, 2.25],
        {"scale": (1, 3, 1), "outside": "keep"},
        None,
        [
            "2 scores are not among the declared levels (1 to 3 by 1)",
            f"2.5 ({at(18)}); 2.25 ({at(19)}).",
            'outside="missing" (--outside missing)',
            "--levels",
            'model="linear"',
            "bins=10",
        ],
    ),
    "kept outside uneven levels": (
        [*repeated([0, 1, 3]), 5],
        {"levels": [0, 1, 3], "outside": "keep"},
        None,
        ["1 score is not among the declared levels (0, 1, 3)", f"5 ({at(18)})"],
    ),
    "kept outside a range": (
        [*repeated([1, 2, 3]), 11],
        {"scale": (1, 10), "outside": "keep"},
        None,
        ["1 score is outside the declared scale (1 to 10)", f"11 ({at(18)})"],
    ),
    "kept outside in numbers": (
        repeated([1, 2, 12]),
        {"scale": (1, 10, 1), "outside": "keep"},
        None,
        ["6 scores are not among", f"12 ({at(2)})", "; and 1 more"],
    ),
    "kept outside a range, in bins": (
        [*continuous(60), 12.5],
        {"scale": (1, 10), "outside": "keep"},
        10,
        ["1 score is outside the declared scale (1 to 10)", f"12.5 ({at(60)})"],
    ),
    "bins for few levels": (
        repeated([1, 2, 3]),
        {"scale": (1, 3, 1)},
        10,
        ["bins=10 is not needed", "take 3 distinct values", "Leave bins= (--bins) out"],
    ),
    "bins for two levels": (repeated([0, 1]), {}, 2, ["2 distinct", "Leave bins= (--bins) out."]),
    "as many bins as levels": (
        repeated([1, 2, 3]),
        {},
        3,
        ["bins=3 is not needed", "fewer than 3"],
    ),
    "all in one bin": (
        repeated([4, 4.1, 4.2]),
        {"scale": (0, 100)},
        2,
        ["bins=2 cuts the declared range 0 to 100", "width 50", "all scores fall into one"],
    ),
}


class TestRefused:
    @pytest.mark.parametrize("name", REFUSED)
    def test_each_says_what_was_found_and_what_to_do(self, name):
        score, options, bins, parts = REFUSED[name]
        with pytest.raises(DesignError) as refusal:
            levels_of(table_of(score, **options), bins)
        text = str(refusal.value)
        assert not [part for part in parts if part not in text], text
        assert "  " not in text
        assert len(text) < 900

    def test_bins_are_not_advised_for_scores_outside_the_range(self):
        scores = table_of([*repeated([1, 2, 3]), 5], scale=(1, 3, 1), outside="keep")
        with pytest.raises(DesignError) as refusal:
            levels_of(scores)
        assert "bins" not in str(refusal.value)

    def test_averages_between_levels(self):
        frame = pd.concat([frame_of(repeated([1, 2])), frame_of(repeated([2, 2]))])
        scores = read_scores(frame, scale=(1, 3, 1), repeats="mean")
        with pytest.raises(DesignError, match=r"6 scores are not among .*Averages.*--repeats keep"):
            levels_of(scores)
        kept = read_scores(frame, scale=(1, 3, 1), repeats="keep")
        assert list(found(kept).counts) == [6, 18]

    def test_averages_that_look_continuous(self):
        rng = np.random.default_rng(6)
        frame = pd.concat([frame_of(rng.integers(0, 40, 60)) for _ in range(7)])
        with pytest.raises(DesignError, match=r"continuous scores.*Are they averages\?"):
            levels_of(read_scores(frame, repeats="mean"))

    @pytest.mark.parametrize("bins", [None, 10])
    def test_the_examples_with_real_valued_scores(self, bins):
        with pytest.raises(DesignError, match="outside" if bins else "continuous scores"):
            levels_of(load("mtbench"), bins)
