"""The design of one evaluated model: what its calls can tell apart, and why no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayesjudge.design import reasons
from bayesjudge.design.cells import Balance, Cells, balance
from bayesjudge.design.connect import Block, blocks, offset_errors
from bayesjudge.design.identify import Structure, identify, levels
from bayesjudge.scores import ScoreTable
from bayesjudge.terms import TERMS, sum_name

# Those of a model without interactions, such as linear-paper.
MAIN_TERMS = ("scenario", "generation", "judge", "residual")


@dataclass(frozen=True, eq=False)
class ModelDesign:
    """The design of one evaluated model.

    Attributes
    ----------
    model : str
        Its label.
    balance : Balance or None
        The sizes n, m, K, repeats of a balanced design.
    structure : Structure
        What its data can tell apart.
    blocks : tuple of Block
        Connected parts of the judge-scenario graph; one for a connected design.
    offset_errors : float array, shape (judges of this model,)
        Standard errors of judge means for unmatched scenarios (score), see
        `bayesjudge.design.connect.offset_errors`.
    scenarios : int
        Number of scenarios.
    judges : tuple of str
        The judges that scored it.
    freedom : dict of int
        Degrees of freedom behind each random component or sum.
    why : dict of tuple of str
        By name of a sum, what hides the difference between its terms.
    plain : bool
        Whether no terms are entangled in a model without the interactions.
    """

    model: str
    balance: Balance | None
    structure: Structure
    blocks: tuple[Block, ...]
    offset_errors: np.ndarray
    scenarios: int
    judges: tuple[str, ...]
    freedom: Mapping[str, int]
    why: Mapping[str, tuple[str, ...]]
    plain: bool


def describe(scores: ScoreTable, cells: Cells) -> ModelDesign:
    """Find what one evaluated model's calls can tell."""
    structure = identify(cells, TERMS)
    return ModelDesign(
        model=scores.models[cells.model],
        balance=balance(cells),
        structure=structure,
        blocks=blocks(cells),
        offset_errors=offset_errors(cells),
        scenarios=cells.n_scenarios,
        judges=tuple(scores.judges[j] for j in cells.judge_ids),
        freedom=_freedom(cells, structure),
        why=why_sums(cells, structure),
        plain=not structure.entangled or not identify(cells, MAIN_TERMS).entangled,
    )


def why_sums(cells: Cells, structure: Structure) -> dict[str, tuple[str, ...]]:
    """Find what hides the difference between the terms of each sum."""
    sums = [sum_name(block) for block in structure.blocks if len(block) > 1]
    if not sums:
        return {}
    calls, pairs, filled = _counts(cells)
    facts = {
        reasons.NO_REPEAT: filled == calls,
        reasons.ONE_GENERATION: cells.n_generations == cells.n_scenarios,
        reasons.NO_SHARED_GENERATION: filled == cells.n_generations,
        reasons.NO_SECOND_GENERATION: filled == pairs,
        reasons.NO_SHARED_SCENARIO: pairs == cells.n_scenarios,
    }
    true = {fact for fact, holds in facts.items() if holds}
    return {name: tuple(reasons.reasons(name, true)) for name in sums}


def _counts(cells: Cells) -> tuple[int, int, int]:
    """Count the calls, the scenario-judge pairs and the generation-judge pairs with calls."""
    pairs, filled = (
        int(levels(cells, term).max(initial=-1)) + 1
        for term in ("scenario:judge", "generation:judge")
    )
    return len(cells.score), pairs, filled


def _freedom(cells: Cells, structure: Structure) -> dict[str, int]:
    """Degrees of freedom behind each random component or sum, by counting levels.

    Those of the analysis of variance when the table is balanced, and about that otherwise; the
    terms of a sum may count against each other. Zero where only contrasts with other terms tell.
    """
    n, G, K = cells.n_scenarios, cells.n_generations, cells.n_judges
    calls, pairs, filled = _counts(cells)
    apart = len(blocks(cells))
    free = {
        "scenario": n - apart,
        "generation": G - n,
        "scenario:judge": pairs - n - K + apart,
        "generation:judge": filled - G - pairs + n,
        "residual": calls - filled,
    }
    known = [block for block in structure.blocks if block != ("judge",)]
    return {sum_name(block): max(sum(free[term] for term in block), 0) for block in known}
