"""Fits that are really sampled: few, and each looked at from many sides."""

import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from panels import dense_covariance, simulate, variances
from scipy import stats

import bayesjudge as bj
from bayesjudge.design.cells import cells_by_model
from bayesjudge.errors import BayesJudgeError, FitError
from bayesjudge.layout import lay_out
from bayesjudge.posterior.effects import calls_of
from bayesjudge.specs import read_spec

TRUTH = {"scenario": 0.5, "generation": 0.2, "judge": 0.3, "interaction": 0.15, "residual": 0.4}


def panel(n=12, m=2, K=3, models=("A",), seed=0, **changes):
    return simulate(n, m, K, models=models, seed=seed, **(TRUTH | changes))


def read(frame, **options):
    return bj.read_scores(frame, **({"scale": (0, 10), "outside": "keep"} | options))


@pytest.fixture(scope="module")
def small():
    scores = read(panel(models=("A", "B")))
    return scores, bj.fit(scores, seed=1)


@pytest.fixture(scope="module")
def ragged():
    """Model A complete, B with cells missing, C with one generation and two of three judges."""
    full = panel(models=("A", "B", "C"), seed=4)
    keep = np.random.default_rng(0).random(len(full)) < 0.8
    kept = (
        (full["model"] == "A")
        | ((full["model"] == "B") & keep)
        | ((full["model"] == "C") & (full["generation"] == 1) & (full["judge"] != "judge 3"))
    )
    scores = read(full[kept])
    return scores, bj.fit(scores, seed=2)


@pytest.fixture(scope="module")
def mtbench():
    scores = bj.example("mtbench")
    return {name: bj.fit(scores, model=name, seed=1) for name in ("linear", "linear-paper")}


class TestPublishedPanel:
    def test_samples_well(self, mtbench):
        for tree in mtbench.values():
            assert tree.attrs["verdict"] == "passed"
            assert tree.attrs["divergences"] == 0
            assert tree.attrs["rhat_max"] < 1.01
            assert tree.attrs["ess_bulk_min"] > 1000

    def test_brackets_the_published_components(self, mtbench):
        table = bj.compare(mtbench["linear-paper"])
        for (_, component), row in table.iterrows():
            raw = row["anova_raw"]
            if component == "generation" and raw < 0:
                # Published as 0.000: the posterior says how small, and that it is not zero.
                assert 0 < row["eti_low"] < row["eti_high"] < 0.05
            else:
                assert row["eti_low"] < raw < row["eti_high"]
                assert abs(row["mean"] - row["reml"]) < row["sd"]

    def test_the_interaction_brings_back_generation_variance(self, mtbench):
        table = bj.compare(*mtbench.values())
        found = table["linear"]["mean"].unstack("component")["generation"]
        paper = table["linear-paper"]["mean"].unstack("component")["generation"]
        assert (found > paper).all()
        assert len(table.attrs["interaction"]) == 5
        assert any("nothing" in text for text in table.attrs["interaction"])

    def test_means_and_offsets_are_those_of_the_table(self, mtbench):
        tree = mtbench["linear"]
        frame = bj.example("mtbench").frame
        by_judge = frame.groupby(["model", "judge"])["score"].mean().unstack("judge")
        offsets = bj.judge_offsets(tree)["mean"].unstack("judge")
        expected = by_judge.sub(by_judge.mean(axis=1), axis=0)
        np.testing.assert_allclose(offsets, expected.loc[offsets.index, offsets.columns], atol=0.02)
        means = bj.panel_means(tree)
        difference = (means["mean"] - by_judge.mean(axis=1).loc[means.index]).abs()
        assert (difference < 0.2 * means["sd"]).all()


