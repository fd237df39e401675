"""F tests, mean squares and judge means against scipy and by hand; what the closed forms refuse."""

import numpy as np
import pandas as pd
import pytest
from made_scores import frame_of, random_scores, table_of
from scipy import stats

from bayesjudge.design.cells import cells_by_model
from bayesjudge.errors import BayesJudgeError, DesignError
from bayesjudge.estimates.anova import anova, anova_model, judge_f_test, judge_means, mean_squares
from bayesjudge.estimates.pooled_strata import finite_panel
from bayesjudge.readers import read_scores


def test_f_tests_against_scipy():
    y = random_scores((6, 1, 4, 1))[..., 0]
    by_judge = stats.f_oneway(*(y[:, 0, k] - y[:, 0].mean(1) for k in range(4)))
    table = judge_f_test(table_of(y[..., None])).loc["A"]
    # Removing scenario means leaves 15 of the 20 within-judge degrees of freedom.
    assert table["F"].to_numpy() == pytest.approx(by_judge.statistic * 15 / 20)
    assert table["df1"].tolist() == [3, 3]
    assert table["df2"].tolist() == [15, 15]
    assert table.loc["paper", "p"] == pytest.approx(stats.f.sf(table.loc["paper", "F"], 3, 15))


def test_f_tests_with_and_without_interaction():
    y = random_scores((5, 4, 3, 1))
    table = judge_f_test(table_of(y))
    assert list(table.index) == [("A", "paper"), ("A", "interaction")]
    assert table["df2"].tolist() == [(20 - 1) * 2, 4 * 2]
    ms = mean_squares(table_of(y))["ms"]["A"]
    assert table.loc[("A", "interaction"), "F"] == pytest.approx(ms["judge"] / ms["scenario:judge"])
    assert list(judge_f_test(table_of(y), interaction=True).index) == [("A", "interaction")]
    attrs = anova(table_of(y)).attrs["f_test"]
    assert [test["F"] for test in attrs] == table["F"].tolist()


def test_f_test_without_error_degrees_of_freedom_is_nan_with_a_note():
    table = judge_f_test(table_of(random_scores((1, 4, 3, 1)))).loc["A"]
    assert np.isfinite(table.loc["paper", "F"])
    assert np.isnan(table.loc["interaction", ["F", "p"]].to_numpy(float)).all()
    assert table.loc["interaction", "df2"] == 0
    assert table.loc["interaction", "note"].startswith("one scenario: ")


def test_f_test_of_judges_that_never_waver():
    y = np.broadcast_to(np.array([1.0, 2.0])[:, None], (3, 2, 2, 1)) + 0.0
    table = judge_f_test(table_of(y)).loc["A"]
    assert np.isinf(table["F"]).all()
    assert table["p"].tolist() == [0, 0]
    assert set(table["note"]) == {"the error mean square is zero"}
    estimates = anova(table_of(y)).loc["A"]
    assert estimates["estimate"].tolist() == [0, 0, 0.25, 0]
    assert estimates["ci_low"].isna().all()
    assert estimates["method"].str.startswith("none (").all()
    assert not estimates["truncated"].any()


def test_constant_scores():
    y = np.full((3, 2, 2, 1), 0.1)
    table = anova(table_of(y), interaction=True)
    assert (table["estimate"] == 0).all()
    assert np.isnan(judge_f_test(table_of(y))["F"]).all()


# Tables of mean squares and of judge means.


def test_mean_squares_add_up_and_say_what_they_expect():
    y = random_scores((4, 3, 5, 1))
    table = mean_squares(table_of(y)).loc["A"]
    rows = ["scenario", "generation", "scenario:judge", "generation:judge", "judge", "total"]
    assert list(table.index) == rows
    assert table.loc["total", "df"] == y.size - 1
    assert table.loc["total", "ss"] == pytest.approx(((y - y.mean()) ** 2).sum())
    both = "(generation:judge+residual)"
    assert table["expected"].tolist() == [
        f"{both} + 5 generation + 15 scenario",
        f"{both} + 5 generation",
        f"{both} + 3.75 scenario:judge",
        both,
        f"{both} + 3.75 scenario:judge + 15 judge",
        "",
    ]
    pooled = mean_squares(table_of(y), interaction=False).loc["A"]
    assert list(pooled.index) == ["scenario", "generation", "residual", "judge", "total"]
    assert pooled.loc["residual", "df"] == (12 - 1) * 4
    assert pooled.loc["residual", "expected"] == "residual"


