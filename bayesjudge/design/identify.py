r"""What a table can tell apart: the rank of the covariance basis matrices on its own pattern.

The covariance of the scores is :math:`\sum_c \sigma_c^2 B_c`, where :math:`B_c` has a one
wherever two calls share a level of term c (the same scenario, the same generation, ...). Judges
are fixed, so only :math:`M B_c M` can be seen, with M the projection that removes the judge
means. Two terms whose :math:`M B_c M` are equal are known only as their sum; a term whose
:math:`M B_c M` is zero can't be seen at all. No list of designs is needed: the inner products
:math:`\langle M B_c M, M B_d M \rangle` follow from counts (Searle, Casella and McCulloch,
*Variance Components*, 1992, chapter 11, on the same quantities in MINQUE).

They are fractions of whole numbers, so their rank is found without rounding, by arithmetic
modulo a prime: one call in a million that tells two terms apart is not lost. A prime that hides
a relation by dividing one of its determinants has odds of about one in a billion.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesjudge.design.cells import Balance, Cells, balance
from bayesjudge.terms import RANDOM_TERMS, in_order, sum_name

IntArray = NDArray[np.int64]

_PRIME = (1 << 31) - 1  # the product of two residues fits into 64 bits


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
        Groups in `blocks` in which not all terms are alike, yet some combination of them
        vanishes: they are known in combinations, none of which has a single place in the
        likelihood.
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
    sizes = balance(cells)
    gram = _gram(cells, random) if sizes is None else _balanced_gram(sizes, tuple(random))
    absent = [term for k, term in enumerate(random) if gram[k][k] == 0]
    groups = [group for group in _groups(gram) if gram[group[0]][group[0]] != 0]
    blocks = [tuple(random[k] for k in group) for group in groups]
    entangled = [
        block for block, group in zip(blocks, groups, strict=True) if not _alike(gram, group)
    ]
    if "judge" in wanted:
        if cells.n_judges > 1:
            blocks.append(("judge",))
        else:
            absent.append("judge")
    first = sorted(blocks, key=lambda block: wanted.index(block[0]))
    return Structure(tuple(first), in_order(absent), tuple(entangled))


def _balanced_gram(sizes: Balance, terms: tuple[str, ...]) -> list[list[int]]:
    """Return the inner products of the smallest balanced table that tells the same terms apart.

    The basis matrices of a balanced table share their eigenspaces, the strata. Which of them are
    alike, vanish or are tied depends on which strata have degrees of freedom, and those of sizes
    of two or more are the same.
    """
    counts = (sizes.scenarios, sizes.generations, sizes.judges, sizes.repeats)
    return _gram_of(tuple(min(count, 2) for count in counts), terms)


@cache  # sixteen shapes, by the terms asked for
def _gram_of(shape: tuple[int, ...], terms: tuple[str, ...]) -> list[list[int]]:
    scenario, answer, judge, _ = (axis.ravel() for axis in np.indices(shape))
    cells = Cells(
        model=0,
        scenario=scenario,
        generation=scenario * shape[1] + answer,
        judge=judge,
        score=np.zeros(len(judge)),
        scenario_ids=np.arange(shape[0]),
        generation_ids=np.arange(shape[0] * shape[1]),
        judge_ids=np.arange(shape[2]),
    )
    return _gram(cells, list(terms))


def sizes_of(cells: Cells, structure: Structure) -> dict[str, int | list[str]]:
    """Return what estimates of one evaluated model need with them to be put to use.

    Its numbers of ``scenarios`` and ``judges``, and the terms that are ``absent``.
    """
    return {
        "scenarios": cells.n_scenarios,
        "judges": cells.n_judges,
        "absent": list(structure.absent),
    }


def levels(cells: Cells, term: str) -> IntArray:
    """Return the level of one term that each call has, numbered from 0."""
    K = cells.n_judges
    match term:
        case "scenario":
            return cells.scenario
        case "generation":
            return cells.generation
        case "scenario:judge":
            return cells.pairs()[1]
        case "generation:judge":
            # Sorted by generation and judge, a level begins wherever the number changes.
            starts = np.diff(cells.generation * K + cells.judge, prepend=-1) != 0
            return np.cumsum(starts) - 1
        case "residual":
            return np.arange(len(cells.score))
    raise ValueError(f"{term!r} is not a random term")


def _gram(cells: Cells, terms: list[str]) -> list[list[int]]:
    """Inner products of the basis matrices without judge means, from counts, modulo the prime."""
    calls = np.arange(len(cells.score))
    one = np.ones(len(calls), dtype=np.int64)
    judges = sparse.csr_matrix((one, (calls, cells.judge)))
    counts, which = np.unique(np.bincount(cells.judge), return_inverse=True)
    share = np.array([pow(int(n), -1, _PRIME) for n in counts], dtype=np.int64)[which]
    incidence, by_judge = [], []
    for term in terms:
        codes = levels(cells, term)
        Z = sparse.csr_matrix((one, (calls, codes)))
        incidence.append(Z)
        by_judge.append((Z.T @ judges).tocsr())
    own = [":judge" in term or term == "residual" for term in terms]
    gram = [[0] * len(terms) for _ in terms]
    for a in range(len(terms)):
        for b in range(a, len(terms)):
            shared = (incidence[a].T @ incidence[b]).tocsr()
            plain = int((shared.data**2).sum())
            # 1_l' B_a B_b 1_l for each judge l, then the squares of the products 1_l' B 1_k.
            mixed = (_rest(by_judge[a]).multiply(_rest(shared @ by_judge[b]))).tocsr()
            once = _sum(_product(np.asarray(_rest(mixed).sum(axis=0)).ravel() % _PRIME, share))
            if own[a] or own[b]:
                squares = [
                    np.asarray(by_judge[t].power(2).sum(axis=0)).ravel() % _PRIME for t in (a, b)
                ]
                twice = _sum(_product(_product(*squares), _product(share, share)))
            else:
                twice = _between(by_judge[a], by_judge[b], share)
            gram[a][b] = gram[b][a] = (plain - 2 * once + twice) % _PRIME
    return gram


def _between(A: sparse.csr_matrix, B: sparse.csr_matrix, share: IntArray) -> int:
    """Sum over pairs of judges of (A'A)(B'B)/(n n), by judges or by levels, as is cheaper."""
    per_level = [np.diff(X.indptr).astype(float) for X in (A, B)]
    per_judge = [np.bincount(X.indices, minlength=len(share)).astype(float) for X in (A, B)]
    if sum(n @ n for n in per_level) <= per_judge[0] @ per_judge[1]:
        pairs = _rest(_squared(A)).multiply(_rest(_squared(B))).tocoo()
        weight = _product(share[pairs.row], share[pairs.col])
        return _sum(_product(pairs.data % _PRIME, weight))
    weighted = A.copy()
    weighted.data = _product(A.data % _PRIME, share[A.indices])
    levels = (weighted @ B.T).data % _PRIME
    return _sum(_product(levels, levels))


def _squared(X: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return X'X; when much of X is filled, by floating point, exact below 2^53."""
    if X.shape[0] * X.shape[1] > 4 * X.nnz:
        return (X.T @ X).tocsr()
    full = X.toarray().astype(float)
    return sparse.csr_matrix((full.T @ full).astype(np.int64))


