"""JSON Lines and JSON arrays of records as raw tables."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.errors import ScoreError
from bayesjudge.raw import RawTable
from bayesjudge.readers.files import read_text

if TYPE_CHECKING:
    from pathlib import Path

Record = dict[str, Any]


def read_jsonl(path: Path) -> RawTable:
    """Read a file with one JSON object per line; blank lines are skipped.

    Raises
    ------
    ScoreError
        If a line is not a JSON object; the message names it.
    """
    records: list[Record] = []
    lines: list[int] = []
    # Not splitlines(): JSON texts may hold other line separators than the line feed.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        records.append(_record(_parse(line, f"Line {number:,} of {path}"), number, path))
        lines.append(number)
    return RawTable(_frame(records), str(path), lines=np.array(lines, dtype=np.int64))


def read_json(path: Path) -> RawTable:
    """Read a file that is one JSON array of objects.

    Raises
    ------
    ScoreError
        If it is anything else.
    """
    found = _parse(read_text(path), str(path))
    if not isinstance(found, list):
        raise ScoreError(
            f"{path} holds a JSON {_kind(found)}; an array of records is needed, "
            '[{"model": ..., "score": ...}, ...], or one object per line with format="jsonl".'
        )
    for number, record in enumerate(found, start=1):
        if not isinstance(record, dict):
            raise ScoreError(
                f"Record {number:,} of {path} is a JSON {_kind(record)}; every record must be an "
                'object such as {"model": ..., "score": ...}.'
            )
    if not found:
        raise ScoreError(f"{path} is an empty array; a score table needs at least one record.")
    return RawTable(_frame(found), str(path))


def _parse(text: str, what: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except _RepeatedKeyError as repeated:
        raise ScoreError(f"{what} has the key {str(repeated)!r} twice in one object.") from None
    except (ValueError, RecursionError) as error:
        reason = str(error) or "it is nested too deeply"
        raise ScoreError(f"{what} is not valid JSON: {reason}.") from None


class _RepeatedKeyError(Exception):
    """One key twice in an object; JSON readers would silently keep the last."""


def _unique(pairs: list[tuple[str, Any]]) -> Record:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _RepeatedKeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return record


def _record(found: object, number: int, path: Path) -> Record:
    if isinstance(found, dict):
        return found
    raise ScoreError(
        f"Line {number:,} of {path} holds a JSON {_kind(found)}; every line must be an object "
        'such as {"model": ..., "score": ...}.'
    )


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {dict: "object", list: "array", str: "string", bool: "boolean"}
    return names.get(type(value), "number")


def _frame(records: list[Record]) -> pd.DataFrame:
    # As objects: integers beside nulls would become floats, and identifiers lose digits.
    return pd.DataFrame(records, dtype=object)
