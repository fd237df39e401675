"""The table of the results that a folder holds."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

OURS = "bayesjudge"
HEAD = (
    "tool",
    "wall, s",
    "CPU, s",
    "peak, MiB",
    "least ESS of an sd",
    "ESS/s",
    "divergences",
    "R-hat",
    "load before",
    "ESS/s over best peer",
    "the same, by CPU time",
    "wall over best peer",
)
ESS = HEAD.index("least ESS of an sd")
SHORT_OF_CONVERGED = 1.01


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
    return "\n".join(["# Results", "", *[line for one in found for line in _section(one)]])


def summaries(runs: list[dict]) -> dict[str, dict]:
    """Sum up the runs of each tool; a ratio is against the best sampler that is not bayesjudge.

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
    found: dict[str, dict] = {}
    for tool in dict.fromkeys(run["tool"] for run in runs):
        own = [run for run in runs if run["tool"] == tool]
        good = [run for run in own if run["status"] == "ok"]
        if not good:
            found[tool] = {"status": own[0]["status"]}
            continue
        row = {"status": "ok", "kind": good[0]["kind"], "runs": len(good), "tried": len(own)}
        for key in ("wall_s", "cpu_s", "peak_mib", "load_average", "ess_bulk_min", "rhat_max"):
            if key in good[0]:
                row[key] = median(run[key] for run in good)
        if row["kind"] == "posterior":
            row["ess_per_s"] = median(run["ess_bulk_min"] / run["wall_s"] for run in good)
            row["ess_per_cpu_s"] = median(run["ess_bulk_min"] / run["cpu_s"] for run in good)
            row["divergences"] = max(run["divergences"] for run in good)
        found[tool] = row
    peers = [row for tool, row in found.items() if tool != OURS and row.get("kind") == "posterior"]
    for row in found.values():
        if peers and row.get("kind") == "posterior":
            for key in ("ess_per_s", "ess_per_cpu_s"):
                row[f"{key}_ratio"] = row[key] / max(peer[key] for peer in peers)
        if peers and "wall_s" in row:
            row["wall_ratio"] = row["wall_s"] / min(peer["wall_s"] for peer in peers)
    return found


def _section(found: dict) -> list[str]:
    job, machine = found["job"], found["machine"]
    head = list(HEAD)
    if job.get("model") == "ordinal":
        head[ESS] = "least ESS"  # thresholds are no standard deviations
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
        *(_row(tool, row) for tool, row in summaries(found["runs"]).items()),
        *(
            f"| {tool} | {why} |" + " |" * (len(HEAD) - 2)
            for tool, why in found["not_measured"].items()
        ),
        "",
        where,
        "",
    ]


def _row(tool: str, row: dict) -> str:
    if row["status"] != "ok":
        return f"| {tool} | {row['status']} |" + " |" * (len(HEAD) - 2)
    runs = f" ({row['runs']} of {row['tried']} runs)" if row["tried"] > 1 else ""
    cells = [
        tool + runs,
        f"{row['wall_s']:.1f}",
        f"{row['cpu_s']:.1f}",
        f"{row['peak_mib']:.0f}",
        _or_dash(row, "ess_bulk_min", ",.0f"),
        _or_dash(row, "ess_per_s", ".0f"),
        _or_dash(row, "divergences", "d"),
        _or_dash(row, "rhat_max", ".3f")
        + (" !" if row.get("rhat_max", 0) > SHORT_OF_CONVERGED else ""),
        f"{row['load_average']:.1f}",
        _or_dash(row, "ess_per_s_ratio", ".2f"),
        _or_dash(row, "ess_per_cpu_s_ratio", ".2f"),
        _or_dash(row, "wall_ratio", ".2f"),
    ]
    return "| " + " | ".join(cells) + " |"


def _or_dash(row: dict, key: str, form: str) -> str:
    return format(row[key], form) if key in row else "-"
