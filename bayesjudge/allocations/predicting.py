r"""The variance of a future campaign's score, as it is predicted from a fit.

Given the parameters, the score has mean E, the panel mean that it is meant for, and variance V
around it. Over the posterior its variance is :math:`E[V] + \mathrm{Var}(E)`: what the calls and the
sampling of scenarios add, and what is not known of the panel mean itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayesjudge.allocations.grid import Campaign
from bayesjudge.allocations.sources import Known, Source
from bayesjudge.errors import BayesJudgeError, FitError
from bayesjudge.posterior.estimands import panel_means_of_scenarios, why_no_scenario_effects

FloatArray = NDArray[np.float64]


def panel_mean_variances(
    source: Source, campaigns: tuple[Campaign, ...], seed: int
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return what is not known of the panel mean of each evaluated model.

    A campaign for the benchmark on as many scenarios as the fit has is one on the same scenarios;
    on another number it is one on other scenarios of that population. One for the population of N
    scenarios draws from N among which those of the fit are.

    Parameters
    ----------
    source : Source
        The fit.
    campaigns : tuple of Campaign
        One for each evaluated model.
    seed : int
        For the draws of scenario effects.

    Returns
    -------
    float array, shape (models,)
        Posterior variance of the panel mean (score²); NaN where it can't be told.
    tuple of str
        Why, where it is NaN.
    """
    found, reasons = np.full(len(source.models), np.nan), []
    if source.tree is None:
        return found, ("estimates alone do not say how well the panel mean is known",)
    mu = source.tree["posterior"].to_dataset()["mu"].transpose("model", "chain", "draw").to_numpy()
    here: FloatArray | None = None
    for t, (known, campaign) in enumerate(zip(source.models, campaigns, strict=True)):
        share = share_of_the_table(known, campaign)
        if share:
            if why := why_no_scenario_effects(source.tree, known.model):
                reasons.append(why)
                continue
            if here is None:
                try:
                    here = panel_means_of_scenarios(source.tree, seed).to_numpy()
                except FitError as error:
                    return found, (*reasons, str(error))
        rest = _of_other_scenarios(known, campaign, share)
        if rest is None:
            reasons.append(f"{known.model}: the scenario variance is not known on its own")
            continue
        # Law of total variance, over the draws and over the scenarios not seen.
        mean = mu[t] if here is None else share * here[..., t] + (1 - share) * mu[t]
        found[t] = mean.var() + rest
    return found, tuple(dict.fromkeys(reasons))


def share_of_the_table(known: Known, campaign: Campaign) -> float:
    """Return which share of the scenarios that the score is meant for are those of the table."""
    own = known.n_scenarios or 0
    if campaign.target == "benchmark":
        return float(campaign.n_scenarios == own)
    if campaign.dataset_size < own:
        raise BayesJudgeError(
            f"dataset_size = {campaign.dataset_size:g} is less than the {own} scenarios that "
            f"{known.model} was scored on."
        )
    return own / campaign.dataset_size


def _of_other_scenarios(known: Known, campaign: Campaign, share: float) -> float | None:
    """Return the expected variance that scenarios not in the table bring to the panel mean."""
    size = campaign.n_scenarios if campaign.target == "benchmark" else campaign.dataset_size
    if share == 1 or size == float("inf"):
        return 0.0
    if "scenario" not in known.variances:
        named = any("scenario" in name.split("+") for name in known.variances)
        return None if named or "scenario" in known.unknown else 0.0
    # The mean of the (1 - share) * size other scenarios, weighed by their share.
    return float(known.variances["scenario"].mean()) * (1 - share) / size
