"""Ordinal fits of real tables: they pass their diagnostics and say what the scores say."""

import numpy as np
import pytest
from real_data import real, relevance

import bayesjudge as bj
from bayesjudge.settings import LATTICE_ERROR_MAX


def fitted(scores, model="ordinal", **options):
    """Fit, and hold panel means and total variance against those of the scores."""
    tree = bj.fit(scores, model=model, seed=1, **options)
    assert tree.attrs["verdict"] == "passed", tree.attrs["problems"]
    assert tree.attrs["lattice_error"] < LATTICE_ERROR_MAX
    means = bj.panel_means(tree)
    score = scores.frame.groupby("model")["score"]
    apart = (means["mean"] - score.mean().reindex(means.index)).abs()
    assert (apart < 2 * means["sd"]).all()
    return tree


def components_mean(tree, model):
    return bj.components(tree).sel(model=model).mean(["chain", "draw"]).to_series().dropna()


@pytest.mark.parametrize("axis", ["correctness", "uncertainty_handling"])
@pytest.mark.parametrize("model", ["ordinal", "ordinal_judge_scale"])
def test_blind_scores_from_0_to_2(axis, model):
    scores = bj.read_scores(
        real("opus_blind.csv"),
        columns={"scenario": "prompt"},
        where=f"axis == '{axis}'",
        levels=[0, 1, 2],
    )
    tree = fitted(scores, model)
    for label in scores.models:
        assert components_mean(tree, label).index.tolist() == [
            "scenario+generation",
            "judge",
            "scenario:judge+generation:judge",
            "residual",
        ]


@pytest.mark.parametrize("turn", [1, 2])
def test_single_answers_graded_by_one_judge(turn):
    scores = bj.read_scores(
        real("mtbench_gpt4_single.csv"),
        columns={"scenario": "question_id"},
        judge_name="gpt-4",
        where=f"turn == {turn}",
        scale=(1, 10, 0.5),
    )
    tree = fitted(scores)
    assert "never used" in tree.attrs["notes"]  # half points are rare
    for label in scores.models:
        assert len(components_mean(tree, label)) == 1  # one call a scenario, so a single number
    # Half of the answers of one model are at the top and some at the bottom: common thresholds and
    # noise can't show it.
    said = bj.compare(tree, bj.fit(scores, seed=1)).attrs["linear_enough"]
    verdicts = dict(zip(scores.models, said, strict=True))
    assert "good enough" in verdicts["gpt-3.5-turbo"]
    assert "good enough" not in verdicts["claude-v1"]


def images(axis):
    return bj.read_scores(
        real("imagenhub_two_tasks.csv"),
        columns={"judge": "rater", "scenario": "item", "score": axis},
        where="task == 'Text-To-Image'",
        levels=[0, 0.5, 1],
    )


def test_two_image_models_at_the_top_of_the_scale():
    scores = images("PQ").select(models=["DALLE3", "Midjourney"])
    tree = fitted(scores)
    linear = bj.fit(scores, seed=1)
    table = bj.compare(tree, linear)
    # 64% and 84% of the ratings are at the top. What raters share is the same in both fits.
    for label in scores.models:
        both = table.loc[(label, "scenario+generation")]
        sd = np.hypot(both["ordinal", "sd"], both["linear", "sd"])
        assert abs(both["ordinal", "mean"] - both["linear", "mean"]) < 2 * sd
    assert len(table.attrs["linear_enough"]) == 2


@pytest.mark.evidence
@pytest.mark.parametrize("axis", ["SC", "PQ"])
def test_ratings_of_seven_image_models(axis):
    fitted(images(axis))


@pytest.mark.evidence
def test_relevance_of_passages_by_33_judges():
    scores = relevance(outside="missing")
    tree = fitted(scores.select(scenarios=list(scores.scenarios[:5])))
    variance = components_mean(tree, "TREC")
    assert len(variance) == 6
    assert variance.sum() == pytest.approx(scores.calls.score.var(), rel=0.3)
