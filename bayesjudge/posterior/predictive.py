"""Whether a fit reproduces how often each judge gives each level: tables replicated from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.arguments import require_whole
from bayesjudge.design.cells import Cells, cells_by_model
from bayesjudge.errors import BayesJudgeError, FitError
from bayesjudge.levels import MOST
from bayesjudge.posterior.components import require_probability
from bayesjudge.posterior.effects import calls_of
from bayesjudge.posterior.linear_parameters import LinearParameters, linear_parameters
from bayesjudge.posterior.ordinal_parameters import (
    OrdinalParameters,
    is_ordinal,
    level_codes,
    parameters_of,
    split_by_table,
)
from bayesjudge.settings import INTERVAL_PROB
from bayesjudge.tree import require_fit
from bayesjudge.wording import counted, listed

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_LEAST = 100  # replicated tables, to say where 95% of them lie
_BLOCK = 2_000_000  # scores replicated at a time
_SAME = 1e-12  # of a score: 0.1 * 3 is 0.3
_NAMED = 3  # levels named of a judge


def level_frequencies(
    tree: xr.DataTree,
    seed: int = 0,
    prob: float = INTERVAL_PROB,
    draws: int = 500,
    levels: Sequence[float] | None = None,
) -> pd.DataFrame:
    """Hold each judge's level frequencies against those of tables replicated from the fit.

    A replicated table has the same cells as the observed one, and new scenarios, generations and
    noise. A score of a linear fit counts as the level that is nearest; what lies beyond the ends
    of the scale counts as the level at that end.

    Parameters
    ----------
    tree : DataTree
        From `bayesjudge.fit`, of a table of up to a million scores.
    seed : int
        The same seed gives the same numbers.
    prob : float
        Probability of the intervals.
    draws : int
        Tables to replicate, one for each of so many draws of the posterior, evenly spaced; all
        draws if there are fewer.
    levels : sequence of float, optional
        For a linear fit, where to count; a score counts as the nearest. The distinct scores
        unless given.

    Returns
    -------
    DataFrame
        Index (model, judge, level), one row for each level and each judge that scored the model.
        ``observed`` is the share of the judge's scores at the level, ``expected`` its mean over
        replicated tables, ``eti_low`` and ``eti_high`` the equal-tailed interval over them, and
        ``inside`` whether the observed share lies in it. In ``attrs``:

        - ``prob``, and ``draws``, the number of replicated tables;
        - ``judges``, a list with a dict for each model and judge: ``mean_observed``,
          ``mean_expected``, ``mean_eti_low``, ``mean_eti_high`` (score), the shares at the ends
          of the scale, ``lowest_observed``, ``lowest_expected``, ``highest_observed``,
          ``highest_expected``, and ``p_value``: in how many replicated tables the judge's
          frequencies lie as far from the expected ones as observed, levels taken together (sum of
          squares, each in its standard deviations);
        - ``misfits``, a sentence for each judge whose frequencies the fit can't reproduce: whose
          p-value is at most (1 - prob) over the number of judges (and models), or whose
          frequencies lie farther away than in any replicated table;
        - ``off_scale``, by model, the share of replicated scores beyond the ends of the scale: 0
          for an ordinal fit.

    Raises
    ------
    FitError
        When it is no fit, or does not hold its scores; when a linear fit's scores take more than
        50 values and no levels are given.
    BayesJudgeError
        When a setting is out of range.

    Notes
    -----
    The parameters were fitted to the same scores, so that fewer observed shares lie outside their
    intervals than the probability says: a judge that is named does not fit, one that isn't may not
    either.
    """
    require_fit(tree)
    require_probability(prob)
    require_whole("draws", draws, _LEAST)
    ordinal, rng = is_ordinal(tree), np.random.default_rng(seed)
    if ordinal and levels is not None:
        raise FitError("an ordinal fit has its own levels: levels= is for linear fits.")
    posterior = tree["posterior"].to_dataset()
    tables = cells_by_model(calls_of(tree), posterior.sizes["model"])
    score = np.concatenate([cells.score for cells in tables])
    if ordinal:
        values = tree["constant_data"]["level"].to_numpy()
        codes, parameters = level_codes(tree, score), parameters_of(tree)
    else:
        values = _values(score, levels)
        codes, parameters = np.searchsorted(_edges(values), score, side="right"), None
    total = posterior.sizes["chain"] * posterior.sizes["draw"]
    chosen = np.unique(np.linspace(0, total - 1, int(draws)).astype(np.int64))
    scale = (float(tree.attrs["scale_low"]), float(tree.attrs["scale_high"]))
    frames, rows, off_scale = [], [], {}
    for cells, own in zip(tables, split_by_table(tables, codes), strict=True):
        if parameters is None:
            replicates = _linear(linear_parameters(tree, cells).at(chosen), cells, values, rng)
            found = _count(replicates, cells, values, scale)
        else:
            replicates = _ordinal(parameters, str(tree.attrs["link"]), cells, chosen, rng)
            found = _count(replicates, cells, values, None)
        label = str(posterior["model"].to_numpy()[cells.model])
        counts = np.zeros((cells.n_judges, len(values)))
        np.add.at(counts, (cells.judge, own), 1.0)
        calls = counts.sum(axis=1)
        mean = counts @ values if ordinal else np.bincount(cells.judge, cells.score)
        judges = posterior["judge"].to_numpy()[cells.judge_ids].tolist()
        by_judge = _frames(label, judges, counts, found.counts, values, prob)
        frames += by_judge
        rows += _rows(by_judge, counts, mean / calls, found, prob)
        off_scale[label] = found.off_scale
    frame = pd.concat(frames)
    # At least the p-value of a judge that is farther off than in any replicated table.
    most = max((1 - prob) / len(frames), 1 / (len(chosen) + 1))
    misfits = [
        _sentence(row, own) for row, own in zip(rows, frames, strict=True) if row["p_value"] <= most
    ]
    frame.attrs = {
        "prob": prob,
        "draws": len(chosen),
        "judges": rows,
        "misfits": misfits,
        "off_scale": off_scale,
    }
    return frame


def _values(score: FloatArray, levels: Sequence[float] | None) -> FloatArray:
    """Return the levels at which a linear fit's scores are counted, ascending."""
    if levels is not None:
        values = np.unique(np.asarray(levels, dtype=np.float64))
        if len(values) < 2 or not np.isfinite(values).all():
            raise BayesJudgeError("levels= must be two different numbers or more.")
        return values
    values = np.unique(score)
    new = np.diff(values) > _SAME * np.maximum(np.abs(values[1:]), np.abs(values[:-1]))
    values = np.asarray(values[np.append(True, new)])
    if len(values) > MOST:
        raise FitError(
            f"The {len(score):,} scores take {len(values):,} distinct values, more than {MOST}: "
            "these are continuous scores, and few of them are alike. To count them by the nearest "
            "of some levels, give those: levels=[1, 2, 3, 4, 5]."
        )
    return values


