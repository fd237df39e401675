"""The two ways in which the marginal likelihood of ordinal scores is asked for."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from bayesjudge.marginal.compiling import compiled
from bayesjudge.marginal.cumulative.compiled import all_models
from bayesjudge.marginal.cumulative.kernel import SQUARES, TO_WEIGHTS
from bayesjudge.marginal.cumulative.lattice import REACH, SAMPLING
from bayesjudge.marginal.cumulative.tallies import Tallies

FloatArray = NDArray[np.float64]


@compiled
def value_and_gradient(  # type: ignore[no-untyped-def]
    link,
    thresholds,
    sigma,
    starts,
    ballot_start,
    judge,
    level,
    scenario_start,
    ballot,
    count,
    sizes,
    reach,
):
    """Return the log likelihood of all models, its gradient, and the reach the data asked for.

    On the lattice for samplers.

    Arguments are those of `compiled.all_models`.
    """
    by_scenario, in_thresholds, in_sigma, reached = all_models(
        thresholds,
        sigma,
        link,
        SAMPLING,
        SQUARES,
        TO_WEIGHTS,
        starts,
        ballot_start,
        judge,
        level,
        scenario_start,
        ballot,
        count,
        sizes,
        reach,
        True,
    )
    return by_scenario.sum(), in_thresholds, in_sigma, reached


def log_likelihood_by_scenario(
    thresholds: FloatArray,
    sigma: FloatArray,
    tallies: Tallies,
    link: int,
    fineness: float = 1.0,
) -> FloatArray:
    r"""Log likelihood of each scenario, its effects integrated out.

    For scenario i of a model, with F the link's distribution function,

    .. math:: \int \phi(a; \sigma_a^2) \prod_j \int \phi(b; \sigma_b^2)
        \prod_l [F(\kappa_{l,x_{ijl}} - a - b) - F(\kappa_{l,x_{ijl}-1} - a - b)]\, db\, da .

    Parameters
    ----------
    thresholds : float array, shape (draws, models, judges, levels - 1)
        Of each judge, less its offset and the model's mean (latent), ascending.
    sigma : float array, shape (draws, models, 2)
        Standard deviations of scenario and generation (latent); zero where there is no effect.
    tallies : Tallies
        The levels.
    link : int
        `lattice.LOGIT` or `lattice.PROBIT`.
    fineness : float
        1; 2 for twice as many nodes, to see what the lattice's error is.

    Returns
    -------
    float array, shape (draws, scenarios of all models)
        Models one behind the other, as in the tallies.
    """
    found = np.empty((len(thresholds), int(tallies.starts[-1, 2])))

    reach = np.full(thresholds.shape[1], REACH)

    def one(draw: int) -> None:
        found[draw] = all_models(
            np.ascontiguousarray(thresholds[draw]),
            np.ascontiguousarray(sigma[draw]),
            link,
            fineness,
            SQUARES,
            TO_WEIGHTS,
            *tallies,
            reach,
            False,
        )[0]

    with ThreadPoolExecutor(min(len(thresholds), os.cpu_count() or 1)) as pool:
        list(pool.map(one, range(len(thresholds))))
    return found
