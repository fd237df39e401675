"""The default engine: NUTS on the marginal likelihood, by nutpie through PyMC."""

from __future__ import annotations

import logging
import os

import numpy as np
import nutpie
import pymc as pm
import xarray as xr

from bayesjudge.engines.draws import SigmaDraws
from bayesjudge.layout import Layout
from bayesjudge.models import build, families, to_sigma

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
) -> SigmaDraws:
    """Sample the standard deviations of a layout.

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
    SigmaDraws
    """
    logger = logging.getLogger("pymc")
    before = logger.level
    logger.setLevel(logging.WARNING)  # its list of variables says nothing to a user
    try:
        with build(layout):
            tree = pm.sample(
                draws=draws,
                tune=tune,
                chains=chains,
                cores=min(chains, os.cpu_count() or 1),
                random_seed=seed,
                nuts_sampler="nutpie",
                target_accept=TARGET_ACCEPT,
                progressbar=progress,
                compute_convergence_checks=False,
            )
    finally:
        logger.setLevel(before)
    sigma = np.empty((chains, draws, len(layout.slots)))
    for name, members in families(layout).items():
        sigma[..., members] = to_sigma(layout, name, tree["posterior"][name].to_numpy())
    stats = tree["sample_stats"].to_dataset()
    return SigmaDraws(
        sigma=sigma,
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
