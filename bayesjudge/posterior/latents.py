"""Conditional draws of the scenario and generation effects of an ordinal fit."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.design.cells import cells_by_model
from bayesjudge.marginal.cumulative.latents import ballots, draw_effects
from bayesjudge.marginal.cumulative.lattice import LINKS
from bayesjudge.posterior.ordinal_parameters import (
    EFFECTS,
    codes_by_table,
    effect_names,
    parameters_of,
)
from bayesjudge.scores import Calls

FloatArray = NDArray[np.float64]

_BLOCK = 2_000_000  # effects drawn at a time


def latent_effects(
    tree: xr.DataTree, calls: Calls, rng: np.random.Generator
) -> tuple[dict[str, FloatArray], dict[str, list[str]]]:
    """Draw scenario and generation effects of an ordinal fit from their exact conditionals.

    Parameters
    ----------
    tree : DataTree
        From `bayesjudge.fit`, of an ordinal model.
    calls : Calls
        What it was fitted to.
    rng : Generator
        Source of randomness.

    Returns
    -------
    dict of float array, dict of list of str
        By effect ("scenario", shape (draws, models, scenarios); "generation", shape (draws,
        generations)), draws (latent), NaN where an evaluated model has no such effect; and the
        components and sums that the effect stands for, none where it is in the noise of the link.
    """
    thresholds, sigma = parameters_of(tree)
    names = effect_names(tree)
    draws, models = sigma.shape[:2]
    scenarios = tree["log_likelihood"].sizes["scenario"]
    alpha = np.full((draws, models, scenarios), np.nan)
    beta = np.full((draws, tree["constant_data"].sizes["generation"]), np.nan)
    tables = cells_by_model(calls, models)
    codes = codes_by_table(tables, tree)
    link = LINKS[str(tree.attrs["link"])]
    for cells, levels in zip(tables, codes, strict=True):
        t, width = cells.model, cells.n_scenarios + cells.n_generations
        has = (sigma[:, t] > 0).any(axis=0)
        model, size = ballots(cells, levels), max(1, _BLOCK // width)
        for start in range(0, draws, size):
            block = slice(start, min(start + size, draws))
            uniform = rng.random((block.stop - start, width))
            a, b = draw_effects(thresholds[block, t], sigma[block, t], model, link, uniform)
            if has[0]:
                alpha[block, t, cells.scenario_ids] = a
            if has[1]:
                beta[block, cells.generation_ids] = b
    return dict(zip(EFFECTS, (alpha, beta), strict=True)), names
