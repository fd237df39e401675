"""Level frequencies by judge, held against those of tables replicated from a fit."""

import json

import numpy as np
import pandas as pd
import pytest
from ordinal_panels import draw_panel
from scipy import stats
from unsampled_fits import linear_fit, ordinal_fit

import bayesjudge as bj
from bayesjudge.errors import BayesJudgeError, FitError
from bayesjudge.marginal.cumulative.score_scale import level_probabilities
from bayesjudge.posterior.ordinal_parameters import parameters_of

OFFSETS = np.array([-0.6, 0.1, 0.5])
SETTING = {"thresholds": [-1.5, -0.2, 1.4], "sigma_scenario": 1.2, "sigma_generation": 0.8}
SIGMA = {
    "scenario": 0.8,
    "generation": 0.5,
    "judge": 0.4,
    "scenario:judge": 0.6,
    "generation:judge": 0.7,
    "generation:judge+residual": 0.7,
    "residual": 0.3,
}


def uneven():
    """Two models; B lacks a judge, and A some calls."""
    frame = draw_panel(
        10, 2, 3, **SETTING, offsets=OFFSETS, values=(1, 2, 3, 5), models=("A", "B"), seed=3
    )
    frame = frame[~((frame["model"] == "B") & (frame["judge"] == "judge 2"))]
    return frame.drop(frame.index[[3, 20, 21, 40]])


def ceiling():
    """Most scores at the top: what no normal distribution can look like."""
    return draw_panel(
        *(60, 3, 3),
        thresholds=[-5.0, -4.2, -3.4, -2.6],
        sigma_scenario=1.0,
        sigma_generation=0.6,
        offsets=OFFSETS,
        seed=5,
    )


@pytest.fixture(scope="module")
def ordinal():
    return ordinal_fit(bj.read_scores(uneven()), draws=400, spread=0.1)


@pytest.fixture(scope="module")
def frequencies(ordinal):
    return bj.level_frequencies(ordinal, seed=1)


