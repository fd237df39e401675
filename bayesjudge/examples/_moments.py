"""Score tables whose sample moments are exactly as chosen, and the choice itself.

A balanced table splits into five orthogonal strata: judge means, scenarios, generations within
scenarios, scenario x judge, and the rest. Each estimator of the paper is a function of their sums
of squares. So Gaussian effects are drawn, the table is split, and each stratum is stretched until
its sum of squares is the wanted one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from bayesjudge.examples._targets import COMPONENTS, LABELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bayesjudge.examples._targets import PaperTables

    Array = NDArray[np.float64]

SHARED = 0.5
"""Correlation over evaluated models of the scenario effects, and of the scenario x judge effects:
a hard question is hard for all, and a judge strict on a topic is strict with all."""

F_SLACK = 8e-4
"""How far F may leave Table 4, as a share of it, where Tables 2 and 3 keep it from its digits."""


@dataclass(frozen=True)
class Moments:
    """The sample moments one model's table is to have.

    Attributes
    ----------
    judge_means
        Mean score by judge.
    scenario, generation, judge, residual
        The paper's estimates before truncation at zero.
    interaction
        (MS_SJ - MS_R) / m, the estimate of the scenario x judge variance ``sigma_eta²``.
    """

    judge_means: tuple[float, ...]
    scenario: float
    generation: float
    judge: float
    residual: float
    interaction: float


def rounding_interval(printed: str, unit: float = 1.0) -> tuple[float, float]:
    """Give the values that round to a printed figure, multiplied by the unit of its column."""
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return (float(printed) - half) * unit, (float(printed) + half) * unit


def _component_interval(tables: PaperTables, component: str, k: int) -> tuple[float, float]:
    """Intersect what Table 2 and Table 3's contribution say of one component."""
    unit = 1e-3 * (1 if component == "judge" else tables.n_scenarios)
    low_a, high_a = rounding_interval(tables.variance[component][k])
    low_b, high_b = rounding_interval(tables.contribution[component][k], unit)
    low, high = max(low_a, low_b), min(high_a, high_b)
    if low >= high:
        raise ValueError(f"{LABELS[k]}, {component}: Tables 2 and 3 exclude each other")
    return low, high


def _judge_and_residual(tables: PaperTables, k: int) -> tuple[float, float]:
    """Choose var_judge and var_residual inside their rounding and, with them, F.

    The interval of var_judge is so narrow (10⁻⁵ of it) that its middle will do. Then F - 1 =
    c var_judge / var_residual turns an interval for F into one for the residual.
    """
    n_judges = len(LABELS)
    c = tables.n_scenarios * tables.n_generations * n_judges / (n_judges - 1)
    judge = sum(_component_interval(tables, "judge", k)) / 2
    low, high = _component_interval(tables, "residual", k)
    printed = float(tables.f_statistic[k])
    for f_low, f_high in (
        rounding_interval(tables.f_statistic[k]),
        (printed * (1 - F_SLACK), printed * (1 + F_SLACK)),
    ):
        inside = max(low, c * judge / (f_high - 1)), min(high, c * judge / (f_low - 1))
        if inside[0] < inside[1]:
            return judge, sum(inside) / 2
    raise ValueError(f"{LABELS[k]}: no choice is within {F_SLACK:.2%} of Table 4's F")


def _judge_means(tables: PaperTables, k: int, judge: float, residual: float) -> tuple[float, ...]:
    """Choose judge means that give var_judge, next to the printed ones in least squares.

    With the mean and the sum of squares given, the nearest point stretches the deviations.
    """
    printed = np.array([float(x) for x in tables.judge_means[LABELS[k]]])
    low, high = rounding_interval(tables.mean[k])
    edge = 0.1 * (high - low)
    mean = float(np.clip(printed.mean(), low + edge, high - edge))
    n_judges, per_judge = len(printed), tables.n_scenarios * tables.n_generations
    deviation = printed - printed.mean()
    wanted = judge + (n_judges - 1) / n_judges * residual / per_judge
    means = mean + deviation * np.sqrt(wanted / np.mean(deviation**2))
    if np.abs(means - printed).max() >= 0.005:
        raise ValueError(f"{LABELS[k]}: no judge means inside Table 1's rounding were found")
    return tuple(float(x) for x in means)


