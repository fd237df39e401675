"""Which score-scale components an ordinal fit can tell apart, and why not the others."""

from __future__ import annotations

from collections.abc import Sequence

from bayesjudge.design.cells import Cells
from bayesjudge.design.details import why_sums
from bayesjudge.design.identify import Structure
from bayesjudge.terms import in_order, parts, place, sum_name


def known_components(cells: Cells, structure: Structure) -> tuple[str, ...]:
    """Name the score-scale components and sums of one evaluated model.

    Each latent effect has its interaction with the judges beside it: scenario and scenario:judge,
    generation and generation:judge. Effects that are known only in a latent sum are known only in
    sums here, and so are their interactions. One that is in the noise of the link is in the
    residual. With one judge there are no judge components.

    Parameters
    ----------
    cells : Cells
        The calls of the model.
    structure : Structure
        Which latent effects they can tell apart.
    """
    panel = cells.n_judges > 1
    found = []
    for name in structure.names:
        found += [sum_name(terms) for terms in _groups(name, panel) if terms]
    return tuple(sorted(found, key=place))


def why_score_sums(tables: Sequence[Cells], structures: Sequence[Structure]) -> dict[str, str]:
    """Say of each score-scale sum why its terms can't be told apart."""
    found: dict[str, list[str]] = {}
    for cells, structure in zip(tables, structures, strict=True):
        for name, because in why_sums(cells, structure).items():
            for terms in _groups(name, cells.n_judges > 1):
                if len(terms) > 1:
                    found.setdefault(sum_name(terms), []).extend(because)
    return {name: "; ".join(dict.fromkeys(because)) for name, because in found.items()}


def _groups(name: str, panel: bool) -> list[tuple[str, ...]]:
    """Return the score-scale terms that a latent component or sum stands for, in sums."""
    terms = parts(name)
    main = [term for term in terms if term != "residual"]
    crossed = [f"{term}:judge" for term in main if panel and term != "judge"]
    if "residual" in terms:
        return [in_order([*main, *crossed, "residual"])]
    return [in_order(main), in_order(crossed)]
