"""What nutpie returns, as draws of this package."""

from __future__ import annotations

import numpy as np
import nutpie
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.engines.draws import Draws, Sampling

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


def nutpie_draws(
    values: NDArray[np.float64], tree: xr.DataTree, how: Sampling, target_accept: float
) -> Draws:
    """Put parameters beside the sampler's statistics and settings.

    Parameters
    ----------
    values : float array, shape (chains, draws, parameters)
        Free parameters.
    tree : DataTree
        As nutpie returned it.
    how, target_accept
        How it was sampled.
    """
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
