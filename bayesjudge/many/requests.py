"""What one of many fits was asked for, so that a later run knows whether it is done."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayesjudge import __version__
from bayesjudge.scores import ScoreTable
from bayesjudge.specs import read_spec
from bayesjudge.tree import load
from bayesjudge.tree.assemble import fingerprint

_SLUG = 60  # characters of a key in the name of its file

REQUEST = "request_sha256"


def digest(scores: ScoreTable, options: Mapping[str, Any]) -> str:
    """Hash all that a fit depends on: the scores, the specification, the settings, the version.

    Parameters
    ----------
    scores : ScoreTable
        What is fitted.
    options : mapping
        Arguments of `bayesjudge.fit`, seed included.
    """
    told = dict(options)
    spec = read_spec(told.pop("model"))
    parts = [__version__, fingerprint(scores), scores.scale, spec.sha256, sorted(told.items())]
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def file_of(folder: Path, key: str) -> Path:
    """Name the file of a key: readable, and no other key's whatever the file system does to case.

    Parameters
    ----------
    folder : Path
        Where all fits go.
    key : str
        The key.
    """
    slug = re.sub(r"[^\w.-]+", "_", key)[:_SLUG].strip("._")
    return folder / f"{slug or 'fit'}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.nc"


def seed_of(seed: int, key: str) -> int:
    """Derive the seed of one fit: by its key, so that others may come and go."""
    text = f"{seed}:{key}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "little")


def verdict_if_done(path: Path, request: str) -> str | None:
    """Return the verdict of a fit that is there and was asked for just this; else None.

    Parameters
    ----------
    path : Path
        Its file.
    request : str
        From `digest`.
    """
    if not path.exists():
        return None
    try:
        attributes = load(path).attrs
    except Exception:  # a file that is no fit, or of another version, is fitted again
        return None
    return str(attributes["verdict"]) if attributes.get(REQUEST) == request else None
