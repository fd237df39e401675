"""The command `allocation`, and the options of all commands that weigh components."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bayesjudge.cli.options import (
    FITTING,
    READING,
    as_json,
    fitting,
    how_to_read,
    names_of,
    out,
    read,
    refuse_idle,
)
from bayesjudge.errors import BayesJudgeError

if TYPE_CHECKING:
    from bayesjudge.scores import ScoreTable


def pairs(text: str, option: str) -> dict[str, float]:
    """Read ``scenario=1.53,generation=0.266``."""
    found: dict[str, float] = {}
    for piece in text.split(","):
        name, equals, value = (part.strip() for part in piece.partition("="))
        try:
            number: float | None = float(value)
        except ValueError:
            number = None
        if not name or not equals or number is None:
            raise click.BadParameter(
                f"{piece.strip()!r} should look like generation=0.266.", param_hint=option
            )
        if name in found:
            raise click.BadParameter(f"{name} comes twice.", param_hint=option)
        found[name] = number
    return found


def whole_numbers(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> list[int] | None:
    """Read ``1,5,10``."""
    if value is None:
        return None
    try:
        return [int(piece) for piece in value.split(",")]
    except ValueError as error:
        raise click.BadParameter(f"{value!r} should look like 1,5,10.") from error


def names(ctx: click.Context, param: click.Parameter, value: str) -> list[str]:
    """Read ``all,random,cyclic``."""
    return [piece.strip() for piece in value.split(",") if piece.strip()]


SOURCE = (
    click.argument("file", metavar="[FILE]", required=False, is_eager=True),
    click.option(
        "--components",
        metavar="NAME=VARIANCE,...",
        help="Instead of FILE: scenario=1.53,generation=0.266,judge=0.947,residual=1.486. Needs "
        "--panel-size and --scenarios.",
    ),
    click.option("--panel-size", type=click.IntRange(2), help="Judges, for --components."),
    click.option(
        "--by",
        type=click.Choice(["fit", "anova", "reml"]),
        default="fit",
        show_default=True,
        help="For a table of scores: the posterior of --model, or closed forms, or REML.",
    ),
    click.option(
        "--interaction/--no-interaction",
        default=True,
        show_default=True,
        help="For --by anova and --by reml: with scenario:judge, or as in the paper.",
    ),
)
CAMPAIGN = (
    click.option("--scenarios", "n_scenarios", type=click.IntRange(1), help="To be scored."),
    click.option(
        "--target",
        type=click.Choice(["benchmark", "population"]),
        default="benchmark",
        show_default=True,
        help="The mean over these scenarios, or over scenarios like these.",
    ),
    click.option(
        "--dataset-size",
        type=click.IntRange(1),
        help="For the population: scenarios there are. Infinite without it.",
    ),
)


def source_options(command: Any) -> Any:
    """Give a command the options on where components come from."""
    for option in reversed(SOURCE):
        command = option(command)
    return command


def campaign_options(command: Any) -> Any:
    """Give a command the options on what is scored, and what for."""
    for option in reversed(CAMPAIGN):
        command = option(command)
    return command


@click.command()
@source_options
@click.option(
    "--budgets",
    callback=whole_numbers,
    metavar="B,...",
    help="Judge calls for each scenario. Without it 1, and one, two and four calls of each judge.",
)
@click.option(
    "--strategies",
    callback=names,
    default="all,random,cyclic,single",
    show_default=True,
    metavar="A,B,...",
    help="all, random, cyclic, cyclic-2, cyclic-restart, single, subset-2, ...",
)
@campaign_options
@click.option(
    "--reliability",
    "with_reliability_",
    is_flag=True,
    help="Also how reliably single scenarios are told apart (G-theory coefficients).",
)
@click.option(
    "--calls",
    type=click.IntRange(1),
    metavar="N",
    help="Also N calls of a model in all, on few scenarios or on many.",
)
@click.option(
    "--resample",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="For a table of scores: also resample N campaigns from it (5000 take seconds).",
)
@how_to_read
@fitting
@as_json
@out("Write the table to this .csv file, or all to this .json file.")
@click.pass_context
def allocation(
    ctx: click.Context,
    /,
    file: str | None,
    budgets: list[int] | None,
    strategies: list[str],
    n_scenarios: int | None,
    target: str,
    dataset_size: int | None,
    with_reliability_: bool,
    calls: int | None,
    resample: int,
    as_json: bool,
    out: str | None,
    **options: Any,
) -> None:
    """How precise a score is, by the way judge calls are spent.

    FILE is a fit that `bayesjudge fit --out FIT.nc` wrote, or a table of scores; --components are
    variances (score²) typed by hand.
    """
    check_file(out)
    refuse_what_is_idle(ctx, file, options["components"] is not None, options["by"])
    from bayesjudge.cli import show
    from bayesjudge.cli.spending import (
        print_spending,
        resampled,
        spending,
        with_reliability,
        with_tradeoff,
    )

    with show.stages() as stage:
        found = read_components(file, stage, options)
        stage("weighing strategies")
        campaign = {
            "n_scenarios": n_scenarios,
            "target": target,
            "dataset_size": dataset_size,
            "panel_size": found.panel,
        }
        result = spending(found.source, budgets, strategies, campaign)
        if with_reliability_:
            result = with_reliability(result, found.source, found.panel)
        if calls:
            result = with_tradeoff(result, found.source, calls, campaign)
        if resample and found.scores is not None:
            result = resampled(result, found.scores, resample, stage)
    show.deliver(result.as_dict(), result.table, out, as_json, lambda: print_spending(result))
    raise click.exceptions.Exit(0 if result.passed else 1)


_WEIGHING = {
    "budgets",
    "strategies",
    "n_scenarios",
    "target",
    "dataset_size",
    "with_reliability_",
    "calls",
    "as_json",
    "out",
}


def refuse_what_is_idle(
    ctx: click.Context, file: str | None, by_hand: bool, by: str, weighing: set[str] = _WEIGHING
) -> None:
    """Refuse options that have no effect on where the components come from."""
    if (file is None) != by_hand:
        raise click.UsageError("give FILE (a fit or a table of scores), or --components.")
    if by_hand:
        used = weighing | {"components", "panel_size"}
        refuse_idle(ctx, used, "for a table of scores; with --components there is none.")
    elif Path(str(file)).suffix == ".nc":
        used = weighing | {"file"}
        refuse_idle(ctx, used, f"not for a fit, and {file} is one: it has its judges and priors.")
    else:
        estimating = {"interaction"} if by != "fit" else names_of(FITTING)
        used = weighing | {"file", "by", "resample"} | names_of(READING) | estimating
        refuse_idle(ctx, used, f"of no effect with a table of scores and --by {by}.")


def check_file(out: str | None) -> None:
    """Refuse a file that can't be written, before the work."""
    if out and Path(out).suffix not in (".csv", ".json"):
        raise BayesJudgeError(f"--out {out}: allowed endings are .csv and .json.")
    if out and not Path(out).parent.is_dir():
        raise BayesJudgeError(f"--out {out}: there is no folder {Path(out).parent}.")


class Read(NamedTuple):
    """Components, the panel's size where they don't say it, and scores if there are any."""

    source: Any
    panel: int | None = None
    scores: ScoreTable | None = None


def read_components(file: str | None, stage: Any, options: dict[str, Any]) -> Read:
    """Read or estimate components."""
    components, panel = options.pop("components"), options.pop("panel_size")
    by, interaction = options.pop("by"), options.pop("interaction")
    if components is not None:
        return Read(pairs(components, "--components"), panel)
    if Path(str(file)).suffix == ".nc":
        from bayesjudge.tree import load

        return Read(load(str(file)))
    scores = read(str(file), options, stage)
    if by == "fit":
        from bayesjudge.fitting import fit

        return Read(fit(scores, on_stage=stage, **options), None, scores)
    if by == "anova":
        from bayesjudge.estimates.anova import anova

        return Read(anova(scores, interaction=interaction), None, scores)
    from bayesjudge.estimates.reml import reml

    return Read(reml(scores, interaction=interaction), None, scores)
