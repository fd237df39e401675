"""What every engine returns: draws of the standard deviations, and how they were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SigmaDraws:
    """Draws of a layout's standard deviations.

    Attributes
    ----------
    sigma : float array, shape (chains, draws, slots)
        In the order of ``layout.slots`` (score).
    stats : Dataset
        Sampler statistics, dims chain and draw.
    settings : dict
        How they were made: sampler, chains, draws, tuning, and its version.
    """

    sigma: NDArray[np.float64]
    stats: xr.Dataset
    settings: Mapping[str, str | int | float]
