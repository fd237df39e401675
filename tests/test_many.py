"""Many fits: by key, resumed, whatever dies in between."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from panels import crossed, frame_of, table_of

import bayesjudge as bj
from bayesjudge.errors import BayesJudgeError
from bayesjudge.many.requests import file_of, seed_of

SHORT = {"draws": 100}


@pytest.fixture
def tables():
    return {f"t{k}": table_of(crossed(6, 2, 3), seed=k) for k in range(4)}


@pytest.fixture
def threads():
    """An executor that works in this process."""
    with ThreadPoolExecutor(2) as pool:
        yield pool


def components(path):
    return bj.components(bj.load(path)).to_numpy()


def children(pid):
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(child) for child in found.stdout.split()]


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


class TestOnAnyExecutor:
    def test_each_is_fitted_and_written(self, tables, threads, tmp_path):
        seen = []
        found = bj.fit_many(
            tables, tmp_path, executor=threads, on_progress=lambda one, n: seen.append(n), **SHORT
        )
        assert found.index.tolist() == list(tables)
        assert set(found["status"]) == {"fitted"}
        assert seen == [1, 2, 3, 4]
        for key, row in found.iterrows():
            tree = bj.load(row["path"])
            assert tree.attrs["key"] == key
            assert tree.attrs["verdict"] == row["verdict"]

    def test_a_second_run_skips_what_is_done(self, tables, threads, tmp_path):
        first = bj.fit_many(tables, tmp_path, executor=threads, **SHORT)
        before = {path: os.stat(path).st_mtime_ns for path in first["path"]}
        again = bj.fit_many(tables, tmp_path, executor=threads, **SHORT)
        assert set(again["status"]) == {"already there"}
        assert again["verdict"].tolist() == first["verdict"].tolist()
        assert before == {path: os.stat(path).st_mtime_ns for path in again["path"]}

    @pytest.mark.parametrize(
        "change", [{"seed": 2}, {"draws": 120}, {"model": "linear-paper"}, {"prior_scale": 2.0}]
    )
    def test_other_settings_are_fitted_again(self, tables, threads, tmp_path, change):
        few = {"t0": tables["t0"]}
        bj.fit_many(few, tmp_path, executor=threads, **SHORT)
        again = bj.fit_many(few, tmp_path, executor=threads, **SHORT | change)
        assert again["status"].tolist() == ["fitted"]

    def test_other_scores_are_fitted_again(self, threads, tmp_path):
        for seed in (0, 1):
            few = {"t": table_of(crossed(6, 2, 3), seed=seed)}
            found = bj.fit_many(few, tmp_path, executor=threads, **SHORT)
            assert found["status"].tolist() == ["fitted"]

    def test_a_broken_file_is_fitted_again(self, tables, threads, tmp_path):
        few = {"t0": tables["t0"]}
        path = bj.fit_many(few, tmp_path, executor=threads, **SHORT)["path"].iloc[0]
        with open(path, "wb") as file:
            file.write(b"half a file")
        again = bj.fit_many(few, tmp_path, executor=threads, **SHORT)
        assert again["status"].tolist() == ["fitted"]
        assert bj.load(path).attrs["key"] == "t0"

    def test_what_a_killed_writer_left_is_removed(self, tables, threads, tmp_path):
        one = file_of(tmp_path, "t0").name
        old, young, other = (
            tmp_path / f".{name}.tmp" for name in (f"{one}.ab_1", f"{one}.cd_2", "mine.nc.ef_3")
        )
        for path in (old, young, other):
            path.touch()
        os.utime(old, (0, 0))
        os.utime(other, (0, 0))
        bj.fit_many(tables, tmp_path, executor=threads, **SHORT)
        assert not old.exists()
        assert young.exists()
        assert other.exists()

    def test_one_that_fails_does_not_stop_the_rest(self, tables, threads, tmp_path):
        constant = frame_of(crossed(6, 2, 3)).assign(score=5.0)
        bad = {"bad": bj.read_scores(constant, scale=(0, 10)), **tables}
        found = bj.fit_many(bad, tmp_path, executor=threads, **SHORT)
        assert found.loc["bad", "status"] == "failed"
        assert "A" in found.loc["bad", "error"]
        assert found.loc["bad", "path"] == ""
        assert set(found["status"].drop("bad")) == {"fitted"}
        assert len(list(tmp_path.iterdir())) == 4

    def test_seeds_follow_from_keys(self, tables, threads, tmp_path):
        every = bj.fit_many(tables, tmp_path / "a", executor=threads, **SHORT)
        few = dict(reversed(list(tables.items())[1:]))
        some = bj.fit_many(few, tmp_path / "b", executor=threads, **SHORT)
        for key in few:
            same = components(every.loc[key, "path"]) == components(some.loc[key, "path"])
            assert same.all()
        assert seed_of(1, "t1") != seed_of(1, "t2") != seed_of(2, "t2")

    def test_an_iterable_is_read_as_there_is_work(self, tables, threads, tmp_path):
        read, done = [], []

        def pairs():
            for k in range(20):
                read.append(k)
                yield f"k{k}", tables["t0"]

        def note(outcome, count):
            done.append(len(read) - count)

        bj.fit_many(pairs(), tmp_path, executor=threads, workers=1, on_progress=note, **SHORT)
        assert max(done) <= 4
        assert len(read) == 20

    def test_groups_of_a_table(self, threads, tmp_path):
        scores = table_of({name: crossed(6, 2, 3) for name in ("A", "B")})
        found = bj.fit_many(bj.groups(scores, "model"), tmp_path, executor=threads, **SHORT)
        assert found.index.tolist() == ["A", "B"]
        tree = bj.load(found.loc["B", "path"])
        assert tree["posterior"]["model"].to_numpy().tolist() == ["B"]

    @pytest.mark.parametrize("values", [[1, 2], [1.5, 2.0], [True, False], ["a b", "it's"]])
    def test_groups_by_any_column(self, values):
        frame = frame_of(crossed(6, 2, 3))
        frame["the turn"] = [values[k % 2] for k in range(len(frame))]
        scores = bj.read_scores(frame)
        found = dict(bj.groups(scores, "the turn"))
        assert list(found) == [str(value) for value in values]
        assert sum(len(table.calls) for table in found.values()) == len(scores.calls)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (["a", None], "18 rows have no turn"),
            ([1, "1"], "in two types"),
            ([[1], [2]], "more than single values"),
        ],
    )
    def test_groups_that_can_not_be(self, values, message):
        frame = frame_of(crossed(6, 2, 3))
        frame["turn"] = [values[k % 2] for k in range(len(frame))]
        with pytest.raises(bj.ScoreError, match=message):
            list(bj.groups(bj.read_scores(frame), "turn"))

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"model": "nope"}, "nope"),
            ({"engine": "x"}, "no engine 'x'"),
            ({"model": "ordinal"}, "for linear models"),
            ({"foo": 1}, "'foo' is no option"),
            ({"draws": 1}, "draws = 1"),
            ({"workers": 0}, "workers = 0"),
            ({"seed": -1}, "seed = -1"),
            ({"seed": None}, "seed = None"),
            ({"executor": "dask"}, "can't be submitted to"),
        ],
    )
    def test_what_would_fail_for_every_table_is_refused_at_once(
        self, tables, tmp_path, changes, message
    ):
        with pytest.raises(BayesJudgeError, match=message):
            bj.fit_many(tables, tmp_path, **changes)
        assert list(tmp_path.iterdir()) == []

    def test_one_table_or_a_list_of_them(self, tables, threads, tmp_path):
        with pytest.raises(BayesJudgeError, match="tables by key"):
            bj.fit_many(tables["t0"], tmp_path)
        with pytest.raises(BayesJudgeError, match=r"pairs .*ScoreTable"):
            bj.fit_many([tables["t0"]], tmp_path, executor=threads)

    def test_a_key_twice(self, tables, threads, tmp_path):
        twice = [("a", tables["t0"]), ("a", tables["t1"])]
        with pytest.raises(BayesJudgeError, match="'a' comes twice"):
            bj.fit_many(twice, tmp_path, executor=threads, **SHORT)

    def test_what_is_no_table(self, threads, tmp_path):
        with pytest.raises(BayesJudgeError):
            bj.fit_many({"a": pd.DataFrame()}, tmp_path, executor=threads)
        with pytest.raises(BayesJudgeError, match="is no column"):
            list(bj.groups(table_of(crossed(6, 2, 3)), "category"))

    def test_a_folder_that_can_not_be_made(self, tables, tmp_path):
        (tmp_path / "file").write_text("", encoding="utf-8")
        with pytest.raises(BayesJudgeError, match="can't make the folder"):
            bj.fit_many(tables, tmp_path / "file")


@pytest.mark.parametrize("keys", [("A", "a"), ("x/y", "x_y"), ("", " "), ("é" * 300, "é" * 301)])
def test_no_two_keys_have_one_file(tmp_path, keys):
    one, other = (file_of(tmp_path, key) for key in keys)
    assert one.name.lower() != other.name.lower()
    assert one.parent == tmp_path
    assert len(one.name.encode()) < 255


class TestProcesses:
    def test_a_worker_that_dies_loses_nothing(self, tables, tmp_path):
        killed = []

        def kill_one(outcome, count):
            if not killed:
                killed.append(multiprocessing.active_children()[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        many = {f"{key}-{k}": table for key, table in tables.items() for k in range(3)}
        found = bj.fit_many(many, tmp_path, workers=2, on_progress=kill_one, **SHORT)
        assert killed
        assert set(found["status"]) <= {"fitted", "already there"}
        assert len(found) == len(many) == len(list(tmp_path.glob("*.nc")))
        assert sorted(found.index) == sorted(many)

    def test_killed_as_a_whole_it_can_be_resumed(self, tmp_path):
        script = tmp_path / "run.py"
        script.write_text(
            "import sys\n"
            f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
            "from panels import crossed, table_of\n"
            "import bayesjudge as bj\n"
            "if __name__ == '__main__':\n"
            "    tables = {f't{k}': table_of(crossed(6, 2, 3), seed=k) for k in range(40)}\n"
            "    found = bj.fit_many(tables, sys.argv[1], workers=2, draws=100)\n"
            "    print(found['status'].value_counts().to_dict())\n",
            encoding="utf-8",
        )
        out = tmp_path / "fits"
        environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(bj.__file__))}
        command = [sys.executable, str(script), str(out)]
        process = subprocess.Popen(command, env=environment, start_new_session=True)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and len(list(out.glob("*.nc"))) < 3:
            time.sleep(0.05)
        workers = children(process.pid)
        process.kill()  # the parent alone: its workers see that it is gone
        process.wait()
        deadline = time.monotonic() + 30
        while any(alive(pid) for pid in workers) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any(alive(pid) for pid in workers)
        there = list(out.glob("*.nc"))
        assert 3 <= len(there) < 40
        for path in there:  # what is there is whole
            assert np.isfinite(components(path)).all()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert f"'already there': {len(there)}" in done.stdout
        assert f"'fitted': {40 - len(there)}" in done.stdout
        assert len(list(out.glob("*.nc"))) == 40
