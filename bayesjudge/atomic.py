"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a temporary place beside `path` to write to, and rename it into place at the end.

    An interruption or a failure leaves an older file as it was, and no temporary one; a killed
    process may leave one, which `sweep` removes.

    Raises
    ------
    OSError
        When the folder is missing or can't be written to, or the disk is full.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sweep(folder: Path, names: set[str], age: float = 60.0) -> None:
    """Remove the temporary places of processes that were killed while they wrote.

    Parameters
    ----------
    folder : Path
        Where they wrote.
    names : set of str
        Of the files that were to be written.
    age : float
        Seconds for which a place has not been touched: what is younger may be in use.
    """
    for left in folder.glob(".*.tmp"):
        name = left.name[1:].removesuffix(".tmp").rpartition(".")[0]
        with suppress(FileNotFoundError):  # its writer was done just now
            if name in names and time.time() - left.stat().st_mtime > age:
                left.unlink()
