"""Panel means and judge offsets of a fit, summed up over its draws."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from bayesjudge.posterior.components import summarize
from bayesjudge.settings import INTERVAL_PROB
from bayesjudge.tree import require_fit


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
        these (``attrs["target"]`` is "population"), and ``panel``: "all 5 judges", "one judge" if
        there are no others, or "judge subset only: 3 of 5", whose mean can't be compared with the
        others as it stands.
    """
    require_fit(tree)
    mu = tree["posterior"].to_dataset()["mu"]
    frame = pd.DataFrame(summarize(mu, prob), index=pd.Index(mu["model"].to_numpy(), name="model"))
    own = tree["constant_data"].to_dataset()["n_judges"].to_numpy()
    total = tree["posterior"].sizes["judge"]
    whole = f"all {total} judges" if total > 1 else "one judge"
    frame["panel"] = [
        whole if count == total else f"judge subset only: {count} of {total}" for count in own
    ]
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
    require_fit(tree)
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
