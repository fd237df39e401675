"""Finding a file, telling its format, and reading it as text."""

from __future__ import annotations

from pathlib import Path

from bayesjudge.errors import ScoreError
from bayesjudge.wording import nearest

FORMATS = ("csv", "tsv", "parquet", "jsonl", "json")
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
}
PARQUET_MAGIC = b"PAR1"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_HEAD = 4096  # bytes looked at to tell the format


def locate(source: str | Path) -> Path:
    """Return the path of a file that can be read.

    Raises
    ------
    ScoreError
        If it does not exist, is a folder, is empty or can't be opened.
    """
    path = Path(source)
    try:
        if path.is_dir():
            raise ScoreError(f"{path} is a folder; give the path of one file in it.")
        if not path.exists():
            raise ScoreError(_not_there(path))
        head = _head(path)
    except (OSError, ValueError) as error:
        if isinstance(error, ScoreError):
            raise
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ScoreError(f"{path} can't be read: {reason}.") from None
    if not head:
        raise ScoreError(f"{path} is empty (0 bytes).")
    return path


def recognise(path: Path) -> str:
    """Tell the format of a file by its ending, otherwise by its content.

    Raises
    ------
    ScoreError
        If neither tells.
    """
    ending = path.suffix.casefold()
    head = _head(path)
    start = head.decode("utf-8-sig", errors="replace").lstrip()[:1]
    if ending == ".json":
        return "json" if start == "[" else "jsonl"
    if ending in ENDINGS:
        return ENDINGS[ending]
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    if b"\0" not in head:
        if start in ("[", "{"):
            return "json" if start == "[" else "jsonl"
        header = head.split(b"\n", 1)[0]
        if b"\t" in header or b"," in header:
            return "tsv" if b"\t" in header else "csv"
    raise ScoreError(
        f"{path} ends in {path.suffix!r}, and its content is of no known format. Known endings are "
        f"{', '.join(ENDINGS)}; say format= (--format) if it is one of {', '.join(FORMATS)}, "
        "otherwise save it as CSV first."
    )


def read_text(path: Path) -> str:
    """Read a whole text file, without the byte order mark if it has one.

    Raises
    ------
    ScoreError
        If it is binary or not UTF-8.
    """
    data = path.read_bytes()
    if data.startswith(_UTF16_MARKS):
        raise ScoreError(f"{path} is UTF-16 text; save it as UTF-8.")
    if b"\0" in data or data.startswith(PARQUET_MAGIC):
        hint = " It looks like Parquet." if data.startswith(PARQUET_MAGIC) else ""
        raise ScoreError(f"{path} is a binary file, not text.{hint} Check its format= (--format).")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScoreError(
            f"{path} is not UTF-8: byte 0x{data[error.start]:02x} in line {line:,}. Save it as "
            "UTF-8."
        ) from None
    if not text.strip():
        raise ScoreError(f"{path} is empty: it holds nothing but blank space.")
    return text


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def _not_there(path: Path) -> str:
    if not path.parent.is_dir():
        return f"There is no file {path}, nor a folder {path.parent}."
    near = nearest(path.name, [other.name for other in path.parent.iterdir()])
    hint = f" Did you mean {str(path.with_name(near))!r}?" if near else ""
    return f"There is no file {path}.{hint}"
