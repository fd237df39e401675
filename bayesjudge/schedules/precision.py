"""The variance of a finished run's score, as it was executed and as it was planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayesjudge.allocations.assignment import AssignmentCoefficients, assignment_coefficients
from bayesjudge.allocations.coefficients import coefficients
from bayesjudge.allocations.design import require_dataset_size
from bayesjudge.allocations.executed import FloatArray, weighed
from bayesjudge.allocations.grid import Spread
from bayesjudge.allocations.sources import GIVEN, Known, Source, read_source
from bayesjudge.allocations.strategies import parse_strategy, why_unreachable
from bayesjudge.errors import BayesJudgeError
from bayesjudge.schedules.runs import Run
from bayesjudge.settings import INTERVAL_PROB
from bayesjudge.terms import TERMS
from bayesjudge.wording import quoted

MORE = 1.1  # executed variance over planned that is worth a warning


@dataclass(frozen=True)
class Goal:
    """What the score is meant for, and how the run was planned.

    Attributes
    ----------
    target : {"benchmark", "population"}
    dataset_size : int, optional
        Scenarios there are, for the population.
    strategy : str, optional
        As planned, where there is no schedule.
    """

    target: str = "benchmark"
    dataset_size: int | None = None
    strategy: str | None = None


@dataclass(frozen=True, eq=False)
class Precision:
    """How precise one evaluated model's score is.

    Attributes
    ----------
    coefficients : DataFrame
        Index component; columns ``executed``, ``planned``.
    row : dict
        What `bayesjudge.schedules.audits.Audit` has of the model in ``variance``.
    more : bool
        Whether the variance as executed is above the planned one by a tenth or more, however
        components that are known only in a sum are split.
    """

    coefficients: pd.DataFrame
    row: dict[str, object]
    more: bool


def components_of(
    source: xr.DataTree | pd.DataFrame | Mapping[str, ArrayLike] | None, panel_size: int
) -> Source | None:
    """Read components, those given by hand for a panel of so many."""
    if source is None:
        return None
    by_hand = isinstance(source, Mapping) and not isinstance(source, xr.DataTree)
    return read_source(source, panel_size if by_hand else None)


def precision(
    run: Run, planned: pd.DataFrame | None, source: Source | None, goal: Goal
) -> Precision:
    """Weigh the components of one evaluated model by who scored what, and by who was to.

    Parameters
    ----------
    run : Run
    planned : DataFrame, optional
        Its rows of the schedule; its scenarios count even where they have no call.
    source : Source, optional
        Components.
    goal : Goal

    Raises
    ------
    BayesJudgeError
        When the components are those of other judges.
    """
    known = None if source is None else _known(source, run.model)
    panel = run.panel if known is None else _panel(run, known)
    unscored = 0
    if planned is not None:
        asked = set(planned["scenario"])
        unscored = len(asked - set(run.labels))
    executed = _executed(run, panel, unscored, goal)
    due = _planned(run, planned, panel, goal)
    table = pd.DataFrame(
        {"executed": _terms(executed), "planned": _terms(due)},
        index=pd.Index(TERMS, name="component"),
    )
    row: dict[str, object] = {
        "scenarios": run.n_scenarios + unscored,
        "calls": len(run.scored),
        "scored": int(run.scored.sum()),
        "budget": run.budget or np.nan,
    }
    reasons = [text for text in (executed, due) if isinstance(text, str) and text]
    if source is not None and known is None:
        reasons.append(f"the components have no model {run.model}")
    spreads = {
        name: _spread(source, known, found, f"the score as {name}")
        for name, found in (("executed", executed), ("planned", due))
    }
    for name, spread in spreads.items():
        row |= _errors(name, spread)
    row["se_ratio"] = _ratio(spreads["executed"], spreads["planned"])
    row |= _bias(source, known, executed, panel, run.model)
    row["reason"] = "; ".join(
        dict.fromkeys([*reasons, *(s.reason for s in spreads.values() if s and s.reason)])
    )
    return Precision(table, row, _is_more(source, known, executed, due))


def _known(source: Source, model: str) -> Known | None:
    by_model = {one.model: one for one in source.models}
    if set(by_model) == {GIVEN}:
        return replace(by_model[GIVEN], model=model)
    return by_model.get(model)


def _panel(run: Run, known: Known) -> tuple[str, ...]:
    """Return the judges that the components are relative to."""
    scored = tuple(run.panel[k] for k in np.flatnonzero(run.answered))
    for panel in (known.judges, run.panel, scored):
        if panel and len(panel) == known.panel_size:
            other = [name for name in scored if name not in panel]
            if not other:
                return panel
            raise BayesJudgeError(
                f"{run.model} has scores of {quoted(other)}, not of the panel that its components "
                f"are relative to ({quoted(panel)}). Give a fit of this table."
            )
    raise BayesJudgeError(
        f"the components of {run.model} are those of a panel of {known.panel_size} judges, and the "
        f"table has {len(run.panel)} ({quoted(run.panel)}), {len(scored)} of them with a score of "
        "it. Give components of this panel."
    )


def _executed(
    run: Run, panel: Sequence[str], unscored: int, goal: Goal
) -> AssignmentCoefficients | str:
    if len(panel) < 2:
        return f"{run.model} has one judge: there is no panel to be off from"
    if not run.scored.any():
        return f"{run.model} has no score"
    # Scenarios without a score weigh nothing, and yet are of those that the score is meant for.
    place = pd.Index(panel).get_indexer(pd.Index(run.panel))[run.judge]
    extra = np.arange(unscored)
    weight = np.where(run.scored, 1 / run.scored.sum(), 0.0)
    return assignment_coefficients(
        np.concatenate([run.scenario, run.n_scenarios + extra]),
        np.concatenate([run.generation, 0 * extra]),
        np.concatenate([np.maximum(place, 0), 0 * extra]),
        panel_size=len(panel),
        weight=np.concatenate([weight, 0.0 * extra]),
        target=goal.target,
        dataset_size=goal.dataset_size,
    )


def _planned(
    run: Run, rows: pd.DataFrame | None, panel: Sequence[str], goal: Goal
) -> AssignmentCoefficients | str:
    """Return the coefficients as planned, or say why there are none."""
    K = len(panel)
    if K < 2:
        return ""
    if rows is not None:
        return _of_rows(rows, panel, run.model, goal)
    if goal.strategy is None:
        return "how it was planned is not said: give strategy or schedule"
    try:
        strategy = parse_strategy(goal.strategy, K)
    except BayesJudgeError as error:
        return str(error).rstrip(".")
    B = run.budget
    if B is None:
        per = run.by_scenario.sum(axis=1)
        return (
            f"{run.model} has from {per.min()} to {per.max()} calls on a scenario, and a strategy "
            "has one number: give schedule"
        )
    if why := why_unreachable(strategy, B):
        return why
    n = run.n_scenarios
    size = require_dataset_size(goal.dataset_size, n, goal.target)
    own = coefficients(strategy, B, n, K, goal.target, size)
    return AssignmentCoefficients(own, np.zeros(K), np.full(K, own["residual"] / K))


def _of_rows(
    rows: pd.DataFrame, panel: Sequence[str], model: str, goal: Goal
) -> AssignmentCoefficients | str:
    if not len(rows):
        return f"the schedule has no calls of {model}"
    judge = pd.Index(panel).get_indexer(pd.Index(rows["judge"]))
    if (judge < 0).any():
        other = rows["judge"].to_numpy()[judge < 0]
        return f"the schedule has {quoted(np.unique(other))}, who has no component"
    return assignment_coefficients(
        pd.factorize(rows["scenario"])[0],
        pd.factorize(rows["generation"])[0],
        judge,
        panel_size=len(panel),
        target=goal.target,
        dataset_size=goal.dataset_size,
    )


def _terms(found: AssignmentCoefficients | str) -> list[float]:
    return [np.nan if isinstance(found, str) else found.by_term[term] for term in TERMS]


def _spread(
    source: Source | None, known: Known | None, found: AssignmentCoefficients | str, what: str
) -> Spread | None:
    if source is None or known is None or isinstance(found, str):
        return None
    return weighed(known, found, what, relative=source.relative_sums)


def _errors(name: str, spread: Spread | None) -> dict[str, float]:
    """Sum up a standard error: median and interval of a posterior, or the range of a sum."""
    names = (f"se_{name}", f"se_{name}_low", f"se_{name}_high")
    if spread is None:
        return dict.fromkeys(names, np.nan)
    tail = (1 - INTERVAL_PROB) / 2
    middle = float(np.median(spread.exact))
    low, high = float(np.quantile(spread.low, tail)), float(np.quantile(spread.high, 1 - tail))
    if spread.low.size == 1 and not spread.reason:  # an estimate is no interval
        low = high = np.nan
    return dict(zip(names, np.sqrt([middle, low, high]).tolist(), strict=True))


def _ratio(executed: Spread | None, planned: Spread | None) -> float:
    if executed is None or planned is None:
        return np.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.sqrt(np.median(executed.exact / planned.exact)))


def _is_more(
    source: Source | None,
    known: Known | None,
    executed: AssignmentCoefficients | str,
    planned: AssignmentCoefficients | str,
) -> bool:
    if source is None or known is None or isinstance(executed, str) or isinstance(planned, str):
        return False
    by_term = {t: executed.by_term[t] - MORE * planned.by_term[t] for t in TERMS}
    if any(by_term[term] != 0 for term in known.unknown):
        return False
    above = AssignmentCoefficients(
        by_term,
        executed.judge_weight,
        executed.residual_share - MORE * planned.residual_share,
    )
    least: FloatArray = weighed(known, above, "", relative=source.relative_sums).low
    return bool(np.median(least) > 0)


def _bias(
    source: Source | None,
    known: Known | None,
    executed: AssignmentCoefficients | str,
    panel: Sequence[str],
    model: str,
) -> dict[str, float]:
    """Say what the shares of the calls make of the judges' own offsets, where a fit knows them."""
    names = ("bias", "bias_low", "bias_high")
    if source is None or source.tree is None or known is None or isinstance(executed, str):
        return dict.fromkeys(names, np.nan)
    gamma = source.tree["posterior"].to_dataset()["gamma"].sel(model=model, judge=list(panel))
    draws = gamma.transpose("chain", "draw", "judge").to_numpy() @ executed.judge_weight
    tail = (1 - INTERVAL_PROB) / 2
    ends = np.quantile(draws, [tail, 1 - tail]).tolist()
    return dict(zip(names, [float(draws.mean()), *ends], strict=True))
