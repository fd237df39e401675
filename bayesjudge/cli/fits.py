"""What the commands show of a fit, and where they write it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesjudge.cli import show
from bayesjudge.cli.levels import LevelCheck, print_levels
from bayesjudge.cli.results import sentences
from bayesjudge.errors import BayesJudgeError

if TYPE_CHECKING:
    import xarray as xr

NOT_TRUSTED = "  [NOT TO BE TRUSTED: see Problems]"
NOISE = {"logit": "1.81 (logistic)", "probit": "1 (normal)"}


@dataclass(frozen=True, eq=False)
class FitSummary:
    """What is shown of a fit; `latent` of an ordinal one, `levels` where they were checked."""

    comparison: pd.DataFrame
    means: pd.DataFrame
    offsets: pd.DataFrame
    attributes: Mapping[str, Any]
    latent: pd.DataFrame | None = None
    levels: LevelCheck | None = None

    @property
    def passed(self) -> bool:
        """Whether the fit passed its diagnostics."""
        return bool(self.attributes["verdict"] == "passed")

    def as_dict(self) -> dict[str, Any]:
        """Turn it into plain values."""
        told = {
            "verdict": self.attributes["verdict"],
            "problems": self.comparison.attrs["problems"],
            "components": self.comparison,
            "rows": self.comparison.attrs["rows"],
            "panel_means": self.means,
            "judge_offsets": self.offsets,
            "sums": self.comparison.attrs["sums"],
            "interaction": self.comparison.attrs["interaction"],
            "warnings": _lines(self.attributes["warnings"]),
            "interval": {"kind": "eti", "prob": self.comparison.attrs["prob"]},
            "provenance": dict(self.attributes),
        }
        if self.latent is not None:
            told["latent"] = self.latent
        if self.levels is not None:
            told["levels"] = self.levels.as_dict()
        return told


def fitted(tree: xr.DataTree, levels: LevelCheck | None = None) -> FitSummary:
    """Put together what is shown of a fit."""
    from bayesjudge.posterior.comparison import compare
    from bayesjudge.posterior.latent_table import latent_parameters
    from bayesjudge.posterior.ordinal_parameters import is_ordinal
    from bayesjudge.posterior.summaries import judge_offsets, panel_means

    return FitSummary(
        compare(tree),
        panel_means(tree),
        judge_offsets(tree),
        {str(k): v for k, v in tree.attrs.items()},
        latent_parameters(tree) if is_ordinal(tree) else None,
        levels,
    )


def print_fit(result: FitSummary) -> None:
    """Show a fit: its verdict first when it failed."""
    console = show.console()
    a = result.attributes
    problems = [str(problem) for problem in result.comparison.attrs["problems"]]
    mark = "" if result.passed else NOT_TRUSTED
    if problems:
        sentences("Problems: this fit failed its diagnostics", problems, "red")
    components, caption = _components(result)
    where = "" if result.latent is None else " on the score scale"
    console.print(
        show.table(
            components, f"Variance components{where}, model {a['model']} (score²){mark}", caption
        )
    )
    console.print(show.table(result.means, f"Panel means, for scenarios like these (score){mark}"))
    if len(result.offsets):
        shown, said = _most_certain(result.offsets)
        title = f"Judge offsets from the panel: how far a judge lies above it (score){mark}"
        console.print(show.table(shown.drop(columns=["median", "sd"]), title, said))
    if result.latent is not None:
        _print_latent(result.latent, mark)
    if result.levels is not None:
        print_levels(result.levels, mark)
    print_rows(result.comparison)
    if result.latent is None:
        sentences("What scenario:judge does here", result.comparison.attrs["interaction"])
    for title, name, style in (("Notes", "notes", "bold"), ("Warnings", "warnings", "yellow")):
        sentences(title, _lines(a[name]), style)
    console.print(_diagnostics(a, result.passed), soft_wrap=not console.is_terminal)


def _diagnostics(a: Mapping[str, Any], passed: bool) -> str:
    """Say what the diagnostics found, and who sampled."""
    verdict = "passed" if passed else "FAILED"
    engine = f"Engine {a['engine']} ({a['sampler']}), seed {a['seed']}."
    if a["engine"] == "psis":
        return (
            f"Diagnostics {verdict}: k-hat at most {a['k_hat']:.2f}, at least "
            f"{a['importance_ess']:.0f} effective draws. {engine}"
        )
    said = (
        f"Diagnostics {verdict}: R-hat at most {a['rhat_max']:.3f}, bulk ESS at least "
        f"{a['ess_bulk_min']:.0f}, {a['divergences']} divergences. {engine}"
    )
    if not np.isnan(a.get("psis_disagreement", np.nan)):
        said += (
            " Cross-check by importance sampling: means at most "
            f"{a['psis_disagreement']:.1f} Monte Carlo standard errors apart."
        )
    return said


def print_rows(comparison: pd.DataFrame) -> None:
    """Say what the rows of a comparison are, where their names don't."""
    meanings = [f"{name}: {what}." for name, what in comparison.attrs["rows"].items()]
    sentences("What the rows are", meanings)
    sums = [f"{name}: {why}." for name, why in comparison.attrs["sums"].items()]
    sentences("Why some components are one sum", sums)


