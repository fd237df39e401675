"""From the columns of a file to ours: renaming, melting a wide table, constant labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd

from bayesjudge.errors import ScoreError
from bayesjudge.scores.labels import text_codes
from bayesjudge.scores.missing import MISSING_TEXTS, NUMBER
from bayesjudge.wording import did_you_mean, listed, nearest, quoted

FACETS = ("model", "scenario", "generation", "judge")
COLUMNS = (*FACETS, "score")
ALIASES = {
    "model": ("system", "model_id", "model_name", "system_id", "llm"),
    "scenario": (
        *("question", "question_id", "prompt", "prompt_id", "item", "item_id", "query"),
        *("query_id", "scenario_id", "task", "task_id"),
    ),
    "generation": ("sample", "sample_id", "epoch", "repeat", "run", "generation_id", "answer_id"),
    "judge": ("rater", "grader", "evaluator", "annotator", "scorer", "judge_model", "judge_id"),
    "score": ("rating", "value", "label", "grade", "mark", "points"),
}
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")
_PEEK = 100  # rows looked at to tell a column of numbers


def resolve_columns(names: Iterable[str], columns: object) -> dict[str, str]:
    """Check the option ``columns=`` and turn it round: names of the file to ours.

    Raises
    ------
    ScoreError
        If it names an unknown key or column, uses a column twice, or hides a column.
    """
    names = list(names)
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise ScoreError(
            f"columns= must map our names to the table's, such as "
            f'columns={{"model": "system"}} (--columns model=system), not {columns!r}.'
        )
    renamed: dict[str, str] = {}
    for ours, named in columns.items():
        theirs = str(named)  # names of a data frame's columns may be numbers; ours are text
        if ours not in COLUMNS:
            raise ScoreError(
                f"columns= has the key {ours!r}; the keys are {quoted(COLUMNS)}, each with the "
                f"table's name for it.{did_you_mean(str(ours), COLUMNS)}"
            )
        if theirs not in names:
            raise ScoreError(
                f"columns= gives {theirs!r} for {ours!r}, and the table has no such column."
                f"{did_you_mean(theirs, names)} Its columns are {quoted(names)}."
            )
        if theirs in renamed:
            raise ScoreError(
                f"columns= uses the column {theirs!r} for both {renamed[theirs]!r} and {ours!r}; "
                "each needs a column of its own."
            )
        renamed[theirs] = ours
    hidden = [name for name in names if name in columns and name not in renamed]
    if hidden:
        raise ScoreError(
            f"columns= gives {columns[hidden[0]]!r} for {hidden[0]!r}, and the table also has a "
            f"column {hidden[0]!r}. Rename or drop that one in the table, so that it is clear "
            "which is meant."
        )
    return renamed


def arrange(
    frame: pd.DataFrame,
    renamed: dict[str, str],
    *,
    judges: object = None,
    model_name: str | None = None,
    judge_name: str | None = None,
    textual: bool = False,
) -> pd.DataFrame:
    """Bring a table into our columns: one row per score, extra columns behind.

    Parameters
    ----------
    frame : DataFrame
        Columns by the names of the file; the index names the rows of the input.
    renamed : dict of str to str
        Names of the file to ours.
    judges : list of str or str, optional
        The judge columns of a wide table, or a pattern of their names.
    model_name, judge_name : str, optional
        The one label of a table without that column.
    textual : bool
        Whether cells are text because the file has no types; extra columns of numbers then
        become numbers.

    Returns
    -------
    DataFrame
        ``model, scenario``, ``generation`` if there is one, ``judge, score`` and the extra
        columns; values as found. A row of a wide table becomes one row per judge, in place.

    Raises
    ------
    ScoreError
        If columns are missing, or an option contradicts the table.
    """
    if judges is not None and judge_name is not None:
        raise ScoreError("judges= makes the judge column, so judge_name= has no place beside it.")
    wide = [] if judges is None else judge_columns(list(frame.columns), judges, renamed)
    table = frame.rename(columns=renamed)
    if textual:
        table = _with_typed_extras(table, keep={*COLUMNS, *wide})
    if wide:
        table = _melt(table, wide)
    table = _with_constant(table, "model", model_name)
    table = _with_constant(table, "judge", judge_name)
    _require(table, frame, renamed, wide)
    ours = [name for name in COLUMNS if name in table.columns]
    return table[ours + [name for name in table.columns if name not in COLUMNS]]


def judge_columns(names: list[str], judges: object, renamed: dict[str, str]) -> list[str]:
    """Return the columns that ``judges=`` means, in the order of the table.

    A text is a glob (``judge_*``); where it matches nothing as one, a regular expression that
    must match the whole name.

    Raises
    ------
    ScoreError
        If it names an unknown column, or matches none.
    """
    if isinstance(judges, str):
        identifying = ("model", "scenario", "generation")
        eligible = [n for n in names if n not in renamed and n not in identifying]
        found = [n for n in eligible if fnmatchcase(n, judges)] or _full_matches(eligible, judges)
        if not found:
            raise ScoreError(
                f"judges={judges!r} matches no column; as a glob or as a regular expression it "
                f"must match a whole name. The columns are {quoted(names)}."
            )
        return found
    listed_names = [str(name) for name in (judges if isinstance(judges, Iterable) else [judges])]
    if not listed_names:
        raise ScoreError(f"judges= is empty; name the judge columns, among {quoted(names)}.")
    for name in listed_names:
        if name not in names:
            raise ScoreError(
                f"judges= names the column {name!r}, which the table does not have."
                f"{did_you_mean(name, names)} Its columns are {quoted(names)}."
            )
        if name in renamed:
            raise ScoreError(
                f"The column {name!r} is used twice: by judges= and, for {renamed[name]!r}, by "
                "columns=. Take it out of one of them."
            )
    return [name for name in names if name in listed_names]


def looks_numeric(values: pd.Series) -> bool:
    """Tell from the first rows whether a column holds numbers."""
    if pd.api.types.is_bool_dtype(values.dtype) or pd.api.types.is_numeric_dtype(values.dtype):
        return True
    texts = [str(value).strip() for value in values.head(_PEEK).dropna()]
    present = [text for text in texts if text.casefold() not in MISSING_TEXTS]
    return bool(present) and all(NUMBER.fullmatch(text) for text in present)


def _full_matches(names: list[str], pattern: str) -> list[str]:
    try:
        return [name for name in names if re.fullmatch(pattern, name)]
    except re.error as error:
        raise ScoreError(
            f"judges={pattern!r} matches no column as a glob and is no regular expression "
            f"({error}). The columns are {quoted(names)}."
        ) from None


def _melt(table: pd.DataFrame, judges: list[str]) -> pd.DataFrame:
    """Give each judge column's cell a row of its own, under the index of its row."""
    ids = table.drop(columns=judges)
    for name in ("judge", "score"):
        if name in ids.columns:
            raise ScoreError(
                f"judges= makes the columns judge and score, and the table already has a column "
                f"{name!r}. Add it to judges= if it is a judge, or rename or drop it."
            )
    cells = table[judges]
    plain = all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in cells.dtypes)
    values = cells.to_numpy() if plain else cells.to_numpy(dtype=object)
    long = ids.loc[ids.index.repeat(len(judges))].copy()
    codes = np.tile(np.arange(len(judges)), len(ids))
    long["judge"] = pd.Categorical.from_codes(codes, categories=pd.Index(judges))
    long["score"] = values.ravel()
    return long


