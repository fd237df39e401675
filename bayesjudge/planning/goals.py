"""What a campaign is to achieve, as a loss to be brought below a limit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesjudge.allocations.executed import weighed
from bayesjudge.allocations.grid import Campaign, Spread, spread
from bayesjudge.allocations.sources import Known, Source
from bayesjudge.allocations.strata import stratified_coefficients
from bayesjudge.errors import BayesJudgeError
from bayesjudge.planning.designs import Design
from bayesjudge.posterior.estimands import panel_means_of_scenarios
from bayesjudge.wording import quoted

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_LEAST = 1e-300
MOST_DRAWS = 2000  # of the posterior, evenly spaced: enough for a probability of 0.9 to 0.01


class Goal(Protocol):
    """What a campaign is to achieve."""

    @property
    def limit(self) -> float:
        """The largest loss that will do."""

    def loss(self, design: Design) -> float:
        """Return how far a design is from perfect; NaN where that can't be told."""

    def row(self, design: Design) -> dict[str, float]:
        """Return what is reported of a design."""

    def reason(self, design: Design) -> str:
        """Say why the loss can't be told; empty where it can."""

    def open(self, design: Design) -> str:
        """Say which split of a sum the loss supposes; empty where none."""

    def in_words(self, loss: float) -> str:
        """Say what a loss is."""


@dataclass(frozen=True, eq=False)
class Precision:
    """Standard errors that are small enough, in every evaluated model, as probably as asked.

    Attributes
    ----------
    source : Source
        The components.
    campaign : Campaign
        What the score is meant for.
    certainty : float
        Probability with which a standard error must be that small.
    limit : float
        The largest standard error that will do (score).
    """

    source: Source
    campaign: Campaign
    certainty: float
    limit: float = float("nan")

    def loss(self, design: Design) -> float:
        """Return the quantile of the largest standard error (score)."""
        return float(np.max([np.sqrt(self._quantile(v.high)) for v in self._spreads(design)]))

    def row(self, design: Design) -> dict[str, float]:
        """Return the standard error of the least precise model, and how probably it is enough."""
        found = self._spreads(design)
        worst = max(found, key=lambda v: self._quantile(v.high))
        least = min(float((v.high <= self.limit**2).mean()) for v in found)
        one = worst.high.size == 1
        return {
            "se": float(np.sqrt(np.median(worst.high))),
            "se_certain": np.nan if one else self.loss(design),
            "p_met": np.nan if one or np.isnan(self.limit) else least,
        }

    def reason(self, design: Design) -> str:
        """Say why the standard error can't be told."""
        return next((v.reason for v in self._spreads(design) if np.isnan(v.high).any()), "")

    def open(self, design: Design) -> str:
        """Say which split of a sum the loss supposes; empty where none."""
        return next((v.reason for v in self._spreads(design) if v.reason), "")

    def in_words(self, loss: float) -> str:
        """Say what a loss is."""
        return f"a standard error of {loss:.3g}"

    def _spreads(self, design: Design) -> list[Spread]:
        return spreads(self.source.models, design, self.campaign, self.source.relative_sums)

    def _quantile(self, draws: FloatArray) -> float:
        return float(np.quantile(draws, self.certainty)) if draws.size > 1 else float(draws.item())


@dataclass(frozen=True, eq=False)
class Order:
    """Two evaluated models in their right order, with a probability.

    The scores of the two have the same scenarios and the same judges on them. What judges have
    against both cancels; the difference of their offsets on the two does not. Scenario effects and
    scenario:judge interactions that the two have in common cancel as well, but fits of each model
    alone do not know what is common: the variances are added, which is too much.

    Attributes
    ----------
    pair : tuple of Known
        The two models. The judge component of the first is that of the difference, the dispersion
        of the differences of the judges' offsets on the two; that of the second is zero.
    distance : float array, shape (draws,)
        Between their panel means (score).
    relative : bool
        As for `bayesjudge.allocations.known.ranges`.
    campaign : Campaign
        What the scores are meant for.
    limit : float
        The largest probability of the wrong order that will do.
    """

    pair: tuple[Known, Known]
    distance: FloatArray
    relative: bool
    campaign: Campaign
    limit: float

    def loss(self, design: Design) -> float:
        """Return the probability that the scores come in the wrong order."""
        return float(special.ndtr(-np.abs(self.distance) / np.sqrt(self._variance(design))).mean())

    def row(self, design: Design) -> dict[str, float]:
        """Return the standard error of the difference, and the probability of the right order."""
        return {
            "se_difference": float(np.sqrt(np.median(self._variance(design)))),
            "p_order": 1 - self.loss(design),
        }

    def reason(self, design: Design) -> str:
        """Say why the variance of the difference can't be told."""
        return next((v.reason for v in self._spreads(design) if np.isnan(v.high).any()), "")

    def open(self, design: Design) -> str:
        """Say which split of a sum the loss supposes; empty where none."""
        return next((v.reason for v in self._spreads(design) if v.reason), "")

    def in_words(self, loss: float) -> str:
        """Say what a loss is."""
        return f"the right order with a probability of {1 - loss:.3g}"

    def _spreads(self, design: Design) -> list[Spread]:
        return spreads(self.pair, design, self.campaign, self.relative)

    def _variance(self, design: Design) -> FloatArray:
        """Return the variance of the difference, shape (draws,)."""
        first, second = self._spreads(design)
        total: FloatArray = (first.high + second.high).ravel()
        return np.maximum(total, _LEAST)  # a difference of zero over nothing has no order


