"""What the commands show: frames put together from the functions of the package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.markup import escape

from bayesjudge.cli import show
from bayesjudge.design.wording import identified
from bayesjudge.errors import BayesJudgeError

if TYPE_CHECKING:
    import xarray as xr

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


@dataclass(frozen=True, eq=False)
class FitSummary:
    """What is shown of a fit."""

    comparison: pd.DataFrame
    means: pd.DataFrame
    offsets: pd.DataFrame
    attributes: Mapping[str, Any]

    @property
    def passed(self) -> bool:
        """Whether the fit passed its diagnostics."""
        return bool(self.attributes["verdict"] == "passed")

    def as_dict(self) -> dict[str, Any]:
        """Turn it into plain values."""
        return {
            "verdict": self.attributes["verdict"],
            "problems": self.comparison.attrs["problems"],
            "components": self.comparison,
            "panel_means": self.means,
            "judge_offsets": self.offsets,
            "sums": self.comparison.attrs["sums"],
            "interaction": self.comparison.attrs["interaction"],
            "warnings": [text for text in str(self.attributes["warnings"]).split("\n") if text],
            "interval": {"kind": "eti", "prob": self.comparison.attrs["prob"]},
            "provenance": dict(self.attributes),
        }


def fitted(tree: xr.DataTree) -> FitSummary:
    """Put together what is shown of a fit."""
    from bayesjudge.posterior.comparison import compare
    from bayesjudge.posterior.summaries import judge_offsets, panel_means

    return FitSummary(
        compare(tree),
        panel_means(tree),
        judge_offsets(tree),
        {str(k): v for k, v in tree.attrs.items()},
    )


def print_fit(result: FitSummary) -> None:
    """Show a fit: its verdict first when it failed."""
    console = show.console()
    a = result.attributes
    prob = f"{result.comparison.attrs['prob']:.0%}"
    problems = [str(problem) for problem in result.comparison.attrs["problems"]]
    mark = "" if result.passed else "  [NOT TO BE TRUSTED: see Problems]"
    if problems:
        sentences("Problems: this fit failed its diagnostics", problems, "red")
    caption = (
        f"eti: equal-tailed {prob} interval. anova: closed form with the same terms (0 where raw "
        "is negative); anova paper: without scenario:judge."
    )
    components = result.comparison
    if show.narrow():
        components = components.drop(columns=["median", "sd", "anova_raw", "anova_paper"])
        caption = f"eti: equal-tailed {prob} interval. A wider terminal or --json shows more."
    console.print(
        show.table(components, f"Variance components, model {a['model']} (score²){mark}", caption)
    )
    console.print(show.table(result.means, f"Panel means, for scenarios like these (score){mark}"))
    if len(result.offsets):
        shown, said = _most_certain(result.offsets)
        title = f"Judge offsets from the panel: how far a judge lies above it (score){mark}"
        console.print(show.table(shown.drop(columns=["median", "sd"]), title, said))
    sums = [f"{name}: {why}." for name, why in result.comparison.attrs["sums"].items()]
    sentences("Why some components are one sum", sums)
    sentences("What scenario:judge does here", result.comparison.attrs["interaction"])
    for title, name, style in (("Notes", "notes", "bold"), ("Warnings", "warnings", "yellow")):
        sentences(title, [text for text in str(a[name]).split("\n") if text], style)
    verdict = "passed" if result.passed else "FAILED"
    console.print(
        f"Diagnostics {verdict}: R-hat at most {a['rhat_max']:.3f}, bulk ESS at least "
        f"{a['ess_bulk_min']:.0f}, {a['divergences']} divergences. Engine {a['engine']} "
        f"({a['sampler']}), seed {a['seed']}.",
        soft_wrap=not console.is_terminal,
    )


MOST_OFFSETS = 40  # rows shown; the files hold all


def _most_certain(offsets: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Pick the offsets that stand out most from zero, when there are many."""
    if len(offsets) <= MOST_OFFSETS:
        return offsets, ""
    clear = (offsets["mean"].abs() / offsets["sd"]).nlargest(MOST_OFFSETS).index
    shown = offsets.loc[[row for row in offsets.index if row in set(clear)]]
    return shown, f"The {MOST_OFFSETS} clearest of {len(offsets)}; --json and --out give all."


KNOWN_ENDINGS = {".csv", ".tsv", ".json", ".jsonl", ".parquet", ".html", ".md", ".txt", ".xlsx"}


def check_place(out: Path) -> None:
    """Refuse a place for a fit that can't be written to, before the work and not after it."""
    if out.suffix == ".nc":
        if out.is_dir():
            raise BayesJudgeError(f"--out {out}: there is a folder of that name.")
        if not out.parent.is_dir():
            raise BayesJudgeError(f"--out {out}: there is no folder {out.parent}.")
    elif out.suffix in KNOWN_ENDINGS:
        raise BayesJudgeError(
            f"--out {out}: a fit is written to a .nc file, or with its tables to a folder; "
            f"{out.suffix} is the ending of neither."
        )
    else:
        show.folder(out)


def write_fit(out: Path, tree: xr.DataTree, result: FitSummary) -> list[Path]:
    """Write a fit to a .nc file, or fit and tables to a folder."""
    from bayesjudge.tree import save

    if out.suffix == ".nc":
        return [save(tree, out)]
    folder = show.folder(out)
    return [
        save(tree, folder / "fit.nc"),
        show.write(folder / "components.csv", result.comparison),
        show.write(folder / "panel_means.csv", result.means),
        show.write(folder / "judge_offsets.csv", result.offsets),
        show.write_text(folder / "summary.json", show.as_json(result.as_dict()) + "\n"),
    ]
