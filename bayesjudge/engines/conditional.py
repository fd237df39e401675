"""Exact draws of what the likelihood integrated out, given draws of the standard deviations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesjudge.layout import Layout
from bayesjudge.marginal import gaussian
from bayesjudge.marginal.gaussian import Variances
from bayesjudge.marginal.patterns import Patterns
from bayesjudge.terms import TERMS

FloatArray = NDArray[np.float64]
_BLOCK = 2_000_000  # numbers held at once; draws are taken in blocks of this size


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
    log_likelihood : float array, shape (draws, models, scenarios)
        Marginal over scenario, generation and interaction effects, given mu, gamma and the
        standard deviations; 0 where a scenario holds no score of the model.
    """

    mu: FloatArray
    gamma: FloatArray
    log_likelihood: FloatArray


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
    one = K * K * max(len(stats.group_size), len(stats.scenario_kind)) + 1
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
    log_likelihood = np.zeros((draws, models, len(layout.scenarios)))
    mean = layout.mean_prior.kwargs
    prior = gaussian.Prior(mean["mu"], mean["sigma"])
    for t, (stats, cells) in enumerate(zip(layout.patterns, layout.cells, strict=True)):
        v = variances(layout, sigma, t)
        noise = rng.standard_normal((draws, cells.n_judges))
        for block in blocks(stats, draws):
            here = gaussian.take(v, block)
            m = gaussian.moments(stats, here)
            panel = gaussian.panel_moments(stats, here, prior, m)
            L = np.linalg.cholesky(panel.covariance)
            b = panel.mean + (L @ noise[block][..., None])[..., 0]
            mu[block, t] = b.mean(axis=1)
            if cells.n_judges > 1:
                gamma[block, t, cells.judge_ids] = b - b.mean(axis=1, keepdims=True)
            log_likelihood[block, t, cells.scenario_ids] = gaussian.log_likelihood_by_scenario(
                stats, m, b
            )
    return PanelDraws(mu, gamma, log_likelihood)
