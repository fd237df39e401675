"""How loops are compiled, and how what is kept of that is told apart."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba


def compiled(function: Any) -> Any:
    """Compile a function, and keep what was compiled for the next process."""
    # Sums may be taken in another order, which is what lets the processor add in parallel.
    return numba.njit(
        function, cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"}
    )


def source_digest(files: Iterable[Path]) -> int:
    """Return a number that changes with the code in some files.

    PyTensor keeps compiled functions from one process to the next. It knows them by the name of
    the operation, so without this a change to the code (a new release) would go unnoticed.
    """
    digest = sha256(b"".join(file.read_bytes() for file in sorted(files)))
    return int.from_bytes(digest.digest()[:8])
