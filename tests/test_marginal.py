"""The marginal likelihoods against the dense multivariate normal, call by call."""

from dataclasses import fields, replace

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from panels import (
    cells_of,
    crossed,
    cyclic,
    dense_covariance,
    dense_log_marginal,
    stacked,
    thinned,
    variances,
)
from scipy import stats

from bayesjudge.design.cells import balance
from bayesjudge.marginal import balanced, gaussian, gaussian_gradient, strata
from bayesjudge.marginal.compiled import value_and_gradient
from bayesjudge.marginal.op import GaussianMarginal
from bayesjudge.marginal.packed import pack
from bayesjudge.marginal.patterns import patterns
from bayesjudge.terms import TERMS

MEAN, SD = 4.0, 2.0
PRIOR = gaussian.Prior(MEAN, SD)
BALANCED = {
    "balanced": crossed(5, 3, 3),
    "one generation": crossed(6, 1, 4),
    "one judge": crossed(4, 3, 1),
    "two judges": crossed(4, 2, 2),
    "one scenario": crossed(1, 4, 3),
    "repeated calls": crossed(4, 2, 3, repeats=2),
    "single call": crossed(6, 1, 1),
}
UNBALANCED = {
    "cells missing": thinned(crossed(6, 4, 4), 0.6),
    "cyclic, one call": cyclic(12, 1, 3),
    "cyclic, two calls": cyclic(9, 2, 4),
    "cyclic, more calls than judges": cyclic(7, 5, 3),
    "unequal repeats": thinned(crossed(5, 3, 3, repeats=3), 0.5, seed=1),
    "unequal generations": [
        (i, j, k) for i in range(6) for j in range(1 + i % 3) for k in range(3)
    ],
}
DESIGNS = BALANCED | UNBALANCED


def table(name, seed=0):
    rows = DESIGNS[name]
    return cells_of(rows, np.random.default_rng(seed).normal(5, 1.3, len(rows)))


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("by_judge", [False, True])
def test_patterns_equal_dense_normal(name, by_judge):
    cells = table(name)
    v = variances(cells.n_judges, by_judge)
    found = gaussian.log_marginal(patterns(cells), v, PRIOR)
    assert found == pytest.approx(dense_log_marginal(cells, v, MEAN, SD), abs=1e-8)


@pytest.mark.parametrize("zero", ["scenario", "generation", "judge", "interaction", "cell"])
def test_patterns_equal_dense_normal_where_a_variance_is_zero(zero):
    cells = table("cells missing")
    v = variances(cells.n_judges, **{zero: 0.0})
    found = gaussian.log_marginal(patterns(cells), v, PRIOR)
    assert found == pytest.approx(dense_log_marginal(cells, v, MEAN, SD), abs=1e-8)


def strata_inputs(cells, v):
    rows = strata.strata_rows([strata.strata(cells, balance(cells))], MEAN, SD)
    by_term = [v.scenario, v.generation, v.judge, v.interaction, v.cell, v.residual[0]]
    return (rows.df, rows.ss, rows.known, rows.coefficients[:, 0, :]), np.array(by_term)


@pytest.mark.parametrize("name", BALANCED)
def test_strata_equal_dense_normal_in_numpy_and_pytensor(name):
    cells = table(name)
    v = variances(cells.n_judges)
    data, by_term = strata_inputs(cells, v)
    dense = dense_log_marginal(cells, v, MEAN, SD)
    assert strata.log_marginal(*data, by_term) == pytest.approx(dense, abs=1e-8)

    symbol = pt.dvector()
    value = strata.log_marginal(*map(pt.constant, data), symbol, xp=pt)
    compiled = pytensor.function([symbol], [value, pt.grad(value, symbol)], mode="FAST_COMPILE")
    found, slope = compiled(by_term)
    assert found == pytest.approx(dense, abs=1e-8)
    _, expected = gaussian_gradient.value_and_gradient(patterns(cells), v, PRIOR)
    by_hand = [float(np.sum(getattr(expected, f.name))) for f in fields(expected)]
    np.testing.assert_allclose(slope, by_hand, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ["cells missing", "unequal repeats", "cyclic, one call"])
