"""Specifications by name or path: the shipped files, and those of users."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from bayesjudge.errors import SpecError
from bayesjudge.specs.entries import choices
from bayesjudge.specs.schema import parse
from bayesjudge.specs.spec import Spec

_LARGEST = 1 << 14  # bytes: several pages of text; a crafted file of this size parses in seconds


def available() -> tuple[str, ...]:
    """Return the names of the shipped specifications."""
    return tuple(sorted(entry.name[:-5] for entry in _shipped() if entry.name.endswith(".toml")))


def read_spec(source: str | Path) -> Spec:
    """Read a shipped specification by name, or a TOML file by path.

    Parameters
    ----------
    source : str or Path
        A name from `available`, in which ``-`` and ``_`` are alike, or a path that ends in
        ``.toml``.

    Raises
    ------
    SpecError
        When there is no such specification, or it is not of the documented form: unknown keys,
        terms or prior families, parameters that are missing or out of range.
    """
    text = str(source)
    if text.endswith(".toml"):
        return parse(_bytes(Path(text)), text)
    for entry in _shipped():
        name = entry.name.removesuffix(".toml")
        if name != entry.name and _plain(name) == _plain(text):
            return parse(entry.read_bytes(), name)
    raise SpecError(
        f"there is no model {text!r}. Shipped: {choices(text, available())} "
        "For your own, pass a path that ends in .toml."
    )


def _shipped() -> Iterable[Traversable]:
    """List the shipped files: inside the installed package, else beside it in a checkout."""
    inside = resources.files("bayesjudge") / "models"
    if inside.is_dir():
        return list(inside.iterdir())
    beside = Path(__file__).resolve().parents[2] / "models"
    return list(beside.iterdir()) if beside.is_dir() else []


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _bytes(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():  # a pipe or a device may never end
            raise SpecError(f"{path}: is a directory or a device, not a file")
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise SpecError(f"{path}: can't be read ({error.strerror})") from error
    except ValueError as error:  # a name that no file can have
        raise SpecError(f"{str(path)!r}: can't be read ({error})") from error
    if len(content) > _LARGEST:
        raise SpecError(f"{path}: larger than {_LARGEST} bytes, which no model needs")
    return content
