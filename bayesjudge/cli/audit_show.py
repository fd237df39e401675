"""What `bayesjudge audit` shows of a finished run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesjudge.cli import show
from bayesjudge.cli.results import sentences

if TYPE_CHECKING:
    from bayesjudge.schedules.audits import Audit


def as_dict(audit: Audit) -> dict[str, Any]:
    """Turn an audit into plain values."""
    attributes = audit.variance.attrs
    tests = audit.aliasing.attrs
    return {
        "strategies": dict(zip(audit.variance.index, audit.strategies, strict=True)),
        "target": attributes["target"],
        "estimator": attributes["estimator"],
        "shares": audit.shares,
        "departures": audit.departures if len(audit.departures) else None,
        "departure_rows": audit.departure_rows if len(audit.departures) else None,
        "aliasing": audit.aliasing,
        "tests": {name: tests[name] for name in ("tests", "permutations", "seed")},
        "coefficients": audit.coefficients,
        "variance": audit.variance,
        "interval": {"kind": "eti", "prob": attributes["prob"]},
        "notes": list(audit.notes),
        "warnings": list(audit.warnings),
    }


def print_audit(audit: Audit) -> None:
    """Show an audit: the warnings last, where the eye is."""
    console = show.console()
    shown = audit.shares.drop(columns=["equal_share", "missing_rate_others"])
    console.print(show.table(shown, "Calls of the judges"))
    if len(audit.departures):
        console.print(show.table(audit.departures, "Calls against the schedule"))
    if len(audit.departure_rows):
        rows = audit.departure_rows.set_index("kind")
        console.print(show.table(rows, "The first departures of each kind"))
    tested = audit.aliasing[audit.aliasing["reason"] == ""].drop(columns="reason")
    if len(tested):
        attributes = audit.aliasing.attrs
        console.print(
            show.table(
                tested,
                "Does who scores depend on a column?",
                f"By {attributes['permutations']:,} permutations; flagged: p below .05 over "
                f"{attributes['tests']} tests and the effect at least .1.",
            )
        )
    console.print(
        show.table(
            _weights(audit.coefficients),
            "How much of each component the score's variance has",
        )
    )
    if audit.variance[["se_executed", "se_executed_high"]].notna().any(axis=None):
        console.print(
            show.table(_errors(audit.variance), "Standard error of the score", _caption(audit))
        )
    sentences("Notes", audit.notes)
    sentences("Warnings", audit.warnings, "yellow")
    if not audit.warnings:
        console.print("Nothing to warn of.")


def _weights(coefficients: pd.DataFrame) -> pd.DataFrame:
    """Give each component one column."""
    models = list(dict.fromkeys(coefficients.index.get_level_values("model")))
    wide: pd.DataFrame = pd.concat(
        {m: coefficients.loc[m].T for m in models}, names=["model", "as"]
    )
    wide.columns.name = None
    return wide


def _errors(variance: pd.DataFrame) -> pd.DataFrame:
    frame = variance[["scenarios", "calls", "scored"]].copy()
    for name in ("se_executed", "se_planned"):
        ends = variance[[name, f"{name}_low", f"{name}_high"]].to_numpy()
        frame[name] = [show.with_ends(*row) for row in ends]
    frame["se_ratio"] = variance["se_ratio"]
    if variance["bias"].notna().any():
        ends = variance[["bias", "bias_low", "bias_high"]].to_numpy()
        frame["bias"] = [show.with_ends(*row) for row in ends]
    return frame


def _caption(audit: Audit) -> str:
    attributes = audit.variance.attrs
    meant = {
        "benchmark": "the panel mean over these scenarios",
        "population": "the panel mean over scenarios like these",
    }[attributes["target"]]
    return (
        f"Of {attributes['estimator']} around {meant}, in points of the scale; in brackets the "
        f"{attributes['prob']:.0%} interval of a fit, or the range of what is known in a sum."
    )
