"""CSV, TSV and Parquet files as raw tables. PyArrow is imported only when one is read."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bayesjudge.errors import ScoreError
from bayesjudge.readers.files import read_text
from bayesjudge.scores.raw import RawTable, check_columns, from_dataframe
from bayesjudge.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_BLOCK = 1 << 26  # bytes; one record must fit into a block


def read_delimited(path: Path, delimiter: str) -> RawTable:
    """Read a CSV or TSV file with a header, every cell as text.

    Text, because ``007`` is a label and ``1.0`` may be one; later steps make numbers of what
    must be numbers.

    Raises
    ------
    ScoreError
        If it is no such table: binary, not UTF-8, rows of unequal length, duplicated names.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    text = read_text(path)
    written = header_of(io.StringIO(text, newline=""), delimiter, path)
    names = [name.strip() or f"Unnamed: {i}" for i, name in enumerate(written)]
    check_columns(names, str(path))
    _check_quotes(text, delimiter, path)
    data = text.encode()
    try:
        table = arrow_csv.read_csv(
            io.BytesIO(data),
            read_options=arrow_csv.ReadOptions(block_size=_BLOCK),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(written, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        raise ScoreError(
            uneven_row(io.StringIO(text, newline=""), delimiter, len(names), path)
            or f"{path} can't be read: {error}."
        ) from None
    frame = table.rename_columns(names).to_pandas()
    return RawTable(frame, str(path), lines=_lines(data, len(frame)), textual=True)


def read_parquet(path: Path) -> RawTable:
    """Read a Parquet file.

    Raises
    ------
    ScoreError
        If it is not one, or has duplicated column names.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(path)
        check_columns(schema.names, str(path))
        # Integers with nulls stay integers: as floats, long identifiers would lose digits.
        frame = parquet.ParquetFile(path).read().to_pandas(integer_object_nulls=True)
    except (pa.ArrowException, OSError) as error:
        raise ScoreError(f"{path} can't be read as Parquet: {error}") from None
    return from_dataframe(frame, str(path))


def header_of(lines: Iterable[str], delimiter: str, path: Path) -> list[str]:
    """Read the names in the first row that is not blank, as they are written.

    Raises
    ------
    ScoreError
        If it can't be read, or its columns are separated by something else.
    """
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        header = next(row for row in rows if row)
    except csv.Error as error:
        raise ScoreError(f"The header of {path} can't be read: {error}.") from None
    if len(header) == 1:
        others = {"\t": ("tabs", "tsv"), ",": ("commas", "csv"), ";": ("semicolons", None)}
        for other, (name, format) in others.items():
            if other != delimiter and other in header[0]:
                advice = (
                    f'say format="{format}" (--format {format})'
                    if format
                    else "save it with commas"
                )
                raise ScoreError(
                    f"The columns of {path} are separated by {name}: its header is "
                    f"{header[0][:80]!r}. To read it, {advice}."
                )
    return header


def _check_quotes(text: str, delimiter: str, path: Path) -> None:
    """Refuse a quotation mark that is never closed: it would swallow the rows after it."""
    if text.count('"') % 2 == 0:
        return
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    start = 1
    try:
        for _ in rows:
            start = rows.line_num + 1
    except csv.Error:
        raise ScoreError(
            f"{path} has an unmatched quotation mark in the row that starts in line "
            f"{start:,}. Close it, or write it twice if it is part of the text."
        ) from None


def uneven_row(lines: Iterable[str], delimiter: str, width: int, path: Path) -> str | None:
    """Say which row is the first that is longer or shorter than the header, if one is."""
    rows = csv.reader(lines, delimiter=delimiter)
    start = 1
    try:
        for row in rows:
            if row and len(row) != width:
                return (
                    f"{path}: line {start:,} has {counted(len(row), 'field')}, and the header has "
                    f"{width}. Quote texts that hold the separator, and complete cut-off rows."
                )
            start = rows.line_num + 1
    except csv.Error:
        return None
    return None


def _lines(data: bytes, rows: int) -> npt.NDArray[np.int64] | None:
    """Return the line of each row, if each row is one line; blank lines and breaks spoil that."""
    lines = data.rstrip(b"\r\n").count(b"\n")
    return np.arange(2, rows + 2, dtype=np.int64) if lines == rows else None
