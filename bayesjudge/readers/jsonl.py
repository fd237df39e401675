"""JSON Lines and JSON arrays of records as raw tables."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.errors import ScoreError
from bayesjudge.readers.files import read_text
from bayesjudge.scores.raw import RawTable

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
    # Not splitlines(): JSON texts may hold other line separators than the line feed.
    written = read_text(path).split("\n")
    numbers = [i for i, line in enumerate(written, start=1) if line and not line.isspace()]
    records = [record_of(written[number - 1], number, path) for number in numbers]
    return RawTable(frame_of(records, path), str(path), lines=np.array(numbers, dtype=np.int64))


def read_json(path: Path) -> RawTable:
    """Read a file that is one JSON array of objects.

    Raises
    ------
    ScoreError
        If it is anything else.
    """
    found = _parse(read_text(path), path)
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
    return RawTable(frame_of(found, path), str(path))


def _parse(text: str, path: Path, line: int | None = None) -> object:
    try:
        return _DECODER.decode(text)
    except _RepeatedKeyError as repeated:
        problem = f"has the key {str(repeated)!r} twice in one object"
    except (ValueError, RecursionError) as error:
        problem = f"is not valid JSON: {str(error) or 'it is nested too deeply'}"
    where = str(path) if line is None else f"Line {line:,} of {path}"
    raise ScoreError(f"{where} {problem}.")


class _RepeatedKeyError(Exception):
    """One key twice in an object; JSON readers would silently keep the last."""


def _unique(pairs: list[tuple[str, Any]]) -> Record:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _RepeatedKeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)  # made once: lines are many


def record_of(line: str, number: int, path: Path) -> Record:
    """Read one line as an object.

    Raises
    ------
    ScoreError
        If it is anything else; the message names the line.
    """
    found = _parse(line, path, number)
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


def frame_of(records: list[Record], path: Path) -> pd.DataFrame:
    """Make a frame of records, one row each, values as found."""
    # As objects: integers beside nulls would become floats, and identifiers lose digits.
    try:
        return pd.DataFrame(records, dtype=object)
    except UnicodeEncodeError as error:
        raise ScoreError(f"A key in {path} is not valid Unicode: {error.object!r}.") from None
