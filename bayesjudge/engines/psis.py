"""The quick engine: the few standard deviations of a linear model, by importance sampling.

What the likelihood of an evaluated model leaves to be sampled are three to six standard deviations,
which no other model shares. In the quantiles of their priors (a standard normal prior each) a mode
at a standard deviation of zero is nothing special. Nothing is compiled, and PyMC is not needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import stats as distributions

from bayesjudge.engines.conditional import blocks, variances
from bayesjudge.engines.draws import Draws, Sampling
from bayesjudge.engines.importance import K_MAX, Weighted, sample_density
from bayesjudge.layout import Layout
from bayesjudge.marginal import gaussian
from bayesjudge.marginal.gaussian import Prior, Variances
from bayesjudge.marginal.gaussian_gradient import value_and_gradient
from bayesjudge.marginal.strata import StrataRows, log_marginal, strata_rows

FloatArray = NDArray[np.float64]

EFFECTIVE = 0.5  # effective over kept draws that are wanted, of each evaluated model
EFFECTIVE_MIN = 400  # below which they are not trusted: as many as four chains must have

_BOUND = 7.5  # quantiles beyond are no longer finite in double precision


@dataclass(frozen=True, eq=False)
class Found:
    """What importance sampling makes of a layout.

    Attributes
    ----------
    draws : Draws
        Resampled.
    k : float
        The worst shape of the tail of weights among evaluated models.
    effective : float
        The least effective number of draws among them.
    """

    draws: Draws
    k: float
    effective: float

    @property
    def trusted(self) -> bool:
        """Whether the draws can stand for the posterior."""
        return not self.problem

    @property
    def problem(self) -> str:
        """What is wrong with the draws, if anything."""
        if not self.k < K_MAX:
            return (
                f"the largest weights carry too much (k-hat {self.k:.2f}, below {K_MAX} is wanted)"
            )
        if self.effective < EFFECTIVE_MIN:
            return (
                f"there are too few effective draws ({self.effective:.0f}, {EFFECTIVE_MIN} are "
                "wanted)"
            )
        return ""


def sample(layout: Layout, how: Sampling) -> Found:
    """Sample the standard deviations of a linear layout.

    Parameters
    ----------
    layout : Layout
        From `bayesjudge.layout.lay_out`.
    how : Sampling
        Seed, chains and draws: so many draws are kept, and called chains for what comes after.

    Returns
    -------
    Found
    """
    kept = how.chains * how.draws
    sigma, lp = np.empty((kept, len(layout.slots))), np.zeros(kept)
    every: list[Weighted] = []
    for t in range(len(layout.models)):
        rng = np.random.default_rng([how.seed, t])
        target = _target(layout, t)
        start = np.zeros(len(target.slots))
        wanted = max(int(EFFECTIVE * kept), EFFECTIVE_MIN)
        found = sample_density(target.log_density, target.gradient, start, wanted, rng)
        chosen = found.resampled(kept, rng)
        sigma[:, target.slots] = target.to_sigma(found.points[chosen])
        lp += found.values[chosen]
        every.append(found)
    k, effective = max(one.k for one in every), min(one.effective for one in every)
    shape = (how.chains, how.draws)
    return Found(
        Draws(
            values=sigma.reshape(*shape, -1),
            stats=xr.Dataset(
                {"lp": (("chain", "draw"), lp.reshape(shape))},
                coords={"chain": np.arange(shape[0]), "draw": np.arange(shape[1])},
            ),
            settings={
                "engine": "psis",
                "sampler": "adaptive importance sampling, Pareto smoothed",
                "chains": how.chains,
                "draws": how.draws,
                "tune": how.tune,
                "k_hat": k,
                "importance_ess": effective,
                "rounds": max(one.rounds for one in every),
            },
        ),
        k,
        effective,
    )


@dataclass(frozen=True, eq=False)
class _Target:
    """The posterior of one evaluated model's standard deviations, in prior quantiles."""

    slots: list[int]
    to_sigma: Callable[[FloatArray], FloatArray]
    log_density: Callable[[FloatArray], FloatArray]
    gradient: Callable[[FloatArray], tuple[float, FloatArray]]