class TestOfAnOrdinalFit:
    def test_there_is_a_row_for_each_level_of_each_judge_of_a_model(self, frequencies):
        assert frequencies.index.names == ["model", "judge", "level"]
        assert list(frequencies) == ["observed", "expected", "eti_low", "eti_high", "inside"]
        by_judge = frequencies.groupby(["model", "judge"])
        judges = [("A", f"judge {k}") for k in (1, 2, 3)] + [("B", "judge 1"), ("B", "judge 3")]
        assert list(by_judge.groups) == judges
        assert (by_judge.size() == 4).all()
        assert frequencies.loc[("A", "judge 1")].index.tolist() == [1, 2, 3, 5]
        np.testing.assert_allclose(by_judge[["observed", "expected"]].sum(), 1.0)
        observed, low, high = (frequencies[c] for c in ("observed", "eti_low", "eti_high"))
        assert ((low <= high) & (low >= 0) & (high <= 1)).all()
        assert frequencies["inside"].equals((observed >= low) & (observed <= high))

    def test_observed_shares_are_those_of_the_table(self, frequencies):
        frame = uneven()
        own = frame[(frame["model"] == "A") & (frame["judge"] == "judge 1")]["score"]
        expected = own.value_counts(normalize=True).sort_index()
        np.testing.assert_allclose(frequencies.loc[("A", "judge 1"), "observed"], expected)

    def test_expected_shares_are_those_of_quadrature(self, ordinal, frequencies):
        thresholds, sigma = parameters_of(ordinal)
        for t, model in enumerate("AB"):
            exact = level_probabilities(
                thresholds[:, t].copy(), sigma[:, t, 0].copy(), sigma[:, t, 1].copy(), "logit"
            ).mean(axis=0)
            for k, p in enumerate(exact):
                key = (model, f"judge {k + 1}")
                if key in frequencies.index:
                    own = frequencies.loc[key]
                    # Half of an interval is about two standard deviations of a share.
                    error = (own["eti_high"] - own["eti_low"]) / 4 / np.sqrt(500)
                    assert (np.abs(own["expected"] - p) < 5 * error).all()

    @pytest.mark.parametrize("link", ["logit", "probit"])
    def test_intervals_are_those_of_tables_drawn_apart(self, link):
        # All draws of the fit are at one point, at which tables are drawn directly.
        scores = bj.read_scores(draw_panel(10, 2, 3, **SETTING, offsets=OFFSETS))
        name = "ordinal" if link == "logit" else "ordinal_probit"
        tree = ordinal_fit(scores, name, draws=1000, spread=0.0)
        thresholds, sigma = (values[0, 0] for values in parameters_of(tree))
        rng = np.random.default_rng(0)
        tables = 2000
        latent = sigma[0] * rng.standard_normal((tables, 10, 1, 1))
        latent = latent + sigma[1] * rng.standard_normal((tables, 10, 2, 1))
        latent = latent + (rng.logistic if link == "logit" else rng.normal)(size=(tables, 10, 2, 3))
        level = (latent[..., None] > thresholds).sum(axis=-1)
        found = bj.level_frequencies(tree, draws=2000, prob=0.8)
        for k in range(3):
            for c in range(4):
                share = (level[..., k] == c).mean(axis=(1, 2))
                row = found.loc[("A", f"judge {k + 1}", c + 1)]
                # Shares come in steps of 1/20.
                assert abs(row["eti_low"] - np.quantile(share, 0.1)) < 0.051
                assert abs(row["eti_high"] - np.quantile(share, 0.9)) < 0.051
                assert row["expected"] == pytest.approx(share.mean(), abs=0.02)

    def test_bins_are_its_levels(self):
        frame = draw_panel(10, 2, 3, **SETTING, offsets=OFFSETS)
        frame["score"] = frame["score"] + np.random.default_rng(1).uniform(0, 1, len(frame))
        scores = bj.read_scores(frame, scale=(1, 5))
        found = bj.level_frequencies(ordinal_fit(scores, bins=4, draws=60), draws=100)
        assert found.loc[("A", "judge 1")].index.tolist() == [1.5, 2.5, 3.5, 4.5]
        own = frame[frame["judge"] == "judge 1"]["score"]
        assert found.loc[("A", "judge 1", 2.5), "observed"] == own.between(2, 3).mean()
        assert found.attrs["judges"][0]["mean_observed"] == np.floor(own).mean() + 0.5

    def test_levels_are_not_for_asking(self, ordinal):
        with pytest.raises(FitError, match="has its own levels"):
            bj.level_frequencies(ordinal, levels=[1, 2])


def normal_shares(tree, edges, judge):
    """Shares of a judge's scores between edges, by the normal distribution that a fit says."""
    posterior = tree["posterior"].to_dataset().isel(model=0)
    names = [name for name in SIGMA if name != "judge" and f"sigma_{name}" in posterior]
    variance = {name: posterior[f"sigma_{name}"] ** 2 for name in names}
    K = posterior.sizes["judge"]
    variance["scenario:judge"] = variance["scenario:judge"] * (K - 1) / K
    at = posterior["mu"] + posterior["gamma"].sel(judge=judge)
    sd = np.sqrt(sum(variance.values()))
    return np.diff([stats.norm.cdf((edge - at) / sd).mean() for edge in (-np.inf, *edges, np.inf)])


