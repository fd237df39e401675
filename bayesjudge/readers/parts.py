"""Files and Dask frames that are read in parts, so that memory holds numbers and no texts."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesjudge.errors import ScoreError
from bayesjudge.readers.files import ENDINGS, PARQUET_MAGIC, locate, recognise
from bayesjudge.readers.jsonl import frame_of, record_of
from bayesjudge.readers.tables import header_of, uneven_row
from bayesjudge.scores.columns import COLUMNS, judge_columns, resolve_columns
from bayesjudge.scores.parts import Part, merge, part_of
from bayesjudge.scores.raw import RawTable, check_columns, from_dataframe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from bayesjudge.scores.reading import Reading

FORMATS = ("csv", "tsv", "parquet", "jsonl")
LARGE_FILE = 100 << 20  # bytes from which a text file is read in parts
LARGE_TABLE = 3_000_000  # rows from which a Parquet file is

ROWS = 250_000  # of a part, about
BLOCK_MIN = 1 << 16  # bytes of text read at once, at least
_ROW_BYTES = 100  # of a line of text, about
_UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")


def is_large(path: Path, kind: str) -> bool:
    """Whether a file is so large that it is read in parts unless the user says otherwise."""
    if path.is_dir():
        return True
    if kind == "parquet":
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return bool(parquet.read_metadata(path).num_rows >= LARGE_TABLE)
        except (pa.ArrowException, OSError):
            return False  # which the reader says better
    return kind in FORMATS and path.stat().st_size >= LARGE_FILE


def files_in(folder: Path) -> tuple[list[Path], str]:
    """Return the files of a folder and their format.

    Raises
    ------
    ScoreError
        If they are not all of one format that can be read in parts.
    """
    inside = sorted(p for p in folder.iterdir() if p.name[0] not in "._")
    files = [path for path in inside if path.is_file()]
    nested = " (files in the folders in it are not looked for)" if len(files) < len(inside) else ""
    kinds = sorted(
        {ENDINGS.get(path.suffix.casefold(), path.suffix or path.name) for path in files}
    )
    if len(kinds) != 1 or kinds[0] not in FORMATS:
        without = "" if files else f" that holds no files{nested}"
        raise ScoreError(
            f"{folder} is a folder{without}. To read all files in it as one table they must be of "
            f"one format out of {', '.join(FORMATS)}"
            + (f"; it holds {', '.join(kinds)}." if files else ".")
            + " Otherwise give the path of one file in it."
        )
    return files, kinds[0]


def read_in_parts(
    path: Path,
    kind: str | None,
    reading: Reading,
    on_rows: Callable[[int], None],
) -> Part:
    """Read a file, or all files of a folder, in parts.

    Parameters
    ----------
    path : Path
        The file or folder.
    kind : str, optional
        Format of the files, if it is known.
    reading : Reading
        How to understand the rows.
    on_rows : callable
        Called with the rows read so far after each part.

    Raises
    ------
    ScoreError
        If a file can't be read.
    """
    files, told = files_in(path) if path.is_dir() else ([path], None)
    parts: list[Part] = []
    read = 0
    for file in files:
        locate(file)  # which refuses an empty one
        before = read
        for raw, left_out in _tables(file, kind or told or recognise(file), reading, ROWS):
            here = replace(raw, place=file.name) if path.is_dir() else raw
            part = part_of(here, reading, left_out)
            parts.append(_moved(part, before))
            read += part.read
            on_rows(read)
    if not parts:
        raise ScoreError(f"{path} has no rows; a score table needs one row per judge call.")
    return merge(parts)


def read_partitions(frame: Any, reading: Reading) -> Part:
    """Read a Dask DataFrame, each partition where it is.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table; the cluster of the current client reads it, if there is one.
    reading : Reading
        How to understand the rows.

    Raises
    ------
    ScoreError
        If a partition can't be read.
    """
    from dask.base import compute
    from dask.delayed import delayed

    read = delayed(partial(_partition, reading=reading), pure=True)
    tasks = [read(each, number) for number, each in enumerate(frame.to_delayed(), start=1)]
    found = [part for part in compute(*tasks) if part is not None]  # type: ignore[no-untyped-call]
    if not found:
        raise ScoreError("The Dask DataFrame has no rows; a score table needs one row per call.")
    before = np.cumsum([0] + [part.read for part in found])
    return merge([_moved(part, int(b)) for part, b in zip(found, before[:-1], strict=True)])


def _partition(frame: pd.DataFrame, number: int, *, reading: Reading) -> Part | None:
    if not len(frame):
        return None
    raw = from_dataframe(frame, "The Dask DataFrame")
    return part_of(replace(raw, place=f"partition {number}"), reading)


def _moved(part: Part, rows: int) -> Part:
    """Count the rows of a part on from those of earlier files."""
    if not rows:
        return part
    row = np.arange(len(part.score)) if part.row is None else part.row
    return replace(part, row=row + rows)


def _tables(
    path: Path, kind: str, reading: Reading, rows: int
) -> Iterator[tuple[RawTable, tuple[str, ...]]]:
    """Read a file's rows in order, with the names of the columns that were not read."""
    if kind == "parquet":
        yield from _parquet(path, reading, rows)
    elif kind == "jsonl":
        for raw in _jsonl(path, rows):
            yield raw, ()
    else:
        yield from _delimited(path, "\t" if kind == "tsv" else ",", reading, rows)


