"""Single entries of a specification's file: read, or refused with what is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bayesjudge.errors import SpecError
from bayesjudge.priors import Parameters, Prior
from bayesjudge.wording import nearest

_BOUND = 1e6
_SHOWN = 60  # characters of what was found in a file


def known(table: Mapping[str, Any], allowed: Iterable[str], where: str) -> None:
    """Refuse a table with a key that is not allowed."""
    allowed = tuple(allowed)
    for key in table:
        if key not in allowed:
            raise SpecError(f"{where}: unknown key {shown(key)}. Allowed: {choices(key, allowed)}")


def choice(
    table: Mapping[str, Any], key: str, allowed: tuple[str, ...], where: str, context: str = ""
) -> str:
    """Read a text that is one of a few; ``context`` stands behind "is not allowed"."""
    if key not in table:
        raise SpecError(f"{where}: the key {key!r} is missing. Allowed: {', '.join(allowed)}")
    value = table[key]
    if not isinstance(value, str) or value not in allowed:
        raise SpecError(
            f"{where}: {key} = {shown(value)} is not allowed{context}. "
            f"Allowed: {choices(value, allowed)}"
        )
    return value


def string(table: Mapping[str, Any], key: str, path: str) -> str:
    """Read a text that is not blank."""
    value = table[key]
    if not isinstance(value, str) or not value.strip():
        raise SpecError(f"{path}: {key} must be a non-empty text, not {shown(value)}")
    return value


def strings(table: Mapping[str, Any], key: str, path: str) -> tuple[str, ...]:
    """Read a list of texts."""
    value = table[key]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise SpecError(f"{path}: {key} must be a list of texts, not {shown(value)}")
    return tuple(value)


def prior(entry: object, families: Mapping[str, Parameters], why: str, where: str) -> Prior:
    """Read a prior of one of some families; ``why`` says why only those are allowed."""
    if not isinstance(entry, dict):
        raise SpecError(
            f"{where}: must look like {{ dist = "
            f'"{next(iter(families))}", kwargs = {{ ... }} }}, not {shown(entry)}'
        )
    known(entry, ("dist", "kwargs"), where)
    for needed in ("dist", "kwargs"):
        if needed not in entry:
            raise SpecError(f"{where}: {needed!r} is missing")
    dist, kwargs = entry["dist"], entry["kwargs"]
    if not isinstance(dist, str) or dist not in families:
        raise SpecError(
            f"{where}: dist {shown(dist)} is not allowed. Allowed: {choices(dist, families)}{why}"
        )
    family = families[dist]
    if not isinstance(kwargs, dict):
        raise SpecError(f"{where}: kwargs must be a table with {', '.join(family.parameters)}")
    known(kwargs, family.parameters, f"{where} kwargs")
    for parameter in family.parameters:
        if parameter not in kwargs:
            raise SpecError(f"{where}: {dist} needs {parameter!r}")
        value = kwargs[parameter]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SpecError(f"{where}: {parameter} must be a number, not {shown(value)}")
        least = 1 / _BOUND if parameter in family.positive else -family.free_bound
        most = _BOUND if parameter in family.positive else family.free_bound
        if not least <= value <= most:  # also refuses nan, inf and integers of any length
            raise SpecError(
                f"{where}: {parameter} must be between {least:g} and {most:g}, not {shown(value)}"
            )
    return Prior(dist, {parameter: float(kwargs[parameter]) for parameter in family.parameters})


def choices(word: object, allowed: Iterable[str]) -> str:
    """List what is allowed, with the one that is spelled most like the word, and a full stop."""
    allowed = tuple(allowed)
    near = nearest(word, allowed) if isinstance(word, str) and len(word) <= _SHOWN else None
    return ", ".join(allowed) + (f"; did you mean {near!r}?" if near else ".")


def shown(value: object) -> str:
    """Write what was found in a file, cut where it is long."""
    try:
        return cut(repr(value))
    except (ValueError, RecursionError):  # an integer of thousands of digits; thousands of levels
        return f"{type(value).__name__} too large to show"


def cut(text: str) -> str:
    """Cut a text where it is long."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
