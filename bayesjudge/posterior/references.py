"""Estimates without priors, for the rows of a comparison."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from bayesjudge.design.cells import Cells, balance, cells_by_model
from bayesjudge.errors import DesignError
from bayesjudge.estimates.anova import anova_model
from bayesjudge.estimates.reml import reml_model
from bayesjudge.posterior.effects import calls_of
from bayesjudge.terms import carrier, parts

REFERENCES = ["anova", "anova_raw", "anova_paper", "reml"]


def references(tree: xr.DataTree, index: pd.MultiIndex, interaction: bool) -> pd.DataFrame:
    """Estimate without priors what stands in the rows of a comparison.

    With the terms of the fits first; rows that only the other set of terms has, from that.

    Parameters
    ----------
    tree : DataTree
        A fit of the table.
    index : MultiIndex
        The rows: (model, component).
    interaction : bool
        Whether the fits have scenario:judge.

    Returns
    -------
    DataFrame
        Columns ``anova, anova_raw, anova_paper, reml`` (score²), NaN where there is none.
    """
    table = pd.DataFrame(np.nan, index=index, columns=REFERENCES)
    if "observed_data" not in tree.children:
        return table
    labels = tree["posterior"]["model"].to_numpy()
    for cells in cells_by_model(calls_of(tree), len(labels)):
        label = labels[cells.model]
        closed = [_closed(cells, own) for own in (interaction, not interaction)]
        restricted = [_restricted(cells, own) for own in (interaction, not interaction)]
        paper = closed[1] if interaction else closed[0]
        for component in index[index.get_level_values(0) == label].get_level_values(1):
            row = (label, component)
            for frame in closed:
                if component in frame.index and np.isnan(table.loc[row, "anova_raw"]):
                    table.loc[row, "anova"] = frame.loc[component, "estimate"]
                    table.loc[row, "anova_raw"] = frame.loc[component, "raw"]
            for series in restricted:
                if component in series.index and np.isnan(table.loc[row, "reml"]):
                    table.loc[row, "reml"] = series[component]
            table.loc[row, "anova_paper"] = _same_place(paper, component)
    return table


def _closed(cells: Cells, interaction: bool) -> pd.DataFrame:
    if balance(cells) is None:
        return pd.DataFrame(columns=["estimate", "raw"])
    return anova_model(cells, interaction)


def _restricted(cells: Cells, interaction: bool) -> pd.Series:
    try:
        estimates: pd.Series = reml_model(cells, interaction)["estimate"]
        return estimates
    except DesignError:
        return pd.Series(dtype=float)


def _same_place(frame: pd.DataFrame, component: str) -> float:
    """Return the raw estimate of the component that stands at the same place of the model."""
    for other in frame.index:
        if carrier(parts(other)) == carrier(parts(component)):
            return float(frame.loc[other, "raw"])
    return float("nan")


def what_the_interaction_changes(references: pd.DataFrame) -> list[str]:
    """Say, by evaluated model, what an analysis without scenario:judge makes of generation."""
    found = []
    for label, rows in references.groupby(level="model", sort=False):
        own = rows.droplevel("model")
        if "generation" not in own.index or "scenario:judge" not in own.index:
            continue
        with_it, without = (float(own[c]["generation"]) for c in ("anova_raw", "anova_paper"))
        if np.isnan(with_it) or np.isnan(without):
            continue
        lost = "nothing, or less than nothing, of it" if without <= 0 else f"{without:.3g} of it"
        if with_it > 0 and without < with_it:
            found.append(
                f"{label}: generation variance is {with_it:.3g} with scenario:judge in the "
                f"analysis; leaving it out shows {lost}."
            )
    return found
