"""The posterior density of an ordinal layout and its gradient, worked out by hand.

`density` states the same with PyMC's distributions; tests hold the two together. Letters follow
`parameters`, and ``in_x`` is the derivative of the log density in x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesjudge.marginal.cumulative.lattice import REACH
from bayesjudge.marginal.cumulative.likelihood import value_and_gradient
from bayesjudge.marginal.cumulative.probability import level_rows
from bayesjudge.ordinal.layout import OrdinalLayout
from bayesjudge.ordinal.parameters import (
    Z_BOUND,
    Places,
    log_gaps,
    marginal_unit,
    offset_spread,
    parameters,
    places,
    sigma_of,
)

FloatArray = NDArray[np.float64]
_STEP = 1e-4  # of log sigma, for the slope of a prior
_HALF_LOG_2_PI = 0.5 * np.log(2 * np.pi)


@dataclass(frozen=True, eq=False)
class Density:
    """All that does not change from one evaluation to the next.

    Attributes
    ----------
    layout : OrdinalLayout
        The model.
    where : Places
        Where the parts of the vector are.
    reach : float array, shape (models,)
        Standard deviations of the scenario effects within which to integrate at first.
    """

    layout: OrdinalLayout
    where: Places
    reach: FloatArray


def density(layout: OrdinalLayout, reach: FloatArray | None = None) -> Density:
    """Prepare the posterior density of a layout.

    Parameters
    ----------
    layout : OrdinalLayout
        The model.
    reach : float array, shape (models,), optional
        Standard deviations of the scenario effects within which to integrate at first; more where
        data ask for it.
    """
    return Density(
        layout=layout,
        where=places(layout),
        reach=np.full(len(layout.models), REACH) if reach is None else reach,
    )


def log_density(d: Density, vector: FloatArray) -> tuple[float, FloatArray]:
    """Log posterior density of a vector, up to the evidence, and its gradient.

    Parameters
    ----------
    d : Density
        From `density`.
    vector : float array, shape (parameters,)
        As in `bayesjudge.ordinal.parameters`.

    Returns
    -------
    float; float array, shape (parameters,)
    """
    layout, where = d.layout, d.where
    raw = vector[where.sigma]
    sigma = sigma_of(where, raw)
    p = parameters(layout, where, vector, sigma, np)
    likelihood, in_table, in_effects, _ = value_and_gradient(
        layout.link, p.by_judge, p.effects, *layout.tallies, d.reach
    )
    gradient = np.empty(where.size)

    # Thresholds: each judge's are e^lambda kappa + (1 - e^lambda) mean(kappa), less its offset.
    stretch = np.exp(p.log_scale)
    in_own = in_table.sum(axis=0)
    in_threshold = stretch @ in_own + (1 - stretch) @ in_own.sum(axis=1) / len(p.threshold)
    unit = float(marginal_unit(layout, p.effects, np))
    prior, slope = _induced_dirichlet(layout, p.threshold / unit)
    prior -= len(p.threshold) * np.log(unit)
    in_threshold += slope / unit
    in_unit = -(slope @ p.threshold / unit + len(p.threshold)) / unit
    in_effects += in_unit * p.effects / (unit * layout.noise * len(p.effects))
    log_gap, rise = log_gaps(where, vector[where.threshold][1:], np)
    in_log_gap = where.gaps.T @ in_threshold * np.exp(log_gap) + 1
    gradient[where.threshold] = np.r_[in_threshold.sum(), in_log_gap * rise]
    # The slope of log(rise): what rises above 1 falls off as a logistic function.
    gradient[where.threshold][1:] += (1 - rise) * special.expit(vector[where.threshold][1:]) / rise
    prior += log_gap.sum() + np.log(rise).sum()

    raw_scale = vector[where.scale]
    if layout.scale_prior is not None:
        in_scale = stretch * (in_own @ (p.threshold - p.threshold.mean()))
        unit = layout.scale_prior.kwargs["sigma"]
        gradient[where.scale] = where.scale_basis.T @ in_scale * unit - raw_scale
    raw_mean = vector[where.mean]
    in_mean = -in_table.sum(axis=(1, 2))
    unit = layout.mean_prior.kwargs["sigma"]
    gradient[where.mean] = where.mean_basis.T @ in_mean * unit - raw_mean
    prior += _normal(raw_mean) + _normal(raw_scale)

    # Offsets: basis @ (u c), c = sigma / spread, u ~ Normal(0, spread).
    u, own_sigma = vector[where.offset], sigma[where.offset_sigma]
    spread = offset_spread(where, sigma, np)
    in_product = -where.offset_basis.T @ in_table.sum(axis=2).ravel()
    gradient[where.offset] = in_product * own_sigma / spread - u / spread**2
    prior += _normal(u / spread) - np.log(spread).sum()
    in_spread = u**2 / spread**3 - 1 / spread
    in_own_sigma = in_product * u / spread**3
    in_own_sigma += in_spread * own_sigma / (where.offset_error**2 * spread)

    in_sigma = np.tensordot(in_effects, where.roles, axes=2)
    np.add.at(in_sigma, where.offset_sigma, in_own_sigma)
    more, gradient[where.sigma] = _sigmas(d, raw, sigma, in_sigma)
    return float(likelihood + prior + more), gradient


def _sigmas(
    d: Density, raw: FloatArray, sigma: FloatArray, in_sigma: FloatArray
) -> tuple[float, FloatArray]:
    """Return the log prior of the first part of the vector, and the derivative in it."""
    slope, prior = np.empty(len(raw)), 0.0
    normal, scale = d.where.normal, d.where.scale_of_normal
    z, own = raw[normal], sigma[normal]
    # d sigma / d z is the ratio of the densities of z and sigma.
    ratio = 0.5 * scale * np.exp(0.5 * (own / scale) ** 2 - 0.5 * z**2)
    slope[normal] = in_sigma[normal] * np.where(np.abs(z) < Z_BOUND, ratio, 0.0) - z
    prior += _normal(z)
    for k in d.where.not_normal:
        family = d.layout.priors[d.layout.slots[k].name]
        at, after, before = family.logpdf(np.exp(raw[k] + np.array([0.0, _STEP, -_STEP])))
        prior += float(at) + raw[k]
        slope[k] = in_sigma[k] * sigma[k] + (after - before) / (2 * _STEP) + 1
    return prior, slope


def _induced_dirichlet(layout: OrdinalLayout, threshold: FloatArray) -> tuple[float, FloatArray]:
    """Return the log prior of thresholds and its derivative in them."""
    concentration = layout.concentration
    size = len(threshold) + 1
    value = special.gammaln(size * concentration) - size * special.gammaln(concentration)
    if layout.spec.link == "logit":
        value += (special.log_expit(threshold) + special.log_expit(-threshold)).sum()
        slope = 1 - 2 * special.expit(threshold)
    else:
        value += -0.5 * (threshold**2).sum() - len(threshold) * _HALF_LOG_2_PI
        slope = -threshold
    if concentration != 1.0:
        _, log_share, at_low, at_high = level_rows(threshold[None], np.zeros(1), layout.link)
        value += (concentration - 1) * log_share.sum()
        slope = slope + (concentration - 1) * (at_high[0, :-1, 0] - at_low[0, 1:, 0])
    return float(value), slope


def _normal(values: FloatArray) -> float:
    return float(-0.5 * values @ values - len(values) * _HALF_LOG_2_PI)
