"""The variance of campaigns over a grid of strategies and budgets, draw by draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.allocations.coefficients import coefficients
from bayesjudge.allocations.design import require_dataset_size, require_target
from bayesjudge.allocations.known import ranges
from bayesjudge.allocations.sources import Known, Source
from bayesjudge.allocations.strategies import Strategy, parse_strategy, why_unreachable
from bayesjudge.allocations.variance import why_open
from bayesjudge.arguments import require_whole
from bayesjudge.errors import BayesJudgeError
from bayesjudge.terms import TERMS
from bayesjudge.wording import listed

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Campaign:
    """How many scenarios are scored, what for, and how many there are.

    Attributes
    ----------
    n_scenarios : int
        Scenarios that are scored.
    target : {"benchmark", "population"}
        Whether the score is meant for these scenarios, or for scenarios like them.
    dataset_size : float
        Scenarios there are, for the population; infinite unless said.
    """

    n_scenarios: int
    target: str = "benchmark"
    dataset_size: float = float("inf")


@dataclass(frozen=True, eq=False)
class Spread:
    """The variance of one campaign's score.

    Attributes
    ----------
    low, high : float array, shape (chains, draws)
        The least and the largest that the components allow (score²). They are the same unless
        some component is known only in a sum; NaN where nothing can be said.
    reason : str
        Why there is no one variance; empty where there is.
    """

    low: FloatArray
    high: FloatArray
    reason: str = ""

    @property
    def exact(self) -> FloatArray:
        """The variance, NaN where there is no one variance."""
        return self.low if not self.reason else np.full_like(self.low, np.nan)


def campaigns(
    source: Source, n_scenarios: Any, target: str, dataset_size: Any
) -> tuple[Campaign, ...]:
    """Return a campaign for each evaluated model, or refuse what is none.

    Parameters
    ----------
    source : Source
        Knows how many scenarios each model has, unless components were given by hand.
    n_scenarios : int, optional
        Scenarios to score; as many as each model has, if not given.
    target, dataset_size
        As in `bayesjudge.allocation`.
    """
    require_target(target)
    found = []
    for known in source.models:
        n = known.n_scenarios if n_scenarios is None else n_scenarios
        if n is None:
            raise BayesJudgeError(
                "components given by name need the number of scenarios: n_scenarios=80."
            )
        n = require_whole("n_scenarios", n, 1)
        found.append(Campaign(n, target, require_dataset_size(dataset_size, n, target)))
    return tuple(found)


def require_budgets(budgets: Iterable[Any] | int) -> tuple[int, ...]:
    """Return the budgets in the order given, or refuse them."""
    given = (
        list(budgets)
        if isinstance(budgets, Iterable) and not isinstance(budgets, str)
        else [budgets]
    )
    found = [require_whole("budget", budget, 1, ": judge calls for a scenario") for budget in given]
    if not found:
        raise BayesJudgeError("budgets is empty: name judge calls for a scenario, such as [5, 10].")
    _refuse_twice("budgets", found)
    return tuple(found)


def require_strategies(strategies: Sequence[str], panels: Iterable[int]) -> tuple[str, ...]:
    """Return the strategies in the order given, or refuse them."""
    names = [strategies] if isinstance(strategies, str) else [str(name) for name in strategies]
    if not names:
        raise BayesJudgeError("strategies is empty: name some, such as ['all', 'cyclic'].")
    _refuse_twice("strategies", names)
    largest = max(panels)
    for name in names:
        parse_strategy(name, largest)
    return tuple(names)


def _refuse_twice(name: str, values: Sequence[Any]) -> None:
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise BayesJudgeError(f"{name} holds {listed(twice)} more than once.")


def spread(
    known: Known, strategy: str, budget: int, campaign: Campaign, *, relative: bool
) -> Spread:
    """Return the variance of one campaign's score, within what the components allow.

    Parameters
    ----------
    known : Known
        The components of one evaluated model.
    strategy, budget, campaign
        What is planned.
    relative : bool
        As for `bayesjudge.allocations.known.ranges`.
    """
    nothing = np.full(known.size, np.nan)
    if known.panel_size < 2:
        return Spread(
            nothing, nothing, f"{known.model} was scored by one judge: there is no panel to choose"
        )
    asked = _strategy(strategy, known.panel_size)
    if isinstance(asked, str):
        return Spread(nothing, nothing, asked)
    if why := why_unreachable(asked, budget):
        return Spread(nothing, nothing, why)
    own = coefficients(
        asked,
        budget,
        campaign.n_scenarios,
        known.panel_size,
        campaign.target,
        campaign.dataset_size,
    )
    return weighted(known, own, strategy, relative=relative)


def weighted(known: Known, own: Mapping[str, float], what: str, *, relative: bool) -> Spread:
    """Weigh the components of one evaluated model, within what they allow.

    Parameters
    ----------
    known : Known
        The components.
    own : mapping
        Coefficient of each term.
    what : str
        What the variance is of, for the reason.
    relative : bool
        As for `bayesjudge.allocations.known.ranges`.
    """
    shape = known.size
    missing = [term for term in TERMS if own[term] > 0 and term in known.unknown]
    if missing:
        nothing = np.full(shape, np.nan)
        return Spread(
            nothing,
            nothing,
            f"the variance of {what} depends on {listed(missing)}, of which nothing is known",
        )
    found = ranges(known.variances, own, known.panel_size, relative=relative)
    low, high, reasons = np.zeros(shape), np.zeros(shape), []
    for name, range_ in found.items():
        low += range_.low * known.variances[name]
        high += range_.high * known.variances[name]
        if not range_.exact:
            reasons.append(why_open(what, name, range_).rstrip("."))
    return Spread(low, low if not reasons else high, "; ".join(reasons))


def _strategy(name: str, panel_size: int) -> Strategy | str:
    """Read a strategy for one panel; say why where it has too few judges."""
    try:
        return parse_strategy(name, panel_size)
    except BayesJudgeError as error:
        return str(error).rstrip(".")