def _target(layout: Layout, t: int) -> _Target:
    slots = [k for k, slot in enumerate(layout.slots) if slot.model == t]
    priors = [layout.priors[layout.slots[k].name] for k in slots]
    likelihood = _Balanced.of(layout, t) if layout.strata[t] is not None else _General(layout, t)

    def to_sigma(z: FloatArray) -> FloatArray:
        z = np.clip(z, -_BOUND, _BOUND)
        return np.stack([prior.at_normal(z[..., k]) for k, prior in enumerate(priors)], axis=-1)

    def log_density(z: FloatArray) -> FloatArray:
        every = np.zeros((len(z), len(layout.slots)))
        every[:, slots] = to_sigma(z)
        return likelihood.log_marginal(every) - 0.5 * (z**2).sum(axis=1)

    def gradient(z: FloatArray) -> tuple[float, FloatArray]:
        every = np.zeros(len(layout.slots))
        every[slots] = sigma = to_sigma(z)
        value, slope = likelihood.value_and_gradient(every)
        density = np.array([prior.logpdf(x) for prior, x in zip(priors, sigma, strict=True)])
        by_z = np.exp(distributions.norm.logpdf(z) - density)  # d sigma / d z
        return float(value - 0.5 * (z**2).sum()), slope[slots] * 2 * sigma * by_z - z

    return _Target(slots, to_sigma, log_density, gradient)


@dataclass(frozen=True, eq=False)
class _Balanced:
    """The likelihood of a balanced model, from its strata."""

    rows: StrataRows
    roles: FloatArray  # (terms, slots)

    @classmethod
    def of(cls, layout: Layout, t: int) -> _Balanced:
        mean = layout.mean_prior.kwargs
        rows = strata_rows([layout.strata[t]], mean["mu"], mean["sigma"])
        terms = rows.coefficients.shape[2]
        return cls(rows, layout.roles()[t][:terms])

    def log_marginal(self, sigma: FloatArray) -> FloatArray:
        """Log likelihood, shape (draws,)."""
        r = self.rows
        result: FloatArray = log_marginal(
            r.df, r.ss, r.known, r.coefficients[:, 0], sigma**2 @ self.roles.T
        )
        return result

    def value_and_gradient(self, sigma: FloatArray) -> tuple[float, FloatArray]:
        """Value and derivative in each variance."""
        r, C = self.rows, self.rows.coefficients[:, 0]
        expected = r.known + C @ (self.roles @ sigma**2)
        slope = -0.5 * (r.df / expected - r.ss / expected**2) @ C @ self.roles
        return float(self.log_marginal(sigma[None])[0]), slope


@dataclass(frozen=True, eq=False)
class _General:
    """The likelihood of any other model, from its patterns."""

    layout: Layout
    t: int

    @property
    def prior(self) -> Prior:
        mean = self.layout.mean_prior.kwargs
        return Prior(mean["mu"], mean["sigma"])

    def log_marginal(self, sigma: FloatArray) -> FloatArray:
        """Log likelihood, shape (draws,)."""
        stats = self.layout.patterns[self.t]
        v = variances(self.layout, sigma, self.t)
        found = np.empty(len(sigma))
        for block in blocks(stats, len(sigma)):
            try:
                found[block] = gaussian.log_marginal(stats, gaussian.take(v, block), self.prior)
            except np.linalg.LinAlgError:  # one of the draws is out of reach: each alone
                for d in range(block.start, block.stop):
                    found[d] = self._one(gaussian.take(v, slice(d, d + 1)))
        return found

    def _one(self, v: Variances) -> float:
        try:
            return float(gaussian.log_marginal(self.layout.patterns[self.t], v, self.prior)[0])
        except np.linalg.LinAlgError:
            return -np.inf

    def value_and_gradient(self, sigma: FloatArray) -> tuple[float, FloatArray]:
        """Value and derivative in each variance."""
        v = variances(self.layout, sigma[None], self.t)
        one = Variances(*(np.asarray(getattr(v, field.name))[0] for field in fields(v)))
        try:
            value, slope = value_and_gradient(self.layout.patterns[self.t], one, self.prior)
        except np.linalg.LinAlgError:
            return -np.inf, np.zeros(len(sigma))
        roles = self.layout.roles()[self.t]
        fixed = np.array(
            [slope.scenario, slope.generation, slope.judge, slope.interaction, slope.cell]
        )
        judges = np.zeros(len(roles) - len(fixed))
        judges[self.layout.cells[self.t].judge_ids] = slope.residual
        return value, np.concatenate([fixed, judges]) @ roles