def test_op_equals_dense_normal_and_carries_the_gradient(name):
    cells = table(name)
    v = variances(cells.n_judges, by_judge=True)
    row = np.r_[v.scenario, v.generation, v.judge, v.interaction, v.cell, v.residual]
    packed = pack([(patterns(cells), np.arange(cells.n_judges))])
    symbol = pt.dmatrix()
    value = GaussianMarginal()(symbol, np.array([MEAN, SD]), *packed)[0]
    compiled = pytensor.function([symbol], [value, pt.grad(value, symbol)], mode="FAST_COMPILE")
    found, slope = compiled(row[None])
    assert found == pytest.approx(dense_log_marginal(cells, v, MEAN, SD), abs=1e-8)
    _, expected = gaussian_gradient.value_and_gradient(patterns(cells), v, PRIOR)
    by_hand = np.r_[tuple(np.atleast_1d(getattr(expected, f.name)) for f in fields(expected))]
    np.testing.assert_allclose(slope[0], by_hand, rtol=1e-12)


def test_op_places_the_judges_of_each_model_in_the_table():
    cells = table("cells missing")
    v = variances(cells.n_judges, by_judge=True)
    where = np.array([1, 2, 4, 5])
    residual = np.full(7, 99.0)
    residual[where] = v.residual
    row = np.r_[v.scenario, v.generation, v.judge, v.interaction, v.cell, residual]
    value, slope = value_and_gradient(
        row[None], np.array([MEAN, SD]), *pack([(patterns(cells), where)])
    )
    assert value == pytest.approx(dense_log_marginal(cells, v, MEAN, SD), abs=1e-8)
    assert slope[0, 5] == 0.0


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("by_judge", [False, True])
def test_compiled_loops_equal_the_statement_in_numpy(name, by_judge):
    cells = table(name)
    v = variances(cells.n_judges, by_judge)
    value, gradient = gaussian_gradient.value_and_gradient(patterns(cells), v, PRIOR)
    row = np.r_[v.scenario, v.generation, v.judge, v.interaction, v.cell, v.residual]
    ids = np.arange(cells.n_judges)
    found, slope = value_and_gradient(
        row[None], np.array([MEAN, SD]), *pack([(patterns(cells), ids)])
    )
    by_hand = np.r_[tuple(np.atleast_1d(getattr(gradient, f.name)) for f in fields(gradient))]
    assert found == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(slope[0], by_hand, rtol=1e-9, atol=1e-9)


def test_compiled_loops_take_models_with_different_panels():
    tables, rows, expected = [], [], 0.0
    for name, ids in (("cells missing", [0, 2, 3, 5]), ("balanced", [1, 2, 4]), ("one judge", [3])):
        cells = table(name)
        v = variances(cells.n_judges, by_judge=True)
        residual = np.full(6, 7.0)
        residual[ids] = v.residual
        tables.append((patterns(cells), np.array(ids)))
        rows.append(np.r_[v.scenario, v.generation, v.judge, v.interaction, v.cell, residual])
        expected += dense_log_marginal(cells, v, MEAN, SD)
    found, _ = value_and_gradient(np.array(rows), np.array([MEAN, SD]), *pack(tables))
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("prior", [PRIOR, None], ids=["marginal", "restricted"])
def test_gradient_equals_finite_differences(name, prior):
    cells = table(name)
    stats_, v = patterns(cells), variances(cells.n_judges, by_judge=True)
    _, gradient = gaussian_gradient.value_and_gradient(stats_, v, prior)
    step = 1e-5
    for field in fields(v):
        value, slope = getattr(v, field.name), np.atleast_1d(getattr(gradient, field.name))
        for k in range(slope.size):
            change = np.zeros_like(np.atleast_1d(value))
            change[k] = step
            ends = [
                gaussian.log_marginal(
                    stats_,
                    replace(v, **{field.name: np.reshape(value + s * change, value.shape)}),
                    prior,
                )
                for s in (1, -1)
            ]
            assert slope[k] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", ["balanced", "cells missing", "unequal repeats"])
def test_restricted_likelihood_equals_that_of_error_contrasts(name):
    cells = table(name)
    v = variances(cells.n_judges)
    X = (cells.judge[:, None] == np.arange(cells.n_judges)).astype(float)
    contrasts = np.linalg.qr(X, mode="complete")[0][:, cells.n_judges :]
    V = contrasts.T @ dense_covariance(cells, v, with_judges=False) @ contrasts
    expected = stats.multivariate_normal(np.zeros(len(V)), V).logpdf(contrasts.T @ cells.score)
    # The contrasts' density differs from the restricted likelihood by log |X'X| / 2.
    expected -= 0.5 * np.log(np.bincount(cells.judge)).sum()
    found = gaussian.log_marginal(patterns(cells), v, None)
    assert found == pytest.approx(expected, abs=1e-8)


