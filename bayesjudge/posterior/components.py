"""Variance components from a fit: six names, or the sums in which the data know them."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayesjudge.errors import BayesJudgeError
from bayesjudge.terms import carrier, parts, place
from bayesjudge.tree import require_fit


def components(tree: xr.DataTree) -> xr.DataArray:
    r"""Posterior draws of the variance components of each evaluated model.

    Judges are a finite panel, so what is reported for terms that sum to zero over it is the
    dispersion in this panel and not a hyperparameter: :math:`K^{-1} \sum_l \gamma_l^2` for the
    judge, :math:`\sigma^2 (K-1)/K` for scenario:judge. Where calls are repeated, a
    generation:judge effect with free variance :math:`s` gives :math:`s(K-1)/K` to
    generation:judge and :math:`s/K` to generation, which makes all components panel-relative.
    Residuals by judge are averaged over judges.

    Where scenario:judge, or generation:judge, can only be known in a sum with the residual, that
    sum is the variance within scenarios (or generations), and the scenario (or generation)
    component is what is left of the means: the panel-relative value less h/(K-1).

    Parameters
    ----------
    tree : DataTree
        From `bayesjudge.fit`.

    Returns
    -------
    DataArray
        Named ``variance``, dims chain, draw, model, component (score²). A confounded sum is one
        coordinate, such as ``scenario+generation``; NaN where an evaluated model has no such
        component. ``attrs["verdict"]`` is that of the fit.

    Raises
    ------
    FitError
        When it is not a fit.
    """
    require_fit(tree)
    posterior = tree["posterior"].to_dataset()
    if "variance" in posterior:  # an ordinal fit, decomposed on the score scale when it was made
        return _named(posterior["variance"], tree)
    sigmas = {
        str(array.attrs["component"]): array
        for name, array in posterior.data_vars.items()
        if str(name).startswith("sigma_")
    }
    K = tree["constant_data"].to_dataset()["n_judges"]
    found = {name: _one(name, sigma, posterior, K) for name, sigma in sigmas.items()}
    free = next((n for n in found if carrier(parts(n)) == "generation:judge"), None)
    if free is not None:
        # The mean over the panel of a free generation:judge effect is a generation effect.
        home = next((n for n in found if "generation" in parts(n)), None)
        share = (sigmas[free] ** 2 / K).fillna(0.0)
        if home is not None and home != free:
            found[home] = found[home] + share
    order = sorted(found, key=place)
    together = xr.concat(
        [found[name] for name in order], dim="component", coords="minimal", compat="override"
    )
    together = together.assign_coords(component=order)
    return _named(together, tree)


def _named(variance: xr.DataArray, tree: xr.DataTree) -> xr.DataArray:
    result = variance.transpose("chain", "draw", "model", "component").rename("variance")
    result.attrs = {
        "units": "score²",
        "model": tree.attrs["model"],
        "verdict": tree.attrs["verdict"],
        "problems": tree.attrs["problems"],
    }
    return result


def _one(name: str, sigma: xr.DataArray, posterior: xr.Dataset, K: xr.DataArray) -> xr.DataArray:
    if name == "judge":
        return (posterior["gamma"] ** 2).mean("judge")
    variance = sigma**2
    if "judge" in variance.dims:
        return variance.mean("judge")
    if carrier(parts(name)) in ("scenario:judge", "generation:judge"):
        return variance * (K - 1) / K
    return variance


def require_probability(prob: float) -> None:
    """Refuse what can't be the probability of an interval."""
    if not 0 < prob < 1:
        raise BayesJudgeError(f"prob = {prob!r} must lie between 0 and 1, such as 0.95.")


def summarize(draws: xr.DataArray, prob: float) -> dict[str, np.ndarray]:
    """Mean, median, sd and equal-tailed interval over chains and draws.

    Parameters
    ----------
    draws : DataArray
        With dims chain and draw.
    prob : float
        Probability of the interval.

    Returns
    -------
    dict of array
        ``mean, median, sd, eti_low, eti_high``, each with the other dims of `draws`; NaN where
        the draws are.

    Raises
    ------
    BayesJudgeError
        When `prob` is not between 0 and 1.
    """
    require_probability(prob)
    tail = (1 - prob) / 2
    dims = ("chain", "draw")
    low, median, high = (
        draws.quantile([tail, 0.5, 1 - tail], dim=dims, skipna=False).transpose("quantile", ...)
    ).to_numpy()
    return {
        "mean": draws.mean(dims, skipna=False).to_numpy(),
        "median": median,
        "sd": draws.std(dims, ddof=1, skipna=False).to_numpy(),
        "eti_low": low,
        "eti_high": high,
    }
