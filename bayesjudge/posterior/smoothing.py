"""Leaving a scenario out of a fit by weighting its draws (Pareto-smoothed importance sampling)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import arviz_stats as azs
import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_LEAST = 25  # draws that a tail can be fitted to


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What a fit says of each scenario when that scenario is left out of it.

    Attributes
    ----------
    elpd : float array, shape (scenarios,)
        Log predictive density, or probability of levels.
    k : float array, shape (scenarios,)
        Shape of the tail of the weights (Pareto).
    weights : float array, shape (chains, draws, scenarios)
        Of mean 1.
    products : float array, shape (chosen, scenarios)
        Weights times what they weigh, over its mean.
    chosen : int array, shape (chosen,)
        The draws of the products, chains one behind the other.
    """

    elpd: FloatArray
    k: FloatArray
    weights: FloatArray
    products: FloatArray
    chosen: IntArray

    def variance(self, scenarios: NDArray[np.bool_]) -> float:
        """Monte Carlo variance of the sum of elpd over some scenarios.

        An elpd is the log of a mean of products over some draws, over one of weights over all.
        One draw is in the means of all scenarios, so their errors are no strangers: what a draw
        adds to the sum is added up first.
        """
        weight = self.weights[..., scenarios].sum(axis=-1)
        product = self.products[:, scenarios].sum(axis=1)
        flat = weight.ravel()
        few, total = len(product), len(flat)
        shared = np.mean((product - product.mean()) * (flat[self.chosen] - flat.mean()))
        variance = product.var() / few + flat.var() / total - 2 * shared / total
        return max(float(variance), 0.0) / float(_efficiency(weight[..., None])[0])


def left_out(fitted: FloatArray, predicted: FloatArray, chosen: IntArray) -> LeftOut:
    r"""Estimate what each scenario's density would be without it in the fit.

    With weights :math:`w_s \propto 1/p(y_i | \theta_s)`, p the density that the draws were made
    with, the expectation of any function of the parameters under the posterior without scenario i
    is its weighted mean. The function need not be p itself: for a fit to continuous scores it may
    be the probability of a level.

    Parameters
    ----------
    fitted : float array, shape (chains, draws, scenarios)
        Log density of each scenario's scores as they were fitted.
    predicted : float array, shape (chosen, scenarios)
        Log density or probability that is asked for. Its exponential may be an estimate.
    chosen : int array, shape (chosen,)
        The draws it is given at, chains one behind the other.

    References
    ----------
    Vehtari, Gelman and Gabry (2017), Practical Bayesian model evaluation using leave-one-out
    cross-validation and WAIC. Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed
    importance sampling.
    """
    by_draw = fitted.reshape(-1, fitted.shape[-1])
    top = fitted.max(axis=(0, 1))
    efficiency = _efficiency(np.exp(fitted - top))
    weights, k = np.empty(by_draw.shape), np.empty(by_draw.shape[1])
    for i in range(len(k)):
        weights[:, i], k[i] = _smoothed(-by_draw[:, i], efficiency[i])
    best = predicted.max(axis=0)
    products = weights[chosen] * np.exp(predicted - best)
    mean = products.mean(axis=0)
    return LeftOut(best + np.log(mean), k, weights.reshape(fitted.shape), products / mean, chosen)


def average(predicted: FloatArray) -> tuple[float, float]:
    """Return the log mean of exponentials over draws, and its Monte Carlo variance.

    Parameters
    ----------
    predicted : float array, shape (chains, draws)
        Log density or probability of one scenario under a fit that it is not in.
    """
    top = predicted.max()
    p = np.exp(predicted - top)
    efficiency = float(_efficiency(p[..., None])[0])
    variance = p.var() / p.mean() ** 2 / (p.size * efficiency)
    return float(top + np.log(p.mean())), float(variance)


def _efficiency(values: FloatArray) -> FloatArray:
    """Effective over actual draws of the means over chains and draws, shape (scenarios,)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = np.asarray(azs.ess(values, method="mean", relative=True))
    return np.clip(np.where(np.isfinite(found), found, 1.0), 1e-3, 1.0)


def _smoothed(log_ratio: FloatArray, efficiency: float) -> tuple[FloatArray, float]:
    """Return smoothed weights of mean 1, and the shape of their tail."""
    plain = np.exp(log_ratio - log_ratio.max())
    plain = plain / plain.mean()
    if np.ptp(log_ratio) == 0:
        return plain, -np.inf  # the draws say nothing of the scenario
    if len(log_ratio) < _LEAST:
        return plain, np.inf
    try:
        with np.errstate(all="ignore"):
            log_weight, k = array_stats.psislw(-log_ratio, r_eff=efficiency)
    except ValueError:  # the tail is one value over and over
        return plain, np.inf
    if not np.isfinite(k):
        return plain, np.inf
    return np.exp(log_weight) * len(log_weight), float(k)
