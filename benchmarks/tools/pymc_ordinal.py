"""The cumulative-logit model as one would write it in PyMC: every effect is sampled.

Variants: "default" and "numpyro" are the usual advice, all effects non-centred, with
`pm.OrderedLogistic` and `pymc.sample`, as it comes or by numpyro. "tuned" is laid out by hand:
scenarios are centred on a threshold and judges on zero, generations are not centred; the
likelihood is a sum of log sigmoids (which stays finite in the tails, where `pm.OrderedLogistic`
doesn't), and nutpie itself samples it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray

from benchmarks.tools.outcome import task, write
from benchmarks.tools.pymc_latents import sampled

SD = 2.0  # of the half-normal priors of latent standard deviations, and of the models' means


def build(frame: pd.DataFrame, scale: tuple[float, ...], centred: bool) -> pm.Model:
    """Write the model down, with the priors of bayesjudge's own specification.

    Parameters
    ----------
    frame : DataFrame
        The table.
    scale : tuple of float
        Lowest and highest level, and the step between levels.
    centred : bool
        Whether this is the layout by hand.
    """
    low, high, step = scale
    C = round((high - low) / step) + 1
    score = np.rint((frame["score"].to_numpy() - low) / step).astype(int)
    model, models = pd.factorize(frame["model"])
    scenario, scenarios = pd.factorize(frame["model"] + "/" + frame["scenario"])
    generation, generations = pd.factorize(
        frame["model"] + "/" + frame["scenario"] + "/" + frame["generation"]
    )
    judge, judges = pd.factorize(frame["judge"])
    of_scenario = model[np.unique(scenario, return_index=True)[1]]
    of_generation = model[np.unique(generation, return_index=True)[1]]
    T, K = len(models), len(judges)
    with pm.Model() as result:
        s_scenario = pm.HalfNormal("s_scenario", SD, shape=T)
        s_generation = pm.HalfNormal("s_generation", SD, shape=T)
        s_judge = pm.HalfNormal("s_judge", SD, shape=T)
        mean = pm.ZeroSumNormal("mean", SD, shape=T) if T > 1 else pt.zeros(1)
        share = np.arange(1, C) / C
        threshold = pm.Flat(
            "threshold",
            shape=C - 1,
            transform=pm.distributions.transforms.ordered,
            initval=np.log(share / (1 - share)),
        )
        # Averaged over effects the shares of the levels are Dirichlet, worth two scores in all.
        unit = pt.sqrt(1 + (s_scenario**2 + s_generation**2).mean() / (np.pi**2 / 3))
        scaled = threshold / unit
        density = -(pt.softplus(scaled) + pt.softplus(-scaled)).sum() - (C - 1) * pt.log(unit)
        below, above = -pt.softplus(-scaled), -pt.softplus(scaled)
        inner = below[1:] + above[:-1] + pt.log(-pt.expm1(scaled[:-1] - scaled[1:]))
        density += (2 / C - 1) * (below[0] + inner.sum() + above[-1])
        pm.Potential("shares", density)
        beta = s_generation[of_generation] * pm.Normal("z_generation", shape=len(generations))
        if centred:
            gamma = pm.ZeroSumNormal("gamma", s_judge[:, None], shape=(T, K))
            middle = threshold[(C - 1) // 2]
            level = pm.Normal(
                "level",
                mean[of_scenario] - middle,
                s_scenario[of_scenario],
                shape=len(scenarios),
            )
            eta = level[scenario] + beta[generation] + gamma[model, judge]
            pm.Potential("score", log_likelihood(score, eta, threshold - middle, C))
        else:
            gamma = pm.Deterministic(
                "gamma", s_judge[:, None] * pm.ZeroSumNormal("z_judge", shape=(T, K))
            )
            z = pm.Normal("z_scenario", shape=len(scenarios))
            alpha = mean[of_scenario] + s_scenario[of_scenario] * z
            eta = alpha[scenario] + beta[generation] + gamma[model, judge]
            pm.OrderedLogistic(
                "score", eta=eta, cutpoints=threshold, compute_p=False, observed=score
            )
    return result


def log_likelihood(
    score: NDArray[np.int64], eta: pt.TensorVariable, threshold: pt.TensorVariable, C: int
) -> pt.TensorVariable:
    """Sum log(F(t_c - eta) - F(t_(c-1) - eta)), F logistic, over the scores.

    It is log F(t_c - eta) + log F(eta - t_(c-1)) + log(1 - exp(t_(c-1) - t_c)).

    Parameters
    ----------
    score : array of int
        Levels, from 0.
    eta, threshold : tensor
        Effect of each score, and the C - 1 thresholds.
    C : int
        Number of levels.
    """
    (below,) = np.nonzero(score < C - 1)
    (above,) = np.nonzero(score > 0)
    between = np.bincount(score, minlength=C)[1:-1]
    total = -pt.softplus(eta[below] - threshold[score[below]]).sum()
    total -= pt.softplus(threshold[score[above] - 1] - eta[above]).sum()
    return total + (between * pt.log1mexp(threshold[:-1] - threshold[1:])).sum()


def spreads(posterior: xr.Dataset) -> dict[str, NDArray[np.float64]]:
    """Give the latent standard deviations that bayesjudge reports, by component."""
    draws = {name: posterior[f"s_{name}"].to_numpy() for name in ("scenario", "generation")}
    return draws | {"judge": np.sqrt((posterior["gamma"].to_numpy() ** 2).mean(axis=-1))}


def main() -> None:
    job = task()
    frame = pd.read_csv(job.table, dtype=dict.fromkeys(("model", "scenario", "generation"), "str"))
    model = build(frame, job.scale, centred=job.variant == "tuned")
    posterior, divergences, settings = sampled(model, job.variant, job.seed)
    models = list(pd.unique(frame["model"]))
    thresholds = posterior["threshold"].to_numpy()
    write(job.out, models, spreads(posterior), divergences, settings, thresholds)


if __name__ == "__main__":
    main()
