"""The mode of an ordinal posterior and its curvature there: units in which to sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from bayesjudge.marginal.cumulative.likelihood import value_and_gradient
from bayesjudge.ordinal.gradient import density, log_density
from bayesjudge.ordinal.layout import OrdinalLayout
from bayesjudge.ordinal.parameters import Places, places, to_parameters

FloatArray = NDArray[np.float64]

_SEARCH = {"maxiter": 500, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-2}
_STEP = 1e-3  # of the differences of gradients, in units of the vector
_FLATTEST, _SHARPEST = 0.05, 1e8  # curvatures are kept between these
_LEAST_REACH, _SPARE_REACH = 3.0, 0.5


class Units(NamedTuple):
    """Where to start, and how far a unit is.

    Attributes
    ----------
    centre : float array, shape (parameters,)
        The mode of the posterior of the vector.
    root : float array, shape (parameters, parameters)
        Root of the inverse of its curvature there: ``root @ root.T`` is about the covariance.
    reach : float array, shape (models,)
        Standard deviations of the scenario effects within which the data's likelihood lies.
    """

    centre: FloatArray
    root: FloatArray
    reach: FloatArray


def units(layout: OrdinalLayout) -> Units:
    """Find the mode of the posterior, and its curvature there.

    They are units for a sampler and no estimate: a mode that is a little off, or curvature that
    had to be bounded, costs speed and nothing else.

    Parameters
    ----------
    layout : OrdinalLayout
        The model.
    """
    d = density(layout)
    where = d.where

    def downhill(x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = log_density(d, x)
        return -value, -gradient

    start = np.zeros(where.size)
    start[where.threshold] = _start(layout)
    found = optimize.minimize(
        downhill, start, jac=True, method="L-BFGS-B", bounds=_bounds(where), options=_SEARCH
    )
    centre = found.x
    curvature = np.stack(
        [
            (downhill(centre + step)[1] - downhill(centre - step)[1]) / (2 * _STEP)
            for step in _STEP * np.eye(where.size)
        ]
    )
    value, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    root = vectors / np.sqrt(np.clip(value, _FLATTEST, _SHARPEST))
    return Units(centre, root, _reach(layout, centre))


def _reach(layout: OrdinalLayout, centre: FloatArray) -> FloatArray:
    """Find how far the scenario effects reach at the mode, and a little more."""
    at = to_parameters(layout, places(layout), centre[None])
    least = np.full(len(layout.models), _LEAST_REACH)
    reached = value_and_gradient(
        layout.link, at.by_judge[0], at.effects[0], *layout.tallies, least
    )[3]
    return np.asarray(reached + _SPARE_REACH)


def _bounds(where: Places) -> list[tuple[float, float]]:
    """Keep the search where the density is not flat or infinitely steep."""
    found = [(-30.0, 30.0)] * where.size
    found[where.sigma] = [(-4.0, 4.0)] * (where.sigma.stop - where.sigma.start)
    gaps = slice(where.threshold.start + 1, where.threshold.stop)
    found[gaps] = [(-10.0, 3.0)] * (gaps.stop - gaps.start)
    return found


def _start(layout: OrdinalLayout) -> FloatArray:
    """Thresholds that give the observed shares, each level given half a score more."""
    counts = layout.levels.counts + 0.5
    below = np.cumsum(counts)[:-1] / counts.sum()
    # Effects spread latent scores about half as much again as the link's noise.
    threshold = 1.5 * np.sqrt(layout.noise) * special.ndtri(below)
    middle = (len(threshold) - 1) // 2
    gaps = np.where(layout.levels.counts[1:-1] == 0, 0.0, np.log(np.diff(threshold)))
    return np.asarray(np.r_[threshold[middle], gaps])
