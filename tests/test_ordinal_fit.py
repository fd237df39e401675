"""Ordinal fits: their trees at draws that are given, and a few that are really sampled."""

import json

import arviz_stats as azs
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from ordinal_by_hand import cell_moments, log_likelihood_by_scenario
from ordinal_panels import draw_panel
from panels import crossed, frame_of
from plain_ordinal import plain_model
from scipy import stats
from test_ordinal_layout import DESIGNS, TABLES, leveled
from unsampled_fits import ordinal_fit

import bayesjudge as bj
from bayesjudge.design.cells import cells_by_model
from bayesjudge.errors import BayesJudgeError
from bayesjudge.posterior.effects import calls_of
from bayesjudge.priors import induced_dirichlet_logpdf
from bayesjudge.specs import read_spec

TRUTH = {
    "thresholds": np.array([-2.5, -1.0, 0.5, 2.0]),
    "sigma_scenario": 1.5,
    "sigma_generation": 0.9,
    "offsets": np.array([-0.8, 0.1, 0.7]),
}
LEVELS = [1, 2, 3, 4, 5]


def inside(tree, name, truth, prob=0.998):
    """Whether all entries of a variable have the truth in their interval."""
    tail = (1 - prob) / 2
    low, high = tree["posterior"][name].quantile([tail, 1 - tail], ("chain", "draw")).to_numpy()
    return bool(((low < truth) & (truth < high)).all())


class At:
    """One draw of a tree, as the model of one evaluated model has it."""

    def __init__(self, tree, model, chain=1, draw=7):
        one = tree["posterior"].to_dataset().isel(chain=chain, draw=draw, model=model)
        judges = np.flatnonzero(tree["constant_data"]["n_calls"].isel(model=model))
        offset = one["latent_gamma"].to_numpy()[judges]
        threshold = one["threshold"].to_numpy()
        scale = one["latent_scale"].to_numpy()[judges] if "latent_scale" in one else 1.0
        mean = float(one["latent_mu"]) if "latent_mu" in one else 0.0
        spread = np.multiply.outer(scale * np.ones(len(judges)), threshold - threshold.mean())
        moved = mean + np.nan_to_num(offset)
        self.thresholds = threshold.mean() + spread - moved[:, None]
        self.sigma = [
            sum(
                float(one[name])
                for name in one.data_vars
                if str(name).startswith(f"latent_sigma_{term}") and not np.isnan(one[name])
            )
            for term in ("scenario", "generation")
        ]
        self.judges, self.one = judges, one


@pytest.fixture(scope="module", params=TABLES)
def unsampled(request):
    spec, rows = TABLES[request.param]
    scores = leveled(rows, seed=2)
    return scores, ordinal_fit(scores, spec.name, keep=True)


