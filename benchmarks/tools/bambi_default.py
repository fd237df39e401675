"""bambi with its default sampler; the priors are those of bayesjudge's own specifications.

Several evaluated models are fitted one by one: they share no term. Judges are fixed effects, with
bambi's own prior; the spread of their offsets is what is reported.
"""

from __future__ import annotations

import platform

import bambi as bmb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.tools.outcome import read, task, write

CHAINS, DRAWS, TUNE = 4, 1000, 1000


def sampled(
    own: pd.DataFrame, scale: tuple[float, ...], interaction: bool, seed: int
) -> tuple[dict[str, NDArray[np.float64]], int]:
    """Sample one model's table: standard deviations with axes chain and draw, and divergences.

    Parameters
    ----------
    own : DataFrame
        Its scores.
    scale : tuple of float
        Lowest and highest score.
    interaction : bool
        Whether scenario:judge is among the terms; it is given relative to the panel.
    seed : int
        Of the sampler.
    """
    low, high = scale[:2]
    R = high - low
    own = own.astype(dict.fromkeys(("scenario", "generation", "judge"), "category"))
    own["answer"] = (own["scenario"].astype(str) + "/" + own["generation"].astype(str)).astype(
        "category"
    )
    effects = {"scenario": "1|scenario", "generation": "1|answer"}
    if interaction:
        own["taste"] = (own["scenario"].astype(str) + "/" + own["judge"].astype(str)).astype(
            "category"
        )
        effects["scenario:judge"] = "1|taste"
    varying = bmb.Prior("Normal", mu=0, sigma=bmb.Prior("HalfNormal", sigma=R / 8))
    priors = dict.fromkeys(effects.values(), varying) | {
        "Intercept": bmb.Prior("Normal", mu=(low + high) / 2, sigma=R / 4),
        "sigma": bmb.Prior("HalfNormal", sigma=R / 5),
    }
    formula = "score ~ judge + " + " + ".join(f"({term})" for term in effects.values())
    model = bmb.Model(formula, own, priors=priors)
    tree = model.fit(draws=DRAWS, tune=TUNE, chains=CHAINS, random_seed=seed, progressbar=False)
    posterior = tree["posterior"]
    found = {name: posterior[f"{term}_sigma"].to_numpy() for name, term in effects.items()}
    found["residual"] = posterior["sigma"].to_numpy()
    others = posterior["judge"].to_numpy()  # against the first
    offsets = np.concatenate([np.zeros((*others.shape[:2], 1)), others], axis=-1)
    found["judge"] = offsets.std(axis=-1)
    if interaction:
        K, free = offsets.shape[-1], found["scenario:judge"] ** 2
        found["scenario"] = np.sqrt(found["scenario"] ** 2 + free / K)
        found["scenario:judge"] = np.sqrt(free * (K - 1) / K)
    return found, int(tree["sample_stats"]["diverging"].to_numpy().sum())


def main() -> None:
    job = task()
    frame = read(job.table)
    found = {
        str(label): sampled(own, job.scale, job.interaction, job.seed)
        for label, own in frame.groupby("model")
    }
    first, _ = next(iter(found.values()))
    draws = {name: np.stack([own[name] for own, _ in found.values()], axis=-1) for name in first}
    settings = {
        "sampler": "bambi's default",
        "python": platform.python_version(),
        "bambi": bmb.__version__,
        "chains": CHAINS,
        "draws": DRAWS,
        "tune": TUNE,
    }
    write(job.out, list(found), draws, sum(count for _, count in found.values()), settings)


if __name__ == "__main__":
    main()
