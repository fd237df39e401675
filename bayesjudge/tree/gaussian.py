"""The groups of a fit of a linear model."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.engines.conditional import PanelDraws
from bayesjudge.engines.draws import Draws
from bayesjudge.layout import Layout
from bayesjudge.marginal.strata import STRATA
from bayesjudge.scores import ScoreTable
from bayesjudge.settings import LOG_LIKELIHOOD_LIMIT
from bayesjudge.tree.contents import (
    Contents,
    axes,
    log_likelihood_group,
    log_prior_where_known,
    reasons_of_sums,
    sizes_group,
)

FloatArray = NDArray[np.float64]

_NO_LOG_LIKELIHOOD = (
    "The log likelihood of each scenario at each draw is not held: draws times scenarios are more "
    f"than {LOG_LIKELIHOOD_LIMIT:,} numbers. Leave-one-scenario-out needs it; all else does not."
)


def gaussian_contents(
    layout: Layout, scores: ScoreTable, sampled: Draws, panel: PanelDraws
) -> Contents:
    """Lay draws of a linear model out as the groups of a tree.

    Parameters
    ----------
    layout, scores
        What was fitted.
    sampled, panel
        The draws.
    """
    posterior = _posterior(layout, sampled.values, panel)
    shape = sampled.values.shape[:2]
    return Contents(
        groups={
            "posterior": posterior,
            "log_likelihood": log_likelihood_group(panel.log_likelihood, shape, layout.scenarios),
            "log_prior": _log_prior(layout, posterior),
            "constant_data": sizes_group(scores, layout.cells).merge(_strata(layout)),
        },
        structure={
            label: {"components": structure.names, "absent": structure.absent}
            for label, structure in zip(layout.models, layout.structures, strict=True)
        },
        priors={"mu": str(layout.mean_prior)} | {n: str(p) for n, p in layout.priors.items()},
        sums=reasons_of_sums(layout.cells, layout.structures),
        notes=() if panel.log_likelihood is not None else (_NO_LOG_LIKELIHOOD,),
    )


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
    return xr.Dataset(variables, coords=axes(chains, draws, layout.models, layout.judges))


def _log_prior(layout: Layout, posterior: xr.Dataset) -> xr.Dataset:
    """Log prior of means and standard deviations; offsets given theirs are likelihood."""
    priors = {"mu": layout.mean_prior} | {f"sigma_{n}": p for n, p in layout.priors.items()}
    terms = {}
    for name, prior in priors.items():
        values = posterior[name]
        density = log_prior_where_known(prior, values.to_numpy())
        terms[name] = (values.dims, density)
    dims = {dim for own, _ in terms.values() for dim in own}
    return xr.Dataset(
        terms, coords={name: posterior[name] for name in posterior.dims if name in dims}
    )


def _strata(layout: Layout) -> xr.Dataset:
    """Return the analysis of variance of balanced models."""
    models = len(layout.models)
    df, ss = np.zeros((models, len(STRATA))), np.full((models, len(STRATA)), np.nan)
    for t, table in enumerate(layout.strata):
        for k, stratum in enumerate(STRATA):
            if table is not None and stratum in table.ss:
                df[t, k], ss[t, k] = table.df[stratum], table.ss[stratum]
    return xr.Dataset(
        {
            "df": (("model", "stratum"), df),
            "sum_of_squares": (("model", "stratum"), ss, {"units": "score²"}),
        },
        coords={"stratum": list(STRATA)},
    )
