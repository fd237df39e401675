"""Whether a fit can be trusted: R-hat, effective sample sizes, divergences, energy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import arviz_stats as azs
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.settings import BFMI_MIN, ESS_PER_CHAIN_MIN, RHAT_MAX

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Diagnostics:
    """The verdict on a fit.

    Attributes
    ----------
    rhat_max, ess_bulk_min, ess_tail_min : float
        The worst over all reported quantities; NaN with one chain or constant draws.
    divergences : int
        Number of divergent transitions after warm-up.
    bfmi_min : float
        The worst chain's Bayesian fraction of missing information.
    problems : tuple of str
        What is wrong, in sentences; empty for a fit that passed.
    """

    rhat_max: float
    ess_bulk_min: float
    ess_tail_min: float
    divergences: int
    bfmi_min: float
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def diagnose(posterior: xr.Dataset, stats: xr.Dataset, found: Sequence[str] = ()) -> Diagnostics:
    """Judge a fit by its draws.

    Parameters
    ----------
    posterior : Dataset
        Draws with dims chain and draw; entries that are NaN throughout (a judge that did not
        score a model) are passed over.
    stats : Dataset
        Sampler statistics ``diverging`` and ``energy``.
    found : sequence of str
        Problems that were seen before.
    """
    values, labels = _flat(posterior)
    chains, draws = values.sizes["chain"], values.sizes["draw"]
    problems = list(found)
    rhat = _each(azs.rhat, values) if chains > 1 else np.full(len(labels), np.nan)
    bulk = _each(lambda x: azs.ess(x, method="bulk"), values)
    tail = _each(lambda x: azs.ess(x, method="tail"), values)
    needed = ESS_PER_CHAIN_MIN * chains
    if chains == 1:
        problems.append("One chain only: R-hat can't be computed. Run four.")
    elif not np.all(rhat < RHAT_MAX):
        worst = int(np.argmax(np.where(np.isnan(rhat), np.inf, rhat)))
        problems.append(
            f"Chains disagree: R-hat is {rhat[worst]:.5g} for {labels[worst]} (below {RHAT_MAX} "
            "is wanted). Run longer: --draws, --tune."
        )
    for name, ess in (("bulk", bulk), ("tail", tail)):
        if not np.all(ess >= needed):
            worst = int(np.argmin(np.where(np.isnan(ess), -np.inf, ess)))
            problems.append(
                f"Too few effective draws: {name} ESS is {ess[worst]:.0f} for {labels[worst]} "
                f"({needed} is wanted). Run longer: --draws."
            )
    diverging = int(stats["diverging"].sum())
    if diverging:
        problems.append(
            f"{diverging} of {chains * draws} transitions diverged: the sampler may have missed "
            "part of the posterior. Run with a longer --tune, or with narrower priors."
        )
    bfmi = np.asarray(azs.bfmi(stats[["energy"]])["energy"])
    if not np.all(bfmi >= BFMI_MIN):
        problems.append(
            f"Energy is explored badly: BFMI is {bfmi.min():.2f} (at least {BFMI_MIN} is wanted). "
            "Run with a longer --tune."
        )
    return Diagnostics(
        rhat_max=float(np.max(rhat)),
        ess_bulk_min=float(np.min(bulk)),
        ess_tail_min=float(np.min(tail)),
        divergences=diverging,
        bfmi_min=float(np.min(bfmi)),
        problems=tuple(problems),
    )


def diagnose_importance(
    effective: float, chains: int, draws: int, found: Sequence[str] = ()
) -> Diagnostics:
    """Judge a fit by importance sampling, whose draws are independent of each other.

    Parameters
    ----------
    effective : float
        Effective number of draws, the least over evaluated models.
    chains, draws : int
        Chains, and kept draws in each: no more than those are effective in the end.
    found : sequence of str
        What is wrong with them.
    """
    nan = float("nan")
    least, needed = min(effective, chains * draws), ESS_PER_CHAIN_MIN * chains
    few = (
        f"Too few effective draws: {least:.0f} of all are effective ({needed} are wanted). Keep "
        "more: --draws."
    )
    problems = (few, *found) if least < needed else tuple(found)
    return Diagnostics(nan, least, nan, 0, nan, problems)


def _flat(posterior: xr.Dataset) -> tuple[xr.DataArray, list[str]]:
    """All scalar quantities side by side, with readable names."""
    columns, labels = [], []
    for name, array in posterior.data_vars.items():
        ordered = array.transpose("chain", "draw", ...)
        flat = ordered.to_numpy().reshape(*ordered.shape[:2], -1)
        shape = ordered.shape[2:]
        for k in range(flat.shape[2]):
            if np.isnan(flat[..., k]).all():
                continue
            where = np.unravel_index(k, shape)
            inside = [
                str(ordered[dim].to_numpy()[i])
                for dim, i in zip(ordered.dims[2:], where, strict=True)
            ]
            columns.append(flat[..., k])
            labels.append(f"{name}[{', '.join(inside)}]" if inside else str(name))
    stacked = np.stack(columns, axis=-1)
    return xr.DataArray(stacked, dims=("chain", "draw", "quantity"), name="x"), labels


def _each(measure: Callable[[xr.Dataset], xr.Dataset], values: xr.DataArray) -> FloatArray:
    return np.asarray(measure(values.to_dataset())["x"].to_numpy(), dtype=float)
