"""Score tables from files: CSV, TSV, Parquet, JSON Lines and JSON records."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from bayesjudge.errors import ScoreError
from bayesjudge.readers.files import FORMATS, locate, recognise
from bayesjudge.readers.jsonl import read_json, read_jsonl
from bayesjudge.readers.parts import is_large, read_in_parts, read_partitions
from bayesjudge.readers.tables import read_delimited, read_parquet
from bayesjudge.scores.parts import table_of
from bayesjudge.scores.reading import Reading, build
from bayesjudge.wording import did_you_mean, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    import pandas as pd

    from bayesjudge.scores import ScoreTable
    from bayesjudge.scores.raw import RawTable

__all__ = ["read_scores", "read_table"]

EXAMPLE = "example:"


def read_scores(
    source: str | Path | pd.DataFrame | Any,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    judges: Sequence[str] | str | None = None,
    model_name: str | None = None,
    judge_name: str | None = None,
    where: str | None = None,
    scale: Sequence[float] | str | None = None,
    levels: Iterable[float] | str | None = None,
    outside: str = "refuse",
    repeats: str = "refuse",
    missing: object = None,
    in_parts: bool | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> ScoreTable:
    """Read and validate a table of scores.

    Parameters
    ----------
    source : str, Path, DataFrame or dask.dataframe.DataFrame
        A file (.csv, .tsv, .parquet, .jsonl, .ndjson, .json), a folder of such files that are one
        table, a data frame of pandas or Dask, or ``"example:NAME"`` for a bundled panel. Columns
        are ``model, scenario, generation, judge,
        score``; further ones are kept. Without ``generation``, every answer is the only one of
        its model and scenario.
    format : {"csv", "tsv", "parquet", "jsonl", "json"}, optional
        Overrides the ending of the file.
    columns : mapping of str to str, optional
        Our name to the table's, such as ``{"model": "system", "scenario": "question"}``.
    judges : list of str or str, optional
        The judge columns of a wide table; or a glob such as ``"judge_*"``; or, where it matches
        nothing as a glob, a regular expression that matches their whole names.
    model_name, judge_name : str, optional
        The label of the one model, or the one judge, of a table without that column.
    where : str, optional
        Keep the rows for which this holds, such as ``"axis == 'correctness' and turn in [1, 2]"``:
        comparisons of columns with values, ``in``, ``and``, ``or``, ``not``. Column names that are
        not single words stand between backticks. In a wide table, the rows before melting.
    scale : (low, high) or (low, high, step) or str, optional
        The declared scale; as text, ``"1:10"`` or ``"1:10:0.5"``.
    levels : iterable of float or str, optional
        The declared scale as its allowed values; as text, ``"0,1,2"``. Without ``scale`` or
        ``levels``, the observed range is used and said in the notes.
    outside : {"refuse", "missing", "keep"}
        What to do with scores outside the declared scale, or between its levels. Exact -1, where
        the scale does not have it, is always FastChat's mark of a failed reply: missing.
    repeats : {"refuse", "keep", "mean"}
        What to do with rows of the same model, scenario, generation and judge.
    missing : value or iterable of values, optional
        What marks a missing score, beside empty, null, NaN, None, N/A, NA and "-".
    in_parts : bool, optional
        Whether to read the file in parts, keeping labels and scores as numbers and no further
        columns: some 25 bytes a score in place of the file. Without it, files from 100 MB (of
        Parquet, 3 million rows) are, and folders and Dask frames always.
    on_rows : callable, optional
        Called with the number of rows read so far, for a table that is read in parts.

    Returns
    -------
    ScoreTable
        With ``notes`` on all that was assumed.

    Raises
    ------
    ScoreError
        If the file or table can't be read without guessing; the message says what was found,
        where, and what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> calls = pd.DataFrame(
    ...     {"system": ["a", "b"], "scenario": [1, 1], "judge": ["j", "j"], "score": [7, 9]}
    ... )
    >>> read_scores(calls, columns={"model": "system"}, scale=(1, 10)).models
    ('a', 'b')
    """
    reading = Reading(
        columns=columns,
        judges=judges,
        model_name=model_name,
        judge_name=judge_name,
        where=where,
        scale=scale,
        levels=levels,
        outside=outside,
        repeats=repeats,
        missing=missing,
    )
    if isinstance(source, str) and source.startswith(EXAMPLE):
        return _example(source, format, reading)
    if isinstance(source, (str, Path)):
        return _from_files(Path(source), format, reading, in_parts, on_rows or (lambda rows: None))
    if in_parts is False or (in_parts and not _is_dask(source)):
        raise ScoreError("in_parts= is about files; leave it out for a DataFrame.")
    if _is_dask(source):
        return table_of(read_partitions(source, reading), reading, "Dask DataFrame")
    return _from_frame(source, format, reading)


def _from_files(
    source: Path,
    format: str | None,
    reading: Reading,
    in_parts: bool | None,
    on_rows: Callable[[int], None],
) -> ScoreTable:
    kind = _known(format)
    if in_parts not in (None, True, False):
        raise ScoreError(f"in_parts={in_parts!r} must be True, False or left out.")
    if in_parts is False and source.is_dir():
        raise ScoreError(
            f"{source} is a folder, and folders are read in parts: leave in_parts= out, or give "
            "the path of one file in it."
        )
    if not source.is_dir():
        source = locate(source)
        kind = kind or recognise(source)
    if in_parts is False or not (in_parts or is_large(source, kind or "")):
        return build(read_table(source, format=kind), reading)
    if kind == "json":
        raise ScoreError(
            f"{source} is one JSON array, which can't be read in parts: save it with one object "
            "per line (.jsonl), or leave in_parts= out."
        )
    return table_of(read_in_parts(source, kind, reading, on_rows), reading, str(source))


def _known(format: str | None) -> str | None:
    if format is not None and format not in FORMATS:
        raise ScoreError(
            f"format={format!r} is not a choice; format= is one of {quoted(FORMATS)}."
            f"{did_you_mean(str(format), FORMATS)}"
        )
    return format


def _is_dask(source: object) -> bool:
    """Whether this is a Dask DataFrame, without importing Dask."""
    dask = type(source).__module__.startswith("dask")
    return dask and hasattr(source, "to_delayed") and hasattr(source, "columns")


def read_table(source: str | Path, *, format: str | None = None) -> RawTable:
    """Read a file's columns as they are, for `bayesjudge.scores.reading.build`.

    Parameters
    ----------
    source : str or Path
    format : {"csv", "tsv", "parquet", "jsonl", "json"}, optional
        Overrides the ending; without either, the content decides.

    Returns
    -------
    RawTable

    Raises
    ------
    ScoreError
        If the file can't be read.
    """
    kind = _known(format)
    path = locate(source)
    kind = kind or recognise(path)
    if kind == "parquet":
        return read_parquet(path)
    if kind in ("jsonl", "json"):
        return read_jsonl(path) if kind == "jsonl" else read_json(path)
    return read_delimited(path, "\t" if kind == "tsv" else ",")


def _from_frame(source: object, format: str | None, reading: Reading) -> ScoreTable:
    import pandas as pd

    from bayesjudge.scores.raw import from_dataframe

    if not isinstance(source, pd.DataFrame):
        raise ScoreError(
            f"read_scores takes a path, a pandas DataFrame or 'example:NAME', not "
            f"{type(source).__name__}. Turn other tables into a DataFrame first."
        )
    if format is not None:
        raise ScoreError("format= is about files; leave it out for a DataFrame.")
    return build(from_dataframe(source), reading)


def _example(source: str, format: str | None, reading: Reading) -> ScoreTable:
    given = {field.name: getattr(reading, field.name) for field in fields(reading)}
    given |= {"format": format, "where": None}
    # "refuse" is the default of outside= and repeats=; of the others it is None.
    refused = [n for n, v in given.items() if v is not None and str(v) != "refuse"]
    if refused:
        raise ScoreError(
            f"{source} is a finished table, so {', '.join(name + '=' for name in refused)} can't "
            "be used with it; only where= can."
        )
    from bayesjudge.examples import load

    table = load(source.removeprefix(EXAMPLE))
    return table if reading.where is None else table.where(reading.where)
