"""A real local cluster of Dask: reading its frames, and fitting on it while a worker is killed."""

import os
import signal

import numpy as np
import pandas as pd
import pytest
from panels import crossed, table_of

import bayesjudge as bj

dask = pytest.importorskip("dask", reason="Dask is not installed: bayesjudge[dask]")
distributed = pytest.importorskip("distributed", reason="Dask's distributed is not installed")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    space = tmp_path_factory.mktemp("dask")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 5}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=str(space),
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def frame(seed=0):
    rng = np.random.default_rng(seed)
    rows = [(f"m{t}", f"s{i}", j, f"judge {k}") for t, i, j, k in np.ndindex(2, 9, 3, 4)]
    table = pd.DataFrame(rows, columns=["model", "scenario", "generation", "judge"])
    return table.assign(score=rng.integers(1, 11, len(table)), note="left out")


class TestReading:
    def test_a_frame_is_read_where_its_partitions_are(self, client):
        import dask.dataframe as dd

        table = frame().sample(frac=1, random_state=1).reset_index(drop=True)
        found = bj.read_scores(dd.from_pandas(table, npartitions=5, sort=False), scale=(1, 10))
        expected = bj.read_scores(table.drop(columns="note"), scale=(1, 10))
        pd.testing.assert_frame_equal(found.frame.astype(expected.frame.dtypes), expected.frame)
        for name in vars(expected.calls):
            np.testing.assert_array_equal(getattr(found.calls, name), getattr(expected.calls, name))
        assert "further columns were left out ('note')" in found.notes[0]

    def test_a_refusal_names_the_partition_and_the_row(self, client):
        import dask.dataframe as dd

        table = frame().astype({"score": object})
        table.loc[150, "score"] = "good"
        with pytest.raises(
            bj.ScoreError, match=r"'good' in row 43 of partition 2, .*missing=\['good'\]"
        ):
            bj.read_scores(dd.from_pandas(table, npartitions=2, sort=False))

    def test_empty_partitions_do_no_harm(self, client):
        import dask.dataframe as dd

        parts = dd.from_pandas(frame(), npartitions=4)
        some = parts[parts["scenario"] == "s0"]
        assert len(bj.read_scores(some).calls) == 24
        with pytest.raises(bj.ScoreError, match="no rows"):
            bj.read_scores(parts[parts["scenario"] == "none"])


class TestManyFits:
    def test_a_killed_worker_loses_and_doubles_nothing(self, client, tmp_path):
        tables = {f"t{k}": table_of(crossed(6, 2, 3), seed=k) for k in range(24)}
        killed = []

        def kill_one(outcome, count):
            if not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        with client.get_executor() as executor:
            found = bj.fit_many(
                tables, tmp_path, executor=executor, draws=100, on_progress=kill_one
            )
        assert killed
        # Dask computes some again that were written before their worker died.
        assert set(found["status"]) <= {"fitted", "already there"}
        assert found.index.tolist() == list(tables)
        assert len(list(tmp_path.glob("*.nc"))) == len(tables)
        for key, path in found["path"].items():
            assert bj.load(path).attrs["key"] == key
        with client.get_executor() as executor:
            again = bj.fit_many(tables, tmp_path, executor=executor, draws=100)
        assert set(again["status"]) == {"already there"}

    def test_they_are_the_same_fits_as_elsewhere(self, client, tmp_path):
        tables = {"one": table_of(crossed(6, 2, 3), seed=3)}
        with client.get_executor() as executor:
            there = bj.fit_many(tables, tmp_path / "there", executor=executor, draws=100)
        here = bj.fit_many(tables, tmp_path / "here", workers=1, draws=100)
        one, other = (bj.load(found["path"].iloc[0])["posterior"] for found in (there, here))
        assert one.to_dataset().equals(other.to_dataset())
