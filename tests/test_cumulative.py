"""The cumulative marginal likelihood: kernel, gradient, invariances, and the ways to ask for it."""

from itertools import product

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panels import cells_of, crossed, cyclic, mixed, thinned
from pytensor.compile.mode import Mode

from bayesjudge.marginal.cumulative import kernel
from bayesjudge.marginal.cumulative.compiled import all_models
from bayesjudge.marginal.cumulative.kernel import SQUARES, TO_WEIGHTS, narrow, wide
from bayesjudge.marginal.cumulative.lattice import LOGIT, PROBIT, REACH, SAMPLING, spacing
from bayesjudge.marginal.cumulative.likelihood import (
    log_likelihood_by_scenario,
    value_and_gradient,
)
from bayesjudge.marginal.cumulative.op import CumulativeMarginal, _by_numba
from bayesjudge.marginal.cumulative.probability import level_rows
from bayesjudge.marginal.cumulative.tallies import tallies

LINKS = [LOGIT, PROBIT]
DESIGNS = {
    "crossed": crossed(4, 3, 3),
    "one call a generation": cyclic(5, 2, 3),
    "one call a scenario": cyclic(6, 1, 3),
    "cells missing": thinned(crossed(5, 3, 4), 0.6),
    "unequal generations": mixed(3, 3),
    "repeated calls": thinned(crossed(3, 3, 3, repeats=2), 0.8),
    "one judge": crossed(3, 4, 1),
    "one generation": crossed(5, 1, 4),
    "one scenario": crossed(1, 4, 3),
}
SIGMAS = [(1.1, 0.6), (0.4, 0.02), (2.0, 0.15), (0.05, 2.0), (0.8, 0.0), (0.0, 0.7), (0.0, 0.0)]


def table(rows, n_levels=4, seed=0):
    """Cells, levels and thresholds of as many judges as the rows name."""
    rng = np.random.default_rng(seed)
    K = max(k for _, _, k in rows) + 1
    cuts = np.cumsum(rng.uniform(0.2, 1.2, (K, n_levels - 1)), axis=1)
    cuts -= cuts.mean() + rng.normal(0, 0.3, (K, 1))
    return cells_of(rows, np.zeros(len(rows))), rng.integers(0, n_levels, len(rows)), cuts


def evaluate(tables, cuts, sigma, link, fineness=1.0, reach=REACH):
    """Log likelihood of several models, and its gradient in thresholds and sigmas."""
    cuts, sigma = np.asarray(cuts, dtype=float), np.asarray(sigma, dtype=float)
    data = *tallies(tables), np.full(len(cuts), reach)
    found = all_models(cuts, sigma, link, fineness, SQUARES, TO_WEIGHTS, *data, True)
    return found[0].sum(), found[1], found[2]


def log_likelihood(cells, levels, cuts, sigma, link, fineness=1.0):
    """Log likelihood of one model."""
    return evaluate([(cells, levels)], cuts[None], [sigma], link, fineness)[0]


# The kernel.


def factors(weights, rates):
    """By how much weights multiply an exponential of each rate (a node), real or imaginary."""
    k = np.arange(1, len(weights))
    return (weights[0] + 2 * np.cosh(np.outer(rates, k)) @ weights[1:]).real


@pytest.mark.parametrize("sigma", [0.0, 1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.8, 1.0, 1.2])
def test_narrow_weights_multiply_exponentials_and_cosines_by_the_exact_factors(sigma):
    h = 0.3
    weights, _ = narrow(sigma * h, h, SQUARES, TO_WEIGHTS)
    slopes = np.linspace(0, kernel.SLOPE, 50)
    frequencies = np.linspace(0, kernel.BAND, 50) * 1j
    for rates in (slopes, frequencies):
        exact = np.exp(0.5 * sigma**2 * rates**2).real
        np.testing.assert_allclose(factors(weights, rates), exact, rtol=3e-8)


@pytest.mark.parametrize("sigma", [1.2, 2.0, 10.0])
def test_wide_weights_do_so_too(sigma):
    weights, _ = wide(sigma * 0.3, 0.3)
    rates = np.linspace(0, 2 / sigma, 20)  # further out more of the Gaussian is needed
    exact = np.exp(0.5 * sigma**2 * rates**2)
    np.testing.assert_allclose(factors(weights, rates), exact, rtol=2e-9)
    frequencies = np.linspace(0, 1.2 / sigma, 20) * 1j
    exact = np.exp(0.5 * sigma**2 * frequencies**2).real
    np.testing.assert_allclose(factors(weights, frequencies), exact, rtol=1e-8)


