"""Where a finished run departs from the schedule that it was to follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bayesjudge.errors import BayesJudgeError
from bayesjudge.schedules.earlier import read_earlier
from bayesjudge.schedules.panel import FACETS
from bayesjudge.scores.labels import natural_order
from bayesjudge.wording import quoted

KINDS = ("made", "failed", "replaced", "not_made", "unplanned")
_FIRST = 5  # rows of each kind that are listed
_ANSWER = list(FACETS[:3])
_CALL = list(FACETS)


@dataclass(frozen=True, eq=False)
class Planned:
    """A schedule to hold a run against.

    Attributes
    ----------
    calls : DataFrame
        Columns model, scenario, generation, judge, all text: one row a call.
    source : str
        Where it was read.
    """

    calls: pd.DataFrame
    source: str


def read_planned(schedule: pd.DataFrame | str | Path, models: Sequence[str]) -> Planned:
    """Read a schedule.

    Parameters
    ----------
    schedule : DataFrame, or path of a .csv or .jsonl file
        As from `bayesjudge.assign`.
    models : sequence of str
        Whose schedule it is, where it names no models.

    Raises
    ------
    BayesJudgeError
        When it is no schedule, or has a call twice.
    """
    found = read_earlier(schedule, "schedule")
    calls = found.frame[[name for name in FACETS if name in found.frame]].astype(str)
    twice = np.flatnonzero(calls.duplicated())
    if len(twice):
        raise BayesJudgeError(
            f"{found.raw.source} has the call in {found.raw.at(int(twice[0]))} twice. Each call of "
            "a schedule must be there once: drop the second."
        )
    if "model" not in calls:
        calls = calls.merge(pd.DataFrame({"model": list(models)}), how="cross")
    return Planned(calls[_CALL], found.raw.source)


def departures(planned: Planned, frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare a run with its schedule.

    Each planned call is one of ``made`` (it has a score), ``failed`` (it was made, and its score is
    missing), ``replaced`` (it has no score, and another judge, who was not to, scored that
    generation) or ``not_made``. Calls that nobody planned, and that replace none, are
    ``unplanned``: a second call of a judge among them.

    Parameters
    ----------
    planned : Planned
        The schedule.
    frame : DataFrame
        Of a `ScoreTable`.

    Returns
    -------
    counts : DataFrame
        Index model: ``planned``, then a column for each kind.
    rows : DataFrame
        Columns ``kind``, model, scenario, generation, ``planned`` and ``scored_by`` (judges): the
        first of each kind that is a departure, in natural order of the labels.

    Raises
    ------
    BayesJudgeError
        When the two have no scenario and generation in common.
    """
    _require_overlap(planned, frame)
    made = frame[_CALL].astype(str).assign(scored=frame["score"].notna().to_numpy())
    # A call that was repeated after it failed was made, and the failed one is one too many.
    made = made.sort_values("scored", ascending=False, kind="stable")
    made["again"] = made.groupby(_CALL).cumcount()
    both = planned.calls.assign(again=0).merge(
        made, on=[*_CALL, "again"], how="outer", indicator="found"
    )
    both = _in_order(both)
    scored = both["scored"].eq(True)
    due, extra = both["found"] != "right_only", both["found"] == "right_only"
    kind = np.select(
        [extra, scored, both["found"] == "both"], ["unplanned", "made", "failed"], "not_made"
    )
    lacking = both[due & ~scored].assign(gone=kind[due & ~scored] == "failed")
    # Who was never called was replaced rather than who failed.
    lacking = lacking.sort_values("gone", kind="stable")
    by = _paired(lacking, both[extra & scored])
    kind[by.index] = "replaced"
    scored_by = both["judge"].where(scored, "")
    scored_by.loc[by.index] = by["judge"]
    told = both.assign(kind=kind, scored_by=scored_by, planned=both["judge"].where(due, ""))
    told = told.drop(index=by["place"].tolist())
    counts = pd.crosstab(told["model"], told["kind"]).reindex(columns=KINDS, fill_value=0)
    counts = counts.loc[list(natural_order(counts.index))]
    counts.insert(0, "planned", counts[list(KINDS[:-1])].sum(axis=1))
    counts.columns.name = None
    rows = pd.concat([told[told["kind"] == name].head(_FIRST) for name in KINDS[1:]])
    return counts, rows[["kind", *_ANSWER, "planned", "scored_by"]].reset_index(drop=True)


def _in_order(calls: pd.DataFrame) -> pd.DataFrame:
    """Sort calls by their labels, so that the order of rows does not matter."""
    keys = [
        pd.Index(natural_order(calls[name].unique())).get_indexer(pd.Index(calls[name]))
        for name in _CALL
    ]
    order = np.lexsort([calls["again"].to_numpy(), *reversed(keys)])
    return calls.iloc[order].reset_index(drop=True)


def _paired(lacking: pd.DataFrame, extra: pd.DataFrame) -> pd.DataFrame:
    """Pair planned calls without a score with others on the same generation.

    Returns a frame with the index of those of `lacking` that have one; columns ``judge`` and
    ``place`` (index in `extra`).
    """
    left = lacking[_ANSWER].assign(n=lacking.groupby(_ANSWER).cumcount(), row=lacking.index)
    right = extra[[*_ANSWER, "judge"]].assign(
        n=extra.groupby(_ANSWER).cumcount(), place=extra.index
    )
    return left.merge(right, on=[*_ANSWER, "n"]).set_index("row")[["judge", "place"]]


def _require_overlap(planned: Planned, frame: pd.DataFrame) -> None:
    answers = pd.MultiIndex.from_frame(planned.calls[_ANSWER])
    here = pd.MultiIndex.from_frame(frame[_ANSWER].astype(str))
    if here.isin(answers).any():
        return
    said = []
    for name in _ANSWER:
        table, due = set(frame[name].astype(str)), set(planned.calls[name])
        if not table & due:
            said.append(
                f"{name}s are {quoted(natural_order(table), limit=3)} in the table and "
                f"{quoted(natural_order(due), limit=3)} in the schedule"
            )
    raise BayesJudgeError(
        f"No generation of the table is in {planned.source}"
        f"{': ' + '; '.join(said) if said else ''}. Labels must agree: give the schedule that the "
        "run followed, or rename."
    )
