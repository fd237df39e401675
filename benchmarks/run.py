"""Measure bayesjudge and its peers on the same tables, each tool in a process of its own.

``python -m benchmarks.run`` (or ``python benchmarks/run.py``); ``--help`` lists the options.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # for `python benchmarks/run.py`

from benchmarks.jobs import JOBS, Job  # noqa: E402
from benchmarks.report import render  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
TOOLS = {
    "bayesjudge": [sys.executable, "-m", "benchmarks.tools.bayesjudge_nuts"],
    "PyMC by hand, nutpie": [sys.executable, "-m", "benchmarks.tools.pymc_latents"],
    "PyMC, pm.sample": [sys.executable, "-m", "benchmarks.tools.pymc_latents"],
    "lme4": ["Rscript", str(ROOT / "benchmarks" / "tools" / "lme4.R")],
}
VARIANTS = {"PyMC by hand, nutpie": "tuned", "PyMC, pm.sample": "default"}
OTHERS = ("bambi", "numpyro", "statsmodels", "brms")  # looked for, and said if they are there
PACKAGES = ("bayesjudge", "numpy", "numba", "pymc", "pytensor", "nutpie", "arviz-stats")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> int:
    """Run what the command line asks for."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    missing = {name: why for name in TOOLS if (why := absent(name))}
    tools = [name for name in options.tools if name not in missing]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if not options.no_warm_up:
            for job in {_kind(JOBS[name]): _shrunk(JOBS[name]) for name in options.jobs}.values():
                table = _written(job, place)
                for tool in tools:
                    print(f"warming up: {tool}, {job.name}", flush=True)
                    measure(tool, table, place, 0, job.interaction, options.timeout)
        for name in options.jobs:
            job = JOBS[name]
            table = _written(job, place)
            runs = []
            for repeat in range(options.repeats):
                for tool in tools:
                    print(f"{name}: {tool}, run {repeat + 1}", flush=True)
                    seed = options.seed + repeat
                    run = measure(tool, table, place, seed, job.interaction, options.timeout)
                    runs.append({"tool": tool, "seed": seed} | run)
            found = provenance(warmed=not options.no_warm_up) | {
                "job": {
                    "name": name,
                    "statement": job.statement,
                    "interaction": job.interaction,
                    "table_sha256": hashlib.sha256(table.read_bytes()).hexdigest(),
                },
                "not_measured": missing | {other: said for other in OTHERS if (said := _of(other))},
                "runs": runs,
            }
            path = options.out / f"{name}.json"
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    table = render(options.out)
    (options.out / "TABLE.md").write_text(table, encoding="utf-8")
    print(table)
    return 0


def measure(
    tool: str, table: Path, place: Path, seed: int, interaction: bool, timeout: float
) -> dict[str, object]:
    """Run a tool once: what its process used, and what it wrote.

    Parameters
    ----------
    tool : str
        A key of `TOOLS`.
    table, place : Path
        The scores, and a folder for what is written.
    seed : int
        Of the sampler.
    interaction : bool
        Whether scenario:judge is fitted.
    timeout : float
        Seconds after which it is ended.

    Returns
    -------
    dict
        ``status``, ``load_average`` before it, ``wall_s, cpu_s, peak_mib`` of the whole process,
        and the outcome.
    """
    out = place / "outcome.json"
    out.unlink(missing_ok=True)
    command = [*TOOLS[tool], str(table), str(out), str(seed), str(int(interaction))]
    command += [VARIANTS[tool]] if tool in VARIANTS else []
    load = round(os.getloadavg()[0], 2)
    with (place / "said.txt").open("w+", encoding="utf-8") as said:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=said, stderr=said, env=os.environ | ONE_THREAD
        )
        clock = threading.Timer(timeout, process.kill)
        clock.start()
        # Popen.wait would not tell what the process used.
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        clock.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        last = (said.read().strip().splitlines() or [""])[-1]
    kib = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    cost = {
        "load_average": load,
        "wall_s": round(wall, 2),
        "cpu_s": round(used.ru_utime + used.ru_stime, 2),
        "peak_mib": round(kib / 1024),
    }
    if process.returncode or not out.is_file():
        late = wall >= timeout
        why = f"ended after {timeout:g} s" if late else f"failed: {last.replace(str(ROOT), '.')}"
        return {"status": why} | cost
    return {"status": "ok"} | cost | json.loads(out.read_text(encoding="utf-8"))


def absent(tool: str) -> str:
    """Say why a tool can't be measured here; nothing if it can."""
    if tool != "lme4":
        return ""
    return "" if _r_has("lme4") else "not installed"


def provenance(*, warmed: bool) -> dict[str, object]:
    """Say where, when and with what: nothing that names a machine or a person.

    Parameters
    ----------
    warmed : bool
        Whether compiled code was in the caches already.
    """
    digest = hashlib.sha256()
    for path in sorted([*(ROOT / "bayesjudge").rglob("*.py"), *(ROOT / "models").glob("*.toml")]):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "cpu": _cpu(),
            "cores": os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {"python": platform.python_version()} | _versions(),
        "source_sha256": digest.hexdigest(),
        "blas_threads": 1,
        "warmed": warmed,
    }


def _versions() -> dict[str, str]:
    from bayesjudge import __version__

    found = {"bayesjudge": __version__}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.setdefault(name, metadata.version(name))
    return found


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


def _of(other: str) -> str:
    there = _r_has(other) if other == "brms" else importlib.util.find_spec(other) is not None
    return "installed, but not among the tools that are measured" if there else "not installed"


def _r_has(package: str) -> bool:
    rscript = shutil.which("Rscript")
    if rscript is None:
        return False
    code = f"quit(status = 1 - requireNamespace('{package}', quietly = TRUE))"
    return subprocess.run([rscript, "-e", code], capture_output=True, check=False).returncode == 0


def _kind(job: Job) -> tuple[bool, bool]:
    """Tell jobs apart that need other compiled code: it depends on no size."""
    return job.missing > 0, job.interaction


def _shrunk(job: Job) -> Job:
    return replace(job, name=f"small {job.name}", models=1, scenarios=20, generations=2, judges=3)


def _written(job: Job, place: Path) -> Path:
    path = place / f"{job.name}.csv"
    if not path.exists():
        job.table().to_csv(path, index=False)
    return path


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)

    def several(known):
        def read(text):
            names = [name.strip() for name in text.split(",")]
            for name in names:
                if name not in known:
                    raise argparse.ArgumentTypeError(
                        f"there is no {name!r}: choose from {', '.join(known)}"
                    )
            return names

        return read

    parser.add_argument("--jobs", type=several(JOBS), default=list(JOBS), help="comma between")
    parser.add_argument("--tools", type=several(TOOLS), default=list(TOOLS), help="the same")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each (default 1)")
    parser.add_argument("--seed", type=int, default=1, help="of the first run (default 1)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds a run (default 900)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument(
        "--no-warm-up", action="store_true", help="leave out the unmeasured run of each tool"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