def choose_moments(
    tables: PaperTables, label: str, *, interaction: float, negative_generation: float | None = None
) -> Moments:
    """Choose sample moments inside the rounding of all that the paper prints about one model.

    Parameters
    ----------
    tables
        The printed figures of the panel.
    label
        The evaluated model.
    interaction
        Its scenario x judge variance, on which the paper says nothing.
    negative_generation
        The raw generation estimate where 0.000 is printed: truncation at zero hides it.

    Raises
    ------
    ValueError
        If no choice lies inside the rounding.
    """
    k = LABELS.index(label)
    judge, residual = _judge_and_residual(tables, k)
    middle = {x: sum(_component_interval(tables, x, k)) / 2 for x in COMPONENTS if x != "judge"}
    return Moments(
        judge_means=_judge_means(tables, k, judge, residual),
        scenario=middle["scenario"],
        generation=middle["generation"] if negative_generation is None else negative_generation,
        judge=judge,
        residual=residual,
        interaction=interaction,
    )


def within_mean_square(moments: Moments, n: int, m: int) -> float:
    """Give MS_R of the interaction model, such that pooled with MS_SJ it makes the paper's MS_W.

    The pool weighs MS_SJ = MS_R + m interaction by (n - 1)(K - 1) and MS_R by n(m - 1)(K - 1).
    """
    return moments.residual - moments.interaction * m * (n - 1) / (n * m - 1)


def standard_normal(rng: np.random.Generator, *shape: int) -> Array:
    """Draw by inversion: NumPy keeps the stream of uniforms, not that of normals, over releases."""
    return np.asarray(ndtri(1.0 - rng.random(shape)), dtype=np.float64)


def shared_effects(rng: np.random.Generator, n_models: int, *shape: int) -> Array:
    """Draw standard normal effects with correlation `SHARED` over the first axis, the models."""
    common = standard_normal(rng, 1, *shape)
    own = standard_normal(rng, n_models, *shape)
    return np.asarray(np.sqrt(SHARED) * common + np.sqrt(1 - SHARED) * own)


def _stretch(stratum: Array, sum_of_squares: float) -> Array:
    return np.asarray(stratum * np.sqrt(sum_of_squares / np.sum(stratum**2)))


def table_with_moments(raw: Array, moments: Moments) -> Array:
    """Stretch the strata of one model's raw scores to the chosen moments.

    Parameters
    ----------
    raw
        Scores by scenario, generation and judge, of about the right variances.
    moments
        What the result has exactly.

    Returns
    -------
    numpy.ndarray
        Scores of the same shape.
    """
    n, m, n_judges = raw.shape
    ms_r = within_mean_square(moments, n, m)
    ms_sj = ms_r + m * moments.interaction
    ms_g = moments.residual + n_judges * moments.generation
    ms_s = ms_g + m * n_judges * moments.scenario

    centred = raw - raw.mean(axis=(0, 1))
    scenario = centred.mean(axis=(1, 2), keepdims=True)
    generation = centred.mean(axis=2, keepdims=True) - scenario
    scenario_judge = centred.mean(axis=1, keepdims=True) - scenario
    within = centred - scenario - generation - scenario_judge
    return np.asarray(
        np.array(moments.judge_means)
        + _stretch(scenario, ms_s * (n - 1) / (m * n_judges))
        + _stretch(generation, ms_g * n * (m - 1) / n_judges)
        + _stretch(scenario_judge, ms_sj * (n - 1) * (n_judges - 1) / m)
        + _stretch(within, ms_r * n * (m - 1) * (n_judges - 1))
    )


def gaussian_panel(tables: PaperTables, chosen: dict[str, Moments], seed: int) -> Array:
    """Draw the scores of all evaluated models, with the chosen moments.

    Returns
    -------
    numpy.ndarray
        Scores by evaluated model (in the order of `LABELS`), scenario, generation and judge.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    n, m, size = tables.n_scenarios, tables.n_generations, len(LABELS)
    hard = shared_effects(rng, size, n, 1, 1)
    taste = shared_effects(rng, size, n, 1, size)
    taste -= taste.mean(axis=-1, keepdims=True)
    panel = []
    for label, alpha, eta in zip(LABELS, hard, taste, strict=True):
        want = chosen[label]
        ms_r = within_mean_square(want, n, m)
        var_generation = max(want.generation + (want.residual - ms_r) / size, 0.0)
        raw = (
            np.sqrt(want.scenario) * alpha
            + np.sqrt(var_generation) * standard_normal(rng, n, m, 1)
            + np.sqrt(want.interaction) * eta
            + np.sqrt(ms_r) * standard_normal(rng, n, m, size)
        )
        panel.append(table_with_moments(raw, want))
    return np.stack(panel)
