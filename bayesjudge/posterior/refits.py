"""Fitting again without a scenario, where weighting the draws of a fit does not say enough."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesjudge.errors import BayesJudgeError, FitError
from bayesjudge.fitting import fit
from bayesjudge.posterior.ordinal_parameters import is_ordinal, level_codes
from bayesjudge.posterior.scenario_probability import Scored, log_predicted
from bayesjudge.posterior.smoothing import average
from bayesjudge.scores import Calls, ScoreTable
from bayesjudge.scores.scale import Scale
from bayesjudge.scores.table import encode
from bayesjudge.specs import read_spec
from bayesjudge.tree import problems
from bayesjudge.wording import listed

FloatArray = NDArray[np.float64]


def table_again(tree: xr.DataTree, calls: Calls) -> ScoreTable:
    """Put the table of a fit together again: its scores, and the scale and levels it had.

    Parameters
    ----------
    tree : DataTree
        The fit.
    calls : Calls
        Its scores.
    """
    posterior, sizes = tree["posterior"], tree["constant_data"]
    score = calls.score
    levels = None
    if is_ordinal(tree):
        # A score that was cut into bins is the level that it became.
        values = sizes["level"].to_numpy()
        score, levels = values[level_codes(tree, score)], tuple(values.tolist())
    frame = pd.DataFrame(
        {
            "model": posterior["model"].to_numpy()[calls.model],
            "scenario": tree["log_likelihood"]["scenario"].to_numpy()[calls.scenario],
            "generation": sizes["generation_label"].to_numpy()[calls.generation],
            "judge": posterior["judge"].to_numpy()[calls.judge],
            "score": score,
        }
    ).astype(dict.fromkeys(["model", "scenario", "generation", "judge"], "str"))
    return ScoreTable(
        frame=frame,
        scale=Scale(float(tree.attrs["scale_low"]), float(tree.attrs["scale_high"])),
        scale_declared=bool(tree.attrs["scale_declared"]),
        levels=levels,
        repeats="keep",
        source=str(tree.attrs["source"]),
        notes=(),
        **encode(frame),
    )


def predicted_without(
    tree: xr.DataTree, table: ScoreTable, scored: Scored, scenario: int, seed: int
) -> tuple[float, float, list[str]]:
    """Fit without a scenario and say how probable its scores are then.

    Parameters
    ----------
    tree : DataTree
        The fit that the new one is like.
    table : ScoreTable
        Its table, from `table_again`.
    scored : Scored
        All scores of it.
    scenario : int
        Position of the scenario.
    seed : int
        Of the table's fits without a scenario.

    Returns
    -------
    float, float, list of str
        Log density or probability, its Monte Carlo variance, and what is wrong with the new fit.

    Raises
    ------
    BayesJudgeError
        When the rest can't be fitted, or does not say what the scenario's scores depend on.
    """
    own = np.random.SeedSequence([seed, scenario])
    spec = read_spec(str(tree.attrs["spec"]))
    if spec.sha256 != tree.attrs["spec_sha256"]:
        raise FitError(f"the specification {spec.path} has changed since the fit was made")
    rest = [label for label in table.scenarios if label != scored.scenarios[scenario]]
    again = fit(
        table.select(scenarios=rest),
        model=str(tree.attrs["spec"]),
        engine=str(tree.attrs["engine"]),
        seed=int(own.generate_state(1)[0]),
        chains=int(tree.attrs["chains"]),
        draws=int(tree.attrs["draws"]),
        tune=int(tree.attrs["tune"]),
        prior_scale=float(tree.attrs["prior_scale"]),
        keep_unused_levels=is_ordinal(tree),  # also those that only occur in what is left out
    )
    _require_alike(tree, again)
    shape = (again["posterior"].sizes["chain"], again["posterior"].sizes["draw"])
    every = np.arange(shape[0] * shape[1])
    predicted = log_predicted(again, scored.only(scenario), every, own.spawn(1)[0])
    elpd, variance = average(predicted[:, scenario].reshape(shape))
    return elpd, variance, list(problems(again))


def _require_alike(tree: xr.DataTree, again: xr.DataTree) -> None:
    """Refuse a fit without a scenario that has other parameters than the one with it."""
    for facet in ("model", "judge"):
        labels, left = (t["posterior"][facet].to_numpy().tolist() for t in (tree, again))
        if labels != left:
            gone = listed([label for label in labels if label not in left])
            raise FitError(f"{facet} {gone} has scores in this scenario only")
    asked, left = (t["constant_data"]["n_calls"].to_numpy() > 0 for t in (tree, again))
    if not np.array_equal(asked, left):
        raise FitError("a judge scored a model in this scenario only")
    if json.loads(str(tree.attrs["structure"])) != json.loads(str(again.attrs["structure"])):
        raise FitError("without it the table tells fewer variance components apart")


def refitted(
    tree: xr.DataTree,
    calls: Calls,
    scored: Scored,
    scenarios: list[int],
    seed: int,
    say: Callable[[str], None],
) -> tuple[dict[int, tuple[float, float]], list[str]]:
    """Leave scenarios out one by one.

    Parameters
    ----------
    tree, calls, scored
        A fit, its scores, and the same as what is asked of it.
    scenarios : list of int
        Positions.
    seed : int
        Seed.
    say : callable
        Told before each fit.

    Returns
    -------
    dict, list of str
        By scenario, log density or probability and its Monte Carlo variance; and what went wrong.
    """
    table = table_again(tree, calls)
    found, wrong = {}, []
    for k, scenario in enumerate(scenarios):
        label = scored.scenarios[scenario]
        say(f"fitting without scenario {label!r} ({k + 1} of {len(scenarios)})")
        try:
            elpd, variance, own = predicted_without(tree, table, scored, scenario, seed)
        except BayesJudgeError as error:
            wrong.append(f"Scenario {label!r} can't be left out by a new fit: {error}")
            continue
        found[scenario] = (elpd, variance)
        wrong += [f"The fit without scenario {label!r}: {problem}" for problem in own]
    return found, wrong