class TestOfALinearFit:
    @pytest.mark.parametrize("repeats", [False, True])
    def test_expected_shares_are_those_of_cells_between_midpoints(self, repeats):
        frame = draw_panel(12, 2, 3, **SETTING, offsets=OFFSETS, values=(1, 2, 3, 5))
        if repeats:
            again = frame[::2].assign(score=frame["score"].iloc[::2].clip(2, 3))
            frame = pd.concat([frame, again])
        scores = bj.read_scores(frame, repeats="keep") if repeats else bj.read_scores(frame)
        tree = linear_fit(scores, SIGMA, draws=500)
        assert ("sigma_generation:judge" in tree["posterior"]) == repeats
        found = bj.level_frequencies(tree, draws=1000)
        for judge in ("judge 1", "judge 3"):
            own = found.loc[("A", judge)]
            expected = normal_shares(tree, [1.5, 2.5, 4], judge)
            error = (own["eti_high"] - own["eti_low"]) / 4 / np.sqrt(1000)
            assert (np.abs(own["expected"] - expected) < 5 * error).all()

    def test_scores_beyond_the_scale_count_as_the_end_and_are_told(self):
        frame = draw_panel(12, 2, 3, **SETTING, offsets=OFFSETS)
        tree = linear_fit(bj.read_scores(frame, scale=(1, 4)), SIGMA, draws=500)
        found = bj.level_frequencies(tree, draws=1000)
        off = [normal_shares(tree, [1, 4], f"judge {k}")[[0, 2]].sum() for k in (1, 2, 3)]
        assert found.attrs["off_scale"]["A"] == pytest.approx(np.mean(off), abs=0.015)
        assert found.attrs["off_scale"]["A"] > 0.05

    def test_residuals_by_judge_are_each_judges_own(self):
        frame = draw_panel(12, 2, 3, **SETTING, offsets=0 * OFFSETS)
        scores = bj.read_scores(frame)
        tree = linear_fit(scores, 0.3, model="linear-judge-residual")
        name = next(n for n in tree["posterior"].data_vars if "residual" in n)
        tree["posterior"][name][..., 1] = 3.0
        found = bj.level_frequencies(tree, draws=100)
        ends = found["expected"].unstack("level")[[1, 4]].sum(axis=1)
        assert ends["A", "judge 2"] > 0.5 > 2 * ends["A", "judge 1"]

    def test_levels_may_be_given(self):
        rng = np.random.default_rng(2)
        frame = draw_panel(12, 2, 3, **SETTING, offsets=OFFSETS)
        frame["score"] = frame["score"] + rng.uniform(-0.4, 0.4, len(frame))
        tree = linear_fit(bj.read_scores(frame), SIGMA)
        with pytest.raises(FitError, match=r"72 distinct values, more than 50.*levels="):
            bj.level_frequencies(tree, draws=100)
        found = bj.level_frequencies(tree, draws=100, levels=[4, 3, 2, 1])
        own = frame[frame["judge"] == "judge 1"]["score"]
        expected = own.round().value_counts(normalize=True).reindex([1, 2, 3, 4], fill_value=0)
        np.testing.assert_allclose(found.loc[("A", "judge 1"), "observed"], expected)
        assert found.attrs["judges"][0]["mean_observed"] == pytest.approx(own.mean())
        with pytest.raises(BayesJudgeError, match="two different numbers"):
            bj.level_frequencies(tree, draws=100, levels=[1, 1])

    def test_a_fit_that_does_not_say_its_family_is_linear(self):
        tree = linear_fit(bj.read_scores(uneven()), SIGMA, model="linear-paper")
        found = bj.level_frequencies(tree, draws=100)
        del tree.attrs["family"]
        pd.testing.assert_frame_equal(bj.level_frequencies(tree, draws=100), found)


@pytest.fixture(scope="module")
def at_the_ceiling():
    return bj.read_scores(ceiling(), scale=(1, 5))


class TestCeiling:
    """A linear fit does not reproduce scores at a ceiling, an ordinal one does."""

    def test_a_linear_fit_fails_and_says_of_whom(self, at_the_ceiling):
        estimates = bj.reml(at_the_ceiling, interaction=True).loc["A", "estimate"]
        sigma = {name: max(value, 1e-6) ** 0.5 for name, value in estimates.items()}
        sigma["judge"] = 0.3
        tree = linear_fit(at_the_ceiling, sigma, draws=250, spread=0.1)
        found = bj.level_frequencies(tree)
        for k in (1, 2, 3):
            top = found.loc[("A", f"judge {k}", 5.0)]
            assert not top["inside"]
            assert top["observed"] > top["eti_high"]
        assert len(found.attrs["misfits"]) == 3
        assert found.attrs["misfits"][0].startswith("Judge 'judge 1' on model 'A' (p = 0.002): ")
        assert "level 5 is " in found.attrs["misfits"][0]
        assert found.attrs["off_scale"]["A"] > 0.1
        for row in found.attrs["judges"]:
            assert row["highest_observed"] > 1.2 * row["highest_expected"]
            # The means are what a linear model does reproduce.
            assert row["mean_eti_low"] < row["mean_observed"] < row["mean_eti_high"]

    def test_an_ordinal_fit_passes(self, at_the_ceiling):
        found = bj.level_frequencies(ordinal_fit(at_the_ceiling, at="mode", draws=250))
        assert found["inside"].mean() > 0.9
        assert not found.attrs["misfits"]
        assert found.attrs["off_scale"] == {"A": 0.0}
        for row in found.attrs["judges"]:
            assert row["p_value"] > 0.05
            assert row["highest_observed"] == pytest.approx(row["highest_expected"], abs=0.05)
            assert row["mean_eti_low"] < row["mean_observed"] < row["mean_eti_high"]

    def test_a_judge_unlike_the_others_is_named(self):
        frame = ceiling()
        odd = frame["judge"] == "judge 2"
        frame.loc[odd, "score"] = np.where(np.arange(odd.sum()) % 2, 1, 5)
        found = bj.level_frequencies(ordinal_fit(bj.read_scores(frame), at="mode", draws=250))
        assert any(text.startswith("Judge 'judge 2'") for text in found.attrs["misfits"])