class TestTree:
    @pytest.mark.parametrize("name", DESIGNS)
    def test_components_are_what_the_design_can_tell(self, name):
        rows, _, known, why = DESIGNS[name]
        tree = ordinal_fit(leveled(rows))
        found = bj.components(tree)
        assert tuple(found["component"].to_numpy()) == known
        assert json.loads(tree.attrs["sums"]) == why
        assert (found > 0).all()
        # They are the parts of the variance of a random cell, draw by draw.
        for draw in range(3):
            at = At(tree, 0, draw=draw)
            link = tree.attrs["link"]
            mean, variance = cell_moments(at.thresholds, at.sigma, np.array(LEVELS), link)
            parts = found.isel(chain=1, draw=draw, model=0)
            assert float(parts.sum()) == pytest.approx(variance, rel=1e-6)
            assert float(at.one["mu"]) == pytest.approx(mean.mean(), abs=1e-6)
            if len(mean) > 1:
                np.testing.assert_allclose(at.one["gamma"], mean - mean.mean(), atol=1e-6)
                dispersion = float(parts.sel(component="judge"))
                assert dispersion == pytest.approx(np.var(mean), rel=1e-6)

    def test_holds_the_groups_that_are_documented(self, unsampled):
        scores, tree = unsampled
        assert set(tree.children) == {
            "posterior",
            "sample_stats",
            "log_likelihood",
            "log_prior",
            "observed_data",
            "constant_data",
        }
        posterior = tree["posterior"].to_dataset()
        assert {"mu", "gamma", "variance", "threshold", "latent_gamma"} <= set(posterior)
        assert ("latent_mu" in posterior) == (len(scores.models) > 1)
        assert ("latent_scale" in posterior) == (tree.attrs["model"] == "ordinal_judge_scale")
        assert posterior["cut"].to_numpy().tolist() == ["1|2", "2|3", "3|4", "4|5"]
        levels = tree["constant_data"]["level_count"]
        assert levels["level"].to_numpy().tolist() == LEVELS
        assert int(levels.sum()) == len(scores.calls)
        assert tree.attrs["family"] == "cumulative"
        assert tree.attrs["link"] == read_spec(tree.attrs["model"]).link
        np.testing.assert_array_equal(calls_of(tree).score, scores.calls.score)

    def test_models_and_judges_have_what_is_theirs(self, unsampled):
        scores, tree = unsampled
        posterior = tree["posterior"].to_dataset()
        for cells in cells_by_model(scores.calls, len(scores.models)):
            one = posterior.isel(model=cells.model)
            own = np.isin(np.arange(len(scores.judges)), cells.judge_ids) & (cells.n_judges > 1)
            for name in ("gamma", "latent_gamma"):
                values = one[name].transpose("judge", ...).to_numpy()
                assert np.isfinite(values[own]).all()
                assert np.isnan(values[~own]).all()
                np.testing.assert_allclose(np.nansum(values, axis=0), 0, atol=1e-9)
            assert np.isfinite(one["mu"]).all()
        assert (posterior["threshold"].diff("cut") > 0).all()
        if "latent_mu" in posterior:
            np.testing.assert_allclose(posterior["latent_mu"].sum("model"), 0, atol=1e-9)
        if "latent_scale" in posterior:
            np.testing.assert_allclose(np.log(posterior["latent_scale"]).sum("judge"), 0, atol=1e-9)

    def test_log_likelihood_is_that_of_each_scenario_given_the_draw(self, unsampled):
        scores, tree = unsampled
        expected = np.zeros(len(scores.scenarios))
        for cells in cells_by_model(scores.calls, len(scores.models)):
            at = At(tree, cells.model)
            level = cells.score.astype(int) - 1
            np.testing.assert_array_equal(at.judges, cells.judge_ids)
            expected[cells.scenario_ids] += log_likelihood_by_scenario(
                cells, level, at.thresholds, at.sigma, tree.attrs["link"]
            )
        found = tree["log_likelihood"]["score"].isel(chain=1, draw=7)
        assert found["scenario"].to_numpy().tolist() == list(scores.scenarios)
        np.testing.assert_allclose(found, expected, atol=5e-5)

    def test_log_prior_is_that_of_thresholds_means_scales_and_sigmas(self, unsampled):
        _, tree = unsampled
        spec = read_spec(tree.attrs["model"])
        posterior, prior = tree["posterior"].to_dataset(), tree["log_prior"].to_dataset()
        # Thresholds in units of the spread of scenarios, generations and the link's noise.
        noise = np.pi**2 / 3 if spec.link == "logit" else 1.0
        effects = [
            (posterior[name] ** 2).fillna(0.0)
            for name in posterior
            if str(name).startswith(("latent_sigma_scenario", "latent_sigma_generation"))
        ]
        unit = np.sqrt(1 + sum(x.mean("model") for x in effects) / noise)
        threshold, shape = posterior["threshold"].transpose("chain", "draw", "cut"), (2, 20, 1)
        unit = np.broadcast_to(unit, shape[:2]).reshape(shape)
        concentration = spec.threshold_prior.kwargs["total"] / 5
        np.testing.assert_allclose(
            prior["threshold"],
            induced_dirichlet_logpdf(threshold / unit, concentration, spec.link)
            - 4 * np.log(unit[..., 0]),
        )
        sigmas = [name for name in posterior if str(name).startswith("latent_sigma_")]
        for name in sigmas:
            sd = spec.sd["judge"].kwargs["sigma"]
            expected = stats.halfnorm(scale=sd).logpdf(posterior[name])
            np.testing.assert_allclose(prior[name], np.nan_to_num(expected))
        zero_sums = [name for name in ("latent_mu", "latent_scale") if name in posterior]
        for name in zero_sums:
            values = posterior[name].transpose("chain", "draw", ...).to_numpy()
            values = np.log(values) if name == "latent_scale" else values
            sd = (spec.mean if name == "latent_mu" else spec.threshold_scale).kwargs["sigma"]
            # All but one of them, given which the last is known: a Jacobian of the root of n.
            size = values.shape[-1]
            covariance = sd**2 * (np.eye(size - 1) - 1 / size)
            density = stats.multivariate_normal(np.zeros(size - 1), covariance)
            expected = density.logpdf(values[..., :-1]) - 0.5 * np.log(size)
            np.testing.assert_allclose(prior[name], expected, rtol=1e-6)
        assert set(prior) == {"threshold", *zero_sums, *sigmas}

    def test_summaries_read_it(self, unsampled):
        scores, tree = unsampled
        means, offsets = bj.panel_means(tree), bj.judge_offsets(tree)
        assert list(means.index) == list(scores.models)
        np.testing.assert_allclose(
            means["mean"], tree["posterior"]["mu"].mean(("chain", "draw")), rtol=1e-12
        )
        K = len(scores.judges)
        for cells in cells_by_model(scores.calls, len(scores.models)):
            label = scores.models[cells.model]
            panel = "one judge" if K == 1 else f"all {K} judges"
            if cells.n_judges < K:
                panel = f"judge subset only: {cells.n_judges} of {K}"
            assert means.loc[label, "panel"] == panel
            own = offsets[offsets.index.get_level_values("model") == label]
            assert len(own) == (cells.n_judges if cells.n_judges > 1 else 0)
            assert own["mean"].sum() == pytest.approx(0, abs=1e-9)
            assert own["p_positive"].between(0, 1).all()

    def test_survives_the_disk(self, unsampled, tmp_path):
        _, tree = unsampled
        again = bj.load(bj.save(tree, tmp_path / "fit.nc"))
        xr.testing.assert_identical(again, tree)

    @pytest.mark.parametrize("design", ["one call a scenario", "one call a generation"])
    def test_noise_that_is_wider_than_that_of_another_model_is_seen(self, design):
        """All of B's effects are in its noise, and A's are not: thresholds have one unit."""
        truth = TRUTH | {"sigma_scenario": 1.8, "sigma_generation": 1.2}
        both = draw_panel(300, 2, 3, **truth, seed=3, models=("A", "B"))
        b = both["model"] == "B"
        answer = both["scenario"] if "scenario" in design else both["scenario"] * 2
        answer = answer + both["generation"]
        turn = both["judge"] == "judge " + (answer % 3 + 1).astype(str)
        once = (both["generation"] == 1) | ("scenario" not in design)
        frame = both[~b | (turn & once)]
        tree = ordinal_fit(bj.read_scores(frame, levels=LEVELS), at="mode", draws=300)
        thresholds = truth["thresholds"] - truth["offsets"][:, None]
        sigma = truth["sigma_scenario"], truth["sigma_generation"]
        mean, variance = cell_moments(thresholds, sigma, np.array(LEVELS), "logit")
        own = bj.components(tree).sel(model="B").sum("component")
        assert abs(float(own.mean()) - variance) < 3 * float(own.std())
        mu = tree["posterior"]["mu"].sel(model="B")
        assert abs(float(mu.mean()) - mean.mean()) < 3 * float(mu.std())

    def test_levels_that_look_alike_have_cuts_of_their_own(self):
        frame = leveled(crossed(6, 2, 3)).frame
        close = {1: 1.0, 2: 1.0000001, 3: 1.0000002, 4: 2.0, 5: 3.0}
        scores = bj.read_scores(
            frame.assign(score=frame["score"].map(close)), levels=list(close.values())
        )
        cuts = ordinal_fit(scores)["posterior"]["cut"].to_numpy().tolist()
        assert cuts == [
            "1.0|1.0000001",
            "1.0000001|1.0000002",
            "1.0000002|2.0",
            "2.0|3.0",
        ]


