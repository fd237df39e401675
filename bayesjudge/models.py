"""A layout as a PyMC model: standard deviations to sample, everything else integrated out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayesjudge.layout import Layout, role_matrix
from bayesjudge.marginal import gaussian
from bayesjudge.marginal.op import GaussianMarginal
from bayesjudge.marginal.strata import log_marginal, strata_arrays
from bayesjudge.priors import Prior
from bayesjudge.terms import TERMS


def sigma_name(parameter: str) -> str:
    """Return the variable that holds a parameter's standard deviation."""
    return f"sigma_{parameter}"


def build(layout: Layout) -> pm.Model:
    """Build the PyMC model of a layout.

    Its free variables are the standard deviations, one a parameter with dim ``model`` (and
    ``judge`` for residuals by judge), in score units. The likelihood is marginal over scenario,
    generation and interaction effects, judge offsets and panel means: all are Gaussian given
    the standard deviations and are drawn afterwards from their exact conditionals. An evaluated
    model that has no such parameter has its entry all the same; it meets the prior alone and is
    removed after sampling.

    Parameters
    ----------
    layout : Layout
        From `bayesjudge.layout.lay_out`.

    Returns
    -------
    pymc.Model
        Balanced evaluated models enter by their strata, which stand in ``pm.Data`` so that a
        table of the same shape needs no new compilation; the others by `GaussianMarginal`.
    """
    balanced = [t for t, table in enumerate(layout.strata) if table is not None]
    general = [t for t, table in enumerate(layout.strata) if table is None]
    with pm.Model(coords={"model": layout.models, "judge": layout.judges}) as model:
        variances, residual = _variances(layout)
        if balanced:
            pm.Potential("balanced", _balanced(layout, balanced, variances).sum())
        if general:
            pm.Potential("general", _general(layout, general, variances, residual))
    return model


def _variances(layout: Layout) -> tuple[Any, Any]:
    """Declare the sigmas; return variances (models, terms) and residuals (models, judges)."""
    squares = []
    residual = None
    for p, name in enumerate(layout.parameters):
        own = layout.by_judge and name == layout.residual
        dims = ("model", "judge") if own else ("model",)
        square = _declare(sigma_name(name), layout.priors[name], dims) ** 2
        if own:
            residual = square
            square = square.mean(axis=1)  # holds a place; the likelihood reads `residual`
        squares.append(square * layout.applies[:, p])
    variances = pt.stack(squares, axis=1) @ role_matrix(layout.parameters)
    if residual is None:
        column = variances[:, TERMS.index("residual")]
        residual = column[:, None] * np.ones(len(layout.judges))
    return variances, residual


def _declare(name: str, prior: Prior, dims: tuple[str, ...]) -> Any:
    """Declare one positive variable; the families are those of `bayesjudge.priors`."""
    kwargs = dict(prior.kwargs)
    match prior.dist:
        case "HalfNormal":
            return pm.HalfNormal(name, **kwargs, dims=dims)
        case "HalfStudentT":
            return pm.HalfStudentT(name, **kwargs, dims=dims)
        case "HalfCauchy":
            return pm.HalfCauchy(name, **kwargs, dims=dims)
        case "Exponential":
            return pm.Exponential(name, **kwargs, dims=dims)
        case "Gamma":
            return pm.Gamma(name, **kwargs, dims=dims)
        case "InverseGamma":
            return pm.InverseGamma(name, **kwargs, dims=dims)
        case "Weibull":
            return pm.Weibull(name, **kwargs, dims=dims)
        case "LogNormal":
            return pm.LogNormal(name, **kwargs, dims=dims)
    raise ValueError(f"{prior.dist} has no PyMC counterpart here")


def _balanced(layout: Layout, rows: list[int], variances: Any) -> Any:
    tables = [table for table in layout.strata if table is not None]
    mean = layout.mean_prior.kwargs
    arrays = strata_arrays(tables, mean["mu"], mean["sigma"])
    data = [
        pm.Data(f"strata_{name}", value)
        for name, value in (
            ("df", arrays.df),
            ("ss", arrays.ss),
            ("offset", arrays.offset),
            ("coefficients", arrays.coefficients),
        )
    ]
    return log_marginal(*data, variances[rows], xp=pt)


def _general(layout: Layout, rows: list[int], variances: Any, residual: Any) -> Any:
    mean = layout.mean_prior.kwargs
    tables = [(layout.patterns[t], layout.cells[t].judge_ids) for t in rows]
    op = GaussianMarginal(tables, gaussian.Prior(mean["mu"], mean["sigma"]))
    columns = TERMS.index("residual")
    return op(pt.concatenate([variances[rows][:, :columns], residual[rows]], axis=1))[0]
