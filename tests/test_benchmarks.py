"""The results kept are whole and say where they come from. Nothing is measured here."""

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

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
    assert sizes == {
        "one-model": 4000,
        "five-models": 20000,
        "missing-cells": 3600,
        "small": 120,
        "ordinal": 4000,
        "ordinal-five-models": 20000,
    }


@pytest.mark.parametrize("name", ["ordinal", "ordinal-five-models"])
def test_an_ordinal_job_has_every_level_of_its_scale_and_no_other_score(name):
    job = importlib.import_module("benchmarks.jobs").JOBS[name]
    low, high, step = job.scale
    assert set(job.table()["score"]) == set(np.arange(low, high + step / 2, step))


def test_the_warm_up_of_an_example_is_its_first_part():
    run = importlib.import_module("benchmarks.run")
    job = importlib.import_module("benchmarks.jobs").JOBS["ordinal-five-models"]
    frame = run._shrunk(job).table()
    columns = ("model", "scenario", "generation", "judge")
    assert [frame[column].nunique() for column in columns] == [2, 20, 2, 3]
    assert len(frame) == 2 * 20 * 2 * 3


def test_a_tool_is_told_the_job(monkeypatch, tmp_path):
    run = importlib.import_module("benchmarks.run")
    outcome = importlib.import_module("benchmarks.tools.outcome")
    job = importlib.import_module("benchmarks.jobs").JOBS["ordinal-five-models"]
    script = run.TOOLS["ordinal"]["PyMC, numpyro"]
    table, out = tmp_path / "table.csv", tmp_path / "out.json"
    command = run.command_line(script, job, table, out, 7, "peers-python")
    assert command[:3] == ["peers-python", "-m", "benchmarks.tools.pymc_ordinal"]
    monkeypatch.setattr(sys, "argv", command[2:])
    assert outcome.task() == outcome.Task(
        table, out, 7, False, "ordinal", (1.0, 10.0, 0.5), "numpyro"
    )


def test_only_the_peers_run_in_another_interpreter():
    run = importlib.import_module("benchmarks.run")
    for tools in run.TOOLS.values():
        assert tools["bayesjudge"].command("elsewhere")[0] == sys.executable
        assert {
            tool.command("elsewhere")[0] for name, tool in tools.items() if name != "bayesjudge"
        } == {"elsewhere", "Rscript"}


def test_a_tool_whose_package_is_not_there_is_not_installed():
    run = importlib.import_module("benchmarks.run")
    assert run.Tool("pymc_ordinal.py", ("numpy",)).absent(sys.executable) == ""
    there_is_none = run.Tool("pymc_ordinal.py", ("numpy", "no_such_sampler"))
    assert there_is_none.absent(sys.executable) == "not installed"


def test_the_least_effective_draws_are_also_looked_for_among_thresholds(tmp_path):
    outcome = importlib.import_module("benchmarks.tools.outcome")
    z = np.random.default_rng(0).standard_normal((4, 500, 5))
    slow = z[..., 2:].cumsum(axis=1)
    out = tmp_path / "out.json"
    outcome.write(out, ["B", "A"], {"scenario": np.exp(z[..., :2])}, 0, {}, slow)
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["ess_bulk_min_of"] == "threshold"
    assert found["ess_bulk_min"] == min(found["thresholds"]["ess_bulk"])
    assert found["rhat_max"] == max(found["thresholds"]["rhat"])
    assert found["thresholds"]["median"] == np.median(slow, axis=(0, 1)).tolist()
    by_label = np.median(np.exp(z[..., [1, 0]]), axis=(0, 1)).tolist()
    assert found["sds"]["scenario"]["median"] == by_label


