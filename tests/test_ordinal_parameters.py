"""What the likelihood needs, rebuilt from the tree of an ordinal fit."""

import numpy as np
import pandas as pd
import pytest
from ordinal_panels import draw_panel
from unsampled_fits import linear_fit, ordinal_fit

import bayesjudge as bj
from bayesjudge.design.cells import cells_by_model
from bayesjudge.errors import FitError
from bayesjudge.levels import levels_of
from bayesjudge.marginal.cumulative.lattice import LINKS
from bayesjudge.marginal.cumulative.likelihood import log_likelihood_by_scenario
from bayesjudge.posterior.effects import calls_of
from bayesjudge.posterior.ordinal_parameters import (
    effect_names,
    is_ordinal,
    level_codes,
    parameters_of,
    tallies_of,
)

SETTING = {
    "thresholds": [-1.5, -0.2, 1.4],
    "sigma_scenario": 1.2,
    "sigma_generation": 0.8,
    "values": (1, 2.5, 3, 5),
}
THREE = [-0.6, 0.1, 0.5]


def two_models():
    """Unbalanced: B lacks a judge and a scenario, A a few calls."""
    frame = draw_panel(8, 3, 3, **SETTING, offsets=THREE, models=("A", "B"), means=(0.4, -0.4))
    of_b = frame["model"] == "B"
    frame = frame[~(of_b & ((frame["judge"] == "judge 2") | (frame["scenario"] == 5)))]
    return frame.drop(frame.index[[3, 20, 21, 40]])


def mixed():
    """Scenario and generation are told apart in A only."""
    frame = two_models()
    return frame[(frame["model"] == "A") | (frame["generation"] == 1)]


def one_generation():
    return draw_panel(10, 1, 3, **SETTING, offsets=THREE)


def one_judge():
    return draw_panel(8, 3, 1, **SETTING, offsets=[0.0], models=("A", "B"))


def one_call():
    return draw_panel(30, 1, 1, **SETTING, offsets=[0.0])


CASES = {
    "two models": (two_models, "ordinal"),
    "probit": (two_models, "ordinal_probit"),
    "scale by judge": (two_models, "ordinal_judge_scale"),
    "mixed": (mixed, "ordinal"),
    "one generation": (one_generation, "ordinal"),
    "one judge": (one_judge, "ordinal"),
    "one call a scenario": (one_call, "ordinal"),
}


@pytest.fixture(scope="module", params=CASES)
def tree(request):
    make, model = CASES[request.param]
    return ordinal_fit(bj.read_scores(make()), model)


def test_they_give_the_likelihood_that_the_tree_holds(tree):
    thresholds, sigma = parameters_of(tree)
    held = tree["log_likelihood"]["score"].to_numpy()
    held = held.reshape(-1, held.shape[-1])
    models, judges = tree["posterior"].sizes["model"], tree["posterior"].sizes["judge"]
    assert thresholds.shape == (len(held), models, judges, 3)
    assert sigma.shape == (len(held), models, 2)
    tables = cells_by_model(calls_of(tree), models)
    link = LINKS[tree.attrs["link"]]
    found = log_likelihood_by_scenario(thresholds, sigma, tallies_of(tables, tree), link)
    together, start = np.zeros_like(held), 0
    for cells in tables:
        together[:, cells.scenario_ids] += found[:, start : start + cells.n_scenarios]
        start += cells.n_scenarios
    np.testing.assert_allclose(together, held, atol=1e-10)


def test_thresholds_are_spread_around_their_mean_by_each_judge():
    tree = ordinal_fit(bj.read_scores(two_models()), "ordinal_judge_scale")
    posterior = tree["posterior"].to_dataset().isel(chain=1, draw=3)
    found = parameters_of(tree).thresholds[20 + 3]
    common = posterior["threshold"].to_numpy()
    for model, judge in (("A", "judge 1"), ("A", "judge 2"), ("B", "judge 3")):
        at = posterior.sel(model=model, judge=judge)
        own = common.mean() + float(at["latent_scale"]) * (common - common.mean())
        own = own - float(at["latent_mu"]) - float(at["latent_gamma"])
        t, k = ("A", "B").index(model), int(judge[-1]) - 1
        np.testing.assert_allclose(found[t, k], own, rtol=1e-12)


