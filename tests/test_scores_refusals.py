"""Every refusal says what was found, where, and what to do: in its words, not only its type."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from test_scores import panel

from bayesjudge.errors import ScoreError
from bayesjudge.readers import read_scores


def refusal(source: object, **options: object) -> str:
    with pytest.raises(ScoreError) as caught:
        read_scores(source, **options)
    return str(caught.value)


def check(message: str, parts: list[str]) -> None:
    missing = [part for part in parts if part not in message]
    assert not missing, message


def with_value(column: str, value: object, *rows: int) -> pd.DataFrame:
    """Put a value of any kind into some rows, the third by default."""
    frame = panel()
    values = [value if row in (rows or (2,)) else v for row, v in enumerate(frame[column])]
    return frame.assign(**{column: pd.Series(values, dtype=object)})


ROW_3 = "row 3, model 'm2', scenario 's1', generation '2', judge 'kind'"

SCORES = [
    ("Tie", ["1 score is not a number", f"'Tie' in {ROW_3}", "missing=['Tie']", "--missing"]),
    ("[0, 1]", ["is not a number", f"'[0, 1]' in {ROW_3}", "one number"]),
    ([0, 1], ["is not a number", f"'[0, 1]' in {ROW_3}"]),
    ({"value": 3}, ["is not a number", "{'value': 3}", ROW_3]),
    ("7/10", ["is not a number", f"'7/10' in {ROW_3}", "one number"]),
    ("7,5", ["is not a number", f"'7,5' in {ROW_3}", "7.5, not 7,5"]),
    ("0x1F", ["is not a number", "'0x1F'"]),
    ("1_000", ["is not a number", "'1_000'"]),
    (True, ["is not a number", f"'True' in {ROW_3}"]),
    (pd.Timestamp("2024-01-01"), ["is not a number", "2024-01-01"]),
    (3 + 4j, ["is not a number", "(3+4j)"]),
    (np.inf, ["1 score is infinite", f"inf in {ROW_3}", "finite", "missing="]),
    ("-Infinity", ["1 score is infinite", f"-inf in {ROW_3}"]),
    ("1e999", ["1 score is infinite"]),
    (1e101, ["1 score is too large", "1e+101", ROW_3, "1e100"]),
]


@pytest.mark.parametrize(("value", "parts"), SCORES, ids=[str(case[0]) for case in SCORES])
def test_scores(value, parts):
    check(refusal(with_value("score", value)), parts)


def test_only_five_examples_are_listed():
    message = refusal(with_value("score", "Tie", *range(8)))
    check(message, ["8 scores are not numbers", "row 5,", "and 3 more"])
    assert "row 6," not in message


LABELS = [
    ("model", None, ["1 row has no model label", "column 'model'", "row 3", "where="]),
    ("judge", " ", ["1 row has no judge label", "row 3"]),
    ("scenario", np.nan, ["1 row has no scenario label", "row 3", "fill the label in"]),
    ("generation", "", ["1 row has no generation label", "row 3"]),
    ("model", "M2", ["1 model has two spellings", "'m2' (11 rows) and 'M2' (1 row)", "same"]),
    ("model", "m2 ", ["two spellings", "'m2' (11 rows) and 'm2 ' (1 row)", "blank space"]),
    ("judge", "k ind", ["1 judge has two spellings", "'kind' (11 rows)", "'k ind' (1 row)"]),
    ("judge", "kind\u00a0", ["1 judge has two spellings", "'kind\\xa0' (1 row)"]),
    ("model", "a\0b", ["model label in row 3", "NUL", "'a\\x00b'"]),
    ("scenario", "two\nlines", ["scenario label in row 3", "line break", "short identifier"]),
    ("scenario", "end\r", ["scenario label in row 3", "line break"]),
    ("scenario", "x" * 201, ["row 3", "201 characters", "At most 200", "short identifier"]),
    ("scenario", [1, 2], ["scenario column 'scenario' holds a list in row 3", "[1, 2]"]),
    ("judge", {"id": 1}, ["judge column 'judge' holds a dict in row 3", "one text or number"]),
    ("model", ("a", 1), ["model column 'model' holds a tuple in row 3"]),
    ("model", "\ud800", ["model label in row 3", "not valid Unicode"]),
]


@pytest.mark.parametrize(
    ("facet", "value", "parts"), LABELS, ids=[f"{f}-{str(v)[:9]!a}" for f, v, _ in LABELS]
)
def test_labels(facet, value, parts):
    check(refusal(with_value(facet, value)), parts)


def test_blank_labels_list_their_rows():
    message = refusal(with_value("judge", None, *range(4, 12)))
    check(message, ["8 rows have no judge label", "row 5, row 6", "row 9 and 3 more"])


def test_many_spellings_list_five_pairs():
    frame = panel(scenario=[f"s{i // 2}" if i % 2 else f"S{i // 2}" for i in range(24)])
    check(refusal(frame), ["12 scenarios have two spellings", "'S0'", "'s4'", "and 7 more"])


def renamed(**names: str) -> pd.DataFrame:
    return panel().rename(columns=names)


COLUMNS = [
    (
        renamed(model="system", scenario="question_id"),
        {},
        [
            "no column 'model' and no column 'scenario'",
            "'system', 'question_id', 'generation', 'judge', 'score'",
            'columns={"model": "system", "scenario": "question_id"}',
            "--columns model=system,scenario=question_id",
        ],
    ),
    (renamed(judge="Rater"), {}, ['columns={"judge": "Rater"}', "--columns judge=Rater"]),
    (renamed(judge="judgee"), {}, ['columns={"judge": "judgee"}']),
    (renamed(score="Score"), {}, ["no column 'score'", 'columns={"score": "Score"}']),
    (renamed(score="rating"), {}, ['columns={"score": "rating"}']),
    (renamed(scenario="xyz"), {}, ["no column 'scenario'", "--columns scenario=..."]),
    (
        renamed(score="SC").assign(PQ=1.0),
        {},
        ["no column 'score'", '{"score": "SC"} or columns={"score": "PQ"}', "--columns score=SC"],
    ),
    (
        panel().drop(columns="model"),
        {},
        ["no column 'model'", 'model_name="..."', "--model-name"],
    ),
    (
        panel().drop(columns="judge"),
        {},
        ["no column 'judge'", 'judge_name="..."', "--judge-name"],
    ),
    (
        panel().drop(columns=["judge", "score"]).assign(gpt=1, claude=2.5, topic="x"),
        {},
        ["each judge has a column of its own", "judges=[...]", "--judges", "'gpt', 'claude'"],
    ),
    (
        panel().drop(columns=["judge", "score"]).assign(judge_1=1, judge_2="2"),
        {},
        ["judges=[...]", "'judge_1', 'judge_2'"],
    ),
    (panel(), {"columns": {"modl": "x"}}, ["key 'modl'", "Did you mean 'model'", "'scenario'"]),
    (
        renamed(model="system"),
        {"columns": {"model": "sytem"}},
        ["'sytem' for 'model'", "no such column", "Did you mean 'system'?", "'judge'"],
    ),
    (
        panel().drop(columns="model"),
        {"columns": {"model": "judge", "judge": "judge"}},
        ["'judge' for both 'model' and 'judge'", "of its own"],
    ),
    (
        panel(system="x"),
        {"columns": {"model": "system"}},
        ["'system' for 'model'", "also has a column 'model'", "Rename or drop"],
    ),
    (panel(), {"columns": "model=system"}, ['columns={"model": "system"}', "must map"]),
    (panel(), {"model_name": "one"}, ["model_name='one'", "'m2', 'm10'", "--model-name"]),
    (panel(), {"judge_name": "one"}, ["judge_name='one'", "'kind', 'strict'"]),
    (panel().drop(columns="model"), {"model_name": " "}, ["model_name=' '", "not blank"]),
    (
        pd.concat([panel(), panel()[["score"]]], axis=1),
        {},
        ["duplicated column names", "'score' is the name of columns 5, 6", "Rename or drop one"],
    ),
    (panel().iloc[:0], {}, ["has columns and no rows", "'model', 'scenario'"]),
    (pd.DataFrame(), {}, ["no columns"]),
    (
        panel().set_axis(pd.MultiIndex.from_product([["a"], list("vwxyz")]), axis=1),
        {},
        ["2 levels", "Flatten"],
    ),
]


@pytest.mark.parametrize(("frame", "options", "parts"), COLUMNS)
def test_columns(frame, options, parts):
    check(refusal(frame, **options), parts)


WIDE = panel().query("judge == 'kind'").drop(columns=["judge", "score"]).assign(x=1, y=2.0, z="3")

JUDGES = [
    ({"judges": "judge_*"}, ["judges='judge_*' matches no column", "'x', 'y', 'z'"]),
    ({"judges": "mod.*"}, ["judges='mod.*' matches no column"]),
    ({"judges": "x)"}, ["judges='x)'", "no regular expression", "'x', 'y', 'z'"]),
    ({"judges": ["x", "zz"]}, ["'zz', which the table does not have", "Did you mean 'z'?"]),
    ({"judges": []}, ["judges= is empty", "'x', 'y', 'z'"]),
    ({"judges": ["x"], "columns": {"generation": "x"}}, ["also has a column 'generation'"]),
    ({"judges": ["x", "y"], "judge_name": "j"}, ["judge_name="]),
]


@pytest.mark.parametrize(("options", "parts"), JUDGES)
def test_judges(options, parts):
    check(refusal(WIDE, **options), parts)


def test_judge_column_in_use():
    frame = WIDE.drop(columns="generation")
    message = refusal(frame, judges=["x", "y"], columns={"generation": "x"})
    check(message, ["'x' is used twice", "judges=", "columns=", "'generation'"])


def test_wide_table_with_a_score_column():
    message = refusal(WIDE.assign(score=1), judges=["x", "y"])
    check(message, ["already has a column 'score'", "Add it to judges="])


def test_non_numeric_judge_column_names_column_and_row():
    frame = WIDE.assign(z=["3"] * 5 + ["good"] + ["3"] * 6)
    message = refusal(frame, judges=["x", "y", "z"])
    check(message, ["1 score is not a number", "'good' in row 6", "judge 'z'"])


SCALE = [
    ({"scale": (2, 9)}, ["5 scores are outside", "(2 to 9)", "1.0 in row 1,", "10.0 in row 10,"]),
    ({"scale": (2, 9)}, ['outside="missing" (--outside missing)', 'outside="keep"']),
    ({"scale": "1:10:3"}, ["outside the declared scale (1 to 10 by 3)", "2.0 in row 2,"]),
    ({"levels": [1, 2, 3, 5, 10]}, ["(one of 1, 2, 3, 5, 10)", "4.0 in row 4,"]),
    ({"scale": (1, 10), "levels": [1, 10]}, ["Both scale= and levels="]),
    ({"scale": "1-10"}, ["scale='1-10'", "can't be read", '"1:10:0.5"']),
    ({"scale": 10}, ["scale=10", "can't be read"]),
    ({"scale": (1,)}, ["1 number", "--scale 1:10:0.5"]),
    ({"scale": (10, 1)}, ["from a lower to a higher"]),
    ({"scale": (1, 10, 0)}, ["step of 0", "above 0"]),
    ({"scale": (1, 10, 4)}, ["does not reach 10 from 1 in steps of 4", "levels="]),
    ({"scale": (0, 1, 1e-9)}, ["more than 10,000 levels", "continuous"]),
    ({"scale": (0, float("inf"))}, ["finite"]),
    ({"levels": "low,high"}, ["levels='low,high'", "can't be read"]),
    ({"levels": [1]}, ["at least two different"]),
    ({"levels": [1, 1, 2]}, ["at least two different"]),
    ({"outside": "drop", "scale": (1, 10)}, ["outside='drop'", "'refuse', 'missing', 'keep'"]),
    ({"outside": "keep"}, ["needs a declared scale", "--scale, --levels"]),
    ({"repeats": "means"}, ["repeats='means'", "Did you mean 'mean'?"]),
]


@pytest.mark.parametrize(("options", "parts"), SCALE)
def test_scale(options, parts):
    check(refusal(panel(), **options), parts)


WHERE = [
    ("turn == 1", ["names the column 'turn'", "'model', 'scenario'", "stands in quotes: 'turn'"]),
    ("judg == 'kind'", ["'judg'", "Did you mean 'judge'?"]),
    ("judge == kind", ["names the column 'kind'", "'kind'"]),
    ("judge == 'nobody'", ["leaves none of 24 rows", "judge == 'nobody'"]),
    ("judge ==", ["can't be read", "Allowed are comparisons"]),
    ("judge = 'kind'", ["can't be read"]),
    ("", ["can't be read"]),
    ("judge", ["judge is not a comparison"]),
    ("judge == @x", ["can't be read"]),
    ("judge @ x == 1", ["judge @ x is neither a column nor"]),
    ("judge.str.contains('k')", ["is not a comparison", "Allowed are"]),
    ("judge.str == 'k'", ["judge.str is neither a column nor"]),
    ("__import__('os').system('true') == 0", ["__import__('os').system('true') is neither"]),
    ("judge == open('x')", ["open('x') is neither"]),
    ("(lambda: 1)() == score", ["is neither a column nor"]),
    ("[x for x in judge] == 1", ["is neither"]),
    ("judge[0] == 'k'", ["judge[0] is neither"]),
    ("f'{judge}' == 'kind'", ["is neither"]),
    ("(score := 3) == 3", ["is neither"]),
    ("score + 1 == 3", ["score + 1 is neither"]),
    ("(score == 1) & (score == 2)", ["write and, or, not in place of &, |, ~"]),
    ("score is 3", ["is and is not"]),
    ("1 == 1", ["1 and 1 are both values"]),
    ("'k' in judge", ["in needs a column on its left"]),
    ("score in [judge]", ["judge is neither a column nor a text or number"]),
    ("score == None", ["None is neither"]),
    ("not " * 400 + "score == 1", []),
    ("score == 1 and " * 200 + "score == 1", ["characters long", "2,000"]),
    ("score == '\0'", ["where="]),
]


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize(
    ("expression", "parts"), WHERE, ids=[case[0][:30].replace("\0", "0") for case in WHERE]
)
def test_where(expression, parts):
    if expression.startswith("not "):
        # Deep nesting is evaluated or refused, but never ends in another error.
        expression = "not " * 490 + "score == 1"
        assert len(read_scores(panel(), where=expression).frame) == 3
        return
    check(refusal(panel(), where=expression), parts)


def test_where_on_a_column_of_lists():
    message = refusal(panel(tags=[["a"]] * 24), where="tags == 'a'")
    check(message, ["'tags' holds lists"])


def test_where_must_be_text():
    check(refusal(panel(), where=[True]), ["where= must be text, not list"])


def test_repeated_calls():
    frame = pd.concat([panel(), panel().iloc[[4, 7]]])
    message = refusal(frame)
    check(
        message,
        [
            "2 repeated calls",
            "row 25, model 'm2', scenario 's2', generation '1', judge 'kind', repeats row 5",
            'repeats="keep"',
            "--repeats keep",
            'repeats="mean"',
            "--repeats mean",
            "generation column does not tell them apart",
        ],
    )


def test_no_generation_column():
    message = refusal(panel().rename(columns={"generation": "sample"}))
    check(
        message,
        [
            "no generation column",
            "12 rows repeat the model, scenario and judge",
            "row 3, model 'm2', scenario 's1', judge 'kind', repeats row 1",
            'columns={"generation": "sample"}',
            "--columns generation=sample",
            'repeats="keep"',
        ],
    )


def test_another_facet_is_a_candidate_for_where():
    frame = panel().rename(columns={"generation": "turn"}).assign(note=["a b"] * 24, n=range(24))
    check(refusal(frame.astype({"turn": int})), ['where="turn == 1"', "--where"])
    frame = panel().rename(columns={"generation": "the axis"}).assign(tags=[["x"]] * 24)
    check(refusal(frame), ["where=\"`the axis` == '1'\""])


def test_minus_one_that_may_be_a_score():
    frame = panel(score=np.tile([0, 1, 2], 8))
    frame.loc[[3, 4], "score"] = -1
    check(
        refusal(frame),
        ["2 scores are -1", "row 4,", "from 0 to 2", "scale=", "--levels", "missing=[-1]"],
    )


@pytest.mark.parametrize("value", [None, "N/A", -1])
def test_all_scores_missing(value):
    check(refusal(panel(score=value)), ["All 24 scores", "at least one is needed"])


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ([1, 2], ["not list", "DataFrame"]),
        (None, ["not NoneType"]),
        (panel()["score"], ["not Series"]),
    ],
)
def test_sources(source, parts):
    check(refusal(source), parts)


def test_format_of_a_frame():
    check(refusal(panel(), format="csv"), ["format= is about files"])
