"""The table of the results that a folder holds."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.bars import BARS, held
from benchmarks.tool_list import OURS

HEAD = (
    "tool",
    "wall, s",
    "CPU, s",
    "peak, MiB",
    "least ESS of an sd",
    "ESS/s",
    "divergences",
    "R-hat, or k-hat",
    "load before",
    "ESS/s over best peer",
    "the same, by CPU time",
    "wall over best peer",
)
ESS = HEAD.index("least ESS of an sd")
SHORT_OF_CONVERGED = 1.01
MEDIANS = (
    "wall_s",
    "cpu_s",
    "peak_mib",
    "load_average",
    "ess_bulk_min",
    "rhat_max",
    "k_hat",
    "fits",
)


def render(folder: Path) -> str:
    """Write the results of a folder as Markdown.

    Parameters
    ----------
    folder : Path
        With one JSON file a job, from `benchmarks.run`.

    Returns
    -------
    str
        A section for each job. Medians where a tool ran several times.
    """
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    lines = [line for one in found for line in _section(one)]
    there = {one["job"]["name"] for one in found}
    for job in dict.fromkeys(bar.job for bar in BARS if bar.job not in there):
        lines += [f"## {job}: no results yet", "", *_bars(job, {})]
    return "\n".join(["# Results", "", *lines])


def summaries(runs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Sum up the runs of each tool; a ratio is against the best sampler that isn't ours.

    Parameters
    ----------
    runs : list of dict
        Of one job, as its file has them.

    Returns
    -------
    dict of dict
        By tool. The best peer is the one with the most effective draws a second, or the least
        time.
    """
    found: dict[str, dict[str, Any]] = {}
    for tool in dict.fromkeys(run["tool"] for run in runs):
        own = [run for run in runs if run["tool"] == tool]
        good = [run for run in own if run["status"] == "ok"]
        if not good:
            found[tool] = {"status": own[0]["status"]}
            continue
        row = {"status": "ok", "kind": good[0]["kind"], "runs": len(good), "tried": len(own)}
        for key in MEDIANS:
            if all(key in run for run in good):
                row[key] = median(run[key] for run in good)
        row["wall_best_s"] = min(run["wall_s"] for run in good)
        if "fits" in row:
            row["fits_per_s"] = median(run["fits"] / run["wall_s"] for run in good)
        if "ess_of" in good[0]:
            row["ess_of"] = good[0]["ess_of"]
        if "engine" in good[0].get("settings", {}):
            row["engines"] = sorted({run["settings"]["engine"] for run in good})
        if row["kind"] == "posterior":
            row["ess_per_s"] = median(run["ess_bulk_min"] / run["wall_s"] for run in good)
            row["ess_per_cpu_s"] = median(run["ess_bulk_min"] / run["cpu_s"] for run in good)
            if all("divergences" in run for run in good):
                row["divergences"] = max(run["divergences"] for run in good)
        found[tool] = row
    peers = [
        row for tool, row in found.items() if tool not in OURS and row.get("kind") == "posterior"
    ]
    for row in found.values():
        if peers and row.get("kind") == "posterior":
            for key in ("ess_per_s", "ess_per_cpu_s"):
                row[f"{key}_ratio"] = row[key] / max(peer[key] for peer in peers)
        if peers and "wall_s" in row:
            row["wall_ratio"] = row["wall_s"] / min(peer["wall_s"] for peer in peers)
    return found


def _section(found: dict[str, Any]) -> list[str]:
    job, machine = found["job"], found["machine"]
    head = list(HEAD)
    if job.get("model") == "ordinal":
        head[ESS] = "least ESS"  # thresholds are no standard deviations
    if job.get("task") == "many":
        head[ESS : ESS + 2] = "fits made", "fits/s"
    rows = summaries(found["runs"])
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    where = (
        f"{found['date']}, {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, {machine['system']}; caches of compiled code "
        f"{'full' if found['warmed'] else 'as they were'}. {versions}."
    )
    return [
        f"## {job['name']}: {job['statement']}",
        "",
        "| " + " | ".join(head) + " |",
        "|---" + "|---:" * (len(HEAD) - 1) + "|",
        *(_row(tool, row) for tool, row in rows.items()),
        *(
            f"| {tool} | {why} |" + " |" * (len(HEAD) - 2)
            for tool, why in found["not_measured"].items()
        ),
        "",
        *_of_ess(rows),
        *_bars(job["name"], rows),
        where,
        "",
    ]


def _of_ess(rows: dict[str, dict[str, Any]]) -> list[str]:
    """Say of whose effective draws are not those of chains."""
    weighted = [tool for tool, row in rows.items() if "ess_of" in row]
    if not weighted:
        return []
    said = (
        f"(w) The ESS of {' and '.join(weighted)} is that of the importance weights, of the model "
        "that has least: importance sampling has no chains, no divergences and no R-hat. It has a "
        "k-hat (k), which is to be below 0.7."
    )
    return [said, ""]


def _bars(job: str, rows: dict[str, dict[str, Any]]) -> list[str]:
    own = [(bar, held(bar, rows)) for bar in BARS if bar.job == job]
    if not own:
        return []
    return [
        "| tool | bar | measured | verdict |",
        "|---|---|---|---|",
        *(
            f"| {bar.tool} | {bar.statement()} | {came.measured} | {came.verdict} |"
            for bar, came in own
        ),
        "",
    ]


def _row(tool: str, row: dict[str, Any]) -> str:
    if row["status"] != "ok":
        return f"| {tool} | {row['status']} |" + " |" * (len(HEAD) - 2)
    runs = f" ({row['runs']} of {row['tried']} runs)" if row["tried"] > 1 else ""
    engines = row.get("engines", ["psis"])
    other = "" if engines == ["psis"] else f" (by {', '.join(engines)})"
    best = f" (best {_seconds(row['wall_best_s'])})" if row["runs"] > 1 else ""
    if "fits" in row:
        draws = [f"{row['fits']:,.0f}", f"{row['fits_per_s']:.1f}"]
    else:
        of = " (w)" if "ess_of" in row else ""
        draws = [_or_dash(row, "ess_bulk_min", ",.0f") + of, _or_dash(row, "ess_per_s", ".0f")]
    cells = [
        tool + other + runs,
        _seconds(row["wall_s"]) + best,
        _seconds(row["cpu_s"]),
        f"{row['peak_mib']:.0f}",
        *draws,
        _or_dash(row, "divergences", "d"),
        _converged(row),
        f"{row['load_average']:.1f}",
        _or_dash(row, "ess_per_s_ratio", ".2f"),
        _or_dash(row, "ess_per_cpu_s_ratio", ".2f"),
        _or_dash(row, "wall_ratio", ".2f"),
    ]
    return "| " + " | ".join(cells) + " |"


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 1 else f"{value:.1f}"


def _converged(row: dict[str, Any]) -> str:
    if "k_hat" in row:
        return f"k {row['k_hat']:.2f}"
    mark = " !" if row.get("rhat_max", 0) > SHORT_OF_CONVERGED else ""
    return _or_dash(row, "rhat_max", ".3f") + mark


def _or_dash(row: dict[str, Any], key: str, form: str) -> str:
    return format(row[key], form) if key in row else "-"