def test_p_values_of_tables_from_the_model_are_uniform():
    # All draws are at one point, whatever the table: as if parameters had not been fitted.
    values = []
    known = SETTING
    for seed in range(31):
        frame = draw_panel(10, 2, 3, **known, offsets=0 * OFFSETS, seed=seed)
        scores = bj.read_scores(frame, levels=[1, 2, 3, 4])
        tree = ordinal_fit(scores, draws=50, spread=0.0, seed=seed)
        if seed == 0:  # its own parameters are those of the tables to come
            thresholds, sigma = (found[0, 0] for found in parameters_of(tree))
            known = {"thresholds": thresholds, "sigma_scenario": sigma[0]}
            known["sigma_generation"] = sigma[1]
            continue
        judges = bj.level_frequencies(tree, seed=seed, draws=100).attrs["judges"]
        values.append(judges[seed % 3]["p_value"])
    assert stats.kstest(values, "uniform").pvalue > 1e-3


class TestWhatIsReported:
    def test_settings_and_judges(self, frequencies):
        attrs = frequencies.attrs
        assert (attrs["prob"], attrs["draws"]) == (0.95, 500)
        assert attrs["off_scale"] == {"A": 0.0, "B": 0.0}
        assert [(row["model"], row["judge"]) for row in attrs["judges"]] == list(
            frequencies.index.droplevel("level").unique()
        )
        own = uneven().query("model == 'B' and judge == 'judge 3'")["score"]
        last = attrs["judges"][-1]
        assert last["mean_observed"] == pytest.approx(own.mean())
        assert last["lowest_observed"] == (own == 1).mean()
        assert last["highest_observed"] == (own == 5).mean()
        assert last["highest_expected"] == frequencies.loc[("B", "judge 3", 5), "expected"]
        assert 0 < last["p_value"] <= 1
        json.dumps(attrs)

    def test_tables_can_be_put_together(self, frequencies):
        assert len(pd.concat([frequencies, frequencies.copy()])) == 2 * len(frequencies)

    def test_the_same_seed_gives_the_same_numbers(self, ordinal, frequencies):
        pd.testing.assert_frame_equal(bj.level_frequencies(ordinal, seed=1), frequencies)
        other = bj.level_frequencies(ordinal, seed=2)
        assert not other["expected"].equals(frequencies["expected"])
        np.testing.assert_allclose(other["expected"], frequencies["expected"], atol=0.03)

    def test_all_draws_are_used_where_there_are_few(self):
        tree = ordinal_fit(bj.read_scores(uneven()), draws=60)
        assert bj.level_frequencies(tree).attrs["draws"] == 120

    @pytest.mark.parametrize(
        ("setting", "text"),
        [
            ({"prob": 1.0}, "prob = 1.0 must lie between 0 and 1"),
            ({"draws": 99}, "draws = 99 must be a whole number of at least 100"),
            ({"draws": 200.5}, "draws = 200.5 must be a whole number"),
        ],
    )
    def test_settings_out_of_range_are_refused(self, ordinal, setting, text):
        with pytest.raises(BayesJudgeError, match=text):
            bj.level_frequencies(ordinal, **setting)

    def test_what_is_no_fit_is_refused(self):
        with pytest.raises(FitError, match="needs a fit"):
            bj.level_frequencies(pd.DataFrame())
