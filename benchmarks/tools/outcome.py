"""What a tool writes: estimates, effective draws and divergences, in the same words for all."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from arviz_stats.base import array_stats
from numpy.typing import NDArray

Measure = Callable[[NDArray[np.float64]], NDArray[np.float64]]
_QUANTILES: dict[str, Measure] = {
    "median": lambda x: np.median(x, axis=(0, 1)),
    "q025": lambda x: np.quantile(x, 0.025, axis=(0, 1)),
    "q975": lambda x: np.quantile(x, 0.975, axis=(0, 1)),
}
_MEASURES: dict[str, Measure] = {
    "ess_bulk": lambda x: array_stats.ess(x, chain_axis=0, draw_axis=1, method="bulk"),
    "rhat": lambda x: array_stats.rhat(x, chain_axis=0, draw_axis=1),
    **_QUANTILES,
}


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


def read(table: Path) -> pd.DataFrame:
    """Read a table as it is, from CSV or Parquet."""
    return pd.read_parquet(table) if table.suffix == ".parquet" else pd.read_csv(table)


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
    sds = {name: _summed_up(x, models, _MEASURES) for name, x in draws.items()}
    everything, cuts = dict(sds), {}
    if thresholds is not None:
        own = {key: np.atleast_1d(of(thresholds)).tolist() for key, of in _MEASURES.items()}
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


def write_weighted(
    out: Path,
    models: Sequence[str],
    draws: dict[str, NDArray[np.float64]],
    ess: float,
    k_hat: float,
    settings: dict[str, object],
) -> None:
    """Write the outcome of importance sampling: it has no chains, so ESS is that of the weights.

    Parameters
    ----------
    out, models, draws, settings
        As in `write`; the draws are resampled by weight.
    ess : float
        Effective draws by the weights, of the evaluated model that has least.
    k_hat : float
        Shape of the tail of the weights, of the evaluated model where it is heaviest.
    """
    outcome = {
        "kind": "posterior",
        "sds": {name: _summed_up(x, models, _QUANTILES) for name, x in draws.items()},
        "ess_bulk_min": ess,
        "ess_of": "importance weights",
        "k_hat": k_hat,
        "settings": settings,
    }
    out.write_text(json.dumps(outcome), encoding="utf-8")


def write_point(
    out: Path, models: Sequence[str], sds: dict[str, Sequence[float]], settings: dict[str, object]
) -> None:
    """Write a point fit.

    Parameters
    ----------
    out, models, settings
        As in `write`.
    sds : dict
        By component, a standard deviation for each model.
    """
    order = sorted(range(len(models)), key=lambda k: models[k])
    found = {name: {"estimate": [float(x[k]) for k in order]} for name, x in sds.items()}
    outcome = {"kind": "point", "sds": found, "settings": settings}
    out.write_text(json.dumps(outcome), encoding="utf-8")


def _summed_up(
    x: NDArray[np.float64], models: Sequence[str], measures: dict[str, Measure]
) -> dict[str, list[float]]:
    order = sorted(range(len(models)), key=lambda k: models[k])
    return {key: np.atleast_1d(of(x))[order].tolist() for key, of in measures.items()}
