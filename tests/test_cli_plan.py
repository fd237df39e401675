"""`bayesjudge plan` as a user meets it."""

import json

import pandas as pd
import pytest
from panels import crossed, table_of
from test_cli import run  # noqa: F401 - a fixture
from unsampled_fits import linear_fit

import bayesjudge as bj

FOUR = "scenario=1.53,generation=0.266,judge=0.947,residual=1.486"
PRICES = ("--price-call", "0.002", "--price-generation", "0.01")
BY_HAND = ("--components", FOUR, "--panel-size", "5", "--scenarios", "80", *PRICES)


@pytest.fixture
def fit(tmp_path):
    rows = {name: crossed(12, 3, 4) for name in ("A", "B")}
    tree = linear_fit(table_of(rows), 0.7, draws=50, spread=0.3)
    return bj.save(tree, tmp_path / "fit.nc")


def test_a_target(run, fit, tmp_path):  # noqa: F811
    out_file = tmp_path / "plan.csv"
    status, out, _ = run("plan", fit, "--target-se", "0.15", *PRICES, "--out", out_file)
    assert status == 0
    for text in ("a standard error of 0.15 with a probability of 0.9", "12 scenarios", "Next,"):
        assert text in out
    table = pd.read_csv(out_file)
    assert table["cost"].is_monotonic_increasing
    best = bj.plan(bj.load(fit), 0.15, prices={"call": 0.002, "generation": 0.01}).iloc[0]
    assert table["cost"].iloc[0] == pytest.approx(best["cost"])


def test_components_by_hand(run):  # noqa: F811
    status, out, _ = run("plan", *BY_HAND, "--spend", "3")
    assert status == 0
    assert "a campaign for 3" in out
    assert "taken as 0" in out
    assert "se certain" not in out  # estimates know no probability


def test_json(run, fit, tmp_path):  # noqa: F811
    words = ("plan", fit, "--order", "A,B", "--probability", "0.6", "--target", "population")
    status, out, _ = run(*words, *PRICES, "--json", "--out", tmp_path / "p.json")
    told = json.loads(out)
    assert status == 0
    assert told == json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))
    assert told["asked"] == {"order": ["A", "B"]}
    assert told["models"] == ["A", "B"]
    assert {"strategy", "p_order", "se_difference"} <= set(told["plan"][0])


def test_prices_by_judge_and_a_frontier(run, fit):  # noqa: F811
    call = "j0=0.02,j1=0.002,j2=0.001,j3=0.001"
    words = ("--price-call", call, "--price-generation", "A=0.001,B=0.002", "--frontier")
    status, out, _ = run("plan", fit, "--target-se", "0.2", *words)
    assert status == 0
    for text in (
        "Best for",
        "stratified",
        "calls of a model by judge: j0",
        "at every price",
    ):
        assert text in out


def test_a_failed_fit_is_marked(run, fit, tmp_path):  # noqa: F811
    tree = bj.load(fit)
    tree.attrs |= {"verdict": "failed", "problems": "sigma_judge: R-hat is 2"}
    path = bj.save(tree, tmp_path / "failed.nc")
    status, out, _ = run("plan", path, "--target-se", "0.2", *PRICES)
    assert status == 1
    assert out.index("R-hat is 2") < out.index("Designs for")
    assert "NOT TO BE TRUSTED" in out


REFUSED = {
    "no prices": (("--components", FOUR, "--target-se", "1"), "--price-call"),
    "no goal": (BY_HAND, "what for?"),
    "two goals": ((*BY_HAND, "--target-se", "1", "--spend", "2"), "one goal"),
    "an order of estimates": ((*BY_HAND, "--order", "A,B"), "needs a fit"),
    "a price in words": (
        ("--components", FOUR, "--price-call", "dear", "--price-generation", "0"),
        "'dear' should look like",
    ),
    "a negative price": (
        (*BY_HAND[:6], "--price-call", "-1", "--price-generation", "0", "--target-se", "1"),
        "call = -1.0 must be a number of at least 0",
    ),
    "out of reach": ((*BY_HAND, "--target-se", "0.0001"), "out of reach. cyclic: 80 scenarios"),
    "models of numbers": ((*BY_HAND, "--target-se", "1", "--only", "A"), "models = ['A']"),
    "draws of numbers": ((*BY_HAND, "--target-se", "1", "--draws", "9"), "--draws: for a table"),
    "an unknown strategy": (
        (*BY_HAND, "--target-se", "1", "--strategies", "cylic"),
        "Did you mean 'cyclic'?",
    ),
    "another ending": ((*BY_HAND, "--target-se", "1", "--out", "a.nc"), ".csv and .json"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(run, case, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    words, message = REFUSED[case]
    status, out, err = run("plan", *words)
    assert status in (1, 2)
    assert message in " ".join(err.split())
    assert not out
