"""Prior distributions as plain values, evaluated with SciPy: no sampler is needed to read one.

Those allowed for a standard deviation are scale families: multiplying the quantity by a number
stays inside the family. That is what lets a specification state priors in units of the score
scale's range. A joint family is that of several quantities at once, such as all thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats


@dataclass(frozen=True)
class Parameters:
    """The parameters of a family of priors.

    Attributes
    ----------
    positive, free : tuple of str
        Parameters that must be above zero; parameters that may have any value. All required.
    free_bound : float
        Largest size of a free parameter.
    """

    positive: tuple[str, ...]
    free: tuple[str, ...] = field(default=(), kw_only=True)
    free_bound: float = field(default=1e6, kw_only=True)

    @property
    def parameters(self) -> tuple[str, ...]:
        """All parameters, in the order in which messages list them."""
        return self.free + self.positive


@dataclass(frozen=True)
class Family(Parameters):
    """What the package must know of a family of priors of one quantity.

    Attributes
    ----------
    base : callable
        From the parameters to a SciPy distribution.
    scaled : callable
        From the parameters and a unit to the parameters of unit times the quantity.
    folded : bool
        Whether the prior is the absolute value of `base`, a distribution symmetric around 0.
    """

    base: Callable[..., Any]
    scaled: Callable[[Mapping[str, float], float], Mapping[str, float]]
    folded: bool = False


def _times(*names: str) -> Callable[[Mapping[str, float], float], Mapping[str, float]]:
    return lambda kwargs, unit: {k: v * unit if k in names else v for k, v in kwargs.items()}


def _per(name: str) -> Callable[[Mapping[str, float], float], Mapping[str, float]]:
    return lambda kwargs, unit: {k: v / unit if k == name else v for k, v in kwargs.items()}


def _log_shift(kwargs: Mapping[str, float], unit: float) -> Mapping[str, float]:
    return {**kwargs, "mu": kwargs["mu"] + float(np.log(unit))}


# Parameters are named and mean what they do in PyMC.
SD_FAMILIES: Mapping[str, Family] = {
    "HalfNormal": Family(
        ("sigma",), lambda sigma: stats.norm(scale=sigma), _times("sigma"), folded=True
    ),
    "HalfStudentT": Family(
        ("nu", "sigma"),
        lambda nu, sigma: stats.t(nu, scale=sigma),
        _times("sigma"),
        folded=True,
    ),
    "HalfCauchy": Family(
        ("beta",), lambda beta: stats.cauchy(scale=beta), _times("beta"), folded=True
    ),
    "Exponential": Family(("scale",), lambda scale: stats.expon(scale=scale), _times("scale")),
    "Gamma": Family(
        ("alpha", "beta"), lambda alpha, beta: stats.gamma(alpha, scale=1 / beta), _per("beta")
    ),
    "InverseGamma": Family(
        ("alpha", "beta"),
        lambda alpha, beta: stats.invgamma(alpha, scale=beta),
        _times("beta"),
    ),
    "Weibull": Family(
        ("alpha", "beta"),
        lambda alpha, beta: stats.weibull_min(alpha, scale=beta),
        _times("beta"),
    ),
    "LogNormal": Family(
        ("sigma",),
        lambda mu, sigma: stats.lognorm(sigma, scale=np.exp(mu)),
        _log_shift,
        free=("mu",),
        free_bound=14.0,  # medians from 1e-6 to 1e6
    ),
}

MEAN_FAMILIES: Mapping[str, Family] = {
    "Normal": Family(
        ("sigma",), lambda mu, sigma: stats.norm(mu, sigma), _times("mu", "sigma"), free=("mu",)
    ),
}

# Joint families: the values sum to zero; the thresholds give the levels Dirichlet probabilities.
ZERO_SUM_FAMILIES: Mapping[str, Parameters] = {"ZeroSumNormal": Parameters(("sigma",))}
THRESHOLD_FAMILIES: Mapping[str, Parameters] = {"InducedDirichlet": Parameters(("total",))}

_FAMILIES = {**SD_FAMILIES, **MEAN_FAMILIES}


@dataclass(frozen=True)
class Prior:
    """A prior: of a standard deviation, of the panel mean, or of several quantities at once.

    A joint prior (of a family in `ZERO_SUM_FAMILIES` or `THRESHOLD_FAMILIES`) holds its
    parameters and can be written; its methods for one quantity raise a `TypeError`.

    Attributes
    ----------
    dist : str
        Name of the family, as in PyMC.
    kwargs : dict of float
        Its parameters, as in PyMC.
    """

    dist: str
    kwargs: Mapping[str, float]

    def __str__(self) -> str:
        """Write the prior as in a paper: ``HalfNormal(sigma=1.125)``."""
        inside = ", ".join(f"{key}={value:.6g}" for key, value in self.kwargs.items())
        return f"{self.dist}({inside})"

    def scaled(self, unit: float) -> Prior:
        """Return the prior of `unit` times the quantity."""
        return Prior(self.dist, self._family().scaled(self.kwargs, unit))

    def shifted(self, by: float) -> Prior:
        """Return the prior of the quantity plus a number; for the mean's Normal only."""
        return Prior(self.dist, {**self.kwargs, "mu": self.kwargs["mu"] + by})

    def logpdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Log density at x, same shape as x."""
        family, base = self._family(), self._base()
        density = np.asarray(base.logpdf(x))
        if family.folded:
            return np.where(np.asarray(x) < 0, -np.inf, density + np.log(2))
        return density

    def median(self) -> float:
        """Median of the prior."""
        return float(self._base().ppf(0.75 if self._family().folded else 0.5))

    def at_normal(self, z: ArrayLike) -> NDArray[np.float64]:
        """Value whose probability is that of a standard normal z; same shape as z.

        A standard normal variable becomes one with this prior.
        """
        z = np.asarray(z, dtype=np.float64)
        if self.dist == "HalfNormal":  # without SciPy's detour, which takes ten times as long
            near_zero = np.sqrt(2) * special.erfinv(special.ndtr(z))
            far = -special.ndtri(0.5 * special.ndtr(-z))
            return np.asarray(self.kwargs["sigma"] * np.where(z < 0, near_zero, far))
        base = self._base()
        share = 0.5 if self._family().folded else 1.0
        # From the nearer end, where probabilities keep their digits.
        low = base.ppf(1 - share + share * special.ndtr(np.minimum(z, 0.0)))
        high = base.isf(share * special.ndtr(-np.maximum(z, 0.0)))
        return np.asarray(np.where(z < 0, low, high))

    def draw(self, size: int | tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw from the prior."""
        x = np.asarray(self._base().rvs(size=size, random_state=rng))
        return np.abs(x) if self._family().folded else x

    def _base(self) -> Any:
        self._family()
        return _frozen(self.dist, tuple(self.kwargs.items()))

    def _family(self) -> Family:
        if self.dist not in _FAMILIES:
            raise TypeError(
                f"{self} is no prior of one quantity: it has no unit, density, median or draws of "
                f"its own. Those that do: {', '.join(_FAMILIES)}."
            )
        return _FAMILIES[self.dist]


