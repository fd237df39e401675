"""Model specifications: TOML files that say *what* is fitted. How is said in Python.

The shipped ones stand in ``models/``. Copy one, change a prior, and pass its path.
"""

from __future__ import annotations

import difflib
import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from bayesjudge.errors import SpecError
from bayesjudge.priors import MEAN_FAMILIES, SD_FAMILIES, Family, Prior
from bayesjudge.terms import TERMS, in_order

_KEYS = ("name", "statement", "family", "link", "terms", "residual", "references", "priors")
_BOUND = 1e6
_SHOWN = 60  # characters of what was found in a file
_LARGEST = 1 << 14  # bytes: several pages of text; a crafted file of this size parses in seconds


@dataclass(frozen=True)
class Spec:
    """A model specification.

    Attributes
    ----------
    name, statement : str
        What it is called, and what it states in a paragraph.
    family, link : str
        Distribution of a score, and the link to the linear predictor.
    terms : tuple of str
        The terms of a score, in the order of `bayesjudge.terms.TERMS`.
    residual : str
        "common", or "judge" for one residual sd a judge.
    unit : str
        Unit of the priors: "range" of the declared scale, or "score" points.
    mean : Prior
        Prior of the panel mean, in `unit`; with "range", from the scale's low end.
    sd : dict of Prior
        Prior of each term's standard deviation, in `unit`.
    references : tuple of str
        Where the model comes from.
    sha256 : str
        Hash of the file's bytes.
    path : str
        Where it was read from; a name for a shipped one.
    """

    name: str
    statement: str
    family: str
    link: str
    terms: tuple[str, ...]
    residual: str
    unit: str
    mean: Prior
    sd: Mapping[str, Prior]
    references: tuple[str, ...]
    sha256: str
    path: str


def available() -> tuple[str, ...]:
    """Return the names of the shipped specifications."""
    return tuple(sorted(entry.name[:-5] for entry in _shipped() if entry.name.endswith(".toml")))


def read_spec(source: str | Path) -> Spec:
    """Read a shipped specification by name, or a TOML file by path.

    Parameters
    ----------
    source : str or Path
        A name from `available`, or a path that ends in ``.toml``.

    Raises
    ------
    SpecError
        When there is no such specification, or it is not of the documented form: unknown keys,
        terms or prior families, parameters that are missing or out of range.
    """
    text = str(source)
    if text.endswith(".toml"):
        return _parse(_bytes(Path(text)), text)
    for entry in _shipped():
        if entry.name == f"{text}.toml":
            return _parse(entry.read_bytes(), text)
    raise SpecError(
        f"there is no model {text!r}. Shipped: {', '.join(available())}"
        f"{_did_you_mean(text, available())} For your own, pass a path that ends in .toml."
    )


def _shipped() -> Iterable[Traversable]:
    """List the shipped files: inside the installed package, else beside it in a checkout."""
    inside = resources.files("bayesjudge") / "models"
    if inside.is_dir():
        return list(inside.iterdir())
    beside = Path(__file__).resolve().parent.parent / "models"
    return list(beside.iterdir()) if beside.is_dir() else []


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


def _parse(content: bytes, path: str) -> Spec:
    try:
        table = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not valid TOML: not UTF-8 ({error})") from error
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{path}: not valid TOML: {_cut(str(error))}") from error
    _known(table, _KEYS, path)
    for key in _KEYS:
        if key not in table:
            raise SpecError(
                f"{path}: the key {key!r} is missing; a model states all of {', '.join(_KEYS)}"
            )
    family = _choice(table, "family", ("gaussian",), path)
    link = _choice(table, "link", ("identity",), path)
    residual = _choice(table, "residual", ("common", "judge"), path)
    terms = _terms(_strings(table, "terms", path), path)
    priors = table["priors"]
    if not isinstance(priors, dict):
        raise SpecError(f"{path}: 'priors' must be a table, not {_shown(priors)}")
    _known(priors, ("unit", "mean", *TERMS), f"{path} [priors]")
    unit = _choice(priors, "unit", ("range", "score"), f"{path} [priors]")
    stray = [key for key in priors if key in TERMS and key not in terms]
    if stray:
        raise SpecError(f"{path} [priors]: a prior for {stray[0]!r}, which is not in 'terms'")
    return Spec(
        name=_string(table, "name", path),
        statement=" ".join(_string(table, "statement", path).split()),
        family=family,
        link=link,
        terms=terms,
        residual=residual,
        unit=unit,
        mean=_prior(priors, "mean", MEAN_FAMILIES, path),
        sd={term: _prior(priors, term, SD_FAMILIES, path) for term in terms},
        references=_strings(table, "references", path),
        sha256=hashlib.sha256(content).hexdigest(),
        path=path,
    )


