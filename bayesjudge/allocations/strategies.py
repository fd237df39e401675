"""The ways to spend judge calls: which judges score which answers, by name."""

from __future__ import annotations

from dataclasses import dataclass

from bayesjudge.errors import BayesJudgeError
from bayesjudge.wording import counted, did_you_mean

STRATEGIES = ("all", "random", "cyclic", "cyclic-restart", "single")
"""The names, beside ``subset-2`` and ``cyclic-2``, ... for that many judges on one answer."""


@dataclass(frozen=True)
class Strategy:
    """A way to spend judge calls.

    Attributes
    ----------
    name : str
        As the user wrote it.
    kind : str
        - ``all``: every judge of the panel scores every generation;
        - ``random``: each generation is scored by one judge, drawn anew;
        - ``cyclic``: each generation is scored by one judge, or the next few of them, in turn, and
          the turn is carried on from one scenario to the next;
        - ``cyclic-restart``: the same, but each scenario begins with the same judge;
        - ``subset``: the same `judges`, drawn once, score every generation.
    judges : int
        Judges that score one generation.
    """

    name: str
    kind: str
    judges: int


def parse_strategy(name: str, panel_size: int) -> Strategy:
    """Read the name of a strategy.

    Parameters
    ----------
    name : str
        One of `STRATEGIES`, ``subset-k`` or ``cyclic-k``.
    panel_size : int
        Judges in the panel.

    Raises
    ------
    BayesJudgeError
        When there is no such strategy, or no such subset of the panel.
    """
    if name == "all":
        return Strategy(name, "all", panel_size)
    if name in ("random", "cyclic", "cyclic-restart"):
        return Strategy(name, name, 1)
    if name == "single":
        return Strategy(name, "subset", 1)
    prefix, _, size = str(name).partition("-")
    if prefix not in ("subset", "cyclic") or not size.isdecimal():
        hint = did_you_mean(str(name), STRATEGIES)
        raise BayesJudgeError(
            f"there is no strategy {name!r}.{hint} Strategies: {', '.join(STRATEGIES)}; subset-2, "
            "subset-3, ... for that many judges; cyclic-2, cyclic-3, ... for so many in turn on "
            "each answer."
        )
    if not 1 <= int(size) <= panel_size:
        what = "a subset has" if prefix == "subset" else "an answer has"
        raise BayesJudgeError(
            f"{name}: {what} from 1 to {panel_size} judges, as many as the panel."
        )
    return Strategy(name, prefix, int(size))


def why_unreachable(strategy: Strategy, budget: int) -> str:
    """Say why a budget can't be spent by a strategy; empty where it can.

    Parameters
    ----------
    strategy : Strategy
        The strategy.
    budget : int
        Judge calls for each scenario.
    """
    if budget % strategy.judges == 0:
        return ""
    low = budget - budget % strategy.judges
    near = f"{low} or {low + strategy.judges}" if low else f"{strategy.judges}"
    return (
        f"{strategy.name} spends {strategy.judges} calls on each generation, and a budget of "
        f"{counted(budget, 'call')} for each scenario is not a multiple of that: {near} is"
    )
