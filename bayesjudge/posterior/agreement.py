"""Whether a linear model was good enough, held against an ordinal fit of the same scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import xarray as xr

from bayesjudge.posterior.effects import calls_of
from bayesjudge.posterior.ordinal_parameters import level_codes
from bayesjudge.settings import END_SHARE_MAX, FITS_APART_SD, LINEAR_SD_MAX, LINEAR_SHARE_MAX
from bayesjudge.wording import listed


@dataclass(frozen=True)
class Compared:
    """One component in two fits.

    Attributes
    ----------
    component : str
        Its name.
    linear, ordinal : tuple of float
        Posterior mean and ends of the interval (score²).
    share : float
        Difference of the means, in parts of the total variance.
    sds : float
        The same, in posterior standard deviations of both fits together.
    """

    component: str
    linear: tuple[float, float, float]
    ordinal: tuple[float, float, float]
    share: float
    sds: float

    @property
    def close(self) -> bool:
        """Whether the difference is small, or small beside what the data leave open."""
        return self.share <= LINEAR_SHARE_MAX or self.sds <= LINEAR_SD_MAX

    @property
    def apart(self) -> bool:
        """Whether chance does not explain the difference."""
        return self.share > LINEAR_SHARE_MAX and self.sds > FITS_APART_SD


@dataclass(frozen=True)
class Ends:
    """How many scores of one evaluated model are at the ends of the scale.

    Attributes
    ----------
    low, high : float
        The lowest and the highest level of the fit (score).
    at_low, at_high : float
        Parts of all scores.
    """

    low: float
    high: float
    at_low: float
    at_high: float


@dataclass(frozen=True)
class Agreement:
    """How far a linear and an ordinal fit agree on one evaluated model.

    Attributes
    ----------
    model : str
        Its label.
    worst : Compared
        The component that differs most, in parts of the total variance, among those that are not
        close if there are any.
    taste : Compared or None
        scenario:judge, if the linear fit puts it clearly above what the ordinal fit can show: the
        latter has no term for it, only the curve between quality and score.
    ends : Ends
        How many scores are at the ends of the scale.
    """

    model: str
    worst: Compared
    taste: Compared | None
    ends: Ends


def agreements(
    linear: pd.DataFrame, ordinal: pd.DataFrame, totals: Mapping[str, float], tree: xr.DataTree
) -> list[Agreement]:
    """Hold a linear and an ordinal fit of the same scores against each other.

    Parameters
    ----------
    linear, ordinal : DataFrame
        Index (model, component), in rows that mean the same; columns as in `bayesjudge.compare`.
    totals : mapping
        Variance of a score by a random judge, by evaluated model (score²).
    tree : DataTree
        The ordinal fit.

    Returns
    -------
    list of Agreement
        By evaluated model.
    """
    at_ends = ends(tree)
    found = []
    for label, total in totals.items():
        compared = [
            _compared(component, linear.loc[label, component], ordinal.loc[label, component], total)
            for model, component in ordinal.index.intersection(linear.index)
            if model == label
        ]
        taste = next((c for c in compared if c.component == "scenario:judge"), None)
        if taste is not None and taste.linear[1] <= taste.ordinal[2]:
            taste = None
        if compared:
            worst = max(compared, key=lambda c: (not c.close, c.share))
            found.append(Agreement(label, worst, taste, at_ends[label]))
    return found


def _compared(component: str, one: pd.Series, other: pd.Series, total: float) -> Compared:
    apart = abs(float(one["mean"] - other["mean"]))
    sd = math.hypot(one["sd"], other["sd"])
    mean, low, high = (float(one[name]) for name in ("mean", "eti_low", "eti_high"))
    return Compared(
        component,
        linear=(mean, low, high),
        ordinal=(float(other["mean"]), float(other["eti_low"]), float(other["eti_high"])),
        share=apart / total,
        sds=apart / sd if sd > 0 else math.inf,
    )


def ends(tree: xr.DataTree) -> dict[str, Ends]:
    """Count the scores at the ends of an ordinal fit's scale, by evaluated model."""
    calls = calls_of(tree)
    codes = level_codes(tree, calls.score)
    levels = tree["constant_data"]["level"].to_numpy()
    found = {}
    for t, label in enumerate(tree["posterior"]["model"].to_numpy()):
        own = codes[calls.model == t]
        at_low, at_high = (float((own == end).mean()) for end in (0, len(levels) - 1))
        found[str(label)] = Ends(float(levels[0]), float(levels[-1]), at_low, at_high)
    return found