def _terms(terms: tuple[str, ...], path: str) -> tuple[str, ...]:
    for term in terms:
        if term not in TERMS:
            raise SpecError(
                f"{path}: unknown term {_shown(term)}. Allowed: {', '.join(TERMS)}"
                f"{_did_you_mean(term, TERMS)}"
            )
    if len(set(terms)) < len(terms):
        raise SpecError(f"{path}: 'terms' names a term twice: {_cut(', '.join(terms))}")
    for needed in ("scenario", "generation", "judge", "residual"):
        if needed not in terms:
            raise SpecError(
                f"{path}: 'terms' lacks {needed!r}. A term that a table can't show is left out "
                "by itself; a model states it."
            )
    return in_order(terms)


def _prior(table: Mapping[str, Any], key: str, families: Mapping[str, Family], path: str) -> Prior:
    where = f"{path} [priors] {key}"
    if key not in table:
        raise SpecError(f"{where}: is missing; every term and the mean need a prior")
    entry = table[key]
    if not isinstance(entry, dict):
        raise SpecError(
            f"{where}: must look like {{ dist = "
            f'"{next(iter(families))}", kwargs = {{ ... }} }}, not {_shown(entry)}'
        )
    _known(entry, ("dist", "kwargs"), where)
    for needed in ("dist", "kwargs"):
        if needed not in entry:
            raise SpecError(f"{where}: {needed!r} is missing")
    dist, kwargs = entry["dist"], entry["kwargs"]
    if not isinstance(dist, str) or dist not in families:
        why = (
            " The mean and the effects are integrated out in closed form, which only Normal allows."
            if families is MEAN_FAMILIES
            else ""
        )
        raise SpecError(
            f"{where}: dist {_shown(dist)} is not allowed. Allowed: {', '.join(families)}"
            f"{_did_you_mean(dist, families)}{why}"
        )
    family = families[dist]
    if not isinstance(kwargs, dict):
        raise SpecError(f"{where}: kwargs must be a table with {', '.join(family.parameters)}")
    _known(kwargs, family.parameters, f"{where} kwargs")
    for parameter in family.parameters:
        if parameter not in kwargs:
            raise SpecError(f"{where}: {dist} needs {parameter!r}")
        value = kwargs[parameter]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SpecError(f"{where}: {parameter} must be a number, not {_shown(value)}")
        least = 1 / _BOUND if parameter in family.positive else -family.free_bound
        most = _BOUND if parameter in family.positive else family.free_bound
        if not least <= value <= most:  # also refuses nan, inf and integers of any length
            raise SpecError(
                f"{where}: {parameter} must be between {least:g} and {most:g}, not {_shown(value)}"
            )
    return Prior(dist, {parameter: float(kwargs[parameter]) for parameter in family.parameters})


def _known(table: Mapping[str, Any], allowed: Iterable[str], where: str) -> None:
    allowed = tuple(allowed)
    for key in table:
        if key not in allowed:
            raise SpecError(
                f"{where}: unknown key {_shown(key)}. Allowed: {', '.join(allowed)}"
                f"{_did_you_mean(key, allowed)}"
            )


def _choice(table: Mapping[str, Any], key: str, allowed: tuple[str, ...], where: str) -> str:
    if key not in table:
        raise SpecError(f"{where}: the key {key!r} is missing. Allowed: {', '.join(allowed)}")
    value = table[key]
    if not isinstance(value, str) or value not in allowed:
        raise SpecError(
            f"{where}: {key} = {_shown(value)} is not allowed. Allowed: {', '.join(allowed)}"
            f"{_did_you_mean(value, allowed)}"
        )
    return value


def _string(table: Mapping[str, Any], key: str, path: str) -> str:
    value = table[key]
    if not isinstance(value, str) or not value.strip():
        raise SpecError(f"{path}: {key} must be a non-empty text, not {_shown(value)}")
    return value


def _strings(table: Mapping[str, Any], key: str, path: str) -> tuple[str, ...]:
    value = table[key]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise SpecError(f"{path}: {key} must be a list of texts, not {_shown(value)}")
    return tuple(value)


def _did_you_mean(word: object, allowed: Iterable[str]) -> str:
    if not isinstance(word, str) or len(word) > _SHOWN:
        return "."
    near = difflib.get_close_matches(word, list(allowed), n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def _shown(value: object) -> str:
    """Write what was found in a file, cut where it is long."""
    try:
        return _cut(repr(value))
    except (ValueError, RecursionError):  # an integer of thousands of digits; thousands of levels
        return f"{type(value).__name__} too large to show"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
