"""NUTS for ordinal models: nutpie on a density whose gradient is worked out by hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import nutpie
from numpy.typing import NDArray

from bayesjudge.engines.draws import Draws, Sampling
from bayesjudge.engines.nutpie_draws import nutpie_draws
from bayesjudge.ordinal.gradient import Density, density, log_density
from bayesjudge.ordinal.layout import OrdinalLayout
from bayesjudge.ordinal.mode import Units, units

FloatArray = NDArray[np.float64]

# In units of its curvature the density is near normal, and asks for no more care than usual.
TARGET_ACCEPT = 0.8
# But where a level never occurs: how rare it is has a long tail and, beyond, a wall.
TARGET_ACCEPT_UNUSED = 0.95


def sample_ordinal(layout: OrdinalLayout, how: Sampling) -> Draws:
    """Sample the free parameters of an ordinal layout, in units of their posterior's curvature.

    With position = root⁻¹ (vector - mode), the density of the position is near a standard normal
    one, and a trajectory takes a few steps where it would take dozens.

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
    unused = (layout.levels.counts == 0).any()
    target_accept = TARGET_ACCEPT_UNUSED if unused else TARGET_ACCEPT
    tree = nutpie.sample(
        _model(density(layout, scale.reach), scale),
        draws=how.draws,
        tune=how.tune,
        chains=how.chains,
        cores=min(how.chains, os.cpu_count() or 1),
        seed=how.seed,
        target_accept=target_accept,
        progress_bar=how.progress,
    )
    position = tree["posterior"]["position"].transpose("chain", "draw", ...).to_numpy()
    vectors = scale.centre + position @ scale.root.T
    return nutpie_draws(vectors, tree, how, target_accept)


def _model(d: Density, scale: Units) -> Any:
    size = len(scale.centre)

    def at(position: FloatArray) -> tuple[float, FloatArray]:
        # A step too far may overflow; the sampler counts what is not finite as a divergence.
        with np.errstate(all="ignore"):
            value, gradient = log_density(d, scale.centre + scale.root @ position)
        return value, scale.root.T @ gradient

    def start(seed: int) -> FloatArray:
        return np.random.default_rng(seed).uniform(-1, 1, size)

    def shown(seed1: int, seed2: int, chain: int) -> Callable[[FloatArray], dict[str, FloatArray]]:
        return lambda position: {"position": position}

    return nutpie.compiled_pyfunc.from_pyfunc(
        size,
        lambda: at,
        shown,
        [np.dtype(np.float64)],
        [(size,)],
        ["position"],
        make_initial_point_fn=start,
    )
