"""Tables drawn from the cumulative-link model."""

import numpy as np
import pandas as pd


def draw_panel(
    n,
    m,
    K,
    *,
    thresholds,
    sigma_scenario,
    sigma_generation,
    offsets,
    values=None,
    link="logit",
    seed=0,
    models=("A",),
    means=None,
):
    """A long table of n scenarios x m generations x K judges for each evaluated model.

    A score is the level whose thresholds its latent value lies between: scenario, generation and
    noise drawn for each model, offsets and means given. `thresholds` may be by judge (in rows),
    `offsets` by judge or by model and judge; `values` are the scores of the levels (1, 2, ...).
    """
    rng = np.random.default_rng(seed)
    thresholds = np.asarray(thresholds, dtype=float)
    offsets = np.broadcast_to(offsets, (len(models), K))
    means = np.zeros(len(models)) if means is None else means
    values = np.arange(thresholds.shape[-1] + 1) + 1 if values is None else np.asarray(values)
    noise = rng.logistic if link == "logit" else rng.normal
    i, j, k = (axis.ravel() for axis in np.indices((n, m, K)))
    frames = []
    for model, mean, offset in zip(models, means, offsets, strict=True):
        latent = mean + offset + rng.normal(0, sigma_scenario, (n, 1, 1))
        latent = latent + rng.normal(0, sigma_generation, (n, m, 1)) + noise(0, 1, (n, m, K))
        level = (latent[..., None] > thresholds).sum(axis=-1)
        frames.append(
            pd.DataFrame(
                {
                    "model": model,
                    "scenario": i + 1,
                    "generation": j + 1,
                    "judge": [f"judge {x + 1}" for x in k],
                    "score": values[level.ravel()],
                }
            )
        )
    return pd.concat(frames, ignore_index=True)