def test_narrow_weights_without_width_leave_a_function_alone():
    weights, derivative = narrow(0.0, 0.3, SQUARES, TO_WEIGHTS)
    np.testing.assert_allclose(weights, np.eye(len(weights))[0], atol=1e-11)
    assert not derivative.any()


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.25, 0.36, 1.5])
def test_derivatives_of_the_weights(sigma):
    def weights(s):
        return (narrow(s, 0.3, SQUARES, TO_WEIGHTS) if sigma < 0.36 else wide(s, 0.3))[0]

    _, derivative = narrow(sigma, 0.3, SQUARES, TO_WEIGHTS) if sigma < 0.36 else wide(sigma, 0.3)
    size, step = len(derivative), 1e-5
    numeric = (weights(sigma + step)[:size] - weights(sigma - step)[:size]) / (2 * step)
    np.testing.assert_allclose(derivative, numeric, atol=2e-6)


@pytest.mark.parametrize("fineness", [SAMPLING, 1.0, 2.0])
@pytest.mark.parametrize("calls", [1, 5, 33])
@pytest.mark.parametrize("link", LINKS)
def test_each_width_has_the_weights_that_can_do_it(link, calls, fineness):
    for sigma in np.geomspace(1e-4, 20, 60):
        h, weights, _ = spacing(sigma, calls, link, fineness, SQUARES, TO_WEIGHTS)
        exact = np.exp(-0.5 * (np.array([0.0, 0.5]) * sigma / h) ** 2)
        assert factors(weights, np.array([0.0, 0.5j])) == pytest.approx(exact, abs=3e-8)


@pytest.mark.parametrize("fineness", [1.0, SAMPLING])
@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("link", LINKS)
def test_no_jump_where_the_weights_change(link, calls, fineness):
    cells, levels, cuts = table(crossed(2, 5, calls), seed=1)
    grid = np.linspace(0.02, 1.0, 400)

    def is_narrow(sigma):
        h, weights, _ = spacing(sigma, calls, link, fineness, SQUARES, TO_WEIGHTS)
        return np.array_equal(weights, narrow(sigma, h, SQUARES, TO_WEIGHTS)[0])

    kinds = np.array([is_narrow(sigma) for sigma in grid])
    changes = np.flatnonzero(kinds[1:] != kinds[:-1])
    assert len(changes) == 1
    low, high = grid[changes[0]], grid[changes[0] + 1]
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (middle, high) if is_narrow(middle) else (low, middle)
    values = [log_likelihood(cells, levels, cuts, (1.0, s), link, fineness) for s in (low, high)]
    assert values[0] == pytest.approx(values[1], abs=1e-7 if fineness == 1 else 1e-4)


# The gradient.


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("link", LINKS)
def test_gradient_equals_differences(name, link, sigma):
    cells, levels, cuts = table(DESIGNS[name])
    x, step = np.r_[cuts.ravel(), sigma], 1e-4

    def value(y):
        return log_likelihood(cells, levels, y[:-2].reshape(cuts.shape), y[-2:], link, 3.0)

    moves = step * np.eye(len(x))[np.flatnonzero(x)]
    numeric = [
        (8 * (value(x + d) - value(x - d)) - value(x + 2 * d) + value(x - 2 * d)) / (12 * step)
        for d in moves
    ]
    unit = np.r_[np.ones(cuts.size), sigma][x != 0]  # slopes in logs of standard deviations
    for fineness, error in ((1.0, 1e-5), (SAMPLING, 1e-4)):
        found = evaluate([(cells, levels)], cuts[None], [sigma], link, fineness)
        slope = np.r_[found[1].ravel(), found[2].ravel()][x != 0]
        np.testing.assert_allclose(slope * unit, numeric * unit, rtol=error, atol=error)


@pytest.mark.parametrize("link", LINKS)
def test_gradient_is_zero_in_standard_deviations_that_are_zero(link):
    # The likelihood is even in both.
    cells, levels, cuts = table(DESIGNS["crossed"])
    assert not evaluate([(cells, levels)], cuts[None], [(0, 0)], link)[2].any()


@pytest.mark.parametrize("link", LINKS)
def test_densities_over_probabilities_are_slopes_of_log_probabilities(link):
    nodes, step = np.linspace(-45, 45, 181), 1e-4
    cuts = np.array([[-2.0, -1.5, 0.3, 4.0]])

    def logs(moved, where):
        rows, largest, _, _ = level_rows(cuts + moved * np.eye(4)[where], nodes, link)
        with np.errstate(divide="ignore"):
            return np.log(rows[0]) + largest[0][:, None]

    rows, _, at_low, at_high = level_rows(cuts, nodes, link)
    for where in range(4):
        numeric = (logs(step, where) - logs(-step, where)) / (2 * step)
        seen = rows[0] > 1e-290
        for level, slope in ((where, at_high[0, where]), (where + 1, -at_low[0, where + 1])):
            here = seen[level]
            np.testing.assert_allclose(slope[here], numeric[level, here], rtol=1e-5, atol=1e-7)


