"""bayesjudge as it comes: its default engine with its default settings."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import bayesjudge as bj
from benchmarks.tools.outcome import task, write


def main() -> None:
    job = task()
    scores = bj.read_scores(job.table, scale=job.scale, outside="keep")
    linear = "linear" if job.interaction else "linear-paper"
    tree = bj.fit(scores, model="ordinal" if job.model == "ordinal" else linear, seed=job.seed)
    settings = {name: tree.attrs[name] for name in ("sampler", "chains", "draws", "tune")}
    models = [str(label) for label in tree["posterior"]["model"].to_numpy()]
    divergences = int(tree.attrs["divergences"])
    if job.model == "ordinal":
        posterior = tree["posterior"].to_dataset()
        thresholds = posterior["threshold"].transpose("chain", "draw", ...).to_numpy()
        write(job.out, models, latent_spreads(posterior), divergences, settings, thresholds)
    else:
        write(job.out, models, spreads(bj.components(tree)), divergences, settings)


def spreads(variance: xr.DataArray) -> dict[str, NDArray[np.float64]]:
    """Give the standard deviations by component, under the names that all tools share."""
    axes = ("chain", "draw", "model")
    return {
        str(name).removeprefix("generation:judge+"): np.sqrt(
            variance.sel(component=name).transpose(*axes).to_numpy()
        )
        for name in variance["component"].to_numpy()
    }


def latent_spreads(posterior: xr.Dataset) -> dict[str, NDArray[np.float64]]:
    """Give the latent standard deviations of an ordinal fit, and the spread of its judges."""
    found = {
        "scenario": posterior["latent_sigma_scenario"],
        "generation": posterior["latent_sigma_generation"],
        "judge": np.sqrt((posterior["latent_gamma"] ** 2).mean("judge")),
    }
    return {name: x.transpose("chain", "draw", "model").to_numpy() for name, x in found.items()}


if __name__ == "__main__":
    main()
