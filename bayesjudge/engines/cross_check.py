"""Whether two engines agree: the means of all standard deviations, in Monte Carlo errors."""

from __future__ import annotations

from dataclasses import dataclass

import arviz_stats as azs
import numpy as np
import xarray as xr

from bayesjudge.engines import psis
from bayesjudge.engines.draws import Draws, Sampling
from bayesjudge.layout import Layout

# Of a few dozen means the largest disagreement of right draws hardly ever is above 4.
DISAGREEMENT_MAX = 5.0


@dataclass(frozen=True)
class CrossCheck:
    """How far NUTS and importance sampling are apart.

    Attributes
    ----------
    disagreement : float
        Largest difference of the means of a standard deviation, in Monte Carlo standard errors of
        the difference; NaN where importance sampling is not to be trusted itself.
    where : str
        Which standard deviation.
    problem : str
        What is wrong with the importance draws, if anything.
    """

    disagreement: float
    where: str
    problem: str

    @property
    def apart(self) -> str:
        """Say that the engines disagree; empty where they do not."""
        if not self.disagreement > DISAGREEMENT_MAX:
            return ""
        return (
            f"NUTS and importance sampling disagree: the means of {self.where} are "
            f"{self.disagreement:.1f} Monte Carlo standard errors apart. Run longer: --draws, "
            "--tune."
        )


def cross_check(layout: Layout, sampled: Draws, how: Sampling) -> CrossCheck:
    """Hold draws of NUTS against importance sampling of the same posterior.

    Parameters
    ----------
    layout : Layout
        What was sampled.
    sampled : Draws
        By NUTS.
    how : Sampling
        How it was.
    """
    found = psis.sample(layout, how)
    if not found.trusted:
        return CrossCheck(float("nan"), "", found.problem)
    values = xr.DataArray(sampled.values, dims=("chain", "draw", "slot"), name="x")
    error = azs.mcse(values.to_dataset(), method="mean")["x"].to_numpy()
    other = found.draws.values.reshape(-1, sampled.values.shape[-1])
    here = sampled.values.mean(axis=(0, 1))
    apart = np.abs(here - other.mean(axis=0)) / np.sqrt(
        error**2 + other.var(axis=0) / found.effective
    )
    worst = layout.slots[int(np.argmax(apart))]
    judge = "" if worst.judge is None else f", {layout.judges[worst.judge]}"
    return CrossCheck(
        float(apart.max()), f"sigma_{worst.name}[{layout.models[worst.model]}{judge}]", ""
    )