def _edges(values: FloatArray) -> FloatArray:
    return np.asarray((values[1:] + values[:-1]) / 2)


# Replicated scores (or latent values), shape (draws, calls), and each judge's cuts between levels,
# shape (draws, judges, levels - 1); one block of draws after the other.
_Tables = Iterator[tuple[FloatArray, FloatArray]]


def _ordinal(
    parameters: OrdinalParameters,
    link: str,
    cells: Cells,
    chosen: IntArray,
    rng: np.random.Generator,
) -> _Tables:
    noise = rng.logistic if link == "logit" else rng.normal
    for draws in _blocks(chosen, cells):
        sigma = parameters.sigma[draws, cells.model]
        values = _effects(sigma[:, 0], sigma[:, 1], cells, rng)
        values += noise(size=values.shape)
        yield values, parameters.thresholds[draws[:, None], cells.model, cells.judge_ids]


def _linear(
    parameters: LinearParameters, cells: Cells, levels: FloatArray, rng: np.random.Generator
) -> _Tables:
    means, v = parameters
    K, edges = cells.n_judges, _edges(levels)
    answer, cell = np.unique(cells.generation * K + cells.judge, return_inverse=True)
    for draws in _blocks(np.arange(len(means)), cells):
        values = _effects(np.sqrt(v.scenario[draws]), np.sqrt(v.generation[draws]), cells, rng)
        values += means[draws][:, cells.judge]
        if v.interaction.any():
            eta = rng.standard_normal((len(draws), cells.n_scenarios, K))
            eta = (eta - eta.mean(axis=2, keepdims=True))[:, cells.scenario, cells.judge]
            values += np.sqrt(v.interaction[draws])[:, None] * eta
        if v.cell.any():
            zeta = rng.standard_normal((len(draws), len(answer)))[:, cell]
            values += np.sqrt(v.cell[draws])[:, None] * zeta
        noise = rng.standard_normal(values.shape)
        values += np.sqrt(v.residual[draws])[:, cells.judge] * noise
        yield values, np.broadcast_to(edges, (len(draws), K, len(edges)))


