"""The closed form of a specification's file: which keys, terms and priors go together."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bayesjudge.errors import SpecError
from bayesjudge.priors import (
    MEAN_FAMILIES,
    SD_FAMILIES,
    THRESHOLD_FAMILIES,
    ZERO_SUM_FAMILIES,
    Parameters,
    Prior,
)
from bayesjudge.specs.entries import choice, choices, cut, known, prior, shown, string, strings
from bayesjudge.specs.spec import Spec
from bayesjudge.terms import TERMS, in_order

_KEYS = ("name", "statement", "family", "link", "terms", "references", "priors")
_SCALE = "threshold-scale"
# Priors beside those of the mean and the terms, by kind of thresholds.
_OWN_PRIORS = {"none": (), "common": ("thresholds",), "judge-scale": ("thresholds", _SCALE)}


@dataclass(frozen=True)
class _Form:
    """What goes with a family.

    Attributes
    ----------
    links, units, kinds : tuple of str
        The links, the units of priors, and the values of `kind`, that it may have.
    kind : str
        The key of its own, beside those that every model has.
    needed, terms : tuple of str
        The terms that it must have, and all that it may have.
    terms_why : str
        Said when a term is refused.
    mean : dict of Parameters
        The families of priors of the mean.
    mean_why : str
        Why no others.
    """

    links: tuple[str, ...]
    units: tuple[str, ...]
    kind: str
    kinds: tuple[str, ...]
    needed: tuple[str, ...]
    terms: tuple[str, ...]
    terms_why: str
    mean: Mapping[str, Parameters]
    mean_why: str


_FORMS = {
    "gaussian": _Form(
        links=("identity",),
        units=("range", "score"),
        kind="residual",
        kinds=("common", "judge"),
        needed=("scenario", "generation", "judge", "residual"),
        terms=TERMS,
        terms_why="A term that a table can't show is left out by itself; a model states it.",
        mean=MEAN_FAMILIES,
        mean_why=(
            " The mean and the effects are integrated out in closed form, which only Normal allows."
        ),
    ),
    "cumulative": _Form(
        links=("logit", "probit"),
        units=("latent",),
        kind="thresholds",
        kinds=("common", "judge-scale"),
        needed=("scenario", "generation", "judge"),
        terms=("scenario", "generation", "judge"),
        terms_why=(
            "A cumulative model has exactly scenario, generation, judge: its residual is the "
            "noise of the link, and interactions arise on the score scale."
        ),
        mean=ZERO_SUM_FAMILIES,
        mean_why=(
            " The thresholds carry the common level, so the means of the evaluated models sum to "
            "zero."
        ),
    ),
}


def parse(content: bytes, path: str) -> Spec:
    """Read a file's bytes as a specification.

    Parameters
    ----------
    content : bytes
        TOML.
    path : str
        For the messages and `Spec.path`.

    Raises
    ------
    SpecError
        When it is not of the documented form.
    """
    table = _table(content, path)
    family = _family(table, path)
    form = _FORMS[family]
    link = choice(table, "link", form.links, path, _link_context(table["link"], family))
    kind = choice(table, form.kind, form.kinds, path)
    terms = _terms(strings(table, "terms", path), form, path)
    thresholds = kind if form.kind == "thresholds" else "none"
    priors = _priors(table["priors"], form, thresholds, terms, path)
    unit = choice(priors, "unit", form.units, f"{path} [priors]", f" with family = {family!r}")
    read = dict(_read(priors, form, thresholds, terms, path))
    return Spec(
        name=string(table, "name", path),
        statement=" ".join(string(table, "statement", path).split()),
        family=family,
        link=link,
        terms=terms,
        residual=kind if form.kind == "residual" else "link",
        thresholds=thresholds,
        unit=unit,
        mean=read["mean"],
        sd={term: read[term] for term in terms},
        threshold_prior=read.get("thresholds"),
        threshold_scale=read.get(_SCALE),
        references=strings(table, "references", path),
        sha256=hashlib.sha256(content).hexdigest(),
        path=path,
    )


def _table(content: bytes, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not valid TOML: not UTF-8 ({error})") from error
    except (ValueError, RecursionError) as error:
        raise SpecError(f"{path}: not valid TOML: {cut(str(error))}") from error


def _family(table: Mapping[str, Any], path: str) -> str:
    """Return a file's family, after checking the keys against it."""
    kinds = [form.kind for form in _FORMS.values()]
    known(table, (*_KEYS[:5], *kinds, *_KEYS[5:]), path)
    family = table.get("family")
    form = _FORMS.get(family) if isinstance(family, str) else None
    own = () if form is None else (form.kind,)
    keys = (*_KEYS[:5], *own, *_KEYS[5:])
    stray = [key for key in kinds if key in table and key not in own]
    if form is not None and stray:
        raise SpecError(
            f"{path}: the key {stray[0]!r} does not go with family = {family!r}, which has "
            f"{form.kind!r} in its place. Allowed: {form.kind} = "
            f"{' or '.join(repr(value) for value in form.kinds)}."
        )
    for key in keys:
        if key not in table:
            raise SpecError(
                f"{path}: the key {key!r} is missing; a model states all of {', '.join(keys)}"
            )
    return choice(table, "family", tuple(_FORMS), path)