@pytest.fixture(scope="module")
def sampled():
    frame = draw_panel(30, 3, 3, **TRUTH, seed=2)
    scores = bj.read_scores(frame, levels=LEVELS)
    stages = []
    tree = bj.fit(scores, "ordinal", seed=1, on_stage=stages.append)
    return scores, tree, stages


class TestSampled:
    def test_samples_well(self, sampled):
        _, tree, stages = sampled
        assert tree.attrs["verdict"] == "passed", tree.attrs["problems"]
        assert tree.attrs["divergences"] == 0
        assert tree.attrs["tune"] == 200
        assert tree.attrs["lattice_error"] < 1e-3
        assert len(stages) == len(set(stages)) == 5

    def test_brackets_the_truth(self, sampled):
        _, tree, _ = sampled
        assert inside(tree, "threshold", TRUTH["thresholds"])
        assert inside(tree, "latent_sigma_scenario", TRUTH["sigma_scenario"])
        assert inside(tree, "latent_sigma_generation", TRUTH["sigma_generation"])
        assert inside(tree, "latent_gamma", TRUTH["offsets"])
        sigma = TRUTH["sigma_scenario"], TRUTH["sigma_generation"]
        thresholds = TRUTH["thresholds"] - TRUTH["offsets"][:, None]
        mean, variance = cell_moments(thresholds, sigma, np.array(LEVELS), "logit")
        assert inside(tree, "mu", mean.mean())
        assert inside(tree, "gamma", mean - mean.mean())
        total = bj.components(tree).sum("component").to_numpy()
        low, high = np.quantile(total, [0.001, 0.999])
        assert low < variance < high

    def test_means_and_offsets_are_those_of_the_table(self, sampled):
        scores, tree, _ = sampled
        by_judge = scores.frame.groupby("judge")["score"].mean()
        offsets = bj.judge_offsets(tree).droplevel("model")
        difference = offsets["mean"] - (by_judge - by_judge.mean())
        assert (abs(difference) < offsets["sd"]).all()  # they are drawn together a little
        (mean,), (sd,) = (bj.panel_means(tree)[column] for column in ("mean", "sd"))
        assert abs(mean - by_judge.mean()) < 0.3 * sd

    def test_repeats_exactly_from_a_seed_whatever_the_order_of_rows(self, sampled):
        scores, _, _ = sampled
        shuffled = bj.read_scores(scores.frame.sample(frac=1, random_state=5), levels=LEVELS)
        one, again, other = (
            bj.fit(table, "ordinal", seed=seed, draws=50, tune=50)
            for table, seed in ((scores, 1), (shuffled, 1), (scores, 2))
        )
        for group in ("posterior", "log_likelihood", "log_prior", "sample_stats"):
            xr.testing.assert_identical(one[group].to_dataset(), again[group].to_dataset())
        assert one.attrs["data_sha256"] == again.attrs["data_sha256"]
        assert not np.array_equal(one["posterior"]["mu"], other["posterior"]["mu"])

    def test_arviz_reads_it(self, sampled):
        import arviz as az

        _, tree, _ = sampled
        summary = az.summary(tree, var_names=["mu", "threshold"])
        assert list(summary.index) == ["mu[A]", *(f"threshold[{k}|{k + 1}]" for k in range(1, 5))]
        assert az.loo(tree).n_data_points == 30
        names = ["latent_sigma_scenario", "mu"]
        assert len(az.psense_summary(tree, var_names=names)) == 2


