"""The ordinal model's integrals the plain way, apart from the package."""

import numpy as np
from scipy import special, stats

CDF = {"logit": special.expit, "probit": special.ndtr}
Z = np.linspace(-9, 9, 241)  # of a standard normal; the trapezoid rule on it is exact to 1e-12
WEIGHT = stats.norm.pdf(Z) * (Z[1] - Z[0])


def log_likelihood_by_scenario(cells, level, thresholds, sigma, link):
    """Both effects integrated on a grid, call by call.

    `level` of each call, from 0; `thresholds` of each of the model's judges, less its offset and
    the model's mean; `sigma` of scenario and generation.
    """
    effect = sigma[0] * Z[:, None] + sigma[1] * Z
    edges = np.pad(thresholds, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
    by_generation = np.ones((cells.n_generations, len(Z), len(Z)))
    for generation, judge, own in zip(cells.generation, cells.judge, level, strict=True):
        low, high = (CDF[link](edges[judge, own + k] - effect) for k in (0, 1))
        by_generation[generation] *= high - low
    with np.errstate(divide="ignore"):  # a scenario far out in the tails has no part in this
        averaged = np.log(by_generation @ WEIGHT)
    found = []
    for i in range(cells.n_scenarios):
        mine = averaged[cells.generation_scenario == i].sum(axis=0)
        found.append(np.log(np.exp(mine) @ WEIGHT))
    return np.array(found)


def cell_moments(thresholds, sigma, values, link):
    """Mean of each judge's scores, and variance of the score of a random cell.

    A random judge's score of a random generation of a random scenario; arguments as above, and
    the scores of the levels.
    """
    effect = np.hypot(*sigma) * Z
    above = CDF[link](effect - thresholds[:, :, None]) @ WEIGHT  # P(level > c) by judge
    p = -np.diff(np.pad(above, ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0))), axis=1)
    mean = p @ values
    second = p @ np.square(values)
    return mean, second.mean() - mean.mean() ** 2
