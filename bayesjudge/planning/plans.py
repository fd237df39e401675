"""Plans for the next campaign: `plan` and the frontier of cost against precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesjudge.errors import BayesJudgeError
from bayesjudge.planning.asking import Asked, read_arguments
from bayesjudge.planning.goals import Goal, Order, Precision, order_goal
from bayesjudge.planning.search import (
    MOST_SCENARIOS,
    Found,
    Room,
    best_for,
    cheapest,
    frontier,
    least_cost,
    require_reachable,
    why_not,
)
from bayesjudge.posterior.components import require_probability

FloatArray = NDArray[np.float64]

MOST_IN_TURN = 4  # judges in turn on one answer, where no strategies are named
CERTAINTY = 0.9

_SIZES = 60  # numbers of scenarios that a frontier looks at
_FREE = 0.01  # of the least price, for a judge that costs nothing


def plan(
    source: xr.DataTree | pd.DataFrame | Mapping[str, ArrayLike],
    target_se: float | None = None,
    *,
    prices: Mapping[str, Any],
    order: tuple[str, str] | None = None,
    spend: float | None = None,
    probability: float = CERTAINTY,
    target: str = "benchmark",
    scenarios: int | None = None,
    dataset_size: int | None = None,
    strategies: Sequence[str] | None = None,
    max_generations: int = 50,
    models: Sequence[str] | None = None,
    panel_size: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Plan the cheapest campaign for a precision, or the most precise one for a price.

    Parameters
    ----------
    source : DataTree, DataFrame or mapping
        A pilot: as for `bayesjudge.allocation`.
    target_se : float, optional
        Standard error that the score of every evaluated model is to have (score).
    prices : mapping
        ``call``: of one judge call, a number or a mapping from every judge to one;
        ``generation``: of one answer, a number or a mapping from every evaluated model to one.
    order : pair of str, optional
        Two evaluated models whose scores are to come in the right order.
    spend : float, optional
        What there is to spend, for all evaluated models together. Alone, or with `order`, it asks
        for the best design at that price.
    probability : float
        With which the standard error is to be that small (from the posterior), or the order right.
    target : {"benchmark", "population"}
        What the scores are meant for. For the benchmark all its scenarios are scored, and the plan
        is about the calls for each. For the population it is about the number of scenarios too. To
        score some scenarios of a benchmark of N, plan for the population with ``dataset_size=N``.
    scenarios : int, optional
        Scenarios there are to score: of the benchmark (those of the table, if not given), or at
        most, for the population (no limit, if not given).
    dataset_size : int, optional
        As for `bayesjudge.allocation`.
    strategies : sequence of str, optional
        Ways to spend calls to choose from, as for `bayesjudge.allocation`; and "stratified", for
        judges with prices or residual variances of their own: each judge weighs 1/K in the score,
        and has as many calls as its price and noise are worth. If not given, "cyclic", "cyclic-2"
        to "cyclic-4", "all", "random", "single", and "stratified" where judges differ.
    max_generations : int
        Answers for each scenario, at most.
    models : sequence of str, optional
        Evaluated models of the next campaign: those of `order`, or all of the source, if not given.
        Costs are for all of them, and the least precise counts.
    panel_size : int, optional
        Judges in the panel, for components by name.
    seed : int
        For the draws of scenario effects that `order` needs.

    Returns
    -------
    DataFrame
        Index strategy, the best first; a row for each strategy that will do. Columns
        ``n_scenarios``; ``generations`` and ``budget``, answers and judge calls for each scenario
        of a model; ``calls``, in all; ``cost``; and

        - ``se``, of the least precise model (score, posterior median); ``se_certain``, which it
          does not exceed with that probability; ``p_met``, the least probability over models of a
          standard error within `target_se`. NaN for estimates, which know no probability;
        - with `order`, ``se_difference`` (score) and ``p_order``, the probability of the right
          order.

        ``attrs``: ``goal`` in words, and ``asked``, what was asked for; ``models``;
        ``panel_size``; ``calls_by_judge`` (of a model, if "stratified" is among the rows);
        ``out_of_reach`` (a sentence for each other strategy), ``notes``,
        ``verdict`` and ``problems`` of the fit.

    Raises
    ------
    BayesJudgeError
        When an argument is none, or the goal is out of reach: then with what can be reached.

    Notes
    -----
    Where components are known only in sums, the least favourable split counts.
    """
    _require_one_goal(source, target_se, order, spend)
    asked = read_arguments(
        source,
        prices,
        target,
        scenarios,
        dataset_size,
        strategies,
        max_generations,
        order if models is None else models,
        panel_size,
    )
    require_probability(probability)
    goal, said = _goal(asked, target_se, order, spend, probability, seed)
    found = [
        cheapest(goal, asked.room, asked.prices, name)
        if spend is None
        else best_for(goal, asked.room, asked.prices, name, spend)
        for name in asked.room.strategies
    ]
    others = [
        why_not(goal, asked.room, asked.prices, name)
        if spend is None
        else f"{name}: the smallest design costs {least_cost(asked.room, asked.prices, name):g}"
        for name, one in zip(asked.room.strategies, found, strict=True)
        if one is None
    ]
    require_reachable(found, others, said)
    by = (lambda one: (one.cost, one.loss)) if spend is None else (lambda one: (one.loss, one.cost))
    frame = _table(sorted([one for one in found if one is not None], key=by), goal, asked)
    asked_for = {"target_se": target_se, "order": order, "spend": spend}
    frame.attrs |= {
        "goal": said,
        "asked": {name: value for name, value in asked_for.items() if value is not None},
        "out_of_reach": others,
    }
    return frame