def test_two_models_with_half_points_and_levels_that_hardly_occur():
    """One declared level never occurs, one occurs once; model B lacks a judge."""
    values = np.array([1, 1.5, 2, 2.5, 3])
    frame = draw_panel(
        *(30, 2, 3),
        thresholds=[-2, -0.5, 1, 2],
        sigma_scenario=1.2,
        sigma_generation=0.8,
        offsets=[[-0.8, 0.1, 0.7], [-0.5, 0.5, 0]],
        values=values,
        models=("A", "B"),
        means=(0.6, -0.6),
        seed=4,
    )
    frame = frame[(frame["model"] == "A") | (frame["judge"] != "judge 3")].reset_index(drop=True)
    frame.loc[17, "score"] = 3.5
    scores = bj.read_scores(frame, levels=[1, 1.5, 2, 2.5, 3, 3.5, 4])
    tree = bj.fit(scores, "ordinal-probit", seed=3, keep_unused_levels=True)
    assert tree.attrs["model"] == tree.attrs["spec"] == "ordinal_probit"
    assert tree.attrs["verdict"] == "passed", tree.attrs["problems"]
    assert "1 declared level is never used (4)" in tree.attrs["notes"]
    assert "1 level is used only once" in tree.attrs["notes"]
    posterior = tree["posterior"].to_dataset()
    assert posterior["mu"].dims == ("chain", "draw", "model")
    assert posterior["cut"].to_numpy().tolist()[-2:] == ["3|3.5", "3.5|4"]
    assert tree["constant_data"]["level_count"].to_numpy()[-2:].tolist() == [1, 0]
    better = posterior["mu"].sel(model="A") > posterior["mu"].sel(model="B")
    assert float(better.mean()) > 0.97
    assert inside(tree, "latent_mu", np.array([0.6, -0.6]))
    offsets = bj.judge_offsets(tree)
    assert list(offsets.index) == [("A", f"judge {k}") for k in (1, 2, 3)] + [
        ("B", f"judge {k}") for k in (1, 2)
    ]
    assert bj.panel_means(tree).loc["B", "panel"] == "judge subset only: 2 of 3"
    found = bj.components(tree)
    assert np.isfinite(found).all()
    rows = frame.groupby("model")["score"]
    assert (abs(bj.panel_means(tree)["mean"] - rows.mean()) < 0.2).all()
    total = found.sum("component").mean(("chain", "draw"))
    np.testing.assert_allclose(total, rows.var(), rtol=0.25)