def _blocks(draws: IntArray, cells: Cells) -> Iterator[IntArray]:
    size = max(1, _BLOCK // len(cells.score))
    for start in range(0, len(draws), size):
        yield draws[start : start + size]


def _effects(
    scenario: FloatArray, generation: FloatArray, cells: Cells, rng: np.random.Generator
) -> FloatArray:
    """Draw new scenario and generation effects, for each call, shape (draws, calls)."""
    a = rng.standard_normal((len(scenario), cells.n_scenarios)) * scenario[:, None]
    b = rng.standard_normal((len(scenario), cells.n_generations)) * generation[:, None]
    return np.asarray(a[:, cells.scenario] + b[:, cells.generation])


class _Replicated(NamedTuple):
    """What is counted in replicated tables of one evaluated model."""

    counts: FloatArray  # (draws, judges, levels)
    means: FloatArray  # (draws, judges): of the scores (score)
    off_scale: float  # share of scores


def _count(
    tables: _Tables, cells: Cells, values: FloatArray, scale: tuple[float, float] | None
) -> _Replicated:
    """Count levels; with a scale what was replicated are scores, and else latent values."""
    K, L = cells.n_judges, len(values)
    counts, means, off, total = [], [], 0, 0
    for found, cuts in tables:
        block, mean = np.empty((len(found), K, L)), np.empty((len(found), K))
        for k in range(K):
            own = found[:, cells.judge == k]
            below = np.zeros((len(found), L + 1))
            below[:, -1] = own.shape[1]
            for c in range(L - 1):
                below[:, c + 1] = (own <= cuts[:, k, c, None]).sum(axis=1)
            block[:, k] = np.diff(below, axis=1)
            mean[:, k] = block[:, k] @ values / own.shape[1] if scale is None else own.mean(axis=1)
        counts.append(block)
        means.append(mean)
        total += found.size
        if scale is not None:
            off += int(((found < scale[0]) | (found > scale[1])).sum())
    return _Replicated(np.concatenate(counts), np.concatenate(means), off / total)


def _interval(replicated: FloatArray, prob: float) -> FloatArray:
    """Return equal-tailed intervals over replicated tables, with values that occur as ends."""
    tail = (1 - prob) / 2
    return np.asarray(np.quantile(replicated, [tail, 1 - tail], axis=0, method="inverted_cdf"))


def _frames(
    model: str,
    judges: Sequence[str],
    counts: FloatArray,
    replicated: FloatArray,
    values: FloatArray,
    prob: float,
) -> list[pd.DataFrame]:
    """Hold the levels of each judge of a model against those of replicated tables."""
    low, high = _interval(replicated, prob)
    columns = {"observed": counts, "expected": replicated.mean(axis=0)}
    columns |= {"eti_low": low, "eti_high": high}
    inside = (low <= counts) & (counts <= high)
    calls = counts.sum(axis=1)
    return [
        pd.DataFrame(
            {name: column[k] / calls[k] for name, column in columns.items()}
            | {"inside": inside[k]},
            index=pd.MultiIndex.from_product(
                [[model], [judge], values], names=["model", "judge", "level"]
            ),
        )
        for k, judge in enumerate(judges)
    ]


def _rows(
    frames: Sequence[pd.DataFrame],
    counts: FloatArray,
    means: FloatArray,
    found: _Replicated,
    prob: float,
) -> list[dict[str, Any]]:
    """Sum up each judge of a model."""
    low, high = _interval(found.means, prob)
    p_values = _p_values(counts, found.counts)
    return [
        {
            "model": frame.index[0][0],
            "judge": frame.index[0][1],
            "mean_observed": float(means[k]),
            "mean_expected": float(found.means[:, k].mean()),
            "mean_eti_low": float(low[k]),
            "mean_eti_high": float(high[k]),
            "lowest_observed": float(frame["observed"].iloc[0]),
            "lowest_expected": float(frame["expected"].iloc[0]),
            "highest_observed": float(frame["observed"].iloc[-1]),
            "highest_expected": float(frame["expected"].iloc[-1]),
            "p_value": float(p_values[k]),
        }
        for k, frame in enumerate(frames)
    ]


def _p_values(counts: FloatArray, replicated: FloatArray) -> FloatArray:
    """Say in what part of the tables (the observed one among them) frequencies lie as far off."""
    draws = len(replicated)
    centre, variance = replicated.mean(axis=0), replicated.var(axis=0)
    # A level that no replicated table has is as rare as once in all of them.
    scale = np.maximum(variance, 1.0 / draws)

    def distance(found: FloatArray) -> FloatArray:
        return np.asarray(((found - centre) ** 2 / scale).sum(axis=-1))

    farther = (distance(replicated) >= distance(counts)).sum(axis=0)
    return np.asarray((1 + farther) / (draws + 1))


def _sentence(row: dict[str, Any], own: pd.DataFrame) -> str:
    """Say which of a judge's levels a fit does not reproduce."""
    outside = own[~own["inside"]].droplevel(["model", "judge"])
    size = (outside["observed"] - outside["expected"]).abs()
    outside = outside.loc[size.sort_values(ascending=False).index]
    found = [
        f"level {level:g} is {observed:.1%} of the scores ({low:.1%} to {high:.1%} replicated)"
        for level, observed, low, high in zip(
            outside.index, outside["observed"], outside["eti_low"], outside["eti_high"], strict=True
        )
    ]
    start = f"Judge {row['judge']!r} on model {row['model']!r} (p = {row['p_value']:.2g}): "
    if not found:
        return f"{start}each level's share is within its interval, but not all levels together."
    levels = counted(len(found), "level lies", "levels lie")
    return f"{start}{levels} outside; {listed(found, separator='; ', limit=_NAMED)}."
