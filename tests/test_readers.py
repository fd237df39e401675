from __future__ import annotations

import json
import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_scores import CALLS, note_with, panel, same_calls
from test_scores_refusals import check, refusal

from bayesjudge.readers import read_scores

DATA = Path(__file__).parents[2] / "shared" / "data"
FORMATS = ("csv", "tsv", "parquet", "jsonl", "ndjson", "json")


def real(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the real data {path} is not here")
    return path


def write(frame: pd.DataFrame, path: Path) -> Path:
    ending = path.suffix[1:]
    if ending in ("csv", "tsv"):
        frame.to_csv(path, sep="," if ending == "csv" else "\t", index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=ending != "json")
    return path


def file(tmp_path: Path, content: str | bytes, name: str = "scores.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


HEADER = "model,scenario,judge,score\n"


class TestFormats:
    @pytest.mark.parametrize("ending", FORMATS)
    def test_round_trip(self, tmp_path, ending):
        frame = panel(tokens=np.arange(24), note='it, says "so" \u00e9')
        frame.loc[[3, 9], "score"] = np.nan
        path = write(frame, tmp_path / f"scores.{ending}")
        table = read_scores(path, scale=(1, 10))
        expected = read_scores(frame, scale=(1, 10))
        same_calls(table, expected)
        pd.testing.assert_frame_equal(table.frame, expected.frame)
        assert table.source == str(path)
        same_calls(read_scores(str(path)), expected)

    @pytest.mark.parametrize("ending", FORMATS)
    def test_format_is_told_by_content_when_the_ending_says_nothing(self, tmp_path, ending):
        path = write(panel(), tmp_path / f"scores.{ending}")
        same_calls(read_scores(path.rename(tmp_path / "scores.dat")), read_scores(panel()))

    @pytest.mark.parametrize(("ending", "format"), [("csv", "csv"), ("ndjson", "jsonl")])
    def test_format_overrides_the_ending(self, tmp_path, ending, format):
        path = write(panel(), tmp_path / f"scores.{ending}").rename(tmp_path / "scores.parquet")
        same_calls(read_scores(path, format=format), read_scores(panel()))

    def test_json_ending_may_hold_lines(self, tmp_path):
        path = write(panel(), tmp_path / "scores.jsonl").rename(tmp_path / "scores.json")
        same_calls(read_scores(path), read_scores(panel()))


class TestCsv:
    def test_leading_zeros_and_words_like_missing_are_labels(self, tmp_path):
        path = file(tmp_path, HEADER + "NA,007,null,1\nNone,7,null,2\n")
        table = read_scores(path)
        assert table.models == ("NA", "None")
        assert table.scenarios == ("007", "7")
        assert table.judges == ("null",)

    def test_extra_numbers_become_numbers_unless_zeros_lead(self, tmp_path):
        rows = "a,1,j,1,1.5,007,x\na,2,j,2, ,7,3\n"
        path = file(tmp_path, HEADER.strip() + ",time,code,mixed\n" + rows)
        frame = read_scores(path).frame
        assert frame["time"].dtype == np.float64
        assert list(frame["code"]) == ["007", "7"]
        assert list(frame["mixed"]) == ["x", "3"]

    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("mark", ["", "\ufeff"])
    def test_line_ends_and_byte_order_mark(self, tmp_path, newline, mark):
        text = (mark + HEADER + "a,1,j,1\nb,1,j,2").replace("\n", newline)
        assert read_scores(file(tmp_path, text)).models == ("a", "b")

    def test_blank_space_in_the_header(self, tmp_path):
        path = file(tmp_path, "model, scenario, judge, score\na, 1, j, 3\nb, 1, j, 4\n")
        table = read_scores(path)
        assert table.judges == ("j",)
        note_with(table, "judge label was removed")

    def test_index_column_written_by_pandas_is_an_extra(self, tmp_path):
        path = tmp_path / "scores.csv"
        panel().to_csv(path)
        assert read_scores(path).frame.columns[-1] == "Unnamed: 0"

    def test_long_quoted_texts(self, tmp_path):
        answer = "line\n" * 60_000
        path = file(tmp_path, HEADER.strip() + f',answer\na,1,j,3,"{answer}"\nb,1,j,4,""\n')
        assert len(read_scores(path).frame.loc[0, "answer"]) == 300_000

    def test_lines_are_named_where_they_are_known(self, tmp_path):
        bad = HEADER + "a,1,j,3\nb,1,j,Tie\n"
        check(refusal(file(tmp_path, bad)), ["'Tie' in row 2 (line 3 of the file), model 'b'"])
        message = refusal(file(tmp_path, bad.replace("a,1", "\na,1")))
        assert "'Tie' in row 2, model 'b'" in message

    def test_rows_keep_their_numbers_through_filter_and_melt(self, tmp_path):
        path = file(tmp_path, "model,scenario,x,y\na,1,1,1\nb,1,1,1\nb,2,1,Tie\n")
        message = refusal(path, judges=["x", "y"], where="model == 'b'")
        check(message, ["'Tie' in row 3 (line 4 of the file)", "judge 'y'"])


CSV_REFUSALS = [
    (b"", ["is empty (0 bytes)"]),
    (b"\n \n", ["is empty", "blank space"]),
    (HEADER.encode(), ["has columns and no rows", "'model', 'scenario', 'judge', 'score'"]),
    (b"model,\x00\x01\x02", ["is a binary file"]),
    (HEADER.encode("utf-16"), ["is UTF-16 text", "save it as UTF-8"]),
    (HEADER.encode() + b"a,1,j,1\nb\xe9,1,j,1\n", ["is not UTF-8", "byte 0xe9 in line 3"]),
    (b"model,score,judge,score\na,1,j,1\n", ["'score' is the name of columns 2, 4"]),
    (HEADER.encode() + b"a,1,j,1\nb,1,j\n", ["line 3 has 3 fields", "header has 4"]),
    (HEADER.encode() + b'"a\nb",1,j,1\nb,1,j,1,2\n', ["line 4 has 5 fields", "header has 4"]),
    (HEADER.encode() + b'a,1,j,1\nb,1,j,"2\na,2,j,1\n', ["unmatched quotation", "line 3"]),
    (HEADER.replace(",", ";").encode() + b"a;1;j;7,5\n", ["separated by semicolons", "commas"]),
    (HEADER.replace(",", "\t").encode() + b"a\t1\tj\t7\n", ["by tabs", "--format tsv"]),
    (HEADER.encode() + b" ,1,j,1\n", ["1 row has no model label", "row 1 (line 2 of the file)"]),
    (HEADER.encode() + b"a,1,j,\n", ["All 1 score", "missing"]),
]


@pytest.mark.parametrize(("content", "parts"), CSV_REFUSALS)
def test_csv_refusals(tmp_path, content, parts):
    check(refusal(file(tmp_path, content)), parts)


GOOD = '{"model": "a", "scenario": 1, "judge": "j", "score": 3}'

JSON_REFUSALS = [
    ("x.jsonl", GOOD + "\n\n{bad}\n", ["Line 3 of", "not valid JSON"]),
    ("x.jsonl", GOOD + "\n[1, 2]\n", ["Line 2 of", "a JSON array", "must be an object"]),
    ("x.jsonl", GOOD + "\nnull\n", ["Line 2 of", "a JSON null"]),
    ("x.jsonl", GOOD + "\n3\n", ["Line 2 of", "a JSON number"]),
    ("x.jsonl", '{"score": 1, "score": 2}\n', ["Line 1 of", "the key 'score' twice"]),
    ("x.jsonl", "[" * 100_000, ["Line 1 of", "not valid JSON"]),
    ("x.jsonl", "{}\n{}\n", ["no columns"]),
    (
        "x.jsonl",
        GOOD + "\n\n" + GOOD.replace("3", '"Tie"').replace('"a"', '"b"'),
        ["row 2 (line 3 of the file)"],
    ),
    ("x.jsonl", GOOD.replace("1", "[1]"), ["'scenario' holds a list in row 1 (line 1"]),
    ("x.json", "[]", ["empty array"]),
    ("x.json", f"[{GOOD}, 4]", ["Record 2 of", "a JSON number"]),
    ("x.json", f"[{GOOD}", ["not valid JSON"]),
    pytest.param(
        *("x.jsonl", GOOD[:-1] + ', "\\ud800": 1}', ["key", "not valid Unicode"]),
        marks=pytest.mark.skipif(pd.__version__ < "3", reason="older pandas takes such names"),
    ),
    ("x.json", b"PAR1", ["binary file", "Parquet"]),
]


@pytest.mark.parametrize(("name", "content", "parts"), JSON_REFUSALS)
def test_json_refusals(tmp_path, name, content, parts):
    check(refusal(file(tmp_path, content, name)), parts)


def test_json_object_read_as_an_array(tmp_path):
    message = refusal(file(tmp_path, GOOD, "x.json"), format="json")
    check(message, ["a JSON object", "an array of records", 'format="jsonl"'])


class TestJson:
    def test_absent_keys_are_missing_scores(self, tmp_path):
        path = file(tmp_path, GOOD + '\n{"model": "b", "scenario": 1, "judge": "j"}\n', "x.jsonl")
        assert len(read_scores(path).calls) == 1

    def test_verdicts_and_long_identifiers(self, tmp_path):
        records = [
            {"model": "a", "scenario": 2**60 + i, "judge": "j", "score": i == 1} for i in range(3)
        ]
        path = file(tmp_path, "\n".join(map(json.dumps, records)), "x.jsonl")
        table = read_scores(path)
        assert table.scenarios == tuple(str(2**60 + i) for i in range(3))
        np.testing.assert_array_equal(table.calls.score, [0, 1, 0])

    def test_extras_of_any_kind_are_kept(self, tmp_path):
        odd = GOOD[:-1] + ', "tags": ["x"], "text": "\\ud800", "n": 2}'
        frame = read_scores(file(tmp_path, odd, "x.jsonl")).frame
        assert frame.loc[0, "tags"] == ["x"]
        assert frame["n"].dtype == np.int64


class TestParquet:
    def test_dictionary_columns_and_long_identifiers(self, tmp_path):
        frame = panel(judge=lambda f: f["judge"].astype("category"))
        frame["code"] = pd.array([2**60 + 1] + [None] * 23, dtype="Int64")
        path = tmp_path / "x.parquet"
        frame.to_parquet(path)
        table = read_scores(path)
        same_calls(table, read_scores(panel()))
        assert table.frame.loc[0, "code"] == 2**60 + 1

    def test_not_parquet(self, tmp_path):
        check(refusal(file(tmp_path, HEADER, "x.parquet")), ["can't be read as Parquet"])

    def test_duplicated_names(self, tmp_path):
        import pyarrow as pa
        from pyarrow import parquet

        columns = [pa.array(["a"])] * 2
        parquet.write_table(
            pa.Table.from_arrays(columns, ["model", "model"]), tmp_path / "x.parquet"
        )
        message = refusal(tmp_path / "x.parquet")
        check(message, ["'model' is the name of columns 1, 2"])


class TestPaths:
    def test_absent_file_suggests_the_nearest(self, tmp_path):
        file(tmp_path, HEADER, "scores.csv")
        message = refusal(tmp_path / "score.csv")
        check(message, ["There is no file", "score.csv", "Did you mean", "scores.csv"])

    def test_absent_folder(self, tmp_path):
        check(refusal(tmp_path / "no" / "x.csv"), ["no file", "nor a folder"])

    def test_folder(self, tmp_path):
        check(refusal(tmp_path), ["is a folder", "one file in it"])

    def test_unknown_ending(self, tmp_path):
        message = refusal(file(tmp_path, b"PK\x03\x04\x00", "x.xlsx"))
        check(message, ["'.xlsx'", ".csv, .tsv, .parquet", "--format", "save it as CSV"])

    def test_unreadable(self, tmp_path, monkeypatch):
        path = file(tmp_path, HEADER)

        def locked(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", locked)
        check(refusal(path), ["can't be read: Permission denied"])

    def test_impossible_name(self):
        check(refusal("a\0b.csv"), ["a\0b.csv"])

    def test_unknown_format(self, tmp_path):
        message = refusal(file(tmp_path, HEADER), format="jsn")
        check(message, ["format='jsn'", "'parquet'", "Did you mean 'json'?"])


class TestExamples:
    @pytest.fixture(autouse=True)
    def example(self, monkeypatch):
        examples = types.ModuleType("bayesjudge.examples")
        examples.load = lambda name: replace(
            read_scores(panel(), scale=(1, 10)), source=f"example:{name}"
        )
        monkeypatch.setitem(sys.modules, "bayesjudge.examples", examples)

    def test_loaded_and_filtered(self):
        assert read_scores("example:mine").source == "example:mine"
        table = read_scores("example:mine", where="model == 'm2' and score > 3")
        assert table.models == ("m2",)
        assert table.scale == (1, 10, None)
        note_with(table, "left out")

    @pytest.mark.parametrize(
        "options",
        [{"scale": "1:5"}, {"format": "csv"}, {"judges": []}, {"repeats": "mean"}],
    )
    def test_other_options_are_refused(self, options):
        message = refusal("example:mine", **options)
        check(message, ["example:mine is a finished table", f"{next(iter(options))}=", "where="])


class TestRealData:
    def test_opus_blind(self):
        path = real("opus_blind.csv")
        check(refusal(path), ['columns={"scenario": "prompt"}', "--columns scenario=prompt"])
        columns = {"scenario": "prompt"}
        message = refusal(path, columns=columns)
        check(message, ["240 rows repeat", "row 2 (line 3", "where=\"axis == 'correctness'\""])
        table = read_scores(path, columns=columns, where="axis == 'correctness'", scale="0:2:1")
        assert len(table.models) == 2
        assert len(table.scenarios) == 15
        assert len(table.judges) == 4
        assert len(table.calls) == 120

    def test_opus_blind_totals_as_published(self):
        path = real("opus_blind.csv")
        columns = {"scenario": "prompt", "generation": "axis"}
        frame = read_scores(path, columns=columns, levels=[0, 1, 2]).frame
        totals = frame.groupby(["judge", "model"])["score"].sum().to_numpy().reshape(4, 2)
        published = {(52, 87), (45, 76), (43, 80), (59, 82)}
        assert {tuple(sorted(pair)) for pair in totals.astype(int).tolist()} == published

    @pytest.mark.parametrize("score", ["SC", "PQ"])
    def test_imagenhub(self, score):
        path = real("imagenhub_two_tasks.csv")
        message = refusal(path)
        check(message, ['{"scenario": "item", "judge": "rater"}', "'SC', 'PQ'"])
        table = read_scores(
            path,
            columns={"judge": "rater", "scenario": "item", "score": score},
            where="task == 'Text-To-Image'",
            levels=[0, 0.5, 1],
        )
        assert table.judges == ("1", "2", "3")
        assert len(table.models) == 7
        assert len(table.calls) == 4137
        assert table.scale == (0, 1, 0.5)

    def test_llmjudge_trec(self):
        path = real("llmjudge_trec_wide.csv")
        check(refusal(path), ["judges=[...]", 'model_name="..."', 'columns={"scenario": "query"}'])
        names = pd.read_csv(path, nrows=0).columns[2:]
        options = {
            "columns": {"scenario": "query", "generation": "passage"},
            "judges": list(names),
            "model_name": "TREC",
            "levels": [0, 1, 2, 3],
        }
        message = refusal(path, **options)
        check(
            message,
            [
                "3 scores are outside the declared scale (0 to 3 by 1)",
                "5.0 in row 21 (line 22 of the file)",
                "10.0 in row 319 (line 320 of the file)",
                "5.0 in row 2,187 (line 2,188 of the file)",
                "judge 'h2oloo-zeroshot2'",
            ],
        )
        table = read_scores(path, outside="missing", **options)
        assert len(table.calls) == 145_956
        assert table.missing["missing"].sum() == 3
        assert len(table.judges) == 33
        assert len(table.scenarios) == 25
        assert len(table.generations) == 4423
        assert table.calls.score.mean() == pytest.approx(0.86892, abs=1e-4)
        pattern = options | {"judges": r"[^q].*-.*", "outside": "missing"}
        same_calls(table, read_scores(path, **pattern))

    def test_mtbench_gpt4(self):
        path = real("mtbench_gpt4_single.csv")
        check(refusal(path), ['judge_name="..."', 'columns={"scenario": "question_id"}'])
        options = {"columns": {"scenario": "question_id"}, "judge_name": "gpt-4"}
        check(refusal(path, **options), ['where="turn == 1"'])
        table = read_scores(path, where="turn == 1", scale=(1, 10), **options)
        assert table.judges == ("gpt-4",)
        assert table.scenarios[:2] == ("81", "82")
        assert len(table.calls) == 400
        both = read_scores(path, repeats="keep", **options)
        means = both.panel_mean_bounds()["mean"].round(3)
        assert means["gpt-3.5-turbo"] == 7.944
        assert means["llama-13b"] == 2.606

    def test_brennan_raters_nested_in_tasks(self):
        path = real("brennan_3_2.csv")
        columns = {"model": "Person", "scenario": "Task", "judge": "Rater", "score": "Score"}
        table = read_scores(path, columns=columns, scale=(0, 9, 1))
        assert table.models == tuple(str(i) for i in range(1, 11))
        assert len(table.calls) == 120
        assert list(table.frame.columns) == list(CALLS)
