"""Judges that are hardly two: the same model under two prompts counts as one opinion."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells

FloatArray = NDArray[np.float64]

# Two judges are near-duplicates when they agree exactly on nearly all they both scored, or
# when what each says beyond the rest of the panel is nearly the same.
EQUAL_SHARE = 0.9
EXCESS_CORRELATION = 0.7
FEWEST = 10  # generations in common, below which nothing is said
MOST_JUDGES = 200  # pairs grow with the square


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
        those with equal scores) and ``correlation`` (of what each says beyond its own mean and
        the mean of the other judges on that generation; NaN for two judges). Only pairs with
        ``equal`` of at least 0.9 or ``correlation`` of at least 0.7. Empty beyond 200 judges.
    """
    columns = ["judge_a", "judge_b", "common", "equal", "correlation"]
    if len(judges) > MOST_JUDGES or len(judges) < 2:
        return pd.DataFrame(columns=columns)
    X = np.concatenate([_by_judge(cells, len(judges)) for cells in tables])
    seen = np.isfinite(X)
    excess = _excess(X, seen)
    rows = []
    for a in range(len(judges)):
        for b in range(a + 1, len(judges)):
            both = seen[:, a] & seen[:, b]
            common = int(both.sum())
            if common < FEWEST:
                continue
            equal = float(np.mean(X[both, a] == X[both, b]))
            alike = _correlation(excess[both, a], excess[both, b]) if len(judges) > 2 else np.nan
            if equal >= EQUAL_SHARE or alike >= EXCESS_CORRELATION:
                rows.append((judges[a], judges[b], common, equal, alike))
    return pd.DataFrame(rows, columns=columns)


def _by_judge(cells: Cells, K: int) -> FloatArray:
    """Cell means as a generation x judge array, NaN where there is no call."""
    cell = cells.generation * K + cells.judge_ids[cells.judge]
    size = cells.n_generations * K
    count = np.bincount(cell, minlength=size)
    total = np.bincount(cell, cells.score, minlength=size)
    means = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means.reshape(cells.n_generations, K)


def _excess(X: FloatArray, seen: NDArray[np.bool_]) -> FloatArray:
    """Return what a judge says beyond its mean and beyond what the others say."""
    centred = np.where(seen, X - np.nanmean(X, axis=0), 0.0)
    total, count = centred.sum(axis=1, keepdims=True), seen.sum(axis=1, keepdims=True)
    return centred - (total - centred) / np.maximum(count - seen, 1)


def _correlation(x: FloatArray, y: FloatArray) -> float:
    x, y = x - x.mean(), y - y.mean()
    size = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / size) if size > 0 else np.nan
