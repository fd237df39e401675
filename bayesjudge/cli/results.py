"""What commands show of a table of scores: its audit, and estimates without priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.markup import escape

from bayesjudge.cli import show
from bayesjudge.design.wording import identified

if TYPE_CHECKING:
    from bayesjudge.design.check import Design
    from bayesjudge.scores import ScoreTable


def design_as_dict(design: Design) -> dict[str, Any]:
    """Turn an audit into plain values."""
    return {
        "models": design.models,
        "balanced": design.balanced,
        "connected": design.connected,
        "identifiable": dict(design.identifiable),
        "by_model": {model: dict(known) for model, known in design.by_model.items()},
        "missing": design.calls,
        "panel_mean_bounds": design.bounds,
        "near_duplicates": design.near_duplicates,
        "notes": list(design.notes),
        "warnings": list(design.warnings),
    }


def print_design(design: Design) -> None:
    """Show an audit."""
    console = show.console()
    console.print(show.table(design.models, "What is there"))
    known = pd.DataFrame(
        identified(design).items(), columns=["component", "what the data can tell"]
    ).set_index("component")
    console.print(show.table(known, "What can be told apart"))
    if design.calls["missing"].any():
        console.print(show.table(design.calls[design.calls["missing"] > 0], "Missing scores"))
        console.print(show.table(design.bounds, "Panel means whatever the missing scores were"))
    sentences("Notes", design.notes)
    sentences("Warnings", design.warnings, "yellow")


def sentences(title: str, texts: tuple[str, ...] | list[str], style: str = "bold") -> None:
    """Show a list of sentences under a title."""
    console = show.console()
    if texts:
        console.print(f"[{style}]{title}[/{style}]")
        for text in texts:
            console.print(f"  • {escape(text)}", soft_wrap=not console.is_terminal)


@dataclass(frozen=True, eq=False)
class ClosedForms:
    """Estimates without priors; `estimates` are REML where ANOVA does not exist."""

    method: str
    estimates: pd.DataFrame
    f_test: pd.DataFrame | None
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Turn them into plain values."""
        return {
            "method": self.method,
            "estimates": self.estimates,
            "f_test": self.f_test,
            "notes": list(self.notes),
        }


def closed_forms(scores: ScoreTable, interaction: bool, interval: str) -> ClosedForms:
    """Estimate components by ANOVA, or by REML when some evaluated model is not balanced."""
    from bayesjudge.errors import DesignError
    from bayesjudge.estimates.anova import anova, judge_f_test
    from bayesjudge.estimates.reml import reml

    try:
        estimates = anova(scores, interaction=interaction, interval=interval)
    except DesignError as error:
        return ClosedForms(
            "REML",
            reml(scores, interaction=interaction),
            None,
            (f"REML instead of ANOVA: {error}", *scores.notes),
        )
    f_test = judge_f_test(scores) if len(scores.judges) > 1 else None
    notes = list(estimates.attrs.get("notes", ()))
    return ClosedForms("ANOVA", estimates, f_test, (*notes, *scores.notes))


def print_closed_forms(result: ClosedForms) -> None:
    """Show estimates without priors."""
    console = show.console()
    console.print(show.table(result.estimates, f"Variance components by {result.method} (score²)"))
    if result.f_test is not None:
        console.print(show.table(result.f_test, "F test: do the judges differ?"))
    sentences("Notes", list(result.notes))
