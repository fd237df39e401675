"""Panel means over the scenarios of a table: against single effects, and brute force."""

import math

import numpy as np
import pytest
from panels import crossed, cyclic, table_of
from scipy import special
from test_allocation_dataset import levels_table
from unsampled_fits import linear_fit, ordinal_fit

import bayesjudge as bj
from bayesjudge.posterior.estimands import (
    expected_score,
    panel_means_of_scenarios,
    why_no_scenario_effects,
)
from bayesjudge.posterior.ordinal_parameters import parameters_of


@pytest.mark.parametrize("rows", [crossed(6, 3, 4), crossed(6, 2, 3, repeats=2), cyclic(8, 6, 4)])
def test_of_a_linear_fit_they_are_mean_plus_mean_effect(rows):
    tree = linear_fit(table_of(rows), 0.7, draws=4000, spread=0.2)
    found = panel_means_of_scenarios(tree, seed=1).isel(model=0)
    alpha = bj.effects(tree, seed=2)["alpha"].isel(model=0).mean("scenario")
    exact = tree["posterior"]["mu"].isel(model=0) + alpha
    # Two samples of one distribution, that share all but the draws of the effects.
    error = float((found - exact).std()) / math.sqrt(found.size)
    assert float((found - exact).mean()) == pytest.approx(0, abs=4 * error + 1e-12)
    assert float(found.var()) == pytest.approx(float(exact.var()), rel=0.06)


@pytest.mark.parametrize("link", ["ordinal", "ordinal_probit"])
def test_of_an_ordinal_fit_they_are_expected_scores(link):
    tree = ordinal_fit(levels_table(), link, draws=8, spread=0.4)
    found = panel_means_of_scenarios(tree, seed=3).to_numpy().ravel()
    thresholds, sigma = parameters_of(tree)
    alpha = bj.effects(tree, seed=3)["alpha"].to_numpy().reshape(len(found), -1)
    cdf = special.expit if link == "ordinal" else special.ndtr
    nodes = np.linspace(-9, 9, 4001)
    weights = np.exp(-0.5 * nodes**2)
    weights /= weights.sum()
    for d in range(len(found)):
        total = alpha[d][:, None] + sigma[d, 0, 1] * nodes
        above = cdf(total[..., None, None] - thresholds[d, 0]).mean(axis=2).sum(axis=-1)
        exact = ((1 + above) @ weights).mean()
        assert found[d] == pytest.approx(exact, abs=1e-6)


def test_the_mean_over_all_scenarios_is_mu():
    """Averaged over new scenarios, the expected score is the panel mean of the fit."""
    tree = ordinal_fit(levels_table(), draws=5, spread=0.4)
    thresholds, sigma = parameters_of(tree)
    nodes, weights = special.roots_hermitenorm(200)
    for d, mu in enumerate(tree["posterior"]["mu"].to_numpy().ravel()):
        total = np.hypot(*sigma[d, 0]) * nodes
        expected = expected_score(thresholds[d, 0], total, np.array([1.0, 2, 3, 4]), "logit")
        assert expected @ weights / weights.sum() == pytest.approx(mu, abs=1e-8)


def test_answers_confounded_with_scenarios():
    tree = linear_fit(table_of({"A": crossed(6, 1, 3), "B": crossed(6, 2, 3)}), 0.7, draws=5)
    found = panel_means_of_scenarios(tree)
    assert np.isnan(found.sel(model="A")).all()
    assert np.isfinite(found.sel(model="B")).all()
    assert "only in the sum scenario+generation" in why_no_scenario_effects(tree, "A")
    assert why_no_scenario_effects(tree, "B") == ""


def test_one_scenario_is_its_own_mean():
    tree = linear_fit(table_of(crossed(1, 6, 4)), 0.7, draws=5)
    assert (panel_means_of_scenarios(tree) == tree["posterior"]["mu"]).all()


def test_the_same_seed_gives_the_same():
    tree = linear_fit(table_of(crossed(6, 3, 4)), 0.7, draws=5)
    one, other = (panel_means_of_scenarios(tree, seed=4) for _ in range(2))
    assert (one == other).all()
    assert (one != panel_means_of_scenarios(tree, seed=5)).any()
