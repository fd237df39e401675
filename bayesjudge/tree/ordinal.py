"""The groups of a fit of an ordinal model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.engines.draws import Draws
from bayesjudge.engines.ordinal_panel import OrdinalPanel
from bayesjudge.ordinal.components import known_components, why_score_sums
from bayesjudge.ordinal.layout import OrdinalLayout
from bayesjudge.ordinal.parameters import marginal_unit, zero_sum_log_density
from bayesjudge.priors import induced_dirichlet_logpdf
from bayesjudge.scores import ScoreTable
from bayesjudge.terms import TERMS, place
from bayesjudge.tree.contents import (
    Contents,
    axes,
    log_likelihood_group,
    log_prior_where_known,
    sizes_group,
)

FloatArray = NDArray[np.float64]
_BY_MODEL = ("chain", "draw", "model")


def ordinal_contents(
    layout: OrdinalLayout, scores: ScoreTable, sampled: Draws, panel: OrdinalPanel
) -> Contents:
    """Lay draws of an ordinal model out as the groups of a tree.

    ``mu``, ``gamma`` and ``variance`` are on the score scale (panel mean, judge offsets, variance
    components); ``latent_*`` and ``threshold`` are on the scale of the link.

    Parameters
    ----------
    layout, scores
        What was fitted.
    sampled, panel
        The draws, and what they mean.
    """
    chains, draws = sampled.values.shape[:2]
    shape = (chains, draws)
    posterior = xr.Dataset(
        _score_scale(layout, panel, shape) | _latent(layout, panel, shape),
        coords=axes(chains, draws, layout.models, layout.judges)
        | {"cut": cut_labels(layout.levels.labels)},
    )
    levels = xr.Dataset(
        {"level_count": ("level", layout.levels.counts)},
        coords={"level": layout.levels.values},
    )
    priors = {
        "latent_mu": str(layout.mean_prior),
        "threshold": str(layout.threshold_prior),
    } | {f"latent_sigma_{n}": str(p) for n, p in layout.priors.items()}
    if layout.scale_prior is not None:
        priors["latent_scale"] = f"log {layout.scale_prior}"
    return Contents(
        groups={
            "posterior": posterior,
            "log_likelihood": log_likelihood_group(panel.log_likelihood, shape, layout.scenarios),
            "log_prior": _log_prior(layout, posterior, panel),
            "constant_data": sizes_group(scores, layout.cells).merge(levels),
        },
        structure={
            label: {"components": known_components(cells, structure), "absent": structure.absent}
            for label, cells, structure in zip(
                layout.models, layout.cells, layout.structures, strict=True
            )
        },
        priors=priors,
        sums=why_score_sums(layout.cells, layout.structures),
        notes=layout.notes,
        attributes={"lattice_error": panel.lattice_error},
    )


def cut_labels(levels: Sequence[str]) -> list[str]:
    """Name the thresholds by the levels on both sides, such as ``"8|8.5"``."""
    return [f"{low}|{high}" for low, high in pairwise(levels)]


def _score_scale(
    layout: OrdinalLayout, panel: OrdinalPanel, shape: tuple[int, int]
) -> dict[str, xr.DataArray]:
    models, judges = len(layout.models), len(layout.judges)
    names = [
        known_components(cells, structure)
        for cells, structure in zip(layout.cells, layout.structures, strict=True)
    ]
    every = sorted({n for own in names for n in own}, key=place)
    mu = np.empty((*shape, models))
    gamma = np.full((*shape, models, judges), np.nan)
    variance = np.full((*shape, models, len(every)), np.nan)
    for t, (cells, own, scale) in enumerate(zip(layout.cells, names, panel.scales, strict=True)):
        mu[..., t] = scale.mu.reshape(shape)
        if cells.n_judges > 1:
            gamma[..., t, cells.judge_ids] = scale.gamma.reshape(*shape, -1)
        six = scale.variance.reshape(*shape, len(TERMS))
        for name in own:
            members = place(name)
            variance[..., t, every.index(name)] = six[..., members].sum(axis=-1)
    return {
        "mu": xr.DataArray(mu, dims=_BY_MODEL, attrs={"units": "score", "meaning": "panel mean"}),
        "gamma": xr.DataArray(
            gamma,
            dims=(*_BY_MODEL, "judge"),
            attrs={"units": "score", "meaning": "judge offset from the panel mean"},
        ),
        "variance": xr.DataArray(
            variance,
            dims=(*_BY_MODEL, "component"),
            coords={"component": every},
            attrs={"units": "score²", "meaning": "variance components on the score scale"},
        ),
    }


def _latent(
    layout: OrdinalLayout, panel: OrdinalPanel, shape: tuple[int, int]
) -> dict[str, xr.DataArray]:
    p = panel.latent
    offset = p.offset.reshape(*shape, *p.offset.shape[1:]).copy()
    for cells in layout.cells:
        absent = np.setdiff1d(np.arange(len(layout.judges)), cells.judge_ids)
        offset[..., cells.model, absent] = np.nan
        if cells.n_judges == 1:
            offset[..., cells.model, :] = np.nan
    latent = {"units": "latent"}
    found = {
        "threshold": xr.DataArray(
            p.threshold.reshape(*shape, -1), dims=("chain", "draw", "cut"), attrs=latent
        ),
        "latent_gamma": xr.DataArray(offset, dims=(*_BY_MODEL, "judge"), attrs=latent),
    }
    if len(layout.models) > 1:
        found["latent_mu"] = xr.DataArray(
            p.mean.reshape(*shape, -1),
            dims=_BY_MODEL,
            attrs=latent | {"meaning": "sums to zero over the evaluated models"},
        )
    for name in layout.names:
        values = np.full((*shape, len(layout.models)), np.nan)
        for k, slot in enumerate(layout.slots):
            if slot.name == name:
                values[..., slot.model] = p.sigma[:, k].reshape(shape)
        found[f"latent_sigma_{name}"] = xr.DataArray(
            values, dims=_BY_MODEL, attrs=latent | {"prior": str(layout.priors[name])}
        )
    if layout.scale_prior is not None:
        found["latent_scale"] = xr.DataArray(
            np.exp(p.log_scale).reshape(*shape, -1),
            dims=("chain", "draw", "judge"),
            attrs={"units": "ratio", "meaning": "spread of the judge's thresholds"},
        )
    return found


def _log_prior(layout: OrdinalLayout, posterior: xr.Dataset, panel: OrdinalPanel) -> xr.Dataset:
    """Log prior of thresholds, means, scales and standard deviations; offsets are likelihood."""
    threshold = posterior["threshold"].to_numpy()
    unit = marginal_unit(layout, panel.latent.effects, np).reshape(threshold.shape[:2])
    dims = ("chain", "draw")
    terms: dict[str, tuple[tuple[str, ...], FloatArray]] = {
        "threshold": (
            dims,
            induced_dirichlet_logpdf(
                threshold / unit[..., None], layout.concentration, layout.spec.link
            )
            - threshold.shape[-1] * np.log(unit),
        )
    }
    if "latent_mu" in posterior:
        sd = layout.mean_prior.kwargs["sigma"]
        terms["latent_mu"] = (dims, zero_sum_log_density(posterior["latent_mu"].to_numpy(), sd))
    if layout.scale_prior is not None:
        sd = layout.scale_prior.kwargs["sigma"]
        logs = np.log(posterior["latent_scale"].to_numpy())
        terms["latent_scale"] = (dims, zero_sum_log_density(logs, sd))
    for name, prior in layout.priors.items():
        values = posterior[f"latent_sigma_{name}"].to_numpy()
        density = log_prior_where_known(prior, values)
        terms[f"latent_sigma_{name}"] = (_BY_MODEL, density)
    return xr.Dataset(terms, coords={name: posterior[name] for name in _BY_MODEL})
