"""The bars that bayesjudge is held to: all of them, and how a result is held against them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.tool_list import BY_HAND, LME4, NUTS, PSIS

MEASURES = {
    "wall_s": ("wall", " s"),
    "peak_mib": ("peak memory", " MiB"),
    "ess_bulk_min": ("ESS", ""),
}
GIGABYTES = 1e9 / 2**20  # in MiB


@dataclass(frozen=True)
class Bar:
    """What one measure of one tool in one job has to be.

    Attributes
    ----------
    job, tool : str
        Whose.
    measure : str
        A key of `MEASURES`.
    limit : float
        The most it may be; or what it has to exceed.
    exceeds : bool
        Whether it has to exceed the limit.
    of : str
        The peer whose measure, in the same run, the limit is a multiple of.
    before : float
        That peer's measure, for where it wasn't in the run.
    """

    job: str
    tool: str
    measure: str
    limit: float
    exceeds: bool = False
    of: str = ""
    before: float = 0.0

    def statement(self) -> str:
        """Say what is asked for."""
        name, unit = MEASURES[self.measure]
        if self.of:
            return f"{name} at most {self.limit:g} x that of {self.of}"
        if self.exceeds:
            return f"{name} above {self.limit:,.0f}{unit}"
        return f"{name} at most {self.limit:,.6g}{unit}"


BARS = (
    Bar("help", NUTS, "wall_s", 0.5),
    Bar("one-model", PSIS, "wall_s", 2.0, of=LME4),
    Bar("one-model", PSIS, "wall_s", 0.2, of=BY_HAND, before=13.7),
    Bar("five-models", PSIS, "wall_s", 4.0),
    Bar("five-models", NUTS, "wall_s", 20.0),
    Bar("five-models", NUTS, "ess_bulk_min", 1000, exceeds=True),
    Bar("missing-cells", NUTS, "wall_s", 60.0),
    Bar("missing-cells", NUTS, "ess_bulk_min", 1000, exceeds=True),
    Bar("large", PSIS, "wall_s", 1.0, of=LME4),
    Bar("large", NUTS, "wall_s", 20.0),
    Bar("large", NUTS, "ess_bulk_min", 1000, exceeds=True),
    Bar("million", PSIS, "wall_s", 10.0),
    Bar("million", PSIS, "peak_mib", round(1.5 * GIGABYTES)),
    Bar("many", PSIS, "wall_s", 60.0),
)


@dataclass(frozen=True)
class Held:
    """What came of a bar.

    Attributes
    ----------
    measured : str
        The number, and what it is held against where that was measured too.
    verdict : str
        "met", "missed" or "not measured".
    """

    measured: str
    verdict: str


def held(bar: Bar, rows: dict[str, dict[str, Any]]) -> Held:
    """Hold the results of a job against a bar.

    Parameters
    ----------
    bar : Bar
        One of that job.
    rows : dict of dict
        From `benchmarks.report.summaries`.
    """
    row = rows.get(bar.tool)
    if row is None:
        return Held("-", "not measured")
    if row["status"] != "ok":
        return Held(row["status"], "missed")
    if bar.measure not in row:
        return Held("-", "not measured")
    value, limit = row[bar.measure], bar.limit
    unit = MEASURES[bar.measure][1]
    said = _number(value) + unit
    if bar.of:
        reference = rows.get(bar.of, {}).get(bar.measure, bar.before)
        if not reference:
            return Held(said, "not measured")
        where = "in the same run" if bar.measure in rows.get(bar.of, {}) else "measured before"
        limit *= reference
        said += f", {value / reference:.2f} x {_number(reference)}{unit} ({where})"
    met = value > limit if bar.exceeds else value <= limit
    return Held(said, "met" if met else "missed")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