class TestAgreesWithOthers:
    def test_with_explicit_latents_in_plain_pymc(self, small):
        """The same model written out, every effect sampled: an independent statement."""
        scores, tree = small
        cells = cells_by_model(scores.calls, 2)[0]
        n, G, K = cells.n_scenarios, cells.n_generations, cells.n_judges
        with pm.Model():
            mu = pm.Normal("mu", 5, 2.5)
            sigma = {
                name: pm.HalfNormal(name, scale)
                for name, scale in [
                    ("scenario", 1.25),
                    ("generation", 1.25),
                    ("judge", 1.25),
                    ("interaction", 1.25),
                    ("residual", 2.0),
                ]
            }
            alpha = pm.Normal("alpha", 0, 1, shape=n) * sigma["scenario"]
            beta = pm.Normal("beta", 0, 1, shape=G) * sigma["generation"]
            gamma = pm.Deterministic(
                "gamma", pm.ZeroSumNormal("gamma_", 1, shape=K) * sigma["judge"]
            )
            eta = pm.ZeroSumNormal("eta", 1, shape=(n, K)) * sigma["interaction"]
            mean = mu + alpha[cells.scenario] + beta[cells.generation] + gamma[cells.judge]
            mean = mean + eta[cells.scenario, cells.judge]
            pm.Normal("score", mean, sigma["residual"], observed=cells.score)
            with_latents = pm.sample(
                1000,
                tune=1000,
                chains=4,
                cores=2,
                random_seed=3,
                progressbar=False,
                compute_convergence_checks=False,
                nuts={"target_accept": 0.95},
            )
        one, other = tree["posterior"].sel(model="A"), with_latents["posterior"]
        pairs = {
            "mu": "mu",
            "sigma_scenario": "scenario",
            "sigma_generation": "generation",
            "sigma_judge": "judge",
            "sigma_scenario:judge": "interaction",
            "sigma_generation:judge+residual": "residual",
        }
        for ours, theirs in pairs.items():
            a, b = one[ours].to_numpy(), other[theirs].to_numpy()
            error = 4 * np.hypot(a.std() / np.sqrt(800), b.std() / np.sqrt(400))
            assert abs(a.mean() - b.mean()) < error, ours
            assert abs(np.median(a) - np.median(b)) < 1.5 * error, ours
        theirs = other["gamma"].mean(("chain", "draw")).to_numpy()
        np.testing.assert_allclose(one["gamma"].mean(("chain", "draw")), theirs, atol=0.03)

    def test_with_integration_on_a_grid(self):
        """One judge: two standard deviations, integrated numerically."""
        scores = read(panel(n=10, m=3, K=1), judge_name=None)
        tree = bj.fit(scores, seed=1)
        names = ["sigma_scenario+scenario:judge", "sigma_generation+generation:judge+residual"]
        cells = cells_by_model(scores.calls, 1)[0]
        s, e = np.linspace(0.005, 4, 220), np.linspace(0.2, 1.6, 160)
        density = np.empty((len(s), len(e)))
        same = cells.scenario[:, None] == cells.scenario[None, :]
        for a, x in enumerate(s):
            for b, y in enumerate(e):
                V = x**2 * same + y**2 * np.eye(len(same)) + 2.5**2
                root = np.linalg.cholesky(V)
                half = np.linalg.solve(root, cells.score - 5)
                density[a, b] = -np.log(np.diag(root)).sum() - 0.5 * half @ half
        density += stats.halfnorm(scale=1.25).logpdf(s)[:, None]
        density += stats.halfnorm(scale=2.0).logpdf(e)[None, :]
        weight = np.exp(density - density.max())
        weight /= weight.sum()
        for name, grid, own in ((names[0], s, weight.sum(1)), (names[1], e, weight.sum(0))):
            draws = tree["posterior"][name].to_numpy().ravel()
            mean = (own * grid).sum()
            sd = np.sqrt((own * (grid - mean) ** 2).sum())
            assert draws.mean() == pytest.approx(mean, abs=0.1 * sd)
            assert draws.std() == pytest.approx(sd, rel=0.1)


