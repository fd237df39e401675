"""The free parameters of an ordinal model as one vector, and what they mean.

The vector is unbounded. It holds, one behind the other,

- *sigma*: HalfNormal standard deviations as the standard normal quantiles of their priors (near
  zero the posterior of a quantile has a Gaussian tail), others as logs;
- *mean*: the models' means, in an orthonormal basis of vectors that sum to zero;
- *offset*: the judges' offsets in such bases, one for each model;
- *threshold*: the middle threshold, and logs of the gaps on both sides of it, so that thresholds
  in the thin ends of the scale do not move the well-known ones in the middle (`log_gaps`);
- *scale*: log scales of the judges' thresholds, in a basis, where the model has them.

Offsets are known about as well as a mean of their calls, to s. They enter as u, with
offset = u c, c = sigma / (1 + sigma²/s²)^(1/2), and u ~ Normal(0, (1 + sigma²/s²)^(1/2)): centred
where the judges differ by more than s, not centred where they don't, so there is no funnel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from bayesjudge.marginal.cumulative.lattice import LOGIT
from bayesjudge.ordinal.layout import OrdinalLayout

FloatArray = NDArray[np.float64]
# Between thresholds: a level that is rarer than this is not told apart from one that never occurs,
# and the prior's density (infinite at zero for a concentration below one) stays finite.
LEAST_GAP = 1e-10
_MOST_STRETCH = 6.0

Z_BOUND = 7.5  # beyond, normal quantiles are no longer finite in double precision


def zero_sum_basis(size: int) -> FloatArray:
    """Orthonormal basis of vectors that sum to zero, shape (size, size - 1) (Helmert)."""
    return np.asarray(linalg.helmert(size).T)


def zero_sum_log_density(values: FloatArray, sd: float) -> FloatArray:
    """Log density of vectors that sum to zero over the last axis, covariance sd² (I - J/K)."""
    free = values.shape[-1] - 1
    squares = np.sum(values**2, axis=-1)
    return np.asarray(-0.5 * squares / sd**2 - 0.5 * free * np.log(2 * np.pi * sd**2))


@dataclass(frozen=True, eq=False)
class Places:
    """Where the parts of the vector are, and the constant matrices that give them meaning."""

    sigma: slice
    mean: slice
    offset: slice
    threshold: slice
    scale: slice
    mean_basis: FloatArray  # (models, members of mean)
    offset_basis: FloatArray  # (models * judges, members of offset)
    offset_sigma: NDArray[np.int64]  # (members of offset,): the slot of its judge sd
    offset_error: FloatArray  # (members of offset,): about its posterior sd
    normal: NDArray[np.int64]  # slots with a HalfNormal prior
    scale_of_normal: FloatArray  # their priors' sigma
    not_normal: tuple[int, ...]  # the other slots
    roles: FloatArray  # (models, 2, slots): where slots stand, scenario and generation
    gaps: FloatArray  # (thresholds, thresholds - 1)
    stretch: FloatArray  # (thresholds - 1,): 1, or more for a level that never occurs
    bend: FloatArray  # (thresholds - 1,): log gap from which on it is stretched
    scale_basis: FloatArray  # (judges, members of scale)

    @property
    def size(self) -> int:
        """Length of the vector."""
        return int(self.scale.stop)


class Parameters(NamedTuple):
    """What a vector means; arrays, or PyTensor variables."""

    sigma: Any  # (slots,)
    mean: Any  # (models,): latent, sums to zero
    offset: Any  # (models, judges): latent, sums to zero over each model's judges
    threshold: Any  # (levels - 1,)
    log_scale: Any  # (judges,): sums to zero
    by_judge: Any  # (models, judges, levels - 1): thresholds less mean and offset
    effects: Any  # (models, 2): standard deviations of scenario and generation


def places(layout: OrdinalLayout) -> Places:
    """Lay the parts of the vector one behind the other."""
    T, K, cuts = len(layout.models), len(layout.judges), len(layout.levels.values) - 1
    bases, owner, error = [], [], []
    columns = 0
    unit = 3.0 if layout.link == LOGIT else 1.0  # variance of what one call tells
    for cells in layout.cells:
        own = cells.n_judges - 1
        wide = np.zeros((K, own))
        if own:
            wide[cells.judge_ids] = zero_sum_basis(cells.n_judges)
            judge = next(
                k
                for k, slot in enumerate(layout.slots)
                if slot.model == cells.model and slot.name == "judge"
            )
            owner += [judge] * own
            error += [np.sqrt(unit * cells.n_judges / len(cells.score))] * own
        bases.append(wide)
        columns += own
    middle = (cuts - 1) // 2
    gaps = np.zeros((cuts, max(cuts - 1, 0)))
    for c in range(cuts):
        gaps[c, middle:c] = 1.0
        gaps[c, c:middle] = -1.0
    unused = layout.levels.counts[1:-1] == 0
    normal = prior_families(layout).get("HalfNormal", [])
    scale_basis = np.zeros((K, 0)) if layout.scale_prior is None else zero_sum_basis(K)
    ends = np.cumsum([len(layout.slots), T - 1, columns, cuts, scale_basis.shape[1]])
    starts = np.r_[0, ends[:-1]]
    sigma, mean, offset, threshold, scale = (
        slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True)
    )
    return Places(
        sigma=sigma,
        mean=mean,
        offset=offset,
        threshold=threshold,
        scale=scale,
        mean_basis=zero_sum_basis(T) if T > 1 else np.zeros((1, 0)),
        offset_basis=linalg.block_diag(*bases).reshape(T * K, columns),
        offset_sigma=np.array(owner, dtype=np.int64),
        offset_error=np.array(error),
        normal=np.array(normal, dtype=np.int64),
        scale_of_normal=prior_kwargs(layout, normal)["sigma"] if normal else np.zeros(0),
        not_normal=tuple(k for k in range(len(layout.slots)) if k not in normal),
        roles=layout.roles()[:, :2],
        gaps=gaps,
        stretch=np.where(unused, np.clip(1 / layout.concentration, 1.0, _MOST_STRETCH), 1.0),
        bend=np.where(unused, np.log(4 / len(layout.levels.codes)), 0.0),
        scale_basis=scale_basis,
    )


def log_gaps(where: Places, raw: Any, xp: Any) -> tuple[Any, Any]:
    """Return the logs of the gaps between thresholds, less the least gap, and their slope in `raw`.

    A level that never occurs may be as good as impossible: below what the data could show, the
    density of its log gap falls as slowly as a exp(a x), a the prior's concentration. There it is
    stretched, so that a step of a sampler is as far on one side of the bend as on the other.

    Parameters
    ----------
    where : Places
        Of the model.
    raw : array or PyTensor vector, shape (thresholds - 1,)
        The part of the vector.
    xp : module
        `numpy` or `pytensor.tensor`.
    """
    more, below = where.stretch - 1, xp.exp(-raw)
    return where.bend + raw - more * xp.log1p(below), 1 + more * below / (1 + below)


def offset_spread(where: Places, sigma: Any, xp: Any) -> Any:
    """Return (1 + sigma²/s²)^(1/2), the prior sd of each member of *offset*."""
    return xp.sqrt(1.0 + (sigma[where.offset_sigma] / where.offset_error) ** 2)


def marginal_unit(layout: OrdinalLayout, effects: Any, xp: Any) -> Any:
    """Return how much wider than the link the latent scores of a scenario or another are spread.

    Averaged over scenario and generation effects, the probability of at most level c is about
    F(kappa_c / unit), unit² = 1 + (sigma_scenario² + sigma_generation²) / variance of the link, the
    mean of the effects' variances taken over evaluated models. It's exact for the probit.

    Parameters
    ----------
    layout : OrdinalLayout
        The model.
    effects : array or PyTensor matrix, shape (..., models, 2)
        Standard deviations of scenario and generation (latent).
    xp : module
        `numpy` or `pytensor.tensor`.
    """
    return xp.sqrt(1.0 + (effects**2).sum(axis=-1).mean(axis=-1) / layout.noise)


def parameters(
    layout: OrdinalLayout, where: Places, vector: Any, sigma: Any, xp: Any
) -> Parameters:
    """Say what a vector means.

    Parameters
    ----------
    layout, where
        The model, and `places` of it.
    vector : array or PyTensor vector
        The free parameters.
    sigma : the same
        The standard deviations that its first part stands for.
    xp : module
        `numpy` or `pytensor.tensor`.
    """
    T, K = len(layout.models), len(layout.judges)
    mean = xp.dot(where.mean_basis, vector[where.mean]) * layout.mean_prior.kwargs["sigma"]
    factor = sigma[where.offset_sigma] / offset_spread(where, sigma, xp)
    offset = xp.dot(where.offset_basis, vector[where.offset] * factor).reshape((T, K))
    raw = vector[where.threshold]
    threshold = raw[0] + xp.dot(where.gaps, LEAST_GAP + xp.exp(log_gaps(where, raw[1:], xp)[0]))
    log_scale = xp.dot(where.scale_basis, vector[where.scale])
    if layout.scale_prior is not None:
        log_scale = log_scale * layout.scale_prior.kwargs["sigma"]
    centre = threshold.mean()
    own = centre + xp.exp(log_scale)[:, None] * (threshold - centre)[None, :]
    by_judge = own[None, :, :] - (mean[:, None] + offset)[:, :, None]
    effects = xp.dot(where.roles, sigma)
    return Parameters(sigma, mean, offset, threshold, log_scale, by_judge, effects)


def to_parameters(layout: OrdinalLayout, where: Places, vectors: FloatArray) -> Parameters:
    """Say what draws of the vector mean.

    Parameters
    ----------
    layout, where
        The model, and its `places`.
    vectors : float array, shape (draws, parameters)
        Draws.

    Returns
    -------
    `Parameters`
        Arrays with a leading axis of draws.
    """
    found = [
        parameters(layout, where, vector, sigma, np)
        for vector, sigma in zip(vectors, sigma_of(where, vectors[:, where.sigma]), strict=True)
    ]
    return Parameters(*(np.stack(field) for field in zip(*found, strict=True)))


def prior_families(layout: OrdinalLayout) -> dict[str, list[int]]:
    """Group the slots by prior family."""
    found: dict[str, list[int]] = {}
    for k, slot in enumerate(layout.slots):
        found.setdefault(layout.priors[slot.name].dist, []).append(k)
    return found


def prior_kwargs(layout: OrdinalLayout, members: list[int]) -> dict[str, FloatArray]:
    """Return the parameters of the priors of some slots of one family, as vectors."""
    priors = [layout.priors[layout.slots[k].name] for k in members]
    return {key: np.array([prior.kwargs[key] for prior in priors]) for key in priors[0].kwargs}


def sigma_of(where: Places, raw: FloatArray) -> FloatArray:
    """Turn the first part of vectors into standard deviations.

    Parameters
    ----------
    where : Places
        Of the model.
    raw : float array, shape (..., slots)
        First parts.
    """
    sigma = np.exp(raw)
    z = np.clip(raw[..., where.normal], -Z_BOUND, Z_BOUND)
    # The quantile function of a HalfNormal; that of SciPy checks its input for longer.
    sigma[..., where.normal] = special.ndtri((1 + special.ndtr(z)) / 2) * where.scale_of_normal
    return np.asarray(sigma)
