"""Rows that share model, scenario, generation and judge: repeated calls, or a missing column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesjudge.errors import ScoreError
from bayesjudge.scores.columns import ALIASES, COLUMNS, FACETS
from bayesjudge.scores.labels import joint_codes
from bayesjudge.scores.missing import cell_name
from bayesjudge.wording import counted

if TYPE_CHECKING:
    from bayesjudge.scores.raw import RawTable

BoolArray = npt.NDArray[np.bool_]
_FEW = 50  # distinct values up to which an extra column may be a further facet
_CALLS = (
    'If the judge was called several times on the same answer, say repeats="keep" to keep all '
    'calls (--repeats keep) or repeats="mean" to average them (--repeats mean).'
)


def settle_generations(
    tidy: pd.DataFrame, raw: RawTable, repeats: str
) -> tuple[pd.DataFrame, list[str]]:
    """Add the generation column of a table without one: a single generation, ``"1"``.

    Raises
    ------
    ScoreError
        If a judge scored the same model and scenario more than once, so that there may be
        several generations, and the user did not say that they are repeated calls.
    """
    if "generation" in tidy.columns:
        return tidy, []
    again = tidy.duplicated(["model", "scenario", "judge"]).to_numpy()
    if again.any() and repeats == "refuse":
        raise ScoreError(_no_generations(tidy, again, raw))
    note = (
        "There is no generation column, so every model has one generation per scenario, "
        "labelled '1'."
    )
    label = pd.Categorical.from_codes(
        np.zeros(len(tidy), dtype=np.int8), categories=pd.Index(["1"], dtype="str")
    )
    return tidy.assign(generation=label), [note]


def settle_repeats(
    tidy: pd.DataFrame, raw: RawTable, repeats: str
) -> tuple[pd.DataFrame, list[str]]:
    """Refuse, keep or average the rows that repeat model, scenario, generation and judge.

    Raises
    ------
    ScoreError
        If there are any and ``repeats`` is ``"refuse"``.
    """
    if _all_different(tidy):
        return tidy, []
    again = tidy.duplicated(list(FACETS)).to_numpy()
    count = counted(int(again.sum()), "repeated call")
    if repeats == "refuse":
        raise ScoreError(
            f"{count}: {_first_pair(tidy, again, list(FACETS), raw)}. {_CALLS} If they are "
            "different answers, the generation column does not tell them apart: name the right "
            f"one with columns= (--columns generation=...).{_facet_advice(tidy, FACETS)}"
        )
    if repeats == "keep":
        cells = len(tidy) - int(again.sum())
        return tidy, [f"{count} kept: {len(tidy):,} calls on {cells:,} cells."]
    return _averaged(tidy, again)


def _all_different(tidy: pd.DataFrame) -> bool:
    """Whether no two rows share all labels, which sorted numbers tell in a tenth of the time."""
    columns = [tidy[facet].cat for facet in FACETS]
    key = joint_codes(
        (column.codes.to_numpy() for column in columns),
        [len(column.categories) for column in columns],
    )
    if key is None:
        return not tidy.duplicated(list(FACETS)).any()
    steps = np.diff(key)
    if not (steps > 0).all():
        key.sort()
        steps = np.diff(key)
    return bool((steps > 0).all())


def _no_generations(tidy: pd.DataFrame, again: BoolArray, raw: RawTable) -> str:
    key = ["model", "scenario", "judge"]
    aliases = [n for n in _extras(tidy) if str(n).casefold() in ALIASES["generation"]]
    named = aliases[0] if aliases else "..."
    return (
        "There is no generation column, and "
        f"{counted(int(again.sum()), 'row repeats', 'rows repeat')} the model, scenario and judge "
        f"of an earlier one: {_first_pair(tidy, again, key, raw)}. If they are different answers, "
        f'name the column that tells them apart with columns={{"generation": "{named}"}} '
        f"(--columns generation={named}).{_facet_advice(tidy, key)} {_CALLS}"
    )


def _first_pair(tidy: pd.DataFrame, again: BoolArray, key: list[str], raw: RawTable) -> str:
    """Name the first row that repeats an earlier one, and that one."""
    later = int(np.argmax(again))
    same = np.ones(later, dtype=bool)
    for name in key:
        codes = tidy[name].cat.codes.to_numpy()
        same &= codes[:later] == codes[later]
    earlier = int(tidy.index[int(np.argmax(same))])
    return f"first, {cell_name(tidy, later, raw)}, repeats {raw.at(earlier)}"


def _extras(tidy: pd.DataFrame) -> list[str]:
    return [name for name in tidy.columns if name not in COLUMNS]


def _facet_advice(tidy: pd.DataFrame, key: tuple[str, ...] | list[str]) -> str:
    """Suggest filters on the extra columns that tell repeating rows apart."""
    before = int(tidy.duplicated(list(key)).sum())
    found: list[tuple[int, str]] = []
    for name in _extras(tidy):
        try:
            few = 2 <= tidy[name].nunique() <= _FEW
            left = int(tidy.duplicated([*key, name]).sum()) if few else before
        except TypeError:  # lists and the like
            continue
        if left < before:
            found.append((left, name))
    if not found:
        return ""
    filters = []
    for _, name in sorted(found, key=lambda pair: pair[0])[:3]:
        value = tidy[name].dropna().iloc[0]
        shown = f"{value:g}" if isinstance(value, (int, float, np.number)) else repr(str(value))
        column = name if str(name).isidentifier() else f"`{name}`"
        filters.append(f'where="{column} == {shown}"')
    return (
        " If the table mixes several questions about the same answer, pick one with "
        f"{' or '.join(filters)} (--where)."
    )


def _averaged(tidy: pd.DataFrame, again: BoolArray) -> tuple[pd.DataFrame, list[str]]:
    """Replace the rows of a cell by its first, with the mean of the scores present."""
    group = tidy.groupby(list(FACETS), sort=False, observed=True).ngroup().to_numpy()
    scores = tidy["score"].to_numpy()
    # Summed in order of size, so that the order of rows can't change the last digit.
    order = np.lexsort((scores, group))
    present = order[~np.isnan(scores[order])]
    cells = int(group.max()) + 1
    sums = np.bincount(group[present], weights=scores[present], minlength=cells)
    counts = np.bincount(group[present], minlength=cells)
    means = np.divide(sums, counts, out=np.full(cells, np.nan), where=counts > 0)

    varying = [name for name in _extras(tidy) if _varies(tidy[name], group)]
    first = tidy[~again].drop(columns=varying)
    averaged = first.assign(score=means[group[~again]])
    note = (
        f"{counted(int(again.sum()), 'repeated call')} averaged: {len(tidy):,} calls became "
        f"{cells:,} scores, each the mean of those present in its cell; means may lie between "
        "levels."
    )
    if varying:
        note += f" Extra columns that differ within a cell were left out: {', '.join(varying)}."
    return averaged, [note]


def _varies(values: pd.Series, group: npt.NDArray[np.integer]) -> bool:
    try:
        codes = pd.factorize(values, use_na_sentinel=False)[0]
    except TypeError:  # lists and the like can't be compared
        return True
    pairs = pd.DataFrame({"group": group, "value": codes}).drop_duplicates()
    return bool(len(pairs) > len(np.unique(group)))
