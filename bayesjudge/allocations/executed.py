"""The variance that an assignment of judges to answers gives, row by row, with any weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesjudge.allocations.assignment import AssignmentCoefficients, assignment_coefficients
from bayesjudge.allocations.grid import Spread, weighted
from bayesjudge.allocations.sources import Known, Source, read_source
from bayesjudge.errors import BayesJudgeError
from bayesjudge.terms import TERMS
from bayesjudge.wording import listed, quoted

FloatArray = NDArray[np.float64]

_COLUMNS = ("scenario", "generation", "judge")


def assignment_variance(
    source: xr.DataTree | pd.DataFrame | Mapping[str, ArrayLike],
    calls: pd.DataFrame,
    target: str = "benchmark",
    dataset_size: int | None = None,
    panel: list[str] | None = None,
) -> xr.Dataset:
    """Variance of a score that is a weighted mean of any calls.

    Parameters
    ----------
    source : DataTree, DataFrame or mapping
        As for `bayesjudge.allocation`; components by name are those of a panel of as many judges
        as `panel` has.
    calls : DataFrame
        One row a call: columns scenario, generation, judge, and if they are there ``model`` (rows
        for each evaluated model, those without any left out; without it the rows are for all) and
        ``weight`` (sums to 1 for each model; equal without it).
    target, dataset_size
        As for `bayesjudge.allocation`.
    panel : list of str, optional
        Labels of the judges. Those of the fit; or those in `calls`, if not given.

    Returns
    -------
    Dataset
        ``variance``, ``variance_low``, ``variance_high`` (chain, draw, model; score²), with the
        panel's places given to its judges by chance; ``bias`` (chain, draw, model; score): what
        the weights make of the judges' own offsets, where a fit knows them (a campaign that
        repeats this assignment with the same judges is off by that every time);
        ``coefficient`` (model, term); ``reason`` (model).

    Raises
    ------
    BayesJudgeError
        When columns or labels are missing, a judge is not of the panel, or weights do not sum to
        one.

    Notes
    -----
    Residual variances by judge count with each judge's share of the calls.
    """
    missing = [name for name in _COLUMNS if name not in calls]
    if missing or not len(calls):
        raise BayesJudgeError(
            f"calls need the columns {', '.join(_COLUMNS)} and a row for each call; "
            + (
                f"missing: {listed(missing)} (there are {quoted(calls.columns)})."
                if missing
                else "it has no rows."
            )
        )
    gone = [name for name in _COLUMNS if calls[name].isna().any()]
    if gone:
        row = int(np.flatnonzero(calls[gone[0]].isna())[0])
        raise BayesJudgeError(f"calls: row {row + 1} has no {gone[0]}; each call needs one.")
    known = _source(source, calls, panel)
    if "model" in calls:
        known = _with_calls(known, list(dict.fromkeys(calls["model"].astype(str))))
    shape = (*known.shape, len(known.models))
    low, high, bias = (np.full(shape, np.nan) for _ in range(3))
    own = np.zeros((len(known.models), len(TERMS)))
    reasons = []
    for t, one in enumerate(known.models):
        rows = calls
        if "model" in calls:
            rows = calls[calls["model"].astype(str) == one.model]
        judges = _panel(known, t, panel, calls)
        found = _coefficients(rows, judges, target, dataset_size)
        own[t] = [found.by_term[term] for term in TERMS]
        spread = weighed(one, found, "these calls", relative=known.relative_sums)
        low[..., t], high[..., t] = spread.low, spread.high
        bias[..., t] = _bias(known, t, judges, found)
        reasons.append(spread.reason)
    dims = ("chain", "draw", "model")
    exact = np.where(np.array(reasons) == "", low, np.nan)
    units = {"units": "score²"}
    return xr.Dataset(
        {
            "variance": (dims, exact, units),
            "variance_low": (dims, low, units),
            "variance_high": (dims, high, units),
            "bias": (dims, bias, {"units": "score"}),
            "coefficient": (("model", "term"), own),
            "reason": ("model", np.array(reasons, dtype=str)),
        },
        coords=known.coords
        | {
            "term": list(TERMS),
        },
        attrs=known.attrs
        | {
            "target": target,
        },
    )


def _with_calls(known: Source, labels: list[str]) -> Source:
    """Keep the models that have calls, and say which have none."""
    there = [one.model for one in known.models]
    unknown = [label for label in labels if label not in there]
    if unknown:
        raise BayesJudgeError(
            f"calls name the model {quoted(unknown)}; the components are of {quoted(there)}."
        )
    kept = known.only([name for name in there if name in labels])
    gone = [name for name in there if name not in labels]
    if not gone:
        return kept
    return replace(kept, notes=(*kept.notes, f"No calls of {quoted(gone)}: left out."))


def weighed(known: Known, found: AssignmentCoefficients, what: str, *, relative: bool) -> Spread:
    """Weigh the components of one evaluated model by an assignment.

    Parameters
    ----------
    known : Known
        The components.
    found : AssignmentCoefficients
        Of the assignment, judges in the order of the panel.
    what, relative
        As for `bayesjudge.allocations.grid.weighted`.
    """
    spread = weighted(known, found.by_term, what, relative=relative)
    if known.own_residuals is None:
        return spread
    # The residual component is the mean over judges; their shares of the calls may differ.
    extra = known.own_residuals @ (found.residual_share - found.residual_share.mean())
    return Spread(spread.low + extra, spread.high + extra, spread.reason)


def _source(
    source: xr.DataTree | pd.DataFrame | Mapping[str, ArrayLike],
    calls: pd.DataFrame,
    panel: list[str] | None,
) -> Source:
    if isinstance(source, Mapping) and not isinstance(source, xr.DataTree):
        judges = panel or list(dict.fromkeys(calls["judge"].astype(str)))
        return read_source(source, len(judges))
    return read_source(source)


def _panel(known: Source, t: int, panel: list[str] | None, calls: pd.DataFrame) -> list[str]:
    """Return the labels of the judges of one evaluated model."""
    one = known.models[t]
    judges = list(one.judges or panel or dict.fromkeys(calls["judge"].astype(str)))
    if len(judges) != one.panel_size:
        raise BayesJudgeError(
            f"the components of {one.model} are those of a panel of {one.panel_size} judges, and "
            f"here are {len(judges)} ({quoted(judges)}): name all of them as panel=[...]."
        )
    other = [name for name in dict.fromkeys(calls["judge"].astype(str)) if name not in judges]
    if other:
        raise BayesJudgeError(
            f"calls name {quoted(other)}, not of the panel of {one.model} ({quoted(judges)})."
        )
    return judges


def _coefficients(
    rows: pd.DataFrame, judges: list[str], target: str, dataset_size: int | None
) -> AssignmentCoefficients:
    place = {name: k for k, name in enumerate(judges)}
    return assignment_coefficients(
        pd.factorize(rows["scenario"])[0],
        pd.factorize(rows["generation"])[0],
        rows["judge"].astype(str).map(place).to_numpy(),
        panel_size=len(judges),
        weight=rows["weight"].to_numpy() if "weight" in rows else None,
        target=target,
        dataset_size=dataset_size,
    )


def _bias(
    known: Source, t: int, judges: list[str], found: AssignmentCoefficients
) -> FloatArray | float:
    if known.tree is None:
        return np.nan
    gamma = known.tree["posterior"].to_dataset()["gamma"].isel(model=t).sel(judge=judges)
    offsets: FloatArray = gamma.transpose("chain", "draw", "judge").to_numpy()
    return offsets @ found.judge_weight