class TestTree:
    def test_repeats_exactly_from_a_seed_whatever_the_order_of_rows(self, small):
        scores, tree = small
        again = bj.fit(read(scores.frame.sample(frac=1, random_state=5)), seed=1)
        xr.testing.assert_identical(tree["posterior"].to_dataset(), again["posterior"].to_dataset())
        xr.testing.assert_identical(
            tree["log_likelihood"].to_dataset(), again["log_likelihood"].to_dataset()
        )
        assert tree.attrs["data_sha256"] == again.attrs["data_sha256"]

    def test_another_seed_gives_other_draws(self, small):
        scores, tree = small
        other = bj.fit(scores, seed=2, draws=50)
        first = other["posterior"]["mu"].to_numpy()
        assert not np.array_equal(first, tree["posterior"]["mu"].to_numpy()[:, :50])

    def test_without_a_seed_one_is_drawn_and_recorded(self, small):
        scores, _ = small
        one = bj.fit(scores, draws=20, tune=50)
        again = bj.fit(scores, seed=one.attrs["seed"], draws=20, tune=50)
        np.testing.assert_array_equal(one["posterior"]["mu"], again["posterior"]["mu"])

    def test_offsets_sum_to_zero(self, small):
        _, tree = small
        np.testing.assert_allclose(tree["posterior"]["gamma"].sum("judge"), 0, atol=1e-12)

    def test_log_likelihood_is_that_of_each_scenario_given_the_draw(self, small):
        scores, _ = small
        one = scores.select(models=["B"])
        tree = bj.fit(one, seed=1, draws=20, tune=50)
        cells = cells_by_model(one.calls, 1)[0]
        draw = tree["posterior"].isel(chain=2, draw=7, model=0)
        value = {
            "scenario": draw["sigma_scenario"],
            "generation": draw["sigma_generation"],
            "interaction": draw["sigma_scenario:judge"],
            "cell": 0.0,
            "judge": 0.0,
        }
        v = variances(
            3,
            **{name: float(x) ** 2 for name, x in value.items()},
            residual=np.full(3, float(draw["sigma_generation:judge+residual"]) ** 2),
        )
        V = dense_covariance(cells, v)
        b = (draw["mu"] + draw["gamma"]).to_numpy()[cells.judge]
        for i in range(cells.n_scenarios):
            own = np.flatnonzero(cells.scenario == i)
            expected = stats.multivariate_normal(b[own], V[np.ix_(own, own)]).logpdf(
                cells.score[own]
            )
            found = tree["log_likelihood"]["score"].isel(chain=2, draw=7, scenario=i)
            assert float(found) == pytest.approx(expected, abs=1e-8)

    def test_log_prior_is_that_of_means_and_sigmas(self, small):
        _, tree = small
        expected = stats.norm(5, 2.5).logpdf(tree["posterior"]["mu"])
        np.testing.assert_allclose(tree["log_prior"]["mu"], expected)
        sigma = tree["posterior"]["sigma_scenario"]
        expected = stats.halfnorm(scale=1.25).logpdf(sigma)
        np.testing.assert_allclose(tree["log_prior"]["sigma_scenario"], expected)
        assert "gamma" not in tree["log_prior"]

    def test_arviz_reads_it(self, small):
        import arviz as az

        _, tree = small
        summary = az.summary(tree, var_names=["mu", "sigma_scenario"])
        assert list(summary.index[:2]) == ["mu[A]", "mu[B]"]
        assert len(az.psense_summary(tree, var_names=["mu"])) == 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few scenarios: ArviZ says that k is high for some
            assert az.loo(tree).n_data_points == 12

    def test_leaves_one_scenario_out_where_models_have_different_ones(self, ragged):
        import arviz as az

        _, tree = ragged
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few scenarios: ArviZ says that k is high for some
            assert az.loo(tree).n_data_points == 12

    @pytest.mark.parametrize(
        "call",
        [
            lambda: bj.fit(None),
            lambda: bj.fit(pd.DataFrame()),
            lambda: bj.fit("scores.csv"),
            lambda: bj.check([1, 2]),
            lambda: bj.anova(pd.DataFrame()),
            lambda: bj.reml(None),
            lambda: bj.judge_means("x"),
            lambda: bj.components(pd.DataFrame()),
            lambda: bj.compare(None),
            lambda: bj.effects(xr.DataTree()),
            lambda: bj.panel_means({}),
            lambda: bj.judge_offsets(1),
        ],
    )
    def test_the_wrong_kind_of_thing_is_refused_with_the_way(self, call):
        with pytest.raises(BayesJudgeError, match=r"read_scores|bayesjudge\.fit"):
            call()

    @pytest.mark.parametrize("prob", [0, 1, 2, 95, -0.1, float("nan")])
    def test_a_probability_is_between_0_and_1(self, small, prob):
        with pytest.raises(BayesJudgeError, match="between 0 and 1"):
            bj.panel_means(small[1], prob=prob)

    def test_records_where_it_came_from(self, small):
        scores, tree = small
        spec = read_spec("linear")
        assert tree.attrs["spec_sha256"] == spec.sha256
        assert tree.attrs["seed"] == 1
        assert tree.attrs["source"] == scores.source
        assert "HalfNormal(sigma=1.25)" in tree.attrs["priors"]
        np.testing.assert_array_equal(calls_of(tree).score, scores.calls.score)

    def test_prior_scale_widens_the_priors(self, small):
        scores, _ = small
        wide = lay_out(scores, read_spec("linear"), prior_scale=2.0)
        assert str(wide.priors["scenario"]) == "HalfNormal(sigma=2.5)"
        assert str(wide.mean_prior) == "Normal(mu=5, sigma=2.5)"


