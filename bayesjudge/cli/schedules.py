"""The command that makes schedules, and what it shows of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesjudge.cli.options import as_json, family, labels, out
from bayesjudge.wording import counted

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 10  # rows of a schedule that is not written to a file


def shares(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, int] | None:
    """Read ``a=30,b=10``."""
    if value is None:
        return None
    found: dict[str, int] = {}
    for piece in value.split(","):
        name, _, number = (part.strip() for part in piece.rpartition("="))
        if not name or not number.isdecimal() or name in found:
            raise click.BadParameter(f"{value!r} should look like a=30,b=10, each judge once.")
        found[name] = int(number)
    return found


@click.command()
@click.argument("file", metavar="[SCENARIOS]", required=False, is_eager=True)
@click.option(
    "--scenarios",
    "count",
    type=click.IntRange(1),
    metavar="N",
    help="Instead of a file: scenarios s1 to sN.",
)
@click.option(
    "--panel", required=True, callback=labels, metavar="A,B,...", help="Judges, each once."
)
@click.option(
    "--strategy",
    default="cyclic",
    show_default=True,
    metavar="NAME",
    help="all, random, cyclic, cyclic-2, cyclic-restart, single, subset-2, ..., stratified",
)
@click.option(
    "--budget",
    type=click.IntRange(1),
    help="Judge calls for each scenario. Without it, those of one generation.",
)
@click.option(
    "--generations",
    type=click.IntRange(1),
    help="Generations of each scenario: the other way to say the budget.",
)
@click.option(
    "--calls",
    callback=shares,
    metavar="JUDGE=N,...",
    help="For --strategy stratified: calls of each judge, of a model, as `plan` gives them.",
)
@click.option("--models", callback=labels, metavar="A,B,...", help="Evaluated models.")
@family
@click.option(
    "--exclude-own-family", is_flag=True, help="No judge scores a model of its own family."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=1,
    show_default=True,
    help="The same seed gives the same schedule.",
)
@click.option(
    "--continue-from",
    type=click.Path(),
    metavar="FILE",
    help="An earlier schedule: its rows stay, new scenarios follow. --out may be the same file.",
)
@as_json
@out("Write the schedule to this .csv or .jsonl file.")
def assign(
    file: str | None,
    count: int | None,
    as_json: bool,
    out: str | None,
    **options: Any,
) -> None:
    """Say which judge scores what, before anything is scored.

    SCENARIOS is a text file with one label a line, or a table (CSV, TSV, Parquet, JSON Lines) with
    a column scenario; its other columns are kept. In CSV, a label that a spreadsheet would take for
    a formula gets an apostrophe in front.
    """
    from bayesjudge.cli import show
    from bayesjudge.schedules.assignments import assign as make
    from bayesjudge.schedules.storage import ENDINGS, write_schedule

    if (file is None) == (count is None):
        raise click.UsageError("Give a file of SCENARIOS or --scenarios N, one of the two.")
    if out and Path(out).suffix not in ENDINGS:
        raise click.BadParameter(f"{out!r} should end in .csv or .jsonl.", param_hint="--out")
    scenarios = read_scenarios(file) if file else [f"s{i}" for i in range(1, (count or 0) + 1)]
    schedule = make(scenarios, **options)
    if out:
        schedule.attrs["notes"] += write_schedule(schedule, out)
    if as_json:
        click.echo(show.as_json({**schedule.attrs, "schedule": schedule.to_dict("records")}))
    else:
        print_schedule(schedule, rows=0 if out else _SHOWN)
        if out:
            click.echo(f"Written: {out}")


def read_scenarios(file: str) -> pd.DataFrame | list[str]:
    """Read a table of scenarios, or a text file with a label on each line that is not blank."""
    from bayesjudge.readers import read_table
    from bayesjudge.readers.files import ENDINGS, locate, read_text

    if Path(file).suffix.casefold() in ENDINGS:
        return read_table(file).frame
    return [line.strip() for line in read_text(locate(file)).split("\n") if line.strip()]


def print_schedule(schedule: pd.DataFrame, rows: int) -> None:
    """Show how many calls each judge has, and the first rows."""
    import pandas as pd

    from bayesjudge.cli import show
    from bayesjudge.cli.results import sentences

    attributes = schedule.attrs
    console = show.console()
    models = schedule["model"] if "model" in schedule else pd.Series("calls", schedule.index)
    counts = pd.crosstab(schedule["judge"], models.rename(None))
    counts = counts.reindex(attributes["panel"], fill_value=0).rename_axis("judge")
    counts.columns.name = None
    title = (
        f"{attributes['strategy']}: {counted(len(schedule), 'call')}, budget "
        f"{attributes['budget']} for each of {counted(schedule['scenario'].nunique(), 'scenario')}"
        f"{' and each model' if 'model' in schedule else ''}, seed {attributes['seed']}"
    )
    console.print(show.table(counts, title))
    if rows:
        first = schedule.head(rows).set_index("scenario")
        left = len(schedule) - len(first)
        more = f"{left:,} more: --out FILE.csv writes all." if left else ""
        console.print(show.table(first, "First rows", more))
    sentences("Notes", attributes["notes"])
