"""Schedules in which each judge has its own number of calls."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bayesjudge.allocations.strata import in_turn
from bayesjudge.arguments import require_whole
from bayesjudge.errors import BayesJudgeError
from bayesjudge.schedules.rotation import shuffled_panel, shuffled_scenarios
from bayesjudge.wording import counted, quoted


def by_shares(
    frame: pd.DataFrame,
    panel: tuple[str, ...],
    calls: Mapping[str, int],
    models: tuple[str, ...],
    budget: int | None,
    seed: int,
) -> tuple[pd.DataFrame, int, tuple[str, ...]]:
    """Lay out calls of which each judge has its own number, at even distances.

    Parameters
    ----------
    frame : DataFrame
        Scenarios, and other columns to keep.
    panel : tuple of str
        Judges, sorted.
    calls : mapping
        By judge, how many it has of each model, over all scenarios.
    models : tuple of str
        Evaluated models; empty where they are not named.
    budget : int, optional
        Calls for each scenario, to be held against the sum.
    seed : int
        Of the order of scenarios, and of judges that come at the same distances.

    Returns
    -------
    DataFrame, int, tuple of str
        The schedule, the calls for each scenario, and the panel in the order of the rotation.

    Raises
    ------
    BayesJudgeError
        When the calls are not those of this panel, or no whole number for each scenario.
    """
    number = {
        str(name): require_whole(f"calls of {name}", value, 1) for name, value in calls.items()
    }
    missing = [name for name in panel if name not in number]
    other = [name for name in number if name not in panel]
    if missing or other:
        said = f"none for {quoted(missing)}" if missing else f"some for {quoted(other)}"
        raise BayesJudgeError(
            f"calls has {said}: it needs a number for each judge of the panel ({quoted(panel)})."
        )
    total, n = sum(number.values()), len(frame)
    if total % n or (budget is not None and require_whole("budget", budget, 1) * n != total):
        each = f"{total / n:g} for each scenario"
        wanted = "a whole number" if budget is None else f"{budget} (the budget)"
        raise BayesJudgeError(
            f"calls sum to {counted(total, 'call')}, and there are {counted(n, 'scenario')}: "
            f"{each}, where {wanted} is wanted."
        )
    B = total // n
    order = shuffled_panel(panel, seed)
    judge = in_turn([number[name] for name in order]).reshape(n, B)
    ranked = np.argsort(frame["scenario"].to_numpy(dtype=object), kind="stable")
    place = ranked[shuffled_scenarios(n, 0, seed)]
    copies = max(len(models), 1)
    at = np.repeat(place, copies * B)
    columns = {
        "scenario": frame["scenario"].take(at).reset_index(drop=True),
        "generation": np.tile(np.arange(1, B + 1), n * copies),
        "judge": pd.Index(order, dtype="str").take(np.repeat(judge, copies, axis=0).ravel()),
    }
    if models:
        who = np.tile(np.repeat(np.arange(len(models)), B), n)
        columns = {"model": pd.Index(models, dtype="str").take(who)} | columns
    others = frame.drop(columns="scenario").take(at).reset_index(drop=True)
    return pd.concat([pd.DataFrame(columns), others], axis=1), B, order
