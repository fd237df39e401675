"""The refusals of tables that can't carry a model or an estimate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from bayesjudge.design.cells import Cells
from bayesjudge.design.identify import Structure, identify, levels
from bayesjudge.errors import DesignError
from bayesjudge.wording import counted

# A residual sd below this share of the sd of all scores is lost in their rounding errors.
_LEAST_NOISE = 1e-6
_ENOUGH = 600  # calls whose rank is looked at
_SOME = 20_000  # calls that are looked at for noise before all are

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


def require_noise(label: str, cells: Cells, structure: Structure) -> None:
    """Refuse an evaluated model whose scores the other terms reproduce exactly.

    Its residual variance would be zero, at which the density of the scores is infinite: no
    posterior exists.

    Parameters
    ----------
    label : str
        The model's name.
    cells : Cells
        Its calls.
    structure : Structure
        What they can tell apart; the terms outside the residual's sum are fitted by least squares.

    Raises
    ------
    DesignError
        If the residual sd is below a millionth of the sd of the scores.
    """
    score = cells.score - cells.score.mean()
    spread = float(np.sqrt(np.mean(score**2)))
    if spread > 0:
        least = len(score) * (_LEAST_NOISE * spread) ** 2
        # What some calls leave over is no more than what they leave over among all.
        some = _first(cells, _SOME)
        if some is not cells and _left_over(some, structure, spread) > least:
            return
        if _left_over(cells, structure, spread) > least:
            return
    if _saturated(_other_terms(_first(cells, _ENOUGH), structure)):
        return  # the other terms would reproduce any scores: that they do says nothing
    what = (
        f"all its {len(score):,} scores are {cells.score[0]:g}"
        if spread <= 1e-12 * max(1.0, abs(cells.score[0]))
        else f"its {len(score):,} scores are reproduced exactly by "
        + ", ".join(b[0] for b in structure.blocks if "residual" not in b)
    )
    raise DesignError(
        f"Model {label!r}: {what}, so there is no noise to estimate and no posterior. Were scores "
        "copied, filled in or computed from each other? More generations, or repeated calls, would "
        "show the noise; or leave the model out with select(models=...) or `where`."
    )


def _first(cells: Cells, calls: int) -> Cells:
    """Return the first calls, sorted by scenario; the same cells if they are no more."""
    if len(cells.score) <= calls:
        return cells
    return replace(
        cells,
        scenario=cells.scenario[:calls],
        generation=cells.generation[:calls],
        judge=cells.judge[:calls],
        score=cells.score[:calls],
    )


def _left_over(cells: Cells, structure: Structure, spread: float) -> float:
    """Sum of squares of the scores that the terms outside the residual's sum leave over."""
    X = _other_terms(cells, structure)
    score = (cells.score - cells.score.mean()) / spread
    rest = score - X @ linalg.lsmr(X, score, atol=1e-10, btol=1e-10, maxiter=500)[0]
    return float((rest**2).sum()) * spread**2


def _other_terms(cells: Cells, structure: Structure) -> sparse.csr_matrix:
    """Return indicators of judges and of the levels of all terms outside the residual's sum."""
    calls, one = np.arange(len(cells.score)), np.ones(len(cells.score))
    terms = [b[0] for b in structure.blocks if "residual" not in b and b != ("judge",)]
    codes = [cells.judge, *(levels(cells, term) for term in terms)]
    return sparse.hstack([sparse.csr_matrix((one, (calls, code))) for code in codes]).tocsr()


def _saturated(X: sparse.csr_matrix) -> bool:
    """Whether the columns span all scores."""
    some = X.toarray()
    some = some[:, some.any(axis=0)]
    return bool(np.linalg.matrix_rank(some) == len(some))
