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


NEEDS = {  # what only the interpreter of the peers may have
    "benchmarks.tools.bambi_default": "bambi",
    "benchmarks.tools.mixedlm": "statsmodels",
}


@pytest.fixture(autouse=True)
def _from_the_repository(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parent))


@pytest.fixture(params=RESULTS, ids=lambda path: path.stem)
def found(request):
    return json.loads(request.param.read_text(encoding="utf-8"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_imports(script):
    package = NEEDS.get(script)
    if package is not None:
        pytest.importorskip(package)
    importlib.import_module(script)


def test_the_jobs_have_the_sizes_they_state():
    jobs = importlib.import_module("benchmarks.jobs").JOBS
    sizes = {name: len(job.table()) for name, job in jobs.items()}
    assert sizes == {
        "one-model": 4000,
        "five-models": 20000,
        "missing-cells": 3600,
        "small": 120,
        "large": 100_000,
        "million": 1_000_000,
        "many": 120_000,
        "help": 4,
        "ordinal": 4000,
        "ordinal-five-models": 20000,
    }


def test_the_panels_of_many_fits_have_one_size():
    job = importlib.import_module("benchmarks.jobs").JOBS["many"]
    assert job.table().groupby("model").size().to_list() == [120] * 1000


def test_a_table_for_parquet_is_also_there_for_tools_in_r(tmp_path):
    run = importlib.import_module("benchmarks.run")
    jobs = importlib.import_module("benchmarks.jobs")
    tools = importlib.import_module("benchmarks.tool_list").TOOLS["gaussian"]
    outcome = importlib.import_module("benchmarks.tools.outcome")
    job = run._shrunk(jobs.JOBS["million"])
    run._write(job, tmp_path / "table.csv")
    assert tools["lme4"].reads(job) == tools["brms"].reads(job) == ".csv"
    assert {tool.reads(job) for tool in tools.values() if not tool.in_r} == {".parquet"}
    assert tools["bayesjudge, psis"].reads(jobs.JOBS["large"]) == ".csv"
    pandas = importlib.import_module("pandas")
    read = [outcome.read(tmp_path / f"table.{kind}") for kind in ("csv", "parquet")]
    pandas.testing.assert_frame_equal(*read)


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
    measure = importlib.import_module("benchmarks.measure")
    outcome = importlib.import_module("benchmarks.tools.outcome")
    job = importlib.import_module("benchmarks.jobs").JOBS["ordinal-five-models"]
    script = measure.TOOLS["ordinal"]["PyMC, numpyro"]
    table, out = tmp_path / "table.csv", tmp_path / "out.json"
    command = measure.command_line(script, job, table, out, 7, "peers-python")
    assert command[:3] == ["peers-python", "-m", "benchmarks.tools.pymc_ordinal"]
    monkeypatch.setattr(sys, "argv", command[2:])
    assert outcome.task() == outcome.Task(
        table, out, 7, False, "ordinal", (1.0, 10.0, 0.5), "numpyro"
    )


def test_the_console_script_is_told_its_option_alone(tmp_path):
    measure = importlib.import_module("benchmarks.measure")
    job = importlib.import_module("benchmarks.jobs").JOBS["help"]
    (tool,) = measure.TOOLS["help"].values()
    script, *arguments = measure.command_line(tool, job, tmp_path, tmp_path, 1, "peers-python")
    assert script == str(Path(sys.executable).with_name("bayesjudge"))
    assert arguments == ["--help"]


def test_every_kind_of_job_has_tools():
    tools = importlib.import_module("benchmarks.tool_list")
    jobs = importlib.import_module("benchmarks.jobs").JOBS
    assert {job.kind for job in jobs.values()} == set(tools.TOOLS) == set(tools.OTHERS)


def test_only_the_peers_run_in_another_interpreter():
    tools = importlib.import_module("benchmarks.tool_list")
    scripts = str(Path(sys.executable).with_name("bayesjudge"))
    for of_kind in tools.TOOLS.values():
        for name, tool in of_kind.items():
            started_by = tool.command("elsewhere")[0]
            ours = name in tools.OURS
            assert started_by in ({sys.executable, scripts} if ours else {"elsewhere", "Rscript"})
    assert set(tools.TOOLS["gaussian"]) > set(tools.OURS)


def test_a_tool_whose_package_is_not_there_is_not_installed():
    tools = importlib.import_module("benchmarks.tool_list")
    assert tools.Tool("pymc_ordinal.py", ("numpy",)).absent(sys.executable) == ""
    there_is_none = tools.Tool("pymc_ordinal.py", ("numpy", "no_such_sampler"))
    assert there_is_none.absent(sys.executable) == "not installed"


def test_of_a_tool_that_is_not_measured_it_is_said_why():
    run = importlib.import_module("benchmarks.run")
    jobs = importlib.import_module("benchmarks.jobs").JOBS
    asked = [name for name in run.TOOLS["gaussian"] if name != "lme4"]
    missing = {"bambi": "not installed"}
    one = {"bambi": "not installed", "lme4": "not asked for"}
    assert run.not_measured(jobs["one-model"], asked, missing) == one
    large = one | {"brms": "kept for one-model"}
    assert run.not_measured(jobs["large"], asked, missing) == large


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


def test_importance_sampling_says_what_its_effective_draws_are(tmp_path):
    outcome = importlib.import_module("benchmarks.tools.outcome")
    z = np.exp(np.random.default_rng(3).standard_normal((4, 50, 2)))
    out = tmp_path / "out.json"
    outcome.write_weighted(out, ["B", "A"], {"scenario": z}, 123.4, 0.2, {"engine": "psis"})
    found = json.loads(out.read_text(encoding="utf-8"))
    assert (found["ess_bulk_min"], found["k_hat"]) == (123.4, 0.2)
    assert found["ess_of"] == "importance weights"
    assert found["settings"] == {"engine": "psis"}
    assert not {"rhat_max", "divergences"} & set(found)
    by_label = np.median(z[..., [1, 0]], axis=(0, 1)).tolist()
    assert found["sds"]["scenario"]["median"] == by_label


def test_a_point_fit_is_by_label(tmp_path):
    outcome = importlib.import_module("benchmarks.tools.outcome")
    out = tmp_path / "out.json"
    outcome.write_point(out, ["B", "A"], {"scenario": [1.0, 2.0]}, {})
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found == {"kind": "point", "sds": {"scenario": {"estimate": [2.0, 1.0]}}, "settings": {}}


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


SHARED = {"status": "ok", "cpu_s": 1, "peak_mib": 1, "load_average": 0}
WEIGHTED = SHARED | {
    "tool": "bayesjudge, psis",
    "kind": "posterior",
    "ess_bulk_min": 2000,
    "ess_of": "importance weights",
    "k_hat": 0.21,
    "settings": {"engine": "psis"},
}


def test_a_ratio_is_against_the_best_sampler_that_is_not_ours():
    report = importlib.import_module("benchmarks.report")
    sampler = SHARED | {"kind": "posterior", "rhat_max": 1.0, "divergences": 0}
    runs = [
        sampler | {"tool": "bayesjudge", "wall_s": 10, "ess_bulk_min": 1000},
        sampler | {"tool": "quick", "wall_s": 5, "ess_bulk_min": 100},
        sampler | {"tool": "thorough", "wall_s": 20, "ess_bulk_min": 1000},
        SHARED | {"tool": "lme4", "kind": "point", "wall_s": 1},
        {"tool": "broken", "status": "failed: no"},
        WEIGHTED | {"wall_s": 2},
    ]
    rows = report.summaries(runs)
    assert rows["bayesjudge, psis"]["ess_per_s_ratio"] == pytest.approx(2000 / 2 / 50)
    assert rows["bayesjudge, psis"]["wall_ratio"] == pytest.approx(2 / 5)
    assert rows["quick"]["wall_ratio"] == 1
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
    cells = _cells(_section([], {} if model is None else {"model": model})[2])
    assert cells == [*report.HEAD[: report.ESS], head, *report.HEAD[report.ESS + 1 :]]


def test_the_table_says_that_importance_sampling_has_no_chains():
    text = _section([WEIGHTED | {"wall_s": 2}])
    cells = _cells(text[4])
    assert cells[:2] == ["bayesjudge, psis", "2.0"]
    assert cells[4:8] == ["2,000 (w)", "1000", "-", "k 0.21"]
    assert any("importance sampling has no chains" in line for line in text)


def test_the_table_says_when_importance_sampling_handed_over():
    nuts = SHARED | {"tool": "bayesjudge, psis", "kind": "posterior", "wall_s": 20}
    nuts |= {"ess_bulk_min": 900, "rhat_max": 1.002, "divergences": 0}
    text = _section([nuts | {"settings": {"engine": "nuts"}}])
    assert _cells(text[4])[0] == "bayesjudge, psis (by nuts)"
    assert not any("(w)" in line for line in text)


def test_the_table_of_many_fits_counts_them():
    run = SHARED | {"tool": "bayesjudge, psis", "kind": "fits", "fits": 1000, "wall_s": 50}
    head, _, row = _section([run], {"task": "many"})[2:5]
    assert _cells(head)[4:6] == ["fits made", "fits/s"]
    assert _cells(row)[4:6] == ["1,000", "20.0"]


def test_of_several_runs_the_best_is_shown_beside_the_median():
    run = SHARED | {"tool": "bayesjudge", "kind": "command"}
    text = _section([run | {"wall_s": wall} for wall in (0.4, 0.3, 0.9)], {"task": "help"})
    assert _cells(text[4])[:2] == ["bayesjudge (3 of 3 runs)", "0.40 (best 0.30)"]


def _section(runs, job=None):
    report = importlib.import_module("benchmarks.report")
    machine = {"cpu": "some", "cores": 2, "memory_gib": 4, "system": "any"}
    found = {"machine": machine, "versions": {}, "date": "2026-11-30", "warmed": True}
    found |= {"job": {"name": "some", "statement": "made up"} | (job or {})}
    return report._section(found | {"runs": runs, "not_measured": {}})


def _cells(line):
    return line.strip("| ").split(" | ")


@pytest.mark.parametrize(
    ("bar", "rows", "measured", "verdict"),
    [
        ({}, {}, "-", "not measured"),
        ({}, {"ours": {"status": "ok", "wall_s": 4.0}}, "4.00 s", "met"),
        ({}, {"ours": {"status": "ok", "wall_s": 4.1}}, "4.10 s", "missed"),
        ({}, {"ours": {"status": "ended after 300 s"}}, "ended after 300 s", "missed"),
        ({"exceeds": True}, {"ours": {"status": "ok", "wall_s": 4.0}}, "4.00 s", "missed"),
        (
            {"of": "peer"},
            {"ours": {"status": "ok", "wall_s": 9.0}, "peer": {"status": "ok", "wall_s": 3.0}},
            "9.00 s, 3.00 x 3.00 s (in the same run)",
            "met",
        ),
        ({"of": "peer"}, {"ours": {"status": "ok", "wall_s": 9.0}}, "9.00 s", "not measured"),
        (
            {"of": "peer", "before": 2.0},
            {"ours": {"status": "ok", "wall_s": 9.0}, "peer": {"status": "not there"}},
            "9.00 s, 4.50 x 2.00 s (measured before)",
            "missed",
        ),
    ],
)
def test_a_bar_is_met_missed_or_not_measured(bar, rows, measured, verdict):
    bars = importlib.import_module("benchmarks.bars")
    one = bars.Bar("some", "ours", "wall_s", 4.0, **bar)
    assert bars.held(one, rows) == bars.Held(measured, verdict)


def test_bars_are_of_jobs_and_tools_that_there_are():
    bars = importlib.import_module("benchmarks.bars").BARS
    tools = importlib.import_module("benchmarks.tool_list").TOOLS
    jobs = importlib.import_module("benchmarks.jobs").JOBS
    for bar in bars:
        assert {bar.tool, bar.of or bar.tool} <= set(tools[jobs[bar.job].kind])


def test_a_job_without_results_still_shows_its_bars(tmp_path):
    report = importlib.import_module("benchmarks.report")
    text = report.render(tmp_path)
    bars = importlib.import_module("benchmarks.bars").BARS
    assert "## million: no results yet" in text
    assert text.count("| not measured |") == len(bars)


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
    tools = importlib.import_module("benchmarks.tool_list")
    named = {one["tool"] for one in found["runs"]} | set(found["not_measured"])
    kind = importlib.import_module("benchmarks.jobs").JOBS[found["job"]["name"]].kind
    assert named == set(tools.TOOLS[kind]) | set(tools.OTHERS[kind])


def test_every_run_says_what_it_cost(found):
    tools = importlib.import_module("benchmarks.tool_list")
    assert found["runs"]
    for run in found["runs"]:
        assert min(run["wall_s"], run["cpu_s"], run["peak_mib"]) > 0
        assert run["load_average"] >= 0
        if run["tool"] not in tools.OURS and re.fullmatch(r"ended after \d+ s", run["status"]):
            continue
        assert run["status"] == "ok", run
        if run["kind"] == "posterior":
            assert run["ess_bulk_min"] > 0
            if "ess_of" in run:
                assert run["k_hat"] < 0.7
                assert run["settings"]["engine"] == "psis"
            else:
                assert run["divergences"] >= 0
                assert run["rhat_max"] >= 0.99
        if run["kind"] == "fits":
            assert run["fits"] == importlib.import_module("benchmarks.jobs").JOBS["many"].models


def test_the_tools_fitted_the_same_model(found):
    posteriors = [run for run in found["runs"] if run.get("kind") == "posterior"]
    for other in posteriors[1:]:
        parts, others_parts = _parts(posteriors[0]), _parts(other)
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
