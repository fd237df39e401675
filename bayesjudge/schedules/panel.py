"""The labels that a schedule is made of: read as the score table reads them, and each once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bayesjudge.errors import BayesJudgeError
from bayesjudge.scores.labels import natural_order, read_labels
from bayesjudge.scores.raw import RawTable, from_dataframe
from bayesjudge.wording import counted, did_you_mean, quoted

FACETS = ("model", "scenario", "generation", "judge")


def read_panel(panel: Any) -> tuple[tuple[str, ...], list[str]]:
    """Read the labels of judges.

    Parameters
    ----------
    panel : iterable of labels

    Returns
    -------
    judges : tuple of str
        Sorted, so that the order they are given in does not matter.
    notes : list of str
        What was changed.

    Raises
    ------
    BayesJudgeError
        When it is no list of labels, is empty, or repeats a judge.
    """
    labels, notes = read_once(_as_table("panel", "judge", panel), "judge")
    return tuple(sorted(labels)), notes


def read_models(models: Any) -> tuple[tuple[str, ...], list[str]]:
    """Read the labels of evaluated models, in natural order; as `read_panel`."""
    if models is None:
        return (), []
    labels, notes = read_once(_as_table("models", "model", models), "model")
    return natural_order(labels), notes


def read_scenarios(scenarios: Any) -> tuple[pd.DataFrame, list[str]]:
    """Read scenarios, and what is known of them.

    Parameters
    ----------
    scenarios : iterable of labels, or DataFrame with a column ``scenario``

    Returns
    -------
    frame : DataFrame
        Column ``scenario``, then any others.
    notes : list of str
        What was changed.

    Raises
    ------
    BayesJudgeError
        When there are none, one comes twice, or the columns are not what is needed.
    """
    if isinstance(scenarios, pd.DataFrame):
        if not len(scenarios):
            raise BayesJudgeError("scenarios has no rows: give at least one scenario.")
        raw = from_dataframe(scenarios, "scenarios")
        _require_columns(list(raw.frame.columns))
    else:
        raw = _as_table("scenarios", "scenario", scenarios)
    labels, notes = read_once(raw, "scenario")
    others = raw.frame.drop(columns="scenario")
    return pd.concat([labels.rename("scenario"), others], axis=1), notes


def read_once(raw: RawTable, facet: str) -> tuple[pd.Series, list[str]]:
    """Read a column of labels that must come once each, as text."""
    values = raw.frame[facet]
    blank = values.isna() | values.map(lambda value: isinstance(value, str) and not value.strip())
    if blank.any():
        rows = np.flatnonzero(blank)
        raise BayesJudgeError(
            f"{raw.source}: {raw.first(rows)} has no {facet} label. Fill it in, or leave it out."
        )
    read, notes = read_labels(values, facet, raw)
    labels = read.astype("str")
    repeated = labels[labels.duplicated()]
    if len(repeated):
        first = repeated.iloc[0]
        rest = repeated.nunique() - 1
        others = f" (and {counted(rest, 'other')})" if rest else ""
        raise BayesJudgeError(
            f"{raw.source} has the {facet} {first!r} more than once: "
            f"{raw.first(np.flatnonzero(labels == first))}{others}. Give each {facet} once."
        )
    return labels, notes


def _as_table(argument: str, facet: str, given: Any) -> RawTable:
    if isinstance(given, str | bytes | Mapping | pd.DataFrame) or not isinstance(given, Iterable):
        raise BayesJudgeError(
            f"{argument} must be a list of {facet} labels, such as ['a', 'b'], and is "
            f"{given!r:.60} ({type(given).__name__})."
        )
    values = list(given)
    if not values:
        raise BayesJudgeError(f"{argument} is empty: give at least one {facet}.")
    return RawTable(pd.DataFrame({facet: pd.Series(values, dtype=object)}), argument)


def _require_columns(names: list[str]) -> None:
    if "scenario" not in names:
        raise BayesJudgeError(
            f"scenarios has no column 'scenario'.{did_you_mean('scenario', names)} Its columns are "
            f"{quoted(names)}: rename the one with the labels."
        )
    taken = [name for name in names if name in FACETS and name != "scenario"]
    if taken:
        raise BayesJudgeError(
            f"scenarios has the column {quoted(taken)}, which the schedule itself writes. Drop or "
            "rename it; a table of scenarios has one row for each scenario."
        )
