"""The levels of a score table: which scores count as ordered categories, and how often each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesjudge.errors import DesignError, FitError
from bayesjudge.scores import ScoreTable
from bayesjudge.wording import SHOWN, counted, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST = 50
"""The most levels that a table is modelled with."""

# More distinct scores than the first, and fewer scores for each than the second: continuous.
_CONTINUOUS = ((20, 5), (10, 2))
_ROUNDING = 1e-9  # of the range, as where a table is read
_SAME = 1e-12  # of a score: 0.1 * 3 is 0.3
_LISTED = 20
_LINEAR = 'model="linear" (--model linear)'


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of a score table, and the level of each score.

    Attributes
    ----------
    values : float array, shape (levels,)
        The score of each level, ascending (score).
    codes : int64 array, shape (scores,)
        The position in `values` of each score that is present, aligned with `ScoreTable.calls`.
    counts : int64 array, shape (levels,)
        How often each level is used; 0 for a declared level that never is, where such are kept.
    declared : bool
        Whether the user declared these values as levels.
    notes : tuple of str
        All that was assumed, and where the table says little, in sentences.
    """

    values: FloatArray
    codes: IntArray
    counts: IntArray
    declared: bool
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        for values in (self.values, self.codes, self.counts):
            values.setflags(write=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """The values as short texts, no two the same."""
        short = tuple(f"{value:g}" for value in self.values)
        return short if len(set(short)) == len(short) else tuple(map(repr, self.values.tolist()))


def levels_of(scores: ScoreTable, bins: int | None = None, *, keep_unused: bool = False) -> Levels:
    """Find the levels of a table: declared, or observed, or bins of its range.

    Of declared levels (``levels=``, or a scale with a step) those that occur are the levels.
    Without them the distinct scores are.

    Parameters
    ----------
    scores : ScoreTable
        The validated table.
    bins : int, optional
        Cut the scale into this many bins of equal width, and let those that hold a score be the
        levels, with their midpoints as values.
    keep_unused : bool
        Whether all declared levels are levels, used or not. There may be up to `MOST`.

    Returns
    -------
    Levels

    Raises
    ------
    DesignError
        If the scores are all the same, or continuous, or not on the declared scale; or bins are
        not needed or hold all scores in one.
    FitError
        If ``bins`` is not a whole number from 2 to `MOST`, or unused levels are to be kept where
        none are declared.
    """
    values, codes = _distinct(scores.calls.score)
    _require_two(values, codes)
    if keep_unused and (bins is not None or scores.levels is None):
        raise FitError(
            "keep_unused_levels keeps declared levels that never occur, and "
            f"{'bins= makes levels' if bins is not None else 'no levels were declared'}: leave it "
            "out (--keep-unused-levels), or declare levels= or a scale with a step (--levels, "
            "--scale LOW:HIGH:STEP)."
        )
    if bins is not None:
        return _binned(scores, len(values), _whole(bins))
    if scores.levels is not None:
        return _declared(scores, np.array(scores.levels), values, codes, keep_unused)
    _refuse_continuous(scores, values)
    _refuse_outside(scores)
    note = (
        f"No levels were declared: the {len(values)} distinct scores that occur are the levels "
        f"({_list(values)}), and any other score has probability zero in this model. Declare the "
        "scores that were possible with levels= or a scale with a step (--levels, --scale "
        "LOW:HIGH:STEP)."
    )
    averages = (
        'With repeats="mean", an average of repeated calls that falls between two levels is a '
        'level of its own; repeats="keep" (--repeats keep) keeps to the scores as given.'
    )
    notes = [note, averages] if scores.repeats == "mean" else [note]
    return _levels(scores, values, codes, declared=False, notes=notes)


def _distinct(score: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct scores, those within rounding as one, and the position of each score."""
    values, codes = np.unique(score, return_inverse=True)
    size = np.abs(values)
    new = np.append(True, np.diff(values) > _SAME * np.maximum(size[1:], size[:-1]))
    group = np.cumsum(new) - 1
    return values[new], group[codes].astype(np.int64)


def _declared(
    scores: ScoreTable,
    declared: FloatArray,
    values: FloatArray,
    codes: IntArray,
    keep_unused: bool,
) -> Levels:
    upper = np.clip(np.searchsorted(declared, values), 1, len(declared) - 1)
    nearer = values - declared[upper - 1] < declared[upper] - values
    level = upper - nearer
    off = np.abs(values - declared[level]) > _ROUNDING * (declared[-1] - declared[0])
    if off.any():
        raise DesignError(_not_levels(scores, off[codes]))
    codes = level[codes].astype(np.int64)
    _require_two(declared, codes)
    used = np.unique(codes)
    unused = np.delete(declared, used)
    never = (
        f"{counted(len(unused), 'declared level is', 'declared levels are')} never used "
        f"({_list(unused)})"
    )
    if keep_unused:
        if len(declared) > MOST:
            raise DesignError(
                f"{len(declared):,} levels are declared, more than the {MOST} that a cumulative "
                "link model can have here, so they can't all be kept. Leave keep_unused_levels= "
                "(--keep-unused-levels) out: then only the levels that occur are."
            )
        note = (
            f"{never}. All {len(declared)} are kept, as asked for; where one is never used, its "
            "probability rests on the prior, and with it panel means and variances."
        )
        kept = declared
    else:
        if len(declared) > MOST:
            _refuse_continuous(scores, declared[used])
        note = (
            f"{never}: the {len(used)} that occur are the levels ({_list(declared[used])}), and "
            "the others have probability zero in this model, as the scores do not say how rare "
            "they are. keep_unused_levels=True (--keep-unused-levels) keeps them, with the prior's "
            "probability."
        )
        kept, codes = declared[used], np.searchsorted(used, codes).astype(np.int64)
    return _levels(scores, kept, codes, declared=True, notes=[note] if len(unused) else [])


def _binned(scores: ScoreTable, distinct: int, bins: int) -> Levels:
    if distinct <= bins:
        raise DesignError(
            f"bins={bins} is not needed: the {len(scores.calls):,} scores take {distinct} distinct "
            "values, which are levels as they are. Leave bins= (--bins) out"
            f"{f', or give fewer than {distinct}' if distinct > 2 else ''}."
        )
    _refuse_outside(scores)
    low, high, _ = scores.scale
    width = (high - low) / bins
    # A score within rounding of an edge is on it.
    at = np.floor((scores.calls.score - low) / width + _ROUNDING)
    used, codes = np.unique(np.clip(at, 0, bins - 1), return_inverse=True)
    kind = "declared" if scores.scale_declared else "observed"
    if len(used) == 1:
        raise DesignError(
            f"bins={bins} cuts the {kind} range {low:g} to {high:g} into bins of width {width:g}, "
            "and all scores fall into one: nothing is left to model. Give more bins (--bins), or "
            "leave them out."
        )
    middle = np.asarray(low + (np.arange(bins) + 0.5) * width, dtype=np.float64)
    note = (
        f"bins={bins}: the {kind} range {low:g} to {high:g} was cut into {bins} bins of width "
        f"{width:g}, and each score counts as the midpoint of its bin ({_list(middle)}). A score "
        "on the edge of two bins is in the upper one."
    )
    kept = used.astype(np.int64)
    empty = np.delete(middle, kept)
    emptied = (
        f"{counted(len(empty), 'bin holds no score and is', 'bins hold no score and are')} left "
        f"out (midpoint {_list(empty)}): scores there have probability zero in this model."
    )
    notes = [note, emptied] if len(empty) else [note]
    return _levels(scores, middle[kept], codes.astype(np.int64), declared=False, notes=notes)


def _levels(
    scores: ScoreTable, values: FloatArray, codes: IntArray, *, declared: bool, notes: list[str]
) -> Levels:
    counts = np.bincount(codes, minlength=len(values)).astype(np.int64)
    once = np.flatnonzero(counts == 1)
    if len(once):
        calls = [int(np.argmax(codes == k)) for k in once]
        note = (
            f"{counted(len(once), 'level is', 'levels are')} used only once, so that a threshold "
            f"there rests on one score: {_named(scores, calls, values[once])}."
        )
        notes = [*notes, note]
    return Levels(values, codes, counts, declared, tuple(notes))


def _require_two(values: FloatArray, codes: IntArray) -> None:
    if (codes == codes[0]).all():
        n = len(codes)
        raise DesignError(
            f"{f'All {n:,} scores are' if n > 1 else 'The only score is'} {values[codes[0]]:g}: "
            "nothing varies, so there is nothing to model. A cumulative link model needs scores on "
            "two levels or more. Is this the right score column?"
        )


def _refuse_continuous(scores: ScoreTable, values: FloatArray) -> None:
    n, distinct = len(scores.calls), len(values)
    if distinct > MOST:
        why = f"more than the {MOST} levels that a cumulative link model can have here"
        out = ""
    elif any(distinct > many and n < each * distinct for many, each in _CONTINUOUS):
        why = f"on average {n / distinct:.1f} scores for each"
        out = f" If they are levels all the same, list them, at most {MOST}: levels= (--levels)."
    else:
        return
    if scores.repeats == "mean":
        out += ' Are they averages? repeats="keep" (--repeats keep) keeps to the scores as given.'
    raise DesignError(
        f"The {n:,} scores take {distinct:,} distinct values from {values[0]:g} to {values[-1]:g}, "
        f"{why}: these are continuous scores. Use {_LINEAR}, or cut their range into levels: "
        f"bins=10 (--bins 10).{out}"
    )


def _refuse_outside(scores: ScoreTable) -> None:
    """Refuse scores that were kept outside a declared range."""
    low, high, _ = scores.scale
    slack = _ROUNDING * (high - low)
    outside = (scores.calls.score < low - slack) | (scores.calls.score > high + slack)
    if outside.any():
        raise DesignError(_not_levels(scores, outside))


def _not_levels(scores: ScoreTable, which: NDArray[np.bool_]) -> str:
    found = np.flatnonzero(which)
    score = scores.calls.score[found]
    low, high, step = scores.scale
    if scores.levels is None:
        what = f"outside the declared scale ({scores.scale})"
    else:
        levels = str(scores.scale) if step else _list(np.array(scores.levels))
        what = f"not among the declared levels ({levels})"
    means = (
        ' Averages of repeated calls fall between levels: use repeats="keep" (--repeats keep).'
        if scores.repeats == "mean"
        else ""
    )
    bins = ", or bins=10 (--bins 10)" if (score >= low).all() and (score <= high).all() else ""
    return (
        f"{counted(len(found), 'score is', 'scores are')} {what}: "
        f"{_named(scores, found.tolist(), score)}. A cumulative link model has no level for "
        f'them.{means} Read them as missing with outside="missing" (--outside missing), correct '
        f"them or the declared scale (--scale, --levels), or use {_LINEAR}{bins}."
    )


def _whole(bins: Any) -> int:
    whole = isinstance(bins, int | float | np.integer) and not isinstance(bins, bool)
    if whole and 2 <= bins <= MOST and bins == int(bins):
        return int(bins)
    raise FitError(f"bins = {bins!r} must be a whole number from 2 to {MOST} (--bins 10).")


def _list(values: FloatArray) -> str:
    return listed([f"{value:g}" for value in values], limit=_LISTED)


def _named(scores: ScoreTable, found: Sequence[int], values: FloatArray) -> str:
    """List scores, each with its labels."""
    calls = scores.calls
    items = []
    for call, value in zip(found[:SHOWN], values.tolist(), strict=False):
        generation = scores.generations[calls.generation[call]][2]
        items.append(
            f"{value:g} (model {scores.models[calls.model[call]]!r}, scenario "
            f"{scores.scenarios[calls.scenario[call]]!r}, generation {generation!r}, judge "
            f"{scores.judges[calls.judge[call]]!r})"
        )
    rest = len(found) - len(items)
    return "; ".join(items) + (f"; and {rest:,} more" if rest else "")
