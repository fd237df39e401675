"""Panel means and judge offsets of a fit, summed up over its draws."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from bayesjudge.posterior.components import summarize
from bayesjudge.settings import INTERVAL_PROB


def panel_means(tree: xr.DataTree, prob: float = INTERVAL_PROB) -> pd.DataFrame:
    """Sum up the panel mean of each evaluated model: the mean over its judges, noise removed.

    Parameters
    ----------
    tree : DataTree
        From `bayesjudge.fit`.
    prob : float
        Probability of the equal-tailed interval.

    Returns
    -------
    DataFrame
        Index model; columns ``mean, median, sd, eti_low, eti_high`` (score), for scenarios like
        these (``attrs["target"]`` is "population"), and ``judges``: how many judges it is over.
    """
    mu = tree["posterior"].to_dataset()["mu"]
    frame = pd.DataFrame(summarize(mu, prob), index=pd.Index(mu["model"].to_numpy(), name="model"))
    frame["judges"] = tree["constant_data"]["n_judges"].to_numpy()
    frame.attrs = {"prob": prob, "target": "population"}
    return frame


def judge_offsets(tree: xr.DataTree, prob: float = INTERVAL_PROB) -> pd.DataFrame:
    """Sum up how far each judge lies above the panel on each evaluated model.

    Parameters
    ----------
    tree : DataTree
        From `bayesjudge.fit`.
    prob : float
        Probability of the equal-tailed interval.

    Returns
    -------
    DataFrame
        Index (model, judge); columns ``mean, median, sd, eti_low, eti_high`` (score) and
        ``p_positive``, the probability that the judge is lenient. Only judges that scored the
        model, and no row for a model with one judge.
    """
    gamma = tree["posterior"].to_dataset()["gamma"]
    index = pd.MultiIndex.from_product(
        [gamma["model"].to_numpy(), gamma["judge"].to_numpy()], names=["model", "judge"]
    )
    columns = {name: values.ravel() for name, values in summarize(gamma, prob).items()}
    columns["p_positive"] = (gamma > 0).mean(("chain", "draw")).to_numpy().ravel()
    frame = pd.DataFrame(columns, index=index)
    frame = frame.dropna(subset=["mean"])
    frame.attrs = {"prob": prob}
    return frame