def conditional(V, cross, prior_covariance, rest):
    """Mean and covariance of a Gaussian given another."""
    gain = cross @ np.linalg.inv(V)
    return gain @ rest, prior_covariance - gain @ cross.T


@pytest.mark.parametrize("name", ["balanced", "cells missing", "unequal repeats"])
def test_panel_moments_equal_dense_conditionals(name):
    cells = table(name)
    K, v, stats_ = cells.n_judges, variances(cells.n_judges), patterns(cells)
    found = gaussian.panel_moments(stats_, v, PRIOR, gaussian.totals(stats_, v))
    X = (cells.judge[:, None] == np.arange(K)).astype(float)
    prior = SD**2 + v.judge * (np.eye(K) - 1 / K)
    V = dense_covariance(cells, v, with_judges=False) + X @ prior @ X.T
    mean, covariance = conditional(V, prior @ X.T, prior, cells.score - MEAN)
    np.testing.assert_allclose(found.mean, MEAN + mean, atol=1e-9)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-9)


@pytest.mark.parametrize("name", ["balanced", "cells missing", "unequal repeats"])
def test_log_likelihood_by_scenario_equals_dense_normals(name):
    cells = table(name)
    v, stats_ = variances(cells.n_judges, by_judge=True), patterns(cells)
    b = np.random.default_rng(3).normal(5, 1, cells.n_judges)
    found = gaussian.log_likelihood_by_scenario(stats_, gaussian.moments(stats_, v), b)
    V = dense_covariance(cells, v, with_judges=False)
    for i in range(cells.n_scenarios):
        own = np.flatnonzero(cells.scenario == i)
        density = stats.multivariate_normal(b[cells.judge[own]], V[np.ix_(own, own)])
        assert found[i] == pytest.approx(density.logpdf(cells.score[own]), abs=1e-8)


def in_order_of_terms(v):
    """The variances of a balanced table in the order of the terms, one draw."""
    by_term = [v.scenario, v.generation, v.judge, v.interaction, v.cell, v.residual[0]]
    return np.array(by_term, dtype=float)[None]


@pytest.mark.parametrize("zero", [(), ("judge",), ("scenario", "interaction"), ("generation",)])
@pytest.mark.parametrize("name", BALANCED)
def test_balanced_closed_forms_equal_the_general_ones(name, zero):
    cells = table(name)
    K, stats_ = cells.n_judges, patterns(cells)
    own, v = strata.strata(cells, balance(cells)), variances(K, **dict.fromkeys(zero, 0.0))
    m = gaussian.moments(stats_, v)
    general = gaussian.panel_moments(stats_, v, PRIOR, gaussian.summed(stats_, m))
    found = balanced.panel_moments(own, in_order_of_terms(v), PRIOR)
    np.testing.assert_allclose(found.mean[0] + found.offsets[0], general.mean, atol=1e-9)
    contrast = np.eye(K) - 1 / K
    covariance = found.mean_sd[0] ** 2 + found.offsets_sd[0] ** 2 * contrast
    np.testing.assert_allclose(covariance, general.covariance, atol=1e-9)

    b = np.random.default_rng(4).normal(5, 1, K)
    by_scenario = balanced.log_likelihood_by_scenario(
        own, in_order_of_terms(v), b.mean(keepdims=True), (b - b.mean())[None]
    )
    expected = gaussian.log_likelihood_by_scenario(stats_, m, b)
    np.testing.assert_allclose(by_scenario[0], expected, atol=1e-9)


def test_balanced_closed_forms_keep_their_digits_far_from_zero():
    cells = table("repeated calls")
    far = replace(cells, score=cells.score + 1e9)
    b, v = np.random.default_rng(4).normal(5, 1, 3), in_order_of_terms(variances(3))
    near, there = (
        balanced.log_likelihood_by_scenario(
            strata.strata(c, balance(c)), v, b.mean(keepdims=True) + shift, (b - b.mean())[None]
        )
        for c, shift in ((cells, 0.0), (far, 1e9))
    )
    np.testing.assert_allclose(there, near, atol=1e-4)  # scores near 1e9 hold seven decimals


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("by_judge", [False, True])
def test_totals_equal_summed_moments(name, by_judge):
    cells = table(name)
    stats_, v = patterns(cells), variances(cells.n_judges, by_judge)
    found = gaussian.totals(stats_, v)
    expected = gaussian.summed(stats_, gaussian.moments(stats_, v))
    for field in fields(found):
        np.testing.assert_allclose(
            getattr(found, field.name), getattr(expected, field.name), rtol=1e-10, atol=1e-10
        )


