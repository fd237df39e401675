"""From a plan to a panel mean: campaigns that are planned, scheduled, run and fitted."""

import math

import numpy as np
import pandas as pd
import pytest

import bayesjudge as bj
from bayesjudge.posterior.estimands import panel_means_of_scenarios

TRUTH = {
    "scenario": 1.0,
    "generation": 0.3,
    "judge": 0.5,
    "scenario:judge": 0.2,
    "residual": 0.8,
}
JUDGES = ("strict", "mild", "fair", "kind")
OFFSETS = np.array([-1.0, 0.3, -0.2, 0.9])
SCENARIOS = [f"q{i}" for i in range(40)]
REPETITIONS, TOGETHER = 200, 20


def offsets():
    """Of these judges, with the dispersion that was planned for."""
    return OFFSETS * math.sqrt(TRUTH["judge"] / (OFFSETS**2).mean())


def run(schedule, target, rng):
    """Score a campaign; each model is a repetition. Return the scores and the panel means."""
    n, K = len(SCENARIOS), len(JUDGES)
    i = schedule["scenario"].map({name: k for k, name in enumerate(SCENARIOS)}).to_numpy()
    j = schedule["generation"].to_numpy() - 1
    k = schedule["judge"].map({name: k for k, name in enumerate(JUDGES)}).to_numpy()
    same = np.random.default_rng(0).normal(size=n)
    tables, means = [], []
    for r in range(TOGETHER):
        alpha = math.sqrt(TRUTH["scenario"]) * (
            same if target == "benchmark" else rng.normal(size=n)
        )
        eta = rng.normal(size=(n, K)) * math.sqrt(TRUTH["scenario:judge"] * K / (K - 1))
        eta -= eta.mean(axis=1, keepdims=True)
        beta = rng.normal(size=(n, j.max() + 1)) * math.sqrt(TRUTH["generation"])
        noise = rng.normal(size=len(i)) * math.sqrt(TRUTH["residual"])
        score = 5 + alpha[i] + beta[i, j] + offsets()[k] + eta[i, k] + noise
        tables.append(schedule.assign(model=f"r{r}", score=score))
        means.append(5 + alpha.mean() if target == "benchmark" else 5.0)
    return pd.concat(tables), np.array(means)


@pytest.mark.evidence
@pytest.mark.parametrize("target", ["benchmark", "population"])
def test_the_promised_standard_error_is_kept(target):
    known = TRUTH | {"generation:judge": 0.0}
    promised = {"benchmark": 0.1, "population": 0.2}[target]
    scenarios = len(SCENARIOS)
    plan = bj.plan(
        known,
        promised,
        prices={"call": 1.0, "generation": 0.5},
        target=target,
        scenarios=scenarios,
        panel_size=len(JUDGES),
        strategies=["cyclic"],
    )
    best = plan.iloc[0]
    budget = int(best["budget"])
    # Whole cycles: then nothing depends on which judges come once more than others.
    budget += -budget % len(JUDGES)
    exact = bj.allocation(known, budget, ["cyclic"], scenarios, target, panel_size=len(JUDGES))
    se = math.sqrt(exact["variance"].item())
    assert se <= promised
    schedule = bj.assign(SCENARIOS, JUDGES, "cyclic", budget=budget, seed=3)
    rng = np.random.default_rng(7)
    errors, widths = [], []
    for block in range(REPETITIONS // TOGETHER):
        frame, truth = run(schedule, target, rng)
        scores = bj.read_scores(frame, scale=(0, 10), outside="keep")
        tree = bj.fit(scores, seed=block, draws=500)
        assert tree.attrs["divergences"] <= 10
        mean = tree["posterior"]["mu"] if target == "population" else panel_means_of_scenarios(tree)
        mean = mean.sel(model=[f"r{r}" for r in range(TOGETHER)])
        errors.append(mean.mean(("chain", "draw")).to_numpy() - truth)
        widths.append(mean.std(("chain", "draw")).to_numpy())
    error = np.concatenate(errors)
    found = math.sqrt((error**2).mean())
    print(f"{target}: promised {se:.4f}, found {found:.4f}, posterior sd {np.mean(widths):.4f}")
    # The sd of 200 normal errors is known to 5%.
    assert found == pytest.approx(se, rel=0.15)
    assert np.mean(widths) == pytest.approx(se, rel=0.15)
