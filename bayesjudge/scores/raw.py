"""A table as it was found: not yet renamed, checked or converted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from bayesjudge.errors import ScoreError
from bayesjudge.wording import quoted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class RawTable:
    """Columns as read, with what is needed to name a row in a message.

    Attributes
    ----------
    frame : DataFrame
        One row per record, with a RangeIndex from `offset`. Later steps keep the index through
        filtering and melting, so that a message can always name the row of the input.
    source : str
        The path, or ``"DataFrame"``.
    lines : int array of shape (rows,), optional
        The line of the file on which each row starts, where that is known.
    offset : int
        Rows of the input before the first of these, where it is read in parts.
    place : str
        Which of several inputs this is, such as a file of a folder; blank if it is the only one.
    textual : bool
        Whether every cell is text because the format has no types (CSV, TSV).
    """

    frame: pd.DataFrame
    source: str
    lines: npt.NDArray[np.int64] | None = None
    textual: bool = False
    offset: int = 0
    place: str = ""

    def __post_init__(self) -> None:
        check_columns([str(name) for name in self.frame.columns], self.source)
        if not len(self.frame):
            raise ScoreError(
                f"{self.source} has columns and no rows; a score table needs one row per judge "
                f"call. The columns are {quoted(self.frame.columns)}."
            )

    def at(self, index: int) -> str:
        """Name a row of the input: 1-based among the data rows, and its line if known."""
        row = f"row {index + 1:,}" + (f" of {self.place}" if self.place else "")
        if self.lines is None:
            return row
        return f"{row} (line {self.lines[index - self.offset]:,} of the file)"

    def first(self, indices: npt.NDArray[np.int64], limit: int = 5) -> str:
        """Name the first few of some rows."""
        rows = [self.at(int(index)) for index in indices[:limit]]
        rest = len(indices) - limit
        return ", ".join(rows) + (f" and {rest:,} more" if rest > 0 else "")


def from_dataframe(frame: pd.DataFrame, source: str = "DataFrame") -> RawTable:
    """Copy a user's frame; named index levels become columns, an unnamed index is left out."""
    if isinstance(frame.columns, pd.MultiIndex):
        raise ScoreError(
            f"{source} has column names of {frame.columns.nlevels} levels; one level is needed. "
            'Flatten them first, for example with df.columns = ["_".join(c) for c in df.columns].'
        )
    named = [name for name in frame.index.names if name is not None]
    check_columns([str(name) for name in [*named, *frame.columns]], source)
    copied = frame.reset_index(level=named) if named else frame.copy()
    copied = copied.reset_index(drop=True)
    copied.columns = pd.Index([str(name) for name in copied.columns])
    return RawTable(copied, source)


def check_columns(names: list[str], source: str) -> None:
    """Refuse a table without columns or with two columns of one name."""
    if not names:
        raise ScoreError(f"{source} has no columns.")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        places = {name: [i + 1 for i, other in enumerate(names) if other == name] for name in twice}
        where = "; ".join(
            f"{name!r} is the name of columns {', '.join(map(str, at))}"
            for name, at in places.items()
        )
        raise ScoreError(f"{source} has duplicated column names: {where}. Rename or drop one.")
