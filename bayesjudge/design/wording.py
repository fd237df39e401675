"""What the audit of a table says, in words. The numbers are computed elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import pandas as pd

from bayesjudge.terms import parts
from bayesjudge.wording import SHOWN, counted, listed

if TYPE_CHECKING:
    from bayesjudge.design.check import ModelDesign
    from bayesjudge.scores import ScoreTable

T = TypeVar("T")

# Below this many degrees of freedom a variance is known to no better than a factor of about
# two either way, and its prior shows.
FEW_DF = 20
MOST_ROWS = 40  # of the table of models

# What can be true of a table and hide the difference between two terms.
NO_REPEAT = "no call is repeated"
ONE_GENERATION = "each scenario has one generation"
NO_SHARED_GENERATION = "no generation was scored by two judges"
NO_SECOND_GENERATION = "no judge saw two generations of a scenario"
NO_SHARED_SCENARIO = "no scenario was scored by two judges"
BEHIND_JUDGES = "what would tell them apart can't be told from the judges' own means"
MIXED = (
    "known only in combinations: the design mixes kinds of scenarios, and what tells the terms "
    "apart in some of them is missing in the others"
)

# Why two terms can't be told apart. Earlier lines are the plainer ones.
REASONS = (
    ("generation:judge", "residual", NO_REPEAT),
    ("scenario", "generation", ONE_GENERATION),
    ("generation", "residual", NO_SHARED_GENERATION),
    ("generation", "generation:judge", NO_SHARED_GENERATION),
    ("scenario:judge", "generation:judge", NO_SECOND_GENERATION),
    ("scenario", "scenario:judge", NO_SHARED_SCENARIO),
    ("scenario:judge", "residual", NO_SECOND_GENERATION),
)


def reasons(name: str, facts: Collection[str]) -> list[str]:
    """Say why the terms of a sum can't be told apart, with no more reasons than needed.

    Parameters
    ----------
    name : str
        Name of the sum.
    facts : collection of str
        Which of the reasons hold for the table.
    """
    group = {term: term for term in parts(name)}
    found = []
    for one, other, reason in REASONS:
        if reason in facts and one in group and other in group and group[one] != group[other]:
            found.append(reason)
            old, new = group[other], group[one]
            group = {term: new if own == old else own for term, own in group.items()}
    if len(set(group.values())) > 1:
        found.append(BEHIND_JUDGES)
    return list(dict.fromkeys(found))


def warnings(
    scores: ScoreTable, details: Sequence[ModelDesign], duplicates: pd.DataFrame
) -> Iterator[str]:
    """Say what a user should know before believing a fit."""
    yield from _missing(scores)
    yield from _silent(scores)
    yield from _first(_subsets(scores, details))
    yield from _first(_unconnected(scores, details))
    yield from _gathered(details, ((d, text) for d in details for text in _absent(d)))
    yield from _first(_thin(details))
    yield from _first(_duplicates(duplicates))


def _first(texts: Iterable[str]) -> Iterator[str]:
    """Say some of the warnings of one kind, and how many more there are."""
    found = list(texts)
    yield from found[:SHOWN]
    if len(found) > SHOWN:
        more = counted(len(found) - SHOWN, "more warning")
        yield f"And {more} like the one before: the same holds for other models or judges."


def _for(details: Sequence[ModelDesign], some: Sequence[ModelDesign]) -> str:
    """Name the evaluated models that something holds for, unless it holds for all."""
    return "" if len(some) == len(details) else f"{listed([d.model for d in some])}: "


def _alike(
    details: Iterable[ModelDesign], key: Callable[[ModelDesign], T]
) -> dict[T, list[ModelDesign]]:
    """Gather the evaluated models that have something in common."""
    found: dict[T, list[ModelDesign]] = {}
    for detail in details:
        found.setdefault(key(detail), []).append(detail)
    return found


def _gathered(
    details: Sequence[ModelDesign], found: Iterable[tuple[ModelDesign, str]]
) -> Iterator[str]:
    """Say once what holds for several evaluated models."""
    by_text: dict[str, list[ModelDesign]] = {}
    for detail, text in found:
        by_text.setdefault(text, []).append(detail)
    for text, some in by_text.items():
        yield f"{_for(details, some)}{text}"


def _span(values: Iterable[float], form: str = "g") -> str:
    """Write a range of numbers, or the number when they look the same."""
    ends = list(dict.fromkeys(format(f(values), form) for f in (min, max)))  # type: ignore[operator]
    return " to ".join(ends)
