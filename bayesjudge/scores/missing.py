"""Scores as numbers, and which of them are missing rather than low."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesjudge.errors import ScoreError
from bayesjudge.wording import SHOWN, counted, listed

if TYPE_CHECKING:
    from bayesjudge.scores.raw import RawTable

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

MISSING_TEXTS = frozenset({"", "-", "null", "nan", "none", "n/a", "na", "<na>", "nat"})
HUGE = 1e100  # beyond this, sums of squares overflow

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITY = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")


def cell_name(tidy: pd.DataFrame, position: int, raw: RawTable) -> str:
    """Name one score of a table: its row, and the labels in it."""
    labels = [
        f"{facet} {str(tidy[facet].iloc[position])!r}"
        for facet in ("model", "scenario", "generation", "judge")
        if facet in tidy
    ]
    return f"{raw.at(int(tidy.index[position]))}, {', '.join(labels)}"


def score_examples(
    tidy: pd.DataFrame, where: BoolArray, shown: Iterable[object], raw: RawTable
) -> str:
    """List the first scores picked by ``where`` with what they hold and where they are."""
    positions = np.flatnonzero(where)
    values = list(shown)
    first = [
        f"{values[i]!r} in {cell_name(tidy, int(positions[i]), raw)}"
        for i in range(min(SHOWN, len(positions)))
    ]
    rest = len(positions) - len(first)
    return "; ".join(first) + (f"; and {rest:,} more" if rest else "")


def read_numbers(
    tidy: pd.DataFrame, raw: RawTable, missing: object = None
) -> tuple[FloatArray, list[str]]:
    """Read the score column as numbers, NaN where a score is missing.

    Parameters
    ----------
    tidy : DataFrame
        With the column ``score`` as found, and label columns for the messages.
    raw : RawTable
        Where the table came from.
    missing : str, number or iterable of them, optional
        What else means a missing score.

    Returns
    -------
    scores : float array of shape (rows,)
    notes : list of str

    Raises
    ------
    ScoreError
        For text that is no number, infinities and numbers beyond 1e100.
    """
    scores, verdicts = parsed_scores(tidy, raw, missing)
    notes = [verdicts_note(scores)] if verdicts else []
    _, numbers = _missing_values(missing)
    if numbers:
        declared = np.isin(scores, numbers)
        scores = np.where(declared, np.nan, scores)
        if declared.any():
            what = listed([f"{number:g}" for number in numbers])
            notes.append(
                f"{counted(int(declared.sum()), 'score')} equal to {what} "
                f"{'is' if declared.sum() == 1 else 'are'} missing, as declared."
            )
    _refuse(tidy, np.isinf(scores), scores, raw, "infinite", "Scores must be finite numbers.")
    _refuse(
        tidy, np.abs(scores) > HUGE, scores, raw, "too large", "At most 1e100 in size is allowed."
    )
    return scores, notes


def parse_failures(
    tidy: pd.DataFrame, scores: FloatArray, allowed: bool | None, raw: RawTable
) -> tuple[FloatArray, list[str]]:
    """Read -1, FastChat's mark of a reply that could not be parsed, as a missing score.

    Parameters
    ----------
    tidy, raw
        The table, for the messages.
    scores : float array of shape (rows,)
    allowed : bool or None
        Whether -1 is a score of the declared scale; None without a declared scale.

    Returns
    -------
    scores : float array of shape (rows,)
    notes : list of str

    Raises
    ------
    ScoreError
        If no scale is declared and the other scores don't rule out that -1 is a score.
    """
    failed = scores == -1
    if not failed.any() or allowed:
        return scores, []
    others = scores[~failed & ~np.isnan(scores)]
    if allowed is None and len(others) and others.min() < 1:
        raise ScoreError(
            f"{counted(int(failed.sum()), 'score is', 'scores are')} -1 (first in "
            f"{cell_name(tidy, int(np.argmax(failed)), raw)}) and the others go from "
            f"{others.min():g} to {others.max():g}, so -1 may be a score or FastChat's mark of a "
            "reply that could not be parsed. Declare the scale with scale= or levels= (--scale, "
            "--levels), or say missing=[-1] (--missing -1)."
        )
    note = (
        f"{counted(int(failed.sum()), 'score')} of -1 "
        f"{'was' if failed.sum() == 1 else 'were'} read as missing: -1 is FastChat's mark of a "
        "reply that could not be parsed."
    )
    return np.where(failed, np.nan, scores), [note]


def _missing_values(missing: object) -> tuple[set[str], list[float]]:
    """Split what the user declared missing into texts and numbers."""
    if missing is None:
        return set(), []
    one = isinstance(missing, (str, Real)) or not isinstance(missing, Iterable)
    values = [missing] if one else list(missing)  # type: ignore[call-overload]
    texts = {str(value).strip().casefold() for value in values}
    numbers = sorted({float(text) for text in texts if NUMBER.fullmatch(text)})
    return texts, numbers


def parsed_scores(
    tidy: pd.DataFrame, raw: RawTable, missing: object = None
) -> tuple[FloatArray, bool | None]:
    """Turn the score column into numbers, and say whether it holds True and False instead.

    Parameters
    ----------
    tidy, raw, missing
        As for `read_numbers`; of `missing`, only texts are looked for here.

    Returns
    -------
    scores : float array of shape (rows,)
    verdicts : bool or None
        None where all scores are missing.
    """
    values = tidy["score"]
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    if pd.api.types.is_bool_dtype(values.dtype):
        return values.to_numpy(dtype=np.float64, na_value=np.nan), True
    if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_complex_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers, None if np.isnan(numbers).all() else False
    return _parse_texts(tidy, _score_texts(values), raw, missing)


def verdicts_note(scores: FloatArray) -> str:
    """Say how many scores were True or False."""
    count = int((~np.isnan(scores)).sum())
    return f"{count:,} verdicts True and False were read as the scores 1 and 0."


def _score_texts(values: pd.Series) -> pd.Series:
    """Write every score as text; a missing one as an empty text."""
    if isinstance(values.dtype, pd.StringDtype):
        return values.fillna("")
    return pd.Series([_score_text(value) for value in values], index=values.index, dtype=object)


def _score_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return "" if value is None else str(value)


def _parse_texts(
    tidy: pd.DataFrame, texts: pd.Series, raw: RawTable, missing: object
) -> tuple[FloatArray, bool | None]:
    # Once per distinct text, then spread over the rows.
    codes, uniques = pd.factorize(texts)
    distinct = [str(text).strip() for text in uniques.tolist()]
    absent = MISSING_TEXTS | _missing_values(missing)[0]
    present = {text.casefold() for text in distinct} - absent
    if present and present <= {"true", "false"}:
        verdict = {"true": 1.0, "false": 0.0}
        parsed = np.array([verdict.get(text.casefold(), np.nan) for text in distinct])
        return parsed[codes], True
    parsed = np.array([_number(text, absent) for text in distinct], dtype=np.float64)
    unreadable = np.array(
        [
            text.casefold() not in absent
            and not NUMBER.fullmatch(text)
            and not _INFINITY.fullmatch(text)
            for text in distinct
        ],
        dtype=bool,
    )
    bad = unreadable[codes]
    if bad.any():
        raise ScoreError(_non_numeric(tidy, bad, texts, raw))
    return parsed[codes], False if present else None


def _number(text: str, absent: Iterable[str]) -> float:
    if text.casefold() in absent:
        return math.nan
    readable = NUMBER.fullmatch(text) or _INFINITY.fullmatch(text)
    return float(text) if readable else math.nan


def _non_numeric(tidy: pd.DataFrame, bad: BoolArray, texts: pd.Series, raw: RawTable) -> str:
    found = texts[bad]
    examples = score_examples(tidy, bad, found.head(SHOWN), raw)
    if _DECIMAL_COMMA.fullmatch(found.iloc[0].strip()):
        advice = "Write decimals with a point (7.5, not 7,5)."
    else:
        advice = (
            "Give each score as one number; if a text marks a reply without a score, declare it "
            f"with missing=[{found.iloc[0][:40]!r}] (--missing)."
        )
    count = counted(int(bad.sum()), "score is not a number", "scores are not numbers")
    return f"{count}: {examples}. {advice}"


def _refuse(
    tidy: pd.DataFrame, bad: BoolArray, scores: FloatArray, raw: RawTable, what: str, rule: str
) -> None:
    if bad.any():
        examples = score_examples(tidy, bad, scores[bad][:SHOWN].tolist(), raw)
        count = counted(int(bad.sum()), f"score is {what}", f"scores are {what}")
        raise ScoreError(
            f"{count}: {examples}. {rule} Correct them, or declare them missing with missing= "
            "(--missing)."
        )
