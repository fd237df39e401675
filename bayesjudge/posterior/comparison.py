"""Posterior variance components beside the closed-form and restricted-likelihood estimates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import xarray as xr

from bayesjudge.posterior.agreement import agreements, in_words
from bayesjudge.posterior.components import components, summarize
from bayesjudge.posterior.fits_together import fit_names, require_one_table
from bayesjudge.posterior.linear_terms import ALONE, OrdinalRow, ordinal_rows
from bayesjudge.posterior.ordinal_parameters import is_ordinal
from bayesjudge.posterior.references import references, what_the_interaction_changes
from bayesjudge.settings import INTERVAL_PROB
from bayesjudge.terms import place
from bayesjudge.tree import problems

STATISTICS = ["mean", "median", "sd", "eti_low", "eti_high"]
_INDEX = ["model", "component"]


def compare(*trees: xr.DataTree, prob: float = INTERVAL_PROB) -> pd.DataFrame:
    """Set the variance components of one fit or several beside other estimates of them.

    Every row means the same for all columns. An ordinal fit tells more apart than a linear model
    can, so it stands in the rows of a linear model as a linear model would name them (see
    `bayesjudge.posterior.linear_terms`: generation less 1/(K-1) of generation:judge, and so on,
    for each draw); and what only the ordinal fit knows has rows of its own: generation:judge, and
    `generation alone` or `residual alone` where the plain name means something else to a linear
    model.

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
        balanced tables. ``attrs``:

        - ``rows``: of rows that an ordinal fit is in, what they are in its components, and which
          it alone tells apart;
        - ``linear_enough``: given a linear and an ordinal fit (the first of each), for each
          evaluated model whether the linear approximation was good enough;
        - ``interaction``: what leaving out scenario:judge does to these data;
        - ``sums``: why some rows are sums;
        - ``problems``: what is wrong with the fits.

    Raises
    ------
    FitError
        When there is no fit, or they are of different tables, or an ordinal fit holds no scores
        (beyond a million).
    """
    require_one_table(trees, "compare")
    models = [str(label) for label in trees[0]["posterior"]["model"].to_numpy()]
    fits = [_Fit.of(name, tree, prob) for name, tree in zip(fit_names(trees), trees, strict=True)]
    index = _index(fits, models)
    only_ordinal = _only_ordinal(fits)
    known = index[[row not in only_ordinal for row in index]]
    beside = references(trees[0], known, any(_with_interaction(tree) for tree in trees))
    table = _together(fits, beside.reindex(index))
    table.attrs = {
        "rows": _meanings(fits, models),
        "sums": {name: why for fit in fits for name, why in fit.sums().items()},
        "prob": prob,
        "interval": "eti",
        "interaction": what_the_interaction_changes(beside),
        "linear_enough": _linear_enough(fits, models),
        "problems": [f"{fit.name}: {problem}" for fit in fits for problem in problems(fit.tree)],
    }
    return table


@dataclass(frozen=True, eq=False)
class _Fit:
    """A fit to be compared: `frame` has its statistics, `rows` what they are of if ordinal."""

    name: str
    tree: xr.DataTree
    frame: pd.DataFrame
    rows: Sequence[OrdinalRow] | None

    @classmethod
    def of(cls, name: str, tree: xr.DataTree, prob: float) -> _Fit:
        if not is_ordinal(tree):
            return cls(name, tree, _summary(components(tree), prob), None)
        rows = ordinal_rows(tree)
        keys = pd.MultiIndex.from_tuples([(row.model, row.name) for row in rows], names=_INDEX)
        draws = xr.concat([row.draws for row in rows], dim="row", coords="minimal")
        return cls(name, tree, pd.DataFrame(summarize(draws, prob), index=keys), rows)

    def sums(self) -> dict[str, str]:
        """Say of each row that is a sum why its terms can't be told apart."""
        if self.rows is None:
            return dict(json.loads(str(self.tree.attrs["sums"])))
        found: dict[str, list[str]] = {}
        for row in self.rows:
            if row.why:
                found.setdefault(row.name, []).extend(row.why.split("; "))
        return {name: "; ".join(dict.fromkeys(because)) for name, because in found.items()}


def _summary(draws: xr.DataArray, prob: float) -> pd.DataFrame:
    frame = pd.DataFrame(
        {name: values.ravel() for name, values in summarize(draws, prob).items()},
        index=pd.MultiIndex.from_product(
            [draws["model"].to_numpy(), draws["component"].to_numpy()], names=_INDEX
        ),
    )
    return frame.dropna(how="all")[STATISTICS]


def _only_ordinal(fits: Sequence[_Fit]) -> set[tuple[str, str]]:
    return {(row.model, row.name) for fit in fits for row in fit.rows or () if row.only_here}


def _index(fits: Sequence[_Fit], models: Sequence[str]) -> pd.MultiIndex:
    """Put rows in order: by evaluated model, first those that every kind of fit can have."""
    last = _only_ordinal(fits)
    rows = list(dict.fromkeys(row for fit in fits for row in fit.frame.index))
    rows.sort(
        key=lambda row: (
            models.index(row[0]),
            row in last,
            place(row[1].removesuffix(ALONE)),
        )
    )
    return pd.MultiIndex.from_tuples(rows, names=_INDEX)


def _together(fits: Sequence[_Fit], beside: pd.DataFrame) -> pd.DataFrame:
    frames = {fit.name: fit.frame.reindex(beside.index) for fit in fits}
    if len(fits) == 1:
        return pd.concat([frames[fits[0].name], beside], axis=1)
    return pd.concat(frames | {"reference": beside}, axis=1)


def _meanings(fits: Sequence[_Fit], models: Sequence[str]) -> dict[str, str]:
    """Say what the rows of ordinal fits are, where that is not in the name."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in (row for fit in fits for row in fit.rows or ()):
        text = _meaning(row)
        who = found.setdefault(row.name, {}).setdefault(text, [])
        who += [row.model] if row.model not in who else []
    said = {}
    for name, texts in found.items():
        if set(texts) != {""}:
            plain = {text or "the same to both": who for text, who in texts.items()}
            said[name] = "; ".join(
                text if len(who) == len(models) else f"{', '.join(who)}: {text}"
                for text, who in plain.items()
            )
    return said


def _meaning(row: OrdinalRow) -> str:
    if row.only_here:
        return "only the ordinal fit tells it apart"
    return f"as a linear model means it, {row.meaning} (K judges)" if row.meaning else ""


def _with_interaction(tree: xr.DataTree) -> bool:
    """Whether the rows of a fit are those of a linear model with scenario:judge."""
    return is_ordinal(tree) or "scenario:judge" in str(tree.attrs["terms"]).split(",")


def _linear_enough(fits: Sequence[_Fit], models: Sequence[str]) -> list[str]:
    linear = [fit for fit in fits if fit.rows is None]
    ordinal = [fit for fit in fits if fit.rows is not None]
    if not linear or not ordinal:
        return []
    one = next((fit for fit in linear if _with_interaction(fit.tree)), linear[0])
    other = ordinal[0]
    failed = [fit.name for fit in (one, other) if problems(fit.tree)]
    if failed:
        text = (
            "Whether the linear approximation was good enough can't be said: "
            f"{' and '.join(failed)} failed the diagnostics."
        )
        return [text]
    total = components(other.tree).sum("component").mean(("chain", "draw"))
    totals = {label: float(total.sel(model=label)) for label in models}
    found = agreements(one.frame, other.frame, totals, other.tree)
    wrong = [each.model for each in found if each.worst.apart]
    return [in_words(each, one.name, other.name, wrong) for each in found]
