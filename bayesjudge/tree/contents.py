"""What a family of models makes of its draws, and the groups that all families have alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.design.cells import Cells, balance
from bayesjudge.design.details import why_sums
from bayesjudge.design.identify import Structure
from bayesjudge.priors import Prior
from bayesjudge.scores import ScoreTable
from bayesjudge.settings import OBSERVED_LIMIT

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Contents:
    """What a family of models makes of its draws.

    Attributes
    ----------
    groups : dict of Dataset
        ``posterior, log_likelihood, log_prior, constant_data``.
    structure : dict
        By evaluated model, the names of the ``components`` that are known, and which are
        ``absent``.
    priors : dict of str
        By parameter.
    sums : dict of str
        By component that is a sum, why its terms can't be told apart.
    notes : tuple of str
        What was assumed of the scores, beyond the notes of the table.
    attributes : dict
        What else to record.
    """

    groups: Mapping[str, xr.Dataset]
    structure: Mapping[str, Mapping[str, Sequence[str]]]
    priors: Mapping[str, str]
    sums: Mapping[str, str]
    notes: tuple[str, ...] = ()
    attributes: Mapping[str, str | float] = field(default_factory=dict)


def axes(
    chains: int, draws: int, models: Sequence[str], judges: Sequence[str]
) -> dict[str, object]:
    """Return the coordinates of draws."""
    return {
        "chain": np.arange(chains),
        "draw": np.arange(draws),
        "model": list(models),
        "judge": list(judges),
    }


def log_likelihood_group(
    values: FloatArray | None, shape: tuple[int, int], scenarios: Sequence[str]
) -> xr.Dataset:
    """Make the group that leave-one-scenario-out works on.

    Parameters
    ----------
    values : float array, shape (draws of all chains, scenarios), or None
        All evaluated models of a scenario together: what leaving a scenario out leaves out. None
        if that is too large: the group then has only the labels of the scenarios.
    shape : tuple
        Chains and draws.
    scenarios : sequence of str
        Labels.
    """
    if values is None:
        return xr.Dataset(coords={"scenario": list(scenarios)})
    array = xr.DataArray(
        values.reshape(*shape, len(scenarios)),
        dims=("chain", "draw", "scenario"),
        attrs={"meaning": "of all models, given mu, gamma and the sigmas; effects integrated out"},
    )
    coords = {
        "chain": np.arange(shape[0]),
        "draw": np.arange(shape[1]),
        "scenario": list(scenarios),
    }
    return xr.Dataset({"score": array}, coords=coords)


def log_prior_where_known(prior: Prior, values: FloatArray) -> FloatArray:
    """Log prior density of draws; a parameter that a model does not have adds nothing."""
    return np.where(np.isnan(values), 0.0, prior.logpdf(np.nan_to_num(values, nan=1.0)))


def sizes_group(scores: ScoreTable, tables: Sequence[Cells]) -> xr.Dataset:
    """Count what each evaluated model has, and give the labels of the generations.

    A fit that does not hold its scores holds no labels of generations either.
    """
    models, judges = len(scores.models), len(scores.judges)
    calls = np.zeros((models, judges), dtype=np.int64)
    np.add.at(calls, (scores.calls.model, scores.calls.judge), 1)
    per_model = {
        "n_scenarios": [c.n_scenarios for c in tables],
        "n_generations": [c.n_generations for c in tables],
        "n_judges": [c.n_judges for c in tables],
        "balanced": [int(balance(c) is not None) for c in tables],
        "mean": [float(c.score.mean()) for c in tables],
    }
    labels = {}
    if len(scores.calls) <= OBSERVED_LIMIT:
        generations = np.array(scores.generations, dtype=str).reshape(-1, 3)
        labels = {
            f"generation_{name}": ("generation", generations[:, k])
            for k, name in enumerate(("model", "scenario", "label"))
        }
    return xr.Dataset(
        {name: ("model", values) for name, values in per_model.items()}
        | {"n_calls": (("model", "judge"), calls)}
        | labels,
        coords={"model": list(scores.models), "judge": list(scores.judges)},
    )


def reasons_of_sums(tables: Sequence[Cells], structures: Sequence[Structure]) -> dict[str, str]:
    """Say of each sum that some evaluated model has why its terms can't be told apart."""
    found: dict[str, list[str]] = {}
    for cells, structure in zip(tables, structures, strict=True):
        for name, because in why_sums(cells, structure).items():
            found.setdefault(name, []).extend(because)
    return {name: "; ".join(dict.fromkeys(because)) for name, because in found.items()}
