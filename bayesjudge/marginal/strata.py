r"""Balanced tables: the analysis of variance, and the likelihood that needs nothing else.

With n scenarios, m generations, K judges and r calls a cell, the scores of one evaluated model
fall into orthogonal strata. Given the variances, the sum of squares of each is a multiple of a
chi-squared variable, independent of the others:

.. math:: SS_k / E_k \sim \chi^2_{\nu_k}, \qquad E_k = \sum_t c_{kt} \sigma_t^2,

so the likelihood marginal over all effects is :math:`-\tfrac12 \sum_k [\nu_k \log E_k +
SS_k/E_k]` up to a constant: the cost of one evaluation does not depend on the number of scores.
The same table of sums of squares and expected mean squares serves the closed-form estimators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.design.cells import Balance, Cells
from bayesjudge.terms import TERMS

FloatArray = NDArray[np.float64]

STRATA = (
    "scenario",
    "generation",
    "scenario:judge",
    "generation:judge",
    "residual",
    "judge",
    "mean",
)


@dataclass(frozen=True, eq=False)
class Strata:
    """The analysis of variance of one balanced table.

    Attributes
    ----------
    balance : Balance
        The sizes n, m, K, r.
    df : dict
        Degrees of freedom by stratum; strata without any are left out. "mean" has one.
    ss : dict
        Sums of squares by stratum (score²). Not for "mean", which needs a prior mean.
    mean : float
        The grand mean (score).
    judge_means : float array, shape (K,)
        Mean score by judge (score).
    scenario_means : float array, shape (n, K)
        Mean score by scenario and judge, less the grand mean (score).
    ss_by_scenario : dict of float array, shape (n,)
        The sums of squares within scenarios, by stratum and scenario (score²): those of
        "generation", "generation:judge" and "residual", zero where there are no df.
    """

    balance: Balance
    df: Mapping[str, int]
    ss: Mapping[str, float]
    mean: float
    judge_means: FloatArray
    scenario_means: FloatArray
    ss_by_scenario: Mapping[str, FloatArray]

    def mean_square(self, stratum: str) -> float:
        """Return the mean square of a stratum (score²); NaN where it has no df."""
        return self.ss[stratum] / self.df[stratum] if stratum in self.ss else float("nan")


def expected_mean_squares(balance: Balance) -> dict[str, dict[str, float]]:
    """Return the coefficients of the variances in each stratum's expected mean square.

    Judge offsets and scenario:judge effects sum to zero over the panel, so neither enters the
    strata of scenario means, and sigma_judge² enters the judge stratum alone.

    Parameters
    ----------
    balance : Balance
        The sizes of the table.

    Returns
    -------
    dict of dict
        ``[stratum][term]``; "mean" is both a stratum and the term of the mean's prior variance.
    """
    n, m, K, r = balance.scenarios, balance.generations, balance.judges, balance.repeats
    call = {"residual": 1.0}
    cell = call | {"generation:judge": float(r)}
    generation = cell | {"generation": float(K * r)}
    scenario = generation | {"scenario": float(m * K * r)}
    interaction = cell | {"scenario:judge": float(m * r)}
    return {
        "scenario": scenario,
        "generation": generation,
        "scenario:judge": interaction,
        "generation:judge": cell,
        "residual": call,
        "judge": interaction | {"judge": float(n * m * r)},
        "mean": scenario | {"mean": float(n * m * K * r)},
    }


def strata(cells: Cells, balance: Balance) -> Strata:
    """Decompose the sum of squares of a balanced table.

    Parameters
    ----------
    cells : Cells
        The calls of one evaluated model.
    balance : Balance
        Its sizes, from `bayesjudge.design.cells.balance`.
    """
    n, m, K, r = balance.scenarios, balance.generations, balance.judges, balance.repeats
    grand = cells.score.mean()
    # Differences from the grand mean first: a shift of all scores must not cost digits.
    X = (cells.score - grand).reshape(n, m, K, r)
    rest = X.mean()
    X, grand = X - rest, grand + rest
    cell, scenario, judge = X.mean(axis=3), X.mean(axis=(1, 2, 3)), X.mean(axis=(0, 1, 3))
    generation, interaction = cell.mean(axis=2), cell.mean(axis=1)
    within = {
        name: weight * (deviation**2).sum(axis=tuple(range(1, deviation.ndim)))
        for name, weight, deviation in (
            ("generation", K * r, generation - scenario[:, None]),
            ("generation:judge", r, _interaction(cell, generation, interaction, scenario)),
            ("residual", 1, X - cell[..., None]),
        )
    }
    between = interaction - scenario[:, None] - judge
    free = {
        "scenario": (n - 1, m * K * r * (scenario**2).sum()),
        "generation": (n * (m - 1), within["generation"].sum()),
        "scenario:judge": ((n - 1) * (K - 1), m * r * (between**2).sum()),
        "generation:judge": (n * (m - 1) * (K - 1), within["generation:judge"].sum()),
        "residual": (n * m * K * (r - 1), within["residual"].sum()),
        "judge": (K - 1, n * m * r * (judge**2).sum()),
    }
    return Strata(
        balance=balance,
        df={name: df for name, (df, _) in free.items() if df} | {"mean": 1},
        ss={name: float(ss) for name, (df, ss) in free.items() if df},
        mean=float(grand),
        judge_means=judge + grand,
        scenario_means=interaction,
        ss_by_scenario=within,
    )


def _interaction(
    cell: FloatArray, generation: FloatArray, interaction: FloatArray, scenario: FloatArray
) -> FloatArray:
    """Return what cell means hold beyond their generation and their scenario and judge."""
    return cell - generation[:, :, None] - interaction[:, None, :] + scenario[:, None, None]


@dataclass(frozen=True, eq=False)
class StrataRows:
    """The strata of several evaluated models, one row each, for the likelihood.

    Attributes
    ----------
    df, ss : float array, shape (rows,)
        Degrees of freedom and sums of squares (score²), "mean" around its prior mean.
    known : float array, shape (rows,)
        The part of the expected mean square that is known beforehand: the prior variance of
        the mean (score²).
    coefficients : float array, shape (rows, models, terms)
        Coefficients of the variances, terms as in `bayesjudge.terms.TERMS`.
    """

    df: FloatArray
    ss: FloatArray
    known: FloatArray
    coefficients: FloatArray


def strata_rows(tables: Sequence[Strata | None], prior_mean: float, prior_sd: float) -> StrataRows:
    """Stack the strata of several models, with the grand mean's prior worked in.

    Parameters
    ----------
    tables : sequence of (Strata or None)
        One for each evaluated model; None (not balanced) gives no rows.
    prior_mean, prior_sd : float
        The Normal prior of the panel mean (score).
    """
    df, ss, known, coefficients = [], [], [], []
    for t, table in enumerate(tables):
        if table is None:
            continue
        expected = expected_mean_squares(table.balance)
        for name, freedom in table.df.items():
            row = np.zeros((len(tables), len(TERMS)))
            row[t] = [expected[name].get(term, 0.0) for term in TERMS]
            weight = expected[name].get("mean", 0.0)
            df.append(float(freedom))
            ss.append(table.ss.get(name, weight * (table.mean - prior_mean) ** 2))
            known.append(weight * prior_sd**2)
            coefficients.append(row)
    return StrataRows(np.array(df), np.array(ss), np.array(known), np.array(coefficients))


def log_marginal(
    df: Any, ss: Any, known: Any, coefficients: Any, variances: Any, xp: ModuleType = np
) -> Any:
    r"""Log marginal likelihood of balanced tables, all effects, offsets and means integrated out.

    :math:`-\tfrac12 \sum_k [\nu_k (\log 2\pi + \log E_k) + SS_k/E_k]` with
    :math:`E = \text{known} + C v`.

    Parameters
    ----------
    df, ss, known : array, shape (rows,)
        As in `StrataRows`.
    coefficients : array, shape (rows, parameters)
        Coefficients of the variance parameters in each expected mean square.
    variances : array, shape (..., parameters)
        The variances (score²); for judge and scenario:judge those of the zero-sum Normal.
    xp : module
        numpy, or pytensor.tensor for a symbolic expression.

    Returns
    -------
    array, shape (...)
        The sum over all rows.
    """
    expected = known + variances @ coefficients.T
    return -0.5 * (df * (np.log(2 * np.pi) + xp.log(expected)) + ss / expected).sum(axis=-1)
