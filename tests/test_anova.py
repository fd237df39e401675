"""Closed forms against the paper's tables, dense projections, exact expectations and simulation."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_scores import DESIGNS, cells_of, frame_of, indices, random_scores, table_of
from scipy import stats

from bayesjudge.estimates.anova import anova, anova_model, judge_f_test, judge_means
from bayesjudge.examples import load
from bayesjudge.examples._targets import COMPONENTS, LABELS, MINDEVAL, MTBENCH
from bayesjudge.readers import read_scores
from bayesjudge.terms import carrier, parts

PAPER = {"mtbench": MTBENCH, "mindeval": MINDEVAL}
SUM = "scenario:judge+generation:judge+residual"

NAMES = {  # of the components, without and with scenario:judge
    "G-study": ("s g j r", "s g j sj gj+r"),
    "two judges": ("s g j r", "s g j sj gj+r"),
    "one generation": ("s+g j r", "s+g j sj+gj+r"),
    "one judge": ("s g+r", "s+sj g+gj+r"),
    "one of both": ("s+g+r", "s+g+sj+gj+r"),
    "repeats": ("s g j r", "s g j sj gj r"),
    "repeats, one generation": ("s+g j r", "s+g j sj+gj r"),
    "repeats, one judge": ("s g r", "s+sj g+gj r"),
    "repeats, one of both": ("s+g r", "s+g+sj+gj r"),
    "one scenario": ("g j r", "g j gj+r"),
    "one scenario, repeats": ("g j r", "g j gj r"),
    "one scenario, one judge": ("g+r", "g+gj+r"),
}
SHORT = {
    "s": "scenario",
    "g": "generation",
    "j": "judge",
    "sj": "scenario:judge",
    "gj": "generation:judge",
    "r": "residual",
}


def spelled(names):
    return ["+".join(SHORT[term] for term in name.split("+")) for name in names.split()]


# The paper's tables.


@cache
def paper_anova(name):
    return anova(load(name))


def printed(value, figure):
    return f"{value:.{len(figure.partition('.')[2])}f}"


@pytest.mark.parametrize("model", LABELS)
@pytest.mark.parametrize("name", PAPER)
def test_tables_2_and_3_to_their_printed_digits(name, model):
    figures, k = PAPER[name], LABELS.index(model)
    estimates = paper_anova(name).loc[model, "estimate"]
    assert list(estimates.index) == list(COMPONENTS)
    n, m = figures.n_scenarios, figures.n_generations
    shares = {"scenario": n, "generation": n, "judge": 1, "residual": n}
    for component in COMPONENTS:
        figure = figures.variance[component][k]
        assert printed(estimates[component], figure) == figure
        per_mean = 1000 * estimates[component] / shares[component]
        assert printed(per_mean, "0.00") == figures.contribution[component][k]
    assert (n * m - 1) * 4 == paper_anova(name).loc[(model, "residual"), "df"]


@pytest.mark.parametrize("name", PAPER)
def test_table_4_f(name):
    table = judge_f_test(load(name), interaction=False)
    for model, figure in zip(LABELS, PAPER[name].f_statistic, strict=True):
        row = table.loc[(model, "paper")]
        assert row["F"] == pytest.approx(float(figure), rel=1e-3)
        assert row["p"] < 0.001
        assert row["note"] == ""
        estimates = paper_anova(name).loc[model, "estimate"]
        nmK = PAPER[name].n_scenarios * PAPER[name].n_generations * 5
        identity = nmK * estimates["judge"] / (4 * estimates["residual"]) + 1
        assert row["F"] == pytest.approx(identity, rel=1e-12)


@pytest.mark.parametrize("name", PAPER)
def test_table_1_means(name):
    table = judge_means(load(name))
    for model, figures in PAPER[name].judge_means.items():
        for judge, figure in zip(LABELS, figures, strict=True):
            assert printed(table.loc[(model, judge), "mean"], figure) == figure
    ranks = table["rank"].unstack("judge")
    assert ranks.loc["Gemini" if name == "mtbench" else "Claude", "Claude"] == 1
    assert sorted(ranks["GPT"]) == [1, 2, 3, 4, 5]


def test_truncation_is_flagged_and_the_raw_value_kept():
    table = paper_anova("mtbench")
    row = table.loc[("Claude", "generation")]
    assert row["truncated"]
    assert row["estimate"] == 0
    assert row["raw"] == pytest.approx(-0.006, abs=1e-4)
    assert row["ci_low"] == 0
    assert row["method"] == "modified large sample, cut at 0"
    assert table["truncated"].sum() == 2
    assert "Claude: generation came out negative (-0.006)" in table.attrs["notes"][0]
    assert "interaction=True" in table.attrs["notes"][1]


def test_leaving_out_the_interaction_lowers_generation():
    with_it = anova(load("mtbench"), interaction=True)["raw"].unstack("component")
    without = paper_anova("mtbench")["raw"].unstack("component")
    h, e = with_it["scenario:judge"], with_it["generation:judge+residual"]
    nu = np.array([79, 720]) * 4
    pooled = (nu[0] * (e + 10 * h * 5 / 4) + nu[1] * e) / nu.sum()
    assert without["residual"].to_numpy() == pytest.approx(pooled.to_numpy())
    lower = with_it["generation"] - (pooled - e) / 5
    assert without["generation"].to_numpy() == pytest.approx(lower.to_numpy())


# Every kind of design, against dense matrices.


def by_projections(y, interaction):
    """Solve E[y'Qy] = tr(QV) with explicit projections and covariance matrices."""
    m, K = y.shape[1:3]
    i, j, k, _ = indices(y.shape)
    size = y.size

    def same(levels):
        return (levels[:, None] == levels).astype(float)

    one, scenario, generation = np.ones((size, size)), same(i), same(i * m + j)
    judge, both, cell = same(k), same(i * K + k), same((i * m + j) * K + k)
    P1, Ps, Pg, Pj, Psj, Pgj = (
        Z / Z.sum(1)[:, None] for Z in (one, scenario, generation, judge, both, cell)
    )
    strata = [
        Ps - P1,
        Pg - Ps,
        Psj - Ps - Pj + P1,
        Pgj - Pg - Psj + Ps,
        np.eye(size) - Pgj,
    ]
    if not interaction:
        strata = [*strata[:2], sum(strata[2:])]
    strata.append(Pj - P1)
    contrast = judge - 1 / K
    basis = {
        "scenario": scenario,
        "generation": generation,
        "judge": contrast,
        "scenario:judge": scenario * contrast,
        "generation:judge": cell,
        "residual": np.eye(size),
    }
    design = next(name for name, shape in DESIGNS.items() if shape == y.shape)
    names = spelled(NAMES[design][interaction])
    strata = [Q for Q in strata if np.trace(Q) > 0.5]
    trace = [[np.trace(Q @ basis[carrier(parts(name))]) for name in names] for Q in strata]
    squares = [y.ravel() @ Q @ y.ravel() for Q in strata]
    solved, _, rank, _ = np.linalg.lstsq(np.array(trace), np.array(squares))
    assert rank == len(names)
    return names, dict(zip(names, solved, strict=True))


@pytest.mark.parametrize("interaction", [False, True])
@pytest.mark.parametrize("design", DESIGNS)
def test_estimates_are_those_of_dense_projections(design, interaction):
    y = random_scores(DESIGNS[design])
    K = y.shape[2]
    names, v = by_projections(y, interaction)
    table = anova(table_of(y), interaction)
    assert list(table.loc["A"].index) == names
    expected = dict(v)
    for name in names:
        if K > 1 and carrier(parts(name)) in ("judge", "scenario:judge", "generation:judge"):
            expected[name] = v[name] * (K - 1) / K
        if K > 1 and carrier(parts(name)) == "generation:judge":
            home = next(block for block in names if "generation" in parts(block))
            expected[home] += v[name] / K
    for name in names:
        row = table.loc[("A", name)]
        assert row["raw"] == pytest.approx(expected[name], rel=1e-9, abs=1e-12)
        assert row["estimate"] == max(row["raw"], 0)
        assert row["truncated"] == (row["raw"] < 0)
        assert 0 <= row["ci_low"] <= row["ci_high"]
        assert row["df"] > 0


# What the estimators estimate, with scenario:judge h and generation:judge z in the panel's terms
# (h = s_eta (K-1)/K; z likewise, s_z/K being a part of generation).
TRUTH = {
    "scenario": 1.3,
    "generation": 0.7,
    "judge": 0.0,
    "scenario:judge": 0.4,
    "generation:judge": 0.3,
    "residual": 0.9,
}


def covariance_root(shape, truth):
    """Columns L with LL' the covariance of the scores, effects of judges summing to zero."""
    m, K = shape[1:3]
    i, j, k, call = indices(shape)
    cell = (i * m + j) * K + k
    contrast = np.eye(K) - 1 / K
    scale = K / (K - 1) if K > 1 else 0.0
    g = i * m + j

    def dummies(levels):
        return (levels[:, None] == np.unique(levels)).astype(float)

    def zero_sum(levels):
        units = np.unique(levels)
        return np.hstack([(levels == u)[:, None] * contrast[k] for u in units])

    calls = dummies(cell * (call.max() + 1) + call)
    columns = {
        "scenario": dummies(i),
        "generation": dummies(g),
        "scenario:judge": np.sqrt(scale) * zero_sum(i),
        "generation:judge": np.sqrt(scale) * zero_sum(g),
        "residual": calls,
    }
    return np.hstack([np.sqrt(truth[term]) * Z for term, Z in columns.items()])


def expectation(shape, truth, interaction):
    """Expected raw estimates, exactly: they are quadratic forms, so E = sum of f(columns of L)."""
    gamma = np.array([0.5, -0.2, -0.3, 0.0][: shape[2]])
    gamma = gamma - gamma.mean()
    mean = np.broadcast_to(gamma[:, None], shape) + 0.0
    total = anova_model(cells_of(mean), interaction)["raw"].copy()
    for column in covariance_root(shape, truth).T:
        total += anova_model(cells_of(column.reshape(shape)), interaction)["raw"]
    return total, np.mean(gamma**2)


@pytest.mark.parametrize(
    ("design", "biased"),
    [
        ("repeats", {}),
        ("G-study", {"generation": -0.3 / 2, "generation:judge+residual": 0.3 / 2}),
        ("one generation", {"scenario+generation": -0.7 / 2, SUM: 0.7 / 2}),
        ("repeats, one generation", {}),
        ("one judge", {}),
    ],
)
def test_estimators_are_unbiased_for_the_panel(design, biased):
    shape = DESIGNS[design]
    truth = TRUTH if shape[2] > 1 else TRUTH | {"scenario:judge": 0, "generation:judge": 0}
    raw, dispersion = expectation(shape, truth, interaction=True)
    for name, value in raw.items():
        expected = sum((truth | {"judge": dispersion})[term] for term in parts(name))
        assert value == pytest.approx(expected + biased.get(name, 0.0), rel=1e-9), name


def test_the_paper_s_estimators_are_unbiased_without_interaction():
    truth = TRUTH | {"scenario:judge": 0.0, "generation:judge": 0.0}
    raw, dispersion = expectation(DESIGNS["G-study"], truth, interaction=False)
    assert raw.to_numpy() == pytest.approx([1.3, 0.7, dispersion, 0.9])


def test_the_paper_s_estimators_with_an_interaction():
    """Residual and generation are off by amounts that depend on the degrees of freedom."""
    truth = TRUTH | {"generation:judge": 0.0}
    raw, _ = expectation(DESIGNS["G-study"], truth, interaction=False)
    extra = 2 * 0.4 * 3 / 2 * 3 / 7  # m s_eta on (n - 1) of the (nm - 1) parts of MS_W
    assert raw["residual"] == pytest.approx(0.9 + extra)
    assert raw["generation"] == pytest.approx(0.7 - extra / 3)
    assert raw["scenario"] == pytest.approx(1.3)


def test_g_study_is_unbiased_and_covers_by_simulation():
    n, m, K, tables = 10, 2, 3, 160
    z = np.random.default_rng(8).standard_normal
    eta = z((tables, n, 1, K))
    eta = np.sqrt(0.5) * (eta - eta.mean(-1, keepdims=True))
    gamma = np.array([0.8, -0.2, -0.6])
    x = z((tables, n, 1, 1)) + np.sqrt(0.4) * z((tables, n, m, 1)) + gamma + eta
    x = x + 0.9 * z((tables, n, m, K))
    truth = {
        "scenario": 1.0,
        "generation": 0.4,
        "judge": np.mean(gamma**2),
        "scenario:judge": 0.5 * 2 / 3,
        "generation:judge+residual": 0.81,
    }
    together = pd.concat([frame_of(y[..., None], f"m{t}") for t, y in enumerate(x)])
    table = anova(read_scores(together), interaction=True)
    found = [frame.droplevel("model") for _, frame in table.groupby("model")]
    for name, value in truth.items():
        raw = np.array([frame.loc[name, "raw"] for frame in found])
        assert raw.mean() == pytest.approx(value, abs=4 * raw.std() / np.sqrt(tables))
        inside = [f.loc[name, "ci_low"] <= value <= f.loc[name, "ci_high"] for f in found]
        assert 0.90 <= np.mean(inside) <= 0.99, name


# Invariances.


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 1000),
    design=st.sampled_from([d for d in DESIGNS if DESIGNS[d][1] > 1]),
    interaction=st.booleans(),
)
def test_row_order_labels_shift_and_scale(seed, design, interaction):
    y = random_scores(DESIGNS[design], seed)
    frame = frame_of(y)
    rng = np.random.default_rng(seed)
    shuffled = frame.sample(frac=1, random_state=seed)
    for facet in ("scenario", "judge"):
        new = rng.permutation(shuffled[facet].max() + 1)
        shuffled[facet] = [f"{facet} {new[old]}" for old in shuffled[facet]]
    variants = {
        "shuffled": (shuffled, 1),
        "shifted": (frame.assign(score=frame["score"] + 1e6), 1),
        "scaled": (frame.assign(score=10 * frame["score"]), 100),
    }
    base = anova(read_scores(frame, repeats="keep"), interaction)
    columns = ["mean_square", "estimate", "raw", "ci_low", "ci_high"]
    for variant, factor in variants.values():
        other = anova(read_scores(variant, repeats="keep"), interaction)
        assert list(other.index) == list(base.index)
        assert other["df"].tolist() == base["df"].tolist()
        expected = factor * base[columns].to_numpy()
        assert other[columns].to_numpy() == pytest.approx(expected, rel=1e-6, abs=1e-7 * factor)


