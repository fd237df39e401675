"""The scale that scores are given on, and the scores that leave it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from bayesjudge.errors import ScoreError
from bayesjudge.scores.missing import score_examples
from bayesjudge.wording import SHOWN, counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from bayesjudge.scores.raw import RawTable

FloatArray = npt.NDArray[np.float64]
MOST_LEVELS = 10_000
_TOLERANCE = 1e-9  # of the range: 0.1 * 3 is the level 0.3


class Scale(NamedTuple):
    """Lowest and highest score, and the step between levels (None: continuous or unknown)."""

    low: float
    high: float
    step: float | None = None

    def __str__(self) -> str:
        step = "" if self.step is None else f" by {self.step:g}"
        return f"{self.low:g} to {self.high:g}{step}"


@dataclass(frozen=True)
class DeclaredScale:
    """What the user declared: a range, and levels if the scale has them."""

    scale: Scale
    levels: tuple[float, ...] | None

    def __str__(self) -> str:
        if self.levels is None or self.scale.step is not None:
            return str(self.scale)
        return f"one of {listed([f'{level:g}' for level in self.levels], limit=12)}"

    def snap(self, scores: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Set scores within rounding of a level to that level; mark those inside the scale.

        Missing scores count as inside.
        """
        low, high, _ = self.scale
        slack = _TOLERANCE * (high - low)
        if self.levels is None:
            inside = (scores >= low - slack) & (scores <= high + slack)
            return scores, inside | np.isnan(scores)
        levels = np.array(self.levels)
        upper = np.clip(np.searchsorted(levels, scores), 1, len(levels) - 1)
        below, above = levels[upper - 1], levels[upper]
        closest = np.where(scores - below < above - scores, below, above)
        on_grid = np.abs(scores - closest) <= slack
        return np.where(on_grid, closest, scores), on_grid | np.isnan(scores)


def declare(scale: object, levels: object) -> DeclaredScale | None:
    """Read the options ``scale=`` and ``levels=``; None if neither is given.

    Raises
    ------
    ScoreError
        If both are given, or either does not describe a scale.
    """
    if scale is not None and levels is not None:
        raise ScoreError(
            "Both scale= and levels= are given; either declares the scale. Keep levels= if only "
            "those values are allowed, scale= otherwise."
        )
    if scale is not None:
        return _from_scale(scale)
    return None if levels is None else _from_levels(levels)


def observed(scores: FloatArray) -> tuple[Scale, str]:
    """Return the range of the scores as the scale, and the note that says so."""
    scale = Scale(float(np.nanmin(scores)), float(np.nanmax(scores)))
    return scale, (
        f"No scale was declared: the observed range {scale} is used; declare the real one with "
        "scale= or levels= (--scale, --levels)."
    )


def settle_outside(
    tidy: pd.DataFrame, scores: FloatArray, declared: DeclaredScale, outside: str, raw: RawTable
) -> tuple[FloatArray, list[str]]:
    """Refuse, set missing or keep the scores outside a declared scale.

    Returns
    -------
    scores : float array of shape (rows,)
    notes : list of str

    Raises
    ------
    ScoreError
        If there are any and ``outside`` is ``"refuse"``.
    """
    snapped, inside = declared.snap(scores)
    left = ~inside
    if not left.any():
        return snapped, []
    examples = score_examples(tidy, left, snapped[left][:SHOWN].tolist(), raw)
    count = counted(int(left.sum()), "score is", "scores are")
    if outside == "refuse":
        raise ScoreError(
            f"{count} outside the declared scale ({declared}): {examples}. Correct them or the "
            'scale, or choose outside="missing" (--outside missing) to read them as missing '
            'scores, or outside="keep" (--outside keep) to keep them.'
        )
    if outside == "missing":
        note = f"{count} outside the declared scale ({declared}) and read as missing: {examples}."
        return np.where(left, np.nan, snapped), [note]
    return snapped, [f"{count} outside the declared scale ({declared}) and kept."]


def _from_scale(given: object) -> DeclaredScale:
    numbers = _numbers(given, ":", 'scale=(1, 10), scale=(1, 10, 0.5) or "1:10:0.5"', "scale=")
    if len(numbers) not in (2, 3):
        raise ScoreError(
            f"scale={given!r} has {counted(len(numbers), 'number')}; give low and high, or low, "
            "high and step, such as (1, 10) or (1, 10, 0.5) (--scale 1:10:0.5)."
        )
    low, high = numbers[:2]
    if low >= high:
        raise ScoreError(f"scale={given!r} must go from a lower to a higher score.")
    if len(numbers) == 2:
        return DeclaredScale(Scale(low, high), None)
    step = numbers[2]
    if step <= 0:
        raise ScoreError(f"scale={given!r} has a step of {step:g}; a step must be above 0.")
    count = (high - low) / step
    if count > MOST_LEVELS:
        raise ScoreError(
            f"scale={given!r} has more than {MOST_LEVELS:,} levels; leave the step out for a "
            "continuous scale."
        )
    if not math.isclose(count, round(count), rel_tol=_TOLERANCE):
        raise ScoreError(
            f"scale={given!r} does not reach {high:g} from {low:g} in steps of {step:g}; give a "
            "step that divides the range, or list the values with levels= (--levels)."
        )
    levels = tuple(round(low + i * step, 12) for i in range(round(count) + 1))
    return DeclaredScale(Scale(low, high, step), levels)


def _from_levels(given: object) -> DeclaredScale:
    numbers = _numbers(given, ",", 'levels=[0, 1, 2] or "0,1,2"', "levels=")
    levels = tuple(sorted(numbers))
    if len(set(levels)) < 2 or len(set(levels)) < len(levels):
        raise ScoreError(f"levels={given!r} must be at least two different numbers.")
    gaps = np.diff(levels)
    even = np.allclose(gaps, gaps[0], rtol=_TOLERANCE, atol=0)
    step = round(float(gaps[0]), 12) if even else None
    return DeclaredScale(Scale(levels[0], levels[-1], step), levels)


def _numbers(given: object, separator: str, example: str, option: str) -> Sequence[float]:
    parts = given.split(separator) if isinstance(given, str) else given
    try:
        if not isinstance(parts, Iterable):
            raise TypeError
        numbers = [float(part) for part in parts]
    except (TypeError, ValueError):
        raise ScoreError(f"{option}{given!r} can't be read; write it as {example}.") from None
    if not all(math.isfinite(number) and abs(number) <= 1e100 for number in numbers):
        raise ScoreError(f"{option}{given!r} must hold finite numbers, up to 1e100 in size.")
    return numbers
