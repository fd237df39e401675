"""An ordinal fit beside linear ones: what its rows mean, and whether a linear model was enough."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from ordinal_panels import draw_panel
from panels import crossed, cyclic, table_of
from scipy.special import expit
from unsampled_fits import linear_fit, ordinal_fit

import bayesjudge as bj
from bayesjudge.design.cells import cells_by_model
from bayesjudge.design.identify import identify
from bayesjudge.errors import FitError
from bayesjudge.estimates.anova import anova_model
from bayesjudge.marginal.cumulative.score_scale import score_scale
from bayesjudge.posterior.agreement import Agreement, Compared, Ends, agreements, in_words
from bayesjudge.posterior.latent_table import latent_parameters
from bayesjudge.posterior.linear_terms import linear_weights, ordinal_rows
from bayesjudge.terms import RANDOM_TERMS, TERMS, parts

A, B, H, Z, E = (RANDOM_TERMS.index(term) for term in RANDOM_TERMS)
OWN = {A: (1, 0), B: (1, 0), H: (1, 0), Z: (1, 0), E: (1, 0)}


def apart(n, K):
    """Rows of scenarios with two generations, each scored twice by half of the judges."""
    rng = np.random.default_rng(0)
    return [
        (i, j, int(judge))
        for i in range(n)
        for j, half in enumerate(np.split(rng.permutation(K), 2))
        for judge in half
        for _ in range(2)
    ]


# What a linear model's names mean: u and v of the weights u + v/(K-1).
DESIGNS = {
    "crossed": (
        crossed(6, 3, 3),
        {
            "scenario": {A: (1, 0)},
            "generation": {B: (1, 0), Z: (0, -1)},
            "scenario:judge": {H: (1, 0)},
            "generation:judge+residual": {Z: (1, 1), E: (1, 0)},
        },
    ),
    "one generation": (
        crossed(6, 1, 3),
        {
            "scenario+generation": {A: (1, 0), B: (1, 0), H: (0, -1), Z: (0, -1)},
            "scenario:judge+generation:judge+residual": {H: (1, 1), Z: (1, 1), E: (1, 0)},
        },
    ),
    "repeated calls": (crossed(6, 2, 3, 2), {t: {k: (1, 0)} for k, t in enumerate(RANDOM_TERMS)}),
    "repeated calls, one generation": (
        crossed(6, 1, 3, 2),
        {
            "scenario+generation": {A: (1, 0), B: (1, 0)},
            "scenario:judge+generation:judge": {H: (1, 0), Z: (1, 0)},
            "residual": {E: (1, 0)},
        },
    ),
    "one judge": (
        crossed(6, 3, 1),
        {
            "scenario+scenario:judge": {A: (1, 0), H: (1, 0)},
            "generation+generation:judge+residual": {B: (1, 0), Z: (1, 0), E: (1, 0)},
        },
    ),
    "cyclic, fewer calls than judges": (
        cyclic(12, 2, 3),
        {
            "scenario": {A: (1, 0), H: (0, -1)},
            "generation+scenario:judge+generation:judge+residual": OWN | {A: (0, 0), H: (1, 1)},
        },
    ),
    "cyclic, more calls than judges": (
        cyclic(12, 5, 3),
        {
            "scenario": {A: (1, 0)},
            "scenario:judge": {H: (1, 0)},
            "generation+generation:judge+residual": {B: (1, 0), Z: (1, 0), E: (1, 0)},
        },
    ),
    "cyclic, one call": (
        cyclic(12, 1, 3),
        {"scenario+generation+scenario:judge+generation:judge+residual": OWN},
    ),
    "generations by half of the judges, repeated": (
        apart(12, 4),
        {
            "scenario": {A: (1, 0), H: (0, -1)},
            "generation": {B: (1, 0), H: (0, 1)},
            "scenario:judge+generation:judge": {H: (1, 0), Z: (1, 0)},
            "residual": {E: (1, 0)},
        },
    ),
}


def cells_of(rows):
    return cells_by_model(table_of(rows).calls, 1)[0]


@pytest.mark.parametrize("design", DESIGNS)
def test_what_the_names_of_a_linear_model_mean(design):
    rows, expected = DESIGNS[design]
    found = linear_weights(identify(cells_of(rows), TERMS))
    assert set(found) == set(expected)
    for name, weights in found.items():
        full = [expected[name].get(k, (0, 0)) for k in range(len(RANDOM_TERMS))]
        one_judge = design == "one judge"  # whose interactions are zero: v has no meaning
        assert weights[:, 0].tolist() == [u for u, _ in full] or one_judge, name
        assert weights[:, 1].tolist() == [v for _, v in full] or one_judge, name


@pytest.mark.parametrize("design", DESIGNS)
def test_the_rows_of_a_linear_model_add_up_to_the_total_variance(design):
    rows, _ = DESIGNS[design]
    cells = cells_of(rows)
    total = sum(linear_weights(identify(cells, TERMS)).values())
    if cells.n_judges > 1:
        assert total.tolist() == [[1, 0]] * len(RANDOM_TERMS)


def judges_of_a_kind(K):
    """Thresholds of judges who differ in leniency and in how they use the scale."""
    common = np.array([-3.0, -1.0, 0.5, 1.5])
    spread = np.exp(np.linspace(0.6, -0.6, K))[:, None]
    return common.mean() + spread * (common - common.mean()) - np.linspace(-2.5, 2.5, K)[:, None]


def six(thresholds, sigma_scenario, sigma_generation):
    """The components on the score scale of levels 1, 2, ..."""
    found = score_scale(
        thresholds[None],
        np.array([sigma_scenario]),
        np.array([sigma_generation]),
        np.arange(thresholds.shape[1] + 1) + 1.0,
        "logit",
    )
    return dict(zip(TERMS, found.variance[0], strict=True))


@pytest.mark.parametrize("K", [2, 3, 5])
def test_the_covariances_of_calls_are_those_of_the_derivation(K):
    """By quadrature over scenario and generation effects, from the model's probabilities alone."""
    thresholds, sigma_a, sigma_b = judges_of_a_kind(K), 1.5, 1.2
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    effect = sigma_a * nodes[:, None] + sigma_b * nodes
    above = expit(effect - thresholds[:, :, None, None])  # by judge, level, scenario, generation
    u = 1 + above.sum(axis=1)
    square = 1 + ((2 * np.arange(above.shape[1]) + 3)[:, None, None] * above).sum(axis=1)
    mean = u @ weights @ weights
    of_scenario = u @ weights  # by judge and scenario
    same_scenario = (of_scenario * weights) @ of_scenario.T - np.outer(mean, mean)
    same_generation = np.einsum("lab,kab,a,b->lk", u, u, weights, weights) - np.outer(mean, mean)
    variance = square @ weights @ weights - mean**2

    def over_pairs(covariance):
        return (covariance.sum() - np.trace(covariance)) / (K * (K - 1))

    s = six(thresholds, sigma_a, sigma_b)
    a, b, h, z, e = (s[term] for term in RANDOM_TERMS)
    assert z > 0.1 * b
    assert over_pairs(same_scenario) == pytest.approx(a - h / (K - 1), rel=1e-6)
    assert np.trace(same_scenario) / K == pytest.approx(a + h, rel=1e-6)
    other = over_pairs(same_generation)
    assert other == pytest.approx(a - h / (K - 1) + b - z / (K - 1), rel=1e-6)
    assert np.trace(same_generation) / K == pytest.approx(a + b + h + z, rel=1e-6)
    assert variance.mean() == pytest.approx(a + b + h + z + e, rel=1e-6)


