"""The commands: read, call the function of the same name, show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesjudge.cli.options import as_json, fitting, out, read, reading

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
    from bayesjudge.design.check import check as audit

    if out and Path(out).suffix != ".json":
        raise click.BadParameter(f"{out!r} should end in .json.", param_hint="--out")
    design = audit(read(file, options))
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
@as_json
@out("Write the fit to this .nc file, or fit and tables to this folder.")
def fit(file: str, as_json: bool, out: str | None, **options: Any) -> None:
    """Posterior variance components, beside ANOVA and REML."""
    scores = read(file, options)
    raise click.exceptions.Exit(_fit_and_show(scores, as_json, out, **options))


@click.command()
@fitting
@as_json
@out("Folder for fit and tables.")
def demo(as_json: bool, out: str | None, **options: Any) -> None:
    """Audit, closed forms and fit of the bundled panel of half-point scores."""
    from bayesjudge.cli import results, show
    from bayesjudge.design.check import check as audit
    from bayesjudge.examples import DESCRIPTIONS, load

    scores = load("mtbench-ordinal")
    if not as_json:
        show.console().print(
            f"[bold]example:mtbench-ordinal[/bold]  {DESCRIPTIONS['mtbench-ordinal']}\n"
        )
        results.print_design(audit(scores))
    raise click.exceptions.Exit(_fit_and_show(scores, as_json, out, **options))


def _fit_and_show(scores: ScoreTable, as_json: bool, out: str | None, **options: Any) -> int:
    from bayesjudge.cli import results, show

    if out:
        results.check_place(Path(out))
    with show.stages() as stage:
        tree = _run(scores, stage, options)
        stage("comparing with closed forms")
        result = results.fitted(tree)
    written = results.write_fit(Path(out), tree, result) if out else []
    if as_json:
        click.echo(show.as_json(result.as_dict()))
    else:
        results.print_fit(result)
        for path in written:
            _wrote(path)
    return 0 if result.passed else 1


def _run(scores: ScoreTable, stage: Any, options: dict[str, Any]) -> xr.DataTree:
    from bayesjudge.fitting import fit as run

    return run(scores, on_stage=stage, **options)


def _wrote(path: str | Path | None) -> None:
    if path:
        click.echo(f"Written: {path}")


ALL = (check, anova, fit, demo)