class TestRaggedTables:
    def test_each_model_has_what_its_design_can_tell(self, ragged):
        _, tree = ragged
        components = bj.components(tree)
        known = components.mean(("chain", "draw")).to_pandas().notna()
        assert list(known.columns[known.loc["A"]]) == [
            "scenario",
            "generation",
            "judge",
            "scenario:judge",
            "generation:judge+residual",
        ]
        assert known.loc["A"].equals(known.loc["B"])
        assert list(known.columns[known.loc["C"]]) == [
            "scenario+generation",
            "judge",
            "scenario:judge+generation:judge+residual",
        ]
        assert tree.attrs["verdict"] == "passed", tree.attrs["problems"]

    def test_every_sum_says_why(self, ragged):
        _, tree = ragged
        why = bj.compare(tree).attrs["sums"]
        assert why == {
            "generation:judge+residual": "no call is repeated",
            "scenario+generation": "each scenario has one generation",
            "scenario:judge+generation:judge+residual": (
                "no call is repeated; no judge saw two generations of a scenario"
            ),
        }
        assert "judge subset" in tree.attrs["warnings"]

    def test_offsets_are_those_of_the_judges_that_scored(self, ragged):
        _, tree = ragged
        gamma = tree["posterior"]["gamma"].mean(("chain", "draw")).to_pandas()
        assert gamma.loc["C"].isna().tolist() == [False, False, True]
        assert np.nansum(gamma.loc["C"]) == pytest.approx(0, abs=1e-12)
        assert bj.panel_means(tree)["panel"].tolist() == [
            "all 3 judges",
            "all 3 judges",
            "judge subset only: 2 of 3",
        ]
        assert ("C", "judge 3") not in bj.judge_offsets(tree).index

    def test_closed_forms_stand_beside_where_they_exist(self, ragged):
        _, tree = ragged
        table = bj.compare(tree)
        assert table.loc["A"].notna().all(axis=None) or table.loc["A"]["anova"].notna().all()
        assert table.loc["B"]["anova"].isna().all()
        assert table.loc["B"]["reml"].notna().all()
        far = (table["mean"] - table["reml"]).abs() > 2.5 * table["sd"]
        assert not far.any()

    def test_saves_and_loads(self, ragged, tmp_path):
        _, tree = ragged
        path = bj.save(tree, tmp_path / "fit.nc")
        back = bj.load(path)
        xr.testing.assert_identical(back["posterior"].to_dataset(), tree["posterior"].to_dataset())
        assert back.attrs == tree.attrs
        pd.testing.assert_frame_equal(bj.compare(back), bj.compare(tree))


