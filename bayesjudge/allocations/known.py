r"""What components known only in sums say of a variance.

A table may know two or more components only as their sum, and a linear fit reports that sum. A
variance that weighs the parts alike is known all the same; one that doesn't lies between what it
would be if all of the sum were one part or another.

An interaction inside a sum with the residual is not panel-relative there. A generation:judge
variance z adds zK/(K-1) to generation:judge+residual and takes z/(K-1) from generation (likewise
scenario:judge and scenario), so a sum v that is all z stands for z = v(K-1)/K and v/K more of
generation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bayesjudge.terms import parts

_MAIN = {"scenario:judge": "scenario", "generation:judge": "generation"}
_SAME = 1e-12  # of coefficients that are equal but for rounding


class Range(NamedTuple):
    """The least and the largest coefficient of a known component or sum, and its parts there."""

    low: float
    high: float
    lowest: str
    highest: str

    @property
    def exact(self) -> bool:
        """Whether all parts have the same coefficient."""
        return self.high - self.low <= _SAME * self.high


def ranges(
    names: Iterable[str],
    coefficients: Mapping[str, float],
    panel_size: int,
    *,
    relative: bool = False,
) -> dict[str, Range]:
    """Return the coefficients that each known component or sum may have.

    Parameters
    ----------
    names : sequence of str
        What is known, such as ``generation`` or ``generation:judge+residual``.
    coefficients : mapping
        Of each single component, from `bayesjudge.allocations.coefficients.coefficients`.
    panel_size : int
        Judges in the panel.
    relative : bool
        Whether interactions in sums are relative to the panel there too, as in an ordinal fit.
    """
    found = {}
    for name in names:
        terms = parts(name)
        own = {
            part: coefficients[part]
            if relative
            else _effective(part, terms, coefficients, panel_size)
            for part in terms
        }
        low, high = min(own, key=own.__getitem__), max(own, key=own.__getitem__)
        found[name] = Range(own[low], own[high], low, high)
    return found


def _effective(part: str, terms: Sequence[str], coefficients: Mapping[str, float], K: int) -> float:
    """Coefficient of a sum that is all one part."""
    main = _MAIN.get(part)
    if main is None or main in terms or "residual" not in terms:
        return coefficients[part]
    return (coefficients[part] * (K - 1) + coefficients[main]) / K
