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
    model: str
    scale: tuple[float, ...]
    variant: str


def task() -> Task:
    """Read it."""
    table, out, seed, interaction, model, scale, *rest = sys.argv[1:]
    return Task(
        table=Path(table),
        out=Path(out),
        seed=int(seed),
        interaction=interaction == "1",
        model=model,
        scale=tuple(map(float, scale.split(","))),
        variant=rest[0] if rest else "",
    )


def write(
    out: Path,
    models: Sequence[str],
    draws: dict[str, NDArray[np.float64]],
    divergences: int,
    settings: dict[str, object],
    thresholds: NDArray[np.float64] | None = None,
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
    thresholds : array, optional
        Of an ordinal model, with axes chain, draw, cut. They count for the least ESS.
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
    everything, cuts = dict(sds), {}
    if thresholds is not None:
        own = {key: np.atleast_1d(of(thresholds)).tolist() for key, of in measures.items()}
        everything["threshold"] = cuts["thresholds"] = own
    least = min(everything, key=lambda name: min(everything[name]["ess_bulk"]))
    outcome = {
        "kind": "posterior",
        "sds": sds,
        **cuts,
        "ess_bulk_min": min(everything[least]["ess_bulk"]),
        "ess_bulk_min_of": least,
        "rhat_max": max(max(one["rhat"]) for one in everything.values()),
        "divergences": divergences,
        "settings": settings,
    }
    out.write_text(json.dumps(outcome), encoding="utf-8")
