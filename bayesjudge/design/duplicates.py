"""Judges that are hardly two: the same model under two prompts counts as one opinion."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells

FloatArray = NDArray[np.float64]

# Two judges are near-duplicates when they go together, and either agree exactly on nearly all
# they both scored or share nearly all that the rest of the panel does not explain. Agreement
# alone would accuse any two judges who give nearly everything the top score.
CORRELATION = 0.7
EQUAL_SHARE = 0.9
FEWEST = 10  # generations in common, below which nothing is said
MOST_JUDGES = 200  # pairs grow with the square
MOST_CELLS = 2_000_000  # judges times generations, beyond which evenly spaced ones are compared


def near_duplicates(tables: tuple[Cells, ...], judges: tuple[str, ...]) -> pd.DataFrame:
    """List pairs of judges that say nearly the same.

    Parameters
    ----------
    tables : tuple of Cells
        The calls of each evaluated model.
    judges : tuple of str
        Judge labels of the table.

    Returns
    -------
    DataFrame
        Columns ``judge_a, judge_b``, ``common`` (generations both scored), ``equal`` (share of
        those with equal scores) and ``correlation`` (partial correlation given the mean of the
        other judges; NaN for two judges). Only pairs that correlate by at least 0.7 and have
        ``equal`` of at least 0.9 or ``correlation`` of at least 0.7. Empty beyond 200 judges.
    """
    columns = ["judge_a", "judge_b", "common", "equal", "correlation"]
    if len(judges) > MOST_JUDGES or len(judges) < 2:
        return pd.DataFrame(columns=columns)
    generations = sum(cells.n_generations for cells in tables)
    step = -(-generations * len(judges) // MOST_CELLS)
    X = np.concatenate([_by_judge(cells, len(judges), step) for cells in tables])
    seen = np.isfinite(X)
    count = seen.sum(axis=1)
    centred = np.where(seen, X - X.sum(axis=0, where=seen) / np.maximum(seen.sum(axis=0), 1), 0.0)
    total = centred.sum(axis=1)
    rows = []
    for a, b in _going_together(centred, seen):
        both = seen[:, a] & seen[:, b]
        equal = float(np.mean(X[both, a] == X[both, b]))
        others = both & (count > 2)
        x, y = centred[others, a], centred[others, b]
        beyond = _partial(x, y, (total[others] - x - y) / (count[others] - 2))
        if equal >= EQUAL_SHARE or beyond >= CORRELATION:
            rows.append((judges[a], judges[b], int(both.sum()), equal, beyond))
    return pd.DataFrame(rows, columns=columns)


def _by_judge(cells: Cells, K: int, step: int) -> FloatArray:
    """Cell means of every step-th generation, generation x judge, NaN where there is no call."""
    mine = cells.generation % step == 0
    cell = cells.generation[mine] // step * K + cells.judge_ids[cells.judge[mine]]
    size = -(-cells.n_generations // step) * K
    count = np.bincount(cell, minlength=size)
    total = np.bincount(cell, cells.score[mine], minlength=size)
    means = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means.reshape(-1, K)


def _going_together(centred: FloatArray, seen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Find the pairs with enough in common and a high correlation on it; shape (pairs, 2)."""
    present = seen.astype(float)
    common = present.T @ present
    sums, squares = centred.T @ present, (centred**2).T @ present
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = squares - sums**2 / common
        product = centred.T @ centred - sums * sums.T / common
        correlation = product / np.sqrt(spread * spread.T)
    # Rounding must not make a judge who always says the same look variable.
    varied = (spread > 1e-9 * squares) & (spread.T > 1e-9 * squares.T)
    return np.argwhere(np.triu((common >= FEWEST) & varied & (correlation >= CORRELATION), k=1))


def _partial(x: FloatArray, y: FloatArray, given: FloatArray) -> float:
    """Correlation of x and y beyond what is linear in a third; NaN when there is too little."""
    if len(x) < FEWEST:
        return float("nan")
    left = [_beyond(values - values.mean(), given - given.mean()) for values in (x, y)]
    size = np.sqrt((left[0] @ left[0]) * (left[1] @ left[1]))
    return float(left[0] @ left[1] / size) if size > 0 else float("nan")


def _beyond(x: FloatArray, given: FloatArray) -> FloatArray:
    squares = given @ given
    return x - (x @ given) / squares * given if squares > 0 else x
