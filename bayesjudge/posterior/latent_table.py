"""The parameters of an ordinal fit on the scale of its link, summed up over draws."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from bayesjudge.posterior.components import summarize
from bayesjudge.posterior.ordinal_parameters import require_ordinal
from bayesjudge.settings import INTERVAL_PROB


def latent_parameters(tree: xr.DataTree, prob: float = INTERVAL_PROB) -> pd.DataFrame:
    """Sum up the parameters of an ordinal fit on the latent scale.

    The unit is that of the link's noise, whose standard deviation is 1.81 (logistic) or 1
    (normal); an effect of the same size means fewer score points near the ends of the scale.

    Parameters
    ----------
    tree : DataTree
        From `bayesjudge.fit`, of an ordinal model.
    prob : float
        Probability of the equal-tailed interval.

    Returns
    -------
    DataFrame
        Index (parameter, model, at); columns ``mean, median, sd, eti_low, eti_high``. First the
        standard deviations ``latent_sigma_*`` by evaluated model, then ``threshold`` (`at` is the
        pair of levels), ``latent_mu``, ``latent_gamma`` and, where the model has them,
        ``latent_scale`` (`at` is the judge). Empty labels where a parameter has no such place.

    Raises
    ------
    FitError
        When it is no fit, or not of an ordinal model.
    """
    require_ordinal(tree)
    posterior = tree["posterior"].to_dataset()
    names = [str(name) for name in posterior.data_vars]
    sigmas = [name for name in names if name.startswith("latent_sigma_")]
    others = ["threshold", "latent_mu", "latent_gamma", "latent_scale"]
    frames = [
        _frame(name, posterior[name], prob)
        for name in [*sigmas, *(name for name in others if name in names)]
    ]
    table = pd.concat(frames)
    table.attrs = {"prob": prob, "link": str(tree.attrs["link"])}
    return table


def _frame(name: str, draws: xr.DataArray, prob: float) -> pd.DataFrame:
    dims = [str(dim) for dim in draws.dims if dim not in ("chain", "draw")]
    at = next((dim for dim in dims if dim != "model"), None)
    models = draws["model"].to_numpy() if "model" in dims else [""]
    places = draws[at].to_numpy() if at else [""]
    index = pd.MultiIndex.from_product([[name], models, places], names=["parameter", "model", "at"])
    summary = summarize(draws.transpose("chain", "draw", *dims), prob)
    columns = {statistic: np.ravel(values) for statistic, values in summary.items()}
    return pd.DataFrame(columns, index=index).dropna(how="all")
