"""The six terms of a score, their order, and the names of the sums that data may know them in.

A score is mean + judge + scenario + generation + scenario:judge + generation:judge + residual.
The same names serve the variance parameters of a model and the components reported from it.
"""

from __future__ import annotations

from collections.abc import Iterable

TERMS = ("scenario", "generation", "judge", "scenario:judge", "generation:judge", "residual")

# The terms that are random over scenarios, generations and calls. Judges are a fixed, finite
# panel: their offsets are estimated, and their dispersion is a statement about this panel.
RANDOM_TERMS = ("scenario", "generation", "scenario:judge", "generation:judge", "residual")

# When several terms have the same covariance pattern on the data, one of them carries the sum.
# The panel-relative scenario:judge comes last: it sums to zero over judges, so its own pattern
# is not that of the others, only its free form is.
_CARRIERS = ("residual", "scenario", "generation", "generation:judge", "scenario:judge", "judge")


def in_order(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms in the order of `TERMS`."""
    return tuple(sorted(terms, key=TERMS.index))


def sum_name(terms: Iterable[str]) -> str:
    """Name the sum of some terms, such as ``"scenario+generation"``."""
    return "+".join(in_order(terms))


def parts(name: str) -> tuple[str, ...]:
    """Return the terms in a sum's name, the inverse of `sum_name`."""
    return tuple(name.split("+"))


def place(name: str) -> list[int]:
    """Say where a component or sum comes among others: by its terms, in their order."""
    return [TERMS.index(term) for term in parts(name)]


def carrier(terms: Iterable[str]) -> str:
    """Return the term whose place in the likelihood a confounded sum takes."""
    return min(terms, key=_CARRIERS.index)
