"""The default engine: NUTS on the marginal likelihood, by nutpie through PyMC."""

from __future__ import annotations

import logging
import os

import numpy as np
import nutpie
import pymc as pm
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.engines.draws import Draws, Sampling
from bayesjudge.layout import Layout
from bayesjudge.models import build, families, to_sigma
from bayesjudge.ordinal.density import build_ordinal
from bayesjudge.ordinal.layout import OrdinalLayout
from bayesjudge.ordinal.mode import units

# Higher than the usual 0.8: a third more steps, and the odd divergence on large panels is gone.
TARGET_ACCEPT = 0.9
# A density that is near normal needs no such care, and gains a fifth by longer steps.
TARGET_ACCEPT_ORDINAL = 0.8

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
    tree = _run(build(layout), how, TARGET_ACCEPT)
    sigma = np.empty((how.chains, how.draws, len(layout.slots)))
    for name, members in families(layout).items():
        sigma[..., members] = to_sigma(layout, name, tree["posterior"][name].to_numpy())
    return _draws(sigma, tree, how, TARGET_ACCEPT)


def sample_ordinal(layout: OrdinalLayout, how: Sampling) -> Draws:
    """Sample the free parameters of an ordinal layout, in units of their posterior's curvature.

    Parameters
    ----------
    layout : OrdinalLayout
        From `bayesjudge.ordinal.layout.lay_out_ordinal`.
    how : Sampling
        Seed, chains and draws.

    Returns
    -------
    Draws
    """
    scale = units(layout)
    model = build_ordinal(layout, scale.centre, scale.root, scale.reach)
    tree = _run(model, how, TARGET_ACCEPT_ORDINAL)
    position = tree["posterior"]["position"].transpose("chain", "draw", ...).to_numpy()
    vectors = scale.centre + position @ scale.root.T
    return _draws(vectors, tree, how, TARGET_ACCEPT_ORDINAL)


def _run(model: pm.Model, how: Sampling, target_accept: float) -> xr.DataTree:
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
            target_accept=target_accept,
            progressbar=how.progress,
            compute_convergence_checks=False,
            model=model,
        )
    finally:
        logger.setLevel(before)
    return tree


def _draws(
    values: NDArray[np.float64], tree: xr.DataTree, how: Sampling, target_accept: float
) -> Draws:
    stats = tree["sample_stats"].to_dataset()
    return Draws(
        values=values,
        stats=xr.Dataset({new: stats[old] for old, new in _STATS.items()}),
        settings={
            "engine": "nuts",
            "sampler": f"nutpie {nutpie.__version__}",
            "chains": how.chains,
            "draws": how.draws,
            "tune": how.tune,
            "target_accept": target_accept,
        },
    )
