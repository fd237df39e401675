"""One run of a tool in a process of its own, and where it was made."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from benchmarks.jobs import Job
from benchmarks.tool_list import ROOT, TOOLS, Tool

PACKAGES = ("bayesjudge", "numpy", "numba", "pymc", "pytensor", "nutpie", "arviz-stats")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


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
        Seconds after which it is ended, if the job's own limit isn't less.
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
    one = TOOLS[job.kind][tool]
    limit = min(timeout, job.limit)
    command = command_line(one, job, table, out, seed, peers_python)
    load = round(os.getloadavg()[0], 2)
    with (table.parent / "said.txt").open("w+", encoding="utf-8") as said:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=said,
            stderr=said,
            env=os.environ | ONE_THREAD,
            start_new_session=True,
        )
        # With the processes that it started, which would go on otherwise.
        clock = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
        clock.start()
        # Popen.wait would not tell what the process used.
        try:
            _, status, used = os.wait4(process.pid, 0)
        except KeyboardInterrupt:  # it went to this process alone
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            clock.cancel()
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        last = (said.read().strip().splitlines() or [""])[-1]
    kib = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    cost = {
        "load_average": load,
        "wall_s": round(wall, 3),
        "cpu_s": round(used.ru_utime + used.ru_stime, 3),
        "peak_mib": round(kib / 1024),
    }
    if process.returncode or (one.writes and not out.is_file()):
        late = wall >= limit
        why = f"ended after {limit:g} s" if late else f"failed: {last.replace(str(ROOT), '.')}"
        return {"status": why} | cost
    if not one.writes:
        return {"status": "ok"} | cost | {"kind": "command"}
    outcome = json.loads(out.read_text(encoding="utf-8"))
    if job.task == "many":
        outcome.pop("sds", None)  # thousands of numbers
        outcome.setdefault("fits", job.models)
    return {"status": "ok"} | cost | outcome


def command_line(
    tool: Tool, job: Job, table: Path, out: Path, seed: int, peers_python: str
) -> list[str]:
    """Give what starts a tool: `benchmarks.tools` says what the arguments are.

    Parameters
    ----------
    tool : Tool
        What is started.
    job, table, seed, peers_python
        As for `measure`.
    out : Path
        Where it writes.
    """
    if not tool.writes:
        return [*tool.command(peers_python), tool.variant]
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
