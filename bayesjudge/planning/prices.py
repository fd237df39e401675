"""What a campaign costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayesjudge.errors import BayesJudgeError
from bayesjudge.planning.designs import Design
from bayesjudge.wording import did_you_mean, quoted

KEYS = ("call", "generation")


@dataclass(frozen=True)
class Prices:
    """Prices in any one currency.

    Attributes
    ----------
    call : dict or float
        Of one judge call: the same for all, or by judge.
    generation : dict of float
        Of one answer, by evaluated model.
    """

    call: Mapping[str, float] | float
    generation: Mapping[str, float]

    @property
    def mean_call(self) -> float:
        """Price of a call when all judges have the same share of them."""
        if isinstance(self.call, Mapping):
            return sum(self.call.values()) / len(self.call)
        return self.call

    @property
    def by_judge(self) -> bool:
        """Whether judges differ in price."""
        return isinstance(self.call, Mapping) and len(set(self.call.values())) > 1

    def cost(self, design: Design, generations: int) -> float:
        """Price a campaign for all evaluated models.

        Parameters
        ----------
        design : Design
            The campaign.
        generations : int
            Answers for each scenario of a model.
        """
        n, models = design.n_scenarios, len(self.generation)
        answers = n * generations * sum(self.generation.values())
        if design.calls_by_judge and isinstance(self.call, Mapping):
            each = zip(design.calls_by_judge, self.call.values(), strict=True)
            return answers + models * sum(calls * price for calls, price in each)
        return answers + models * n * design.budget * self.mean_call


def read_prices(
    prices: Mapping[str, Any], models: Sequence[str], judges: Sequence[str] | None
) -> Prices:
    """Read prices, or refuse them.

    Parameters
    ----------
    prices : mapping
        ``call``: a number, or a mapping from every judge to one; ``generation``: a number, or a
        mapping from every evaluated model to one.
    models : sequence of str
        Evaluated models.
    judges : sequence of str, optional
        Labels of the panel, where they are known.

    Raises
    ------
    BayesJudgeError
        When one is missing, negative or no number, or nothing costs anything.
    """
    if not isinstance(prices, Mapping):
        raise BayesJudgeError(
            f"prices = {prices!r} must be a mapping such as {{'call': 0.002, 'generation': 0.01}}."
        )
    for name in prices:
        if name not in KEYS:
            raise BayesJudgeError(
                f"prices: there is no {name!r}.{did_you_mean(str(name), KEYS)} Allowed: call and "
                "generation."
            )
    for name in KEYS:
        if name not in prices:
            raise BayesJudgeError(
                f"prices: {name} is missing: what one {'judge ' * (name == 'call')}{name} costs "
                f"({name}: 0 if nothing)."
            )
    call, generation = prices["call"], prices["generation"]
    if isinstance(call, Mapping):
        call = _each("call", call, judges or list(call), "judge")
        if len(call) < 2:
            raise BayesJudgeError(f"prices: call names {quoted(call)}: a panel has two judges.")
    else:
        call = _number("call", call)
    if isinstance(generation, Mapping):
        generation = _each("generation", generation, models, "model")
    else:
        generation = dict.fromkeys(models, _number("generation", generation))
    found = Prices(call, generation)
    if found.mean_call == 0 and not any(generation.values()):
        raise BayesJudgeError(
            "prices: nothing costs anything, so that no campaign is the cheapest."
        )
    return found


def _each(
    name: str, given: Mapping[str, Any], labels: Sequence[str], what: str
) -> dict[str, float]:
    missing = [label for label in labels if label not in given]
    other = [str(label) for label in given if label not in labels]
    if missing or other:
        said = f"none for {quoted(missing)}" if missing else f"one for {quoted(other)}"
        raise BayesJudgeError(
            f"prices: {name} has {said}. It needs one for each {what}: {quoted(labels)}."
        )
    return {label: _number(f"{name} of {label}", given[label]) for label in labels}


def _number(name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise BayesJudgeError(f"prices: {name} = {value!r} must be a number of at least 0.")
    return number
