"""The command `plan`."""

from __future__ import annotations

from typing import Any

import click

from bayesjudge.cli.allocations import (
    campaign_options,
    check_file,
    names,
    pairs,
    read_components,
    refuse_what_is_idle,
    source_options,
)
from bayesjudge.cli.options import as_json, fitting, how_to_read, out

_PLANNING = {
    "target_se",
    "order",
    "spend",
    "price_call",
    "price_generation",
    "probability",
    "strategies",
    "max_generations",
    "only",
    "frontier",
    "n_scenarios",
    "target",
    "dataset_size",
    "seed",
    "as_json",
    "out",
}


def _price(ctx: click.Context, param: click.Parameter, value: str) -> float | dict[str, float]:
    """Read a price, or one for each name."""
    try:
        return float(value)
    except ValueError:
        return pairs(value, param.opts[0])


@click.command()
@source_options
@click.option(
    "--target-se", type=float, help="Standard error that the score of every model is to have."
)
@click.option(
    "--order", metavar="A,B", help="Two models whose scores are to come in the right order."
)
@click.option("--spend", type=float, help="What there is to spend: the best design for that.")
@click.option(
    "--price-call",
    required=True,
    callback=_price,
    metavar="PRICE|JUDGE=PRICE,...",
    help="Of one judge call.",
)
@click.option(
    "--price-generation",
    required=True,
    callback=_price,
    metavar="PRICE|MODEL=PRICE,...",
    help="Of one answer of an evaluated model.",
)
@click.option(
    "--probability",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    help="With which the standard error is to be that small, or the order right.",
)
@click.option(
    "--strategies",
    callback=lambda ctx, param, value: None if value is None else names(ctx, param, value),
    metavar="A,B,...",
    help="Ways to spend calls to choose from: as for allocation, and stratified.",
)
@click.option(
    "--max-generations",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="Answers for each scenario, at most.",
)
@click.option(
    "--only", metavar="A,B,...", help="Evaluated models of the next campaign; all without it."
)
@click.option("--frontier", is_flag=True, help="Also the best designs at every price.")
@campaign_options
@how_to_read
@fitting
@as_json
@out("Write the plan to this .csv file, or all to this .json file.")
@click.pass_context
def plan(
    ctx: click.Context,
    /,
    file: str | None,
    price_call: float | dict[str, float],
    price_generation: float | dict[str, float],
    order: str | None,
    only: str | None,
    frontier: bool,
    n_scenarios: int | None,
    as_json: bool,
    out: str | None,
    **options: Any,
) -> None:
    """Plan the next campaign: the cheapest one that is precise enough.

    FILE is a fit that `bayesjudge fit --out FIT.nc` wrote, or a table of scores; --components are
    variances (score²) typed by hand. One of --target-se, --order and --spend says what for.
    """
    check_file(out)
    refuse_what_is_idle(ctx, file, options["components"] is not None, options["by"], _PLANNING)
    from bayesjudge.cli import show
    from bayesjudge.cli.planning import planned, print_plan

    asked = {
        name: options.pop(name)
        for name in ("target_se", "spend", "probability", "strategies", "max_generations")
    }
    campaign = {name: options.pop(name) for name in ("target", "dataset_size")}
    seed = options["seed"]
    with show.stages() as stage:
        found = read_components(file, stage, options)
        stage("planning")
        result = planned(
            found.source,
            {
                "prices": {"call": price_call, "generation": price_generation},
                "order": order and tuple(piece.strip() for piece in order.split(",")),
                "models": None if only is None else names(ctx, click.Option(["--only"]), only),
                "scenarios": n_scenarios,
                "panel_size": found.panel,
                "seed": seed,
            }
            | asked
            | campaign,
            frontier,
        )
    show.deliver(result.as_dict(), result.plan, out, as_json, lambda: print_plan(result))
    raise click.exceptions.Exit(0 if result.passed else 1)
