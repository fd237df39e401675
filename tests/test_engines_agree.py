"""Both engines sample one posterior: means, spread and tails, on every kind of design."""

import numpy as np
import pymc as pm
import pytest
from panels import crossed, cyclic, table_of, thinned

import bayesjudge as bj
from bayesjudge.engines import nuts
from bayesjudge.engines.draws import Sampling
from bayesjudge.layout import lay_out
from bayesjudge.models import build, families, to_sigma
from bayesjudge.specs import read_spec

DESIGNS = {
    "balanced": (crossed(20, 2, 4), {}),
    "balanced, repeated calls": (crossed(10, 2, 3, repeats=2), {}),
    "unbalanced": (thinned(crossed(20, 3, 4), 0.7), {}),
    "cyclic": (cyclic(40, 2, 3), {"model": "linear-paper"}),
    "two judges": (crossed(15, 2, 2), {}),
    "five scenarios": (crossed(5, 2, 3), {}),
    "a residual for each judge": (crossed(20, 2, 3), {"model": "linear-judge-residual"}),
    "without interaction": (thinned(crossed(20, 2, 4), 0.8), {"model": "linear-paper"}),
    "several models": (
        {"A": crossed(12, 2, 3), "B": thinned(crossed(12, 2, 3), 0.9), "C": crossed(8, 1, 3)},
        {"model": "linear-paper"},
    ),
}


def no_generation_variance():
    """A table whose closed-form generation variance is negative: the mode is at the boundary."""
    rows = crossed(15, 3, 4)

    def estimate(seed):
        found = bj.anova(table_of(rows, seed=seed))
        return float(found.xs("generation", level="component")["raw"].iloc[0])

    seed = min(range(30), key=estimate)
    assert estimate(seed) < 0
    return table_of(rows, seed=seed)


def apart(quick, slow):
    """Largest differences of means, sds and quantiles of all parameters, in Monte Carlo errors."""
    ess_quick = quick.attrs["importance_ess"]
    ess_slow = min(slow.attrs["ess_bulk_min"], slow.attrs["ess_tail_min"])
    n = 1 / (1 / ess_quick + 1 / ess_slow)
    found = {}
    for name in quick["posterior"].data_vars:
        one, other = (
            tree["posterior"][name].stack(sample=("chain", "draw")).to_numpy()
            for tree in (quick, slow)
        )
        known = np.isfinite(other).all(axis=-1)
        one, other = one[known], other[known]
        sd = other.std(axis=-1)
        # A kurtosis of 9 allows for the long tails of standard deviations.
        found[name, "mean"] = np.abs(one.mean(-1) - other.mean(-1)) / sd * np.sqrt(n)
        found[name, "sd"] = np.abs(np.log(one.std(-1) / sd)) * np.sqrt(n / 2)
        for q in (0.05, 0.5, 0.95):
            below = (other < np.quantile(one, q, axis=-1)[..., None]).mean(-1)
            found[name, f"quantile {q}"] = np.abs(below - q) / np.sqrt(q * (1 - q) / n)
    return {key: float(np.max(value)) for key, value in found.items()}


def assert_agreement(scores, **options):
    quick = bj.fit(scores, engine="psis", seed=1, **options)
    slow = bj.fit(scores, engine="nuts", seed=2, draws=2000, **options)
    assert quick.attrs["engine"] == "psis", quick.attrs["notes"]
    assert quick.attrs["k_hat"] < 0.7
    assert slow.attrs["verdict"] == "passed", slow.attrs["problems"]
    assert slow.attrs["psis_problem"] == ""
    worst = apart(quick, slow)
    assert max(worst.values()) < 4.5, {key: z for key, z in worst.items() if z > 3}


@pytest.mark.parametrize("name", DESIGNS)
def test_on_a_design(name):
    rows, options = DESIGNS[name]
    assert_agreement(table_of(rows, seed=4), **options)


def test_where_the_generation_variance_is_zero():
    assert_agreement(no_generation_variance())


@pytest.mark.parametrize("name", ["mindeval", "mtbench"])
def test_on_a_bundled_panel(name):
    assert_agreement(bj.example(name), model="linear-paper")


class TestCompiledOnce:
    """A second fit of the same shape needs no second compilation."""

    @pytest.mark.parametrize("rows", [crossed(6, 2, 3), thinned(crossed(6, 2, 3), 0.8)])
    def test_other_data_same_graph(self, rows):
        spec = read_spec("linear-paper")
        one, other = (nuts.Graph(lay_out(table_of(rows, seed=seed), spec)) for seed in (0, 1))
        assert one == other
        assert hash(one) == hash(other)

    def test_what_makes_another_graph(self):
        spec, by_judge = read_spec("linear-paper"), read_spec("linear-judge-residual")
        tables = [
            lay_out(table_of(crossed(6, 2, 3), seed=1), spec),
            lay_out(table_of(crossed(6, 2, 3), seed=1), spec, prior_scale=2.0),
            lay_out(table_of(crossed(6, 2, 3), seed=1), by_judge),
            lay_out(table_of(crossed(6, 2, 4), seed=1), spec),
            lay_out(table_of(thinned(crossed(6, 2, 3), 0.8), seed=1), spec),
            lay_out(table_of({"A": crossed(6, 2, 3), "B": crossed(6, 2, 3)}, seed=1), spec),
        ]
        graphs = [nuts.Graph(layout) for layout in tables]
        assert len(set(graphs)) == len(graphs)

    def test_the_draws_are_those_of_pymc(self):
        layout = lay_out(table_of(crossed(8, 2, 3), seed=7), read_spec("linear-paper"))
        found = nuts.sample(layout, Sampling(3, chains=2, draws=40, tune=40))
        tree = pm.sample(
            draws=40,
            tune=40,
            chains=2,
            random_seed=3,
            nuts_sampler="nutpie",
            target_accept=nuts.TARGET_ACCEPT,
            progressbar=False,
            compute_convergence_checks=False,
            model=build(layout),
        )
        (name,) = families(layout)
        expected = to_sigma(layout, name, tree["posterior"][name].to_numpy())
        np.testing.assert_allclose(found.values, expected, rtol=1e-12)

    def test_the_reused_one_gives_the_same_draws(self):
        scores = table_of(thinned(crossed(9, 2, 3), 0.8), seed=5)
        short = {"seed": 1, "chains": 2, "draws": 50, "tune": 50, "model": "linear-paper"}
        nuts._compiled.cache_clear()
        fresh = bj.fit(scores, **short)
        bj.fit(table_of(thinned(crossed(7, 3, 3), 0.8), seed=6), **short)
        again = bj.fit(scores, **short)
        assert nuts._compiled.cache_info().hits > 0
        assert again["posterior"].to_dataset().equals(fresh["posterior"].to_dataset())
