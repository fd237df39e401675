"""Balanced tables of made-up scores."""

import numpy as np
import pandas as pd

from bayesjudge.design.cells import cells_by_model
from bayesjudge.readers import read_scores

# Scenarios, generations, judges, calls per cell.
DESIGNS = {
    "G-study": (4, 2, 3, 1),
    "two judges": (3, 2, 2, 1),
    "one generation": (6, 1, 3, 1),
    "one judge": (4, 3, 1, 1),
    "one of both": (6, 1, 1, 1),
    "repeats": (3, 2, 3, 2),
    "repeats, one generation": (4, 1, 3, 2),
    "repeats, one judge": (3, 2, 1, 3),
    "repeats, one of both": (4, 1, 1, 3),
    "one scenario": (1, 5, 3, 1),
    "one scenario, repeats": (1, 3, 3, 2),
    "one scenario, one judge": (1, 6, 1, 1),
}


def indices(shape):
    return [axis.ravel() for axis in np.indices(shape)]


def frame_of(y, model="A"):
    """A table of scores by scenario, generation, judge and call."""
    i, j, k, _ = indices(y.shape)
    columns = {"model": model, "scenario": i, "generation": j, "judge": k, "score": y.ravel()}
    return pd.DataFrame(columns)


def table_of(y):
    return read_scores(frame_of(y), repeats="keep")


def cells_of(y):
    return cells_by_model(table_of(y).calls, 1)[0]


def random_scores(shape, seed=0):
    n, m, K, r = shape
    z = np.random.default_rng(seed).standard_normal
    return (
        5
        + z((n, 1, 1, 1))
        + 0.8 * z((n, m, 1, 1))
        + z((1, 1, K, 1))
        + 0.6 * z((n, 1, K, 1))
        + 0.5 * z((n, m, K, 1))
        + 0.7 * z((n, m, K, r))
    )
