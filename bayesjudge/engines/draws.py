"""What every engine is asked and returns: how to sample; draws of a layout's free parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray


@dataclass(frozen=True)
class Sampling:
    """How to sample.

    Attributes
    ----------
    seed : int
        The same seed gives the same draws on the same machine.
    chains, draws, tune : int
        Number of chains, and of kept and warm-up draws in each.
    progress : bool
        Whether to show the sampler's progress bar.
    """

    seed: int
    chains: int = 4
    draws: int = 1000
    tune: int = 500
    progress: bool = False


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of the free parameters of a model.

    Attributes
    ----------
    values : float array, shape (chains, draws, parameters)
        Of a linear model, standard deviations in the order of ``layout.slots`` (score); of an
        ordinal one, the vector of `bayesjudge.ordinal.parameters`.
    stats : Dataset
        Sampler statistics, dims chain and draw.
    settings : dict
        How they were made: sampler, chains, draws, tuning, and its version.
    """

    values: NDArray[np.float64]
    stats: xr.Dataset
    settings: Mapping[str, str | int | float]
