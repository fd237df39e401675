"""Tables that are read in parts: what is kept of each, and how parts become one table.

A part holds the rows that the filter keeps, with labels as numbers and scores as numbers: some
twenty bytes a row, whatever the labels' length. What can be refused by looking at one row is
refused when a part is made; all that depends on other rows waits for the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesjudge.errors import ScoreError
from bayesjudge.scores.columns import COLUMNS, FACETS, resolve_columns
from bayesjudge.scores.labels import label_codes
from bayesjudge.scores.missing import parsed_scores, verdicts_note
from bayesjudge.scores.raw import RawTable
from bayesjudge.scores.reading import Reading, arranged, validated
from bayesjudge.scores.where import filter_notes, rows_where
from bayesjudge.wording import quoted

if TYPE_CHECKING:
    from bayesjudge.scores.table import ScoreTable

IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a table, as numbers.

    Attributes
    ----------
    labels : dict of tuple of str
        By facet, the labels as written; no ``generation`` where the table has no such column.
    codes : dict of int32 array, shape (rows,)
        By facet, positions in its labels.
    score : float64 array, shape (rows,)
        NaN where missing; still to be held against the scale.
    row : int64 array, shape (rows,), or None
        Position of each row in the input, from 0; None where they follow each other from 0.
    read, kept : int
        Rows of the input, and those of them that the filter kept. A row of a wide table becomes
        several here.
    verdicts : bool or None
        Whether scores are True and False; None where all are missing.
    left_out : tuple of str
        Further columns of the input, which are not kept.
    """

    labels: Mapping[str, tuple[str, ...]]
    codes: Mapping[str, CodeArray]
    score: FloatArray
    row: IntArray | None
    read: int
    kept: int
    verdicts: bool | None
    left_out: tuple[str, ...]


def part_of(raw: RawTable, reading: Reading, left_out: tuple[str, ...] = ()) -> Part:
    """Read some rows of a table.

    Parameters
    ----------
    raw : RawTable
        The rows as found.
    reading : Reading
        How to understand them.
    left_out : tuple of str
        Further columns of the input, which were not read at all.

    Raises
    ------
    ScoreError
        If a row can't be read.
    """
    renamed = resolve_columns(raw.frame.columns, reading.columns)
    frame = raw.frame
    if reading.where is not None:
        frame = frame[rows_where(frame, reading.where, renamed)]
    tidy = arranged(frame, renamed, reading, textual=raw.textual)
    labels: dict[str, tuple[str, ...]] = {}
    codes: dict[str, CodeArray] = {}
    for facet in [facet for facet in FACETS if facet in tidy.columns]:
        found, texts = label_codes(tidy[facet], facet, raw)
        labels[facet], codes[facet] = tuple(texts), found.astype(np.int32)
    score, verdicts = parsed_scores(tidy, raw, reading.missing)
    row = tidy.index.to_numpy(dtype=np.int64)
    return Part(
        labels=labels,
        codes=codes,
        score=score,
        row=None if np.array_equal(row, np.arange(len(row))) else row,
        read=len(raw.frame),
        kept=len(frame),
        verdicts=verdicts,
        left_out=(*left_out, *(name for name in tidy.columns if name not in COLUMNS)),
    )


def merge(parts: Sequence[Part]) -> Part:
    """Put parts together, in their order; parts of parts give the same.

    Parameters
    ----------
    parts : sequence of Part
        One or more, of the same table.

    Raises
    ------
    ScoreError
        If the scores of some are True and False and those of others are numbers, or if some have
        a generation column and others have none.
    """
    kinds = {part.verdicts for part in parts} - {None}
    if len(kinds) > 1:
        raise ScoreError(
            "Some scores are True or False, and others are numbers. Write all in one way."
        )
    facets = list(parts[0].labels)
    if any(list(part.labels) != facets for part in parts):
        raise ScoreError(
            "Some parts of the table have the column generation and others have not. Give all the "
            "same columns."
        )
    labels: dict[str, tuple[str, ...]] = {}
    codes: dict[str, CodeArray] = {}
    for facet in facets:
        place = {
            text: i
            for i, text in enumerate(dict.fromkeys(t for p in parts for t in p.labels[facet]))
        }
        labels[facet] = tuple(place)
        codes[facet] = np.concatenate(
            [
                np.array([place[text] for text in part.labels[facet]], dtype=np.int32)[
                    part.codes[facet]
                ]
                for part in parts
            ]
        )
    return Part(
        labels=labels,
        codes=codes,
        score=np.concatenate([part.score for part in parts]),
        row=_rows(parts),
        read=sum(part.read for part in parts),
        kept=sum(part.kept for part in parts),
        verdicts=next(iter(kinds), None),
        left_out=tuple(dict.fromkeys(name for part in parts for name in part.left_out)),
    )


def _rows(parts: Sequence[Part]) -> IntArray | None:
    """Join the positions of rows, as None if each follows the one before."""
    expected = 0
    for part in parts:
        rows = len(part.score)
        start = 0 if part.row is None else int(part.row[0]) if rows else expected
        apart = part.row is not None and rows and int(part.row[-1]) != start + rows - 1
        if rows and (start != expected or apart):
            return np.concatenate(
                [np.arange(len(p.score)) if p.row is None else p.row for p in parts]
            )
        expected += rows
    return None


def table_of(part: Part, reading: Reading, source: str) -> ScoreTable:
    """Validate a table that was read in parts.

    Parameters
    ----------
    part : Part
        All of its rows.
    reading : Reading
        How to understand them, as when the parts were made.
    source : str
        What to call the table.

    Returns
    -------
    ScoreTable
        As if read at once, but for further columns, which are left out and named in the notes.

    Raises
    ------
    ScoreError
        If the table can't be read without guessing.
    """
    notes = []
    if reading.where is not None:
        notes += filter_notes(reading.where, part.kept, part.read)
    if not len(part.score):
        raise ScoreError(f"{source} has no rows; a score table needs one row per judge call.")
    if part.left_out:
        notes.append(
            "The table was read in parts, which keep only labels and scores: further columns "
            f"were left out ({quoted(part.left_out, limit=5)})."
        )
    if part.verdicts:
        notes.append(verdicts_note(part.score))
    columns = {
        facet: pd.Categorical.from_codes(
            part.codes[facet], categories=pd.Index(part.labels[facet], dtype="str")
        )
        for facet in part.labels
    }
    index = pd.RangeIndex(len(part.score)) if part.row is None else pd.Index(part.row)
    tidy = pd.DataFrame({**columns, "score": part.score}, index=index)
    return validated(tidy, RawTable(tidy, source), reading, notes, compact=True)