def test_models_are_separate_and_may_differ_in_size():
    a, b = random_scores((4, 3, 3, 1)), random_scores((5, 2, 2, 1), seed=1)
    both = read_scores(pd.concat([frame_of(a), frame_of(b, "B")]))
    table = anova(both)
    pd.testing.assert_frame_equal(table.loc["A"], anova(table_of(a)).loc["A"])
    alone = anova_model(cells_of(b)).rename_axis("component")
    pd.testing.assert_frame_equal(table.loc["B"], alone)
    assert [test["model"] for test in table.attrs["f_test"]] == ["A", "A", "B", "B"]
    assert table.attrs["prob"] == 0.95


# Intervals and tests.


def test_each_interval_says_its_method_and_has_its_formula():
    y = random_scores((5, 3, 4, 1))
    table = anova(table_of(y), prob=0.9).loc["A"]
    assert table["method"].str.replace(", cut at 0", "").tolist() == [
        "modified large sample",
        "modified large sample",
        "noncentral chi²",
        "exact chi²",
    ]
    row = table.loc["residual"]
    ends = row["df"] * row["mean_square"] / stats.chi2.ppf([0.95, 0.05], row["df"])
    assert row[["ci_low", "ci_high"]].to_numpy(float) == pytest.approx(ends)
    other = anova(table_of(y), interval="satterthwaite").loc["A"]
    assert other.loc["scenario", "method"].endswith("Satterthwaite")
    first, second = table.loc["scenario"], table.loc["generation"]
    gap = first["mean_square"] - second["mean_square"]
    nu = gap**2 / (
        first["mean_square"] ** 2 / first["df"] + second["mean_square"] ** 2 / second["df"]
    )
    ends = nu * gap / 12 / stats.chi2.ppf([0.975, 0.025], nu)
    assert other.loc["scenario", ["ci_low", "ci_high"]].to_numpy(float) == pytest.approx(ends)


def test_satterthwaite_has_no_interval_for_a_negative_estimate():
    table = anova(load("mtbench"), interval="satterthwaite")
    row = table.loc[("Claude", "generation")]
    assert np.isnan(row["ci_low"])
    assert np.isnan(row["ci_high"])
    assert row["method"] == "none (Satterthwaite: the estimate is not far enough above zero)"


def test_one_scenario_has_its_own_notes():
    notes = anova(table_of(random_scores((1, 4, 3, 1))), interaction=True).attrs["notes"]
    assert any("scenario, scenario:judge" in note for note in notes)
    assert any("within the one scenario" in note for note in notes)