def test_mean_squares_with_repeats_are_in_the_panel_s_terms():
    table = mean_squares(table_of(random_scores((3, 2, 4, 2)))).loc["A"]
    assert table.loc["generation", "expected"] == "residual + 8 generation"
    assert table.loc["generation:judge", "expected"] == "residual + 2.667 generation:judge"


def test_finite_panel_of_one_judge_is_the_identity():
    assert np.array_equal(finite_panel(("scenario", "generation:judge"), 1), np.eye(2))


def test_judge_means_by_hand_on_an_unbalanced_table():
    rows = [
        ("A", "1", "a", "j", 1.0),
        ("A", "1", "b", "j", 3.0),
        ("A", "2", "a", "j", 5.0),
        ("A", "1", "a", "k", 4.0),
        ("B", "1", "a", "j", 3.5),
        ("B", "2", "a", "j", 3.5),
        ("B", "3", "a", "j", 3.5),
    ]
    columns = ["model", "scenario", "generation", "judge", "score"]
    table = judge_means(read_scores(pd.DataFrame(rows, columns=columns)), prob=0.9)
    assert list(table.index) == [("A", "j"), ("A", "k"), ("B", "j")]
    assert table["mean"].tolist() == [3.5, 4.0, 3.5]
    assert table["n"].tolist() == [2, 1, 3]
    assert table["rank"].tolist() == [1, 1, 1]
    half = stats.t.ppf(0.95, 1) * np.std([2.0, 5.0], ddof=1) / np.sqrt(2)
    assert table.loc[("A", "j"), "ci_high"] == pytest.approx(3.5 + half)
    assert np.isnan(table.loc[("A", "k"), "ci_low"])
    assert table.loc[("B", "j"), "ci_low"] == 3.5


# Refusals.


def test_an_unbalanced_model_is_named_with_what_is_missing():
    frame = pd.concat([frame_of(random_scores((5, 4, 4, 1)), model) for model in "ABC"])
    gone = ((frame["model"] == "B") & (frame["score"] > frame["score"].quantile(0.9))).to_numpy()
    scores = read_scores(frame[~gone])
    missing = int(gone.sum())
    for function in (anova, mean_squares, judge_f_test):
        with pytest.raises(
            DesignError, match=rf"model 'B' \({missing} of 80 cells missing\) is not.*REML"
        ):
            function(scores)
    assert judge_means(scores).loc["B"]["n"].max() == 5


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        (lambda f: (f["scenario"] == 0) & (f["generation"] == 2), "2 to 3 generations per scen"),
        (lambda f: f.index == 0, "1 to 2 calls per cell"),
    ],
)
def test_other_imbalances_are_named(drop, message):
    frame = frame_of(random_scores((3, 3, 2, 2))).reset_index(drop=True)
    with pytest.raises(DesignError, match=message):
        anova(read_scores(frame[~drop(frame)], repeats="keep"))


def test_several_unbalanced_models_are_all_named():
    frame = pd.concat([frame_of(random_scores((3, 2, 3, 1)), model) for model in "AB"])
    with pytest.raises(DesignError, match=r"models 'A' \(1 of 18.*, 'B' \(1 of 18"):
        anova(read_scores(frame[frame.index != 0]))


def test_an_unbalanced_model_without_a_label():
    frame = frame_of(random_scores((3, 2, 3, 1)))
    scores = read_scores(frame[frame.index != 0])
    with pytest.raises(DesignError, match="model number 1"):
        anova_model(cells_by_model(scores.calls, 1)[0])


def test_nothing_but_judges_is_refused():
    with pytest.raises(DesignError, match=r"Model 'A' has 3 scores from 3 judges, one each"):
        anova(table_of(random_scores((1, 1, 3, 1))))


def test_the_f_test_needs_two_judges():
    with pytest.raises(DesignError, match="one judge alone scored 'A'"):
        judge_f_test(table_of(random_scores((4, 3, 1, 1))))


def test_options_are_checked():
    scores = table_of(random_scores((3, 2, 2, 1)))
    with pytest.raises(BayesJudgeError, match="Did you mean 'satterthwaite'"):
        anova(scores, interval="satterthwait")
    for function in (anova, judge_means, judge_f_test):
        with pytest.raises(BayesJudgeError, match=r"between 0 and 1, such as 0\.95"):
            function(scores, prob=95)
