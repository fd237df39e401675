"""The default engine: NUTS on the marginal likelihood, by nutpie through PyMC."""

from __future__ import annotations

import logging
import os

import numpy as np
import nutpie
import pymc as pm
import xarray as xr

from bayesjudge.engines.draws import Draws
from bayesjudge.layout import Layout
from bayesjudge.models import build, families, to_sigma
from bayesjudge.ordinal.density import build_ordinal
from bayesjudge.ordinal.layout import OrdinalLayout
from bayesjudge.ordinal.mode import units

# Higher than the usual 0.8: a third more steps, and the odd divergence on large panels is gone.
TARGET_ACCEPT = 0.9

# nutpie's names for what ArviZ calls otherwise; the rest of its statistics are not kept.
_STATS = {
    "diverging": "diverging",
    "energy": "energy",
    "logp": "lp",
    "depth": "tree_depth",
    "n_steps": "n_steps",
    "step_size": "step_size",
    "mean_tree_accept": "acceptance_rate",
}


def sample(
    layout: Layout,
    *,
    seed: int,
    chains: int = 4,
    draws: int = 1000,
    tune: int = 500,
    progress: bool = False,
) -> Draws:
    """Sample the standard deviations of a linear layout.

    Parameters
    ----------
    layout : Layout
        From `bayesjudge.layout.lay_out`.
    seed : int
        The same seed gives the same draws on the same machine.
    chains, draws, tune : int
        Number of chains, and of kept and warm-up draws in each.
    progress : bool
        Whether to show nutpie's progress bar.

    Returns
    -------
    Draws
    """
    tree = _run(build(layout), seed, chains, draws, tune, progress)
    sigma = np.empty((chains, draws, len(layout.slots)))
    for name, members in families(layout).items():
        sigma[..., members] = to_sigma(layout, name, tree["posterior"][name].to_numpy())
    return _draws(sigma, tree, tune)


def sample_ordinal(
    layout: OrdinalLayout,
    *,
    seed: int,
    chains: int = 4,
    draws: int = 1000,
    tune: int = 500,
    progress: bool = False,
) -> Draws:
    """Sample the free parameters of an ordinal layout, in units of their posterior's curvature.

    Parameters and return value are those of `sample`.
    """
    scale = units(layout)
    model = build_ordinal(layout, scale.centre, scale.root, scale.reach)
    tree = _run(model, seed, chains, draws, tune, progress)
    position = tree["posterior"]["position"].transpose("chain", "draw", ...).to_numpy()
    return _draws(scale.centre + position @ scale.root.T, tree, tune)


def _run(
    model: pm.Model, seed: int, chains: int, draws: int, tune: int, progress: bool
) -> xr.DataTree:
    logger = logging.getLogger("pymc")
    before = logger.level
    logger.setLevel(logging.WARNING)  # its list of variables says nothing to a user
    try:
        return pm.sample(
            draws=draws,
            tune=tune,
            chains=chains,
            cores=min(chains, os.cpu_count() or 1),
            random_seed=seed,
            nuts_sampler="nutpie",
            target_accept=TARGET_ACCEPT,
            progressbar=progress,
            compute_convergence_checks=False,
            model=model,
        )
    finally:
        logger.setLevel(before)


def _draws(values: np.ndarray, tree: xr.DataTree, tune: int) -> Draws:
    stats = tree["sample_stats"].to_dataset()
    chains, draws = values.shape[:2]
    return Draws(
        values=values,
        stats=xr.Dataset({new: stats[old] for old, new in _STATS.items()}),
        settings={
            "engine": "nuts",
            "sampler": f"nutpie {nutpie.__version__}",
            "chains": chains,
            "draws": draws,
            "tune": tune,
            "target_accept": TARGET_ACCEPT,
        },
    )
