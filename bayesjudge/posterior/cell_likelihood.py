"""The probability that a linear fit gives to levels: of the cells between them, effects integrated.

A Gaussian score has a density, and a level has a probability. They're compared by the probability
of the cell around the level, from the middle between it and the level below to the middle between
it and the level above; the cells at the ends are open.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells
from bayesjudge.errors import FitError
from bayesjudge.marginal.cumulative.lattice import PROBIT
from bayesjudge.marginal.cumulative.likelihood import log_likelihood_by_scenario
from bayesjudge.marginal.cumulative.tallies import tallies
from bayesjudge.posterior.cell_integrals import WIDE_SHARE, log_probability
from bayesjudge.posterior.linear_parameters import LinearParameters, linear_parameters

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

PAIRS = 1  # of points for each draw and scenario, where there is no lattice

_REPEATED = 40  # times the work of a score where repeated calls have an effect in common


def log_level_probabilities(
    tree: xr.DataTree,
    tables: Sequence[tuple[Cells, IntArray]],
    levels: FloatArray,
    chosen: IntArray,
    scenarios: int,
    seed: np.random.SeedSequence,
    pairs: int = PAIRS,
) -> FloatArray:
    """Log probability of the levels of each scenario, all evaluated models together.

    Parameters
    ----------
    tree : DataTree
        A fit of a linear model.
    tables : sequence of (Cells, int array)
        Calls, with all judges of their evaluated model, and the level of each of them.
    levels : float array, shape (levels,)
        Scores of the levels, ascending.
    chosen : int array, shape (draws,)
        Draws of the fit, chains one behind the other.
    scenarios : int
        Scenarios of the whole table.
    seed : SeedSequence
        Of the points at which scenario:judge effects are integrated.
    pairs : int
        Pairs of points for each draw, scenario and evaluated model.

    Returns
    -------
    float array, shape (draws, scenarios)
        Zero for scenarios that no table has. Exact where the model has no scenario:judge term, no
        residuals by judge and no effect of repeated calls; otherwise an estimate whose exponential
        has no bias, independent from draw to draw.

    Raises
    ------
    FitError
        When a residual is zero or not finite.
    """
    cuts = (levels[1:] + levels[:-1]) / 2
    found = np.zeros((len(chosen), scenarios))
    for (cells, codes), own in zip(tables, seed.spawn(len(tables)), strict=True):
        p = linear_parameters(tree, cells).at(chosen)
        v = p.variances
        if not (np.isfinite(p.judge_means).all() and (v.residual > 0).all()):
            raise FitError(
                f"the fit {tree.attrs['model']!r} has draws without noise or without a mean: the "
                "probabilities of levels can't be computed from it"
            )
        # A scenario:judge effect that sums to zero over one judge is none.
        panel = cells.n_judges > 1
        lattice = (
            not (panel and v.interaction.any())
            and not v.cell.any()
            and not np.ptp(v.residual, 1).any()
        )
        by_scenario = (
            _on_a_lattice(p, cells, codes, cuts)
            if lattice
            else _by_points(p, cells, codes, cuts, own, pairs)
        )
        found[:, cells.scenario_ids] += by_scenario
    return found


def work(tree: xr.DataTree, tables: Sequence[Cells]) -> int:
    """Say how much work one draw of a fit is, in scores."""
    return sum(
        len(cells.score) * (_REPEATED if linear_parameters(tree, cells).variances.cell.any() else 1)
        for cells in tables
    )


def _on_a_lattice(
    p: LinearParameters, cells: Cells, codes: IntArray, cuts: FloatArray
) -> FloatArray:
    """In units of the residual this is a cumulative probit with known thresholds."""
    sd = np.sqrt(p.variances.residual[:, 0])
    thresholds = np.zeros((len(sd), 1, int(cells.judge_ids.max()) + 1, len(cuts)))
    thresholds[:, 0, cells.judge_ids] = (cuts - p.judge_means[..., None]) / sd[:, None, None]
    effects = np.stack([p.variances.scenario, p.variances.generation], axis=-1)
    sigma = np.sqrt(effects)[:, None] / sd[:, None, None]
    return log_likelihood_by_scenario(thresholds, sigma, tallies([(cells, codes)]), PROBIT)


def _by_points(
    p: LinearParameters,
    cells: Cells,
    codes: IntArray,
    cuts: FloatArray,
    seed: np.random.SeedSequence,
    pairs: int,
) -> FloatArray:
    edges = np.r_[-np.inf, cuts, np.inf]
    low, high = edges[codes], edges[codes + 1]
    draws, K = p.judge_means.shape
    v = p.variances
    found = np.empty((cells.n_scenarios, draws))
    call = np.arange(len(codes))
    cell = cells.generation * K + cells.judge
    new_cell = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]])
    starts = np.searchsorted(cells.scenario, np.arange(cells.n_scenarios + 1))
    seeds = seed.spawn(cells.n_scenarios)

    def one(i: int) -> None:
        mine = call[starts[i] : starts[i + 1]]
        first = new_cell[(new_cell >= mine[0]) & (new_cell <= mine[-1])]
        generation = cells.generation[first]
        rng = np.random.default_rng(seeds[i])
        log_probability(
            low[mine],
            high[mine],
            np.r_[first, mine[-1] + 1] - mine[0],
            cells.judge[first],
            np.flatnonzero(np.r_[True, generation[1:] != generation[:-1], True]),
            p.judge_means,
            v.scenario,
            v.generation,
            v.interaction,
            v.cell,
            v.residual,
            rng.standard_normal((draws, pairs, K)),
            rng.random((draws, pairs)) < WIDE_SHARE,
            found[i],
        )

    with ThreadPoolExecutor(min(cells.n_scenarios, os.cpu_count() or 1)) as pool:
        list(pool.map(one, range(cells.n_scenarios)))
    return found.T