def test_a_judge_that_did_not_score_a_model_has_no_offset_there():
    tree = ordinal_fit(bj.read_scores(two_models()))
    posterior = tree["posterior"].to_dataset()
    found = parameters_of(tree).thresholds[:, 1, 1]
    expected = posterior["threshold"] - posterior["latent_mu"].sel(model="B")
    np.testing.assert_allclose(found, expected.to_numpy().reshape(-1, 3), rtol=1e-12)


def test_they_are_the_same_from_a_file(tmp_path):
    tree = ordinal_fit(bj.read_scores(mixed()), "ordinal_judge_scale")
    again = bj.load(bj.save(tree, tmp_path / "fit.nc"))
    for found, expected in zip(parameters_of(again), parameters_of(tree), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("make", "scenario", "generation"),
    [
        (two_models, ["scenario"], ["generation"]),
        (mixed, ["scenario", "scenario+generation"], ["generation"]),
        (one_generation, ["scenario+generation"], []),
        (one_judge, ["scenario"], []),
        (one_call, [], []),
    ],
)
def test_effects_are_named_for_what_they_carry(make, scenario, generation):
    tree = ordinal_fit(bj.read_scores(make()))
    assert effect_names(tree) == {"scenario": scenario, "generation": generation}
    has = (parameters_of(tree).sigma > 0).any(axis=(0, 1))
    assert has.tolist() == [bool(scenario), bool(generation)]


class TestLevelsOfScores:
    def test_declared_levels_that_are_never_used_count(self):
        scores = bj.read_scores(two_models(), levels=[1, 2, 2.5, 3, 4, 5])
        tree = ordinal_fit(scores)
        np.testing.assert_array_equal(
            level_codes(tree, calls_of(tree).score), levels_of(scores).codes
        )

    @pytest.mark.parametrize("bins", [3, 7, 10])
    def test_scores_on_the_edge_of_two_bins_are_in_the_upper_one(self, bins):
        frame = draw_panel(10, 2, 3, **SETTING, offsets=THREE)
        rng = np.random.default_rng(5)
        edges = np.linspace(0.1, 0.8, bins + 1)
        scores = rng.choice(np.r_[edges, rng.uniform(0.1, 0.8, 50)], len(frame))
        frame["score"] = np.where(np.arange(len(frame)) < 2, [0.1, 0.8] * 30, scores)
        table = bj.read_scores(frame)
        tree = ordinal_fit(table, bins=bins)
        np.testing.assert_array_equal(
            level_codes(tree, calls_of(tree).score), levels_of(table, bins).codes
        )

    def test_other_scores_are_refused(self):
        tree = ordinal_fit(bj.read_scores(one_generation()))
        with pytest.raises(FitError, match="do not have the levels"):
            level_codes(tree, calls_of(tree).score[:-1])


@pytest.fixture(scope="module")
def linear():
    return linear_fit(bj.read_scores(draw_panel(8, 3, 3, **SETTING, offsets=THREE)), 0.5)


class TestOtherFits:
    def test_a_linear_fit_is_refused(self, linear):
        with pytest.raises(FitError, match=r"needs a fit of an ordinal model.*'linear' is not one"):
            parameters_of(linear)

    def test_a_fit_that_does_not_say_its_family_is_linear(self, linear):
        old = linear.copy()
        del old.attrs["family"]
        assert not is_ordinal(old)
        with pytest.raises(FitError, match="needs a fit of an ordinal model"):
            parameters_of(old)

    def test_what_is_no_fit_is_refused(self):
        with pytest.raises(FitError, match="needs a fit, not a DataFrame"):
            parameters_of(pd.DataFrame())
