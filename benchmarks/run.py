"""Measure bayesjudge and its peers on the same tables, each tool in a process of its own.

``python -m benchmarks.run`` (or ``python benchmarks/run.py``); ``--help`` lists the options.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # for `python benchmarks/run.py`

from benchmarks.jobs import JOBS, Job  # noqa: E402
from benchmarks.measure import measure, provenance  # noqa: E402
from benchmarks.report import render  # noqa: E402
from benchmarks.tool_list import OTHERS, TOOLS, of_other  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"


def main() -> int:
    """Run what the command line asks for."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    kinds = {JOBS[name].kind for name in options.jobs}
    missing = {
        kind: {
            name: why
            for name, tool in TOOLS[kind].items()
            if (why := tool.absent(options.peers_python))
        }
        for kind in kinds
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if not options.no_warm_up:
            _warm_up(options, missing, place)
        for name in options.jobs:
            job = JOBS[name]
            table = _written(job, place)
            left_out = not_measured(job, options.tools, missing[job.kind])
            others = {other: of_other(other, options.peers_python) for other in OTHERS[job.kind]}
            runs = []
            for repeat in range(options.repeats * job.runs):
                for tool in TOOLS[job.kind]:
                    if tool not in left_out:
                        print(f"{name}: {tool}, run {repeat + 1}", flush=True)
                        runs.append(_run(tool, job, table, options.seed + repeat, options))
            found = provenance(warmed=not options.no_warm_up) | {
                "job": {
                    "name": name,
                    "statement": job.statement,
                    "model": job.model,
                    "task": job.task,
                    "interaction": job.interaction,
                    "table_sha256": hashlib.sha256(table.read_bytes()).hexdigest(),
                },
                "not_measured": left_out | others,
                "runs": runs,
            }
            path = options.out / f"{name}.json"
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    table = render(options.out)
    (options.out / "TABLE.md").write_text(table, encoding="utf-8")
    print(table)
    return 0


def not_measured(job: Job, asked: list[str], missing: dict[str, str]) -> dict[str, str]:
    """Say of each tool that isn't run in a job why it isn't.

    Parameters
    ----------
    job : Job
        The job.
    asked : list of str
        Tools that the command line names.
    missing : dict
        Those that aren't installed.
    """
    reasons = {
        name: missing.get(name) or tool.left_out(job) or ("" if name in asked else "not asked for")
        for name, tool in TOOLS[job.kind].items()
    }
    return {name: why for name, why in reasons.items() if why}


def _warm_up(options: argparse.Namespace, missing: dict[str, dict[str, str]], place: Path) -> None:
    """Fill the caches of compiled code."""
    for job in {_kind(JOBS[name]): JOBS[name] for name in options.jobs}.values():
        small = _shrunk(job)
        table = _written(small, place)
        left_out = not_measured(job, options.tools, missing[job.kind])
        for name, tool in TOOLS[job.kind].items():
            if tool.warms and name not in left_out:
                print(f"warming up: {name}, {small.name}", flush=True)
                _run(name, small, table, 0, options)


def _run(
    tool: str, job: Job, table: Path, seed: int, options: argparse.Namespace
) -> dict[str, object]:
    own = table.with_suffix(TOOLS[job.kind][tool].reads(job))
    run = measure(tool, job, own, seed, options.timeout, options.peers_python)
    return {"tool": tool, "seed": seed} | run


def _kind(job: Job) -> tuple[object, ...]:
    """Tell jobs apart that need other compiled code: it depends on no size.

    Several models in an ordinal job have means, one has none.
    """
    return job.kind, job.missing > 0, job.interaction, _means(job)


def _shrunk(job: Job) -> Job:
    small = {
        "models": 4 if job.task == "many" else 1 + _means(job),
        "scenarios": 20,
        "generations": 2,
        "judges": 3,
    }
    return replace(job, name=f"small {job.name}", **small)


def _means(job: Job) -> bool:
    return job.model == "ordinal" and job.models > 1


def _written(job: Job, place: Path) -> Path:
    """Write the table as CSV, and beside it as Parquet where tools read that."""
    path = place / f"{job.name}.csv"
    if not path.exists():
        # Elsewhere: the peak memory of a process counts what the one that starts it has held.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            pool.submit(_write, job, path).result()
    return path


def _write(job: Job, path: Path) -> None:
    frame = job.table()
    frame.to_csv(path, index=False)
    if job.parquet:
        frame.to_parquet(path.with_suffix(".parquet"), index=False)


def _interpreter(text: str) -> str:
    found = shutil.which(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} can't be run")
    return str(Path(found).absolute())  # tools start in another folder; a link is what makes a venv


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)

    def several(known, between):
        def read(text):
            names = [name.strip() for name in text.split(between)]
            for name in names:
                if name not in known:
                    raise argparse.ArgumentTypeError(
                        f"there is no {name!r}: choose from {', '.join(known)}"
                    )
            return names

        return read

    parser.add_argument("--jobs", type=several(JOBS, ","), default=list(JOBS), help="comma between")
    tools = list(dict.fromkeys(name for one in TOOLS.values() for name in one))
    parser.add_argument(
        "--tools", type=several(tools, ";"), default=tools, help="semicolon between"
    )
    parser.add_argument(
        "--repeats", type=int, default=1, help="runs of each (default 1; help: nine times as many)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the first run (default 1)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds a run (default 900)")
    parser.add_argument(
        "--peers-python",
        type=_interpreter,
        default=sys.executable,
        metavar="PATH",
        help="Python that has the other samplers (default: this one)",
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument(
        "--no-warm-up", action="store_true", help="leave out the unmeasured run of each tool"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