def test_a_scale_for_each_judge():
    scales = np.array([0.6, 1.0, 1 / 0.6])
    thresholds = np.array([-2.5, -1.0, 0.5, 2.0])
    centre = thresholds.mean()
    frame = draw_panel(
        *(40, 2, 3),
        **TRUTH | {"thresholds": centre + scales[:, None] * (thresholds - centre)},
        seed=5,
    )
    # In draw_panel a row of thresholds is one judge's.
    tree = bj.fit(bj.read_scores(frame, levels=LEVELS), "ordinal_judge_scale", seed=1)
    assert tree.attrs["verdict"] == "passed", tree.attrs["problems"]
    assert inside(tree, "latent_scale", scales)
    assert inside(tree, "latent_gamma", TRUTH["offsets"])
    assert inside(tree, "threshold", thresholds)
    assert inside(tree, "latent_sigma_scenario", TRUTH["sigma_scenario"])


def test_a_rotation_of_judges_with_one_call_a_scenario():
    """Only thresholds and offsets are left: all effects are in the noise of the link."""
    frame = draw_panel(240, 1, 3, **TRUTH, seed=6)
    turn = frame["scenario"].mod(3).add(1).astype(str)
    frame = frame[frame["judge"] == "judge " + turn]
    tree = bj.fit(bj.read_scores(frame, levels=LEVELS), "ordinal", seed=1)
    assert tree.attrs["verdict"] == "passed", tree.attrs["problems"]
    assert "share no scenario" in tree.attrs["warnings"]
    found = bj.components(tree)
    total = "scenario+generation+scenario:judge+generation:judge+residual"
    assert found["component"].to_numpy().tolist() == [total, "judge"]
    assert not [name for name in tree["posterior"] if "sigma_scenario" in str(name)]
    by_judge = frame.groupby("judge")["score"]
    offsets = bj.judge_offsets(tree)["mean"].droplevel("model")
    raw = by_judge.mean() - by_judge.mean().mean()
    assert (abs(offsets - raw) < 0.15).all()
    within = by_judge.var().mean()
    assert float(found.sel(component=total).mean()) == pytest.approx(within, rel=0.15)


def test_one_judge_whose_continuous_scores_are_cut_into_bins():
    rng = np.random.default_rng(7)
    frame = draw_panel(40, 4, 1, **TRUTH | {"offsets": [0.0]}, seed=8).drop(columns="judge")
    frame["score"] += rng.uniform(-0.5, 0.5, len(frame))
    scores = bj.read_scores(frame, scale=(0.5, 5.5), judge_name="me")
    tree = bj.fit(scores, "ordinal", seed=1, bins=5)
    assert tree.attrs["verdict"] == "passed", tree.attrs["problems"]
    assert "cut into 5 bins" in tree.attrs["notes"]
    assert tree["constant_data"]["level"].to_numpy().tolist() == LEVELS
    assert bj.components(tree)["component"].to_numpy().tolist() == [
        "scenario",
        "generation+residual",
    ]
    assert inside(tree, "mu", frame["score"].mean(), prob=0.95)
    assert bj.judge_offsets(tree).empty
    assert bj.panel_means(tree)["panel"].tolist() == ["one judge"]


# What is compared with the plain model: our name, and its name there.
COMPARED = {
    "latent_sigma_scenario": "sigma_scenario",
    "latent_sigma_generation": "sigma_generation",
    "latent_sigma_judge": "sigma_judge",
    "latent_gamma": "gamma",
    "threshold": "threshold",
}