@lru_cache(maxsize=256)
def _frozen(dist: str, kwargs: tuple[tuple[str, float], ...]) -> Any:
    """Make a SciPy distribution, which takes a millisecond."""
    return _FAMILIES[dist].base(**dict(kwargs))


def widest(priors: list[Prior]) -> Prior:
    """Return the prior with the largest median: the one that a sum of several terms takes."""
    return max(priors, key=lambda prior: prior.median())


def induced_dirichlet_logpdf(
    thresholds: ArrayLike, concentration: float, link: str
) -> NDArray[np.float64]:
    """Log density of thresholds that give the levels Dirichlet probabilities.

    The probabilities are those at a linear predictor of 0: ``p_c = F(k_c) - F(k_c-1)``. The
    density of the thresholds is that of p times the Jacobian, ``prod_c f(k_c)``. Everything is
    computed in log space, so that thresholds far out in the tails keep a finite density.

    Parameters
    ----------
    thresholds : float array, shape (..., levels - 1)
        Ascending in the last axis. Where they are not, the density is zero.
    concentration : float
        Of the Dirichlet distribution, the same for every level; 1 is uniform.
    link : {"logit", "probit"}
        F is the logistic or the standard normal distribution.

    Returns
    -------
    float array, shape (...)

    References
    ----------
    Betancourt (2019), Ordinal Regression (case study).
    """
    k = np.asarray(thresholds, dtype=np.float64)
    ends = np.full((*k.shape[:-1], 1), np.inf)
    edges = np.concatenate([-ends, k, ends], axis=-1)
    low, high = edges[..., :-1], edges[..., 1:]
    unordered = low >= high
    # Where thresholds do not ascend, any finite value will do: it is replaced at the end.
    log_p = _log_between(np.where(unordered, -1.0, low), np.where(unordered, 1.0, high), link)
    n = k.shape[-1] + 1
    density = (
        special.gammaln(n * concentration)
        - n * special.gammaln(concentration)
        + (concentration - 1) * log_p.sum(axis=-1)
        + _log_density(k, link).sum(axis=-1)
    )
    return np.where(unordered.any(axis=-1), -np.inf, density)


def _log_between(
    low: NDArray[np.float64], high: NDArray[np.float64], link: str
) -> NDArray[np.float64]:
    """Log of F(high) - F(low), low < high."""
    if link == "logit":  # F(b) - F(a) = F(b) F(-a) (1 - exp(a - b))
        gap = np.log(-np.expm1(low - high))
        return np.asarray(special.log_expit(high) + special.log_expit(-low) + gap)
    # In the lower tail F keeps its digits, so an interval above 0 is turned.
    a, b = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
    log_b = special.log_ndtr(b)
    ratio = np.minimum(special.log_ndtr(a) - log_b, -np.finfo(np.float64).tiny)
    return np.asarray(log_b + np.log(-np.expm1(ratio)))


def _log_density(x: NDArray[np.float64], link: str) -> NDArray[np.float64]:
    if link == "logit":
        return np.asarray(special.log_expit(x) + special.log_expit(-x))
    return np.asarray(-0.5 * x**2 - 0.5 * np.log(2 * np.pi))