# Invariances.

seeds = st.integers(0, 10**6)
some = settings(max_examples=15, deadline=None, derandomize=True)


def any_table(seed):
    """A table of any design, with judges and standard deviations at random."""
    rng = np.random.default_rng(seed)
    rows = DESIGNS[list(DESIGNS)[seed % len(DESIGNS)]]
    cells, levels, cuts = table(rows, int(rng.integers(2, 7)), seed)
    return rows, cells, levels, cuts, rng.uniform(0, 1.5, 2) * rng.integers(0, 2, 2), rng


@given(seeds, st.sampled_from(LINKS))
@some
def test_names_and_order_of_scenarios_generations_and_judges_do_not_matter(seed, link):
    rows, cells, levels, cuts, sigma, rng = any_table(seed)
    scenario, generation, judge = np.array(sorted(rows)).T
    of_scenario, of_generation = rng.permutation(50), rng.permutation(50)
    of_judge = rng.permutation(len(cuts))
    moved = np.c_[of_scenario[scenario], of_generation[generation], of_judge[judge]]
    order = np.lexsort(moved.T[::-1])
    other = cells_of([tuple(row) for row in moved[order].tolist()], np.zeros(len(rows)))
    expected = log_likelihood(cells, levels, cuts, sigma, link)
    found = log_likelihood(other, levels[order], cuts[np.argsort(of_judge)], sigma, link)
    assert found == pytest.approx(expected, abs=1e-9)


@given(seeds, st.sampled_from(LINKS))
@some
def test_the_scale_may_be_turned_around(seed, link):
    _, cells, levels, cuts, sigma, _ = any_table(seed)
    expected = log_likelihood(cells, levels, cuts, sigma, link)
    found = log_likelihood(cells, cuts.shape[1] - levels, -cuts[:, ::-1], sigma, link)
    assert found == pytest.approx(expected, abs=1e-9)


@given(seeds, st.sampled_from(LINKS), st.sampled_from([0.0, 1e-12]))
@some
def test_a_level_without_width_that_nobody_uses_changes_nothing(seed, link, width):
    _, cells, levels, cuts, sigma, rng = any_table(seed)
    at = int(rng.integers(0, cuts.shape[1]))
    wider = np.insert(cuts, at + 1, cuts[:, at] + width, axis=1)
    expected = evaluate([(cells, levels)], cuts[None], [sigma], link)
    moved = levels + (levels > at)
    found = evaluate([(cells, moved)], wider[None], [sigma], link)
    assert found[0] == pytest.approx(expected[0], abs=1e-9)
    # The threshold's slope is now that of two.
    slope = np.delete(found[1], at + 1, axis=2)
    slope[..., at] += found[1][..., at + 1]
    np.testing.assert_allclose(slope, expected[1], atol=1e-8)
    np.testing.assert_allclose(found[2], expected[2], atol=1e-8)


@given(seeds, st.sampled_from(LINKS))
@some
def test_models_together_are_the_sum_of_each_alone(seed, link):
    rng = np.random.default_rng(seed)
    names = rng.permutation(list(DESIGNS))[:3]
    tables = [table(DESIGNS[name], 4, seed + k)[:2] for k, name in enumerate(names)]
    cuts = np.stack([table(crossed(1, 1, 4), 4, seed + k)[2] for k in range(3)])
    sigma = rng.uniform(0, 1.5, (3, 2))
    value, slope, in_sigma = evaluate(tables, cuts, sigma, link)
    alone = [evaluate([tables[k]], cuts[[k]], sigma[[k]], link) for k in range(3)]
    # Each lattice is as fine as the generation of any model with most calls asks for.
    assert value == pytest.approx(sum(x[0] for x in alone), abs=2e-7)
    np.testing.assert_allclose(slope, np.concatenate([x[1] for x in alone]), atol=1e-5)
    np.testing.assert_allclose(in_sigma, np.concatenate([x[2] for x in alone]), atol=1e-5)


@given(seeds, st.sampled_from(LINKS), st.sampled_from(SIGMAS))
@some
def test_probabilities_of_all_ballots_sum_to_one(seed, link, sigma):
    rows = [(0, 0, 0), (0, 0, 1), (0, 0, 1), (0, 1, 0)]  # a repeated call, two generations
    cells, _, cuts = table(rows, 3, seed)
    every = list(product(range(3), repeat=len(rows)))
    logs = [log_likelihood(cells, np.array(levels), cuts, sigma, link) for levels in every]
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=2e-8)


