from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesjudge.errors import ScoreError
from bayesjudge.readers import read_scores
from bayesjudge.scores import ScoreTable
from bayesjudge.scores.labels import natural_order
from bayesjudge.scores.scale import Scale

CALLS = ("model", "scenario", "generation", "judge", "score")


def panel(**changed: object) -> pd.DataFrame:
    """2 models x 3 scenarios x 2 generations x 2 judges."""
    labels = pd.MultiIndex.from_product(
        [["m2", "m10"], ["s1", "s2", "s10"], ["1", "2"], ["kind", "strict"]],
        names=["model", "scenario", "generation", "judge"],
    )
    frame = labels.to_frame(index=False)
    frame["score"] = np.arange(len(frame)) % 10 + 1.0
    return frame.assign(**changed)


def same_calls(one: ScoreTable, other: ScoreTable) -> None:
    for name in ("models", "scenarios", "judges", "generations"):
        assert getattr(one, name) == getattr(other, name)
    for name in CALLS:
        np.testing.assert_array_equal(getattr(one.calls, name), getattr(other.calls, name))


def note_with(table: ScoreTable, *parts: str) -> str:
    found = [note for note in table.notes if all(part in note for part in parts)]
    assert len(found) == 1, table.notes
    return found[0]


class TestTable:
    def test_frame_is_tidy_and_in_file_order_with_extras_behind(self):
        given_frame = panel()[["score", "judge", "model", "generation", "scenario"]]
        given_frame.insert(0, "tokens", range(24))
        table = read_scores(given_frame.iloc[::-1])

        assert list(table.frame.columns) == [*CALLS, "tokens"]
        assert list(table.frame.index) == list(range(24))
        assert list(table.frame["tokens"]) == list(range(23, -1, -1))
        assert table.frame["score"].dtype == np.float64
        assert all(type(label) is str for label in table.frame["generation"])

    def test_labels_are_in_natural_order(self):
        table = read_scores(panel())
        assert table.models == ("m2", "m10")
        assert table.scenarios == ("s1", "s2", "s10")
        assert table.judges == ("kind", "strict")
        assert table.generations[:3] == (("m2", "s1", "1"), ("m2", "s1", "2"), ("m2", "s2", "1"))
        assert len(table.generations) == 12

    def test_calls_lead_back_to_the_frame(self):
        frame = panel()
        frame.loc[[3, 17], "score"] = np.nan
        table = read_scores(frame.sample(frac=1, random_state=1))
        calls = table.calls
        rebuilt = pd.DataFrame(
            [
                (table.models[m], table.scenarios[s], *table.generations[g], table.judges[j], y)
                for m, s, g, j, y in zip(*(getattr(calls, n) for n in CALLS), strict=True)
            ],
            columns=["model", "scenario", "model_g", "scenario_g", "generation", "judge", "score"],
        )
        assert (rebuilt["model"] == rebuilt["model_g"]).all()
        assert (rebuilt["scenario"] == rebuilt["scenario_g"]).all()
        expected = frame.dropna().sort_values(list(CALLS)).reset_index(drop=True)
        found = rebuilt[list(CALLS)].sort_values(list(CALLS)).reset_index(drop=True)
        pd.testing.assert_frame_equal(found, expected, check_dtype=False)
        assert len(calls) == 22

    def test_calls_are_sorted_and_read_only(self):
        calls = read_scores(panel().sample(frac=1, random_state=3)).calls
        keys = (calls.judge, calls.generation, calls.scenario, calls.model)
        np.testing.assert_array_equal(np.lexsort(keys), np.arange(24))
        assert calls.generation.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            calls.score[0] = 3.0

    def test_table_is_frozen_and_the_input_untouched(self):
        frame = panel(judge=lambda f: pd.Categorical(f["judge"]))
        before = frame.copy(deep=True)
        table = read_scores(frame, repeats="mean", scale=(1, 10))
        with pytest.raises(dataclasses.FrozenInstanceError):
            table.scale = Scale(0, 1)
        table.frame.loc[0, "score"] = -5.0
        pd.testing.assert_frame_equal(frame, before)

    def test_table_survives_pickling(self):
        table = read_scores(panel())
        same_calls(table, pickle.loads(pickle.dumps(table)))

    def test_repr_is_one_informative_line(self):
        frame = panel()
        frame.loc[0, "score"] = None
        text = repr(read_scores(frame, scale=(1, 10, 0.5)))
        assert text == (
            "<ScoreTable DataFrame: 2 models, 3 scenarios, 12 generations, 2 judges, 23 scores, "
            "1 missing; scale 1 to 10 by 0.5 (declared)>"
        )

    def test_import_needs_only_numpy_and_pandas(self):
        code = (
            "import sys, bayesjudge.scores; "
            "print(sorted({'scipy', 'xarray', 'pymc', 'arviz', 'click'} & set(sys.modules)))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "[]"


class TestLabels:
    @pytest.mark.parametrize(
        ("given_labels", "expected"),
        [
            (["10", "9", "1"], ("1", "9", "10")),
            (["b2", "a10", "B1", "a9"], ("a9", "a10", "B1", "b2")),
            (["007", "7", "70"], ("007", "7", "70")),
            (["x", "x1", "1x"], ("1x", "x", "x1")),
        ],
    )
    def test_natural_order(self, given_labels, expected):
        assert natural_order(given_labels) == expected

    @pytest.mark.parametrize(
        ("column", "expected"),
        [
            ([81, 82, 83], ("81", "82", "83")),
            ([81.0, 82.0, 100.0], ("81", "82", "100")),
            ([81, 82.0, "x"], ("81", "82", "x")),
            ([0.5, 1.0, 1.5], ("0.5", "1.0", "1.5")),
            (["81.0", "82.0", "9.0"], ("9", "81", "82")),
            (["gpt-4.0", "gpt-4.1", "4.0"], ("4.0", "gpt-4.0", "gpt-4.1")),
            ([True, False, "x"], ("False", "True", "x")),
            ([" a", "b ", "c"], ("a", "b", "c")),
            (["q 1 12", "q 11 2", "q 1"], ("q 1", "q 1 12", "q 11 2")),
        ],
    )
    def test_labels_become_text(self, column, expected):
        frame = panel(scenario=pd.Series(column, dtype=object).repeat(4).tolist() * 2)
        table = read_scores(frame)
        assert table.scenarios == expected
        assert set(table.frame["scenario"]) == set(expected)

    def test_removed_blanks_and_points_are_said(self):
        frame = panel(
            judge=lambda f: f["judge"] + " ", scenario=pd.Series([1.0, 2, 3]).repeat(4).tolist() * 2
        )
        table = read_scores(frame)
        note_with(table, "Blank space around 2 judge labels was removed")
        note_with(table, "scenario labels are whole numbers", "'1.0' is '1'")

    def test_named_index_levels_are_columns(self):
        frame = panel()
        same_calls(read_scores(frame), read_scores(frame.set_index(["model", "scenario"])))


class TestGenerations:
    def test_one_generation_is_assumed_and_said(self):
        frame = panel().query("generation == '1'").drop(columns="generation")
        table = read_scores(frame)
        note_with(table, "no generation column", "labelled '1'")
        assert table.generations[0] == ("m2", "s1", "1")
        assert len(table.generations) == 6

    def test_generations_are_nested(self):
        frame = panel(generation=lambda f: f["model"] + f["generation"])
        assert len(read_scores(frame).generations) == 12


class TestRepeats:
    def repeated(self) -> pd.DataFrame:
        again = panel().iloc[[0, 5]].assign(score=[4.0, np.nan])
        return pd.concat([panel(), again])

    def test_kept(self):
        table = read_scores(self.repeated(), repeats="keep")
        assert table.repeats == "keep"
        assert len(table.frame) == 26
        assert len(table.calls) == 25
        note_with(table, "2 repeated calls kept", "26 calls on 24 cells")
        np.testing.assert_array_equal(table.calls.score[:2], [1.0, 4.0])

    def test_averaged_over_the_scores_present(self):
        frame = self.repeated().assign(tokens=range(26), topic="t")
        table = read_scores(frame, repeats="mean")
        assert len(table.frame) == 24
        assert table.frame.loc[0, "score"] == 2.5
        assert table.frame.loc[5, "score"] == 6.0
        assert list(table.frame.columns) == [*CALLS, "topic"]
        note_with(table, "2 repeated calls averaged", "26 calls became 24 scores", "tokens")

    def test_all_missing_cell_stays_missing(self):
        frame = pd.concat([panel(), panel().iloc[[0]]]).assign(
            score=lambda f: f["score"].where(f["score"] != 1)
        )
        assert np.isnan(read_scores(frame, repeats="mean").frame.loc[0, "score"])

    def test_repeats_without_generation_column(self):
        frame = panel().drop(columns="generation")
        assert len(read_scores(frame, repeats="keep").calls) == 24
        assert len(read_scores(frame, repeats="mean").calls) == 12


class TestScale:
    def test_observed_range_is_said(self):
        table = read_scores(panel())
        assert table.scale == Scale(1.0, 10.0, None)
        assert not table.scale_declared
        assert table.levels is None
        note_with(table, "No scale was declared", "1 to 10", "--scale")

    @pytest.mark.parametrize(
        ("options", "scale", "levels"),
        [
            ({"scale": (0, 10)}, (0, 10, None), None),
            ({"scale": "0:10"}, (0, 10, None), None),
            ({"scale": [0, 10, 5], "outside": "keep"}, (0, 10, 5), (0, 5, 10)),
            ({"scale": "1:10:0.5"}, (1, 10, 0.5), tuple(np.arange(2, 21) / 2)),
            ({"levels": range(1, 11)}, (1, 10, 1), tuple(range(1, 11))),
            ({"levels": "10,1,3", "outside": "keep"}, (1, 10, None), (1, 3, 10)),
        ],
    )
    def test_declared(self, options, scale, levels):
        table = read_scores(panel(), **options)
        assert table.scale == scale
        assert table.levels == levels
        assert table.scale_declared

    def test_scores_within_rounding_of_a_level_are_that_level(self):
        frame = panel(score=np.arange(24) % 10 * 0.1 + 0.1)
        table = read_scores(frame, scale=(0.1, 1, 0.1))
        assert set(table.calls.score) <= set(table.levels)

    def test_outside_missing_and_keep(self):
        frame = panel()
        frame.loc[4, "score"] = 11
        frame.loc[7, "score"] = 2.5
        missing = read_scores(frame, scale=(1, 10, 1), outside="missing")
        assert len(missing.calls) == 22
        note_with(missing, "2 scores are outside", "11.0 in row 5", "2.5 in row 8")
        kept = read_scores(frame, levels=range(1, 11), outside="keep")
        assert {11.0, 2.5} <= set(kept.calls.score)
        note_with(kept, "2 scores are outside", "and kept")


class TestMissing:
    @pytest.mark.parametrize(
        "absent", ["", " ", None, np.nan, pd.NA, "null", "NaN", "None", "N/A", "NA", "-"]
    )
    def test_parse_failures_are_missing_never_zero(self, absent):
        frame = panel(score=lambda f: f["score"].astype(object))
        frame.loc[2, "score"] = absent
        table = read_scores(frame)
        assert len(table.calls) == 23
        assert table.scale.low == 1
        note_with(table, "1 of 24 scores is missing", "missing at random")

    def test_declared_missing_texts_and_numbers(self):
        frame = panel(score=lambda f: f["score"].astype(str))
        frame.loc[2, "score"] = "ERR"
        frame.loc[3, "score"] = "99"
        table = read_scores(frame, missing=["err", 99])
        assert len(table.calls) == 22
        assert len(read_scores(frame.drop(3), missing="ERR").calls) == 22
        assert len(read_scores(panel(), missing="10").calls) == 22
        note_with(read_scores(panel(), missing=10), "2 scores equal to 10 are missing, as declared")

    @pytest.mark.parametrize("options", [{}, {"scale": (0, 10)}, {"levels": range(1, 11)}])
    def test_minus_one_of_fastchat_is_missing(self, options):
        frame = panel()
        frame.loc[[0, 9], "score"] = -1
        table = read_scores(frame, **options)
        assert len(table.calls) == 22
        note_with(table, "2 scores of -1 were read as missing", "FastChat")

    def test_minus_one_on_its_scale_is_a_score(self):
        frame = panel(score=np.tile([-1, 0, 1], 8))
        assert len(read_scores(frame, levels=[-1, 0, 1]).calls) == 24
        assert len(read_scores(frame, missing=[-1]).calls) == 16

    def test_verdicts(self):
        frame = panel(score=np.arange(24) % 2 == 1)
        table = read_scores(frame)
        note_with(table, "24 verdicts True and False were read as the scores 1 and 0")
        assert table.calls.score.mean() == 0.5
        as_text = frame.assign(score=frame["score"].astype(str).str.lower())
        same_calls(table, read_scores(as_text))

    @pytest.mark.parametrize("dtype", ["Int64", "Float64", "float32", "string", object, "category"])
    def test_dtypes(self, dtype):
        frame = panel()
        frame.loc[2, "score"] = None
        expected = read_scores(frame)
        same_calls(expected, read_scores(frame.astype({"score": dtype})))

    def test_share_by_judge_and_model(self):
        frame = panel()
        frame.loc[(frame["judge"] == "strict") & (frame["model"] == "m2"), "score"] = np.nan
        frame = frame[(frame["judge"] == "strict") | (frame["model"] == "m2")]
        missing = read_scores(frame).missing
        assert list(missing.index) == [("kind", "m2"), ("strict", "m2"), ("strict", "m10")]
        assert list(missing["missing"]) == [0, 6, 0]
        assert list(missing["calls"]) == [6, 6, 6]
        assert list(missing["share"]) == [0, 1, 0]

    def test_silent_judge_is_seen_in_missing_but_no_label(self):
        frame = panel()
        frame.loc[frame["judge"] == "strict", "score"] = np.nan
        table = read_scores(frame)
        assert table.judges == ("kind",)
        assert table.missing.loc[("strict", "m2"), "share"] == 1
        note_with(table, "1 judge has no score at all", "'strict'")

    def test_panel_mean_bounds(self):
        frame = pd.DataFrame(
            {
                "model": "m",
                "scenario": ["1", "2", "3", "1", "2"],
                "judge": ["a", "a", "a", "b", "b"],
                "score": [2.0, 4.0, None, 5.0, 3.0],
            }
        )
        bounds = read_scores(frame, scale=(1, 10)).panel_mean_bounds().loc["m"]
        assert bounds["mean"] == pytest.approx((3 + 4) / 2)
        assert bounds["low"] == pytest.approx((7 / 3 + 4) / 2)
        assert bounds["high"] == pytest.approx((16 / 3 + 4) / 2)
        assert bounds["missing"] == 1

    def test_bounds_agree_when_nothing_is_missing(self):
        bounds = read_scores(panel()).panel_mean_bounds()
        assert list(bounds.columns) == ["mean", "low", "high", "missing"]
        assert list(bounds.index) == ["m2", "m10"]
        assert (bounds["low"] == bounds["mean"]).all()
        assert (bounds["high"] == bounds["mean"]).all()


class TestSelect:
    def test_keeps_scale_and_notes(self):
        table = read_scores(panel(), scale=(0, 10, 1))
        part = table.select(models="m10", scenarios=["s2", "s1"], judges=("strict",))
        assert (part.models, part.scenarios, part.judges) == (("m10",), ("s1", "s2"), ("strict",))
        assert len(part.calls) == 4
        assert part.scale == table.scale
        assert part.levels == table.levels
        note_with(part, "left out 20 rows")
        assert len(table.calls) == 24

    def test_everything(self):
        table = read_scores(panel())
        assert table.select().notes == table.notes
        same_calls(table, table.select())

    @pytest.mark.parametrize(
        ("labels", "parts"),
        [
            ({"models": ["m1"]}, ["no model 'm1'", "Did you mean 'm10'", "'m2'"]),
            ({"judges": "stict"}, ["no judge 'stict'", "Did you mean 'strict'?"]),
            ({"scenarios": []}, ["No score is left"]),
        ],
    )
    def test_unknown_labels(self, labels, parts):
        with pytest.raises(ScoreError) as refusal:
            read_scores(panel()).select(**labels)
        for part in parts:
            assert part in str(refusal.value)

    def test_silent_judge(self):
        frame = panel()
        frame.loc[frame["judge"] == "strict", "score"] = np.nan
        with pytest.raises(ScoreError, match="All scores of the judge 'strict' are missing"):
            read_scores(frame).select(judges=["strict"])

    def test_where(self):
        table = read_scores(panel(), scale=(1, 10)).where("score > 5 and judge == 'kind'")
        assert table.judges == ("kind",)
        assert table.calls.score.min() > 5
        note_with(table, "left out 20 of 24 rows")


class TestWhere:
    FRAME = panel(
        turn=np.arange(24) % 3 + 1,
        axis=["tone", "fact"] * 12,
        flag=np.arange(24) % 4 == 0,
        **{"the type": "x"},
    )

    @pytest.mark.parametrize(
        ("expression", "left"),
        [
            ("turn == 1", 8),
            ("1 == turn", 8),
            ("turn == '1'", 8),
            ("turn != 1", 16),
            ("1 < turn <= 3", 16),
            ("turn in [1, 3]", 16),
            ("turn not in (1, 3)", 8),
            ("axis == 'tone'", 12),
            ("axis == 'tone' and turn == 1", 4),
            ("axis == 'tone' or turn == 1", 16),
            ("not (axis == 'tone')", 12),
            ("flag == True", 6),
            ("flag != True", 18),
            ("`the type` == 'x' and axis in ['fact', '`quoted`']", 12),
            ("turn > -1", 24),
            ("score >= turn", 21),
            ("model != judge", 24),
            ("model == 'm2'", 12),
        ],
    )
    @pytest.mark.parametrize("as_text", [False, True])
    def test_rows_left(self, expression, left, as_text):
        frame = self.FRAME.astype(str) if as_text else self.FRAME
        assert len(read_scores(frame, where=expression).frame) == left

    def test_both_names_of_a_renamed_column_work(self):
        frame = panel().rename(columns={"model": "system"})
        for name in ("system", "model"):
            table = read_scores(frame, columns={"model": "system"}, where=f"{name} == 'm10'")
            assert table.models == ("m10",)

    def test_what_was_left_out_is_said(self):
        table = read_scores(self.FRAME, where="turn == 1")
        note_with(table, "where='turn == 1'", "left out 16 of 24 rows")


class TestWide:
    def wide(self) -> pd.DataFrame:
        key = ["model", "scenario", "generation"]
        table = panel().pivot_table(index=key, columns="judge", values="score")
        return table.rename_axis(columns=None).add_prefix("judge_").reset_index()

    @pytest.mark.parametrize(
        "judges", ["judge_*", r"judge_\w+", ["judge_strict", "judge_kind"], "judge_.*"]
    )
    def test_wide_and_long_give_the_same_calls(self, judges):
        long = panel(judge=lambda f: "judge_" + f["judge"])
        same_calls(read_scores(long), read_scores(self.wide(), judges=judges))

    def test_rows_stay_together_and_extras_are_repeated(self):
        table = read_scores(self.wide().assign(topic=range(12)), judges="judge_*")
        assert list(table.frame["topic"][:4]) == [0, 0, 1, 1]
        assert list(table.frame["judge"][:3]) == ["judge_kind", "judge_strict", "judge_kind"]

    def test_a_pattern_takes_no_label_column(self):
        wide = self.wide().rename(columns={"model": "system"})
        table = read_scores(wide, judges="*", columns={"model": "system"})
        assert table.judges == ("judge_kind", "judge_strict")

    def test_names_for_tables_without_model_or_judge(self):
        frame = panel().query("model == 'm2' and judge == 'kind'")[
            ["scenario", "generation", "score"]
        ]
        table = read_scores(frame, model_name="one", judge_name="only")
        assert (table.models, table.judges) == (("one",), ("only",))
        same = panel().query("model == 'm2'")
        assert read_scores(same, model_name="m2").models == ("m2",)


class TestProperties:
    @settings(max_examples=40, deadline=None)
    @given(data=st.data())
    def test_order_of_rows_does_not_matter(self, data):
        label = st.sampled_from(["1", "2", "10", "a", "b b"])
        rows = data.draw(
            st.lists(
                st.tuples(label, label, label, label, st.integers(1, 9) | st.none()),
                min_size=1,
                max_size=30,
            )
        )
        repeats = data.draw(st.sampled_from(["keep", "mean"]))
        frame = pd.DataFrame([*rows, ("1", "1", "x", "x", 0.1)], columns=list(CALLS))
        shuffled = frame.iloc[data.draw(st.permutations(range(len(frame))))]
        one, other = (read_scores(f, repeats=repeats) for f in (frame, shuffled))
        same_calls(one, other)
        pd.testing.assert_frame_equal(one.missing, other.missing)
        pd.testing.assert_frame_equal(
            one.panel_mean_bounds(), other.panel_mean_bounds(), check_exact=True
        )

    @settings(max_examples=25, deadline=None)
    @given(names=st.permutations(["alpha", "beta", "gamma", "delta", "epsilon"]))
    def test_names_of_columns_do_not_matter(self, names):
        columns = dict(zip(CALLS, names, strict=True))
        renamed = read_scores(panel().rename(columns=columns), columns=columns)
        plain = read_scores(panel())
        same_calls(plain, renamed)
        pd.testing.assert_frame_equal(plain.frame, renamed.frame)
        assert plain.notes == renamed.notes

    @settings(max_examples=25, deadline=None)
    @given(
        scores=st.lists(st.integers(0, 3) | st.none(), min_size=12, max_size=12).filter(any),
    )
    def test_wide_and_long_agree(self, scores):
        wide = pd.DataFrame(
            np.array(scores, dtype=float).reshape(4, 3), columns=["x", "y", "z"]
        ).assign(scenario=[1, 2, 10, 20])
        long = wide.melt(id_vars="scenario", var_name="judge", value_name="score")
        options = {"model_name": "m", "scale": (0, 3, 1)}
        same_calls(
            read_scores(wide, judges=["x", "y", "z"], **options), read_scores(long, **options)
        )
