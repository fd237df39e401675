"""The audit of a finished run: was it carried out as it should be, and what did that cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesjudge.allocations.design import require_dataset_size, require_target
from bayesjudge.allocations.strategies import parse_strategy
from bayesjudge.arguments import require_whole
from bayesjudge.schedules import audit_words
from bayesjudge.schedules.aliasing import alias_columns, aliasing
from bayesjudge.schedules.departures import Planned, departures, read_planned
from bayesjudge.schedules.families import read_families
from bayesjudge.schedules.precision import Goal, Precision, components_of, precision
from bayesjudge.schedules.runs import Run, recognise, runs, shares
from bayesjudge.scores import ScoreTable, require_table
from bayesjudge.scores.labels import natural_order
from bayesjudge.settings import INTERVAL_PROB

ESTIMATOR = "the mean of the scored calls"


@dataclass(frozen=True, eq=False)
class Audit:
    """What a finished run was like.

    Attributes
    ----------
    shares : DataFrame
        Index (model, judge): ``calls`` asked, ``scored``, ``missing``, ``share`` of the scored
        calls, ``equal_share``, ``excess`` (scored calls above an equal share), ``missing_rate``,
        ``missing_rate_others``, ``p_fails_more``. The panel is all judges of the table and of the
        schedule.
    departures : DataFrame
        With a schedule: index model; calls ``planned``, and of those ``made`` as planned,
        ``failed`` (without a score), ``replaced`` (scored by another judge), ``not_made``; and
        ``unplanned`` ones. Empty without.
    departure_rows : DataFrame
        The first rows of each kind: ``kind, model, scenario, generation, planned, scored_by``.
    aliasing : DataFrame
        Index (model, column): whether which judge scores depends on it; see
        `bayesjudge.schedules.aliasing.aliasing`.
    coefficients : DataFrame
        Index (model, component): coefficient of each component in the variance of the score,
        ``executed`` and ``planned``. The score is the mean of the scored calls.
    variance : DataFrame
        Index model: ``scenarios, calls, scored, budget`` (calls on each scenario, if one number);
        with components ``se_executed``, ``se_planned`` (score), each with ``_low`` and ``_high``,
        and ``se_ratio``; with a fit ``bias``, ``bias_low``, ``bias_high`` (score): what the shares
        of the calls make of the judges' own offsets. ``reason``: why one is missing.
    strategies : tuple of str
        For each evaluated model: the strategy that was named, or the one that its calls look like;
        empty where they look like none.
    notes : tuple of str
        What was assumed and found, in sentences.
    warnings : tuple of str
        What is wrong with the run, in sentences.
    """

    shares: pd.DataFrame
    departures: pd.DataFrame
    departure_rows: pd.DataFrame
    aliasing: pd.DataFrame
    coefficients: pd.DataFrame
    variance: pd.DataFrame
    strategies: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        """Write the audit as text."""
        return audit_words.as_text(
            {
                "Calls": self.shares,
                "Departures from the schedule": self.departures,
                "Does who scores depend on it?": self.aliasing.drop(columns="reason"),
                "Variance of the score": self.variance.drop(columns="reason"),
            },
            self.notes,
            self.warnings,
        )


def audit(
    scores: ScoreTable,
    source: xr.DataTree | pd.DataFrame | Mapping[str, ArrayLike] | None = None,
    *,
    strategy: str | None = None,
    schedule: pd.DataFrame | str | Path | None = None,
    columns: Iterable[str] | None = None,
    families: Mapping[str, str] | None = None,
    target: str = "benchmark",
    dataset_size: int | None = None,
    seed: int = 1,
) -> Audit:
    r"""Audit a finished run: shares, failures, departures, aliasing, and the variance it gives.

    Parameters
    ----------
    scores : ScoreTable
        The run. A row without a score is a call that failed.
    source : DataTree, DataFrame or mapping, optional
        Variance components, as for `bayesjudge.allocation`: a fit, a table of `bayesjudge.anova` or
        `bayesjudge.reml`, or components by name (score²). For standard errors; a fit also tells
        the bias.
    strategy : str, optional
        How calls were to be spent, as for `bayesjudge.assign`. Without it, the calls are looked at
        for what they are like, for words alone.
    schedule : DataFrame or path, optional
        What `bayesjudge.assign` gave, or the .csv or .jsonl file it was written to. With it,
        the variance as planned is that of its rows. Without a column model it is for all models.
    columns : iterable of str, optional
        Extra columns of the table to test for aliasing with the judge; all if not given. The
        generation is always tested.
    families : mapping, optional
        Of a judge or model its family, to find calls of a judge on its own family. Others are a
        family of their own, by their label.
    target : {"benchmark", "population"}
        Whether the score is meant for the scenarios that were asked (and those that the schedule
        has), or for scenarios like them.
    dataset_size : int, optional
        For the population: scenarios there are. Infinite without it.
    seed : int
        Of the permutations.

    Returns
    -------
    Audit
        Prints as tables, followed by its notes and warnings.

    Raises
    ------
    BayesJudgeError
        When an argument can't be what it says: an unknown column, strategy or label in families;
        a schedule that is none, or has nothing in common with the table; components that are those
        of other judges.

    Notes
    -----
    The variance is that of the mean of the scored calls around the panel mean,
    :math:`V = \sum_t c_t \sigma^2_t`; see `bayesjudge.allocations.assignment` for the coefficients
    as executed and `bayesjudge.allocations.coefficients` for those of a strategy. The judge
    component is weighed as if the places of the panel went to its judges by chance; the bias is
    :math:`\sum_l (W_l - 1/K) \gamma_l` for the judges there are, with their shares :math:`W_l` of
    the calls. A scenario without any score weighs nothing, which the scenario component pays for.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesjudge import read_scores
    >>> calls = pd.DataFrame(
    ...     {"model": "m", "scenario": [1, 2, 3, 4], "judge": list("aaab"), "score": [1, 2, 3, 4]}
    ... )
    >>> audit(read_scores(calls, scale=(1, 5)), strategy="cyclic").shares["excess"].tolist()
    [1.0, -1.0]
    """
    require_table(scores)
    require_target(target)
    require_dataset_size(dataset_size, 1, target)
    seed = require_whole("seed", seed, 0)
    frame = scores.frame
    names = alias_columns(frame, columns)
    models = natural_order(frame["model"].unique())
    planned = None if schedule is None else read_planned(schedule, models)
    panel = _panel(frame, planned)
    if strategy is not None:
        parse_strategy(strategy, len(panel))
    family = None if families is None else read_families(panel, models, families)
    found = runs(frame, panel)
    counts, rows = (
        (pd.DataFrame(), pd.DataFrame()) if planned is None else departures(planned, frame)
    )
    components = components_of(source, len(panel))
    weighed = [
        precision(run, _own(planned, run), components, Goal(target, dataset_size, strategy))
        for run in found
    ]
    shared = shares(found)
    aliased = aliasing(found, frame, names, seed)
    table = _variance(found, weighed, target)
    looks_like = tuple(strategy or recognise(run) for run in found)
    facts = audit_words.Facts(
        runs=found,
        shares=shared,
        departures=counts,
        aliasing=aliased,
        variance=table,
        more=tuple(one.more for one in weighed),
        strategies=looks_like,
        named=strategy is not None,
        planned=None if planned is None else planned.calls,
        family=family,
        components=components,
        target=target,
    )
    return Audit(
        shares=shared,
        departures=counts,
        departure_rows=rows,
        aliasing=aliased,
        coefficients=pd.concat(
            {run.model: one.coefficients for run, one in zip(found, weighed, strict=True)},
            names=["model"],
        ),
        variance=table,
        strategies=looks_like,
        notes=(*scores.notes, *audit_words.notes(facts)),
        warnings=tuple(audit_words.warnings(facts)),
    )


def _panel(frame: pd.DataFrame, planned: Planned | None) -> tuple[str, ...]:
    due = [] if planned is None else planned.calls["judge"].unique().tolist()
    return natural_order({*frame["judge"].unique().tolist(), *due})


def _own(planned: Planned | None, run: Run) -> pd.DataFrame | None:
    return None if planned is None else planned.calls[planned.calls["model"] == run.model]


def _variance(found: tuple[Run, ...], weighed: list[Precision], target: str) -> pd.DataFrame:
    index = pd.Index([run.model for run in found], name="model")
    table = pd.DataFrame([one.row for one in weighed], index=index)
    table.attrs = {"prob": INTERVAL_PROB, "target": target, "estimator": ESTIMATOR}
    return table
