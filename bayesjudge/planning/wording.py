"""A plan in words."""

from __future__ import annotations

import pandas as pd

from bayesjudge.allocations.strategies import parse_strategy
from bayesjudge.planning.search import STRATIFIED
from bayesjudge.wording import counted


def in_words(plan: pd.DataFrame, panel_size: int) -> list[str]:
    """Say what the best design is, and what the next best costs.

    Parameters
    ----------
    plan : DataFrame
        From `bayesjudge.plan`.
    panel_size : int
        Judges in the panel.
    """
    best = plan.iloc[0]
    name = str(plan.index[0])
    models = len(plan.attrs["models"])
    each = f" from each of {models} models" if models > 1 else ""
    n, answers, calls = (int(best[column]) for column in ("n_scenarios", "generations", "calls"))
    what = f"{counted(n, 'scenario')}, {counted(answers, 'answer')} to each{each}"
    who = f"{_judges(name, panel_size)}: {counted(calls, 'judge call')} in all"
    said = [f"Best for {plan.attrs['goal']}: {name}. {what}, {who}, for {best['cost']:,.6g}."]
    if len(plan) > 1 and "spend" not in plan.attrs["asked"]:
        other = plan.iloc[1]
        more = other["cost"] / best["cost"] - 1 if best["cost"] > 0 else 0.0
        said.append(f"Next, {plan.index[1]}, costs {other['cost']:,.6g} ({more:.0%} more).")
    if STRATIFIED in plan.index:
        shares = plan.attrs["calls_by_judge"].items()
        by_judge = ", ".join(f"{judge} {number:,}" for judge, number in shares)
        said.append(
            f"Stratified calls of a model by judge: {by_judge}. In its score each judge weighs "
            f"1/{panel_size}: average the judges' means, not the calls."
        )
    return said


def _judges(name: str, panel_size: int) -> str:
    if name == STRATIFIED:
        return "one judge on each, by its share"
    strategy = parse_strategy(name, panel_size)
    each = counted(strategy.judges, "judge")
    return {
        "all": f"all {panel_size} judges on each",
        "random": "a judge drawn for each",
        "cyclic": f"{each} in turn on each",
        "cyclic-restart": f"{each} in turn on each, from the same one on in every scenario",
        "subset": f"the same {each} on each" if strategy.judges > 1 else "the same judge on each",
    }[strategy.kind]
