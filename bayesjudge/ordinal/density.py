"""The posterior density of an ordinal layout, stated with PyMC's distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.dist_math import normal_lcdf
from scipy import special

from bayesjudge.marginal.cumulative.lattice import LOGIT, REACH
from bayesjudge.marginal.cumulative.op import CumulativeMarginal
from bayesjudge.models import half_normal
from bayesjudge.ordinal.layout import OrdinalLayout
from bayesjudge.ordinal.parameters import (
    Places,
    log_gaps,
    marginal_unit,
    offset_spread,
    parameters,
    places,
    prior_families,
    prior_kwargs,
)

FloatArray = NDArray[np.float64]


def build_ordinal(layout: OrdinalLayout) -> pm.Model:
    """Build the PyMC model of an ordinal layout, all evaluated models in one.

    Its one free variable is the ``vector`` of `bayesjudge.ordinal.parameters`. The likelihood is
    marginal over scenario and generation effects. `bayesjudge.ordinal.gradient` is the same
    density with a gradient by hand, which is what NUTS is given: PyTensor would compile for
    longer than the sampler runs.

    Parameters
    ----------
    layout : OrdinalLayout
        From `bayesjudge.ordinal.layout.lay_out_ordinal`.
    """
    where = places(layout)
    with pm.Model() as model:
        vector = pm.Flat("vector", shape=where.size)
        # As data, so that a table of the same design needs no new compilation.
        data = [pm.Data(f"tallies_{name}", x) for name, x in layout.tallies._asdict().items()]
        data.append(pm.Data("reach", np.full(len(layout.models), REACH)))
        log_prior, log_likelihood = log_densities(layout, where, vector, data)
        pm.Potential("prior", log_prior)
        pm.Potential("likelihood", log_likelihood)
    return model


def log_densities(
    layout: OrdinalLayout, where: Places, vector: Any, data: Sequence[Any] | None = None
) -> tuple[Any, Any]:
    """Return log prior density of the vector, and log likelihood.

    Parameters
    ----------
    layout, where
        The model, and its `places`.
    vector : PyTensor vector
        The free parameters.
    data : sequence of tensors, optional
        Tallies and reach; those of the layout if not given.
    """
    sigma, log_prior = _sigma(layout, vector[where.sigma])
    p = parameters(layout, where, vector, sigma, pt)
    log_prior += _normal(vector[where.mean]) + _normal(vector[where.scale])
    spread = offset_spread(where, sigma, pt)
    log_prior += _normal(vector[where.offset] / spread) - pt.log(spread).sum()
    unit = marginal_unit(layout, p.effects, pt)
    log_prior += induced_dirichlet(layout.concentration, layout.link, p.threshold / unit)
    log_prior -= p.threshold.shape[0] * pt.log(unit)
    log_gap, rise = log_gaps(where, vector[where.threshold][1:], pt)
    log_prior += log_gap.sum() + pt.log(rise).sum()  # the Jacobian of gaps as logs
    if data is None:
        data = (*layout.tallies, np.full(len(layout.models), REACH))
    likelihood = CumulativeMarginal(layout.link)(p.by_judge, p.effects, *data)[0]
    return log_prior, likelihood


def induced_dirichlet(concentration: float, link: int, threshold: Any) -> Any:
    """Log density of thresholds whose level probabilities, at zero effect, are Dirichlet.

    With thresholds divided by `marginal_unit`, it's the probabilities averaged over scenarios and
    generations that are Dirichlet. Betancourt (2019), Ordinal regression, section 2.2. Stated in
    NumPy by `bayesjudge.priors.induced_dirichlet_logpdf`.
    """
    size = threshold.shape[0] + 1
    constant = pt.gammaln(size * concentration) - size * special.gammaln(concentration)
    if link == LOGIT:
        below, above = -pt.softplus(-threshold), -pt.softplus(threshold)
        density = below + above
    else:
        below, above = normal_lcdf(0, 1, threshold), normal_lcdf(0, 1, -threshold)
        density = -0.5 * threshold**2 - 0.5 * np.log(2 * np.pi)
    found = constant + density.sum()
    if concentration == 1.0:
        return found
    if link == LOGIT:
        inner = below[1:] + above[:-1] + pt.log(-pt.expm1(threshold[:-1] - threshold[1:]))
    else:
        turned = threshold[:-1] > 0
        high = pt.switch(turned, above[:-1], below[1:])
        low = pt.switch(turned, above[1:], below[:-1])
        inner = high + pt.log(-pt.expm1(low - high))
    return found + (concentration - 1.0) * (below[0] + inner.sum() + above[-1])


def _normal(values: Any) -> Any:
    return (-0.5 * values**2 - 0.5 * np.log(2 * np.pi)).sum()


def _sigma(layout: OrdinalLayout, raw: Any) -> tuple[Any, Any]:
    """Return standard deviations in the order of the slots, and their log prior density."""
    pieces, order, log_prior = [], [], pt.constant(0.0)
    for dist, members in prior_families(layout).items():
        kwargs, values = prior_kwargs(layout, members), raw[np.array(members)]
        if dist == "HalfNormal":
            pieces.append(half_normal(values, kwargs["sigma"]))
            log_prior += _normal(values)
        else:
            sigma = pt.exp(values)
            pieces.append(sigma)
            family = getattr(pm, dist).dist(**kwargs)
            log_prior += (pm.logp(family, sigma) + values).sum()
        order += members
    if not pieces:
        return pt.zeros(0), log_prior
    together = pieces[0] if len(pieces) == 1 else pt.concatenate(pieces)
    return together[np.argsort(order)], log_prior
