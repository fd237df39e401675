"""The tools that are measured, which jobs they do, and whether they can be run here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.jobs import Job

ROOT = Path(__file__).resolve().parents[1]
COMMAND = "bayesjudge"  # the console script
NUTS, PSIS = "bayesjudge", "bayesjudge, psis"
OURS = (NUTS, PSIS)
BY_HAND, PM_SAMPLE, LME4 = "PyMC by hand, nutpie", "PyMC, pm.sample", "lme4"
MIXEDLM, BAMBI, BRMS = "statsmodels MixedLM", "bambi", "brms"


@dataclass(frozen=True)
class Tool:
    """A script, what it needs and where it's used.

    Attributes
    ----------
    script : str
        In `benchmarks/tools`; or the console script.
    needs : tuple of str
        Packages that may not be there.
    variant : str
        Handed to the script.
    only : tuple of str
        Jobs that it is kept for; all if empty.
    warms : bool
        Whether a first run fills caches for the next.
    """

    script: str
    needs: tuple[str, ...] = ()
    variant: str = ""
    only: tuple[str, ...] = ()
    warms: bool = True

    @property
    def ours(self) -> bool:
        """Whether it runs in this interpreter whatever the peers' is."""
        return self.script.startswith("bayesjudge")

    @property
    def in_r(self) -> bool:
        """Whether it's an R script."""
        return self.script.endswith(".R")

    @property
    def writes(self) -> bool:
        """Whether it writes an outcome."""
        return self.script != COMMAND

    def command(self, peers_python: str) -> list[str]:
        """Give what comes before the arguments."""
        if self.script == COMMAND:
            return [str(Path(sys.executable).with_name(COMMAND))]
        if self.in_r:
            return ["Rscript", str(ROOT / "benchmarks" / "tools" / self.script)]
        python = sys.executable if self.ours else peers_python
        return [python, "-m", f"benchmarks.tools.{Path(self.script).stem}"]

    def absent(self, peers_python: str) -> str:
        """Say why it can't be measured here; nothing if it can."""
        has = r_has if self.in_r else python_has(peers_python)
        return "" if all(map(has, self.needs)) else "not installed"

    def left_out(self, job: Job) -> str:
        """Say why it isn't measured in a job; nothing if it is."""
        kept = not self.only or job.name in self.only
        return "" if kept else f"kept for {', '.join(self.only)}"

    def reads(self, job: Job) -> str:
        """Give the suffix of the table that it reads."""
        return ".parquet" if job.parquet and not self.in_r else ".csv"


_LME4 = Tool("lme4.R", ("lme4",))
_MIXEDLM = Tool("mixedlm.py", ("statsmodels",))
TOOLS = {  # by the kind of the job
    "gaussian": {
        NUTS: Tool("bayesjudge_nuts.py"),
        PSIS: Tool("bayesjudge_psis.py"),
        BY_HAND: Tool("pymc_latents.py", ("pymc", "nutpie"), "tuned"),
        PM_SAMPLE: Tool("pymc_latents.py", ("pymc",), "default"),
        LME4: _LME4,
        MIXEDLM: _MIXEDLM,
        BAMBI: Tool("bambi_default.py", ("bambi",)),
        # Stan compiles for a minute, in every process.
        BRMS: Tool("brms.R", ("brms", "posterior", "jsonlite"), only=("one-model",), warms=False),
    },
    "ordinal": {
        NUTS: Tool("bayesjudge_nuts.py"),
        BY_HAND: Tool("pymc_ordinal.py", ("pymc", "nutpie"), "tuned"),
        PM_SAMPLE: Tool("pymc_ordinal.py", ("pymc",), "default"),
        "PyMC, numpyro": Tool("pymc_ordinal.py", ("pymc", "numpyro"), "numpyro"),
        "ordinal::clmm": Tool("clmm.R", ("ordinal",)),
    },
    "many": {PSIS: Tool("bayesjudge_many.py"), LME4: _LME4, MIXEDLM: _MIXEDLM},
    "help": {NUTS: Tool(COMMAND, variant="--help")},
}
OTHERS: dict[str, tuple[str, ...]] = {  # looked for, and said if they are there
    "gaussian": ("numpyro",),
    "ordinal": (BAMBI, BRMS),
    "many": (),
    "help": (),
}


def of_other(other: str, python: str) -> str:
    """Say of a package that isn't measured whether it's there.

    Parameters
    ----------
    other : str
        Its name.
    python : str
        The interpreter of the peers.
    """
    there = r_has(other) if other == BRMS else python_has(python)(other)
    return "installed, but not among the tools that are measured" if there else "not installed"


def python_has(python: str) -> Callable[[str], bool]:
    """Give what tells whether an interpreter has a package.

    Parameters
    ----------
    python : str
        The interpreter.
    """
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"

    def has(package: str) -> bool:
        # Not from the repository: a folder there may have the name of a package.
        command = [python, "-I", "-c", code, package]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    return has


def r_has(package: str) -> bool:
    """Tell whether R is there and has a package.

    Parameters
    ----------
    package : str
        Its name.
    """
    rscript = shutil.which("Rscript")
    if rscript is None:
        return False
    code = f"quit(status = 1 - requireNamespace('{package}', quietly = TRUE))"
    return subprocess.run([rscript, "-e", code], capture_output=True, check=False).returncode == 0
