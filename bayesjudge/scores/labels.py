"""Labels of models, scenarios, generations and judges: as text, checked, in natural order."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesjudge.errors import ScoreError
from bayesjudge.wording import counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bayesjudge.scores.raw import RawTable

LONGEST = 200  # characters of a label
_DIGITS = re.compile(r"([0-9]+)")
_WHOLE_FLOAT = re.compile(r"[+-]?[0-9]+\.0")
# A blank between two digits tells numbers apart ("q 1 12", "q 11 2"), any other is spelling.
_SPELLING_BLANK = re.compile(r"(?<![0-9])\s|\s(?![0-9])")


def natural_key(label: str) -> tuple[tuple[str | int, ...], str]:
    """Return a sort key under which ``"2"`` comes before ``"10"``, and case matters last."""
    parts = _DIGITS.split(label.casefold())
    return tuple(int(p) if i % 2 else p for i, p in enumerate(parts)), label


def natural_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Sort labels so that numbers inside them count as numbers."""
    return tuple(sorted(labels, key=natural_key))


def joint_codes(
    codes: Iterable[npt.NDArray[np.integer]], sizes: Sequence[int]
) -> npt.NDArray[np.int64] | None:
    """Return one number for each row's codes, in their order; None if 64 bits don't hold them.

    Parameters
    ----------
    codes : iterable of int array, shape (rows,)
        From 0, the first one counts most.
    sizes : sequence of int
        How many there are of each.
    """
    if math.prod(sizes) >= 1 << 62:
        return None
    joint: npt.NDArray[np.int64] = np.int64(0)  # type: ignore[assignment]
    for each, size in zip(codes, sizes, strict=True):
        joint = joint * np.int64(size) + each
    return joint


def text_codes(values: pd.Series) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return the codes (-1 where missing or blank) and the distinct texts of a column.

    Raises
    ------
    TypeError
        If the column holds values that are not single values, such as lists.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        # By the codes, so that a large column is not written out as so many texts.
        codes, used = pd.factorize(values.cat.codes.to_numpy())
        uniques = values.cat.categories.astype(object)[used[used >= 0]]
        if (used < 0).any():  # missing has a code here, somewhere among the others
            place = np.cumsum(used >= 0) - 1
            codes = np.where(used[codes] < 0, -1, place[codes])
    else:
        codes, uniques = pd.factorize(values)
    texts = [_text(value) for value in uniques.tolist()]
    if len(set(texts)) < len(texts):  # the number 1 and the text "1" are one label
        first = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        same = np.array([*(first[text] for text in texts), -1])
        codes, texts = same[codes], list(first)
    blank = np.array([not text.strip() for text in texts], dtype=bool)
    if blank.any():
        codes = np.where(np.append(blank, False)[codes], -1, codes)
    return codes.astype(np.int64), texts


def texts_of(values: pd.Series) -> npt.NDArray[np.object_]:
    """Return a column as an array of str, blank where it is missing."""
    codes, texts = text_codes(values)
    return np.array([*_without_point_zero(texts), ""], dtype=object)[codes]


def read_labels(values: pd.Series, facet: str, raw: RawTable) -> tuple[pd.Series, list[str]]:
    """Read one facet's column as labels.

    Parameters
    ----------
    values : Series
        The column; its index names the rows of the input.
    facet : str
        ``"model"``, ``"scenario"``, ``"generation"`` or ``"judge"``, for the messages.
    raw : RawTable
        Where the column came from.

    Returns
    -------
    labels : Series of categorical dtype
        With the index of ``values``.
    notes : list of str
        What was changed, as sentences.

    Raises
    ------
    ScoreError
        For blank, over-long and unreadable labels, and for one label in two spellings.
    """
    codes, texts = label_codes(values, facet, raw)
    _refuse_two_spellings(codes, texts, facet)
    cleaned, notes = _clean(texts, facet)
    # Two texts may have become one ("81" and "81.0"), so the categories are found again.
    merged, categories = pd.factorize(np.array(cleaned, dtype=object))
    labels = pd.Categorical.from_codes(merged[codes], categories=pd.Index(categories, dtype="str"))
    return pd.Series(labels, index=values.index, name=facet), notes


