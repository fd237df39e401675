r"""An ordinal fit's variance components in the terms of a linear model.

An ordinal fit tells each effect's interaction with the judges from the rest, since all come from
one curve. A linear model has only the scores: what it can't tell apart it knows in sums, and its
`generation` is not quite the ordinal fit's. So that both can stand in one row, this module says
what the linear model's names mean in the components a, b, h, z, e of scenario, generation,
scenario:judge, generation:judge and residual. All are relative to the panel of K judges: an
interaction sums to zero over it, so that those of two judges have covariance -h/(K-1) and
-z/(K-1), averaged over the pairs of judges. Averaged in the same way (a design brings all pairs
together equally often, or it weighs them otherwise), the covariance of two calls on one evaluated
model, judge means apart, is made up of five parts:

====================================== ==================
two calls share                        which adds
====================================== ==================
the scenario                           a - h/(K-1)
the scenario and the judge             hK/(K-1)
the generation                         b - z/(K-1)
the generation and the judge           zK/(K-1)
all (they are one call)                e
====================================== ==================

These are the variances of five effects that are free, that is independent over judges, and a
linear model estimates them or, where the design gives two of them the same pattern, their sum.
Where scenario:judge or generation:judge are told apart, it turns them back into what is relative
to the panel: (K-1)/K of the part, and 1/K of it goes to scenario or generation. So it means by

- *crossed, no repeated calls*: generation, b - z/(K-1); generation:judge+residual, e + zK/(K-1);
  scenario, judge and scenario:judge, the same as the ordinal fit;
- *crossed, one generation a scenario*: scenario+generation, a + b - (h+z)/(K-1);
  scenario:judge+generation:judge+residual, e + (h+z)K/(K-1);
- *cyclic, B <= K*: scenario, a - h/(K-1);
  generation+scenario:judge+generation:judge+residual, b + z + e + hK/(K-1);
- *cyclic, B > K*: generation+generation:judge+residual, b + z + e; scenario and scenario:judge,
  the same;
- *one judge*, or *one call a scenario*, or *repeated calls of all judges*: the plain sums.

On a balanced table the expectations of the ANOVA estimators are exactly these; the rows of one
model always add up to the variance of a score by a random judge.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells, cells_by_model
from bayesjudge.design.details import why_sums
from bayesjudge.design.estimable import PAPER_TERMS
from bayesjudge.design.identify import Structure, identify
from bayesjudge.posterior.components import components
from bayesjudge.posterior.effects import calls_of
from bayesjudge.terms import RANDOM_TERMS, TERMS, carrier, parts

IntArray = NDArray[np.int64]
Weights = dict[str, tuple[int, int]]  # by component: u and v of the weight u + v/(K-1)

ALONE = " alone"  # ends the name of a component when a linear model means another by that name

_MAIN = {"scenario:judge": "scenario", "generation:judge": "generation"}
_WORDS = {
    (1, 0): "plus {}",
    (1, 1): "plus K/(K-1) of {}",
    (0, 1): "plus 1/(K-1) of {}",
    (0, -1): "less 1/(K-1) of {}",
}


@dataclass(frozen=True, eq=False)
class OrdinalRow:
    """One row of an ordinal fit in a comparison.

    Attributes
    ----------
    model, name : str
        Evaluated model, and component or sum.
    draws : DataArray
        Dims chain and draw (score²).
    only_here : bool
        Whether no linear model of the same table knows it.
    meaning : str
        What it is in the components of the ordinal fit, where its name does not say it.
    why : str
        Of a sum, why its terms can't be told apart.
    """

    model: str
    name: str
    draws: xr.DataArray
    only_here: bool = False
    meaning: str = ""
    why: str = ""


def ordinal_rows(tree: xr.DataTree) -> list[OrdinalRow]:
    """Put the components of an ordinal fit into rows in which other fits can stand too.

    Parameters
    ----------
    tree : DataTree
        A fit of an ordinal model.

    Returns
    -------
    list of OrdinalRow
        For each evaluated model what a linear model of its scores would name, as a linear model
        means it; then what only the ordinal fit tells apart.

    Raises
    ------
    FitError
        When the fit holds no scores (beyond a million): what can be told apart in them is not
        known then.
    """
    own = components(tree)
    structure = json.loads(str(tree.attrs["structure"]))
    why = json.loads(str(tree.attrs["sums"]))
    rows: list[OrdinalRow] = []
    for cells in cells_by_model(calls_of(tree), own.sizes["model"]):
        label = str(own["model"].to_numpy()[cells.model])
        here = own.sel(model=label, drop=True)
        rows += _rows(label, cells, here, structure[label]["components"], why)
    return rows


def linear_weights(structure: Structure) -> dict[str, IntArray]:
    """Say what the components that a linear model names are in those of the scores.

    Parameters
    ----------
    structure : Structure
        What the design can tell apart of all six terms.

    Returns
    -------
    dict of int array, shape (5, 2)
        By component or sum, without the judge's: for each of `bayesjudge.terms.RANDOM_TERMS`
        integers u and v, for the weight u + v/(K-1). With one judge the interactions are zero,
        and so v has no meaning.
    """
    found = {
        name: np.sum([_free(term) for term in parts(name)], axis=0)
        for name in structure.names
        if name != "judge"
    }
    for name in tuple(found):
        main = _MAIN.get(carrier(parts(name)))
        if main is None:
            continue
        # A free interaction has K/(K-1) of its component: 1 stays, 1/(K-1) is common to judges.
        common = found[name] * (0, 1)
        found[name] = found[name] - common
        for other in found:
            if main in parts(other):
                found[other] = found[other] + common
    return found


def _free(term: str) -> IntArray:
    """Write the variance of a free effect in the components, as in the module's table."""
    weights = np.zeros((len(RANDOM_TERMS), 2), dtype=np.int64)
    weights[RANDOM_TERMS.index(term)] = (1, 1) if term in _MAIN else (1, 0)
    if f"{term}:judge" in _MAIN:
        weights[RANDOM_TERMS.index(f"{term}:judge")] = (0, -1)
    return weights


