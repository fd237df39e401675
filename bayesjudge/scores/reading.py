"""From a table as found to a validated one: the steps, in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bayesjudge.errors import ScoreError
from bayesjudge.scores.columns import COLUMNS, FACETS, arrange, resolve_columns
from bayesjudge.scores.labels import natural_order, read_labels
from bayesjudge.scores.missing import parse_failures, read_numbers
from bayesjudge.scores.repeats import settle_generations, settle_repeats
from bayesjudge.scores.scale import DeclaredScale, declare, observed, settle_outside
from bayesjudge.scores.table import ScoreTable, encode
from bayesjudge.scores.where import filter_notes, rows_where
from bayesjudge.wording import counted, did_you_mean, quoted

if TYPE_CHECKING:
    import pandas as pd

    from bayesjudge.scores.raw import RawTable

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reading:
    """The options of `read_scores` that say how a table is to be understood."""

    columns: object = None
    judges: object = None
    model_name: str | None = None
    judge_name: str | None = None
    where: str | None = None
    scale: object = None
    levels: object = None
    outside: str = "refuse"
    repeats: str = "refuse"
    missing: object = None

    def __post_init__(self) -> None:
        _check_choice("outside", self.outside, ("refuse", "missing", "keep"))
        _check_choice("repeats", self.repeats, ("refuse", "keep", "mean"))
        if self.outside != "refuse" and self.scale is None and self.levels is None:
            raise ScoreError(
                f"outside={self.outside!r} needs a declared scale to be outside of: add scale= "
                "or levels= (--scale, --levels)."
            )


def build(raw: RawTable, reading: Reading) -> ScoreTable:
    """Validate a table as read from a file or frame.

    Parameters
    ----------
    raw : RawTable
        The columns as found.
    reading : Reading
        How to understand them.

    Returns
    -------
    ScoreTable

    Raises
    ------
    ScoreError
        If the table can't be read without guessing.
    """
    declare(reading.scale, reading.levels)  # refused before the table is looked at
    tidy, notes = _tidy(raw, reading)
    return validated(tidy, raw, reading, notes)


def validated(
    tidy: pd.DataFrame,
    raw: RawTable,
    reading: Reading,
    notes: list[str],
    *,
    compact: bool = False,
) -> ScoreTable:
    """Validate a table that has our columns.

    Parameters
    ----------
    tidy : DataFrame
        Our columns and extra ones, values as found.
    raw : RawTable
        Where the rows came from.
    reading : Reading
        How to understand them.
    notes : list of str
        What was assumed so far.
    compact : bool
        Whether the labels of the table's frame stay categories, for a table with many rows.
    """
    declared = declare(reading.scale, reading.levels)
    for facet in [facet for facet in FACETS if facet in tidy.columns]:
        labels, more = read_labels(tidy[facet], facet, raw)
        tidy = tidy.assign(**{facet: labels})
        notes += more
    tidy, more = settle_generations(tidy, raw, reading.repeats)
    notes += more
    scores, more = _scores(tidy, raw, reading, declared)
    tidy = tidy.assign(score=scores)
    notes += more
    tidy, more = settle_repeats(tidy, raw, reading.repeats)
    notes += more
    if declared is None:
        scale, note = observed(tidy["score"].to_numpy())
        notes.append(note)
    frame = tidy.reset_index(drop=True)[list(COLUMNS)] if compact else _plain_frame(tidy)
    return ScoreTable(
        frame=frame,
        scale=scale if declared is None else declared.scale,
        scale_declared=declared is not None,
        levels=None if declared is None else declared.levels,
        repeats=reading.repeats,
        source=raw.source,
        notes=(*notes, *_missing_notes(frame)),
        **encode(frame),
    )


def _tidy(raw: RawTable, reading: Reading) -> tuple[pd.DataFrame, list[str]]:
    """Filter the rows and bring them into our columns."""
    renamed = resolve_columns(raw.frame.columns, reading.columns)
    frame, notes = raw.frame, []
    if reading.where is not None:
        keep = rows_where(frame, reading.where, renamed)
        notes = filter_notes(reading.where, int(keep.sum()), len(keep))
        frame = frame[keep]
    return arranged(frame, renamed, reading, textual=raw.textual), notes


def arranged(
    frame: pd.DataFrame, renamed: dict[str, str], reading: Reading, *, textual: bool
) -> pd.DataFrame:
    """Bring rows into our columns, as the options say; see `bayesjudge.scores.columns.arrange`."""
    return arrange(
        frame,
        renamed,
        judges=reading.judges,
        model_name=reading.model_name,
        judge_name=reading.judge_name,
        textual=textual,
    )


def _scores(
    tidy: pd.DataFrame, raw: RawTable, reading: Reading, declared: DeclaredScale | None
) -> tuple[FloatArray, list[str]]:
    """Read the scores as numbers on the scale, NaN where missing."""
    scores, notes = read_numbers(tidy, raw, reading.missing)
    allowed = None if declared is None else bool(declared.snap(np.array([-1.0]))[1][0])
    scores, more = parse_failures(tidy, scores, allowed, raw)
    notes += more
    if declared is not None:
        scores, more = settle_outside(tidy, scores, declared, reading.outside, raw)
        notes += more
    if np.isnan(scores).all():
        raise ScoreError(
            f"All {counted(len(scores), 'score')} of {raw.source} "
            f"are missing; at least one is needed.{''.join(' ' + note for note in notes)}"
        )
    return scores, notes


def _plain_frame(tidy: pd.DataFrame) -> pd.DataFrame:
    """Write labels as str, extra columns behind, rows numbered from 0."""
    tidy = tidy.copy(deep=False)
    tidy.attrs = {}  # what others keep there need not be comparable, which pandas takes for granted
    frame = tidy.astype(dict.fromkeys(FACETS, "str")).reset_index(drop=True)
    extras = [name for name in frame.columns if name not in COLUMNS]
    typed = {name: _inferred(frame[name]) for name in extras if frame[name].dtype == object}
    return frame[[*COLUMNS, *extras]].assign(**typed)


def _inferred(values: pd.Series) -> pd.Series:
    try:
        return values.infer_objects()
    except UnicodeEncodeError:  # half an emoji, cut off by a token limit
        return values


def _missing_notes(frame: pd.DataFrame) -> list[str]:
    absent = frame["score"].isna()
    if not absent.any():
        return []
    first = (
        f"{int(absent.sum()):,} of {counted(len(frame), 'score')} "
        f"{'is' if absent.sum() == 1 else 'are'} missing and treated as missing at random: "
        "`missing` counts them by judge and model, `check` shows how far they "
        "could move the panel means."
    )
    notes = [first]
    for facet in FACETS[:2] + FACETS[3:]:
        silent = natural_order(set(frame[facet].unique()) - set(frame.loc[~absent, facet].unique()))
        if silent:
            notes.append(
                f"{counted(len(silent), f'{facet} has', f'{facet}s have')} no score at all and "
                f"{'is' if len(silent) == 1 else 'are'} left out of the labels: "
                f"{quoted(silent, limit=5)}."
            )
    return notes


def _check_choice(option: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ScoreError(
            f"{option}={value!r} is not a choice; {option}= is one of {quoted(choices)}."
            f"{did_you_mean(str(value), choices)}"
        )
