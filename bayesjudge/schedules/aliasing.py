"""Whether which judge scores depends on what is scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

from bayesjudge.errors import BayesJudgeError
from bayesjudge.schedules.dependence import FloatArray, of_categories, of_numbers
from bayesjudge.schedules.panel import FACETS
from bayesjudge.schedules.rotation import BoolArray, IntArray
from bayesjudge.schedules.runs import Run
from bayesjudge.scores.labels import natural_order
from bayesjudge.wording import did_you_mean, quoted

LEAST_EFFECT = 0.1
LEVEL = 0.05
PERMUTATIONS = 999
_FEW = 20  # different values that are categories
_ABSENT = "(missing)"
_UNTESTED: dict[str, object] = {
    "measure": "",
    "constant_within": "",
    "effect": np.nan,
    "p_value": np.nan,
    "flagged": False,
    "judge": "",
    "value": "",
    "observed": np.nan,
    "expected": np.nan,
    "reason": "",
}


@dataclass(frozen=True, eq=False)
class _Column:
    """A column on the calls of one run: categories (with names) or numbers, and its units."""

    value: IntArray | FloatArray
    names: tuple[str, ...]
    unit: IntArray
    scenario: IntArray
    judge: IntArray
    level: str


def alias_columns(frame: pd.DataFrame, columns: Iterable[str] | None) -> tuple[str, ...]:
    """Return the columns to test: those asked for, or all extra ones; and the generation.

    Parameters
    ----------
    frame : DataFrame
        Of a `ScoreTable`.
    columns : iterable of str, optional

    Raises
    ------
    BayesJudgeError
        When one is not in the table.
    """
    extra = [str(name) for name in frame.columns if name not in (*FACETS, "score")]
    if columns is None:
        return ("generation", *extra)
    asked = [columns] if isinstance(columns, str) else [str(name) for name in columns]
    for name in asked:
        if name not in extra and name != "generation":
            have = f"it has {quoted(extra)}" if extra else "it has none"
            raise BayesJudgeError(
                f"columns: the table has no extra column {name!r} to test for aliasing."
                f"{did_you_mean(name, extra)} Beside generation {have}."
            )
    return tuple(dict.fromkeys(("generation", *asked)))


def aliasing(
    found: Sequence[Run], frame: pd.DataFrame, columns: Sequence[str], seed: int
) -> pd.DataFrame:
    """Test for each model and column whether which judge scores depends on it.

    Columns with few different values (up to 20, and not more than half the scored calls) are
    categories, a missing value one of them, and the effect is Cramér's V; of other columns of
    numbers it is eta². Both are corrected for bias. The p-value is that of permutations: of
    scenarios where the column is the same within each; else of scenarios, and of generations (or
    calls) within them.

    Parameters
    ----------
    found : sequence of Run
    frame : DataFrame
        Of a `ScoreTable`.
    columns : sequence of str
        From `alias_columns`.
    seed : int
        Of the permutations.

    Returns
    -------
    DataFrame
        Index (model, column): ``measure``, ``constant_within`` (scenario, generation or call),
        ``effect``, ``p_value``, ``flagged`` (p-value below .05 over the number of tests, and an
        effect of at least .1), ``judge``, ``value``, ``observed`` and ``expected`` (the judge most
        above an equal share, at which value, with how many calls, and with how many it would be;
        or whose mean is farthest off, and that mean and that of all), ``reason`` (why it was not
        tested). ``attrs``: ``tests``, ``permutations``, ``seed``.
    """
    prepared = {(run.model, name): _prepared(run, frame, name) for run in found for name in columns}
    tests = sum(isinstance(column, _Column) for column in prepared.values())
    # With so many tests, fewer permutations could not give a p-value small enough.
    count = max(PERMUTATIONS, round(2 * tests / LEVEL) - 1)
    panel = found[0].panel
    rows = {
        key: _UNTESTED | {"reason": column}
        if isinstance(column, str)
        else _tested(column, panel, count, seed)
        for key, column in prepared.items()
    }
    table = pd.DataFrame(
        list(rows.values()),
        index=pd.MultiIndex.from_tuples(list(rows), names=["model", "column"]),
    )
    small = table["p_value"] < LEVEL / max(tests, 1)
    table["flagged"] = small & (table["effect"] >= LEAST_EFFECT)
    table.attrs = {"tests": tests, "permutations": count, "seed": seed}
    return table


def _tested(column: _Column, panel: Sequence[str], count: int, seed: int) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    rest = (column.unit, column.scenario, column.judge, count, rng)
    if column.names:
        found = of_categories(column.value.astype(np.int64), *rest)
    else:
        found = of_numbers(column.value.astype(np.float64), *rest)
    return _UNTESTED | {
        "measure": "Cramér's V" if column.names else "eta²",
        "constant_within": column.level,
        "effect": found.effect,
        "p_value": found.p_value,
        "judge": panel[found.judge],
        "value": column.names[found.value] if column.names else "",
        "observed": found.observed,
        "expected": found.expected,
    }


def _prepared(run: Run, frame: pd.DataFrame, name: str) -> _Column | str:
    """Return a column as it is to be tested, or say why it can't be."""
    if run.complete:
        return "every judge scored every generation: nothing can depend on who scores"
    answered = run.answered
    if np.count_nonzero(answered) < 2:
        return "fewer than two judges have scores"
    values = _plain(frame[name].iloc[run.rows])
    distinct = values[run.scored].nunique()
    if distinct <= _FEW and distinct <= run.scored.sum() / 2:
        texts = values.astype(object).where(values.notna(), _ABSENT).astype(str).to_numpy()
        there = np.ones(len(texts), dtype=bool)
        names = natural_order(np.unique(texts).tolist())
        code = pd.Index(names).get_indexer(pd.Index(texts)).astype(np.int64)
        return _nested(run, code, names, there)
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    there = np.isfinite(numbers)
    if np.isnan(numbers[values.notna().to_numpy()]).any():
        return f"it has {distinct:,} different texts, too many for categories"
    return _nested(run, numbers, (), there)


def _plain(values: pd.Series) -> pd.Series:
    """Return values that can be compared: dates as numbers, lists and the like as texts."""
    if is_datetime64_any_dtype(values):
        days: pd.Series = (values - values.min()) / pd.Timedelta(days=1)
        return days.reset_index(drop=True)
    if is_bool_dtype(values.dtype) or not is_numeric_dtype(values.dtype):
        values = values.map(lambda v: v if pd.api.types.is_scalar(v) else repr(v))
    return values.reset_index(drop=True)


def _nested(
    run: Run, value: IntArray | FloatArray, names: tuple[str, ...], there: BoolArray
) -> _Column | str:
    """Find the largest units that a column is the same in."""
    value, judge, scored = value[there], run.judge[there], run.scored[there]
    scenario = np.unique(run.scenario[there], return_inverse=True)[1]
    answer = np.unique(run.generation[there], return_inverse=True)[1]
    if not scored.any() or np.ptp(value[scored]) == 0:
        return "it has one value"
    if _same_within(scenario, value):
        level, unit = "scenario", scenario
    elif _same_within(answer, value):
        level, unit = "generation", answer
    elif _same_within(judge, value):
        return "each judge has one value of it: it describes the judges"
    else:
        level, unit = "call", np.arange(len(value))
    first = np.unique(unit, return_index=True)[1]
    return _Column(value[first], names, unit[scored], scenario[first], judge[scored], level)


def _same_within(group: IntArray, value: IntArray | FloatArray) -> bool:
    by_group = pd.Series(value).groupby(group)
    return bool((by_group.max() == by_group.min()).all())
