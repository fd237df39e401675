"""How reliably scenarios are told apart: the coefficients of generalizability theory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesjudge.allocations.coefficients import coefficients
from bayesjudge.allocations.grid import Spread, require_budgets, require_strategies, weighted
from bayesjudge.allocations.sources import Known, read_source
from bayesjudge.allocations.strategies import parse_strategy, why_unreachable
from bayesjudge.errors import BayesJudgeError

FloatArray = NDArray[np.float64]

_DIMS = ("chain", "draw", "model", "strategy", "budget")
_SAME_JUDGES = ("all", "subset", "cyclic-restart")  # for every scenario


def reliability(
    source: xr.DataTree | pd.DataFrame | Mapping[str, ArrayLike],
    budgets: Iterable[int] | int,
    strategies: Sequence[str] = ("all", "random", "cyclic", "single"),
    panel_size: int | None = None,
) -> xr.Dataset:
    r"""Reliability of the scores of single scenarios, by strategy and budget.

    The object of measurement is the scenario: how hard each one is for the evaluated model. With
    the scenario variance a, and the variance of the error of one scenario's score,

    .. math:: E\rho^2 = \frac{a}{a + \text{relative error}}, \qquad
              \Phi = \frac{a}{a + \text{absolute error}}.

    The relative error leaves out what is the same for all scenarios: the offsets of the judges,
    where all scenarios have the same judges. With judges drawn or rotated it can't.

    Parameters
    ----------
    source, budgets, strategies, panel_size
        As for `bayesjudge.allocation`.

    Returns
    -------
    Dataset
        Dims chain, draw, model, strategy, budget, NaN where a component is not known or the
        strategy can't spend the budget: ``generalizability`` (:math:`E\rho^2`) and
        ``dependability`` (:math:`\Phi`), from 0 to 1; ``relative_variance`` and
        ``absolute_variance`` (score²), whose roots are the standard errors of measurement.

    Raises
    ------
    BayesJudgeError
        When an argument is none.

    References
    ----------
    Brennan, *Generalizability Theory* (2001), chapter 4.
    """
    known = read_source(source, panel_size)
    calls = require_budgets(budgets)
    names = require_strategies(strategies, (one.panel_size for one in known.models))
    size = (*known.shape, len(known.models), len(names), len(calls))
    absolute, relative = np.full(size, np.nan), np.full(size, np.nan)
    scenario = np.full(size, np.nan)
    for t, one in enumerate(known.models):
        if "scenario" in one.variances:
            scenario[..., t, :, :] = one.variances["scenario"][..., None, None]
        for s, name in enumerate(names):
            for b, budget in enumerate(calls):
                place = (..., t, s, b)
                for values, same in ((absolute, False), (relative, True)):
                    error = _error(one, name, budget, known.relative_sums, leave_out_shared=same)
                    values[place] = np.nan if error is None else error.exact
    found = {
        "generalizability": _part(scenario, relative),
        "dependability": _part(scenario, absolute),
        "relative_variance": relative,
        "absolute_variance": absolute,
    }
    units = {name: "score²" if name.endswith("variance") else "share" for name in found}
    return xr.Dataset(
        {name: (_DIMS, values, {"units": units[name]}) for name, values in found.items()},
        coords=known.coords
        | {
            "strategy": list(names),
            "budget": list(calls),
        },
        attrs=known.attrs,
    )


def _part(scenario: FloatArray, error: FloatArray) -> FloatArray:
    """Divide; where nothing varies nothing is told apart."""
    total = scenario + error
    nothing = np.where(np.isnan(total), np.nan, 0.0)
    result: FloatArray = np.divide(scenario, total, out=nothing, where=total > 0)
    return result


def _error(
    known: Known, name: str, budget: int, relative_sums: bool, leave_out_shared: bool
) -> Spread | None:
    """Return the variance of the error of one scenario's score; None where there is none."""
    if known.panel_size < 2:
        return None
    try:
        strategy = parse_strategy(name, known.panel_size)
    except BayesJudgeError:  # a subset larger than this model's panel
        return None
    if why_unreachable(strategy, budget):
        return None
    own = coefficients(strategy, budget, 1, known.panel_size)
    if leave_out_shared and strategy.kind in _SAME_JUDGES:
        own |= {"judge": 0.0}
    return weighted(known, own, name, relative=relative_sums)
