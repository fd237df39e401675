"""Who scores what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from bayesjudge.allocations.strategies import Strategy, parse_strategy, why_unreachable
from bayesjudge.arguments import require_whole
from bayesjudge.errors import BayesJudgeError
from bayesjudge.schedules import rotation
from bayesjudge.schedules.earlier import Earlier, as_in, read_earlier, require_same
from bayesjudge.schedules.families import exclusion_notes, may_score, require_enough
from bayesjudge.schedules.notes import strategy_notes
from bayesjudge.schedules.panel import read_models, read_once, read_panel, read_scenarios
from bayesjudge.schedules.rotation import Plan, shuffled_panel, shuffled_scenarios
from bayesjudge.schedules.shares import by_shares
from bayesjudge.scores.raw import RawTable
from bayesjudge.wording import counted, listed

STRATIFIED = "stratified"


def assign(
    scenarios: Iterable[object] | pd.DataFrame,
    panel: Iterable[object],
    strategy: str = "cyclic",
    *,
    budget: int | None = None,
    generations: int | None = None,
    models: Iterable[object] | None = None,
    families: Mapping[str, str] | None = None,
    exclude_own_family: bool = False,
    seed: int = 1,
    continue_from: pd.DataFrame | str | Path | None = None,
    calls: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """Say which judge scores which generation of which scenario.

    The schedule is made before the evaluation, and a call's judge depends on nothing that happens
    in it. Scenarios are sorted and then shuffled by the seed, and so is the panel: neither the
    order they are given in nor that in which answers arrive matters. All models have the same
    judge for the same generation of a scenario, so that the judges' offsets cancel in their
    differences.

    Parameters
    ----------
    scenarios : iterable of labels, or DataFrame
        Each once. Of a frame the column ``scenario``; other columns are kept.
    panel : iterable of labels
        The judges, each once; at least two, but for ``"single"``.
    strategy : str
        - ``"all"``: every judge scores each generation;
        - ``"random"``: each call has a judge drawn anew;
        - ``"cyclic"``: judges in turn, the turn carried on from one scenario to the next;
        - ``"cyclic-2"``, ``"cyclic-3"``, ...: the same, the next so many judges of the rotation
          on each generation;
        - ``"cyclic-restart"``: in turn, each scenario beginning with the same judge;
        - ``"single"``, ``"subset-2"``, ...: so many judges, drawn once, score each generation.
    budget : int, optional
        Judge calls for each scenario (and model): generations times judges of each. For
        one generation unless given.
    generations : int, optional
        For each scenario; the other way to say the budget.
    models : iterable of labels, optional
        The evaluated models.
    families : mapping, optional
        Of a judge or model its family. Others are a family of their own, by their label.
    exclude_own_family : bool
        Whether a judge never scores a model of its own family. Its calls go to the others who may
        score that model; the calls of all other judges stay as they are for other models, but for
        cyclic-2 and so on:

        - cyclic: the others stand in by turns, beginning with the last in the order of the panel
          and going backwards, so that numbers of calls still differ by one at most;
        - cyclic-2, ...: the same shares, and nobody twice on one generation. Judges keep their
          calls as far as that allows;
        - cyclic-restart: as cyclic, within each scenario;
        - random: the judge is drawn again from the others;
        - all: the call is left out, and the model has fewer;
        - single, subset: the next in the order of the panel is taken.
    seed : int
        Of the order of the panel and the scenarios, and of what is drawn. The same arguments give
        the same schedule in any process, on any machine.
    continue_from : DataFrame or path, optional
        An earlier schedule, or the .csv or .jsonl file it was written to. Its rows are returned
        as they are. Scenarios that are not in it follow, with the rotation carried on. Other
        arguments must be those it was made with: its rows are derived from them again, taking
        scenarios in the order they stand in, and compared.
    calls : mapping, optional
        For ``strategy="stratified"``: by judge, how many calls it has of each model over all
        scenarios, such as ``plan.attrs["calls_by_judge"]`` of `bayesjudge.plan`. Each call is on a
        generation of its own, and judges come at even distances. In the score each judge then
        weighs the same: average the judges' means. Can't be continued, nor leave families out.

    Returns
    -------
    DataFrame
        One row a call, in the order of the campaign, so that one that ends early has random
        scenarios and judges in equal shares. Columns ``model`` (if there are `models`),
        ``scenario``, ``generation`` (from 1), ``judge``, and others of `scenarios`. In ``attrs``:
        strategy, seed, budget, generations, panel (in the shuffled order), notes.

    Raises
    ------
    BayesJudgeError
        When a label, number, strategy or family can't be what it says; when the strategy can't
        spend the budget; when nobody may score a model; when the earlier schedule is not what the
        arguments give.

    References
    ----------
    The strategies: arXiv 2603.01865, and `bayesjudge.allocations.coefficients`.

    Examples
    --------
    >>> schedule = assign(["q1", "q2", "q3"], ["a", "b", "c"], budget=2)
    >>> schedule["judge"].value_counts().tolist()
    [2, 2, 2]
    >>> two = assign(["q1", "q2", "q3"], ["a", "b", "c"], "cyclic-2", budget=4)
    >>> two.attrs["generations"], two["judge"].value_counts().tolist()
    (2, [4, 4, 4])
    """
    frame, notes = read_scenarios(scenarios)
    if strategy == STRATIFIED or calls is not None:
        given = {"continue_from": continue_from is not None, "families": families is not None}
        given |= {"exclude_own_family": exclude_own_family}
        _require_shares(strategy, calls, [name for name, there in given.items() if there])
        if budget is None:  # each call is on a generation of its own
            budget = generations
        elif generations is not None and generations != budget:
            raise BayesJudgeError(
                f"budget = {budget!r} and generations = {generations!r} do not agree: a stratified "
                "schedule has one call on each generation."
            )
        return _stratified(frame, notes, panel, calls or {}, budget, models, seed)
    plan, said = _planned(
        panel, strategy, budget, generations, models, families, exclude_own_family, seed
    )
    notes += said
    earlier = None if continue_from is None else read_earlier(continue_from)
    first = 0
    if earlier is not None:
        require_same(earlier, plan)
        first = len(earlier.scenarios)
        frame, said = _not_in(frame, earlier)
        notes += said
    schedule = _laid_out(plan, frame, first, earlier)
    notes += strategy_notes(plan, first + len(frame))
    if exclude_own_family:
        notes += exclusion_notes(plan)
    schedule.attrs = {
        "strategy": plan.strategy.name,
        "seed": plan.seed,
        "budget": plan.budget,
        "generations": plan.generations,
        "panel": list(plan.panel),
        "notes": notes,
    }
    return schedule


def _require_shares(strategy: str, calls: Mapping[str, int] | None, others: list[str]) -> None:
    """Refuse a stratified schedule without calls, calls of another strategy, idle arguments."""
    if strategy != STRATIFIED:
        raise BayesJudgeError(
            f"calls by judge are for strategy={STRATIFIED!r}; with {strategy!r} the shares follow "
            "from the strategy. Leave them out, or name that strategy."
        )
    if not isinstance(calls, Mapping) or not calls:
        raise BayesJudgeError(
            f"strategy={STRATIFIED!r} needs calls by judge, such as calls={{'a': 30, 'b': 10}}: "
            "bayesjudge.plan with prices by judge gives them."
        )
    if others:
        raise BayesJudgeError(f"{listed(others)}: of no effect with strategy={STRATIFIED!r}.")


def _stratified(
    frame: pd.DataFrame,
    notes: list[str],
    panel: Iterable[object],
    calls: Mapping[str, int],
    budget: int | None,
    models: Iterable[object] | None,
    seed: int,
) -> pd.DataFrame:
    judges, said = read_panel(panel)
    evaluated, more = read_models(models)
    seed = require_whole("seed", seed, 0)
    schedule, each, order = by_shares(frame, judges, calls, evaluated, budget, seed)
    weighs = (
        f"Each judge weighs 1/{len(judges)} in the score: average the judges' means, not calls."
    )
    schedule.attrs = {
        "strategy": STRATIFIED,
        "seed": seed,
        "budget": each,
        "generations": each,
        "panel": list(order),
        "notes": notes + said + more + [weighs],
    }
    return schedule


def _planned(
    panel: Iterable[object],
    strategy: str,
    budget: int | None,
    generations: int | None,
    models: Iterable[object] | None,
    families: Mapping[str, str] | None,
    exclude: bool,
    seed: int,
) -> tuple[Plan, list[str]]:
    judges, notes = read_panel(panel)
    asked = parse_strategy(strategy, len(judges))
    if len(judges) < 2 and asked.kind != "subset":
        raise BayesJudgeError(
            f"The panel is {judges[0]!r} alone: with one judge every strategy is the same, and how "
            "lenient it is can't be told from how good the models are. Add judges, or say "
            "strategy='single'."
        )
    evaluated, said = read_models(models)
    seed = require_whole("seed", seed, 0)
    order = shuffled_panel(judges, seed)
    plan = Plan(
        strategy=asked,
        panel=order,
        models=evaluated,
        allowed=may_score(order, evaluated, families, exclude),
        generations=_generations(asked, budget, generations),
        seed=seed,
    )
    require_enough(plan)
    return plan, notes + said


def _generations(strategy: Strategy, budget: int | None, generations: int | None) -> int:
    if budget is None:
        return 1 if generations is None else require_whole("generations", generations, 1)
    budget = require_whole("budget", budget, 1)
    if why := why_unreachable(strategy, budget):
        raise BayesJudgeError(f"{why}.")
    found = budget // strategy.judges
    if generations is not None and require_whole("generations", generations, 1) != found:
        raise BayesJudgeError(
            f"budget = {budget} and generations = {generations} do not agree: strategy "
            f"{strategy.name!r} has {counted(strategy.judges, 'call')} of each generation, so that "
            f"{counted(generations, 'generation')} are a budget of "
            f"{generations * strategy.judges}, and a budget of {budget} is "
            f"{counted(found, 'generation')}. Give one of the two."
        )
    return found


def _not_in(frame: pd.DataFrame, earlier: Earlier) -> tuple[pd.DataFrame, list[str]]:
    """Return the scenarios that an earlier schedule does not have, and what to say of others."""
    there = frame["scenario"].isin(earlier.scenarios)
    fresh = frame[~there].reset_index(drop=True)
    # A scenario in another spelling would be scored twice.
    both = pd.DataFrame({"scenario": [*earlier.scenarios, *fresh["scenario"]]}, dtype=object)
    read_once(RawTable(both, f"{earlier.raw.source} with scenarios"), "scenario")
    first = len(earlier.scenarios)
    have = counted(first, "scenario is", "scenarios are")
    notes = [f"{have} scheduled already ({earlier.raw.source}), {len(fresh):,} added."]
    absent = first - int(there.sum())
    if absent:
        notes.append(
            f"{absent:,} of those scheduled already are not among the scenarios given; their rows "
            "are kept."
        )
    return fresh, notes


def _laid_out(plan: Plan, frame: pd.DataFrame, first: int, earlier: Earlier | None) -> pd.DataFrame:
    """Lay out the calls of scenarios that follow `first` others, and put those in front."""
    if earlier is not None and not len(frame):
        return earlier.frame
    ranked = np.argsort(frame["scenario"].to_numpy(dtype=object), kind="stable")
    order = ranked[shuffled_scenarios(len(frame), first, plan.seed)]
    rows = rotation.calls(plan, first, len(frame))
    columns = {
        "scenario": frame["scenario"].take(order[rows.scenario]).reset_index(drop=True),
        "generation": rows.generation,
        "judge": pd.Index(plan.panel, dtype="str").take(rows.judge),
    }
    if plan.models:
        columns = {"model": pd.Index(plan.models, dtype="str").take(rows.model)} | columns
    others = frame.drop(columns="scenario").take(order[rows.scenario]).reset_index(drop=True)
    schedule = pd.concat([pd.DataFrame(columns), others], axis=1)
    if earlier is None:
        return schedule
    old = as_in(earlier, schedule)
    return pd.concat([old, schedule[old.columns]], ignore_index=True)
