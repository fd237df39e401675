r"""Balanced tables: what the likelihood integrated out, in closed form.

Given the variances, the grand mean and the judges' contrasts from it are independent in the data
as in the prior, and a scenario's scores fall into the strata of one scenario. With N calls and
the expected mean squares E of `bayesjudge.marginal.strata`,

.. math::

    \bar y \mid \mu \sim N(\mu, E_\text{scenario}/N), \qquad
    \bar y_l - \bar y \mid \gamma \sim N(\gamma_l, (I - J/K)\, E_\text{scenario:judge} K/N),

so that draws of all standard deviations share one product of matrices, where
`bayesjudge.marginal.gaussian` solves a system for each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.marginal.gaussian import Prior
from bayesjudge.marginal.strata import Strata, expected_mean_squares
from bayesjudge.terms import TERMS

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BalancedPanel:
    """Conditional distribution of the panel mean and the judge offsets, by draw.

    Attributes
    ----------
    mean, mean_sd : float array, shape (draws,)
        Normal distribution of the panel mean (score).
    offsets : float array, shape (draws, K)
        Means of the judge offsets (score).
    offsets_sd : float array, shape (draws,)
        Their covariance is this, squared, times (I - J/K).
    """

    mean: FloatArray
    mean_sd: FloatArray
    offsets: FloatArray
    offsets_sd: FloatArray


def expected(table: Strata, variances: FloatArray) -> dict[str, FloatArray]:
    """Return the expected mean squares at given variances, without the part of the prior mean.

    Parameters
    ----------
    table : Strata
        Of one evaluated model.
    variances : float array, shape (draws, terms)
        In the order of `bayesjudge.terms.TERMS` (score²).

    Returns
    -------
    dict of float array, shape (draws,)
        By stratum (score²).
    """
    squares = expected_mean_squares(table.balance)
    return {
        stratum: variances @ np.array([coefficients.get(term, 0.0) for term in TERMS])
        for stratum, coefficients in squares.items()
    }


def panel_moments(table: Strata, variances: FloatArray, prior: Prior) -> BalancedPanel:
    """Find the distribution of panel mean and judge offsets given the variances and the data.

    Parameters
    ----------
    table : Strata
        Of one evaluated model.
    variances : float array, shape (draws, terms)
        In the order of `bayesjudge.terms.TERMS` (score²).
    prior : Prior
        Normal prior of the panel mean.
    """
    sizes = table.balance
    a_judge = sizes.scenarios * sizes.generations * sizes.repeats  # calls of each judge
    E = expected(table, variances)
    noise = E["scenario"] / (a_judge * sizes.judges)
    gain = prior.sd**2 / (prior.sd**2 + noise)
    judge = variances[:, TERMS.index("judge")]
    unseen = E["scenario:judge"] / a_judge
    shrink = np.divide(judge, judge + unseen, out=np.zeros_like(judge), where=judge > 0)
    return BalancedPanel(
        mean=prior.mean + gain * (table.mean - prior.mean),
        mean_sd=np.sqrt(gain * noise),
        offsets=shrink[:, None] * (table.judge_means - table.mean),
        offsets_sd=np.sqrt(shrink * unseen),
    )


def log_likelihood_by_scenario(
    table: Strata, variances: FloatArray, mu: FloatArray, gamma: FloatArray
) -> FloatArray:
    """Log likelihood of each scenario given the variances, panel mean and judge offsets.

    Parameters
    ----------
    table : Strata
        Of one evaluated model.
    variances : float array, shape (draws, terms)
        In the order of `bayesjudge.terms.TERMS` (score²).
    mu : float array, shape (draws,)
        Panel mean (score).
    gamma : float array, shape (draws, K)
        Judge offsets, summing to zero (score).

    Returns
    -------
    float array, shape (draws, n)
        Scenario, generation and interaction effects are integrated out.
    """
    m, K, r = table.balance.generations, table.balance.judges, table.balance.repeats
    E = expected(table, variances)
    level = table.scenario_means.mean(axis=1)
    contrast = table.scenario_means - level[:, None]
    mu = mu - table.mean
    # Squares around the draw's own mean and offsets, multiplied out: each column of `data` is
    # a statistic of the scenarios, each row of `weight` what a draw makes of it.
    data = [level**2, level, (contrast**2).sum(axis=1), *contrast.T]
    weight = [
        m * K * r / E["scenario"],
        -2 * m * K * r * mu / E["scenario"],
        m * r / E["scenario:judge"],
        *(-2 * m * r * gamma.T / E["scenario:judge"]),
    ]
    df = {
        "scenario": 1,
        "generation": m - 1,
        "scenario:judge": K - 1,
        "generation:judge": (m - 1) * (K - 1),
        "residual": m * K * (r - 1),
    }
    for stratum, squares in table.ss_by_scenario.items():
        if df[stratum]:
            data.append(squares)
            weight.append(1 / E[stratum])
    constant = m * K * r * (np.log(2 * np.pi) + mu**2 / E["scenario"])
    constant = constant + m * r * (gamma**2).sum(axis=1) / E["scenario:judge"]
    constant = constant + sum(freedom * np.log(E[name]) for name, freedom in df.items() if freedom)
    result: FloatArray = np.stack(weight, axis=1) @ np.stack(data)
    result += constant[:, None]
    result *= -0.5
    return result
