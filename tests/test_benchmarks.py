"""The results kept are whole and say where they come from. Nothing is measured here."""

import importlib
import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
RESULTS = sorted((FOLDER / "results").glob("*.json"))
SCRIPTS = sorted(
    ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
    for path in FOLDER.rglob("*.py")
    if path.name != "__init__.py"
)


@pytest.fixture(autouse=True)
def _from_the_repository(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parent))


@pytest.fixture(params=RESULTS, ids=lambda path: path.stem)
def found(request):
    return json.loads(request.param.read_text(encoding="utf-8"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_imports(script):
    importlib.import_module(script)


def test_the_jobs_have_the_sizes_they_state():
    jobs = importlib.import_module("benchmarks.jobs").JOBS
    sizes = {name: len(job.table()) for name, job in jobs.items()}
    assert sizes == {"one-model": 4000, "five-models": 20000, "missing-cells": 3600, "small": 120}


def test_a_ratio_is_against_the_best_sampler_that_is_not_ours():
    report = importlib.import_module("benchmarks.report")
    shared = {"status": "ok", "cpu_s": 1, "peak_mib": 1, "load_average": 0}
    sampler = shared | {"kind": "posterior", "rhat_max": 1.0, "divergences": 0}
    runs = [
        sampler | {"tool": "bayesjudge", "wall_s": 10, "ess_bulk_min": 1000},
        sampler | {"tool": "quick", "wall_s": 5, "ess_bulk_min": 100},
        sampler | {"tool": "thorough", "wall_s": 20, "ess_bulk_min": 1000},
        shared | {"tool": "lme4", "kind": "point", "wall_s": 1},
        {"tool": "broken", "status": "failed: no"},
    ]
    rows = report.summaries(runs)
    assert rows["bayesjudge"]["ess_per_s_ratio"] == pytest.approx(100 / 50)
    assert rows["bayesjudge"]["ess_per_cpu_s_ratio"] == pytest.approx(1)
    assert rows["bayesjudge"]["wall_ratio"] == pytest.approx(10 / 5)
    assert rows["lme4"]["wall_ratio"] == pytest.approx(1 / 5)
    assert "ess_per_s_ratio" not in rows["lme4"]
    assert rows["broken"] == {"status": "failed: no"}


def test_every_job_has_results():
    jobs = importlib.import_module("benchmarks.jobs").JOBS
    assert {path.stem for path in RESULTS} == set(jobs)


def test_results_say_where_they_come_from(found):
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
    assert set(found["machine"]) == {"cpu", "cores", "memory_gib", "system"}
    assert found["machine"]["cores"] >= 1
    assert {"python", "bayesjudge", "pymc", "nutpie"} <= set(found["versions"])
    assert re.fullmatch(r"[0-9a-f]{64}", found["source_sha256"])
    assert re.fullmatch(r"[0-9a-f]{64}", found["job"]["table_sha256"])


def test_results_name_every_tool(found):
    run = importlib.import_module("benchmarks.run")
    named = {one["tool"] for one in found["runs"]} | set(found["not_measured"])
    assert named == set(run.TOOLS) | set(run.OTHERS)


def test_every_run_says_what_it_cost(found):
    assert found["runs"]
    for run in found["runs"]:
        assert run["status"] == "ok", run
        assert min(run["wall_s"], run["cpu_s"], run["peak_mib"]) > 0
        assert run["load_average"] >= 0
        if run["kind"] == "posterior":
            assert run["ess_bulk_min"] > 0
            assert run["divergences"] >= 0
            assert run["rhat_max"] >= 0.99


def test_the_tools_fitted_the_same_model(found):
    first, *others = [run for run in found["runs"] if run["kind"] == "posterior"]
    for other in others:
        assert set(other["sds"]) == set(first["sds"])
        for name, own in first["sds"].items():
            theirs = other["sds"][name]
            for low, high, ours, median in zip(
                own["q025"], own["q975"], own["median"], theirs["median"], strict=True
            ):
                assert abs(median - ours) < 0.1 * (high - low), (other["tool"], name)


def test_the_table_is_made_from_the_results():
    report = importlib.import_module("benchmarks.report")
    kept = (FOLDER / "results" / "TABLE.md").read_text(encoding="utf-8")
    assert report.render(FOLDER / "results") == kept


def test_results_name_no_place_of_one_machine():
    for path in (FOLDER / "results").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"(?<![\w.])/(?:root|home|Users|work|tmp|opt|mnt|srv)\b", text)
