"""What is asked of several fits at once: that they are fits, of one table, each with a name."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from bayesjudge.errors import FitError
from bayesjudge.tree import require_fit


def require_one_table(trees: Sequence[xr.DataTree], asking: str) -> None:
    """Refuse what are no fits, and fits of different tables.

    Parameters
    ----------
    trees : sequence of DataTree
        What was passed.
    asking : str
        The function that was called.

    Raises
    ------
    FitError
        Saying what to pass.
    """
    if not trees:
        raise FitError(f"{asking} needs a fit")
    for tree in trees:
        require_fit(tree)
    if len({tree.attrs["data_sha256"] for tree in trees}) > 1:
        raise FitError("these fits are of different tables of scores: compare fits of one table")


def fit_names(trees: Sequence[xr.DataTree]) -> list[str]:
    """Name fits by their models, numbered where two have the same."""
    plain = [str(tree.attrs["model"]) for tree in trees]
    return [
        name if plain.count(name) == 1 else f"{name} {plain[: k + 1].count(name)}"
        for k, name in enumerate(plain)
    ]
