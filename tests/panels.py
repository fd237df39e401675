"""Tables and dense computations that several tests share."""

from dataclasses import fields

import numpy as np
import pandas as pd
from scipy import stats

from bayesjudge.design.cells import Cells
from bayesjudge.marginal.gaussian import Variances
from bayesjudge.readers import read_scores


def crossed(n, m, K, repeats=1):
    """Rows (scenario, generation, judge) of a complete table."""
    return [(i, j, k) for i in range(n) for j in range(m) for k in range(K) for _ in range(repeats)]


def cyclic(n, calls, K):
    """Rows of a rotation with one judge a generation, carried on across scenarios."""
    return [(i, j, (i * calls + j) % K) for i in range(n) for j in range(calls)]


def thinned(rows, share, seed=0):
    """Some of the rows, drawn at random."""
    keep = np.random.default_rng(seed).random(len(rows)) < share
    return [row for row, kept in zip(rows, keep, strict=True) if kept]


def mixed(n, size):
    """Half the scenarios: one generation, all judges; the others: one judge, as many answers."""
    return [
        (i, j if i % 2 else 0, i % size if i % 2 else j) for i in range(2 * n) for j in range(size)
    ]


def frame_of(rows, seed=0, model="A"):
    """A long table of scores at random, labels in words; rows of one model, or by model."""
    by_model = rows if isinstance(rows, dict) else {model: rows}
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        [
            (name, f"s{i}", f"g{j}", f"j{k}", round(float(rng.uniform(0, 10)), 3))
            for name, own in by_model.items()
            for i, j, k in own
        ],
        columns=["model", "scenario", "generation", "judge", "score"],
    )


def table_of(rows, seed=0, **options):
    """The validated table of `frame_of`."""
    return read_scores(frame_of(rows, seed), **{"scale": (0, 10), "repeats": "keep"} | options)


def cells_of(rows, score):
    """The calls of one evaluated model from rows and scores."""
    order = sorted(range(len(rows)), key=lambda k: rows[k])
    scenario, generation, judge = np.array([rows[k] for k in order]).T
    scenario_ids, scenario_codes = np.unique(scenario, return_inverse=True)
    generation_ids, generation_codes = np.unique(scenario * 1000 + generation, return_inverse=True)
    judge_ids, judge_codes = np.unique(judge, return_inverse=True)
    return Cells(
        model=0,
        scenario=scenario_codes,
        generation=generation_codes,
        judge=judge_codes,
        score=np.asarray(score, dtype=float)[order],
        scenario_ids=scenario_ids,
        generation_ids=np.arange(len(generation_ids)),
        judge_ids=judge_ids,
    )


def variances(K, by_judge=False, **changes):
    """Variances that differ from each other."""
    values = {
        "scenario": 0.7,
        "generation": 0.3,
        "judge": 0.4,
        "interaction": 0.25,
        "cell": 0.15,
        "residual": 0.5 + 0.3 * by_judge * np.arange(K) + np.zeros(K),
    } | changes
    return Variances(**{name: np.asarray(value, dtype=float) for name, value in values.items()})


def stacked(v, draws):
    """The same variances for several draws."""
    return Variances(*(np.stack([getattr(v, f.name)] * draws) for f in fields(v)))


def dense_covariance(cells, v, with_judges=True):
    """Covariance of all scores given the mean, written out call by call."""

    def same(codes):
        return (codes[:, None] == codes[None, :]).astype(float)

    scenario, generation, judge = map(same, (cells.scenario, cells.generation, cells.judge))
    relative = judge - 1 / cells.n_judges
    V = v.scenario * scenario + v.generation * generation
    V += v.interaction * scenario * relative + v.cell * generation * judge
    V += np.diag(v.residual[cells.judge])
    return V + v.judge * relative if with_judges else V


def dense_log_marginal(cells, v, mean, sd):
    """Log density of all scores, mean ~ Normal(mean, sd), by the multivariate normal."""
    V = dense_covariance(cells, v) + sd**2
    return stats.multivariate_normal(np.full(len(V), mean), V).logpdf(cells.score)


def simulate(
    n, m, K, *, scenario, generation, judge, interaction, residual, mu=5.0, seed=0, models=("A",)
):
    """A long table from the linear model; judge offsets have exactly the dispersion given."""
    rng = np.random.default_rng(seed)
    frames = []
    for model in models:
        gamma = rng.standard_normal(K)
        gamma -= gamma.mean()
        gamma *= np.sqrt(judge / np.mean(gamma**2)) if K > 1 else 0.0
        eta = rng.normal(0, np.sqrt(interaction), (n, K))
        eta -= eta.mean(axis=1, keepdims=True)
        X = mu + rng.normal(0, np.sqrt(scenario), (n, 1, 1)) + gamma + eta[:, None, :]
        X = X + rng.normal(0, np.sqrt(generation), (n, m, 1))
        X = X + rng.normal(0, np.sqrt(residual), (n, m, K))
        i, j, k = (index.ravel() for index in np.indices(X.shape))
        frames.append(
            pd.DataFrame(
                {
                    "model": model,
                    "scenario": i + 1,
                    "generation": j + 1,
                    "judge": [f"judge {x + 1}" for x in k],
                    "score": X.ravel(),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)
