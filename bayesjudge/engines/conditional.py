"""Exact draws of what the likelihood integrated out, given draws of the standard deviations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.layout import Layout
from bayesjudge.marginal import balanced, gaussian
from bayesjudge.marginal.gaussian import Variances
from bayesjudge.marginal.patterns import Patterns
from bayesjudge.marginal.strata import Strata
from bayesjudge.settings import LOG_LIKELIHOOD_LIMIT
from bayesjudge.terms import TERMS

FloatArray = NDArray[np.float64]
_BLOCK = 200_000  # numbers in each array at once, so that they stay in the processor's cache


@dataclass(frozen=True, eq=False)
class PanelDraws:
    """Draws of panel means and judge offsets, and the log likelihood they give.

    Attributes
    ----------
    mu : float array, shape (draws, models)
        Panel mean: mean over the model's judges (score).
    gamma : float array, shape (draws, models, judges)
        Judge offset from the panel mean (score); NaN where a judge did not score the model,
        and where there is one judge only.
    log_likelihood : float array, shape (draws, scenarios), or None
        Of all models together, marginal over scenario, generation and interaction effects, given
        mu, gamma and the standard deviations; None if it would be too large.
    """

    mu: FloatArray
    gamma: FloatArray
    log_likelihood: FloatArray | None


def variances(layout: Layout, sigma: FloatArray, model: int) -> Variances:
    """Place draws of the standard deviations where the likelihood of one model wants them.

    Parameters
    ----------
    layout : Layout
        The layout that the draws belong to.
    sigma : float array, shape (draws, slots)
        Standard deviations (score).
    model : int
        Position of the evaluated model.
    """
    placed = sigma**2 @ layout.roles()[model].T
    fixed = len(TERMS) - 1
    residual = placed[:, fixed + layout.cells[model].judge_ids]
    return gaussian.by_term(placed[:, :fixed], residual)


def blocks(stats: Patterns, draws: int) -> Iterator[slice]:
    """Cut the draws into blocks that fit in memory."""
    K = stats.counts.shape[1]
    one = K * K * max(len(stats.counts), len(stats.scenario_kind)) + K * len(stats.group_size)
    step = max(1, _BLOCK // one)
    for start in range(0, draws, step):
        yield slice(start, min(start + step, draws))


def panel_draws(layout: Layout, sigma: FloatArray, rng: np.random.Generator) -> PanelDraws:
    """Draw panel means and judge offsets from their exact conditionals.

    Parameters
    ----------
    layout : Layout
        Statistics and priors.
    sigma : float array, shape (draws, slots)
        Standard deviations (score).
    rng : Generator
        Source of randomness.
    """
    draws, models = len(sigma), len(layout.models)
    mu = np.empty((draws, models))
    gamma = np.full((draws, models, len(layout.judges)), np.nan)
    held = draws * len(layout.scenarios) <= LOG_LIKELIHOOD_LIMIT
    log_likelihood = np.zeros((draws, len(layout.scenarios))) if held else None
    mean = layout.mean_prior.kwargs
    prior = gaussian.Prior(mean["mu"], mean["sigma"])
    for t, (table, cells) in enumerate(zip(layout.strata, layout.cells, strict=True)):
        noise = rng.standard_normal((draws, cells.n_judges))
        if table is None:
            b, by_scenario = _any(layout, sigma, t, prior, noise, held=held)
        else:
            placed = (sigma**2 @ layout.roles()[t].T)[:, : len(TERMS)]
            b, by_scenario = _balanced(table, placed, prior, noise, held=held)
        mu[:, t] = b.mean(axis=1)
        if cells.n_judges > 1:
            gamma[:, t, cells.judge_ids] = b - b.mean(axis=1, keepdims=True)
        if log_likelihood is not None:
            log_likelihood[:, cells.scenario_ids] += by_scenario
    return PanelDraws(mu, gamma, log_likelihood)


def _balanced(
    table: Strata, placed: FloatArray, prior: gaussian.Prior, noise: FloatArray, *, held: bool
) -> tuple[FloatArray, FloatArray | float]:
    """Draw the judge means of a balanced model, and give their log likelihood by scenario."""
    K = noise.shape[1]
    panel = balanced.panel_moments(table, placed, prior)
    # Of standard normals, the mean over judges and the differences from it are independent.
    common = noise.mean(axis=1)
    mu = panel.mean + panel.mean_sd * np.sqrt(K) * common
    gamma = panel.offsets + panel.offsets_sd[:, None] * (noise - common[:, None])
    b = mu[:, None] + gamma
    if not held:
        return b, 0.0
    return b, balanced.log_likelihood_by_scenario(table, placed, mu, gamma)


def _any(
    layout: Layout,
    sigma: FloatArray,
    t: int,
    prior: gaussian.Prior,
    noise: FloatArray,
    *,
    held: bool,
) -> tuple[FloatArray, FloatArray | float]:
    """Do the same for any model, by blocks of draws."""
    stats, v = layout.patterns[t], variances(layout, sigma, t)
    b = np.empty(noise.shape)
    by_scenario = np.empty((len(noise), len(stats.scenario_kind))) if held else 0.0
    for block in blocks(stats, len(noise)):
        here = gaussian.take(v, block)
        m = gaussian.moments(stats, here) if held else None
        sums = gaussian.totals(stats, here) if m is None else gaussian.summed(stats, m)
        panel = gaussian.panel_moments(stats, here, prior, sums)
        L = np.linalg.cholesky(panel.covariance)
        b[block] = panel.mean + (L @ noise[block][..., None])[..., 0]
        if m is not None and isinstance(by_scenario, np.ndarray):
            by_scenario[block] = gaussian.log_likelihood_by_scenario(stats, m, b[block])
    return b, by_scenario