@pytest.mark.parametrize("name", DESIGNS)
def test_draws_are_evaluated_together_as_one_by_one(name):
    cells = table(name)
    stats_, K = patterns(cells), cells.n_judges
    several = [variances(K, by_judge=True, scenario=x) for x in (0.1, 0.9)]
    together = gaussian.Variances(
        *(np.stack([getattr(v, f.name) for v in several]) for f in fields(several[0]))
    )
    one_by_one = [gaussian.log_marginal(stats_, v, PRIOR) for v in several]
    np.testing.assert_allclose(gaussian.log_marginal(stats_, together, PRIOR), one_by_one)
    b = np.stack([np.arange(K) + 4.0, np.arange(K) + 5.0])
    by_scenario = gaussian.log_likelihood_by_scenario(stats_, gaussian.moments(stats_, together), b)
    for k, v in enumerate(several):
        m = gaussian.moments(stats_, v)
        alone = gaussian.log_likelihood_by_scenario(stats_, m, b[k])
        np.testing.assert_allclose(by_scenario[k], alone)


def test_shift_and_scale_change_the_density_as_they_must():
    cells = table("cells missing")
    v = variances(cells.n_judges)
    base = gaussian.log_marginal(patterns(cells), v, PRIOR)
    shifted = replace(cells, score=cells.score + 1e9)
    found = gaussian.log_marginal(patterns(shifted), v, gaussian.Prior(MEAN + 1e9, SD))
    assert found == pytest.approx(base, abs=1e-4)  # scores near 1e9 hold seven decimals
    scaled = replace(cells, score=cells.score * 1e6)
    bigger = gaussian.Variances(*(getattr(v, f.name) * 1e12 for f in fields(v)))
    found = gaussian.log_marginal(patterns(scaled), bigger, gaussian.Prior(MEAN * 1e6, SD * 1e6))
    assert found == pytest.approx(base - len(cells.score) * np.log(1e6), abs=1e-7)


def test_the_strata_account_for_every_score():
    for name in BALANCED:
        cells = table(name)
        found = strata.strata(cells, balance(cells))
        assert sum(found.df.values()) == len(cells.score)
        around_mean = ((cells.score - cells.score.mean()) ** 2).sum()
        assert sum(found.ss.values()) == pytest.approx(around_mean)
        assert set(found.df) <= set(strata.STRATA)


def test_expected_mean_squares_equal_traces():
    """E of each stratum's mean square is tr(Q V)/df, with Q from explicit averaging."""
    n, m, K, r = 3, 2, 3, 2
    cells = cells_of(crossed(n, m, K, r), np.zeros(n * m * K * r))
    expected = strata.expected_mean_squares(balance(cells))
    found = {name: dict.fromkeys(TERMS, 0.0) for name in strata.STRATA[:-2]}
    for t, term in enumerate(TERMS):
        if term == "judge":
            continue
        v = variances(
            K,
            **dict.fromkeys(("scenario", "generation", "judge", "interaction", "cell"), 0.0),
            residual=np.zeros(K),
        )
        name = ["scenario", "generation", "judge", "interaction", "cell", "residual"][t]
        v = replace(v, **{name: np.ones(K) if name == "residual" else np.array(1.0)})
        V = dense_covariance(cells, v)
        root = np.linalg.eigh(V)
        basis = root.eigenvectors * np.sqrt(np.clip(root.eigenvalues, 0, None))
        for column in basis.T:  # V = Σ column column', so tr(QV) = Σ column'Q column
            part = strata.strata(replace(cells, score=column), balance(cells))
            for stratum in found:
                found[stratum][term] += part.ss[stratum] / part.df[stratum]
    for stratum, coefficients in found.items():
        for term, value in coefficients.items():
            assert value == pytest.approx(expected[stratum].get(term, 0.0), abs=1e-8)


def test_one_draw_and_a_stack_of_draws_have_the_shapes_they_should():
    cells = table("balanced")
    stats_ = patterns(cells)
    assert gaussian.log_marginal(stats_, variances(3), PRIOR).shape == ()
    assert gaussian.log_marginal(stats_, stacked(variances(3), 4), PRIOR).shape == (4,)
