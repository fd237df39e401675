"""An earlier schedule that is carried on: read, and held against what the arguments give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from bayesjudge.allocations.strategies import STRATEGIES, Strategy, parse_strategy
from bayesjudge.errors import BayesJudgeError
from bayesjudge.schedules.panel import FACETS
from bayesjudge.schedules.rotation import BoolArray, Calls, IntArray, Plan, calls, shuffled_panel
from bayesjudge.schedules.storage import read_schedule
from bayesjudge.scores.labels import read_labels
from bayesjudge.scores.raw import RawTable, from_dataframe
from bayesjudge.wording import did_you_mean, listed, quoted

_LOOKED_AT = 100  # scenarios that are enough to rule out most of what else a schedule may be


@dataclass(frozen=True, eq=False)
class Earlier:
    """An earlier schedule.

    Attributes
    ----------
    frame : DataFrame
        Its rows as they stand: model (where named), scenario, generation, judge, other columns.
    scenarios : tuple of str
        In the order of their first rows, which is that of the rotation.
    raw : RawTable
        As it was found, to name rows.
    """

    frame: pd.DataFrame
    scenarios: tuple[str, ...]
    raw: RawTable


def read_earlier(source: Any, argument: str = "continue_from") -> Earlier:
    """Read an earlier schedule.

    Parameters
    ----------
    source : DataFrame, or path of a .csv or .jsonl file
    argument : str
        What it was given as, for the messages.

    Raises
    ------
    BayesJudgeError
        When it is no schedule.
    """
    if isinstance(source, str | Path):
        raw = read_schedule(source)
    elif isinstance(source, pd.DataFrame):
        raw = from_dataframe(source, argument)
    else:
        raise BayesJudgeError(
            f"{argument} is of type {type(source).__name__}: it must be an earlier schedule, a "
            "DataFrame or the path of a .csv or .jsonl file."
        )
    names = list(raw.frame.columns)
    for facet in FACETS[1:]:
        if facet not in names:
            raise BayesJudgeError(
                f"{raw.source} is no schedule: it has no column {facet!r}."
                f"{did_you_mean(facet, names)} Its columns are {quoted(names)}."
            )
    facets = [facet for facet in FACETS if facet in names]
    frame = raw.frame[[*facets, *(name for name in names if name not in FACETS)]].infer_objects()
    for facet in facets:
        frame[facet] = (
            _numbers(raw) if facet == "generation" else _labels(raw.frame[facet], facet, raw)
        )
    return Earlier(frame, tuple(frame["scenario"].unique().tolist()), raw)


def require_same(earlier: Earlier, plan: Plan) -> None:
    """Refuse an earlier schedule that is not what the plan gives, row by row.

    Raises
    ------
    BayesJudgeError
        Saying the first difference, and what the schedule is instead, where that can be told.
    """
    _require_models(earlier, plan)
    source, frame = earlier.raw.source, earlier.frame
    strange = np.flatnonzero(~frame["judge"].isin(plan.panel))
    if len(strange):
        raise BayesJudgeError(
            f"The panel differs: in {earlier.raw.at(int(strange[0]))} of {source} the judge is "
            f"{frame['judge'].iloc[strange[0]]!r}, and the panel is {quoted(sorted(plan.panel))}. "
            "Continue with the panel it was made with, or begin a new schedule."
        )
    found = _numbered(frame, earlier.scenarios, plan)
    difference = _difference(found, plan, earlier)
    if not difference:
        return
    instead = next(_instead(found, plan), "")
    advice = (
        f"It is what this gives: {instead}. Ask for the same, or begin a new schedule."
        if instead
        else "Its strategy, budget, seed, panel or families were others; or rows were changed or "
        "put in another order: the order of the scenarios is that of the rotation."
    )
    raise BayesJudgeError(
        f"{source} is not what strategy {plan.strategy.name!r} with budget {plan.budget} "
        f"({plan.generations} x {plan.strategy.judges}), seed {plan.seed} and this panel of "
        f"{len(plan.panel)} gives, so it can't be carried on. {difference} {advice}"
    )


def as_in(earlier: Earlier, fresh: pd.DataFrame) -> pd.DataFrame:
    """Return the earlier rows, fit to stand above new ones.

    Raises
    ------
    BayesJudgeError
        When the columns differ.
    """
    frame = earlier.frame.copy()
    here, there = list(frame.columns), list(fresh.columns)
    differing = [name for name in [*here, *there] if (name in here) != (name in there)]
    if differing:
        where = f"{earlier.raw.source} has" if differing[0] in here else "the new scenarios have"
        raise BayesJudgeError(
            f"Only {where} the column {quoted(differing)}. Give the new scenarios the same columns "
            f"as the earlier ones: {quoted([n for n in here if n not in FACETS]) or 'no others'}."
        )
    for name in here:
        # A CSV file has no types: its numbers are texts.
        if name in FACETS or not earlier.raw.textual or not is_numeric_dtype(fresh[name]):
            continue
        texts = frame[name].where(frame[name] != "")
        numbers = pd.to_numeric(texts, errors="coerce")
        if numbers.isna().equals(texts.isna()):
            frame[name] = numbers
    return frame


def _labels(values: pd.Series, facet: str, raw: RawTable) -> pd.Series:
    return read_labels(values, facet, raw)[0].astype("str")


def _numbers(raw: RawTable) -> pd.Series:
    numbers = pd.to_numeric(raw.frame["generation"], errors="coerce")
    bad = np.flatnonzero(~(numbers >= 1) | (numbers % 1 != 0))
    if len(bad):
        value = str(raw.frame["generation"].iloc[bad[0]])
        raise BayesJudgeError(
            f"{raw.source} is no schedule: the generation in {raw.at(int(bad[0]))} is {value!r}, "
            "and must be a whole number from 1."
        )
    return numbers.astype(np.int64)


def _require_models(earlier: Earlier, plan: Plan) -> None:
    source = earlier.raw.source
    found = sorted(earlier.frame["model"].unique()) if "model" in earlier.frame else []
    if set(found) != set(plan.models):
        raise BayesJudgeError(
            f"The models differ: {source} is for {quoted(found) or 'models without names'}, and "
            f"{quoted(plan.models) or 'no models'} are asked for. Continue with the models it was "
            "made for, or begin a new schedule."
        )


def _numbered(frame: pd.DataFrame, scenarios: tuple[str, ...], plan: Plan) -> Calls:
    """Turn the labels of a frame into numbers, as in `calls`."""

    def codes(name: str, labels: tuple[str, ...]) -> IntArray:
        return pd.Index(labels).get_indexer(pd.Index(frame[name])).astype(np.int64)

    return Calls(
        scenario=codes("scenario", scenarios),
        model=codes("model", plan.models) if plan.models else np.zeros(len(frame), np.int64),
        generation=frame["generation"].to_numpy(),
        judge=codes("judge", plan.panel),
    )


def _keys(made: Calls, generations: int, plan: Plan) -> IntArray:
    """Give each row a number that only the same call has."""
    answer = made.scenario * len(plan.allowed) + made.model
    return (answer * (generations + 1) + made.generation) * len(plan.panel) + made.judge


def _both(found: Calls, plan: Plan) -> tuple[IntArray, IntArray, Calls]:
    """Return the numbers of the rows found and expected, and the expected rows."""
    expected = calls(plan, 0, int(found.scenario.max()) + 1)
    most = max(int(found.generation.max()), plan.generations)
    return _keys(found, most, plan), _keys(expected, most, plan), expected


def _same(found: Calls, plan: Plan) -> bool:
    own, due, _ = _both(found, plan)
    return len(own) == len(due) and bool((np.sort(own) == np.sort(due)).all())


def _difference(found: Calls, plan: Plan, earlier: Earlier) -> str:
    """Say the first difference; empty where there is none."""
    own, due, expected = _both(found, plan)
    if np.array_equal(own, due):
        return ""
    names = np.array(plan.panel, dtype=object)
    twice = np.flatnonzero(pd.Series(own).duplicated())
    if len(twice):
        return f"The call in {earlier.raw.at(int(twice[0]))} is there twice."
    strange = np.flatnonzero(~np.isin(own, due))
    if len(strange):
        row = int(strange[0])
        scenario, generation = found.scenario[row], found.generation[row]
        here = (expected.scenario == scenario) & (expected.generation == generation)
        here &= expected.model == found.model[row]
        due_to = names[expected.judge[here]]
        return (
            f"The first difference: {earlier.raw.at(row)} gives generation {generation} of "
            f"scenario {earlier.scenarios[scenario]!r} to {names[found.judge[row]]!r}; here "
            + (f"it has {quoted(due_to)}." if len(due_to) else "there is no such call.")
        )
    missing = np.flatnonzero(~np.isin(due, own))
    if not len(missing):
        return ""
    row = int(missing[0])
    return (
        f"It has no call of {names[expected.judge[row]]!r} for generation "
        f"{expected.generation[row]} of scenario {earlier.scenarios[expected.scenario[row]]!r}."
    )


def _instead(found: Calls, plan: Plan) -> Iterator[str]:
    """Say what else would have given these rows."""
    few = found.scenario < _LOOKED_AT
    first = Calls(*(part[few] for part in vars(found).values()))
    generations = int(found.generation.max())
    if generations > len(found.generation):
        return
    in_one = (first.scenario == 0) & (first.model == 0) & (first.generation == 1)
    k = max(1, int(in_one.sum()))
    there = sorted(plan.panel[place] for place in np.unique(found.judge))
    panels = [plan.panel]
    if 1 < len(there) < len(plan.panel):
        panels.append(shuffled_panel(tuple(there), plan.seed))
    for panel in panels:
        of = np.array([plan.panel.index(judge) for judge in panel])
        place = np.full(len(plan.panel), -1)
        place[of] = np.arange(len(panel))
        rows = replace(first, judge=place[first.judge])
        for allowed in (plan.allowed[:, of], np.ones((len(plan.allowed), len(of)), dtype=bool)):
            for name in (plan.strategy.name, *STRATEGIES, f"subset-{k}", f"cyclic-{k}"):
                strategy = _strategy(name, allowed)
                if strategy is None:
                    continue
                other = Plan(strategy, panel, plan.models, allowed, generations, plan.seed)
                if _same(rows, other) and _same(replace(found, judge=place[found.judge]), other):
                    yield _described(other, plan)


def _strategy(name: str, allowed: BoolArray) -> Strategy | None:
    """Read a strategy, if there are judges enough for it."""
    size = name.rpartition("-")[2]
    if size.isdecimal() and int(size) > allowed.shape[1]:
        return None
    strategy = parse_strategy(name, allowed.shape[1])
    need = 1 if strategy.kind == "all" else strategy.judges
    return strategy if (allowed.sum(axis=1) >= need).all() else None


def _described(other: Plan, plan: Plan) -> str:
    said = [f"strategy {other.strategy.name!r}, budget {other.budget}"]
    if other.panel != plan.panel:
        said.append(f"a panel of {listed(sorted(other.panel))}")
    if other.allowed.all() and not plan.allowed.all():
        said.append("no exclusion of families")
    return ", ".join(said)
