"""Results on a terminal, as JSON, and in files. Nothing is computed here."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pandas as pd
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from bayesjudge.atomic import written_whole
from bayesjudge.errors import BayesJudgeError

DIGITS = 4
WIDE = 150  # columns that the widest table of a fit takes


class _Console(Console):
    """A console whose reader may leave early (`| head`) without that being a failure."""

    def on_broken_pipe(self) -> None:
        """End quietly."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0)


def console() -> Console:
    """Return standard output. A table is never cut: where it is too wide, the terminal folds it."""
    found = _Console(highlight=False)
    return (
        found
        if found.is_terminal and found.width >= WIDE
        else _Console(highlight=False, width=1000, soft_wrap=True)
    )


def narrow() -> bool:
    """Whether standard output is a terminal too narrow for all columns."""
    found = Console()
    return found.is_terminal and found.width < WIDE


def table(frame: pd.DataFrame, title: str, caption: str = "") -> RenderableType:
    """Turn a frame into a table: index first, numbers right-aligned to four digits."""
    plain = frame.reset_index()
    made = Table(header_style="bold")
    numeric = [pd.api.types.is_numeric_dtype(plain[c]) and plain[c].dtype != bool for c in plain]
    for name, right in zip(plain.columns, numeric, strict=True):
        made.add_column(escape(_title(name)), justify="right" if right else "left")
    for row in plain.itertuples(index=False):
        made.add_row(*(escape(text(value)) for value in row))
    # A table's own title would be broken to the width of the table.
    return Group(Text(title, style="bold"), made, Text(f"{caption}\n" if caption else ""))


def _title(name: object) -> str:
    words = " ".join(str(part) for part in name if part) if isinstance(name, tuple) else str(name)
    return words.replace("_", " ")


def text(value: object) -> str:
    """Write one value for a person."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.{DIGITS}g}"
    return str(value)


def with_ends(middle: float, low: float, high: float) -> str:
    """Write a number with its interval, as far as there are any."""
    if math.isnan(low):
        return "–" if math.isnan(middle) else f"{middle:.3g}"
    if math.isnan(middle):
        return f"{low:.2g} to {high:.2g}"
    return f"{middle:.3g} ({low:.2g} to {high:.2g})"


def as_json(value: Any) -> str:
    """Write a result as JSON: NaN becomes null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Turn a frame into rows for JSON, the index among the columns."""
    return [{str(k): v for k, v in row.items()} for row in _flat(frame).to_dict("records")]


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Put the index among the columns, and name columns of two levels by both."""
    plain = frame.reset_index()
    plain.columns = [_title(c).replace(" ", "_") if isinstance(c, tuple) else c for c in plain]
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, pd.DataFrame):
        return _plain(records(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(path: str | Path, frame: pd.DataFrame, **extra: Any) -> Path:
    """Write a frame to a .csv or .json file, whole or not at all.

    A text that a spreadsheet would take for a formula gets an apostrophe in front, in CSV.
    """
    path = Path(path)
    match path.suffix:
        case ".csv":
            content = _guarded(_flat(frame)).to_csv(index=False)
        case ".json":
            content = as_json({"rows": frame, **extra}) + "\n"
        case other:
            raise BayesJudgeError(
                f"--out {path}: the ending {other!r} is not known here. Allowed: .csv, .json."
            )
    return write_text(path, content)


def _guarded(frame: pd.DataFrame) -> pd.DataFrame:
    def guard(value: object) -> object:
        dangerous = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
        return f"'{value}" if dangerous else value

    return frame.map(guard)


def deliver(
    told: Mapping[str, Any],
    frame: pd.DataFrame,
    out: str | None,
    json_only: bool,
    print_it: Callable[[], None],
) -> None:
    """Write a result to a file, and show it or print it as JSON.

    Parameters
    ----------
    told : mapping
        All of it, for JSON.
    frame : DataFrame
        Its table, for a .csv file.
    out : str, optional
        The file.
    json_only : bool
        Whether to print JSON and nothing else.
    print_it : callable
        Shows it.
    """
    written = None
    if out and Path(out).suffix == ".json":
        written = write_text(Path(out), as_json(told) + "\n")
    elif out:
        written = write(out, frame)
    if json_only:
        click.echo(as_json(told))
        return
    print_it()
    if written:
        click.echo(f"Written: {written}")


def write_text(path: Path, content: str) -> Path:
    """Write a text file under a temporary name, then rename it into place."""
    try:
        with written_whole(path) as temporary:
            temporary.write_text(content, encoding="utf-8")
    except OSError as error:
        raise BayesJudgeError(f"can't write {path}: {error.strerror or error}") from error
    return path


def folder(path: str | Path) -> Path:
    """Make a folder for results."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BayesJudgeError(f"can't make the folder {path}: {error.strerror}") from error
    return path


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Show which stage of long work is on; silent when standard error is not a terminal."""
    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield lambda stage: None
        return
    with screen.status("starting") as status:
        yield lambda stage: status.update(f"{stage} ...")
