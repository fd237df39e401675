"""What `bayesjudge compare` shows of several fits, and where it writes it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesjudge.cli import show
from bayesjudge.cli.fits import NOT_TRUSTED, print_rows
from bayesjudge.cli.results import sentences
from bayesjudge.errors import BayesJudgeError

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.scores import ScoreTable

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Fits of one table side by side; `loo` is there when it was asked for."""

    components: pd.DataFrame
    fits: tuple[xr.DataTree, ...]
    loo: pd.DataFrame | None

    @property
    def passed(self) -> bool:
        """Whether all fits passed their diagnostics."""
        return all(tree.attrs["verdict"] == "passed" for tree in self.fits)

    def as_dict(self) -> dict[str, Any]:
        """Turn it into plain values."""
        attributes = self.components.attrs
        told: dict[str, Any] = {
            "verdict": "passed" if self.passed else "failed",
            "problems": attributes["problems"],
            "components": self.components,
            "rows": attributes["rows"],
            "sums": attributes["sums"],
            "linear_enough": attributes["linear_enough"],
            "interaction": attributes["interaction"],
            "interval": {"kind": "eti", "prob": attributes["prob"]},
            "provenance": [{str(k): v for k, v in tree.attrs.items()} for tree in self.fits],
        }
        if self.loo is not None:
            told["loo"] = {
                "rows": self.loo,
                "verdict": self.loo.attrs["verdict"],
                "problems": self.loo.attrs["problems"],
            }
        return told


def load_all(files: Sequence[str]) -> tuple[xr.DataTree, ...]:
    """Load fits."""
    from bayesjudge.tree import load

    return tuple(load(file) for file in files)


def fit_all(
    scores: ScoreTable,
    models: Sequence[str],
    say: Say,
    bins: int | None,
    keep_unused_levels: bool,
    **options: Any,
) -> tuple[xr.DataTree, ...]:
    """Fit several models to one table; what is said of levels is for those that have them."""
    from bayesjudge.fitting import fit
    from bayesjudge.levels import levels_of
    from bayesjudge.specs import read_spec

    specs = [(model, read_spec(model)) for model in models]
    if any(spec.family == "cumulative" for _, spec in specs):
        # Refuses what has no levels before other models are fitted.
        levels_of(scores, bins, keep_unused=keep_unused_levels)
    elif bins is not None or keep_unused_levels:
        option = "--keep-unused-levels" if bins is None else "--bins"
        raise BayesJudgeError(f"{option} is for an ordinal model, and --models names none.")
    return tuple(
        fit(
            scores,
            model=model,
            bins=bins if spec.family == "cumulative" else None,
            keep_unused_levels=keep_unused_levels and spec.family == "cumulative",
            on_stage=_of(spec.name, say),
            **options,
        )
        for model, spec in specs
    )


def _of(name: str, say: Say) -> Say:
    return lambda stage: say(f"{name}: {stage}")


def compared(trees: tuple[xr.DataTree, ...], with_loo: bool, say: Say) -> Comparison:
    """Set fits side by side."""
    from bayesjudge.posterior.comparison import compare

    say("comparing")
    table = compare(*trees)
    if not with_loo:
        return Comparison(table, trees, None)
    from bayesjudge.posterior.loo import loo

    return Comparison(table, trees, loo(*trees, on_stage=say))


def print_comparison(result: Comparison) -> None:
    """Show fits side by side: the problems first."""
    table = result.components
    problems = [str(problem) for problem in table.attrs["problems"]]
    sentences("Problems: fits that failed their diagnostics", problems, "red")
    mark = "" if result.passed else NOT_TRUSTED
    caption = (
        f"Posterior mean, with equal-tailed {table.attrs['prob']:.0%} interval. anova, reml: of a "
        "linear model, with scenario:judge if a fit has it. --json and --out show more."
    )
    show.console().print(
        show.table(_side_by_side(result), f"Variance components (score²){mark}", caption)
    )
    sentences("Is the linear approximation good enough?", table.attrs["linear_enough"])
    if result.loo is not None:
        show.console().print(
            show.table(
                result.loo, f"Leave-one-scenario-out{mark}", str(result.loo.attrs["verdict"])
            )
        )
        more = [str(text) for text in result.loo.attrs["problems"] if text not in problems]
        sentences("Problems of leaving out scenarios", more, "yellow")
    print_rows(table)
    sentences("What scenario:judge does here", table.attrs["interaction"])


def _side_by_side(result: Comparison) -> pd.DataFrame:
    """Give each fit one column, so that a row can be read across."""
    from bayesjudge.posterior.fits_together import fit_names

    table, names = result.components, fit_names(result.fits)
    if len(names) == 1:
        table = pd.concat({names[0]: table, "reference": table[["anova", "reml"]]}, axis=1)
    columns: dict[str, object] = {
        name: [_interval(*row) for row in table[name][["mean", "eti_low", "eti_high"]].to_numpy()]
        for name in names
    }
    columns |= {name: table["reference"][name] for name in ("anova", "reml")}
    return pd.DataFrame(columns, index=table.index)


def _interval(mean: float, low: float, high: float) -> str:
    return show.text(mean) if math.isnan(mean) else f"{mean:.3g}  ({low:.2g} to {high:.2g})"


def check_place(out: Path) -> None:
    """Refuse a place for a comparison that can't be written to, before the work."""
    if out.suffix in (".csv", ".json"):
        if not out.parent.is_dir():
            raise BayesJudgeError(f"--out {out}: there is no folder {out.parent}.")
    elif out.suffix:
        raise BayesJudgeError(
            f"--out {out}: a comparison is written to a .csv or .json file, or with its fits to a "
            f"folder; {out.suffix} is the ending of none of these."
        )
    else:
        show.folder(out)


def write_comparison(out: Path, result: Comparison, with_fits: bool) -> list[Path]:
    """Write the table to a .csv or .json file, or all that is known to a folder."""
    if out.suffix == ".csv":
        return [show.write(out, result.components)]
    told = show.as_json(result.as_dict()) + "\n"
    if out.suffix == ".json":
        return [show.write_text(out, told)]
    from bayesjudge.posterior.fits_together import fit_names
    from bayesjudge.tree import save

    folder = show.folder(out)
    written = [show.write(folder / "components.csv", result.components)]
    if result.loo is not None:
        written.append(show.write(folder / "loo.csv", result.loo))
    if with_fits:
        written += [
            save(tree, folder / f"{re.sub(r'[^\w-]+', '_', name)}.nc")
            for name, tree in zip(fit_names(result.fits), result.fits, strict=True)
        ]
    return [*written, show.write_text(folder / "summary.json", told)]
