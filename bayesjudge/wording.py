"""Small pieces of the sentences that refusals and notes are made of."""

from __future__ import annotations

import difflib
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHOWN = 5  # examples listed in a message before it says how many more there are


def listed(items: Sequence[object], *, separator: str = ", ", limit: int = SHOWN) -> str:
    """Join the first items; say how many were left out."""
    shown = separator.join(str(item) for item in islice(items, limit))
    rest = len(items) - limit
    return shown if rest <= 0 else f"{shown}{separator}and {rest:,} more"


def quoted(names: Iterable[object], *, limit: int = 40) -> str:
    """List names in quotes."""
    return listed([repr(str(name)) for name in names], limit=limit)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Write ``1 row``, ``2 rows``, ``1,200 rows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is spelled most like ``name``, whatever the case, or None."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    found = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=cutoff)
    return by_folded[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` with a leading blank, or an empty string."""
    found = nearest(name, known)
    return f" Did you mean {found!r}?" if found else ""
