"""Put groups, diagnostics and provenance of a fit into one tree."""

from __future__ import annotations

import hashlib
import json
import platform
from importlib import metadata

import numpy as np
import xarray as xr

from bayesjudge import __version__
from bayesjudge.engines.diagnostics import Diagnostics
from bayesjudge.engines.draws import Draws
from bayesjudge.scores import ScoreTable
from bayesjudge.settings import OBSERVED_LIMIT
from bayesjudge.specs import Spec
from bayesjudge.tree.contents import Contents
from bayesjudge.tree.storage import FORMAT


def assemble(
    contents: Contents,
    scores: ScoreTable,
    spec: Spec,
    sampled: Draws,
    verdict: Diagnostics,
    *,
    seed: int,
    prior_scale: float,
    warnings: tuple[str, ...],
) -> xr.DataTree:
    """Put groups, diagnostics and provenance into one tree.

    Parameters
    ----------
    contents : Contents
        What a family of models makes of its draws.
    scores, spec
        What was fitted, and which model.
    sampled : Draws
        Where the draws come from.
    verdict : Diagnostics
        What to think of them.
    seed, prior_scale
        Settings to record.
    warnings : tuple of str
        Of the table's audit.
    """
    groups = {f"/{name}": group for name, group in contents.groups.items()}
    groups["/sample_stats"] = sampled.stats
    if len(scores.calls.score) <= OBSERVED_LIMIT:
        groups["/observed_data"] = _observed_data(scores)
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = (
        dict(sampled.settings)
        | dict(contents.attributes)
        | _provenance(contents, scores, spec)
        | {
            "seed": seed,
            "prior_scale": prior_scale,
            "warnings": "\n".join(warnings),
            "verdict": "passed" if verdict.passed else "failed",
            "problems": "\n".join(verdict.problems),
            "rhat_max": verdict.rhat_max,
            "ess_bulk_min": verdict.ess_bulk_min,
            "ess_tail_min": verdict.ess_tail_min,
            "divergences": verdict.divergences,
            "bfmi_min": verdict.bfmi_min,
        }
    )
    return tree


def _observed_data(scores: ScoreTable) -> xr.Dataset:
    calls = scores.calls
    names = ("model", "scenario", "generation", "judge")
    return xr.Dataset(
        {"score": ("call", calls.score)}
        | {f"{name}_index": ("call", getattr(calls, name)) for name in names}
    )


def _provenance(contents: Contents, scores: ScoreTable, spec: Spec) -> dict[str, str | int | float]:
    versions = {name: metadata.version(name) for name in ("numpy", "pymc", "xarray", "arviz-stats")}
    low, high, _ = scores.scale
    return {
        "bayesjudge_format": FORMAT,
        "bayesjudge": __version__,
        "model": spec.name,
        "family": spec.family,
        "link": spec.link,
        "spec": spec.path,
        "spec_sha256": spec.sha256,
        "terms": ",".join(spec.terms),
        "residual": spec.residual,
        "priors": json.dumps(contents.priors),
        "structure": json.dumps(contents.structure),
        "sums": json.dumps(contents.sums),
        "source": scores.source,
        "notes": "\n".join([*scores.notes, *contents.notes]),
        "data_sha256": fingerprint(scores),
        "scale_low": low,
        "scale_high": high,
        "scale_declared": int(scores.scale_declared),
        "python": platform.python_version(),
        "versions": json.dumps(versions),
    }


def fingerprint(scores: ScoreTable) -> str:
    """Hash the scores and their labels: the same table gives the same, in any order of rows."""
    digest = hashlib.sha256()
    calls = scores.calls
    for labels in (scores.models, scores.scenarios, scores.judges, scores.generations):
        digest.update(json.dumps(labels).encode())
    for values in (calls.model, calls.scenario, calls.generation, calls.judge, calls.score):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()
