"""The calls of one evaluated model as arrays: who scored what, coded from zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bayesjudge.scores import Calls

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cells:
    """The calls of one evaluated model.

    A *cell* is one judge on one generation; it holds one call, or several when a judge was
    asked repeatedly. Scenarios, generations and judges are numbered among those that this
    model has; the ``*_ids`` say where each stands in the whole table.

    Attributes
    ----------
    model : int
        Position of the evaluated model in the table's labels.
    scenario, generation, judge : int array, shape (calls,)
        Codes from 0, sorted by scenario, then generation, then judge.
    score : float array, shape (calls,)
        Scores, none missing.
    scenario_ids, generation_ids, judge_ids : int array
        Positions in the table's scenarios, generations and judges.
    """

    model: int
    scenario: IntArray
    generation: IntArray
    judge: IntArray
    score: FloatArray
    scenario_ids: IntArray
    generation_ids: IntArray
    judge_ids: IntArray

    @property
    def n_scenarios(self) -> int:
        """Number of scenarios that this model has scores in."""
        return len(self.scenario_ids)

    @property
    def n_generations(self) -> int:
        """Number of generations, over all scenarios."""
        return len(self.generation_ids)

    @property
    def n_judges(self) -> int:
        """Number of judges that scored this model."""
        return len(self.judge_ids)

    @property
    def generation_scenario(self) -> IntArray:
        """Scenario of each generation, shape (generations,)."""
        return self.scenario[np.flatnonzero(np.diff(self.generation, prepend=-1))]

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Return the scenario-judge pairs that have calls, as scenario * K + judge, in order.

        And the place of each call among them.
        """
        codes = self.scenario * self.n_judges + self.judge
        # A table of many judges may have few of all pairs.
        if self.n_scenarios * self.n_judges > 8 * len(codes):
            return np.unique(codes, return_inverse=True)
        return numbered(codes)


@dataclass(frozen=True)
class Balance:
    """The sizes of a balanced table: every judge on every generation, equally often."""

    scenarios: int
    generations: int
    judges: int
    repeats: int


def cells_by_model(calls: Calls, n_models: int) -> tuple[Cells, ...]:
    """Split the calls of a table by evaluated model.

    Parameters
    ----------
    calls : Calls
        The scores that are there, coded and sorted as `Calls` promises.
    n_models : int
        Number of evaluated models in the table.

    Returns
    -------
    tuple of Cells
        One for each evaluated model, in the order of the table's labels.
    """
    return tuple(_cells(calls, model) for model in range(n_models))


def _cells(calls: Calls, model: int) -> Cells:
    start, end = np.searchsorted(calls.model, [model, model + 1])
    mine = slice(int(start), int(end))
    scenario_ids, scenario = numbered(calls.scenario[mine])
    judge_ids, judge = numbered(calls.judge[mine])
    generation_ids, generation = numbered(calls.generation[mine])
    return Cells(
        model=model,
        scenario=scenario,
        generation=generation,
        judge=judge,
        score=calls.score[mine],
        scenario_ids=scenario_ids,
        generation_ids=generation_ids,
        judge_ids=judge_ids,
    )


def numbered(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the codes that occur, and each code's place among them, without sorting."""
    seen = np.zeros(int(codes.max(initial=-1)) + 1, dtype=bool)
    seen[codes] = True
    ids = np.flatnonzero(seen)
    if len(ids) == len(seen):
        return ids, codes
    return ids, (np.cumsum(seen) - 1)[codes]


def balance(cells: Cells) -> Balance | None:
    """Return the sizes of a balanced table, or None when it is not balanced."""
    n, generations, K = cells.n_scenarios, cells.n_generations, cells.n_judges
    if not len(cells.score):
        return None
    per_scenario = np.bincount(cells.generation_scenario, minlength=n)
    repeats, rest = divmod(len(cells.score), generations * K)
    if np.ptp(per_scenario) or rest or not repeats:
        return None
    per_cell = np.bincount(cells.generation * K + cells.judge, minlength=generations * K)
    if not np.all(per_cell == repeats):
        return None
    return Balance(n, int(per_scenario[0]), K, repeats)
