"""Conditional draws of what the fit integrated out: scenario, generation, interaction effects."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells, cells_by_model
from bayesjudge.engines.conditional import blocks
from bayesjudge.errors import FitError
from bayesjudge.marginal import gaussian
from bayesjudge.marginal.gaussian import Variances
from bayesjudge.marginal.patterns import Patterns, patterns
from bayesjudge.posterior.linear_parameters import linear_parameters
from bayesjudge.scores import Calls
from bayesjudge.terms import carrier, parts
from bayesjudge.tree import require_fit

FloatArray = NDArray[np.float64]


def calls_of(tree: xr.DataTree) -> Calls:
    """Return the calls that a fit was made from.

    Raises
    ------
    FitError
        When the fit holds only their statistics (beyond a million scores).
    """
    if "observed_data" not in tree.children:
        raise FitError(
            "this fit holds no scores, only their statistics (its table had more than a million): "
            "effects of single scenarios and generations can't be drawn from it"
        )
    data = tree["observed_data"].to_dataset()
    return Calls(
        model=data["model_index"].to_numpy(),
        scenario=data["scenario_index"].to_numpy(),
        generation=data["generation_index"].to_numpy(),
        judge=data["judge_index"].to_numpy(),
        score=data["score"].to_numpy(),
    )


def effects(tree: xr.DataTree, seed: int = 0) -> xr.Dataset:
    """Draw scenario, generation and scenario:judge effects from their exact conditionals.

    Parameters
    ----------
    tree : DataTree
        From `bayesjudge.fit`, of a table of up to a million scores.
    seed : int
        The same seed gives the same draws.

    Returns
    -------
    Dataset
        ``alpha`` (chain, draw, model, scenario), ``beta`` (chain, draw, generation; all
        evaluated models one after the other) and, where the fit has the interaction, ``eta``
        (chain, draw, model, scenario, judge). One draw for each draw of the posterior. NaN where
        there is no such scenario or judge. When a term is known only in a sum, the effect drawn
        is that of the sum; the variable's ``component`` says so. ``units`` are "score", and
        "latent" for an ordinal fit: there an effect that is known only in a sum with the noise of
        the link is left out.

    Raises
    ------
    FitError
        When the fit does not hold its scores.
    """
    require_fit(tree)
    calls, rng = calls_of(tree), np.random.default_rng(seed)
    if tree.attrs.get("family") == "cumulative":
        # It brings Numba, which takes half a second to import.
        from bayesjudge.posterior.latents import latent_effects

        return _dataset(*latent_effects(tree, calls, rng), tree, "latent")
    return _dataset(*_linear_effects(tree, calls, rng), tree, "score")


def _linear_effects(
    tree: xr.DataTree, calls: Calls, rng: np.random.Generator
) -> tuple[dict[str, FloatArray], dict[str, list[str]]]:
    """Draw the effects of a linear fit; say which components and sums they stand for."""
    posterior = tree["posterior"].to_dataset()
    models, scenarios, judges = (
        posterior.sizes["model"],
        tree["log_likelihood"].sizes["scenario"],
        posterior.sizes["judge"],
    )
    total = posterior.sizes["chain"] * posterior.sizes["draw"]
    found = {
        "scenario": np.full((total, models, scenarios), np.nan),
        "generation": np.full((total, tree["constant_data"].sizes["generation"]), np.nan),
        "scenario:judge": np.full((total, models, scenarios, judges), np.nan),
    }
    names = _carried(posterior)
    for cells in cells_by_model(calls, models):
        t, ids, who = cells.model, cells.scenario_ids, cells.judge_ids
        b, v = linear_parameters(tree, cells)
        stats = patterns(cells)
        for block in blocks(stats, total):
            here = gaussian.take(v, block)
            m = gaussian.moments(stats, here)
            tau = _tau(stats, m, b[block], rng)
            alpha = tau.mean(axis=2)
            found["scenario"][block, t, ids] = alpha
            found["scenario:judge"][
                np.arange(total)[block][:, None, None], t, ids[:, None], who
            ] = tau - alpha[..., None]
            found["generation"][block, cells.generation_ids] = _beta(
                cells, here, b[block], tau, rng
            )
    return found, names


def _carried(posterior: xr.Dataset) -> dict[str, list[str]]:
    """Return the components and sums that stand at each place of the likelihood.

    Several where evaluated models differ in what their data can tell apart.
    """
    found: dict[str, list[str]] = {}
    for array in posterior.data_vars.values():
        if "component" in array.attrs:
            name = str(array.attrs["component"])
            found.setdefault(carrier(parts(name)), []).append(name)
    return found


def _tau(
    stats: Patterns, m: gaussian.Moments, b: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw each scenario's judge totals alpha + eta given b, shape (draws, n, K)."""
    rest = m.r - (m.M @ (b - stats.center)[:, None, :, None])[..., 0][:, stats.scenario_kind]
    H = gaussian.of_scenarios(stats, m.H)
    # The covariance is H'H, so that a standard normal draw is spread by H' and the mean by H'H.
    pulled = (H @ rest[..., None])[..., 0] + rng.standard_normal(rest.shape)
    return np.asarray((pulled[..., None, :] @ H)[..., 0, :])


def _beta(
    cells: Cells, v: Variances, b: FloatArray, tau: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw each generation's effect given all above it, shape (draws, generations)."""
    K = cells.n_judges
    cell, inverse, calls = np.unique(
        cells.generation * K + cells.judge, return_inverse=True, return_counts=True
    )
    mean = np.bincount(inverse, cells.score) / calls
    generation, judge = cell // K, cell % K
    scenario = cells.generation_scenario[generation]
    precision = calls / (v.residual[:, judge] + calls * v.cell[:, None])
    rest = precision * (mean - b[:, judge] - tau[:, scenario, judge])
    start = np.searchsorted(generation, np.arange(cells.n_generations))
    weight = np.add.reduceat(precision, start, axis=1)
    shrunk = v.generation[:, None] / (1 + v.generation[:, None] * weight)
    centre = shrunk * np.add.reduceat(rest, start, axis=1)
    return np.asarray(centre + np.sqrt(shrunk) * rng.standard_normal(centre.shape))


def _dataset(
    found: dict[str, FloatArray],
    names: dict[str, list[str]],
    tree: xr.DataTree,
    units: str,
) -> xr.Dataset:
    form = {
        "scenario": ("alpha", ("model", "scenario")),
        "generation": ("beta", ("generation",)),
        "scenario:judge": ("eta", ("model", "scenario", "judge")),
    }
    posterior = tree["posterior"]
    shape = (posterior.sizes["chain"], posterior.sizes["draw"])
    variables = {
        form[term][0]: xr.DataArray(
            values.reshape(*shape, *values.shape[1:]),
            dims=("chain", "draw", *form[term][1]),
            attrs={"units": units, "component": " or ".join(names[term])},
        )
        for term, values in found.items()
        if names.get(term)
    }
    labels = tree["constant_data"]
    result = xr.Dataset(
        variables,
        coords={
            "chain": posterior["chain"],
            "draw": posterior["draw"],
            "model": posterior["model"],
            "judge": posterior["judge"],
            "scenario": tree["log_likelihood"]["scenario"].to_numpy(),
        },
    )
    if "generation" in result.dims:
        for name in ("model", "scenario", "label"):
            values = labels[f"generation_{name}"].to_numpy()
            result = result.assign_coords({f"generation_{name}": ("generation", values)})
    return result