class TestOtherDesigns:
    def test_a_cyclic_run_with_one_call_a_scenario(self):
        frame = panel(n=60, m=1, K=3)
        frame = frame[frame["judge"] == "judge " + (frame["scenario"] % 3 + 1).astype(str)]
        scores = read(frame)
        assert any("share no scenario" in text for text in bj.check(scores).warnings)
        tree = bj.fit(scores, seed=1)
        assert "share no scenario" in tree.attrs["warnings"]
        (why,) = bj.compare(tree).attrs["sums"].values()
        assert "no call is repeated" in why
        assert tree.attrs["verdict"] == "passed", tree.attrs["problems"]
        found = bj.components(tree)["component"].to_numpy().tolist()
        assert found == ["scenario+generation+scenario:judge+generation:judge+residual", "judge"]
        assert not {"alpha", "beta", "eta"} & set(bj.effects(tree).data_vars)

    def test_repeated_calls_identify_call_noise(self):
        rng = np.random.default_rng(0)
        base = panel(n=60, m=3, K=3, residual=0.3)  # what is now generation:judge and noise below
        frame = pd.concat([base, base], ignore_index=True)
        frame["score"] += rng.normal(0, np.sqrt(0.1), len(frame))
        tree = bj.fit(read(frame, repeats="keep"), seed=1)
        found = bj.components(tree).mean(("chain", "draw")).isel(model=0).to_series()
        assert list(found.index) == [
            "scenario",
            "generation",
            "judge",
            "scenario:judge",
            "generation:judge",
            "residual",
        ]
        # A free effect of variance .3 is .2 within the panel, and .1 more of generation.
        assert found["residual"] == pytest.approx(0.1, rel=0.15)
        assert found["generation:judge"] == pytest.approx(0.2, rel=0.15)
        assert found["generation"] == pytest.approx(0.2 + 0.1, rel=0.3)
        assert found["scenario:judge"] == pytest.approx(0.1, rel=0.4)

    def test_residuals_by_judge(self):
        rng = np.random.default_rng(0)
        frame = panel(n=150, m=3, K=3, residual=0.01)
        noise = frame["judge"].map({"judge 1": 0.3, "judge 2": 0.6, "judge 3": 1.2})
        frame["score"] += rng.normal(0, noise)
        tree = bj.fit(read(frame), model="linear-judge-residual", seed=1)
        sigma = tree["posterior"]["sigma_generation:judge+residual"]
        assert sigma.dims == ("chain", "draw", "model", "judge")
        low, high = sigma.quantile([0.005, 0.995], ("chain", "draw", "model")).to_numpy()
        truth = np.sqrt(np.square([0.3, 0.6, 1.2]) + 0.01)
        assert (low < truth).all()
        assert (truth < high).all()
        assert (np.diff(sigma.mean(("chain", "draw", "model"))) > 0).all()
        residual = bj.components(tree).sel(component="generation:judge+residual")
        np.testing.assert_allclose(residual, (sigma**2).mean("judge"))


class TestEffects:
    def test_are_drawn_from_their_conditionals(self, small):
        """At fixed variances and offsets, moments of the draws are those of a dense Gaussian."""
        scores, tree = small
        cells = cells_by_model(scores.calls, 2)[0]
        posterior = tree["posterior"].to_dataset()
        draw = posterior.isel(chain=0, draw=3)
        fixed = tree.copy(deep=True)
        for name, array in posterior.data_vars.items():
            same = xr.zeros_like(array) + draw[name].drop_vars(["chain", "draw"])
            fixed["posterior"][name] = same.transpose(*array.dims).assign_attrs(array.attrs)
        found = bj.effects(fixed, seed=3)
        one = draw.isel(model=0)
        v = variances(
            3,
            scenario=float(one["sigma_scenario"]) ** 2,
            generation=float(one["sigma_generation"]) ** 2,
            interaction=float(one["sigma_scenario:judge"]) ** 2,
            cell=0.0,
            judge=0.0,
            residual=np.full(3, float(one["sigma_generation:judge+residual"]) ** 2),
        )
        inverse = np.linalg.inv(dense_covariance(cells, v))
        rest = cells.score - (one["mu"] + one["gamma"]).to_numpy()[cells.judge]
        scenario = (cells.scenario[:, None] == np.arange(cells.n_scenarios)).astype(float)
        generation = (cells.generation[:, None] == np.arange(cells.n_generations)).astype(float)
        judge = (cells.judge[:, None] == np.arange(3)) - 1 / 3
        own = cells.generation_ids
        checks = [
            (found["alpha"].isel(model=0).to_numpy(), v.scenario, scenario),
            (found["beta"].to_numpy()[..., own], v.generation, generation),
            (
                found["eta"].isel(model=0, judge=1).to_numpy(),
                v.interaction,
                scenario * judge[:, 1:2],
            ),
        ]
        for draws, variance, design in checks:
            flat = draws.reshape(-1, draws.shape[-1])
            prior = variance * (2 / 3 if design is checks[2][2] else 1.0)
            mean = variance * design.T @ inverse @ rest
            sd = np.sqrt(prior - variance**2 * np.einsum("ij,ik,kj->j", design, inverse, design))
            np.testing.assert_allclose(flat.mean(0), mean, atol=5 * sd.max() / np.sqrt(len(flat)))
            np.testing.assert_allclose(flat.std(0), sd, rtol=0.08)
        np.testing.assert_allclose(found["eta"].sum("judge"), 0, atol=1e-9)

    def test_repeat_from_a_seed(self, ragged):
        _, tree = ragged
        thin = tree.isel(draw=slice(0, 20))
        xr.testing.assert_identical(bj.effects(thin, seed=1), bj.effects(thin, seed=1))
        found = bj.effects(thin, seed=1)
        assert np.isnan(found["eta"].sel(model="C", judge="judge 3")).all()
        assert np.isfinite(found["beta"]).all()


