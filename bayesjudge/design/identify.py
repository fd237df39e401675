r"""What a table can tell apart: the rank of the covariance basis matrices on its own pattern.

The covariance of the scores is :math:`\sum_c \sigma_c^2 B_c`, where :math:`B_c` has a one
wherever two calls share a level of term c (the same scenario, the same generation, ...). Judges
are fixed, so only :math:`M B_c M` can be seen, with M the projection that removes the judge
means. Two terms whose :math:`M B_c M` are equal are known only as their sum; a term whose
:math:`M B_c M` is zero can't be seen at all. No list of designs is needed: the inner products
:math:`\langle M B_c M, M B_d M \rangle` follow from counts (Searle, Casella and McCulloch,
*Variance Components*, 1992, chapter 11, on the same quantities in MINQUE).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from bayesjudge.design.cells import Cells
from bayesjudge.terms import RANDOM_TERMS, in_order, sum_name

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Structure:
    """The terms of one evaluated model as its data can know them.

    Attributes
    ----------
    blocks : tuple of tuple of str
        The terms, in groups: one alone is identified, several are known only as their sum.
    absent : tuple of str
        Terms that the table can't show at all.
    entangled : tuple of tuple of str
        Groups in `blocks` in which no two terms are alike, yet some combination of them
        vanishes; such a group has one identified total and no single place in the likelihood.
    """

    blocks: tuple[tuple[str, ...], ...]
    absent: tuple[str, ...]
    entangled: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the identified components and sums."""
        return tuple(sum_name(block) for block in self.blocks)


def identify(cells: Cells, terms: Iterable[str]) -> Structure:
    """Group terms by what the data of one evaluated model can tell apart.

    Parameters
    ----------
    cells : Cells
        The calls of one evaluated model.
    terms : iterable of str
        The terms of the model to be fitted, from `bayesjudge.terms.TERMS`.

    Returns
    -------
    Structure
        The judge term is identified with two judges or more; the others by rank.
    """
    wanted = in_order(terms)
    random = [term for term in wanted if term in RANDOM_TERMS]
    gram = _gram(cells, random)
    size = np.sqrt(np.diag(gram))
    seen = [k for k, term in enumerate(random) if size[k] > _TOLERANCE * _scale(cells)]
    absent = [random[k] for k in range(len(random)) if k not in seen]
    groups = _groups(gram[np.ix_(seen, seen)])
    blocks = [tuple(random[seen[k]] for k in group) for group in groups]
    entangled = [
        block
        for block, group in zip(blocks, groups, strict=True)
        if not _alike(gram[np.ix_(seen, seen)], group)
    ]
    if "judge" in wanted:
        if cells.n_judges > 1:
            blocks.append(("judge",))
        else:
            absent.append("judge")
    first = sorted(blocks, key=lambda block: wanted.index(block[0]))
    return Structure(tuple(first), in_order(absent), tuple(entangled))


def _scale(cells: Cells) -> float:
    """Return the norm that the residual's basis would have without judge means to remove."""
    return float(np.sqrt(len(cells.score)))


def _levels(cells: Cells, term: str) -> NDArray[np.int64]:
    """Number the levels of one term, one number a call."""
    K = cells.n_judges
    match term:
        case "scenario":
            return cells.scenario
        case "generation":
            return cells.generation
        case "scenario:judge":
            return cells.scenario * K + cells.judge
        case "generation:judge":
            return cells.generation * K + cells.judge
        case "residual":
            return np.arange(len(cells.score))
    raise ValueError(f"{term!r} is not a random term")


def _gram(cells: Cells, terms: list[str]) -> NDArray[np.float64]:
    """Inner products of the basis matrices with the judge means removed, from counts alone."""
    calls = np.arange(len(cells.score))
    one = np.ones(len(calls))
    judges = sparse.csr_matrix((one, (calls, cells.judge)))
    per_judge = np.asarray(judges.sum(axis=0)).ravel()
    incidence, by_judge = [], []
    for term in terms:
        levels = np.unique(_levels(cells, term), return_inverse=True)[1]
        Z = sparse.csr_matrix((one, (calls, levels)))
        incidence.append(Z)
        by_judge.append((Z.T @ judges).tocsr())
    gram = np.zeros((len(terms), len(terms)))
    for a in range(len(terms)):
        for b in range(a, len(terms)):
            shared = incidence[a].T @ incidence[b]
            plain = shared.power(2).sum()
            # 1_l' B_a B_b 1_l for each judge l, then the K x K products 1_l' B 1_k.
            mixed = by_judge[a].multiply(shared @ by_judge[b]).sum(axis=0)
            once = (np.asarray(mixed).ravel() / per_judge).sum()
            left = (by_judge[a].T @ by_judge[a]).multiply(by_judge[b].T @ by_judge[b])
            inverse = sparse.diags(1 / per_judge)
            twice = (inverse @ left @ inverse).sum()
            gram[a, b] = gram[b, a] = plain - 2 * once + twice
    return gram


def _groups(gram: NDArray[np.float64]) -> list[list[int]]:
    """Join the terms that some vanishing combination of basis matrices involves together."""
    size = np.sqrt(np.diag(gram))
    null = linalg.null_space(gram / np.outer(size, size), rcond=_TOLERANCE)
    member = list(range(len(size)))
    for row in _reduced(null.T):
        tied = np.flatnonzero(np.abs(row) > np.sqrt(_TOLERANCE))
        joined = {member[k] for k in tied}
        member = [min(joined) if group in joined else group for group in member]
    return [[k for k, own in enumerate(member) if own == group] for group in sorted(set(member))]


def _reduced(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Reduced row echelon form, so that each relation names no more terms than it must."""
    rows = rows.copy()
    done = 0
    for column in range(rows.shape[1]):
        if done == len(rows):
            break
        pivot = done + int(np.argmax(np.abs(rows[done:, column])))
        if abs(rows[pivot, column]) < np.sqrt(_TOLERANCE):
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, column]
        others = np.arange(len(rows)) != done
        rows[others] -= np.outer(rows[others, column], rows[done])
        done += 1
    return rows


def _alike(gram: NDArray[np.float64], group: list[int]) -> bool:
    """Whether all basis matrices of a group are one and the same."""
    own = gram[np.ix_(group, group)]
    return bool(np.allclose(own, own[0, 0], rtol=1e-8))
