"""The variance of a campaign's score, from components given as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesjudge.allocations.coefficients import coefficients
from bayesjudge.allocations.design import (
    require_dataset_size,
    require_panel,
    require_target,
)
from bayesjudge.allocations.known import Range, ranges
from bayesjudge.allocations.strategies import parse_strategy, why_unreachable
from bayesjudge.arguments import require_whole
from bayesjudge.errors import BayesJudgeError
from bayesjudge.terms import TERMS, parts, sum_name
from bayesjudge.wording import did_you_mean, listed, quoted

FloatArray = NDArray[np.float64]

# What tells the parts of a sum apart.
_SETTLED_BY = {
    "scenario": "two generations or more of a scenario",
    "generation": "several judges on one generation, or two generations of a scenario by one judge",
    "judge": "two judges or more",
    "scenario:judge": "two generations or more of a scenario by one judge",
    "generation:judge": "repeated calls of a judge on one generation",
    "residual": "repeated calls of a judge on one generation",
}


def strategy_variance(
    strategy: str,
    *,
    budget: int,
    n_scenarios: int,
    panel_size: int,
    components: Mapping[str, ArrayLike],
    target: str = "benchmark",
    dataset_size: int | None = None,
) -> float | FloatArray:
    """Variance of a campaign's score around the panel mean.

    The score is the mean of its ``n_scenarios * budget`` calls.

    Parameters
    ----------
    strategy : str
        "all" (judges score every answer); "random" (one drawn for each); "cyclic", or "cyclic-2"
        and so on (the next one, or two, in turn, the turn carried on across scenarios);
        "cyclic-restart" (in turn, each scenario from the same judge on); "single", or "subset-2"
        and so on (so many, drawn once, on every answer).
    budget : int
        Judge calls for each scenario.
    n_scenarios : int
        Scenarios that are scored.
    panel_size : int
        Judges in the panel.
    components : mapping
        By name of the component its variance (score²): a number, or draws of it as an array.
        Sums, such as ``"generation:judge+residual"``, count as a linear fit or `anova` reports
        them. A component that is not named must not matter for the strategy.
    target : {"benchmark", "population"}
        The panel mean over these scenarios, or over scenarios like these, which adds the variance
        of the scenarios: (scenario / n)(1 - n/N).
    dataset_size : int, optional
        N, for the population: scenarios there are. Infinite without it.

    Returns
    -------
    float, or float array of the shape that the components have together
        The variance (score²); its root is the standard error of the score.

    Raises
    ------
    BayesJudgeError
        When a number, the strategy or a component can't be what it says; when the strategy can't
        spend the budget; when the variance depends on how a sum is made up, or on a component that
        is not named.

    References
    ----------
    arXiv 2603.01865, Eqs. 2 to 5, extended to the interactions and to any budget; see
    `bayesjudge.allocations.coefficients`.
    """
    n = require_whole("n_scenarios", n_scenarios, 1)
    B = require_whole("budget", budget, 1)
    K = require_panel(panel_size)
    N = require_dataset_size(dataset_size, n, require_target(target))
    asked = parse_strategy(strategy, K)
    if why := why_unreachable(asked, B):
        raise BayesJudgeError(f"{why}.")
    values = require_components(components)
    own = coefficients(asked, B, n, K, target, N)
    _require_all(strategy, own, values)
    found = ranges(list(values), own, K)
    for name, range_ in found.items():
        if not range_.exact:
            raise BayesJudgeError(why_open(strategy, name, range_))
    total = sum(range_.low * values[name] for name, range_ in found.items())
    return total if isinstance(total, np.ndarray) and total.ndim else float(total)


def require_components(components: Mapping[str, ArrayLike]) -> dict[str, FloatArray]:
    """Return variances by name, or refuse what can't be that.

    Parameters
    ----------
    components : mapping
        By name of a component or sum, numbers or arrays (score²).

    Raises
    ------
    BayesJudgeError
        When a name is unknown or comes twice, or a variance is negative or no number.
    """
    if not components:
        raise BayesJudgeError(f"no components were given. Components: {', '.join(TERMS)}.")
    found: dict[str, FloatArray] = {}
    seen: dict[str, str] = {}
    for given, value in components.items():
        terms = parts(str(given).replace(" ", ""))
        for term in terms:
            if term not in TERMS:
                raise BayesJudgeError(
                    f"there is no component {term!r}.{did_you_mean(term, TERMS)} Components: "
                    f"{', '.join(TERMS)}; or a sum of them, such as 'scenario+generation'."
                )
            if term in seen:
                raise BayesJudgeError(
                    f"{term} is given twice: in {seen[term]!r} and in {str(given)!r}."
                )
            seen[term] = str(given)
        found[sum_name(terms)] = _variance(str(given), value)
    return found


def _variance(name: str, value: Any) -> FloatArray:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BayesJudgeError(
            f"{name} = {value!r} is not a number (a variance, score²)."
        ) from error
    bad = array[~(np.isfinite(array) & (array >= 0))]
    if bad.size:
        raise BayesJudgeError(
            f"{name} = {bad.flat[0]:g} can't be a variance: it must be a number of at least 0. A "
            "negative estimate says that the component is too small to be seen; 0 may stand for it."
        )
    return array


def _require_all(strategy: str, own: Mapping[str, float], known: Mapping[str, Any]) -> None:
    named = {term for name in known for term in parts(name)}
    missing = [term for term in TERMS if own[term] > 0 and term not in named]
    if missing:
        raise BayesJudgeError(
            f"the variance of {strategy} depends on {listed(missing)}, of which nothing is "
            f"said ({quoted(known)} were given). If there is none, say so: {missing[0]}=0."
        )


def why_open(strategy: str, name: str, range_: Range) -> str:
    """Say why a variance can't be told from a sum, and which data would settle it.

    Parameters
    ----------
    strategy : str
        The strategy.
    name : str
        The sum.
    range_ : Range
        The coefficients of its parts.
    """
    settled = dict.fromkeys(_SETTLED_BY[term] for term in (range_.highest, range_.lowest))
    return (
        f"the variance of {strategy} depends on how much of {name} is {range_.highest} and how "
        f"much {range_.lowest}, which the table does not tell. It would with "
        f"{' and '.join(settled)}."
    )
