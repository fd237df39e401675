"""Measure bayesjudge and its peers on the same tables, each tool in a process of its own.

``python -m benchmarks.run`` (or ``python benchmarks/run.py``); ``--help`` lists the options.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # for `python benchmarks/run.py`

from benchmarks.jobs import JOBS, Job  # noqa: E402
from benchmarks.report import render  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True)
class Tool:
    """A script in `benchmarks/tools`, what it needs that may not be there, and its variant."""

    script: str
    needs: tuple[str, ...] = ()
    variant: str = ""

    @property
    def ours(self) -> bool:
        """Whether it runs in this interpreter whatever the peers' is."""
        return self.script == "bayesjudge_nuts.py"

    def command(self, peers_python: str) -> list[str]:
        """Give what comes before the arguments."""
        if self.script.endswith(".R"):
            return ["Rscript", str(ROOT / "benchmarks" / "tools" / self.script)]
        python = sys.executable if self.ours else peers_python
        return [python, "-m", f"benchmarks.tools.{Path(self.script).stem}"]

    def absent(self, peers_python: str) -> str:
        """Say why it can't be measured here; nothing if it can."""
        has = _r_has if self.script.endswith(".R") else _python_has(peers_python)
        return "" if all(map(has, self.needs)) else "not installed"


_BY_HAND, _PM_SAMPLE = "PyMC by hand, nutpie", "PyMC, pm.sample"
TOOLS = {  # by the model that a job needs
    "gaussian": {
        "bayesjudge": Tool("bayesjudge_nuts.py"),
        _BY_HAND: Tool("pymc_latents.py", ("pymc", "nutpie"), "tuned"),
        _PM_SAMPLE: Tool("pymc_latents.py", ("pymc",), "default"),
        "lme4": Tool("lme4.R", ("lme4",)),
    },
    "ordinal": {
        "bayesjudge": Tool("bayesjudge_nuts.py"),
        _BY_HAND: Tool("pymc_ordinal.py", ("pymc", "nutpie"), "tuned"),
        _PM_SAMPLE: Tool("pymc_ordinal.py", ("pymc",), "default"),
        "PyMC, numpyro": Tool("pymc_ordinal.py", ("pymc", "numpyro"), "numpyro"),
        "ordinal::clmm": Tool("clmm.R", ("ordinal",)),
    },
}
OTHERS = {  # looked for, and said if they are there
    "gaussian": ("bambi", "numpyro", "statsmodels", "brms"),
    "ordinal": ("bambi", "brms"),
}
PACKAGES = ("bayesjudge", "numpy", "numba", "pymc", "pytensor", "nutpie", "arviz-stats")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> int:
    """Run what the command line asks for."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    missing = {
        model: {
            name: why for name, tool in tools.items() if (why := tool.absent(options.peers_python))
        }
        for model, tools in TOOLS.items()
    }
    left_out = {
        model: {
            name: "not asked for"
            for name in tools
            if name not in options.tools and name not in missing[model]
        }
        for model, tools in TOOLS.items()
    }
    chosen = {
        model: [name for name in tools if name in options.tools and name not in missing[model]]
        for model, tools in TOOLS.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if not options.no_warm_up:
            for job in {_kind(JOBS[name]): _shrunk(JOBS[name]) for name in options.jobs}.values():
                table = _written(job, place)
                for tool in chosen[job.model]:
                    print(f"warming up: {tool}, {job.name}", flush=True)
                    measure(tool, job, table, 0, options.timeout, options.peers_python)
        for name in options.jobs:
            job = JOBS[name]
            table = _written(job, place)
            runs = []
            for repeat in range(options.repeats):
                for tool in chosen[job.model]:
                    print(f"{name}: {tool}, run {repeat + 1}", flush=True)
                    seed = options.seed + repeat
                    run = measure(tool, job, table, seed, options.timeout, options.peers_python)
                    runs.append({"tool": tool, "seed": seed} | run)
            others = {
                other: said
                for other in OTHERS[job.model]
                if (said := _of(other, options.peers_python))
            }
            found = provenance(warmed=not options.no_warm_up) | {
                "job": {
                    "name": name,
                    "statement": job.statement,
                    "model": job.model,
                    "interaction": job.interaction,
                    "table_sha256": hashlib.sha256(table.read_bytes()).hexdigest(),
                },
                "not_measured": missing[job.model] | others | left_out[job.model],
                "runs": runs,
            }
            path = options.out / f"{name}.json"
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    table = render(options.out)
    (options.out / "TABLE.md").write_text(table, encoding="utf-8")
    print(table)
    return 0


def measure(
    tool: str, job: Job, table: Path, seed: int, timeout: float, peers_python: str
) -> dict[str, object]:
    """Run a tool once: what its process used, and what it wrote.

    Parameters
    ----------
    tool : str
        Its name in `TOOLS`.
    job : Job
        What is fitted.
    table : Path
        The scores; what is written goes beside them.
    seed : int
        Of the sampler.
    timeout : float
        Seconds after which it is ended.
    peers_python : str
        The interpreter of the tools that aren't ours.

    Returns
    -------
    dict
        ``status``, ``load_average`` before it, ``wall_s, cpu_s, peak_mib`` of the whole process,
        and the outcome.
    """
    out = table.parent / "outcome.json"
    out.unlink(missing_ok=True)
    command = command_line(TOOLS[job.model][tool], job, table, out, seed, peers_python)
    load = round(os.getloadavg()[0], 2)
    with (table.parent / "said.txt").open("w+", encoding="utf-8") as said:
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


def command_line(
    tool: Tool, job: Job, table: Path, out: Path, seed: int, peers_python: str
) -> list[str]:
    """Give what starts a tool: `benchmarks.tools` says what the arguments are."""
    job_arguments = [str(int(job.interaction)), job.model, ",".join(map(str, job.scale))]
    variant = [tool.variant] if tool.variant else []
    return [
        *tool.command(peers_python),
        *(str(table), str(out), str(seed)),
        *job_arguments,
        *variant,
    ]


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


def _of(other: str, python: str) -> str:
    there = _r_has(other) if other == "brms" else _python_has(python)(other)
    return "installed, but not among the tools that are measured" if there else "not installed"


def _python_has(python: str) -> Callable[[str], bool]:
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"

    def has(package: str) -> bool:
        # Not from the repository: a folder there may have the name of a package.
        command = [python, "-I", "-c", code, package]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    return has


def _r_has(package: str) -> bool:
    rscript = shutil.which("Rscript")
    if rscript is None:
        return False
    code = f"quit(status = 1 - requireNamespace('{package}', quietly = TRUE))"
    return subprocess.run([rscript, "-e", code], capture_output=True, check=False).returncode == 0


def _kind(job: Job) -> tuple[object, ...]:
    """Tell jobs apart that need other compiled code: it depends on no size.

    Several models in an ordinal job have means, one has none.
    """
    return job.model, job.missing > 0, job.interaction, _means(job)


def _shrunk(job: Job) -> Job:
    small = {"models": 1 + _means(job), "scenarios": 20, "generations": 2, "judges": 3}
    return replace(job, name=f"small {job.name}", **small)


def _means(job: Job) -> bool:
    return job.model == "ordinal" and job.models > 1


def _written(job: Job, place: Path) -> Path:
    path = place / f"{job.name}.csv"
    if not path.exists():
        job.table().to_csv(path, index=False)
    return path


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
    parser.add_argument("--repeats", type=int, default=1, help="runs of each (default 1)")
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
