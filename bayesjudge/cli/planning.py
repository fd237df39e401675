"""What `bayesjudge plan` shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bayesjudge.cli import show
from bayesjudge.cli.fits import NOT_TRUSTED
from bayesjudge.cli.results import sentences


@dataclass(frozen=True, eq=False)
class Planned:
    """What is shown of a plan; `frontier` where it was asked for."""

    plan: pd.DataFrame
    said: tuple[str, ...]
    frontier: pd.DataFrame | None

    @property
    def passed(self) -> bool:
        """Whether the fit, if it is one, passed its diagnostics."""
        return bool(self.plan.attrs["verdict"] == "passed")

    def as_dict(self) -> dict[str, Any]:
        """Turn it into plain values."""
        told = {str(name): value for name, value in self.plan.attrs.items()}
        told |= {"plan": self.plan, "said": list(self.said)}
        return told if self.frontier is None else told | {"frontier": self.frontier}


def planned(source: Any, asked: Mapping[str, Any], with_frontier: bool) -> Planned:
    """Put together what is shown of a plan."""
    from bayesjudge.planning.plans import cost_frontier, plan
    from bayesjudge.planning.wording import in_words

    found = plan(source, **asked)
    rest = {
        name: value
        for name, value in asked.items()
        if name not in ("target_se", "order", "spend", "seed")
    }
    return Planned(
        found,
        tuple(in_words(found, found.attrs["panel_size"])),
        cost_frontier(source, **rest) if with_frontier else None,
    )


def print_plan(result: Planned) -> None:
    """Show a plan: the problems first."""
    attributes, console = result.plan.attrs, show.console()
    sentences("Problems: the fit failed its diagnostics", attributes["problems"], "red")
    mark = "" if result.passed else NOT_TRUSTED
    meant = {
        "benchmark": "the panel mean over all scenarios of the benchmark",
        "population": "the panel mean over scenarios like these",
    }[attributes["target"]]
    caption = (
        f"Of {meant}. generations, budget: answers and judge calls for each scenario of a model; "
        f"cost: for all {len(attributes['models'])} models."
    )
    console.print(
        show.table(_shown(result.plan), f"Designs for {attributes['goal']}{mark}", caption)
    )
    if result.frontier is not None:
        console.print(
            show.table(
                _shown(result.frontier),
                f"The best designs at every price{mark}",
                "Each at least a hundredth more precise than all cheaper ones.",
            )
        )
    sentences("In words", result.said)
    sentences("Out of reach", [f"{text}." for text in attributes["out_of_reach"]])
    sentences("Notes", attributes["notes"])


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out columns that say nothing here."""
    return table.dropna(axis="columns", how="all")