@pytest.mark.parametrize(("n", "m", "K"), [(1500, 3, 2), (2000, 3, 3), (3000, 1, 3)])
def test_closed_forms_estimate_the_rows_of_the_linear_model(n, m, K):
    """On panels drawn from the ordinal model: the expectations are the formulas, not plain sums."""
    thresholds = judges_of_a_kind(K)
    s = six(thresholds, 1.5, 1.5)
    estimates = []
    for seed in range(10):
        frame = draw_panel(
            *(n, m, K),
            thresholds=thresholds,
            sigma_scenario=1.5,
            sigma_generation=1.5,
            offsets=np.zeros(K),
            seed=seed,
        )
        calls = bj.read_scores(frame, levels=[1, 2, 3, 4, 5]).calls
        cells = cells_by_model(calls, 1)[0]
        estimates.append(anova_model(cells, interaction=True)["raw"])
    found = pd.concat(estimates, axis=1)
    error = found.std(axis=1) / np.sqrt(10)
    plain = {name: sum(s[term] for term in parts(name)) for name in found.index}
    values = np.array([s[term] for term in RANDOM_TERMS])
    for name, weights in linear_weights(identify(cells, TERMS)).items():
        expected = (weights[:, 0] + weights[:, 1] / (K - 1)) @ values
        assert abs(found.loc[name].mean() - expected) < 4 * error[name], name
        if not np.isclose(expected, plain[name]):
            assert abs(found.loc[name].mean() - plain[name]) > 4 * error[name], name