def _components(result: FitSummary) -> tuple[pd.DataFrame, str]:
    """Return the components that there is room for, and what to say of their columns."""
    table = result.comparison
    interval = f"eti: equal-tailed {table.attrs['prob']:.0%} interval."
    if result.latent is None:
        caption = (
            f"{interval} anova: closed form with the same terms (0 where raw is negative); anova "
            "paper: without scenario:judge."
        )
    else:
        table = table.drop(columns=["anova_paper"])
        caption = (
            f"{interval} anova, reml: of a linear model with all terms (0 where raw is negative), "
            "so only in rows that it knows."
        )
    if show.narrow():
        dropped = ["median", "sd", "anova_raw", "anova_paper"]
        table = table.drop(columns=[name for name in dropped if name in table])
        caption = f"{interval} A wider terminal or --json shows more."
    return table, caption


def _print_latent(latent: pd.DataFrame, mark: str) -> None:
    """Show standard deviations, and what else there is room for; offsets are in the files."""
    parameter = latent.index.get_level_values("parameter")
    rows = parameter.str.startswith("latent_sigma_")
    more = ""
    if not show.narrow():
        rows |= parameter.isin(["threshold", "latent_mu", "latent_scale"])
        more = " Judges' latent offsets: --json, --out."
    link = str(latent.attrs["link"])
    caption = (
        "On the scale of the link, where a judge's noise has standard deviation "
        f"{NOISE[link]}.{more}"
    )
    shown = latent[rows].drop(columns=["median"])
    if (shown.index.get_level_values("at") == "").all():
        shown = shown.droplevel("at")
    show.console().print(show.table(shown, f"Latent parameters{mark}", caption))


MOST_OFFSETS = 40  # rows shown; the files hold all


def _most_certain(offsets: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Pick the offsets that stand out most from zero, when there are many."""
    if len(offsets) <= MOST_OFFSETS:
        return offsets, ""
    clear = (offsets["mean"].abs() / offsets["sd"]).nlargest(MOST_OFFSETS).index
    shown = offsets.loc[[row for row in offsets.index if row in set(clear)]]
    return shown, f"The {MOST_OFFSETS} clearest of {len(offsets)}; --json and --out give all."


def _lines(text: object) -> list[str]:
    return [line for line in str(text).split("\n") if line]


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
    tables = {
        "components": result.comparison,
        "panel_means": result.means,
        "judge_offsets": result.offsets,
        "latent": result.latent,
        "levels": None if result.levels is None else result.levels.frequencies,
    }
    return [
        save(tree, folder / "fit.nc"),
        *(
            show.write(folder / f"{name}.csv", frame)
            for name, frame in tables.items()
            if frame is not None
        ),
        show.write_text(folder / "summary.json", show.as_json(result.as_dict()) + "\n"),
    ]