def _with_constant(table: pd.DataFrame, facet: str, label: str | None) -> pd.DataFrame:
    if label is None:
        return table
    if not isinstance(label, str) or not label.strip():
        raise ScoreError(f"{facet}_name={label!r} is no label; give a text that is not blank.")
    if facet not in table.columns:
        return table.assign(**{facet: label})
    try:
        others = [text for text in text_codes(table[facet])[1] if text != label]
    except TypeError:
        others = []  # refused as labels later, with their rows
    if others:
        raise ScoreError(
            f"{facet}_name={label!r} was given for a table that has a {facet} column, with "
            f"{quoted(others, limit=5)} in it. Leave {facet}_name= (--{facet}-name) out."
        )
    return table


def _require(
    table: pd.DataFrame, frame: pd.DataFrame, renamed: dict[str, str], wide: list[str]
) -> None:
    """Refuse a table without one of the columns, with the nearest names and the way out."""
    absent = [n for n in COLUMNS if n not in table.columns and n != "generation"]
    if not absent:
        return
    free = [name for name in frame.columns if name not in {*renamed, *wide, *COLUMNS}]
    suggested: dict[str, str] = {}
    for name in absent:
        found = _suggestion(name, [n for n in free if n not in suggested.values()], frame)
        if found:
            suggested[name] = found
    without = " and no column ".join(map(repr, absent))
    message = [f"The table has no column {without}; its columns are {quoted(frame.columns)}."]
    if suggested:
        python = ", ".join(f'"{ours}": "{theirs}"' for ours, theirs in suggested.items())
        shell = ",".join(f"{ours}={theirs}" for ours, theirs in suggested.items())
        message.append(f"If that is what they hold, say columns={{{python}}} (--columns {shell}).")
    message += _ways_out(absent, suggested, frame, free)
    raise ScoreError(" ".join(message))


