"""A fit on disk, and what can be asked of any fit."""

from __future__ import annotations

import threading
from pathlib import Path

import xarray as xr

from bayesjudge.atomic import written_whole
from bayesjudge.errors import FitError

# The C library of NetCDF crashes when two threads are in it, even with different files.
_ONE_AT_A_TIME = threading.Lock()

FORMAT = 1  # of the tree; raised when a reader of old files would go wrong


def require_fit(tree: object) -> None:
    """Refuse what is not a fit, before anything is asked of it.

    Raises
    ------
    FitError
        Saying how to make one.
    """
    if not isinstance(tree, xr.DataTree) or "bayesjudge_format" not in tree.attrs:
        raise FitError(
            f"This needs a fit, not a {type(tree).__name__}: pass what bayesjudge.fit(...) or "
            "bayesjudge.load(path) returned."
        )


def problems(tree: xr.DataTree) -> tuple[str, ...]:
    """Return what is wrong with a fit, in sentences; nothing for one that passed."""
    text = str(tree.attrs.get("problems", ""))
    return tuple(text.split("\n")) if text else ()


def save(tree: xr.DataTree, path: str | Path) -> Path:
    """Save a fit as NetCDF.

    The file is written under a temporary name beside its place and then renamed, so that an
    interruption leaves an older file whole.

    Parameters
    ----------
    tree : DataTree
        From `bayesjudge.fit`.
    path : str or Path
        Where to, usually with the ending ``.nc``.

    Returns
    -------
    Path
        Where it is.

    Raises
    ------
    FitError
        When the folder does not exist or can't be written to.
    """
    path = Path(path)
    try:
        with written_whole(path) as temporary, _ONE_AT_A_TIME:
            tree.to_netcdf(temporary, engine="netcdf4")  # a fifth of the time of h5netcdf
    except OSError as error:
        raise FitError(f"can't write {path}: {error.strerror or error}") from error
    return path


def load(path: str | Path) -> xr.DataTree:
    """Load a fit that `save` wrote.

    Parameters
    ----------
    path : str or Path
        A NetCDF file.

    Raises
    ------
    FitError
        When there is no such file, or it does not hold a fit of this package.
    """
    path = Path(path)
    if not path.is_file():
        raise FitError(f"there is no file {path}")
    try:
        with _ONE_AT_A_TIME, xr.open_datatree(path, engine="netcdf4") as opened:
            tree = opened.load()
    except (OSError, ValueError, KeyError) as error:
        raise FitError(f"{path} is not a NetCDF file that holds a fit: {error}") from error
    found = tree.attrs.get("bayesjudge_format")
    if found is None or "posterior" not in tree.children:
        raise FitError(f"{path} does not hold a fit of bayesjudge")
    if int(found) > FORMAT:
        raise FitError(
            f"{path} was written by a newer bayesjudge (form {found}, this one reads {FORMAT}): "
            "update the package."
        )
    return tree