def cost_frontier(
    source: xr.DataTree | pd.DataFrame | Mapping[str, ArrayLike],
    *,
    prices: Mapping[str, Any],
    probability: float = CERTAINTY,
    target: str = "benchmark",
    scenarios: int | None = None,
    dataset_size: int | None = None,
    strategies: Sequence[str] | None = None,
    max_generations: int = 50,
    models: Sequence[str] | None = None,
    panel_size: int | None = None,
) -> pd.DataFrame:
    """Return the designs that no cheaper one is as precise as.

    Parameters
    ----------
    source, prices, target, scenarios, dataset_size, strategies, max_generations, models, panel_size
        As for `plan`; for the population `scenarios` must be given.
    probability : float
        With which a standard error is not exceeded.

    Returns
    -------
    DataFrame
        Index strategy, columns as those of `plan`, cheapest first.

    Raises
    ------
    BayesJudgeError
        When an argument is none.
    """
    asked = read_arguments(
        source,
        prices,
        target,
        scenarios,
        dataset_size,
        strategies,
        max_generations,
        models,
        panel_size,
    )
    require_probability(probability)
    room = asked.room
    if room.most_scenarios == MOST_SCENARIOS:
        raise BayesJudgeError("a frontier needs the scenarios there are: scenarios=500.")
    goal = Precision(asked.source, asked.campaign, probability)
    found = frontier(goal, room, asked.prices, _sizes(room))
    if not found:
        reasons = [why_not(goal, room, asked.prices, name) for name in room.strategies]
        raise BayesJudgeError(f"no precision is known. {'; '.join(reasons)}.")
    return _table(found, goal, asked)


def _require_one_goal(
    source: object,
    target_se: float | None,
    order: tuple[str, str] | None,
    spend: float | None,
) -> None:
    """Refuse no goal, several, and what is none."""
    asked_for = [name for name in (target_se, order) if name is not None]
    if len(asked_for) > 1 or (spend is not None and target_se is not None):
        raise BayesJudgeError("plan for one goal: target_se, or order, or what spend can buy.")
    if not asked_for and spend is None:
        raise BayesJudgeError("what for? target_se=0.05, order=('A', 'B') or spend=100.")
    if spend is not None and not _positive(spend):
        raise BayesJudgeError(f"spend = {spend!r} must be a number above 0.")
    if target_se is not None and not _positive(target_se):
        raise BayesJudgeError(f"target_se = {target_se!r} must be a number above 0 (score).")
    if order is None:
        return
    if not isinstance(source, xr.DataTree):
        raise BayesJudgeError(
            "the order of two models needs a fit: estimates and components by name do not say how "
            "far the models are apart."
        )
    if isinstance(order, str) or len(set(order)) != 2 or len(order) != 2:
        raise BayesJudgeError(f"order = {order!r} must be two different evaluated models.")


def _sizes(room: Room) -> list[int]:
    """Return numbers of scenarios for a frontier: all, or some that grow by equal factors."""
    least, most = room.least_scenarios, room.most_scenarios
    if most - least < _SIZES:
        return list(range(least, most + 1))
    return [int(n) for n in np.unique(np.geomspace(least, most, _SIZES).round())]


def _goal(
    asked: Asked,
    target_se: float | None,
    order: tuple[str, str] | None,
    spend: float | None,
    probability: float,
    seed: int,
) -> tuple[Goal, str]:
    """Return the goal, and what it is in words."""
    if order is not None:
        goal: Goal = order_goal(asked.source, order, probability, asked.campaign, seed)
        said = f"the right order of {' and '.join(order)} with a probability of {probability:g}"
        return goal, said if spend is None else f"the order of {' and '.join(order)} for {spend:g}"
    if spend is not None:
        return Precision(asked.source, asked.campaign, probability), f"a campaign for {spend:g}"
    assert target_se is not None  # by _require_one_goal
    goal = Precision(asked.source, asked.campaign, probability, float(target_se))
    single = asked.source.shape == (1, 1)
    sure = "" if single else f" with a probability of {probability:g}"
    return goal, f"a standard error of {target_se:g}{sure}"


def _positive(value: Any) -> bool:
    return (
        isinstance(value, int | float | np.number)
        and not isinstance(value, bool)
        and bool(np.isfinite(value) and value > 0)
    )


def _table(found: Sequence[Found], goal: Goal, asked: Asked) -> pd.DataFrame:
    models = len(asked.source.models)
    rows = [
        {
            "n_scenarios": one.design.n_scenarios,
            "generations": one.generations,
            "budget": one.design.budget,
            "calls": one.design.n_scenarios * one.design.budget * models,
            "cost": one.cost,
        }
        | goal.row(one.design)
        for one in found
    ]
    calls = next((one.design.calls_by_judge for one in found if one.design.calls_by_judge), ())
    judges = (
        asked.prices.call
        if isinstance(asked.prices.call, Mapping)
        else asked.source.models[0].judges
    )
    index = pd.Index([one.design.strategy for one in found], name="strategy")
    frame = pd.DataFrame(rows, index=index)
    notes = list(asked.source.notes)
    if isinstance(goal, Order):
        notes.append(
            "Fits of each model alone do not know which scenario and scenario:judge effects the "
            "two models have in common: their variances are added, which is too much."
        )
    opened = [reason for one in found if (reason := goal.open(one.design))]
    if opened:
        notes.append(f"The least favourable split counts: {opened[0]}")
    frame.attrs = {
        "target": asked.campaign.target,
        "panel_size": asked.room.panel_size,
        "models": [one.model for one in asked.source.models],
        "calls_by_judge": dict(zip(judges, calls, strict=False)),
        "notes": notes,
        "verdict": "passed" if asked.source.passed else "failed",
        "problems": list(asked.source.problems),
    }
    return frame