class TestMarks:
    def test_a_fit_too_short_is_marked_everywhere(self, small):
        scores, _ = small
        tree = bj.fit(scores, seed=1, draws=10, tune=5)
        assert tree.attrs["verdict"] == "failed"
        assert bj.problems(tree)
        assert bj.components(tree).attrs["verdict"] == "failed"
        assert bj.compare(tree).attrs["problems"]

    def test_a_crash_while_saving_leaves_the_old_file_whole(self, small, tmp_path, monkeypatch):
        _, tree = small
        path = bj.save(tree, tmp_path / "fit.nc")
        before = path.read_bytes()

        def dies(self, where, **options):
            where.write_bytes(b"half a file")
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(xr.DataTree, "to_netcdf", dies)
        with pytest.raises(FitError, match="No space left"):
            bj.save(tree, path)
        assert path.read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["fit.nc"]

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"engine": "gibbs"}, "no engine 'gibbs'"),
            ({"chains": 0}, "chains = 0"),
            ({"draws": 2.5}, "draws = 2.5"),
            ({"tune": -1}, "tune = -1"),
            ({"prior_scale": 0}, "prior_scale = 0"),
            ({"prior_scale": float("nan")}, "prior_scale = nan"),
            ({"seed": -1}, "seed = -1"),
            ({"seed": 2**40}, "seed = "),
            ({"model": "quadratic"}, "no model 'quadratic'"),
            ({"model": "nowhere.toml"}, "nowhere.toml"),
        ],
    )
    def test_settings_out_of_range_are_refused(self, small, options, says):
        scores, _ = small
        with pytest.raises(BayesJudgeError, match=says):
            bj.fit(scores, **options)

    @pytest.mark.parametrize("content", [b"", b"not a file of ours", None])
    def test_what_is_no_fit_is_refused(self, tmp_path, content):
        path = tmp_path / "x.nc"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(FitError, match=r"x\.nc"):
            bj.load(path)

    def test_a_file_of_another_kind_is_refused(self, tmp_path):
        path = tmp_path / "x.nc"
        xr.Dataset({"a": ("b", [1.0])}).to_netcdf(path, engine="h5netcdf")
        with pytest.raises(FitError, match="does not hold a fit"):
            bj.load(path)

    def test_fits_of_different_tables_are_not_compared(self, small, ragged):
        with pytest.raises(FitError, match="different tables"):
            bj.compare(small[1], ragged[1])


@pytest.mark.parametrize("what", ["one call", "one scenario", "no extent"])
def test_tables_that_can_not_carry_a_model_are_refused(what):
    frame = panel(n=4, m=2, K=2)
    if what == "one call":
        frame = frame.iloc[:1]
    if what == "one scenario":
        frame = frame[(frame["scenario"] == 1) & (frame["generation"] == 1)]
    if what == "no extent":
        frame = frame.assign(score=3.0)
    options = {"scale": None, "outside": "refuse"} if what == "no extent" else {}
    says = "extent" if what == "no extent" else "no variance can be estimated"
    with pytest.raises(BayesJudgeError, match=says):
        bj.fit(read(frame, **options))
