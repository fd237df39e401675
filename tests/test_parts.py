"""Tables read in parts are the tables that are read at once."""

import itertools
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_data import relevance

import bayesjudge as bj
from bayesjudge.readers import parts as reader
from bayesjudge.readers import read_scores
from bayesjudge.scores.parts import merge, part_of, table_of
from bayesjudge.scores.raw import RawTable
from bayesjudge.scores.reading import Reading

FORMATS = ("csv", "tsv", "parquet", "jsonl")


def panel(seed=0, share=0.8):
    """Rows in random order, some missing, labels that are numbers and texts with commas."""
    rng = np.random.default_rng(seed)
    rows = [(f"m, {t}", i + 1, j, f"judge {k}") for t, i, j, k in np.ndindex(2, 12, 3, 4)]
    table = pd.DataFrame(rows, columns=["model", "scenario", "generation", "judge"])
    table["score"] = rng.integers(1, 11, len(table)).astype(float)
    table.loc[rng.random(len(table)) < 0.1, "score"] = np.nan
    return table.sample(frac=share, random_state=seed).reset_index(drop=True)


def written(table, path):
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    elif path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of a few rows; of text, blocks of the least size that the library allows."""
    monkeypatch.setattr(reader, "ROWS", 7)
    monkeypatch.setattr(reader, "BLOCK_MIN", 512)


def assert_same(found, expected):
    assert found.models == expected.models
    assert found.scenarios == expected.scenarios
    assert found.judges == expected.judges
    assert found.generations == expected.generations
    assert found.scale == expected.scale
    assert found.levels == expected.levels
    for name in vars(expected.calls):
        np.testing.assert_array_equal(getattr(found.calls, name), getattr(expected.calls, name))
    pd.testing.assert_frame_equal(found.missing, expected.missing)
    pd.testing.assert_frame_equal(found.panel_mean_bounds(), expected.panel_mean_bounds())
    ours = expected.frame[["model", "scenario", "generation", "judge", "score"]]
    pd.testing.assert_frame_equal(found.frame.astype(ours.dtypes), ours)


@pytest.mark.usefixtures("small_parts")
class TestFiles:
    @pytest.mark.parametrize("ending", FORMATS)
    def test_all_formats(self, tmp_path, ending):
        path = written(panel(), tmp_path / f"scores.{ending}")
        seen = []
        found = read_scores(path, scale=(1, 10), in_parts=True, on_rows=seen.append)
        expected = read_scores(path, scale=(1, 10))
        assert_same(found, expected)
        assert found.notes == expected.notes
        assert seen[-1] == len(panel())
        assert len(seen) > 2
        assert seen == sorted(seen)

    @pytest.mark.parametrize("ending", FORMATS)
    def test_further_columns_are_left_out_and_said(self, tmp_path, ending):
        path = written(panel().assign(text="long", tokens=3), tmp_path / f"scores.{ending}")
        found = read_scores(path, in_parts=True)
        assert list(found.frame) == ["model", "scenario", "generation", "judge", "score"]
        assert "further columns were left out ('text', 'tokens')" in found.notes[0]

    @pytest.mark.parametrize("ending", FORMATS)
    def test_a_filter_and_other_names(self, tmp_path, ending):
        table = panel().rename(columns={"model": "system", "score": "rating"})
        table["turn"] = np.arange(len(table)) % 2 + 1
        path = written(table, tmp_path / f"scores.{ending}")
        options = {
            "columns": {"model": "system", "score": "rating"},
            "where": "turn == 1 and scenario < 9",
        }
        found, expected = read_scores(path, in_parts=True, **options), read_scores(path, **options)
        assert_same(found, expected)
        assert expected.notes[0] in found.notes

    @pytest.mark.parametrize("ending", FORMATS)
    def test_a_wide_table(self, tmp_path, ending):
        wide = panel(share=1.0).pivot_table(
            index=["model", "scenario", "generation"], columns="judge", values="score"
        )
        path = written(wide.reset_index(), tmp_path / f"scores.{ending}")
        options = {"judges": "judge *", "where": "scenario > 2"}
        found, expected = read_scores(path, in_parts=True, **options), read_scores(path, **options)
        assert_same(found, expected)
        assert found.notes == expected.notes

    @pytest.mark.parametrize("repeats", ["keep", "mean"])
    def test_repeated_calls(self, tmp_path, repeats):
        twice = pd.concat([panel(), panel(1)], ignore_index=True)
        path = written(twice, tmp_path / "scores.csv")
        found = read_scores(path, in_parts=True, repeats=repeats)
        assert_same(found, read_scores(path, repeats=repeats))

    def test_scores_outside_and_declared_missing(self, tmp_path):
        path = written(panel(), tmp_path / "scores.parquet")
        for options in (
            {"scale": (2, 9), "outside": "missing"},
            {"scale": (2, 9), "outside": "keep"},
            {"missing": [3, 4]},
        ):
            found = read_scores(path, in_parts=True, **options)
            expected = read_scores(path, **options)
            assert_same(found, expected)
            assert found.notes == expected.notes

    def test_true_and_false(self, tmp_path):
        verdicts = panel().assign(score=lambda t: t["score"] > 5)
        path = written(verdicts, tmp_path / "scores.csv")
        found, expected = read_scores(path, in_parts=True), read_scores(path)
        assert_same(found, expected)
        assert found.notes == expected.notes
        raws = [RawTable(verdicts, "a"), RawTable(panel().fillna({"score": 1.0}), "b")]
        with pytest.raises(bj.ScoreError, match="others are numbers"):
            merge([part_of(raw, Reading()) for raw in raws])

    def test_labels_are_settled_over_all_parts(self, tmp_path):
        table = panel().astype({"scenario": float})
        path = written(table, tmp_path / "scores.csv")
        assert_same(read_scores(path, in_parts=True), read_scores(path))  # 81.0 is 81
        table.loc[len(table) - 1, "scenario"] = 1.5  # now none is
        path = written(table, tmp_path / "half.csv")
        assert_same(read_scores(path, in_parts=True), read_scores(path))

    def test_a_folder_is_one_table(self, tmp_path):
        table = panel()
        folder = tmp_path / "scores"
        folder.mkdir()
        for k, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
            written(table.iloc[rows], folder / f"part-{k}.parquet")
        (folder / "_SUCCESS").touch()
        assert_same(read_scores(folder), read_scores(written(table, tmp_path / "all.parquet")))

    def test_labels_of_two_types_are_one(self, tmp_path):
        lines = [
            {"model": "a", "scenario": scenario, "judge": judge, "score": 1}
            for scenario, judge in ((1, "j"), ("1", "k"), (1.0, "l"), (2, "j"))
        ]
        path = tmp_path / "scores.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        found = read_scores(path, in_parts=True)
        assert_same(found, read_scores(path))
        assert found.scenarios == ("1", "2")

    def test_an_index_of_pandas_is_no_column(self, tmp_path):
        path = tmp_path / "scores.parquet"
        panel()[lambda t: t["score"] > 3].to_parquet(path)
        found, expected = read_scores(path, in_parts=True), read_scores(path)
        assert_same(found, expected)
        assert found.notes == expected.notes

    def test_no_generation_column(self, tmp_path):
        table = panel()[lambda t: t["generation"] == 0].drop(columns="generation")
        path = written(table, tmp_path / "scores.csv")
        found, expected = read_scores(path, in_parts=True), read_scores(path)
        assert_same(found, expected)
        assert found.notes == expected.notes


REFUSED = {
    "a text": ("score", 100, "good", r"'good' in row 101[ ,]"),
    "infinity": ("score", 120, "inf", r"inf in row 121[ ,]"),
    "no label": ("judge", 90, "", r"no judge label .*row 91"),
    "two spellings": ("judge", 150, "JUDGE 1", "two spellings"),
    "outside": ("score", 140, "11", r"outside the declared scale .*11.0 in row 141,"),
}


@pytest.mark.usefixtures("small_parts")
class TestRefusals:
    @pytest.mark.parametrize("name", REFUSED)
    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    def test_the_row_is_named(self, tmp_path, name, ending):
        column, row, value, message = REFUSED[name]
        table = panel().astype({"score": object, "judge": object})
        table.loc[row, column] = value
        path = written(table, tmp_path / f"scores.{ending}")
        with pytest.raises(bj.ScoreError, match=message):
            read_scores(path, scale=(1, 10), in_parts=True)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("model,scenario,judge,score\n", "no rows"),
            ("model,scenario,score\na,1,3\n", "no column 'judge'"),
            ("model,scenario,judge,score\na,1,j,3\na,2,j\n", "line 3 has 3 fields, and the header"),
            ("model;scenario;judge;score\na;1;j;3\n", "separated by semicolons"),
            (" \n\n", "no rows"),
            ('model,scenario,judge,score\na,1,j,3\na,"2,j,3\n', "never closed"),
            ("model,scenario,judge,score\na,1,j,3\na,\0,j,3\n", "binary"),
            ("model,model,judge,score\na,1,j,3\n", "duplicated column names"),
        ],
    )
    def test_broken_files(self, tmp_path, content, message):
        path = tmp_path / "scores.csv"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(bj.ScoreError, match=message):
            read_scores(path, in_parts=True)

    def test_bytes_that_are_no_text(self, tmp_path):
        for name in ("scores.csv", "scores.jsonl"):
            path = tmp_path / name
            path.write_bytes(b"model,scenario,judge,score\na,\xff\xfe,j,3\n")
            with pytest.raises(bj.ScoreError, match="UTF"):
                read_scores(path, in_parts=True)

    def test_repeats_in_different_parts(self, tmp_path):
        table = panel()
        table.loc[len(table)] = table.loc[3]
        path = written(table, tmp_path / "scores.csv")
        with pytest.raises(bj.ScoreError, match=r"1 repeated call: first, row 231, .*row 4\."):
            read_scores(path, in_parts=True)

    def test_a_line_that_is_no_record(self, tmp_path):
        path = written(panel(), tmp_path / "scores.jsonl")
        with path.open("a", encoding="utf-8") as file:
            file.write("\n[1, 2]\n")
        with pytest.raises(bj.ScoreError, match=r"Line 232 of .* holds a JSON array"):
            read_scores(path, in_parts=True)

    def test_folders_of_something_else(self, tmp_path):
        with pytest.raises(bj.ScoreError, match="holds no files"):
            read_scores(tmp_path)
        written(panel(), tmp_path / "a.csv")
        written(panel(), tmp_path / "b.parquet")
        with pytest.raises(bj.ScoreError, match="it holds csv, parquet"):
            read_scores(tmp_path)

    def test_folders_have_their_own_reasons(self, tmp_path):
        (tmp_path / "deeper").mkdir()
        with pytest.raises(bj.ScoreError, match="files in the folders in it are not looked for"):
            read_scores(tmp_path)
        with pytest.raises(bj.ScoreError, match="folders are read in parts"):
            read_scores(tmp_path, in_parts=False)
        (tmp_path / "a.csv").touch()
        with pytest.raises(bj.ScoreError, match=r"a\.csv is empty"):
            read_scores(tmp_path)
        with pytest.raises(bj.ScoreError, match="True, False or left out"):
            read_scores(tmp_path, in_parts="yes")

    def test_a_row_of_a_folder_is_named_with_its_file(self, tmp_path):
        written(panel(), tmp_path / "a.csv")
        written(panel(1).assign(score="x"), tmp_path / "b.csv")
        with pytest.raises(bj.ScoreError, match=r"'x' in row 1 of b\.csv"):
            read_scores(tmp_path)

    def test_what_can_not_be_read_in_parts(self, tmp_path):
        path = tmp_path / "scores.json"
        path.write_text(json.dumps(panel().to_dict("records")), encoding="utf-8")
        with pytest.raises(bj.ScoreError, match="one JSON array"):
            read_scores(path, in_parts=True)
        with pytest.raises(bj.ScoreError, match="about files"):
            read_scores(panel(), in_parts=True)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(cuts=st.lists(st.integers(1, 229), max_size=6), tree=st.booleans(), seed=st.integers(0, 3))
def test_parts_merge_in_any_grouping(cuts, tree, seed):
    frame, reading = panel(seed), Reading(where="judge != 'judge 3'")
    edges = [0, *sorted(set(cuts)), len(frame)]
    found = [
        part_of(RawTable(frame.iloc[start:end], "scores", offset=start), reading)
        for start, end in itertools.pairwise(edges)
    ]
    if tree:
        while len(found) > 1:
            found = [merge(found[k : k + 2]) for k in range(0, len(found), 2)]
    expected = read_scores(frame, where="judge != 'judge 3'")
    assert_same(table_of(merge(found), reading, "scores"), expected)


@pytest.mark.usefixtures("small_parts")
def test_fits_are_the_same_to_the_last_digit(tmp_path):
    path = written(panel(), tmp_path / "scores.csv")
    one, other = (
        bj.fit(read_scores(path, in_parts=way), engine="psis", seed=1) for way in (True, False)
    )
    assert one["posterior"].to_dataset().identical(other["posterior"].to_dataset())
    assert one.attrs["data_sha256"] == other.attrs["data_sha256"]


def test_the_real_tables(monkeypatch):
    monkeypatch.setattr(reader, "ROWS", 5_000)
    expected = relevance(outside="missing")
    found = relevance(outside="missing", in_parts=True)
    assert_same(found, expected)
    # Read in parts, the rows of a table have no line numbers.
    assert list(found.notes) == [
        re.sub(r" \(line [\d,]+ of the file\)", "", n) for n in expected.notes
    ]


def test_memory_holds_numbers_and_no_texts(tmp_path):
    """Two million scores with labels of 30 characters: 330 MB of text take a part of that."""
    import pyarrow as pa
    from pyarrow import parquet

    sizes = {"model": 1, "scenario": 400, "generation": 500, "judge": 10}
    codes = np.indices(tuple(sizes.values())).reshape(4, -1)
    path = tmp_path / "long.parquet"
    columns = {
        name: pa.array(
            np.array([f"{name} with a rather long name {x}" for x in range(size)], dtype=object)[c]
        )
        for (name, size), c in zip(sizes.items(), codes, strict=True)
    }
    parquet.write_table(pa.table(columns | {"score": codes.sum(axis=0) % 10 + 1}), path)
    read = (
        "import resource, sys, bayesjudge as bj;"
        "import bayesjudge.readers, pyarrow.parquet;"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "scores = bj.read_scores(sys.argv[1], in_parts=True);"
        "assert len(scores.calls) == 2_000_000;"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", read, str(path)], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 330  # MiB
