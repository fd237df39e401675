"""What a fit says of scores: log density, or log probability of levels, scenario by scenario."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells, cells_by_model
from bayesjudge.engines.conditional import blocks
from bayesjudge.marginal import gaussian
from bayesjudge.marginal.cumulative.lattice import LINKS
from bayesjudge.marginal.cumulative.likelihood import log_likelihood_by_scenario
from bayesjudge.marginal.cumulative.tallies import tallies
from bayesjudge.marginal.patterns import patterns
from bayesjudge.posterior.cell_likelihood import log_level_probabilities
from bayesjudge.posterior.linear_parameters import linear_parameters
from bayesjudge.posterior.ordinal_parameters import (
    codes_by_table,
    is_ordinal,
    parameters_of,
)
from bayesjudge.scores import Calls

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of which fits are asked how probable they are.

    Attributes
    ----------
    scenarios : tuple of str
        Labels of the whole table.
    tables : tuple of Cells
        The calls of each evaluated model, with all of its judges.
    codes : tuple of int array
        The level of each call; zero where there are no levels.
    levels : float array or None
        Scores of the levels, ascending; None to ask for densities.
    """

    scenarios: tuple[str, ...]
    tables: tuple[Cells, ...]
    codes: tuple[IntArray, ...]
    levels: FloatArray | None

    @classmethod
    def of(cls, calls: Calls, tree: xr.DataTree, ordinal: xr.DataTree | None) -> Scored:
        """Ask for the scores of a table; for their levels where an ordinal fit has them.

        Parameters
        ----------
        calls : Calls
            The scores.
        tree : DataTree
            A fit of them.
        ordinal : DataTree or None
            A fit of them that has levels.
        """
        tables = cells_by_model(calls, tree["posterior"].sizes["model"])
        labels = tree["log_likelihood"]["scenario"].to_numpy()
        scenarios = tuple(str(label) for label in labels)
        if ordinal is None:
            none = tuple(np.zeros(len(cells.score), dtype=np.int64) for cells in tables)
            return cls(scenarios, tables, none, None)
        codes = codes_by_table(tables, ordinal)
        levels = ordinal["constant_data"]["level"].to_numpy()
        return cls(scenarios, tables, tuple(codes), levels)

    def only(self, scenario: int) -> Scored:
        """Ask for one scenario; judges stay those of the whole table."""
        tables, codes = [], []
        for cells, own in zip(self.tables, self.codes, strict=True):
            mine = cells.scenario_ids[cells.scenario] == scenario
            if mine.any():
                tables.append(_only(cells, mine))
                codes.append(own[mine])
        return replace(self, tables=tuple(tables), codes=tuple(codes))


def _only(cells: Cells, mine: NDArray[np.bool_]) -> Cells:
    """Keep some of the calls, those of one scenario."""
    generations, generation = np.unique(cells.generation[mine], return_inverse=True)
    return Cells(
        model=cells.model,
        scenario=np.zeros(int(mine.sum()), dtype=np.int64),
        generation=generation.astype(np.int64),
        judge=cells.judge[mine],
        score=cells.score[mine],
        scenario_ids=cells.scenario_ids[np.unique(cells.scenario[mine])],
        generation_ids=cells.generation_ids[generations],
        judge_ids=cells.judge_ids,
    )


def log_predicted(
    tree: xr.DataTree, scored: Scored, chosen: IntArray, seed: np.random.SeedSequence
) -> FloatArray:
    """Say how probable scores are at draws of a fit, effects integrated out.

    Parameters
    ----------
    tree : DataTree
        A fit with the models and judges of these scores.
    scored : Scored
        Scores that it was made from, or not.
    chosen : int array, shape (draws,)
        Draws of the fit, chains one behind the other.
    seed : SeedSequence
        Where integrals are estimated (see
        `bayesjudge.posterior.cell_likelihood.log_level_probabilities`).

    Returns
    -------
    float array, shape (draws, scenarios)
        All evaluated models of a scenario together.
    """
    if not is_ordinal(tree) and scored.levels is not None:
        tables = list(zip(scored.tables, scored.codes, strict=True))
        return log_level_probabilities(
            tree, tables, scored.levels, chosen, len(scored.scenarios), seed
        )
    found = np.zeros((len(chosen), len(scored.scenarios)))
    ask = _of_levels if is_ordinal(tree) else _densities
    by_table = ask(tree, scored, chosen)
    start = 0
    for cells in scored.tables:
        found[:, cells.scenario_ids] += by_table[:, start : start + cells.n_scenarios]
        start += cells.n_scenarios
    return found


def _of_levels(tree: xr.DataTree, scored: Scored, chosen: IntArray) -> FloatArray:
    thresholds, sigma = parameters_of(tree)
    models = [cells.model for cells in scored.tables]
    return log_likelihood_by_scenario(
        thresholds[chosen][:, models],
        sigma[chosen][:, models],
        tallies(list(zip(scored.tables, scored.codes, strict=True))),
        LINKS[str(tree.attrs["link"])],
    )


def _densities(tree: xr.DataTree, scored: Scored, chosen: IntArray) -> FloatArray:
    found = []
    for cells in scored.tables:
        p = linear_parameters(tree, cells).at(chosen)
        stats = patterns(cells)
        by_block = []
        for block in blocks(stats, len(chosen)):
            m = gaussian.moments(stats, gaussian.take(p.variances, block))
            own = gaussian.log_likelihood_by_scenario(stats, m, p.judge_means[block])
            by_block.append(own)
        found.append(np.concatenate(by_block))
    return np.concatenate(found, axis=1)