def test_the_likelihood_by_hand_is_that_of_the_cumulative_logit():
    ordinal = importlib.import_module("benchmarks.tools.pymc_ordinal")
    rng = np.random.default_rng(1)
    threshold, eta, score = np.array([-2.0, 0.3, 1.1]), rng.normal(size=40), np.arange(40) % 4
    cumulative = np.column_stack([np.zeros(40), expit(threshold - eta[:, None]), np.ones(40)])
    direct = np.log(np.diff(cumulative)[np.arange(40), score]).sum()
    assert ordinal.log_likelihood(score, eta, threshold, 4).eval() == pytest.approx(direct)


def test_the_spreads_of_a_fit_are_by_chain_draw_and_model():
    ours = importlib.import_module("benchmarks.tools.bayesjudge_nuts")
    xr = importlib.import_module("xarray")
    gamma = np.random.default_rng(2).standard_normal((2, 4, 3, 5))
    axes = ("model", "chain", "draw")
    posterior = xr.Dataset(
        {
            "latent_sigma_scenario": (axes, np.ones((3, 2, 4))),
            "latent_sigma_generation": (axes, np.ones((3, 2, 4))),
            "latent_gamma": (("chain", "draw", "model", "judge"), gamma),
        }
    )
    spreads = ours.latent_spreads(posterior)
    assert {name: x.shape for name, x in spreads.items()} == dict.fromkeys(
        ("scenario", "generation", "judge"), (2, 4, 3)
    )
    assert spreads["judge"] == pytest.approx(np.sqrt((gamma**2).mean(axis=-1)))


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


@pytest.mark.parametrize(
    ("model", "head"), [(None, "least ESS of an sd"), ("ordinal", "least ESS")]
)
def test_a_table_says_what_its_effective_draws_are_of(model, head):
    report = importlib.import_module("benchmarks.report")
    machine = {"cpu": "some", "cores": 2, "memory_gib": 4, "system": "any"}
    job = {"name": "some", "statement": "made up"} | ({} if model is None else {"model": model})
    found = {"job": job, "machine": machine, "versions": {}, "date": "2026-11-30", "warmed": True}
    cells = report._section(found | {"runs": [], "not_measured": {}})[2].strip("| ").split(" | ")
    assert cells == [*report.HEAD[: report.ESS], head, *report.HEAD[report.ESS + 1 :]]


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
    model = found["job"].get("model", "gaussian")  # no other when the first were measured
    assert named == set(run.TOOLS[model]) | set(run.OTHERS[model])


def test_every_run_says_what_it_cost(found):
    assert found["runs"]
    for run in found["runs"]:
        assert min(run["wall_s"], run["cpu_s"], run["peak_mib"]) > 0
        assert run["load_average"] >= 0
        if run["tool"] != "bayesjudge" and re.fullmatch(r"ended after \d+ s", run["status"]):
            continue
        assert run["status"] == "ok", run
        if run["kind"] == "posterior":
            assert run["ess_bulk_min"] > 0
            assert run["divergences"] >= 0
            assert run["rhat_max"] >= 0.99


def test_the_tools_fitted_the_same_model(found):
    first, *others = [run for run in found["runs"] if run.get("kind") == "posterior"]
    for other in others:
        parts, others_parts = _parts(first), _parts(other)
        assert set(others_parts) == set(parts)
        for name, own in parts.items():
            theirs = others_parts[name]
            for low, high, ours, median in zip(
                own["q025"], own["q975"], own["median"], theirs["median"], strict=True
            ):
                assert abs(median - ours) < 0.1 * (high - low), (other["tool"], name)


def _parts(run):
    return run["sds"] | ({"threshold": run["thresholds"]} if "thresholds" in run else {})


def test_the_table_is_made_from_the_results():
    report = importlib.import_module("benchmarks.report")
    kept = (FOLDER / "results" / "TABLE.md").read_text(encoding="utf-8")
    assert report.render(FOLDER / "results") == kept


def test_results_name_no_place_of_one_machine():
    for path in (FOLDER / "results").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"(?<![\w.])/(?:root|home|Users|work|tmp|opt|mnt|srv)\b", text)