@pytest.mark.parametrize("name", ["ordinal"])
def test_agrees_with_explicit_latents_in_plain_pymc(name):
    compare_with_plain(name)


@pytest.mark.evidence
@pytest.mark.parametrize("name", ["ordinal_probit", "ordinal_judge_scale"])
def test_others_agree_with_explicit_latents_in_plain_pymc(name):
    compare_with_plain(name, draws=5000)


def compare_with_plain(name, draws=2000):
    """Means and sds of all parameters within Monte Carlo error: an independent statement."""
    spec = read_spec(name)
    # A small effect of generations is sampled badly where it is explicit.
    truth = TRUTH | {"sigma_generation": 1.6}
    frame = draw_panel(25, 3, 3, **truth, link=spec.link, seed=9)
    ours = bj.fit(bj.read_scores(frame, levels=LEVELS), name, seed=1, draws=2000)
    with plain_model(
        frame["score"] - 1,
        frame["scenario"],
        frame["generation"],
        frame["judge"],
        n_levels=5,
        link=spec.link,
        sd_scale=spec.sd["scenario"].kwargs["sigma"],
        judge_scale=spec.threshold_scale is not None,
    ):
        theirs = pm.sample(
            draws=draws,
            tune=1000,
            chains=4,
            cores=2,
            random_seed=2,
            nuts_sampler="nutpie",
            target_accept=0.9,
            progressbar=False,
            compute_convergence_checks=False,
        )
    scores = []
    for own, other in COMPARED.items():
        pair = [
            tree["posterior"][key].transpose("chain", "draw", ...).to_numpy()
            for tree, key in ((ours, own), (theirs, other))
        ]
        pair = [values.reshape(*values.shape[:2], -1) for values in pair]
        assert pair[0].shape[2] == pair[1].shape[2]
        for k in range(pair[0].shape[-1]):
            a, b = (values[..., k] for values in pair)
            assert min(ess(a), ess(b)) > 1000, own
            for method, statistic in (("mean", np.mean), ("sd", np.std)):
                error = np.hypot(*(mcse(values, method) for values in (a, b)))
                scores.append((statistic(a) - statistic(b)) / error)
    scores = np.array(scores)
    assert np.abs(scores).max() < 4.5
    assert np.square(scores).mean() < 2


def mcse(values, method):
    array = xr.DataArray(values, dims=("chain", "draw"), name="x")
    return float(azs.mcse(array.to_dataset(), method=method)["x"])


def ess(values):
    array = xr.DataArray(values, dims=("chain", "draw"), name="x")
    return float(azs.ess(array.to_dataset())["x"])


@pytest.mark.parametrize(
    ("scores", "options", "says"),
    [
        (lambda: continuous(), {}, r"continuous scores.*bins=10"),
        (lambda: continuous(), {"bins": 1}, "bins = 1 must be a whole number"),
        (lambda: continuous(), {"model": "linear", "bins": 5}, "linear needs none"),
        (lambda: leveled(crossed(6, 2, 3)), {"bins": 9}, "bins=9 is not needed"),
        (lambda: leveled(crossed(6, 2, 3), low=5), {}, "nothing varies"),
        (
            lambda: leveled(crossed(6, 2, 3), levels=2),
            {"model": "ordinal_judge_scale"},
            "needs three levels or more",
        ),
        (
            lambda: leveled(crossed(6, 2, 1)),
            {"model": "ordinal_judge_scale"},
            "there is one judge",
        ),
        (lambda: leveled(crossed(1, 1, 3)), {}, "no variance can be estimated"),
        (lambda: leveled(crossed(6, 2, 3)), {"model": "ordinal-probbit"}, "did you mean"),
        (lambda: leveled(crossed(6, 2, 3)), {"tune": 0}, "tune = 0 must be"),
        (lambda: leveled(crossed(6, 2, 3)).frame, {}, "read_scores"),
    ],
)
def test_what_an_ordinal_model_can_not_be_fitted_to(scores, options, says):
    with pytest.raises(BayesJudgeError, match=says):
        bj.fit(scores(), **{"model": "ordinal"} | options)


def continuous():
    return bj.read_scores(frame_of(crossed(6, 2, 3)), scale=(0, 10))
