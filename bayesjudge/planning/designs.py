"""What can be planned: so many scenarios, calls for each, and who makes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Design:
    """A campaign for each evaluated model.

    Attributes
    ----------
    strategy : str
        A name of `bayesjudge.allocations.strategies`, or "stratified".
    n_scenarios, budget : int
        Scenarios, and judge calls for each.
    calls_by_judge : tuple of int
        Calls of each judge, in all, where they are not of equal shares or drawn: each judge still
        weighs as much as another in the score.
    """

    strategy: str
    n_scenarios: int
    budget: int
    calls_by_judge: tuple[int, ...] = ()
