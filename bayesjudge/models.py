"""A layout as a PyMC model: standard deviations to sample, everything else integrated out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from scipy import special, stats

from bayesjudge.layout import Layout
from bayesjudge.marginal.op import GaussianMarginal
from bayesjudge.marginal.packed import pack
from bayesjudge.marginal.strata import log_marginal, strata_rows
from bayesjudge.priors import Prior

FloatArray = NDArray[np.float64]

# A Normal(0, 1) variable is inside these bounds with probability 1 - 6e-14; beyond them its
# quantiles are no longer finite in double precision.
_BOUND = 7.5


def build(layout: Layout) -> pm.Model:
    """Build the PyMC model of a layout, all evaluated models in one.

    Its free variables are the standard deviations, one vector a prior family: a graph of few
    nodes compiles in seconds, one with a variable for each term takes twice as long. Those with
    a HalfNormal prior are sampled as the standard Normal quantiles ``z`` of their prior. Near
    zero a posterior has an exponential tail in log sigma but a Gaussian one in z, which gives
    two to three times the effective draws on small panels. The likelihood is marginal over
    scenario, generation and interaction effects, judge offsets and panel means: all are Gaussian
    given the standard deviations and are drawn afterwards from their exact conditionals.

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
    with pm.Model() as model:
        variances = _sigma(layout) ** 2
        if any(table is not None for table in layout.strata):
            pm.Potential("balanced", _balanced(layout, variances))
        if any(table is None for table in layout.strata):
            pm.Potential("general", _general(layout, variances))
    return model


def families(layout: Layout) -> dict[str, list[int]]:
    """Group the slots by prior family: the variables of the model and the slots they hold.

    Returns
    -------
    dict of list of int
        ``{"z_HalfNormal": [0, 1, ...]}``: positions in ``layout.slots``.
    """
    found: dict[str, list[int]] = {}
    for k, slot in enumerate(layout.slots):
        dist = layout.priors[slot.name].dist
        name = f"z_{dist}" if dist == "HalfNormal" else f"sigma_{dist}"
        found.setdefault(name, []).append(k)
    return found


def to_sigma(layout: Layout, name: str, values: FloatArray) -> FloatArray:
    """Turn draws of a variable of the model into standard deviations.

    Parameters
    ----------
    layout : Layout
        What the model was built from.
    name : str
        A key of `families`.
    values : float array, shape (..., members)
        Draws of that variable.

    Returns
    -------
    float array, same shape
        In score points.
    """
    if not name.startswith("z_"):
        return values
    members = families(layout)[name]
    scale = np.array([layout.priors[layout.slots[k].name].kwargs["sigma"] for k in members])
    return np.asarray(stats.halfnorm.ppf(special.ndtr(np.clip(values, -_BOUND, _BOUND))) * scale)


def _sigma(layout: Layout) -> Any:
    """Declare the standard deviations and put them in the order of the slots."""
    groups = families(layout)
    declared = [
        _declare(name, [layout.priors[layout.slots[k].name] for k in members])
        for name, members in groups.items()
    ]
    if len(declared) == 1:
        return declared[0]
    order = np.argsort([k for members in groups.values() for k in members])
    return pt.concatenate(declared)[order]


def _declare(name: str, priors: Sequence[Prior]) -> Any:
    """Declare a vector of positive variables; the families are those of `bayesjudge.priors`."""
    kwargs = {key: np.array([prior.kwargs[key] for prior in priors]) for key in priors[0].kwargs}
    match priors[0].dist:
        case "HalfNormal":
            return half_normal(pm.Normal(name, shape=len(priors)), kwargs["sigma"])
        case "HalfStudentT":
            return pm.HalfStudentT(name, **kwargs)
        case "HalfCauchy":
            return pm.HalfCauchy(name, **kwargs)
        case "Exponential":
            return pm.Exponential(name, **kwargs)
        case "Gamma":
            return pm.Gamma(name, **kwargs)
        case "InverseGamma":
            return pm.InverseGamma(name, **kwargs)
        case "Weibull":
            return pm.Weibull(name, **kwargs)
        case "LogNormal":
            return pm.LogNormal(name, **kwargs)
    raise ValueError(f"{priors[0].dist} has no PyMC counterpart here")


def half_normal(z: Any, scale: FloatArray) -> Any:
    """Return the quantile of a HalfNormal at which a standard Normal has the quantile z.

    Parameters
    ----------
    z : tensor
        Standard normal quantiles; beyond 7.5 they count as 7.5.
    scale : float array
        The HalfNormal's sigma.
    """
    below = 0.5 * pt.erfc(-pt.clip(z, -_BOUND, _BOUND) / np.sqrt(2))
    return scale * np.sqrt(2) * pt.erfinv(below)


def _balanced(layout: Layout, variances: Any) -> Any:
    mean = layout.mean_prior.kwargs
    rows = strata_rows(layout.strata, mean["mu"], mean["sigma"])
    # One residual serves all judges in a balanced table: that of the first stands for them.
    roles = layout.roles()[:, : rows.coefficients.shape[2], :]
    coefficients = np.einsum("rmt,mts->rs", rows.coefficients, roles)
    return log_marginal(
        pm.Data("strata_df", rows.df),
        pm.Data("strata_ss", rows.ss),
        pm.Data("strata_known", rows.known),
        pm.Data("strata_coefficients", coefficients),
        variances,
        xp=pt,
    )


def _general(layout: Layout, variances: Any) -> Any:
    mean = layout.mean_prior.kwargs
    models = [t for t, table in enumerate(layout.strata) if table is None]
    packed = pack([(layout.patterns[t], layout.cells[t].judge_ids) for t in models])
    data = [pm.Data(f"packed_{name}", value) for name, value in packed._asdict().items()]
    roles = layout.roles()[models]
    flat = pt.dot(pt.constant(roles.reshape(-1, roles.shape[-1])), variances)
    prior = pm.Data("mean_prior", np.array([mean["mu"], mean["sigma"]]))
    return GaussianMarginal()(flat.reshape(roles.shape[:2]), prior, *data)[0]
