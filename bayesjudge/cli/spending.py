"""What `bayesjudge allocation` shows of ways to spend judge calls."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesjudge.cli import show
from bayesjudge.cli.fits import NOT_TRUSTED
from bayesjudge.cli.results import sentences
from bayesjudge.wording import counted

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.scores import ScoreTable

CYCLES = (1, 2, 4)  # full cycles of the largest panel, where no budgets are named


@dataclass(frozen=True, eq=False)
class Spending:
    """What is shown of an allocation; the last three where they were asked for."""

    variances: xr.Dataset
    table: pd.DataFrame
    savings: pd.DataFrame
    all_or_random: pd.DataFrame
    generation_sign: pd.DataFrame
    said: tuple[str, ...]
    pool: pd.DataFrame | None = None
    reliability: pd.DataFrame | None = None
    tradeoff: pd.DataFrame | None = None

    @property
    def passed(self) -> bool:
        """Whether the fit, if it is one, passed its diagnostics."""
        return bool(self.variances.attrs["verdict"] == "passed")

    def as_dict(self) -> dict[str, Any]:
        """Turn it into plain values."""
        attributes = self.variances.attrs
        told = {
            "verdict": attributes["verdict"],
            "problems": attributes["problems"].splitlines(),
            "target": attributes["target"],
            "n_scenarios": json.loads(attributes["n_scenarios"]),
            "panel_size": json.loads(attributes["panel_size"]),
            "dataset_size": attributes["dataset_size"],
            "variances": self.table,
            "savings_of_cyclic": self.savings,
            "all_or_random": self.all_or_random,
            "generation_sign": self.generation_sign,
            "said": list(self.said),
            "notes": attributes["notes"].splitlines(),
            "predictive_note": attributes["predictive_note"],
            "interval": {"kind": "eti", "prob": self.table.attrs["prob"]},
        }
        more = {
            "resampled": self.pool,
            "reliability": self.reliability,
            "scenarios_or_calls": self.tradeoff,
        }
        return told | {name: table for name, table in more.items() if table is not None}


def spending(
    source: Any,
    budgets: Sequence[int] | None,
    strategies: Sequence[str],
    campaign: Mapping[str, Any],
) -> Spending:
    """Put together what is shown of an allocation."""
    from bayesjudge.allocations.contrasts import all_or_random, generation_sign, savings
    from bayesjudge.allocations.dataset import allocation as weigh
    from bayesjudge.allocations.sources import read_source
    from bayesjudge.allocations.summary import allocation_table, in_words

    panel = campaign["panel_size"]
    if budgets is None:
        most = max(one.panel_size for one in read_source(source, panel).models)
        budgets = sorted({1, *(most * cycles for cycles in CYCLES)})
    found = weigh(source, budgets, strategies, **campaign)
    compared = "cyclic" in found["strategy"] and found.sizes["strategy"] > 1
    given = isinstance(source, Mapping) and not hasattr(source, "children")
    return Spending(
        found,
        allocation_table(found),
        savings(found) if compared else pd.DataFrame(),
        all_or_random(source, panel),
        pd.DataFrame() if given else generation_sign(source),
        tuple(in_words(found)),
    )


def with_reliability(result: Spending, source: Any, panel_size: int | None) -> Spending:
    """Add how reliably single scenarios are told apart."""
    from bayesjudge.allocations.reliability import reliability
    from bayesjudge.allocations.summary import reliability_table

    budgets = [int(budget) for budget in result.variances["budget"].to_numpy()]
    names = [str(name) for name in result.variances["strategy"].to_numpy()]
    found = reliability(source, budgets, names, panel_size)
    return replace(result, reliability=reliability_table(found))


def with_tradeoff(
    result: Spending, source: Any, calls: int, campaign: Mapping[str, Any]
) -> Spending:
    """Add what a number of calls does on few scenarios and on many."""
    from bayesjudge.allocations.summary import tradeoff_table
    from bayesjudge.allocations.tradeoffs import scenarios_or_calls

    names = [str(name) for name in result.variances["strategy"].to_numpy()]
    own = {name: campaign[name] for name in ("target", "dataset_size", "panel_size")}
    found = scenarios_or_calls(source, calls, strategies=names, **own)
    return replace(result, tradeoff=tradeoff_table(found))


def resampled(
    result: Spending, scores: ScoreTable, repetitions: int, say: Callable[[str], None]
) -> Spending:
    """Add what campaigns drawn from the scores at hand do, at the same budgets."""
    from bayesjudge.allocations.pool import POOL_STRATEGIES, finite_pool

    names = [str(name) for name in result.variances["strategy"].to_numpy()]
    pool = finite_pool(
        scores,
        [int(budget) for budget in result.variances["budget"].to_numpy()],
        [name for name in names if name in POOL_STRATEGIES],
        repetitions,
        on_progress=lambda done, total: say(f"resampling ({done / total:.0%})"),
    )
    return replace(result, pool=pool)


def print_spending(result: Spending) -> None:
    """Show an allocation: the problems first."""
    attributes, console = result.variances.attrs, show.console()
    sentences(
        "Problems: the fit failed its diagnostics", attributes["problems"].splitlines(), "red"
    )
    mark = "" if result.passed else NOT_TRUSTED
    console.print(
        show.table(_by_budget(result.table), f"Standard error of the score{mark}", _caption(result))
    )
    if not result.savings.empty:
        console.print(
            show.table(
                _ratios(result.savings), f"Variance of cyclic judges over that of others{mark}"
            )
        )
    console.print(
        show.table(
            result.all_or_random,
            f"All judges or random judges{mark}",
            "ratio: judge over generation variance. Without interactions all judges on few answers "
            "have less variance than random judges on many where it is above the threshold, K - 1; "
            "p all smaller counts interactions.",
        )
    )
    if result.reliability is not None:
        console.print(
            show.table(
                _laid_out(result.reliability, ("generalizability", "dependability"), 2),
                f"Reliability of single scenarios{mark}",
                "First generalizability, for comparing scenarios; then dependability, for their "
                "scores as they stand. --json has intervals and standard errors of measurement.",
            )
        )
    if result.tradeoff is not None:
        console.print(
            show.table(
                _laid_out(result.tradeoff, ("se",), 3, "n_scenarios", "scenario"),
                f"Standard error when all calls go to few scenarios, or to many{mark}",
                "The calls of a model are shared out over so many scenarios.",
            )
        )
    if result.pool is not None:
        console.print(
            show.table(
                _laid_out(result.pool, ("resampled", "ratio"), 3),
                "Campaigns resampled from these scores",
                f"Variance over {result.pool.attrs['repetitions']:,} campaigns drawn with "
                "replacement, by judge calls for each scenario; then its ratio to the exact "
                "one. There are no answers but these: it is less than the next campaign's.",
            )
        )
    if not result.generation_sign.empty:
        console.print(
            show.table(
                result.generation_sign,
                "Do answers differ by more than the noise of judges?",
                "F test without priors. Where they do (p above is small), cyclic judges have less "
                "variance than all judges; where they differ by less (p below is small), more.",
            )
        )
    sentences("In words", result.said)
    reasons = [text for text in dict.fromkeys(result.table["reason"]) if text]
    sentences("Why some are left out", [f"{text}." for text in reasons])
    sentences("Notes", attributes["notes"].splitlines())


def _caption(result: Spending) -> str:
    attributes = result.variances.attrs
    sizes = sorted(set(json.loads(attributes["n_scenarios"]).values()))
    n = f"{sizes[0]} scenarios" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} scenarios"
    meant = {
        "benchmark": f"Of the panel mean over the {n} scored",
        "population": f"Of the panel mean over scenarios like the {n} scored",
    }[attributes["target"]]
    estimate = result.variances.sizes["draw"] * result.variances.sizes["chain"] == 1
    how = "estimates alone" if estimate else f"median, {result.table.attrs['prob']:.0%} interval"
    return f"{meant}, by judge calls for each ({how})."


def _by_budget(table: pd.DataFrame) -> pd.DataFrame:
    """Give each budget one column."""
    cells = pd.Series(
        [show.with_ends(*row) for row in table[["se", "se_low", "se_high"]].to_numpy()],
        index=table.index,
    )
    wide = cells.unstack("budget", sort=False)
    wide.columns = [counted(int(budget), "call") for budget in wide.columns]
    return wide


def _laid_out(
    table: pd.DataFrame,
    columns: Sequence[str],
    digits: int,
    over: str = "budget",
    noun: str = "call",
) -> pd.DataFrame:
    """Give each budget, or number of scenarios, one column of a few values."""
    cells = pd.Series(
        [
            "–" if math.isnan(row[0]) else "  ".join(f"{value:.{digits}g}" for value in row)
            for row in table[list(columns)].to_numpy()
        ],
        index=table.index,
    )
    wide = cells.unstack(over, sort=False)
    wide.columns = [counted(int(number), noun) for number in wide.columns]
    return wide


def _ratios(savings: pd.DataFrame) -> pd.DataFrame:
    kept = savings[savings.index.get_level_values("against").isin(["all", "random"])]
    frame = pd.DataFrame(index=kept.index)
    for name in ("ratio", "extra_calls"):
        ends = kept[[name, f"{name}_low", f"{name}_high"]].to_numpy()
        frame[name] = [show.with_ends(*row) for row in ends]
    for name in kept.columns[kept.columns.str.startswith("p_")]:
        if kept[name].notna().any():
            frame[name] = kept[name]
    return frame
