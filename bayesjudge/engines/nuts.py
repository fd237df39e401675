"""The default engine: NUTS on the marginal likelihood, by nutpie through PyMC."""

from __future__ import annotations

import logging
import os

import numpy as np
import pymc as pm
import xarray as xr

from bayesjudge.engines.draws import Draws, Sampling
from bayesjudge.engines.nutpie_draws import nutpie_draws
from bayesjudge.layout import Layout
from bayesjudge.models import build, families, to_sigma

# Higher than the usual 0.8: a third more steps, and the odd divergence on large panels is gone.
TARGET_ACCEPT = 0.9


def sample(layout: Layout, how: Sampling) -> Draws:
    """Sample the standard deviations of a linear layout.

    Parameters
    ----------
    layout : Layout
        From `bayesjudge.layout.lay_out`.
    how : Sampling
        Seed, chains and draws.

    Returns
    -------
    Draws
    """
    tree = _run(build(layout), how)
    sigma = np.empty((how.chains, how.draws, len(layout.slots)))
    for name, members in families(layout).items():
        sigma[..., members] = to_sigma(layout, name, tree["posterior"][name].to_numpy())
    return nutpie_draws(sigma, tree, how, TARGET_ACCEPT)


def _run(model: pm.Model, how: Sampling) -> xr.DataTree:
    logger = logging.getLogger("pymc")
    before = logger.level
    logger.setLevel(logging.WARNING)  # its list of variables says nothing to a user
    try:
        tree: xr.DataTree = pm.sample(
            draws=how.draws,
            tune=how.tune,
            chains=how.chains,
            cores=min(how.chains, os.cpu_count() or 1),
            random_seed=how.seed,
            nuts_sampler="nutpie",
            target_accept=TARGET_ACCEPT,
            progressbar=how.progress,
            compute_convergence_checks=False,
            model=model,
        )
    finally:
        logger.setLevel(before)
    return tree
