"""The validated table of scores: one row per judge call, checked once, then read-only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesjudge.errors import ScoreError
from bayesjudge.scores.columns import FACETS
from bayesjudge.scores.labels import joint_codes, natural_key, natural_order
from bayesjudge.scores.where import filter_notes, rows_where
from bayesjudge.wording import counted, did_you_mean, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bayesjudge.scores.scale import Scale

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Calls:
    """The scores that are present, as read-only arrays of shape (scores,).

    Sorted by model, scenario, generation, judge and score, so that nothing computed from them
    depends on the order of rows in the input.

    Attributes
    ----------
    model, scenario, generation, judge : int64 array
        Positions in the table's ``models``, ``scenarios``, ``generations`` and ``judges``.
    score : float64 array
        In points of the scale, none missing.
    """

    model: IntArray
    scenario: IntArray
    generation: IntArray
    judge: IntArray
    score: FloatArray

    def __post_init__(self) -> None:
        for values in (self.model, self.scenario, self.generation, self.judge, self.score):
            values.setflags(write=False)

    def __len__(self) -> int:
        return len(self.score)


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable:
    """Scores that were validated; made by `bayesjudge.read_scores`.

    Labels are in natural order (``"2"`` before ``"10"``) and are those with at least one score:
    a judge whose calls all failed is in `frame` and `missing`, but not in `judges`.

    Attributes
    ----------
    frame : DataFrame
        Columns ``model, scenario, generation, judge`` (str), ``score`` (float64, NaN where
        missing) and any extra columns, in the order of the input. Not to be changed.
    models, scenarios, judges : tuple of str
        Labels.
    generations : tuple of (model, scenario, generation)
        Labels of the generations, which are nested in model and scenario.
    scale : Scale
        Lowest score, highest score, step between levels (None: continuous or unknown).
    scale_declared : bool
        Whether the user declared it; otherwise it is the observed range.
    levels : tuple of float, optional
        The allowed scores of a declared scale with levels.
    repeats : str
        What was asked about repeated calls: ``"refuse"``, ``"keep"`` or ``"mean"``.
    source : str
        The path, or ``"DataFrame"``.
    notes : tuple of str
        All that was assumed, filtered, averaged or set missing, in sentences.
    calls : Calls
        The scores that are present, as codes.
    """

    frame: pd.DataFrame
    models: tuple[str, ...]
    scenarios: tuple[str, ...]
    judges: tuple[str, ...]
    generations: tuple[tuple[str, str, str], ...]
    scale: Scale
    scale_declared: bool
    levels: tuple[float, ...] | None
    repeats: str
    source: str
    notes: tuple[str, ...]
    calls: Calls

    @property
    def missing(self) -> pd.DataFrame:
        """Missing scores of each judge on each model that it was called on.

        Returns
        -------
        DataFrame
            Index (judge, model); columns ``missing`` and ``calls`` (counts) and ``share``
            (missing / calls, from 0 to 1).
        """
        absent = self.frame["score"].isna()
        pairs = absent.groupby([self.frame["judge"], self.frame["model"]], observed=True)
        counts = pairs.agg(["sum", "size"]).set_axis(["missing", "calls"], axis=1).astype(np.int64)
        counts.index = _as_text(counts.index)
        counts["share"] = counts["missing"] / counts["calls"]
        order = sorted(counts.index, key=lambda pair: [natural_key(label) for label in pair])
        return counts.loc[order]

    def panel_mean_bounds(self) -> pd.DataFrame:
        """Panel mean of each model, with its bounds whatever the missing scores would have been.

        Returns
        -------
        DataFrame
            Index ``model``; columns ``mean`` (mean over judges of the mean of their scores
            present), ``low`` and ``high`` (the same with every missing score at the lowest and
            highest score of the scale), in points of the scale, and ``missing`` (count).
            Calls that were never made are not counted as missing. A judge whose calls on a
            model are all missing is in its bounds but not in its mean.
        """
        # Sorted, so that the order of rows can't change the last digit of a sum.
        scores = self.frame[["model", "judge", "score"]].sort_values("score")
        by_judge = scores.groupby(["model", "judge"], observed=True)["score"]
        cells = by_judge.agg(["sum", "count", "size"])
        cells.index = _as_text(cells.index)
        absent = cells["size"] - cells["count"]
        present_mean = cells["sum"] / cells["count"].where(cells["count"] > 0)
        columns = {
            "mean": present_mean,
            "low": (cells["sum"] + absent * self.scale.low) / cells["size"],
            "high": (cells["sum"] + absent * self.scale.high) / cells["size"],
        }
        bounds = pd.DataFrame(columns).groupby("model").mean()
        bounds["missing"] = absent.groupby("model").sum()
        return bounds.loc[list(self.models)]

    def select(
        self,
        models: str | Iterable[str] | None = None,
        scenarios: str | Iterable[str] | None = None,
        judges: str | Iterable[str] | None = None,
    ) -> ScoreTable:
        """Keep only the calls with these labels; the scale stays.

        Parameters
        ----------
        models, scenarios, judges : str or iterable of str, optional
            Labels to keep; None keeps all.

        Returns
        -------
        ScoreTable

        Raises
        ------
        ScoreError
            If a label is unknown, or no score is left.
        """
        keep = np.ones(len(self.frame), dtype=bool)
        for facet, wanted in (("model", models), ("scenario", scenarios), ("judge", judges)):
            if wanted is not None:
                labels = [wanted] if isinstance(wanted, str) else list(wanted)
                self._check_known(facet, labels)
                keep &= self.frame[facet].isin(labels).to_numpy()
        left_out = int((~keep).sum())
        note = f"A selection of models, scenarios or judges left out {counted(left_out, 'row')}."
        return self._restricted(keep, [note] if left_out else [])

    def where(self, expression: str) -> ScoreTable:
        """Keep only the rows for which an expression holds; the scale stays.

        Parameters
        ----------
        expression : str
            As for the option ``where`` of `bayesjudge.read_scores`.

        Returns
        -------
        ScoreTable

        Raises
        ------
        ScoreError
            If the expression is not one of the allowed kind, or no score is left.
        """
        keep = rows_where(self.frame, expression, {})
        return self._restricted(keep, filter_notes(expression, int(keep.sum()), len(keep)))

    def split(self, by: str) -> Iterator[tuple[str, ScoreTable]]:
        """Cut the table by a column; the scale stays.

        Parameters
        ----------
        by : str
            The name of a column of `frame`.

        Yields
        ------
        str, ScoreTable
            Each value of the column, in order of appearance, and the rows that have it.

        Raises
        ------
        ScoreError
            If rows have no value in the column, or all scores of a value are missing.
        """
        try:
            codes, values = pd.factorize(self.frame[by])
        except TypeError:  # lists and the like
            raise ScoreError(f"The column {by!r} holds more than single values.") from None
        names = [str(value) for value in values.tolist()]
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ScoreError(
                f"The column {by!r} holds {quoted(twice, limit=5)} in two types, such as a text "
                "and a number. Make them the same."
            )
        present = codes[(codes >= 0) & self.frame["score"].notna().to_numpy()]
        there = np.bincount(present, minlength=len(names))
        empty = [name for name, count in zip(names, there, strict=True) if not count]
        if (codes < 0).any() or empty:
            what = (
                f"the scores of {by} {quoted(empty, limit=5)} are all missing"
                if empty
                else f"{counted(int((codes < 0).sum()), 'row has', 'rows have')} no {by}"
            )
            raise ScoreError(f"The table can't be cut by {by}: {what}. Leave those rows out first.")
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(names) + 1))
        for k, name in enumerate(names):
            rows = order[starts[k] : starts[k + 1]]
            frame = self.frame.iloc[rows].reset_index(drop=True)
            note = f"The rows with {by} {name!r}: {len(rows):,} of {len(self.frame):,}."
            yield name, replace(self, frame=frame, notes=(*self.notes, note), **encode(frame))

    def __repr__(self) -> str:
        kind = "declared" if self.scale_declared else "observed"
        sizes = [
            counted(len(self.models), "model"),
            counted(len(self.scenarios), "scenario"),
            counted(len(self.generations), "generation"),
            counted(len(self.judges), "judge"),
            counted(len(self.calls), "score"),
            f"{len(self.frame) - len(self.calls):,} missing",
        ]
        return f"<ScoreTable {self.source}: {', '.join(sizes)}; scale {self.scale} ({kind})>"

    def _check_known(self, facet: str, labels: list[str]) -> None:
        known = {"model": self.models, "scenario": self.scenarios, "judge": self.judges}[facet]
        unknown = [label for label in labels if label not in known]
        if not unknown:
            return
        if self.frame[facet].isin(unknown[:1]).any():
            raise ScoreError(f"All scores of the {facet} {unknown[0]!r} are missing.")
        raise ScoreError(
            f"There is no {facet} {unknown[0]!r} in the table."
            f"{did_you_mean(str(unknown[0]), known)} It has {quoted(known, limit=10)}."
        )

    def _restricted(self, keep: npt.NDArray[np.bool_], notes: list[str]) -> ScoreTable:
        frame = self.frame[keep].reset_index(drop=True)
        if frame["score"].isna().all():
            raise ScoreError("No score is left: no call has all of the labels or values asked for.")
        labels = encode(frame)
        return replace(self, frame=frame, notes=(*self.notes, *notes), **labels)


def _as_text(index: pd.Index) -> pd.MultiIndex:
    """Return an index of labels as one of str, whatever the columns it came from."""
    frame = index.to_frame(index=False).astype("str")
    return pd.MultiIndex.from_frame(frame)


def encode(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the labels that have a score, in natural order, and the calls coded by them.

    Parameters
    ----------
    frame : DataFrame
        Our five columns, labels as str.

    Returns
    -------
    dict
        The fields ``models, scenarios, judges, generations, calls`` of a `ScoreTable`.
    """
    there = frame["score"].notna().to_numpy()
    present = frame if there.all() else frame[there]
    labels: dict[str, tuple[str, ...]] = {}
    codes: dict[str, IntArray] = {}
    for facet in FACETS:
        labels[facet], codes[facet] = _coded(present[facet])
    score = present["score"].to_numpy(dtype=np.float64)
    keys = [codes.pop(facet) for facet in FACETS]
    order = _order(keys, score, [len(labels[facet]) for facet in FACETS])
    if order is not None:
        keys = [key[order] for key in keys]
        score = score[order]
    model, scenario, sample, judge = keys

    first = np.ones(len(score), dtype=bool)
    first[1:] = (model[1:] != model[:-1]) | (scenario[1:] != scenario[:-1])
    first[1:] |= sample[1:] != sample[:-1]
    names = [labels[facet] for facet in ("model", "scenario", "generation")]
    generations = tuple(
        (names[0][m], names[1][s], names[2][g])
        for m, s, g in zip(*(key[first].tolist() for key in keys[:3]), strict=True)
    )
    return {
        "models": labels["model"],
        "scenarios": labels["scenario"],
        "judges": labels["judge"],
        "generations": generations,
        "calls": Calls(
            model=model,
            scenario=scenario,
            generation=np.cumsum(first).astype(np.int64) - 1,
            judge=judge,
            score=score,
        ),
    }


def _order(keys: list[IntArray], score: FloatArray, sizes: list[int]) -> IntArray | None:
    """Return the order by all keys, then score; None where that is the order already."""
    key = joint_codes(keys, sizes)
    if key is None:
        return np.lexsort((score, *reversed(keys)))
    if (np.diff(key) > 0).all():
        return None
    return np.lexsort((score, key))


def _coded(values: pd.Series) -> tuple[tuple[str, ...], IntArray]:
    codes, uniques = pd.factorize(values)
    labels = natural_order(uniques.tolist())
    place = {label: i for i, label in enumerate(labels)}
    found = np.array([place[label] for label in uniques.tolist()], dtype=np.int64)
    return labels, found[codes]


def require_table(scores: object) -> None:
    """Refuse what is not a score table, before anything is asked of it.

    Raises
    ------
    ScoreError
        Saying how to make one.
    """
    if not isinstance(scores, ScoreTable):
        raise ScoreError(
            f"This needs a score table, not a {type(scores).__name__}: pass what "
            "bayesjudge.read_scores(path or DataFrame, ...) returns."
        )