def test_equal_generations_share_a_ballot():
    rows = crossed(2, 3, 2)
    tally = tallies(
        [(cells_of(rows, np.zeros(12)), np.array([0, 1, 1, 0, 0, 1, 0, 1, 2, 2, 2, 2]))]
    )
    assert len(tally.ballot_start) - 1 == 3
    assert sorted(tally[6].tolist()) == [1, 1, 2, 2]
    np.testing.assert_array_equal(tally.sizes, [[0, 3], [0, 3]])


# The ways to ask for it.


@pytest.mark.parametrize("link", LINKS)
def test_draws_together_equal_one_at_a_time(link):
    tables = [table(DESIGNS[name], 4, 1)[:2] for name in ("cells missing", "one call a scenario")]
    cuts = np.stack(
        [[table(crossed(1, 1, 4), 4, 2 * d + k)[2] for k in range(2)] for d in range(5)]
    )
    sigma = np.random.default_rng(0).uniform(0, 1, (5, 2, 2))
    together = log_likelihood_by_scenario(cuts, sigma, tallies(tables), link)
    assert together.shape == (5, 5 + 6)
    for d in range(5):
        one = log_likelihood_by_scenario(cuts[[d]], sigma[[d]], tallies(tables), link)
        np.testing.assert_array_equal(together[d], one[0])
        value = evaluate(tables, cuts[d], sigma[d], link)[0]
        assert together[d].sum() == pytest.approx(value, abs=1e-10)


def test_scenarios_stay_in_their_places():
    # Log likelihoods by scenario are those of each scenario's rows alone.
    cells, levels, cuts = table(DESIGNS["unequal generations"])
    together = log_likelihood_by_scenario(
        cuts[None, None], np.array([[(1.0, 0.5)]]), tallies([(cells, levels)]), LOGIT, 2.0
    )
    for i in range(cells.n_scenarios):
        own = cells.scenario == i
        rows = list(zip(cells.scenario[own], cells.generation[own], cells.judge[own], strict=True))
        alone = cells_of(rows, np.zeros(len(rows)))
        found = log_likelihood(alone, levels[own], cuts, (1.0, 0.5), LOGIT, 2.0)
        assert together[0, i] == pytest.approx(found, abs=1e-9)


def op_function(link, mode, data):
    cuts, sigma = pt.dtensor3(), pt.dmatrix()
    value = CumulativeMarginal(link)(cuts, sigma, *data)[0]
    slopes = pt.grad(2 * value, [cuts, sigma])
    return pytensor.function([cuts, sigma], [value, *slopes], mode=mode)


@pytest.mark.parametrize(
    ("link", "mode"),
    [
        (LOGIT, "NUMBA"),
        (LOGIT, Mode(linker="py", optimizer="fast_compile")),
        (PROBIT, Mode(linker="py", optimizer="fast_compile")),
    ],
    ids=["logit numba", "logit python", "probit python"],
)
def test_op_equals_the_compiled_function(link, mode):
    tables = [table(DESIGNS[name], 4, 1)[:2] for name in ("cells missing", "one call a scenario")]
    cuts = np.stack([table(crossed(1, 1, 4), 4, k)[2] for k in range(2)])
    sigma = np.array([[1.0, 0.3], [0.2, 0.9]])
    data = *tallies(tables), np.full(2, REACH)
    expected = value_and_gradient(link, cuts, sigma, *data)
    found = op_function(link, mode, data)(cuts, sigma)
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(found[1], 2 * expected[1], rtol=1e-10)
    np.testing.assert_allclose(found[2], 2 * expected[2], rtol=1e-10)
    # Samplers have a coarser lattice.
    fine = evaluate(tables, cuts, sigma, link)
    assert found[0] == pytest.approx(fine[0], abs=1e-4)
    np.testing.assert_allclose(found[1], 2 * fine[1], atol=1e-3)


def test_compiled_functions_are_kept_by_the_code_they_were_compiled_from(monkeypatch, tmp_path):
    # PyTensor's cache on disk outlives a release, and would go on with the old likelihood.
    version = _by_numba(CumulativeMarginal(LOGIT))[1]
    assert version == _by_numba(CumulativeMarginal(PROBIT))[1]
    folder = tmp_path / "marginal" / "cumulative"
    folder.mkdir(parents=True)
    monkeypatch.setattr("bayesjudge.marginal.cumulative.op.__file__", str(folder / "op.py"))
    assert _by_numba(CumulativeMarginal(LOGIT))[1] != version
