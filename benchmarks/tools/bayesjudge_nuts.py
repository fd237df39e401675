"""bayesjudge as it comes: its default engine with its default settings."""

from __future__ import annotations

import numpy as np

import bayesjudge as bj
from benchmarks.jobs import SCALE
from benchmarks.tools.outcome import task, write


def main() -> None:
    job = task()
    scores = bj.read_scores(job.table, scale=SCALE, outside="keep")
    tree = bj.fit(scores, model="linear" if job.interaction else "linear-paper", seed=job.seed)
    variance = bj.components(tree)
    draws = {
        str(name).removeprefix("generation:judge+"): np.sqrt(
            variance.sel(component=name).to_numpy()
        )
        for name in variance["component"].to_numpy()
    }
    settings = {name: tree.attrs[name] for name in ("sampler", "chains", "draws", "tune")}
    models = [str(label) for label in variance["model"].to_numpy()]
    write(job.out, models, draws, int(tree.attrs["divergences"]), settings)


if __name__ == "__main__":
    main()
