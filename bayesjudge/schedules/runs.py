"""A finished run by evaluated model: who was called on what, and whether a score came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from bayesjudge.schedules.panel import FACETS
from bayesjudge.schedules.rotation import BoolArray, IntArray
from bayesjudge.scores.labels import natural_order

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Run:
    """The calls of one evaluated model, in an order that the order of rows does not change.

    Attributes
    ----------
    model : str
        Its label.
    panel : tuple of str
        Judges, whether they have calls or not.
    labels : tuple of str
        Scenarios with a call.
    rows : int array, shape (calls,)
        Rows of the table, sorted by scenario, generation and judge.
    scenario, generation, judge : int array, shape (calls,)
        Of each call: scenarios and generations numbered from 0 as they come (a generation has
        another number in another scenario), judges by their place in the panel.
    scored : bool array, shape (calls,)
        Whether the call has a score.
    """

    model: str
    panel: tuple[str, ...]
    labels: tuple[str, ...]
    rows: IntArray
    scenario: IntArray
    generation: IntArray
    judge: IntArray
    scored: BoolArray

    @property
    def n_scenarios(self) -> int:
        """Scenarios with a call."""
        return int(self.scenario[-1]) + 1

    @property
    def asked(self) -> IntArray:
        """Calls of each judge, shape (judges,)."""
        return np.bincount(self.judge, minlength=len(self.panel)).astype(np.int64)

    @property
    def answered(self) -> IntArray:
        """Calls of each judge that have a score, shape (judges,)."""
        return np.bincount(self.judge[self.scored], minlength=len(self.panel)).astype(np.int64)

    @property
    def by_scenario(self) -> IntArray:
        """Calls asked of each judge on each scenario, shape (scenarios, judges)."""
        K = len(self.panel)
        cell = self.scenario * K + self.judge
        return np.bincount(cell, minlength=self.n_scenarios * K).reshape(-1, K).astype(np.int64)

    @property
    def budget(self) -> int | None:
        """Calls asked for each scenario, if that is one number."""
        per = np.bincount(self.scenario)
        return int(per[0]) if per.min() == per.max() else None

    @property
    def complete(self) -> bool:
        """Whether every judge scored every generation."""
        cell = self.generation[self.scored] * len(self.panel) + self.judge[self.scored]
        return len(np.unique(cell)) == (int(self.generation[-1]) + 1) * len(self.panel)


def runs(frame: pd.DataFrame, panel: Sequence[str]) -> tuple[Run, ...]:
    """Split the rows of a score table into runs.

    Parameters
    ----------
    frame : DataFrame
        Of a `ScoreTable`: failed calls are its rows without a score.
    panel : sequence of str
        Judges, all of the table's among them.

    Returns
    -------
    tuple of Run
        By model, in natural order.
    """
    labels = {name: natural_order(frame[name].unique()) for name in FACETS} | {"judge": panel}
    code = {name: pd.Index(labels[name]).get_indexer(pd.Index(frame[name])) for name in FACETS}
    scored = frame["score"].notna().to_numpy()
    order = np.lexsort([~scored, *(code[name] for name in reversed(FACETS))])
    found = []
    for t, model in enumerate(labels["model"]):
        rows = order[code["model"][order] == t]
        there, scenario = np.unique(code["scenario"][rows], return_inverse=True)
        scenarios = tuple(labels["scenario"][i] for i in there)
        answer = scenario * len(labels["generation"]) + code["generation"][rows]
        generation = np.unique(answer, return_inverse=True)[1]
        judge = code["judge"][rows].astype(np.int64)
        found.append(
            Run(model, tuple(panel), scenarios, rows, scenario, generation, judge, scored[rows])
        )
    return tuple(found)


def shares(found: Sequence[Run]) -> pd.DataFrame:
    """Count the calls of each judge on each model, and test who fails more than the others.

    Parameters
    ----------
    found : sequence of Run

    Returns
    -------
    DataFrame
        Index (model, judge): ``calls, scored, missing`` (counts), ``share`` of the scored calls,
        ``equal_share`` (1/K), ``excess`` (scored calls above an equal share), ``missing_rate``,
        ``missing_rate_others`` (of the others on that model) and ``p_fails_more``: Fisher's exact
        test, one-sided, of whether the judge fails no more than they do.
    """
    parts = []
    for run in found:
        calls, scored = run.asked, run.answered
        missing, total, K = calls - scored, int(scored.sum()), len(run.panel)
        others, lost = calls.sum() - calls, int(missing.sum())
        p = stats.hypergeom.sf(missing - 1, calls.sum(), lost, calls)
        columns = {
            "calls": calls,
            "scored": scored,
            "missing": missing,
            "share": scored / total if total else np.full(K, np.nan),
            "equal_share": np.full(K, 1 / K),
            "excess": scored - total / K,
            "missing_rate": _rate(missing, calls),
            "missing_rate_others": _rate(lost - missing, others),
            "p_fails_more": np.where((calls > 0) & (others > 0), p, np.nan),
        }
        index = pd.MultiIndex.from_product([[run.model], run.panel], names=["model", "judge"])
        parts.append(pd.DataFrame(columns, index=index))
    return pd.concat(parts)


def _rate(part: IntArray, whole: IntArray) -> FloatArray:
    rate: FloatArray = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return rate


def recognise(run: Run) -> str:
    """Name the strategy that a run obviously is one of; empty where it is none.

    Failed calls count: who was asked is what a strategy decides. A rotation is known by its shares,
    equal to within one call in all and in each scenario.
    """
    K = len(run.panel)
    per_answer = np.bincount(run.generation)
    pairs = run.generation * K + run.judge
    if per_answer.min() < per_answer.max() or len(np.unique(pairs)) < len(pairs):
        return ""
    k, calls = int(per_answer[0]), run.asked
    if k == K:
        return "all"
    if np.count_nonzero(calls) == k:
        return "single" if k == 1 else f"subset-{k}"
    by_scenario = run.by_scenario
    if (np.ptp(by_scenario, axis=1) > 1).any():
        return ""
    if np.ptp(calls) <= 1:
        return "cyclic" if k == 1 else f"cyclic-{k}"
    same = len(by_scenario) > 1 and (by_scenario == by_scenario[0]).all()
    return "cyclic-restart" if k == 1 and same else ""
