"""Draws of the panel mean: over scenarios like those of the table, or over these."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special
from scipy.interpolate import CubicSpline

from bayesjudge.design.cells import Cells, cells_by_model
from bayesjudge.engines.conditional import blocks
from bayesjudge.errors import FitError
from bayesjudge.marginal import gaussian
from bayesjudge.marginal.patterns import patterns
from bayesjudge.posterior.effects import calls_of, effects
from bayesjudge.posterior.linear_parameters import linear_parameters
from bayesjudge.posterior.ordinal_parameters import is_ordinal, parameters_of
from bayesjudge.terms import parts
from bayesjudge.tree import require_fit

FloatArray = NDArray[np.float64]

_STEP = 0.125  # of the table of expected scores, in widths of the link: an error of 1e-7 scores
_NODES = 24  # for a generation effect that is no wider than the link; more where it is


def panel_means_of_scenarios(tree: xr.DataTree, seed: int = 0) -> xr.DataArray:
    """Draw each evaluated model's panel mean over the scenarios of the table.

    That is the mean score that the whole panel would give to all possible answers to these
    scenarios: mu + mean alpha in a linear fit.

    Parameters
    ----------
    tree : DataTree
        From `bayesjudge.fit`, of a table of up to a million scores.
    seed : int
        The same seed gives the same draws of the scenario effects.

    Returns
    -------
    DataArray
        Dims chain, draw, model (score). NaN for a model whose scenario effects the table can't
        tell from those of single answers: see `why_no_scenario_effects`.

    Raises
    ------
    FitError
        When the fit does not hold its scores.
    """
    require_fit(tree)
    mu = tree["posterior"].to_dataset()["mu"].transpose("chain", "draw", "model")
    result, shape = mu.copy(deep=True), mu.shape[:2]
    calls, rng = calls_of(tree), np.random.default_rng(seed)
    ordinal = is_ordinal(tree)
    drawn = effects(tree, seed) if ordinal else None
    for cells in cells_by_model(calls, mu.sizes["model"]):
        t = cells.model
        if why_no_scenario_effects(tree, str(mu["model"].to_numpy()[t])):
            result[..., t] = np.nan
        elif drawn is not None:
            result[..., t] = _ordinal_means(tree, t, drawn).reshape(shape)
        else:
            result[..., t] += _mean_effects(tree, cells, rng).reshape(shape)
    result.attrs = {"units": "score", "meaning": "panel mean over the scenarios of the table"}
    return result


def why_no_scenario_effects(tree: xr.DataTree, model: str) -> str:
    """Say why the mean over a model's own scenarios can't be told; empty where it can.

    Parameters
    ----------
    tree : DataTree
        A fit.
    model : str
        Label of the evaluated model.
    """
    own = json.loads(tree.attrs["structure"])[model]
    found = next((name for name in own["components"] if "scenario" in parts(name)), "scenario")
    if found == "scenario":
        return ""
    return (
        f"the table of {model} knows scenario effects only in the sum {found}, and the panel mean "
        "over these scenarios leaves the rest of that out"
    )


def _mean_effects(tree: xr.DataTree, cells: Cells, rng: np.random.Generator) -> FloatArray:
    """Draw the mean over scenarios of their effects in a linear fit, shape (draws,).

    Given the judge means, scenarios are independent: their mean is normal, and takes one number
    of chance for each draw.
    """
    b, v = linear_parameters(tree, cells)
    stats, n = patterns(cells), cells.n_scenarios
    kind = stats.scenario_kind
    found = np.empty(len(b))
    for block in blocks(stats, len(b)):
        m = gaussian.moments(stats, gaussian.take(v, block))
        E = m.spread()
        rest = m.r - (m.M @ (b[block] - stats.center)[:, None, :, None])[..., 0][:, kind]
        alpha = (E.mean(axis=-2)[:, kind] * rest).sum(axis=-1)
        variance = E.mean(axis=(-2, -1))[:, kind].sum(axis=1) / n**2
        found[block] = alpha.mean(axis=1) + np.sqrt(variance) * rng.standard_normal(len(alpha))
    return found


def _ordinal_means(tree: xr.DataTree, t: int, drawn: xr.Dataset) -> FloatArray:
    """Average the expected score at each scenario's effect over scenarios, shape (draws,)."""
    thresholds, sigma = parameters_of(tree)
    calls = tree["constant_data"].to_dataset()["n_calls"][t].to_numpy()
    kappa = thresholds[:, t, calls > 0]
    values = tree["constant_data"]["level"].to_numpy()
    draws = len(kappa)
    if "alpha" in drawn:
        alpha = drawn["alpha"].isel(model=t).to_numpy().reshape(draws, -1)
        alpha = np.nan_to_num(alpha[:, ~np.isnan(alpha).all(axis=0)])
    else:
        alpha = np.zeros((draws, 1))
    if alpha.shape[1] == 0:
        alpha = np.zeros((draws, 1))
    spread = sigma[:, t, 1]
    nodes, weights = special.roots_hermitenorm(int(_NODES + 8 * np.max(spread) ** 2))
    kept = weights > weights.max() * 1e-17
    nodes, weights = nodes[kept], weights[kept] / weights.sum()
    found = np.empty(draws)
    for d in range(draws):
        reach = np.abs(alpha[d]).max() + spread[d] * np.abs(nodes).max() + _STEP
        grid = np.linspace(-reach, reach, 2 * int(np.ceil(reach / _STEP)) + 1)
        expected = CubicSpline(
            grid, expected_score(kappa[d], grid, values, str(tree.attrs["link"]))
        )
        found[d] = (expected(alpha[d][:, None] + spread[d] * nodes) @ weights).mean()
    return found


def expected_score(
    thresholds: FloatArray, effect: FloatArray, values: FloatArray, link: str
) -> FloatArray:
    """Average the expected score over the judges of a panel, given the total effect.

    Parameters
    ----------
    thresholds : float array, shape (judges, levels - 1)
        Of each judge, offsets in them (latent).
    effect : float array, shape (points,)
        Total effects of scenario and generation (latent).
    values : float array, shape (levels,)
        Scores of the levels.
    link : {"logit", "probit"}
        The link.

    Returns
    -------
    float array, shape (points,)
        Score.
    """
    if link not in ("logit", "probit"):
        raise FitError(f"link {link!r} is not known here.")
    above = special.expit if link == "logit" else special.ndtr
    p = above(effect[:, None, None] - thresholds)  # P(score above the level)
    result: FloatArray = values[0] + (p.mean(axis=1) @ np.diff(values))
    return result
