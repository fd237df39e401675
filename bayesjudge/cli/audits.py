"""The command that audits a finished run."""

from __future__ import annotations

from typing import Any

import click

from bayesjudge.cli.allocations import check_file, pairs
from bayesjudge.cli.options import as_json, family, labels, out, read, reading


@click.command()
@reading
@click.option(
    "--fit",
    "fit_file",
    type=click.Path(),
    metavar="FIT.nc",
    help="A fit that `bayesjudge fit --out FIT.nc` wrote: for standard errors and the bias.",
)
@click.option(
    "--components",
    metavar="NAME=VARIANCE,...",
    help="Instead of a fit: scenario=1.53,generation=0.266,judge=0.947,residual=1.486.",
)
@click.option(
    "--strategy",
    metavar="NAME",
    help="How calls were to be spent: all, random, cyclic, cyclic-2, cyclic-restart, single, "
    "subset-2 and so on.",
)
@click.option(
    "--schedule",
    type=click.Path(),
    metavar="FILE",
    help="What the run was to follow: a .csv or .jsonl file that `bayesjudge assign` wrote.",
)
@click.option(
    "--alias-columns",
    callback=labels,
    metavar="A,B,...",
    help="Columns that who scores may depend on. Without it, all beyond the table's own.",
)
@family
@click.option(
    "--target",
    type=click.Choice(["benchmark", "population"]),
    default="benchmark",
    show_default=True,
    help="The mean over these scenarios, or over scenarios like these.",
)
@click.option(
    "--dataset-size",
    type=click.IntRange(1),
    help="For the population: scenarios there are. Infinite without it.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=1,
    show_default=True,
    help="Of the permutation tests.",
)
@as_json
@out("Write all to this .json file, or the shares of the judges to this .csv file.")
def audit(
    file: str,
    fit_file: str | None,
    components: str | None,
    alias_columns: list[str] | None,
    as_json: bool,
    out: str | None,
    **options: Any,
) -> None:
    """Was a finished run carried out as planned, and what did that cost.

    FILE is the table of its scores; a row without a score is a call that failed. The exit status
    is 0 with warnings too.
    """
    if fit_file is not None and components is not None:
        raise click.UsageError("give --fit or --components, one of the two.")
    check_file(out)
    names = ("strategy", "schedule", "families", "target", "dataset_size", "seed")
    asked = {name: options.pop(name) for name in names}
    source: Any = None if components is None else pairs(components, "--components")
    from bayesjudge.cli import show
    from bayesjudge.cli.audit_show import as_dict, print_audit
    from bayesjudge.schedules.audits import audit as run

    scores = read(file, options)
    if fit_file is not None:
        from bayesjudge.tree import load

        source = load(fit_file)
    with show.stages() as stage:
        stage("auditing")
        found = run(scores, source, columns=alias_columns, **asked)
    show.deliver(as_dict(found), found.shares, out, as_json, lambda: print_audit(found))
