"""What a tool writes: estimates, effective draws and divergences, in the same words for all."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import NDArray


@dataclass(frozen=True)
class Task:
    """The command line of a tool."""

    table: Path
    out: Path
    seed: int
    interaction: bool
    variant: str


def task() -> Task:
    """Read it."""
    table, out, seed, interaction, *rest = sys.argv[1:]
    return Task(Path(table), Path(out), int(seed), interaction == "1", rest[0] if rest else "")


def write(
    out: Path,
    models: Sequence[str],
    draws: dict[str, NDArray[np.float64]],
    divergences: int,
    settings: dict[str, object],
) -> None:
    """Write the outcome of a sampler.

    Parameters
    ----------
    out : Path
        JSON file to write.
    models : sequence of str
        Labels of the evaluated models, in the order of the draws' last axis. What is written is
        in the order of the labels.
    draws : dict of array
        By component, standard deviations as they are reported (those of judge and scenario:judge
        are the spread over the judges of the panel), with axes chain, draw, model.
    divergences : int
        After warm-up.
    settings : dict
        Chains, draws, warm-up and the like.
    """
    order = sorted(range(len(models)), key=lambda k: models[k])
    measures = {
        "ess_bulk": lambda x: array_stats.ess(x, chain_axis=0, draw_axis=1, method="bulk"),
        "rhat": lambda x: array_stats.rhat(x, chain_axis=0, draw_axis=1),
        "median": lambda x: np.median(x, axis=(0, 1)),
        "q025": lambda x: np.quantile(x, 0.025, axis=(0, 1)),
        "q975": lambda x: np.quantile(x, 0.975, axis=(0, 1)),
    }
    sds = {
        name: {key: np.atleast_1d(of(x))[order].tolist() for key, of in measures.items()}
        for name, x in draws.items()
    }
    least = min(sds, key=lambda name: min(sds[name]["ess_bulk"]))
    outcome = {
        "kind": "posterior",
        "sds": sds,
        "ess_bulk_min": min(sds[least]["ess_bulk"]),
        "ess_bulk_min_of": least,
        "rhat_max": max(max(one["rhat"]) for one in sds.values()),
        "divergences": divergences,
        "settings": settings,
    }
    out.write_text(json.dumps(outcome), encoding="utf-8")
