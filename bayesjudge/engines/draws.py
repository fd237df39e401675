"""What every engine returns: draws of a layout's free parameters, and how they were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray


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
