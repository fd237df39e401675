"""A fit is a tree in ArviZ's layout. Here it is put together, saved and loaded."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge import __version__
from bayesjudge.atomic import written_whole
from bayesjudge.engines.conditional import PanelDraws
from bayesjudge.engines.diagnostics import Diagnostics
from bayesjudge.engines.draws import SigmaDraws
from bayesjudge.errors import FitError
from bayesjudge.layout import Layout
from bayesjudge.marginal.strata import STRATA
from bayesjudge.scores import ScoreTable
from bayesjudge.settings import OBSERVED_LIMIT

FloatArray = NDArray[np.float64]
FORMAT = 1  # of the tree; raised when a reader of old files would go wrong


def assemble(
    layout: Layout,
    scores: ScoreTable,
    sampled: SigmaDraws,
    panel: PanelDraws,
    diagnose: Callable[[xr.Dataset, xr.Dataset], Diagnostics],
    *,
    seed: int,
    prior_scale: float,
) -> xr.DataTree:
    """Put draws, statistics, diagnostics and provenance into one tree.

    Parameters
    ----------
    layout, scores
        What was fitted.
    sampled, panel
        The draws.
    diagnose : callable
        From posterior and sampler statistics to a verdict.
    seed, prior_scale
        Settings to record.
    """
    posterior = _posterior(layout, sampled.sigma, panel)
    verdict = diagnose(posterior, sampled.stats)
    groups = {
        "/posterior": posterior,
        "/sample_stats": sampled.stats,
        "/log_likelihood": _log_likelihood(layout, sampled.sigma.shape[:2], panel),
        "/log_prior": _log_prior(layout, posterior),
        "/constant_data": _constant_data(layout, scores),
    }
    if len(scores.calls.score) <= OBSERVED_LIMIT:
        groups["/observed_data"] = _observed_data(scores)
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = _provenance(layout, scores, sampled, seed=seed, prior_scale=prior_scale) | {
        "verdict": "passed" if verdict.passed else "failed",
        "problems": "\n".join(verdict.problems),
        "rhat_max": verdict.rhat_max,
        "ess_bulk_min": verdict.ess_bulk_min,
        "ess_tail_min": verdict.ess_tail_min,
        "divergences": verdict.divergences,
        "bfmi_min": verdict.bfmi_min,
    }
    return tree


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
        with written_whole(path) as temporary:
            tree.to_netcdf(temporary, engine="h5netcdf")
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
        with xr.open_datatree(path, engine="h5netcdf") as opened:
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


def _posterior(layout: Layout, sigma: FloatArray, panel: PanelDraws) -> xr.Dataset:
    chains, draws = sigma.shape[:2]
    models, judges = len(layout.models), len(layout.judges)
    variables: dict[str, xr.DataArray] = {
        "mu": xr.DataArray(
            panel.mu.reshape(chains, draws, models),
            dims=("chain", "draw", "model"),
            attrs={"units": "score", "meaning": "panel mean"},
        ),
        "gamma": xr.DataArray(
            panel.gamma.reshape(chains, draws, models, judges),
            dims=("chain", "draw", "model", "judge"),
            attrs={"units": "score", "meaning": "judge offset from the panel mean"},
        ),
    }
    for name in layout.names:
        own = layout.by_judge and "residual" in name.split("+")
        shape = (models, judges) if own else (models,)
        values = np.full((chains, draws, *shape), np.nan)
        for k, slot in enumerate(layout.slots):
            if slot.name == name:
                place = (slot.model, slot.judge) if own else (slot.model,)
                values[:, :, *place] = sigma[:, :, k]
        variables[f"sigma_{name}"] = xr.DataArray(
            values,
            dims=("chain", "draw", "model", "judge")[: values.ndim],
            attrs={"units": "score", "component": name, "prior": str(layout.priors[name])},
        )
    return xr.Dataset(variables, coords=_coords(layout, chains, draws))


def _coords(layout: Layout, chains: int, draws: int) -> dict[str, list[str] | NDArray[np.int64]]:
    return {
        "chain": np.arange(chains),
        "draw": np.arange(draws),
        "model": list(layout.models),
        "judge": list(layout.judges),
    }


def _log_likelihood(layout: Layout, shape: tuple[int, ...], panel: PanelDraws) -> xr.Dataset:
    """All evaluated models of a scenario together: what leaving a scenario out leaves out."""
    values = panel.log_likelihood.sum(axis=1).reshape(*shape, len(layout.scenarios))
    array = xr.DataArray(
        values,
        dims=("chain", "draw", "scenario"),
        attrs={"meaning": "of all models, given mu, gamma and the sigmas; effects integrated out"},
    )
    coords = _coords(layout, *shape)
    del coords["judge"], coords["model"]
    return xr.Dataset({"score": array}, coords=coords | {"scenario": list(layout.scenarios)})


def _log_prior(layout: Layout, posterior: xr.Dataset) -> xr.Dataset:
    """Log prior of means and standard deviations; offsets given theirs are likelihood."""
    priors = {"mu": layout.mean_prior} | {f"sigma_{n}": p for n, p in layout.priors.items()}
    terms = {}
    for name, prior in priors.items():
        values = posterior[name]
        # A parameter that a model does not have adds nothing.
        density = np.where(np.isnan(values), 0.0, prior.logpdf(np.nan_to_num(values, nan=1.0)))
        terms[name] = values.copy(data=density).drop_attrs()
    return xr.Dataset(terms)


def _observed_data(scores: ScoreTable) -> xr.Dataset:
    calls = scores.calls
    names = ("model", "scenario", "generation", "judge")
    return xr.Dataset(
        {"score": ("call", calls.score)}
        | {f"{name}_index": ("call", getattr(calls, name)) for name in names}
    )


def _constant_data(layout: Layout, scores: ScoreTable) -> xr.Dataset:
    """Return counts, the analysis of variance of balanced models, and the labels of generations."""
    models, judges = len(layout.models), len(layout.judges)
    calls = np.zeros((models, judges), dtype=np.int64)
    np.add.at(calls, (scores.calls.model, scores.calls.judge), 1)
    df, ss = np.zeros((models, len(STRATA))), np.full((models, len(STRATA)), np.nan)
    for t, table in enumerate(layout.strata):
        for k, stratum in enumerate(STRATA):
            if table is not None and stratum in table.ss:
                df[t, k], ss[t, k] = table.df[stratum], table.ss[stratum]
    per_model = {
        "n_scenarios": [c.n_scenarios for c in layout.cells],
        "n_generations": [c.n_generations for c in layout.cells],
        "n_judges": [c.n_judges for c in layout.cells],
        "balanced": [int(table is not None) for table in layout.strata],
        "mean": [float(c.score.mean()) for c in layout.cells],
    }
    generations = np.array(scores.generations, dtype=str).reshape(-1, 3)
    return xr.Dataset(
        {name: ("model", values) for name, values in per_model.items()}
        | {
            "n_calls": (("model", "judge"), calls),
            "df": (("model", "stratum"), df),
            "sum_of_squares": (("model", "stratum"), ss, {"units": "score²"}),
            "generation_model": ("generation", generations[:, 0]),
            "generation_scenario": ("generation", generations[:, 1]),
            "generation_label": ("generation", generations[:, 2]),
        },
        coords={
            "model": list(layout.models),
            "judge": list(layout.judges),
            "stratum": list(STRATA),
        },
    )


def _provenance(
    layout: Layout, scores: ScoreTable, sampled: SigmaDraws, *, seed: int, prior_scale: float
) -> dict[str, str | int | float]:
    spec = layout.spec
    versions = {name: metadata.version(name) for name in ("numpy", "pymc", "xarray", "arviz-stats")}
    low, high, _ = scores.scale
    return dict(sampled.settings) | {
        "bayesjudge_format": FORMAT,
        "bayesjudge": __version__,
        "model": spec.name,
        "spec": spec.path,
        "spec_sha256": spec.sha256,
        "terms": ",".join(spec.terms),
        "residual": spec.residual,
        "priors": json.dumps(
            {"mu": str(layout.mean_prior)} | {n: str(p) for n, p in layout.priors.items()}
        ),
        "prior_scale": prior_scale,
        "structure": json.dumps(
            {
                label: {"components": structure.names, "absent": structure.absent}
                for label, structure in zip(layout.models, layout.structures, strict=True)
            }
        ),
        "seed": seed,
        "source": scores.source,
        "notes": "\n".join(scores.notes),
        "data_sha256": _fingerprint(scores),
        "scale_low": low,
        "scale_high": high,
        "scale_declared": int(scores.scale_declared),
        "python": platform.python_version(),
        "versions": json.dumps(versions),
    }


def _fingerprint(scores: ScoreTable) -> str:
    """Hash the scores and their labels: the same table gives the same, in any order of rows."""
    digest = hashlib.sha256()
    calls = scores.calls
    for labels in (scores.models, scores.scenarios, scores.judges, scores.generations):
        digest.update(json.dumps(labels).encode())
    for values in (calls.model, calls.scenario, calls.generation, calls.judge, calls.score):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()