def _needed(names: list[str], reading: Reading) -> list[str]:
    """Return the columns that a table is made of; all where one is missing or a filter asks."""
    renamed = resolve_columns(names, reading.columns)
    wide = [] if reading.judges is None else judge_columns(names, reading.judges, renamed)
    there = {renamed.get(name, name) for name in names}
    given = {"model": reading.model_name, "judge": wide or reading.judge_name, "score": wide}
    absent = [c for c in COLUMNS if c not in there and not given.get(c) and c != "generation"]
    if absent or reading.where is not None:
        return names
    return [name for name in names if name in (*COLUMNS, *wide) or name in renamed]


def _parquet(path: Path, reading: Reading, rows: int) -> Iterator[tuple[RawTable, tuple[str, ...]]]:
    import pyarrow as pa
    from pyarrow import parquet

    offset = 0
    try:
        file = parquet.ParquetFile(path)
        # An index without a name, as pandas writes it, is no column.
        written = file.schema_arrow.names
        names = [name for name in written if not _UNNAMED_INDEX.fullmatch(name)]
        check_columns(names, str(path))
        kept = _needed(names, reading)
        left_out = tuple(name for name in names if name not in kept)
        for batch in file.iter_batches(rows, columns=kept):
            if not len(batch):
                continue
            found = from_dataframe(batch.to_pandas(integer_object_nulls=True), str(path))
            yield _shifted(found, offset), left_out
            offset += len(batch)
    except (pa.ArrowException, OSError) as error:
        raise ScoreError(f"{path} can't be read as Parquet: {error}") from None


def _delimited(
    path: Path, delimiter: str, reading: Reading, rows: int
) -> Iterator[tuple[RawTable, tuple[str, ...]]]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    written = _header(path, delimiter)
    names = [name.strip() or f"Unnamed: {i}" for i, name in enumerate(written)]
    check_columns(names, str(path))
    kept = _needed(names, reading)
    left_out = tuple(name for name in names if name not in kept)
    called = dict(zip(written, names, strict=True))
    offset = 0
    with path.open("rb") as binary:
        counted = _Quotes(binary)
        try:
            reader = arrow_csv.open_csv(
                counted,
                read_options=arrow_csv.ReadOptions(block_size=max(rows * _ROW_BYTES, BLOCK_MIN)),
                parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(written, pa.string()),
                    strings_can_be_null=False,
                    include_columns=[name for name in written if called[name] in kept],
                ),
            )
            for batch in reader:
                if len(batch):
                    frame = batch.to_pandas().rename(columns=called)
                    yield _shifted(RawTable(frame, str(path), textual=True), offset), left_out
                    offset += len(batch)
        except pa.ArrowInvalid as error:
            _refuse_odd(path, counted)
            with path.open(encoding="utf-8-sig", newline="", errors="replace") as text:
                uneven = uneven_row(text, delimiter, len(names), path)
            said = uneven or f"{path} can't be read: {str(error).rstrip('.')}."
            raise ScoreError(said) from None
        _refuse_odd(path, counted)


def _refuse_odd(path: Path, counted: _Quotes) -> None:
    """Refuse a quotation mark that is never closed: it would swallow the rows after it."""
    if counted.odd:
        raise ScoreError(
            f"{path} has an unmatched quotation mark: it holds an odd number of them, so one is "
            "never closed. Close it, or write it twice if it is part of the text."
        )


def _header(path: Path, delimiter: str) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as text:
        try:
            return header_of(text, delimiter, path)
        except UnicodeDecodeError as error:
            raise ScoreError(f"{path} is not UTF-8: {error.reason}. Save it as UTF-8.") from None
        except StopIteration:
            raise ScoreError(f"{path} is empty: it holds nothing but blank space.") from None


class _Quotes(io.RawIOBase):
    """A file that counts its quotation marks while it is read, and refuses what is no text."""

    def __init__(self, file: io.BufferedReader) -> None:
        super().__init__()
        self._file = file
        self._marks = 0

    @property
    def odd(self) -> bool:
        """Whether one of the marks so far has no other."""
        return self._marks % 2 == 1

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        if b"\0" in data or data.startswith(PARQUET_MAGIC):
            raise ScoreError(f"{self._file.name} is a binary file, not text. Check its format=.")
        self._marks += data.count(b'"')
        buffer[: len(data)] = data
        return len(data)


def _jsonl(path: Path, rows: int) -> Iterator[RawTable]:
    offset = 0
    records: list[dict[str, Any]] = []
    numbers: list[int] = []

    def found() -> RawTable:
        lines = np.array(numbers, dtype=np.int64)
        return _shifted(RawTable(frame_of(records, path), str(path), lines=lines), offset)

    with path.open(encoding="utf-8-sig", newline="\n") as text:
        try:
            for number, line in enumerate(text, start=1):
                if line.isspace():
                    continue
                records.append(record_of(line.removesuffix("\n"), number, path))
                numbers.append(number)
                if len(records) == rows:
                    yield found()
                    offset += rows
                    records, numbers = [], []
        except UnicodeDecodeError as error:
            raise ScoreError(f"{path} is not UTF-8: {error.reason}. Save it as UTF-8.") from None
    if records:
        yield found()


def _shifted(raw: RawTable, offset: int) -> RawTable:
    index = pd.RangeIndex(offset, offset + len(raw.frame))
    return replace(raw, frame=raw.frame.set_axis(index), offset=offset)
