"""The audit of a table before any model: what is there, and what it can tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayesjudge.design import wording
from bayesjudge.design.cells import Cells, cells_by_model
from bayesjudge.design.details import ModelDesign, describe
from bayesjudge.design.duplicates import near_duplicates
from bayesjudge.design.estimable import require_noise
from bayesjudge.design.identify import Structure, levels
from bayesjudge.errors import DesignError
from bayesjudge.scores import ScoreTable, require_table
from bayesjudge.terms import TERMS, in_order, sum_name

Known = bool | str


@dataclass(frozen=True, eq=False)
class Design:
    """What a score table holds and what it can tell apart.

    Attributes
    ----------
    models : DataFrame
        Index model; columns ``scenarios, generations, judges, calls, missing`` (counts),
        ``generations_per_scenario`` and ``calls_per_cell`` (as text, "2" or "1-3"),
        ``cells_empty`` (judge-generation pairs without a score), ``balanced``, ``blocks``.
    calls : DataFrame
        Index (judge, model): ``missing, calls, share``, as `ScoreTable.missing`.
    bounds : DataFrame
        Index model: panel mean, and its bounds whatever the missing scores would have been.
    identifiable : dict
        For each of the six components: True; or the name of the sum it is only known in; or
        False when the table can't show it at all. Where evaluated models differ, the coarsest.
    by_model : dict of dict
        The same for each evaluated model.
    near_duplicates : DataFrame
        Pairs of judges that say nearly the same.
    details : tuple of ModelDesign
        The findings behind this, by evaluated model.
    notes : tuple of str
        What was assumed when the table was read.
    warnings : tuple of str
        What a user should know before believing a fit, in sentences.
    """

    models: pd.DataFrame
    calls: pd.DataFrame
    bounds: pd.DataFrame
    identifiable: Mapping[str, Known]
    by_model: Mapping[str, Mapping[str, Known]]
    near_duplicates: pd.DataFrame
    details: tuple[ModelDesign, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def balanced(self) -> bool:
        """Whether the table of every evaluated model is balanced."""
        return bool(self.models["balanced"].all())

    @property
    def connected(self) -> bool:
        """Whether all judges of every evaluated model can be compared within scenarios."""
        return bool((self.models["blocks"] == 1).all())

    def __str__(self) -> str:
        """Write the audit as text."""
        return wording.as_text(self)


def check(scores: ScoreTable) -> Design:
    """Audit a score table.

    Parameters
    ----------
    scores : ScoreTable
        The validated table.

    Returns
    -------
    Design
        Prints as a table, followed by its warnings.
    """
    require_table(scores)
    tables = cells_by_model(scores.calls, len(scores.models))
    details = tuple(describe(scores, cells) for cells in tables)
    by_model = {detail.model: _known(detail.structure) for detail in details}
    duplicates = near_duplicates(tables, scores.judges)
    models = pd.DataFrame(
        [_row(detail, cells) for detail, cells in zip(details, tables, strict=True)],
        index=pd.Index(scores.models, name="model"),
    )
    missing, bounds = scores.missing, scores.panel_mean_bounds()
    models.insert(4, "missing", missing["missing"].groupby("model").sum().reindex(models.index))
    return Design(
        models=models,
        calls=missing,
        bounds=bounds,
        identifiable=_coarsest([detail.structure for detail in details]),
        by_model=by_model,
        near_duplicates=duplicates,
        details=details,
        notes=scores.notes,
        warnings=(
            *filter(None, map(_without_noise, details, tables)),
            *wording.warnings(scores, details, duplicates, missing, bounds),
        ),
    )


def _without_noise(detail: ModelDesign, cells: Cells) -> str:
    """Say that the scores of an evaluated model hold no noise, if so."""
    if "residual" in detail.structure.absent:
        return ""  # which is said elsewhere
    try:
        require_noise(detail.model, cells, detail.structure)
    except DesignError as refusal:
        return f"{refusal} No model can be fitted to a table with it."
    return ""


def _row(detail: ModelDesign, cells: Cells) -> dict[str, object]:
    per_scenario = np.bincount(cells.generation_scenario, minlength=cells.n_scenarios)
    per_cell = np.bincount(levels(cells, "generation:judge"))
    return {
        "scenarios": cells.n_scenarios,
        "generations": cells.n_generations,
        "judges": cells.n_judges,
        "calls": len(cells.score),
        "generations_per_scenario": _span(per_scenario),
        "calls_per_cell": _span(per_cell),
        "cells_empty": cells.n_generations * cells.n_judges - len(per_cell),
        "balanced": detail.balance is not None,
        "blocks": len(detail.blocks),
    }


def _span(counts: np.ndarray) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low}-{high}"


def _known(structure: Structure) -> dict[str, Known]:
    known: dict[str, Known] = dict.fromkeys(structure.absent, False)
    for block in structure.blocks:
        for term in block:
            known[term] = True if len(block) == 1 else sum_name(block)
    return {term: known[term] for term in in_order(known)}


def _coarsest(structures: list[Structure]) -> dict[str, Known]:
    """Join the groups of all evaluated models; a term absent in one is absent in all."""
    member = {term: {term} for term in TERMS}
    for structure in structures:
        for block in structure.blocks:
            joined = set().union(*(member[term] for term in block))
            for term in joined:
                member[term] = joined
    absent = {term for structure in structures for term in structure.absent}
    return {
        term: False
        if term in absent
        else True
        if len(member[term]) == 1
        else sum_name(member[term])
        for term in TERMS
    }