def in_words(found: Agreement, linear: str, ordinal: str, wrong: Sequence[str] = ()) -> str:
    """Say whether the linear approximation was good enough for one evaluated model.

    Parameters
    ----------
    found : Agreement
        What was found.
    linear, ordinal : str
        Names of the fits.
    wrong : sequence of str
        Evaluated models on which the fits are apart by more than chance.
    """
    at, worst = found.ends, found.worst
    return (
        f"{found.model}: {_difference(worst, linear, ordinal)}; {_percent(at.at_high)} of scores "
        f"are at the highest level ({at.high:g}) and {_percent(at.at_low)} at the lowest "
        f"({at.low:g}): {_verdict(found, linear, ordinal)}"
        f"{_elsewhere(found, ordinal, wrong)}."
    )


def _elsewhere(found: Agreement, ordinal: str, wrong: Sequence[str]) -> str:
    """Remind of other evaluated models, which have part in the same thresholds."""
    if not wrong or found.model in wrong:
        return ""
    return f" (its thresholds come from all models, and {ordinal} is not right for {listed(wrong)})"


def _difference(worst: Compared, linear: str, ordinal: str) -> str:
    if worst.share <= LINEAR_SHARE_MAX:
        within = math.ceil(100 * worst.share)
        return (
            f"{linear} and {ordinal} agree within {within}% of the total variance on every "
            "component"
        )
    (mean, low, high), one = worst.ordinal, worst.linear
    only = "only " if worst.close else ""
    return (
        f"the {ordinal} fit puts {worst.component} variance at {mean:.2g} ({low:.2g} to "
        f"{high:.2g}), the {linear} one at {one[0]:.2g} ({one[1]:.2g} to {one[2]:.2g}), "
        f"{_percent(worst.share)} of the total variance and {only}{worst.sds:.1f} posterior sd "
        "apart"
    )


def _verdict(found: Agreement, linear: str, ordinal: str) -> str:
    crowded = max(found.ends.at_low, found.ends.at_high) > END_SHARE_MAX
    if found.taste is not None:
        mean, low, high = found.taste.linear
        neither = ", though neither model knows both taste and the ends of the scale"
        return (
            f"{linear} puts scenario:judge at {mean:.2g} ({low:.2g} to {high:.2g}), {ordinal} at "
            f"{found.taste.ordinal[0]:.2g}, since it has no term for judges who differ in taste "
            "and counts that as noise, in part at the expense of generation: read the "
            f"{linear} fit{neither if crowded else ''}"
        )
    if found.worst.apart:
        # Mean squares have the right expectations whatever shape the scores have, so a floor or a
        # ceiling does not set a linear fit's components apart from those of a right ordinal model.
        return (
            f"more than chance, so the {ordinal} model is not right here, as the variances of a "
            "linear model are those of the scores whatever their shape. Evaluated models may "
            "differ in noise, or judges in how they spread scores (ordinal_judge_scale), or the "
            "noise has other tails than the link (ordinal_probit): read the "
            f"{linear} fit"
        )
    if not found.worst.close:
        return (
            "that much may be chance, and which is nearer is open; with 100 scenarios or more, "
            "loo (--loo) can say which model predicts better"
        )
    if crowded:
        return (
            "the linear approximation is good enough for these components; for what scores to "
            f"expect read the {ordinal} fit, which has no scores beyond its levels"
        )
    return "the linear approximation is good enough here"


def _percent(share: float) -> str:
    return "less than 1%" if 0 < share < 0.01 else f"{share:.0%}"
