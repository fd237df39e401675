"""Schedules in files: CSV, which a spreadsheet may open, or JSON Lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from bayesjudge.atomic import written_whole
from bayesjudge.errors import BayesJudgeError
from bayesjudge.readers import read_table
from bayesjudge.schedules.panel import FACETS
from bayesjudge.scores.raw import RawTable
from bayesjudge.wording import counted

ENDINGS = (".csv", ".jsonl")

# Apostrophes of a label's own count: it gets one more, and loses just that.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")


def require_ending(path: str | Path) -> Path:
    """Return the path of a schedule, or refuse its ending."""
    found = Path(path)
    if found.suffix not in ENDINGS:
        raise BayesJudgeError(
            f"{found}: a schedule is written to a file that ends in {' or '.join(ENDINGS)}, not "
            f"{found.suffix!r}."
        )
    return found


def write_schedule(schedule: pd.DataFrame, path: str | Path) -> list[str]:
    """Write a schedule, whole or not at all.

    In CSV, a text that a spreadsheet would take for a formula gets an apostrophe in front;
    `read_schedule` takes it away again. JSON Lines holds every text as it is.

    Parameters
    ----------
    schedule : DataFrame
        From `assign`.
    path : str or Path
        Ends in ``.csv`` or ``.jsonl``.

    Returns
    -------
    list of str
        What was changed, as sentences.

    Raises
    ------
    BayesJudgeError
        When the ending is another, or the file can't be written.
    """
    path, notes = require_ending(path), []
    if path.suffix == ".csv":
        guarded = schedule.apply(_changed, pattern=_FORMULA, change=lambda text: f"'{text}")
        content = guarded.to_csv(index=False, lineterminator="\n")
        changed = {
            text
            for name in FACETS
            if name in schedule
            for text in schedule[name].unique().tolist()
            if isinstance(text, str) and _FORMULA.match(text)
        }
        if changed:
            notes.append(
                f"In {path}, an apostrophe was put in front of {counted(len(changed), 'label')} "
                f"that a spreadsheet would take for a formula ({min(changed)!r}). A program that "
                "follows the schedule must take it away, or read .jsonl, which has none."
            )
    else:
        content = _json_lines(schedule)
    try:
        with written_whole(path) as temporary:
            temporary.write_text(content, encoding="utf-8", newline="")
    except OSError as error:
        raise BayesJudgeError(f"can't write {path}: {error.strerror or error}.") from error
    return notes


def read_schedule(path: str | Path) -> RawTable:
    """Read what `write_schedule` wrote.

    Raises
    ------
    ScoreError
        If the file can't be read.
    """
    raw = read_table(path)
    if not raw.textual:
        return raw
    frame = raw.frame.apply(_changed, pattern=_GUARDED, change=lambda text: text[1:])
    return replace(raw, frame=frame)


def _changed(
    column: pd.Series, pattern: re.Pattern[str], change: Callable[[str], str]
) -> pd.Series:
    """Change the texts of a column that begin with a pattern."""

    def one(value: object) -> object:
        return change(value) if isinstance(value, str) and pattern.match(value) else value

    return column.map(one) if column.dtype.kind == "O" else column


def _json_lines(schedule: pd.DataFrame) -> str:
    cells = []
    for name in schedule.columns:
        if name in FACETS:
            codes, distinct = pd.factorize(schedule[name])
            known = [_json(name, value) for value in distinct]
            texts = [known[code] for code in codes]
        else:
            texts = [_json(name, value) for value in schedule[name]]
        key = json.dumps(str(name), ensure_ascii=False)
        cells.append([f"{key}: {text}" for text in texts])
    return "".join(f"{{{', '.join(row)}}}\n" for row in zip(*cells, strict=True))


def _json(name: str, value: Any) -> str:
    if pd.api.types.is_scalar(value):
        value = None if pd.isna(value) else value.item() if hasattr(value, "item") else value
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        raise BayesJudgeError(
            f"The column {name!r} holds {value!r}, which JSON can't: write .csv, or replace it."
        ) from None