def spreads(
    models: Iterable[Known], design: Design, campaign: Campaign, relative: bool
) -> list[Spread]:
    """Return the variance of each evaluated model's score.

    Parameters
    ----------
    models : iterable of Known
        The components.
    design : Design
        What is planned.
    campaign : Campaign
        What the scores are meant for.
    relative : bool
        As for `bayesjudge.allocations.known.ranges`.
    """
    here = replace(campaign, n_scenarios=design.n_scenarios)
    if not design.calls_by_judge:
        return [
            spread(one, design.strategy, design.budget, here, relative=relative) for one in models
        ]
    own = stratified_coefficients(design.calls_by_judge, design.budget, here)
    return [weighed(one, own, design.strategy, relative=relative) for one in models]


def thinned(source: Source) -> Source:
    """Keep no more draws than a plan needs, in one chain."""
    chains, draws = source.shape
    keep = thinning(chains * draws)
    models = tuple(
        replace(
            one,
            variances={n: v.reshape(1, -1)[:, keep] for n, v in one.variances.items()},
            own_residuals=None
            if one.own_residuals is None
            else one.own_residuals.reshape(1, -1, one.panel_size)[:, keep],
        )
        for one in source.models
    )
    return replace(source, models=models, shape=(1, len(keep)))


def thinning(draws: int) -> IntArray:
    """Choose the draws that are kept of so many."""
    found: IntArray = np.linspace(0, draws - 1, min(draws, MOST_DRAWS)).astype(np.int64)
    return found


def order_goal(
    source: Source, pair: tuple[str, str], probability: float, campaign: Campaign, seed: int
) -> Order:
    """Put together what the order of two models needs.

    Parameters
    ----------
    source : Source
        A fit of both, thinned.
    pair : tuple of str
        Their labels.
    probability : float
        Of the right order.
    campaign : Campaign
        What the scores are meant for; the distance of the two is taken over the scenarios of the
        table for the benchmark, over scenarios like them for the population.
    seed : int
        For the draws of scenario effects.

    Raises
    ------
    BayesJudgeError
        When there is no fit, no such models, or they have different judges.
    """
    assert source.tree is not None
    labels = [one.model for one in source.models]
    if missing := [name for name in pair if name not in labels]:
        raise BayesJudgeError(
            f"order: {quoted(missing)} is not among the evaluated models: {quoted(labels)}."
        )
    first, second = (source.models[labels.index(name)] for name in pair)
    if first.judges != second.judges:
        raise BayesJudgeError(
            f"{pair[0]} and {pair[1]} were scored by different judges: their order can't be "
            "planned from fits of each alone."
        )
    posterior = source.tree["posterior"].to_dataset().sel(model=list(pair))
    means = posterior["mu"]
    if campaign.target == "benchmark":
        means = panel_means_of_scenarios(source.tree, seed).sel(model=list(pair))
    if np.isnan(means).any():
        raise BayesJudgeError(
            "the panel means over the scenarios of this table are not known: plan for "
            "target='population'."
        )
    apart = means.isel(model=0) - means.isel(model=1)
    offsets = posterior["gamma"].sel(judge=list(first.judges))
    unlike = ((offsets.isel(model=0) - offsets.isel(model=1)) ** 2).mean("judge")
    keep = thinning(int(apart.size))
    judge = unlike.transpose("chain", "draw").to_numpy().ravel()[keep][None]
    return Order(
        (
            replace(first, variances={**first.variances, "judge": judge}),
            replace(second, variances={**second.variances, "judge": np.zeros_like(judge)}),
        ),
        apart.transpose("chain", "draw").to_numpy().ravel()[keep],
        source.relative_sums,
        campaign,
        1 - probability,
    )
