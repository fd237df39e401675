"""The same model as one would write it in PyMC: every effect is sampled.

Variants: "tuned" is laid out by hand for panels such as these (what many scores inform is centred,
the rest is not) and sampled by nutpie itself; "default" is the usual advice, all effects
non-centred, and `pymc.sample` as it comes.
"""

from __future__ import annotations

import platform

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr
from numpy.typing import NDArray

from benchmarks.tools.outcome import read, task, write

CHAINS, DRAWS = 4, 1000
TUNE = 500  # of the tuned variant: the default of bayesjudge


def build(
    frame: pd.DataFrame, scale: tuple[float, ...], interaction: bool, centred: bool
) -> pm.Model:
    """Write the model down, with the priors of bayesjudge's own specifications.

    Parameters
    ----------
    frame : DataFrame
        The table.
    scale : tuple of float
        Lowest and highest score.
    interaction : bool
        Whether scenario:judge is among the terms.
    centred : bool
        Whether scenarios and judges are centred; generations and scenario:judge never are.
    """
    low, high = scale[:2]
    R = high - low
    model, models = pd.factorize(frame["model"])
    scenario, scenarios = pd.factorize(frame["model"] + "/" + frame["scenario"])
    generation, generations = pd.factorize(
        frame["model"] + "/" + frame["scenario"] + "/" + frame["generation"]
    )
    judge, judges = pd.factorize(frame["judge"])
    model_of = frame.assign(_model=model)["_model"].to_numpy()
    of_scenario = model_of[np.unique(scenario, return_index=True)[1]]
    of_generation = model_of[np.unique(generation, return_index=True)[1]]
    T, K = len(models), len(judges)
    with pm.Model() as result:
        mu = pm.Normal("mu", (low + high) / 2, R / 4, shape=T)
        s_scenario = pm.HalfNormal("s_scenario", R / 8, shape=T)
        s_generation = pm.HalfNormal("s_generation", R / 8, shape=T)
        s_judge = pm.HalfNormal("s_judge", R / 8, shape=T)
        s_residual = pm.HalfNormal("s_residual", R / 5, shape=T)
        if centred:
            level = pm.Normal(
                "level", mu[of_scenario], s_scenario[of_scenario], shape=len(scenarios)
            )
            gamma = pm.ZeroSumNormal("gamma", s_judge[:, None], shape=(T, K))
        else:
            z = pm.Normal("z_scenario", shape=len(scenarios))
            level = mu[of_scenario] + s_scenario[of_scenario] * z
            gamma = pm.Deterministic(
                "gamma", s_judge[:, None] * pm.ZeroSumNormal("z_judge", shape=(T, K))
            )
        z = pm.Normal("z_generation", shape=len(generations))
        expected = (
            level[scenario] + (s_generation[of_generation] * z)[generation] + gamma[model, judge]
        )
        if interaction:
            s_interaction = pm.HalfNormal("s_interaction", R / 8, shape=T)
            z = pm.ZeroSumNormal("z_interaction", shape=(len(scenarios), K))
            eta = s_interaction[of_scenario][:, None] * z
            expected = expected + eta[scenario, judge]
        pm.Normal("score", expected, s_residual[model], observed=frame["score"].to_numpy())
    return result


def spreads(posterior: xr.Dataset, interaction: bool) -> dict[str, NDArray[np.float64]]:
    """Give the standard deviations that bayesjudge reports, by component."""
    draws = {
        name: posterior[f"s_{name}"].to_numpy() for name in ("scenario", "generation", "residual")
    }
    gamma = posterior["gamma"].to_numpy()
    draws["judge"] = np.sqrt((gamma**2).mean(axis=-1))
    if interaction:
        K = gamma.shape[-1]
        draws["scenario:judge"] = posterior["s_interaction"].to_numpy() * np.sqrt((K - 1) / K)
    return draws


def sampled(model: pm.Model, variant: str, seed: int) -> tuple[xr.Dataset, int, dict[str, object]]:
    """Sample a model as its variant has it: "tuned", "default", or "numpyro".

    Parameters
    ----------
    model : pm.Model
        What `build` writes down, here or in `pymc_ordinal`.
    variant : str
        "tuned" is nutpie itself, the others are `pymc.sample`.
    seed : int
        Of the sampler.

    Returns
    -------
    tuple
        The draws, how many diverged, and the settings.
    """
    if variant == "tuned":
        import nutpie

        compiled = nutpie.compile_pymc_model(model)
        tree = nutpie.sample(
            compiled, chains=CHAINS, draws=DRAWS, tune=TUNE, seed=seed, progress_bar=False
        )
        settings = {"sampler": f"nutpie {nutpie.__version__}", "tune": TUNE}
    else:
        other = {"nuts_sampler": variant} if variant == "numpyro" else {}
        tree = pm.sample(
            draws=DRAWS, chains=CHAINS, random_seed=seed, progressbar=False, model=model, **other
        )
        said = tree["posterior"].attrs
        library = " ".join(
            said[key] for key in ("inference_library", "inference_library_version") if key in said
        )
        settings = {"sampler": f"pymc.sample, by {library or 'pymc'}", "tune": 1000}
    # They may not be those of the interpreter that looks on.
    settings |= {"python": platform.python_version(), "pymc": pm.__version__}
    return (
        tree["posterior"].to_dataset(),
        int(tree["sample_stats"]["diverging"].to_numpy().sum()),
        settings | {"chains": CHAINS, "draws": DRAWS},
    )


def main() -> None:
    job = task()
    frame = read(job.table)
    model = build(frame, job.scale, job.interaction, centred=job.variant == "tuned")
    posterior, divergences, settings = sampled(model, job.variant, job.seed)
    models = list(pd.unique(frame["model"]))
    write(job.out, models, spreads(posterior, job.interaction), divergences, settings)


if __name__ == "__main__":
    main()