def _rows(
    label: str,
    cells: Cells,
    own: xr.DataArray,
    known: Sequence[str],
    why_own: Mapping[str, str],
) -> Iterator[OrdinalRow]:
    def draws(name: str) -> xr.DataArray:
        return own.sel(component=name, drop=True)

    random = [name for name in known if name != "judge"]
    linear = identify(cells, TERMS)
    shared = _shared(linear, random)
    # A component that a linear model means just so stands in the row of the linear model's name.
    same = {next(iter(w)): name for name, w in shared.items() if list(w.values()) == [(1, 0)]}
    taken = {*linear.names, *identify(cells, PAPER_TERMS).names}
    names = {name: same.get(name) or (name + ALONE if name in taken else name) for name in random}
    why = why_sums(cells, linear)
    for name, weights in shared.items():
        total = xr.zeros_like(draws(random[0]))
        for part, (u, v) in weights.items():
            total = total + (u + (v / (cells.n_judges - 1) if v else 0.0)) * draws(part)
        meaning = "" if name in same.values() else _in_words(weights, names)
        yield OrdinalRow(label, name, total, meaning=meaning, why="; ".join(why.get(name, ())))
    if "judge" in known:
        yield OrdinalRow(label, "judge", draws("judge"))
    for name in random:
        if name not in same:
            yield OrdinalRow(
                label, names[name], draws(name), only_here=True, why=why_own.get(name, "")
            )


def _shared(structure: Structure, known: Sequence[str]) -> dict[str, Weights]:
    """Write what a linear model names in the components and sums that the ordinal fit knows."""
    found = {}
    for name, weights in linear_weights(structure).items():
        by_sum = {
            own: {tuple(weights[RANDOM_TERMS.index(term)].tolist()) for term in parts(own)}
            for own in known
        }
        if all(len(values) == 1 for values in by_sum.values()):
            pairs = {own: values.pop() for own, values in by_sum.items()}
            found[name] = {own: pair for own, pair in pairs.items() if pair != (0, 0)}
    return found


def _in_words(weights: Weights, names: Mapping[str, str]) -> str:
    ordered = sorted(weights.items(), key=lambda item: item[1] != (1, 0))
    words = [_WORDS[pair].format(names[name]) for name, pair in ordered]
    return " ".join(words).removeprefix("plus ")