def _link_context(link: object, family: str) -> str:
    owners = [name for name, form in _FORMS.items() if link in form.links]
    hint = f" (it goes with family = {owners[0]!r})" if owners else ""
    return f" with family = {family!r}{hint}"


def _terms(terms: tuple[str, ...], form: _Form, path: str) -> tuple[str, ...]:
    for term in terms:
        if term not in TERMS:
            raise SpecError(
                f"{path}: unknown term {shown(term)}. Allowed: {choices(term, form.terms)}"
            )
        if term not in form.terms:
            raise SpecError(f"{path}: 'terms' may not have {term!r}. {form.terms_why}")
    if len(set(terms)) < len(terms):
        raise SpecError(f"{path}: 'terms' names a term twice: {cut(', '.join(terms))}")
    for needed in form.needed:
        if needed not in terms:
            raise SpecError(f"{path}: 'terms' lacks {needed!r}. {form.terms_why}")
    return in_order(terms)


def _priors(
    priors: object, form: _Form, thresholds: str, terms: tuple[str, ...], path: str
) -> dict[str, Any]:
    """Check that there are priors for what the model has, and for nothing else."""
    where = f"{path} [priors]"
    if not isinstance(priors, dict):
        raise SpecError(f"{path}: 'priors' must be a table, not {shown(priors)}")
    own = _OWN_PRIORS[thresholds]
    for key in _OWN_PRIORS["judge-scale"]:
        if key in priors and key not in own:
            raise SpecError(
                f"{where}: a prior for {key!r}, which goes with "
                + (
                    "family = 'cumulative', not with 'gaussian'"
                    if thresholds == "none"
                    else f"thresholds = 'judge-scale', not with {thresholds!r}"
                )
            )
    stray = [key for key in priors if key in TERMS and key not in terms]
    if stray:
        raise SpecError(f"{where}: a prior for {stray[0]!r}, which is not in 'terms'")
    known(priors, ("unit", "mean", *own, *form.terms), where)
    needed = " and ".join(["every term", "the mean", *(repr(key) for key in own)])
    for key in ("mean", *own, *terms):
        if key not in priors:
            raise SpecError(f"{where} {key}: is missing; {needed} need a prior")
    return priors


def _read(
    priors: Mapping[str, Any], form: _Form, thresholds: str, terms: tuple[str, ...], path: str
) -> Iterator[tuple[str, Prior]]:
    where = f"{path} [priors]"
    yield "mean", prior(priors["mean"], form.mean, form.mean_why, f"{where} mean")
    for term in terms:
        yield term, prior(priors[term], SD_FAMILIES, "", f"{where} {term}")
    if thresholds != "none":
        why = " Thresholds are ordered, so the prior is on the probabilities of the levels."
        entry = priors["thresholds"]
        yield "thresholds", prior(entry, THRESHOLD_FAMILIES, why, f"{where} thresholds")
    if thresholds == "judge-scale":
        why = " The common thresholds carry the mean, so the log factors of judges sum to zero."
        yield _SCALE, prior(priors[_SCALE], ZERO_SUM_FAMILIES, why, f"{where} {_SCALE}")
