"""The commands: read, call the function of the same name, show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesjudge.cli.allocations import allocation
from bayesjudge.cli.audits import audit
from bayesjudge.cli.options import (
    as_json,
    fitting,
    how_to_read,
    models,
    out,
    read,
    reading,
    refuse_idle,
    sampling,
)
from bayesjudge.cli.plans import plan
from bayesjudge.cli.schedules import assign

if TYPE_CHECKING:
    import xarray as xr

    from bayesjudge.scores import ScoreTable


@click.command()
@reading
@as_json
@out("Write the audit to this .json file.")
def check(file: str, as_json: bool, out: str | None, **options: Any) -> None:
    """Audit a table: what is there, and what it can tell apart."""
    from bayesjudge.cli import show
    from bayesjudge.cli.results import design_as_dict, print_design
    from bayesjudge.design.check import check as checked

    if out and Path(out).suffix != ".json":
        raise click.BadParameter(f"{out!r} should end in .json.", param_hint="--out")
    design = checked(read(file, options))
    if out:
        show.write_text(Path(out), show.as_json(design_as_dict(design)) + "\n")
    if as_json:
        click.echo(show.as_json(design_as_dict(design)))
    else:
        print_design(design)
        _wrote(out)


@click.command()
@reading
@click.option(
    "--interaction/--no-interaction",
    default=False,
    show_default=True,
    help="With scenario:judge (full G-study), or as in the paper.",
)
@click.option(
    "--interval",
    type=click.Choice(["mls", "satterthwaite"]),
    default="mls",
    show_default=True,
    help="Intervals of differences of mean squares.",
)
@as_json
@out("Write the estimates to this .csv or .json file.")
def anova(
    file: str, interaction: bool, interval: str, as_json: bool, out: str | None, **options: Any
) -> None:
    """Closed-form variance components; REML where the table is not balanced."""
    from bayesjudge.cli import results, show

    result = results.closed_forms(read(file, options), interaction, interval)
    if out:
        show.write(out, result.estimates, f_test=result.f_test, method=result.method)
    if as_json:
        click.echo(show.as_json(result.as_dict()))
    else:
        results.print_closed_forms(result)
        _wrote(out)


@click.command()
@reading
@fitting
@click.option(
    "--check",
    is_flag=True,
    help="Show the judges for whom the fit does not reproduce how often they give each level.",
)
@as_json
@out("Write the fit to this .nc file, or fit and tables to this folder.")
def fit(file: str, as_json: bool, out: str | None, **options: Any) -> None:
    """Posterior variance components, beside ANOVA and REML."""
    scores = read(file, options)
    raise click.exceptions.Exit(_fit_and_show(scores, as_json, out, **options))


_FOR_FITS = ("files", "loo", "as_json", "out")  # what can be said of fits; the rest is for tables


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, is_eager=True)
@how_to_read
@models
@sampling
@click.option(
    "--loo", is_flag=True, help="Which predicts scenarios best that it has not seen (slower)."
)
@as_json
@out("Write the table to this .csv or .json file, or fits and tables to this folder.")
@click.pass_context
def compare(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    models: list[str],
    loo: bool,
    as_json: bool,
    out: str | None,
    **options: Any,
) -> None:
    """Fits of one table side by side, and whether a linear model is enough.

    FILE... are fits that `bayesjudge fit --out FIT.nc` wrote, or one table of scores, to which
    the --models are fitted.
    """
    from bayesjudge.cli import comparisons, show

    fits = Path(files[0]).suffix == ".nc"
    _refuse_mixture(ctx, files, fits)
    if out:
        comparisons.check_place(Path(out))
    if fits:
        trees = comparisons.load_all(files)
    else:
        scores = read(files[0], options)
    with show.stages() as stage:
        if not fits:
            trees = comparisons.fit_all(scores, models, stage, **options)
        result = comparisons.compared(trees, loo, stage)
    written = comparisons.write_comparison(Path(out), result, not fits) if out else []
    if as_json:
        click.echo(show.as_json(result.as_dict()))
    else:
        comparisons.print_comparison(result)
        for path in written:
            _wrote(path)
    raise click.exceptions.Exit(0 if result.passed else 1)


def _refuse_mixture(ctx: click.Context, files: tuple[str, ...], fits: bool) -> None:
    """Refuse fits beside tables, several tables, and options that fits leave nothing to do for."""
    others = [file for file in files if (Path(file).suffix == ".nc") != fits]
    if others or (not fits and len(files) > 1):
        raise click.UsageError(
            f"{' '.join(files)}: give fits (.nc files), or one table of scores and --models."
        )
    if fits:
        refuse_idle(
            ctx, _FOR_FITS, f"for a table of scores; {files[0]} is a fit, and fitted already."
        )


@click.command()
@fitting
@as_json
@out("Folder for fit and tables.")
def demo(as_json: bool, out: str | None, **options: Any) -> None:
    """Audit, closed forms and fit of the bundled panel of half-point scores."""
    from bayesjudge.cli import results, show
    from bayesjudge.design.check import check as checked
    from bayesjudge.examples import DESCRIPTIONS, load

    scores = load("mtbench-ordinal")
    if not as_json:
        show.console().print(
            f"[bold]example:mtbench-ordinal[/bold]  {DESCRIPTIONS['mtbench-ordinal']}\n"
        )
        results.print_design(checked(scores))
    raise click.exceptions.Exit(_fit_and_show(scores, as_json, out, **options))


def _fit_and_show(
    scores: ScoreTable, as_json: bool, out: str | None, check: bool = False, **options: Any
) -> int:
    from bayesjudge.cli import fits, levels, show

    if out:
        fits.check_place(Path(out))
    with show.stages() as stage:
        tree = _run(scores, stage, options)
        stage("comparing with closed forms")
        if check:
            stage("predicting level frequencies")
        result = fits.fitted(tree, levels.checked(tree) if check else None)
    written = fits.write_fit(Path(out), tree, result) if out else []
    if as_json:
        click.echo(show.as_json(result.as_dict()))
    else:
        fits.print_fit(result)
        for path in written:
            _wrote(path)
    return 0 if result.passed else 1


def _run(scores: ScoreTable, stage: Any, options: dict[str, Any]) -> xr.DataTree:
    from bayesjudge.fitting import fit as run

    return run(scores, on_stage=stage, **options)


def _wrote(path: str | Path | None) -> None:
    if path:
        click.echo(f"Written: {path}")


ALL = (check, anova, fit, compare, allocation, plan, assign, audit, demo)