def _rest(X: sparse.csr_matrix) -> sparse.csr_matrix:
    X = X.copy()
    X.data %= _PRIME
    return X


def _product(x: IntArray, y: IntArray) -> IntArray:
    return x * y % _PRIME


def _sum(x: IntArray) -> int:
    return int(x.sum()) % _PRIME


def _groups(gram: list[list[int]]) -> list[list[int]]:
    """Join the terms that some vanishing combination of basis matrices involves together.

    Each column without a pivot in the reduced row echelon form is a combination of those before
    it, and the combinations read off there join all terms that any combination joins.
    """
    rows = [list(row) for row in gram]
    size = len(rows)
    member = list(range(size))
    pivots: list[int] = []
    for column in range(size):
        below = [k for k in range(len(pivots), size) if rows[k][column]]
        if not below:
            tied = {member[pivots[k]] for k in range(len(pivots)) if rows[k][column]}
            joined = tied | {member[column]}
            member = [min(joined) if group in joined else group for group in member]
            continue
        done = len(pivots)
        rows[done], rows[below[0]] = rows[below[0]], rows[done]
        inverse = pow(rows[done][column], -1, _PRIME)
        rows[done] = [x * inverse % _PRIME for x in rows[done]]
        for k in range(size):
            if k != done and rows[k][column]:
                times = rows[k][column]
                rows[k] = [
                    (x - times * y) % _PRIME for x, y in zip(rows[k], rows[done], strict=True)
                ]
        pivots.append(column)
    return [[k for k, own in enumerate(member) if own == group] for group in sorted(set(member))]


def _alike(gram: list[list[int]], group: list[int]) -> bool:
    """Whether all basis matrices of a group are one and the same."""
    return len({gram[a][b] for a in group for b in group}) == 1
