"""The refusals of tables that can't carry a model or an estimate."""

from __future__ import annotations

from bayesjudge.design.cells import Cells
from bayesjudge.design.identify import Structure, identify
from bayesjudge.errors import DesignError
from bayesjudge.wording import counted

# The model as published, without interactions.
PAPER_TERMS = ("scenario", "generation", "judge", "residual")


def require_estimable(label: str | None, cells: Cells, structure: Structure) -> str:
    """Refuse an evaluated model whose calls can't carry the components; else return its name.

    Parameters
    ----------
    label : str or None
        The model's name; its number will do.
    cells : Cells
        Its calls.
    structure : Structure
        What they can tell apart.

    Raises
    ------
    DesignError
        If nothing varies but the judge, or terms are known neither apart nor as one term.
    """
    name = f"number {cells.model + 1}" if label is None else repr(label)
    if "residual" in structure.absent:
        raise DesignError(
            f"Model {name} has {counted(len(cells.score), 'score')} from "
            f"{counted(cells.n_judges, 'judge')}, one each: no variance can be estimated. It needs "
            "a second scenario, a second generation or repeated calls; or leave it out with "
            "select(models=...) or `where`."
        )
    if structure.entangled:
        helps = not identify(cells, PAPER_TERMS).entangled
        raise DesignError(
            f"Model {name}: the design mixes scenarios in such a way that "
            f"{', '.join(structure.entangled[0])} are known only in combinations, not as separate "
            "variances nor as one common term. Score a few scenarios with two judges on two "
            "generations, or leave "
            + (
                "out scenario:judge (model='linear-paper', interaction=False)."
                if helps
                else "the model out with select(models=...) or `where`."
            )
        )
    return name
