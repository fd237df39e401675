r"""The variance of any assignment of judges to answers, with any weights.

A score is a weighted sum of calls, the weights summing to one. Write W for sums of weights: W_i of
a scenario, W_ij of a generation, W_l of a judge, W_il and W_ijl of a judge in a scenario and on a
generation. With :math:`\sum_l \gamma_l = 0` and interactions that sum to zero over the panel,

.. math::
    V = a \sum_i (W_i - 1/n)^2 + b \sum_{ij} W_{ij}^2 + \sum_c w_c^2 e_{l(c)}
      + \frac{hK}{K-1} \sum_i \Big(\sum_l W_{il}^2 - W_i^2/K\Big)
      + \frac{zK}{K-1} \sum_{ij} \Big(\sum_l W_{ijl}^2 - W_{ij}^2/K\Big)
      + \frac{gK}{K-1} \sum_l (W_l - 1/K)^2

for the benchmark; for the population the first sum is that of W_i², less 1/N. The last term is the
mean over all ways to give the panel's places to its judges. With the offsets of this panel's judges
it is the square of their weighted sum, a bias that repeating the campaign does not average out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesjudge.allocations.design import require_dataset_size, require_panel, require_target
from bayesjudge.errors import BayesJudgeError

FloatArray = NDArray[np.float64]

_SUM_ERROR = 1e-9
_ROUNDING = 1e-12  # of the residual's coefficient: what is left of terms that cancel


@dataclass(frozen=True)
class AssignmentCoefficients:
    """How much of each variance component a weighted score has.

    Attributes
    ----------
    by_term : dict
        Coefficient of each component.
    judge_weight : float array, shape (judges,)
        Sum of the weights of each judge's calls, less 1/K: what the offsets are weighted by.
    residual_share : float array, shape (judges,)
        Sum of the squared weights of each judge's calls; together the coefficient of the residual.
    """

    by_term: dict[str, float]
    judge_weight: FloatArray
    residual_share: FloatArray


def assignment_coefficients(
    scenario: ArrayLike,
    generation: ArrayLike,
    judge: ArrayLike,
    *,
    panel_size: int,
    weight: ArrayLike | None = None,
    target: str = "benchmark",
    dataset_size: int | None = None,
) -> AssignmentCoefficients:
    """Weigh the components of a score by who scores what.

    Parameters
    ----------
    scenario, generation, judge : int arrays, shape (calls,)
        Of each call. Scenarios are numbered from 0, judges from 0 to ``panel_size - 1``;
        generations by any numbers that differ within a scenario.
    panel_size : int
        Judges in the panel, whether they have calls or not.
    weight : float array, shape (calls,), optional
        Weights that sum to one. Equal if not given.
    target : {"benchmark", "population"}
        Whether the score is meant for these scenarios, or for scenarios like them.
    dataset_size : int, optional
        For the population: scenarios there are.

    Raises
    ------
    BayesJudgeError
        When columns differ in length or labels are no positions, when weights are no numbers or do
        not sum to one, or there are no calls.
    """
    i = _positions("scenario", scenario)
    j = _positions("generation", generation)
    k = _positions("judge", judge)
    K = require_panel(panel_size)
    if not len(i) == len(j) == len(k) or not len(i):
        raise BayesJudgeError(
            f"scenario, generation and judge have {len(i)}, {len(j)} and {len(k)} values: they "
            "must be as many as there are calls, at least one."
        )
    if k.max() >= K:
        raise BayesJudgeError(f"judge {k.max()} is not among the {K} of the panel (0 to {K - 1}).")
    w = _weights(weight, len(i))
    n = int(i.max()) + 1
    N = require_dataset_size(dataset_size, n, require_target(target))
    _, answer = np.unique(np.stack([i, j]), axis=1, return_inverse=True)
    answer = answer.ravel()
    by_scenario, by_answer = np.bincount(i, w), np.bincount(answer, w)
    judge_weight = np.bincount(k, w, minlength=K) - 1 / K
    cells, pairs = np.bincount(i * K + k, w), np.bincount(answer * K + k, w)
    free = K / (K - 1)
    if target == "benchmark":
        a = float(((by_scenario - 1 / n) ** 2).sum())
    else:
        a = float((by_scenario**2).sum() - 1 / N)
    each = float((w**2).sum())
    by_term = {
        "scenario": a,
        "generation": float((by_answer**2).sum()),
        "judge": float(free * (judge_weight**2).sum()),
        "scenario:judge": float(free * ((cells**2).sum() - (by_scenario**2).sum() / K)),
        "generation:judge": float(free * ((pairs**2).sum() - (by_answer**2).sum() / K)),
        "residual": each,
    }
    return AssignmentCoefficients(
        by_term={term: x if abs(x) > _ROUNDING * each else 0.0 for term, x in by_term.items()},
        judge_weight=judge_weight,
        residual_share=np.bincount(k, w**2, minlength=K),
    )


def _positions(name: str, values: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        raise BayesJudgeError(
            f"{name} must be a column of whole numbers from 0, one for each call."
        )
    return array.astype(np.int64)


def _weights(weight: ArrayLike | None, calls: int) -> FloatArray:
    if weight is None:
        return np.full(calls, 1 / calls)
    w = np.asarray(weight, dtype=np.float64)
    if w.shape != (calls,) or not np.isfinite(w).all():
        raise BayesJudgeError(f"weight must be {calls} numbers, one for each call.")
    if abs(w.sum() - 1) > _SUM_ERROR:
        raise BayesJudgeError(
            f"the weights sum to {w.sum():g}: they must sum to 1, as those of a mean do. Divide by "
            "their sum."
        )
    return w
