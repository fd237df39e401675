"""Prior distributions as plain values, evaluated with SciPy: no sampler is needed to read one.

Those allowed for a standard deviation are scale families: multiplying the quantity by a number
stays inside the family. That is what lets a specification state priors in units of the score
scale's range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats


@dataclass(frozen=True)
class Family:
    """What the package must know of a family of priors.

    Attributes
    ----------
    positive, free : tuple of str
        Parameters that must be above zero; parameters that may have any value. All required.
    base : callable
        From the parameters to a SciPy distribution.
    scaled : callable
        From the parameters and a unit to the parameters of unit times the quantity.
    folded : bool
        Whether the prior is the absolute value of `base`, a distribution symmetric around 0.
    free_bound : float
        Largest size of a free parameter.
    """

    positive: tuple[str, ...]
    base: Callable[..., Any]
    scaled: Callable[[Mapping[str, float], float], Mapping[str, float]]
    free: tuple[str, ...] = ()
    folded: bool = False
    free_bound: float = 1e6

    @property
    def parameters(self) -> tuple[str, ...]:
        """All parameters, in the order in which messages list them."""
        return self.free + self.positive


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

_FAMILIES = {**SD_FAMILIES, **MEAN_FAMILIES}


@dataclass(frozen=True)
class Prior:
    """A prior of a standard deviation or of the panel mean.

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
        return Prior(self.dist, _FAMILIES[self.dist].scaled(self.kwargs, unit))

    def shifted(self, by: float) -> Prior:
        """Return the prior of the quantity plus a number; for the mean's Normal only."""
        return Prior(self.dist, {**self.kwargs, "mu": self.kwargs["mu"] + by})

    def logpdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Log density at x, same shape as x."""
        family = _FAMILIES[self.dist]
        density = np.asarray(family.base(**self.kwargs).logpdf(x))
        if family.folded:
            return np.where(np.asarray(x) < 0, -np.inf, density + np.log(2))
        return density

    def median(self) -> float:
        """Median of the prior."""
        family = _FAMILIES[self.dist]
        return float(family.base(**self.kwargs).ppf(0.75 if family.folded else 0.5))

    def draw(self, size: int | tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw from the prior."""
        family = _FAMILIES[self.dist]
        x = np.asarray(family.base(**self.kwargs).rvs(size=size, random_state=rng))
        return np.abs(x) if family.folded else x


def widest(priors: list[Prior]) -> Prior:
    """Return the prior with the largest median: the one that a sum of several terms takes."""
    return max(priors, key=lambda prior: prior.median())