def _suggestion(name: str, free: list[str], frame: pd.DataFrame) -> str | None:
    folded = {other.casefold(): other for other in reversed(free)}
    known = next((folded[other] for other in (name, *ALIASES[name]) if other in folded), None)
    if known is None and name == "judge":
        # judge_1, judge_2, ... with numbers in them are judges, not the column of their names.
        free = [other for other in free if not looks_numeric(frame[other])]
    return known or nearest(name, free, cutoff=0.7)


def _ways_out(
    absent: list[str], suggested: dict[str, str], frame: pd.DataFrame, free: list[str]
) -> list[str]:
    unnamed = [name for name in absent if name not in suggested]
    numeric = [
        name for name in free if name not in suggested.values() and looks_numeric(frame[name])
    ]
    message = []
    if "model" in unnamed:
        message.append(
            'If all rows are about one model, name it with model_name="..." (--model-name).'
        )
    if "judge" in absent and len(numeric) > 1:
        message.append(
            "If each judge has a column of its own, name them with judges=[...] or a pattern "
            f"(--judges); numbers are in {quoted(numeric, limit=8)}."
        )
    if "judge" in unnamed:
        message.append(
            'If one judge gave all scores, name it with judge_name="..." (--judge-name).'
        )
    if "score" in unnamed and "judge" not in unnamed and numeric:
        options = listed([f'columns={{"score": "{name}"}}' for name in numeric], separator=" or ")
        message.append(f"For the score, say {options} (--columns score={numeric[0]}).")
    if [name for name in unnamed if name == "scenario" or (name == "score" and not numeric)]:
        message.append(
            "Name the table's column for each with columns= (--columns scenario=...,score=...)."
        )
    return message


def _with_typed_extras(table: pd.DataFrame, keep: set[str]) -> pd.DataFrame:
    """Make numbers of extra text columns that hold only numbers, none with leading zeros."""
    typed = {}
    for name in [str(name) for name in table.columns if name not in keep]:
        codes, uniques = pd.factorize(table[name])
        texts = [text.strip() for text in uniques.tolist()]
        present = [text for text in texts if text]
        if present and all(NUMBER.fullmatch(t) and not _LEADING_ZERO.match(t) for t in present):
            numbers = pd.to_numeric(pd.Series([text or None for text in texts]))
            typed[name] = numbers.to_numpy()[codes]
    return table.assign(**typed) if typed else table
