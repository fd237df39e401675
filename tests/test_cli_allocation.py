"""`bayesjudge allocation` as a user meets it."""

import json

import pandas as pd
import pytest
from panels import crossed, table_of
from test_cli import panel, run  # noqa: F401 - fixtures
from unsampled_fits import linear_fit

import bayesjudge as bj

FOUR = "scenario=1.53,generation=0.266,judge=0.947,residual=1.486"
BY_HAND = ("--components", FOUR, "--panel-size", "5", "--scenarios", "80")


@pytest.fixture
def fit(tmp_path):
    tree = linear_fit(table_of(crossed(12, 3, 4)), 0.7, draws=50, spread=0.3)
    return bj.save(tree, tmp_path / "fit.nc")


def test_components_by_hand(run):  # noqa: F811
    status, out, _ = run("allocation", *BY_HAND, "--budgets", "5,7")
    assert status == 0
    for text in (
        "0.0839",
        "0.0821",
        "0.0662",
        "38% less variance than all judges",
        "estimates alone",
    ):
        assert text in out
    assert "not a multiple of that: 5 or 10 is" in out
    assert "no scenario:judge: taken as 0" in out


def test_a_fit(run, fit, tmp_path):  # noqa: F811
    status, out, _ = run("allocation", fit, "--out", tmp_path / "a.csv")
    assert status == 0
    for text in (
        "median, 95% interval",
        "1 call",
        "4 calls",
        "16 calls",
        "p saving 20",
        "threshold",
    ):
        assert text in out
    table = pd.read_csv(tmp_path / "a.csv")
    assert set(table["strategy"]) == {"all", "random", "cyclic", "single"}
    assert table["predictive_sd"].notna().sum() == table["mean"].notna().sum() > 0


def test_json_and_file_say_the_same(run, fit, tmp_path):  # noqa: F811
    words = ("allocation", fit, "--target", "population", "--dataset-size", "100", "--json")
    status, out, _ = run(*words, "--out", tmp_path / "a.json")
    told = json.loads(out)
    assert told == json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert told["target"] == "population"
    assert told["n_scenarios"] == {"A": 12}
    assert {"ratio", "p_saving_20"} <= set(told["savings_of_cyclic"][0])
    assert status == 0


@pytest.mark.parametrize("by", ["anova", "reml"])
def test_closed_forms_of_a_table(run, panel, by):  # noqa: F811
    status, out, _ = run("allocation", panel, "--scale", "0:10", "--by", by, "--budgets", "3,6")
    assert status == 0
    assert "│ A     │ cyclic" in out
    assert ("Do answers differ" in out) == (by == "anova")


def test_resampled_campaigns(run, panel, tmp_path):  # noqa: F811
    words = ("--scale", "0:10", "--by", "anova", "--budgets", "3,4", "--resample", "2000")
    status, out, _ = run("allocation", panel, *words, "--out", tmp_path / "a.json")
    assert status == 0
    assert "Variance over 2,000 campaigns drawn with replacement" in out
    rows = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["resampled"]
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    assert len(ratios) == 2 * 5
    assert all(0.8 < ratio < 1.25 for ratio in ratios)


def test_reliability_and_scenarios_or_calls(run, fit, tmp_path):  # noqa: F811
    words = ("--reliability", "--calls", "48", "--target", "population", "--budgets", "4")
    status, out, _ = run("allocation", fit, *words, "--out", tmp_path / "a.json")
    assert status == 0
    for text in ("Reliability of single scenarios", "few scenarios, or to many", "48 scenarios"):
        assert text in out
    told = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    for row in told["reliability"]:
        low, middle, high = (row[f"dependability{end}"] for end in ("_low", "", "_high"))
        assert 0 < low < middle < high < 1
    assert {row["n_scenarios"] * row["budget"] for row in told["scenarios_or_calls"]} == {48}


def test_a_table_is_fitted(run, panel):  # noqa: F811
    words = (
        "--scale",
        "0:10",
        "--draws",
        "200",
        "--tune",
        "200",
        "--chains",
        "2",
        "--budgets",
        "3",
    )
    status, out, _ = run("allocation", panel, *words)
    assert status in (0, 1)
    assert ("NOT TO BE TRUSTED" in out) == (status == 1)
    assert "median, 95% interval" in out


def test_a_failed_fit_is_marked(run, fit, tmp_path):  # noqa: F811
    tree = bj.load(fit)
    tree.attrs |= {"verdict": "failed", "problems": "sigma_judge: R-hat is 2"}
    status, out, _ = run("allocation", bj.save(tree, tmp_path / "failed.nc"))
    assert status == 1
    assert out.index("R-hat is 2") < out.index("Standard error")
    assert "NOT TO BE TRUSTED" in out


REFUSED = {
    "nothing to read": ((), "give FILE"),
    "both": (("scores.csv", *BY_HAND), "give FILE"),
    "no panel": (("--components", FOUR), "panel_size=5"),
    "no scenarios": (("--components", FOUR, "--panel-size", "5"), "n_scenarios=80"),
    "no number": (("--components", "judge=big"), "'judge=big' should look like generation=0.266"),
    "not a number": (
        ("--components", "judge=nan", *BY_HAND[2:]),
        "judge = nan can't be a variance",
    ),
    "a component twice": (("--components", "judge=1,judge=2"), "judge comes twice"),
    "a negative one": (
        ("--components", "judge=-1", *BY_HAND[2:]),
        "judge = -1 can't be a variance",
    ),
    "budgets in words": ((*BY_HAND, "--budgets", "few"), "'few' should look like 1,5,10"),
    "a budget of nothing": ((*BY_HAND, "--budgets", "0"), "budget = 0"),
    "an unknown strategy": ((*BY_HAND, "--strategies", "cylic"), "Did you mean 'cyclic'?"),
    "priors without a fit": ((*BY_HAND, "--model", "ordinal"), "--model: for a table of scores"),
    "terms of closed forms": (("scores.csv", "--no-interaction"), "--interaction: of no effect"),
    "draws of closed forms": (
        ("scores.csv", "--by", "anova", "--draws", "9"),
        "--draws: of no effect",
    ),
    "resampling nothing": ((*BY_HAND, "--resample", "9"), "--resample: for a table of scores"),
    "another ending": ((*BY_HAND, "--out", "a.txt"), ".csv and .json"),
    "no folder": ((*BY_HAND, "--out", "none/a.csv"), "there is no folder none"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(run, case, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    words, message = REFUSED[case]
    status, out, err = run("allocation", *words)
    assert status in (1, 2)
    assert message in " ".join(err.split())
    assert not out


def test_a_fit_has_its_judges(run, fit):  # noqa: F811
    status, _, err = run("allocation", fit, "--panel-size", "4", "--scale", "0:10")
    assert status == 2
    assert "--panel-size, --scale: not for a fit" in " ".join(err.split())