def leveled(rows, seed=0, models=("A",)):
    """A table of whole scores from 1 to 5 at random."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        [
            (model, f"s{i}", f"g{j}", f"j{k}", int(rng.integers(1, 6)))
            for model in models
            for i, j, k in rows
        ],
        columns=["model", "scenario", "generation", "judge", "score"],
    )
    return bj.read_scores(frame, levels=[1, 2, 3, 4, 5], repeats="keep")


def pretended(scores, seed=0):
    """An ordinal fit whose components are drawn at random, and the six of them."""
    tree = ordinal_fit(scores)
    variance = tree["posterior"]["variance"]
    scales = [0.4, 0.3, 0.2, 0.05, 0.04, 0.5]
    drawn = np.random.default_rng(seed).gamma(2.0, scales, (*variance.shape[:3], len(TERMS)))
    drawn[:, :, tree["constant_data"]["n_judges"].to_numpy() == 1, 2:5] = 0.0
    names = variance["component"].to_numpy().tolist()
    members = [[TERMS.index(term) for term in parts(name)] for name in names]
    sums = np.stack([drawn[..., own].sum(axis=-1) for own in members], axis=-1)
    changed = variance.copy(data=np.where(np.isnan(variance), np.nan, sums))
    tree["posterior"] = xr.DataTree(tree["posterior"].to_dataset().assign(variance=changed))
    return tree, drawn


def rows_of(tree):
    return [(row.model, row.name) for row in ordinal_rows(tree)]


class TestRows:
    """What a comparison shows of an ordinal fit."""

    def test_crossed(self):
        tree, six = pretended(leveled(crossed(6, 3, 3)))
        table = bj.compare(tree)
        shared = ["scenario", "generation", "judge", "scenario:judge", "generation:judge+residual"]
        alone = ["generation alone", "generation:judge", "residual alone"]
        assert table.index.tolist() == [("A", name) for name in shared + alone]
        a, b, g, h, z, e = np.moveaxis(six[:, :, 0], -1, 0)
        means = {
            "scenario": a,
            "generation": b - z / 2,
            "judge": g,
            "scenario:judge": h,
            "generation:judge+residual": e + 1.5 * z,
            "generation alone": b,
            "generation:judge": z,
            "residual alone": e,
        }
        for name, draws in means.items():
            row = table.loc[("A", name)]
            assert row["mean"] == pytest.approx(draws.mean()), name
            assert row["eti_low"] == pytest.approx(np.quantile(draws, 0.025)), name
            assert row["eti_high"] == pytest.approx(np.quantile(draws, 0.975)), name
        assert table.loc["A", "mean"][shared].sum() == pytest.approx(six.sum(-1).mean())
        assert table.attrs["rows"] == {
            "generation": (
                "as a linear model means it, generation alone less 1/(K-1) of generation:judge "
                "(K judges)"
            ),
            "generation:judge+residual": (
                "as a linear model means it, residual alone plus K/(K-1) of generation:judge "
                "(K judges)"
            ),
        } | dict.fromkeys(alone, "only the ordinal fit tells it apart")
        assert table.attrs["sums"] == {"generation:judge+residual": "no call is repeated"}

    def test_estimates_without_priors_stand_in_the_rows_of_a_linear_model_only(self):
        scores = leveled(crossed(6, 3, 3))
        table = bj.compare(pretended(scores)[0])
        alone = table.loc["A"].loc[["generation alone", "generation:judge", "residual alone"]]
        assert alone[["anova", "anova_raw", "anova_paper", "reml"]].isna().all(axis=None)
        closed, restricted = bj.anova(scores, interaction=True), bj.reml(scores, interaction=True)
        for row in closed.index:
            assert table.loc[row, "anova_raw"] == pytest.approx(closed.loc[row, "raw"])
            assert table.loc[row, "reml"] == pytest.approx(restricted.loc[row, "estimate"])

    def test_one_generation_a_scenario(self):
        tree, six = pretended(leveled(crossed(8, 1, 3)))
        assert rows_of(tree) == [
            ("A", "scenario+generation"),
            ("A", "scenario:judge+generation:judge+residual"),
            ("A", "judge"),
            ("A", "scenario+generation alone"),
            ("A", "scenario:judge+generation:judge"),
            ("A", "residual alone"),
        ]
        a, b, _, h, z, e = np.moveaxis(six[:, :, 0], -1, 0)
        table = bj.compare(tree).loc["A", "mean"]
        assert table["scenario+generation"] == pytest.approx((a + b - (h + z) / 2).mean())
        assert table["scenario+generation alone"] == pytest.approx((a + b).mean())
        total = (e + 1.5 * (h + z)).mean()
        assert table["scenario:judge+generation:judge+residual"] == pytest.approx(total)
        why = bj.compare(tree).attrs["sums"]
        assert why["scenario+generation"] == "each scenario has one generation"
        assert why["scenario+generation alone"] == "each scenario has one generation"
        assert set(why) == {
            "scenario+generation",
            "scenario+generation alone",
            "scenario:judge+generation:judge",
            "scenario:judge+generation:judge+residual",
        }

    def test_cyclic(self):
        tree, six = pretended(leveled(cyclic(12, 2, 3)))
        a, b, _, h, z, e = np.moveaxis(six[:, :, 0], -1, 0)
        table = bj.compare(tree)
        assert [name for _, name in table.index] == [
            "scenario",
            "generation+scenario:judge+generation:judge+residual",
            "judge",
            "scenario alone",
            "generation+generation:judge+residual",
            "scenario:judge",
        ]
        means = table.loc["A", "mean"]
        assert means["scenario"] == pytest.approx((a - h / 2).mean())
        rest = "generation+scenario:judge+generation:judge+residual"
        assert means[rest] == pytest.approx((b + z + e + 1.5 * h).mean())
        assert means["scenario alone"] == pytest.approx(a.mean())
        assert np.isnan(table.loc[("A", "scenario:judge"), "reml"])
        assert table.loc[("A", "scenario"), "reml"] >= 0

    @pytest.mark.parametrize(
        "design", ["one judge", "repeated calls", "repeated calls, one generation"]
    )
    def test_where_a_linear_model_knows_as_much_there_are_no_other_rows(self, design):
        rows, expected = DESIGNS[design]
        tree, _ = pretended(leveled(rows))
        found = ordinal_rows(tree)
        assert {row.name for row in found} - {"judge"} == set(expected)
        assert not any(row.only_here or row.meaning for row in found)
        assert bj.compare(tree).attrs["rows"] == {}

    def test_models_of_different_designs(self):
        frame = draw_panel(
            *(8, 2, 3),
            thresholds=[-1.0, 1.0],
            sigma_scenario=1.0,
            sigma_generation=1.0,
            offsets=np.zeros(3),
            models=("A", "B"),
        )
        scores = bj.read_scores(
            frame[(frame["model"] == "A") | (frame["judge"] == "judge 1")], levels=[1, 2, 3]
        )
        table = bj.compare(pretended(scores)[0])
        assert list(table.loc["B"].index) == [
            "scenario+scenario:judge",
            "generation+generation:judge+residual",
        ]
        assert "scenario:judge" in table.loc["A"].index
        assert table.attrs["rows"]["generation:judge"].startswith("A: only the ordinal fit")

    def test_without_scores_it_is_refused(self):
        tree, _ = pretended(leveled(crossed(6, 2, 3)))
        del tree["observed_data"]
        with pytest.raises(FitError, match="holds no scores"):
            bj.compare(tree)


@pytest.fixture(scope="module")
def linear():
    """Fits of linear models of a small panel."""
    scores = leveled(crossed(10, 2, 3))
    return scores, {
        name: linear_fit(scores, 0.5, name, spread=0.3) for name in ("linear", "linear-paper")
    }


class TestSideBySide:
    @pytest.fixture
    def ordinal(self, linear):
        return pretended(linear[0])[0]

    def test_all_stand_in_the_same_rows(self, linear, ordinal):
        _, trees = linear
        table = bj.compare(trees["linear"], ordinal)
        alone = bj.compare(trees["linear"])
        both = table["linear"]["mean"].dropna()
        assert both.index.equals(alone.index)
        assert table["ordinal"]["mean"].notna().all()
        pd.testing.assert_frame_equal(
            table["reference"].loc[alone.index], alone[table["reference"].columns]
        )
        assert table["reference"]["reml"].notna().sum() == len(alone)
        assert table.index[len(alone) :].get_level_values(1).tolist() == [
            "generation alone",
            "generation:judge",
            "residual alone",
        ]
        assert table.attrs["interaction"] == alone.attrs["interaction"]
        assert len(table.attrs["linear_enough"]) == 1

    def test_the_order_of_the_fits_is_that_of_the_columns_only(self, linear, ordinal):
        one = bj.compare(linear[1]["linear"], ordinal)
        other = bj.compare(ordinal, linear[1]["linear"])
        assert one.attrs["linear_enough"] == other.attrs["linear_enough"]
        pd.testing.assert_frame_equal(one, other[one.columns])

    def test_the_residual_of_the_paper_is_not_that_of_the_ordinal_fit(self, linear, ordinal):
        table = bj.compare(linear[1]["linear-paper"], ordinal)
        assert np.isnan(table.loc[("A", "residual"), ("ordinal", "mean")])
        assert table.loc[("A", "residual"), ("reference", "anova")] > 0
        assert np.isnan(table.loc[("A", "residual alone"), ("linear-paper", "mean")])

    def test_the_linear_model_with_the_interaction_is_what_is_judged(self, linear, ordinal):
        trees = linear[1]
        table = bj.compare(trees["linear-paper"], ordinal, trees["linear"])
        assert (
            table.attrs["linear_enough"]
            == bj.compare(trees["linear"], ordinal).attrs["linear_enough"]
        )

    def test_a_failed_fit_is_no_yardstick(self, linear, ordinal):
        ordinal.attrs["problems"] = "Chains disagree."
        table = bj.compare(linear[1]["linear"], ordinal)
        assert table.attrs["problems"] == ["ordinal: Chains disagree."]
        (said,) = table.attrs["linear_enough"]
        assert said.endswith("can't be said: ordinal failed the diagnostics.")

    def test_tables_can_be_put_together(self, linear, ordinal):
        table = bj.compare(linear[1]["linear"], ordinal)
        assert len(pd.concat([table, bj.compare(ordinal, linear[1]["linear"])])) == 2 * len(table)


def frame(**rows):
    """Rows of a comparison: component to (mean, sd)."""
    index = pd.MultiIndex.from_tuples(
        [("A", name.replace("__", ":")) for name in rows], names=["model", "component"]
    )
    mean, sd = np.array(list(rows.values()), dtype=float).T
    columns = {"mean": mean, "sd": sd, "eti_low": mean - 2 * sd, "eti_high": mean + 2 * sd}
    return pd.DataFrame(columns, index=index)


class TestLinearEnough:
    def said(self, linear, ordinal, at_top=0.03):
        tree, _ = pretended(leveled(crossed(6, 2, 3)))
        (found,) = agreements(linear, ordinal, {"A": 1.0}, tree)
        return in_words(
            Agreement("A", found.worst, found.taste, Ends(1, 10, 0.02, at_top)), "linear", "ordinal"
        )

    def test_when_all_agree(self):
        said = self.said(
            frame(scenario=(0.30, 0.1), judge=(0.2, 0.05)),
            frame(scenario=(0.315, 0.1), judge=(0.2, 0.05)),
        )
        assert said == (
            "A: linear and ordinal agree within 2% of the total variance on every component; 3% of "
            "scores are at the highest level (10) and 2% at the lowest (1): the linear "
            "approximation is good enough here."
        )

    def test_with_a_ceiling_it_says_where_the_linear_model_still_fails(self):
        said = self.said(frame(scenario=(0.30, 0.1)), frame(scenario=(0.31, 0.1)), at_top=0.38)
        assert "38% of scores are at the highest level (10)" in said
        assert "good enough for these components" in said
        assert "no scores beyond its levels" in said

    def test_a_difference_within_what_the_data_leave_open(self):
        said = self.said(frame(scenario=(0.30, 0.3)), frame(scenario=(0.40, 0.3)))
        assert "10% of the total variance and only 0.2 posterior sd apart" in said
        assert said.endswith("the linear approximation is good enough here.")

    @pytest.mark.parametrize("at_top", [0.03, 0.38])
    def test_a_difference_that_may_be_chance(self, at_top):
        said = self.said(frame(scenario=(0.62, 0.1)), frame(scenario=(0.41, 0.06)), at_top=at_top)
        assert said.startswith(
            "A: the ordinal fit puts scenario variance at 0.41 (0.29 to 0.53), the linear one at "
            "0.62 (0.42 to 0.82), 21% of the total variance and 1.8 posterior sd apart; "
        )
        assert "may be chance" in said
        assert "--loo" in said

    @pytest.mark.parametrize("at_top", [0.03, 0.38])
    def test_no_ceiling_makes_the_ordinal_fit_right_where_the_fits_are_apart(self, at_top):
        said = self.said(frame(residual=(0.6, 0.05)), frame(residual=(0.79, 0.06)), at_top=at_top)
        assert "2.4 posterior sd apart" in said
        assert "more than chance, so the ordinal model is not right here" in said
        assert said.endswith("read the linear fit.")

    def test_taste_is_for_the_linear_model(self):
        said = self.said(
            frame(generation=(0.37, 0.07), scenario__judge=(0.36, 0.06)),
            frame(generation=(0.16, 0.08), scenario__judge=(0.01, 0.005)),
        )
        assert "has no term for judges who differ in taste" in said
        assert said.endswith("read the linear fit.")

    def test_the_worst_is_one_that_is_not_close(self):
        linear = frame(scenario=(0.5, 0.5), judge=(0.3, 0.02))
        (found,) = agreements(
            linear,
            frame(scenario=(0.7, 0.5), judge=(0.2, 0.02)),
            {"A": 1.0},
            pretended(leveled(crossed(6, 2, 3)))[0],
        )
        assert found.worst.component == "judge"
        assert isinstance(found.worst, Compared)
        assert not found.worst.close

    def test_shares_at_the_ends_are_counted(self):
        scores = leveled(crossed(6, 2, 3))
        tree, _ = pretended(scores)
        (found,) = agreements(frame(judge=(1, 1)), frame(judge=(1, 1)), {"A": 1.0}, tree)
        score = scores.calls.score
        assert found.ends.at_high == pytest.approx((score == score.max()).mean())
        assert (found.ends.low, found.ends.high) == (score.min(), score.max())


def test_latent_parameters_in_one_table():
    rng = np.random.default_rng(0)
    coords = {"model": ["A", "B"], "judge": ["j", "k"], "cut": ["1|2", "2|3"]}
    gamma = rng.normal(size=(2, 50, 2, 2))
    gamma[:, :, 1] = np.nan  # one judge
    posterior = xr.Dataset(
        {
            "mu": (("chain", "draw", "model"), rng.normal(size=(2, 50, 2))),
            "threshold": (("chain", "draw", "cut"), rng.normal(size=(2, 50, 2))),
            "latent_gamma": (("chain", "draw", "model", "judge"), gamma),
            "latent_sigma_scenario": (("chain", "draw", "model"), rng.gamma(2, size=(2, 50, 2))),
        },
        coords=coords,
    )
    tree = xr.DataTree.from_dict({"/posterior": posterior})
    tree.attrs = {"bayesjudge_format": 1, "family": "cumulative", "link": "logit", "model": "o"}
    table = latent_parameters(tree)
    assert table.index.tolist() == [
        ("latent_sigma_scenario", "A", ""),
        ("latent_sigma_scenario", "B", ""),
        ("threshold", "", "1|2"),
        ("threshold", "", "2|3"),
        ("latent_gamma", "A", "j"),
        ("latent_gamma", "A", "k"),
    ]
    row = table.loc[("latent_gamma", "A", "k")]
    assert row["mean"] == pytest.approx(gamma[:, :, 0, 1].mean())
    assert row["eti_low"] == pytest.approx(np.quantile(gamma[:, :, 0, 1], 0.025))
    tree.attrs["family"] = "gaussian"
    with pytest.raises(FitError, match="ordinal"):
        latent_parameters(tree)