def label_codes(
    values: pd.Series, facet: str, raw: RawTable
) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return the codes and distinct texts of one facet's column, each fit to be a label alone.

    Parameters and errors are those of `read_labels`, but for labels in two spellings.
    """
    try:
        codes, texts = text_codes(values)
    except TypeError:
        raise _not_single(values, facet, raw) from None
    _refuse_blank(values, codes, facet, raw)
    for code, text in enumerate(texts):
        problem = _problem(text) if text.strip() else None
        if problem:
            row = raw.at(int(values.index[np.flatnonzero(codes == code)[0]]))
            raise ScoreError(f"The {facet} label in {row} {problem}")
    return codes, texts


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, dict, set, frozenset, bytes, np.ndarray)):
        raise TypeError("not a single value")
    return str(value)


def _not_single(values: pd.Series, facet: str, raw: RawTable) -> ScoreError:
    for index, value in values.items():
        try:
            hash(_text(value))
        except TypeError:
            return ScoreError(
                f"The {facet} column {values.name!r} holds a {type(value).__name__} in "
                f"{raw.at(int(str(index)))}: {str(value)[:60]}. A label is one text or number; "
                "turn each into a short text first."
            )
    return ScoreError(f"The {facet} column {values.name!r} can't be read as labels.")


def _refuse_blank(
    values: pd.Series, codes: npt.NDArray[np.int64], facet: str, raw: RawTable
) -> None:
    blank = values.index.to_numpy()[codes < 0]
    if len(blank):
        raise ScoreError(
            f"{counted(len(blank), 'row has', 'rows have')} no {facet} label "
            f"(column {values.name!r}): {raw.first(np.unique(blank))}. Every call needs its "
            f"{facet}: fill the label in, or leave the rows out with where= (--where)."
        )


def _problem(text: str) -> str | None:
    """Say what makes a text useless as a label, or None."""
    shown = repr(text if len(text) <= 60 else text[:57] + "...")
    if "\0" in text:
        return f"holds a NUL character: {shown}. Labels must be printable text."
    if text.splitlines() != [text]:
        return f"holds a line break: {shown}. Use a short identifier on one line as the label."
    if len(text) > LONGEST:
        return (
            f"is {len(text):,} characters long: {shown}. At most {LONGEST} are allowed; use a "
            "short identifier as the label and keep the text in another column."
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"is not valid Unicode: {shown}. Labels must be printable text."
    return None


def _spelling(text: str) -> str:
    return _SPELLING_BLANK.sub("", " ".join(unicodedata.normalize("NFKC", text).split())).casefold()


def _refuse_two_spellings(codes: npt.NDArray[np.int64], texts: Sequence[str], facet: str) -> None:
    groups: dict[str, list[int]] = defaultdict(list)
    for code, text in enumerate(texts):
        groups[_spelling(text)].append(code)
    clashes = [group for key, group in groups.items() if key and len(group) > 1]
    if not clashes:
        return
    rows = np.bincount(codes[codes >= 0], minlength=len(texts))
    described = [
        " and ".join(f"{texts[code]!r} ({counted(int(rows[code]), 'row')})" for code in group)
        for group in clashes
    ]
    raise ScoreError(
        f"{counted(len(clashes), f'{facet} has', f'{facet}s have')} two spellings that differ "
        f"only by case or blank space: {listed(described, separator='; ')}. "
        "Make them the same in the input if they are one, or more different if they are not."
    )


def _without_point_zero(texts: list[str]) -> list[str]:
    """Read ``81.0`` as ``81`` where every number with a point is of that kind (not 4.0 and 4.1)."""
    pointed = [text for text in texts if "." in text]
    if not pointed or not all(_WHOLE_FLOAT.fullmatch(text) for text in pointed):
        return texts
    return [text.removesuffix(".0") for text in texts]


def _clean(texts: list[str], facet: str) -> tuple[list[str], list[str]]:
    notes = []
    stripped = [text.strip() for text in texts]
    changed = sum(before != after for before, after in zip(texts, stripped, strict=True))
    if changed:
        which = counted(changed, f"{facet} label")
        notes.append(f"Blank space around {which} was removed.")
    whole = _without_point_zero(stripped)
    if whole != stripped:
        example = next(text for text in stripped if text.endswith(".0"))
        notes.append(
            f"The {facet} labels are whole numbers, so they are written without a decimal point "
            f"({example!r} is {example.removesuffix('.0')!r})."
        )
    return whole, notes
