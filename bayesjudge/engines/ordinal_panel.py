"""What draws of an ordinal model's parameters mean: latent values, score scale, likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.marginal.cumulative.lattice import SAMPLING
from bayesjudge.marginal.cumulative.likelihood import log_likelihood_by_scenario
from bayesjudge.marginal.cumulative.score_scale import ScoreScale, score_scale
from bayesjudge.ordinal.layout import OrdinalLayout
from bayesjudge.ordinal.parameters import Parameters, places, to_parameters

FloatArray = NDArray[np.float64]

_CHECKED = 16  # draws at which the lattice is compared with one of twice as many nodes


@dataclass(frozen=True, eq=False)
class OrdinalPanel:
    """Draws of everything that a fit of an ordinal model reports.

    Attributes
    ----------
    latent : Parameters
        Arrays with a leading axis of draws.
    scales : tuple of ScoreScale
        Panel mean, offsets and components of each evaluated model; judges are the model's own.
    log_likelihood : float array, shape (draws, scenarios)
        All evaluated models of a scenario together, effects integrated out.
    lattice_error : float
        Largest difference of the total log likelihood between the lattice that was sampled on and
        one of twice as many nodes, over some draws.
    """

    latent: Parameters
    scales: tuple[ScoreScale, ...]
    log_likelihood: FloatArray
    lattice_error: float


def ordinal_panel(layout: OrdinalLayout, vectors: FloatArray) -> OrdinalPanel:
    """Work out what draws of the vector mean.

    Parameters
    ----------
    layout : OrdinalLayout
        The model.
    vectors : float array, shape (draws, parameters)
        Draws of its vector.
    """
    latent = to_parameters(layout, places(layout), vectors)
    by_model = log_likelihood_by_scenario(
        latent.by_judge, latent.effects, layout.tallies, layout.link
    )
    together = np.zeros((len(vectors), len(layout.scenarios)))
    start = 0
    for cells in layout.cells:
        together[:, cells.scenario_ids] += by_model[:, start : start + cells.n_scenarios]
        start += cells.n_scenarios
    some = np.unique(np.linspace(0, len(vectors) - 1, _CHECKED).astype(int))
    coarse, fine = (
        log_likelihood_by_scenario(
            latent.by_judge[some], latent.effects[some], layout.tallies, layout.link, fineness
        ).sum(axis=1)
        for fineness in (SAMPLING, 2 * SAMPLING)
    )
    scales = tuple(
        score_scale(
            np.ascontiguousarray(latent.by_judge[:, cells.model, cells.judge_ids]),
            latent.effects[:, cells.model, 0].copy(),
            latent.effects[:, cells.model, 1].copy(),
            layout.levels.values,
            layout.spec.link,
        )
        for cells in layout.cells
    )
    return OrdinalPanel(latent, scales, together, float(np.abs(fine - coarse).max()))
