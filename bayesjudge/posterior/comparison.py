"""Posterior variance components beside the closed-form and restricted-likelihood estimates."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import xarray as xr

from bayesjudge.design.cells import Cells, balance, cells_by_model
from bayesjudge.errors import DesignError, FitError
from bayesjudge.estimates.anova import anova_model
from bayesjudge.estimates.reml import reml_model
from bayesjudge.posterior.components import components, summarize
from bayesjudge.posterior.effects import calls_of
from bayesjudge.settings import INTERVAL_PROB
from bayesjudge.terms import TERMS, carrier, parts
from bayesjudge.tree import require_fit

STATISTICS = ["mean", "median", "sd", "eti_low", "eti_high"]
REFERENCES = ["anova", "anova_raw", "anova_paper", "reml"]


def compare(*trees: xr.DataTree, prob: float = INTERVAL_PROB) -> pd.DataFrame:
    """Set the variance components of one fit or several beside other estimates of them.

    Parameters
    ----------
    *trees : DataTree
        Fits of the same table, from `bayesjudge.fit`.
    prob : float
        Probability of the equal-tailed intervals.

    Returns
    -------
    DataFrame
        Index (model, component); for each fit ``mean, median, sd, eti_low, eti_high``, then
        ``anova`` (closed form with the terms of the fits, zero where it came out negative),
        ``anova_raw`` (as it came out), ``anova_paper`` (without scenario:judge: arXiv
        2603.01865, Appendix D; as it came out) and ``reml``, all score². With several fits the
        columns have a first level: the name of the fit's model (numbered where two have the
        same), or "reference". NaN where an estimate does not exist: the closed forms are for
        balanced tables. ``attrs["interaction"]`` says what leaving out scenario:judge does to
        these data, ``attrs["sums"]`` why some rows are sums, ``attrs["problems"]`` what is wrong
        with the fits.

    Raises
    ------
    FitError
        When there is no fit, or they are of different tables.
    """
    if not trees:
        raise FitError("compare needs a fit")
    for tree in trees:
        require_fit(tree)
    if len({tree.attrs["data_sha256"] for tree in trees}) > 1:
        raise FitError("these fits are of different tables of scores: compare fits of one table")
    names = _names(trees)
    posteriors = {name: _posterior(tree, prob) for name, tree in zip(names, trees, strict=True)}
    rows = list(dict.fromkeys(row for frame in posteriors.values() for row in frame.index))
    models = list(trees[0]["posterior"]["model"].to_numpy())
    rows.sort(key=lambda row: (models.index(row[0]), [TERMS.index(t) for t in parts(row[1])]))
    index = pd.MultiIndex.from_tuples(rows, names=["model", "component"])
    interaction = any("scenario:judge" in str(tree.attrs["terms"]).split(",") for tree in trees)
    references = _references(trees[0], index, interaction)
    if len(trees) == 1:
        table = pd.concat([posteriors[names[0]].reindex(index), references], axis=1)
    else:
        together = {name: frame.reindex(index) for name, frame in posteriors.items()}
        table = pd.concat(together | {"reference": references}, axis=1)
    table.attrs = {
        "sums": _sums(trees),
        "prob": prob,
        "interval": "eti",
        "interaction": what_the_interaction_changes(references),
        "problems": [
            f"{name}: {problem}"
            for name, tree in zip(names, trees, strict=True)
            for problem in str(tree.attrs["problems"]).split("\n")
            if problem
        ],
    }
    return table


def _sums(trees: tuple[xr.DataTree, ...]) -> dict[str, str]:
    """Say of each row that is a sum why its terms can't be told apart."""
    found: dict[str, str] = {}
    for tree in trees:
        found |= json.loads(str(tree.attrs["sums"]))
    return found


def _names(trees: tuple[xr.DataTree, ...]) -> list[str]:
    plain = [str(tree.attrs["model"]) for tree in trees]
    return [
        name if plain.count(name) == 1 else f"{name} {plain[: k + 1].count(name)}"
        for k, name in enumerate(plain)
    ]


def _posterior(tree: xr.DataTree, prob: float) -> pd.DataFrame:
    draws = components(tree)
    summary = summarize(draws, prob)
    frame = pd.DataFrame(
        {name: values.ravel() for name, values in summary.items()},
        index=pd.MultiIndex.from_product(
            [draws["model"].to_numpy(), draws["component"].to_numpy()],
            names=["model", "component"],
        ),
    )
    return frame.dropna(how="all")[STATISTICS]


def _references(tree: xr.DataTree, index: pd.MultiIndex, interaction: bool) -> pd.DataFrame:
    """Estimate without priors what stands in the rows of a comparison.

    With the terms of the fits first; rows that only the other set of terms has, from that.
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
