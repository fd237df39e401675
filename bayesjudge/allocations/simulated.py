"""Scores of future campaigns, simulated call by call from the draws of a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayesjudge.allocations.grid import Campaign, campaigns, spread
from bayesjudge.allocations.predicting import share_of_the_table
from bayesjudge.allocations.sources import Known, read_source
from bayesjudge.allocations.strategies import Strategy, parse_strategy
from bayesjudge.arguments import require_whole
from bayesjudge.errors import BayesJudgeError, FitError
from bayesjudge.posterior.effects import effects
from bayesjudge.posterior.estimands import why_no_scenario_effects
from bayesjudge.posterior.ordinal_parameters import is_ordinal, parameters_of
from bayesjudge.terms import carrier, parts
from bayesjudge.tree import require_fit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_BLOCK = 1_000_000  # calls simulated at a time


def future_scores(
    tree: xr.DataTree,
    strategy: str,
    budget: int,
    n_scenarios: int | None = None,
    target: str = "benchmark",
    dataset_size: int | None = None,
    seed: int = 0,
) -> xr.DataArray:
    """Draw the score of a future campaign from its posterior predictive distribution.

    For each draw of the posterior a campaign is run: answers and noise are drawn anew, the panel
    is shuffled, every call is scored, and the score is the mean of the calls. Its variance is the
    ``predictive_variance`` of `bayesjudge.allocation`, by another way.

    Parameters
    ----------
    tree : DataTree
        From `bayesjudge.fit`, of a table of up to a million scores.
    strategy : str
        As for `bayesjudge.strategy_variance`.
    budget : int
        Judge calls for each scenario.
    n_scenarios, target, dataset_size
        As for `bayesjudge.allocation`: a campaign for the benchmark on as many scenarios as the
        fit has is one on the same; other ones are drawn anew.
    seed : int
        The same seed gives the same scores.

    Returns
    -------
    DataArray
        Dims chain, draw, model (score). NaN for a model whose components do not say what such a
        campaign does.

    Raises
    ------
    BayesJudgeError
        When an argument is none, or that is so for all models.

    Notes
    -----
    Interactions are drawn anew also on scenarios of the table. Of a linear fit the scores are not
    bound to the scale.
    """
    require_fit(tree)
    source = read_source(tree)
    B = require_whole("budget", budget, 1)
    parse_strategy(strategy, max(one.panel_size for one in source.models))
    planned = campaigns(source, n_scenarios, target, dataset_size)
    rng = np.random.default_rng(seed)
    chains, draws = source.shape
    found = np.full((chains * draws, len(source.models)), np.nan)
    drawn: xr.Dataset | None = None
    reasons = []
    for t, (one, campaign) in enumerate(zip(source.models, planned, strict=True)):
        why = spread(one, strategy, B, campaign, relative=source.relative_sums).reason
        share = share_of_the_table(one, campaign)
        why = why or (why_no_scenario_effects(tree, one.model) if share else "")
        if why:
            reasons.append(why)
            continue
        if share and drawn is None:
            drawn = effects(tree, seed)
        alpha = _alpha(drawn, t, len(found)) if share else None
        model = _Latent.of(tree, t, one) if is_ordinal(tree) else _Linear.of(tree, t, one)
        who = parse_strategy(strategy, one.panel_size)
        n = campaign.n_scenarios
        size = max(1, _BLOCK // (n * B))
        for start in range(0, len(found), size):
            block = slice(start, min(start + size, len(found)))
            own = _scenario_effects(model, block, alpha, campaign, rng)
            found[block, t] = _campaign(model, block, own, who, B, rng)
    if np.isnan(found).all():
        raise BayesJudgeError(f"{'; '.join(dict.fromkeys(reasons))}.")
    mu = tree["posterior"].to_dataset()["mu"].transpose("chain", "draw", "model")
    return mu.copy(data=found.reshape(chains, draws, -1)).assign_attrs(
        units="score", meaning="score of a future campaign", strategy=strategy, budget=B
    )


def _alpha(drawn: xr.Dataset | None, t: int, total: int) -> FloatArray:
    """Return the effects of the scenarios of the table, shape (draws, scenarios)."""
    if drawn is None or "alpha" not in drawn:
        return np.zeros((total, 1))
    values = drawn["alpha"].isel(model=t).to_numpy().reshape(total, -1)
    values = values[:, ~np.isnan(values).all(axis=0)]
    return values if values.shape[1] else np.zeros((total, 1))


@dataclass(frozen=True, eq=False)
class _Linear:
    """A linear model of one evaluated model's scores, in draws."""

    judge_means: FloatArray  # (draws, K)
    scenario: FloatArray  # (draws,), sds
    generation: FloatArray
    by_scenario: FloatArray  # of the free scenario:judge effect
    by_generation: FloatArray
    residual: FloatArray  # (draws, K)

    @classmethod
    def of(cls, tree: xr.DataTree, t: int, known: Known) -> _Linear:
        own = tree["posterior"].to_dataset().isel(model=t)
        gamma = own["gamma"].transpose("chain", "draw", "judge").to_numpy()
        has = tree["constant_data"].to_dataset()["n_calls"][t].to_numpy() > 0
        total, K = gamma.shape[0] * gamma.shape[1], int(has.sum())
        means = own["mu"].to_numpy().reshape(total, 1) + gamma.reshape(total, -1)[:, has]
        variance = {
            carrier(parts(name)): values.reshape(total) for name, values in known.variances.items()
        }
        free = K / (K - 1)
        residual = np.broadcast_to(variance["residual"][:, None], (total, K))
        if known.own_residuals is not None:
            residual = known.own_residuals.reshape(total, K)
        nothing = np.zeros(total)
        sd = {name: np.sqrt(variance.get(name, nothing)) for name in ("scenario", "generation")}
        both = {
            name: np.sqrt(free * variance.get(name, nothing))
            for name in ("scenario:judge", "generation:judge")
        }
        return cls(
            means,
            sd["scenario"],
            sd["generation"],
            both["scenario:judge"],
            both["generation:judge"],
            np.sqrt(residual),
        )

    def scores(
        self,
        block: slice,
        total: FloatArray,
        judge: IntArray,
        answer: IntArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Score calls; `total` (draws, n, m), judge and answer (draws or 1, n, B)."""
        D, n, m = total.shape
        K = self.judge_means.shape[1]
        rows, places = np.arange(D)[:, None, None], np.arange(n)[None, :, None]
        score = total[rows, places, answer] + self.judge_means[block][rows, judge]
        if self.by_scenario[block].any():
            eta = _zero_sum(rng, (D, n, K)) * self.by_scenario[block][:, None, None]
            score += eta[rows, places, judge]
        if self.by_generation[block].any():
            zeta = _zero_sum(rng, (D, n, m, K)) * self.by_generation[block][:, None, None, None]
            score += zeta[rows, places, answer, judge]
        score += self.residual[block][rows, judge] * rng.standard_normal(score.shape)
        return score


@dataclass(frozen=True, eq=False)
class _Latent:
    """An ordinal model of one evaluated model's scores, in draws."""

    thresholds: FloatArray  # (draws, K, levels - 1)
    scenario: FloatArray  # (draws,), sds
    generation: FloatArray
    values: FloatArray
    link: str

    @classmethod
    def of(cls, tree: xr.DataTree, t: int, known: Known) -> _Latent:
        thresholds, sigma = parameters_of(tree)
        has = tree["constant_data"].to_dataset()["n_calls"][t].to_numpy() > 0
        if known.panel_size != has.sum():
            raise FitError("the panel of the fit and its counts of calls do not agree.")
        return cls(
            thresholds[:, t, has],
            sigma[:, t, 0],
            sigma[:, t, 1],
            tree["constant_data"]["level"].to_numpy(),
            str(tree.attrs["link"]),
        )

    def scores(
        self,
        block: slice,
        total: FloatArray,
        judge: IntArray,
        answer: IntArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Score calls; `total` (draws, n, m), judge and answer (draws or 1, n, B)."""
        D, n, _ = total.shape
        rows, places = np.arange(D)[:, None, None], np.arange(n)[None, :, None]
        latent = total[rows, places, answer]
        noise = rng.random(latent.shape)
        latent = latent + (special.logit(noise) if self.link == "logit" else special.ndtri(noise))
        level = np.zeros(latent.shape, dtype=np.int64)
        own = self.thresholds[block]
        for c in range(own.shape[2]):
            level += latent > own[..., c][rows, judge]
        result: FloatArray = self.values[level]
        return result


def _zero_sum(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    x = rng.standard_normal(shape)
    x -= x.mean(axis=-1, keepdims=True)
    return x


def _scenario_effects(
    model: _Linear | _Latent,
    block: slice,
    alpha: FloatArray | None,
    campaign: Campaign,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the effects of the scenarios of a campaign, shape (draws, n)."""
    sd, n = model.scenario[block], campaign.n_scenarios
    new = rng.standard_normal((len(sd), n)) * sd[:, None]
    if alpha is None:
        return new
    own = alpha[block]
    if campaign.target == "benchmark":
        return np.broadcast_to(own, (len(own), n))
    # How many of the N scenarios drawn without replacement are of the table, and which.
    D, here = own.shape
    count = rng.hypergeometric(here, int(campaign.dataset_size) - here, n, size=(D, 1))
    width = min(here, n)
    shuffled = rng.permuted(own, axis=1)[:, :width]
    new[:, :width] = np.where(np.arange(width) < count, shuffled, new[:, :width])
    return new


def _campaign(
    model: _Linear | _Latent,
    block: slice,
    alpha: FloatArray,
    who: Strategy,
    B: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Run a campaign for each draw: who scores what, the scores, and their mean."""
    D, n = alpha.shape
    K = (model.judge_means if isinstance(model, _Linear) else model.thresholds).shape[1]
    m = B // who.judges
    beta = rng.standard_normal((D, n, m)) * model.generation[block][:, None, None]
    turn = np.arange(B)
    if who.kind == "random":
        judge = rng.integers(K, size=(D, n, B))
    else:
        panel = rng.permuted(np.tile(np.arange(K), (D, 1)), axis=1)
        place = {
            "cyclic": np.arange(n * B).reshape(n, B) % K,
            "cyclic-restart": np.broadcast_to(turn % K, (n, B)),
        }.get(who.kind, np.broadcast_to(turn % who.judges, (n, B)))
        judge = panel[:, place]
    answer = np.broadcast_to(turn // who.judges, (1, n, B))
    scores = model.scores(block, alpha[..., None] + beta, judge, answer, rng)
    return scores.mean(axis=(1, 2))
