"""What a schedule means for the score: sentences."""

from __future__ import annotations

from bayesjudge.allocations.coefficients import coefficients
from bayesjudge.allocations.strategies import parse_strategy
from bayesjudge.schedules.rotation import Plan
from bayesjudge.wording import quoted


def strategy_notes(plan: Plan, n_scenarios: int) -> list[str]:
    """Say what a strategy costs that does not fall with the number of scenarios.

    Parameters
    ----------
    plan : Plan
    n_scenarios : int
        Scenarios in the whole schedule.
    """
    kind, K, k, B = plan.strategy.kind, len(plan.panel), plan.strategy.judges, plan.budget
    notes = []
    if kind == "cyclic-restart":
        restarted = _of_judge("cyclic-restart", B, n_scenarios, K)
        carried_on = _of_judge("cyclic", B, n_scenarios, K)
        notes.append(
            f"Each scenario begins with {plan.panel[0]!r}. "
            + (
                f"Of the judge component, the score's variance has {restarted:.3g}, however many "
                "scenarios there are; with the rotation carried on (strategy 'cyclic') it would "
                f"have {carried_on:.3g} with these {n_scenarios:,} scenarios."
                if restarted
                else f"It costs nothing here: {B} calls are as many for each of {K} judges."
            )
        )
    if kind == "subset" and k < K:
        share = _of_judge(plan.strategy.name, B, n_scenarios, K)
        notes.append(
            f"Drawn from the panel: {quoted(plan.panel[:k])}. Of the judge component, the score's "
            f"variance has {share:.3g}, however many scenarios there are."
        )
    if notes and not plan.allowed.all():
        notes[-1] += " A model that not every judge may score has others, by the same rule."
    if K == 1:
        notes.append(
            f"{plan.panel[0]!r} is the whole panel: how lenient it is can't be told from how good "
            "the models are."
        )
    if kind in ("cyclic", "random") and B == 1:
        notes.append(
            "With one call for each scenario no two judges score the same one, so their offsets "
            "can only be compared as scenarios go to judges at random."
        )
    return notes


def _of_judge(strategy: str, budget: int, n_scenarios: int, panel_size: int) -> float:
    found = coefficients(parse_strategy(strategy, panel_size), budget, n_scenarios, panel_size)
    return found["judge"]
