"""Options that several commands share, and what they mean in Python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from bayesjudge.scores import ScoreTable

Command = Callable[..., Any]


def _pairs(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, str] | None:
    """Read ``model=system,scenario=question``."""
    if value is None:
        return None
    pairs = [piece.partition("=") for piece in value.split(",")]
    if not all(name.strip() and equals and column for name, equals, column in pairs):
        raise click.BadParameter(
            f"{value!r} should look like model=system,scenario=question (ours=yours)."
        )
    names = [name.strip() for name, _, _ in pairs]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise click.BadParameter(f"{value!r} maps {', '.join(sorted(twice))} more than once.")
    return {name.strip(): column.strip() for name, _, column in pairs}


def _columns_or_pattern(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> list[str] | str | None:
    """Read a list of columns with commas, or one pattern."""
    if value is None or "," not in value:
        return value
    return [piece.strip() for piece in value.split(",")]


READING = (
    click.option(
        "--format",
        "format_",
        type=click.Choice(["csv", "tsv", "parquet", "jsonl", "json"]),
        help="What the file is, when its ending does not say.",
    ),
    click.option(
        "--columns",
        callback=_pairs,
        metavar="OURS=YOURS,...",
        help="Names of columns, such as model=system,scenario=question.",
    ),
    click.option(
        "--judges",
        callback=_columns_or_pattern,
        metavar="A,B,...|PATTERN",
        help="Judge columns of a wide table: a list, or a pattern such as 'judge_*'.",
    ),
    click.option("--model-name", metavar="LABEL", help="Label for a table without a model column."),
    click.option("--judge-name", metavar="LABEL", help="Label for a table without a judge column."),
    click.option(
        "--where", metavar="CONDITION", help="Rows to use, such as \"axis == 'correctness'\"."
    ),
    click.option("--scale", metavar="LOW:HIGH[:STEP]", help="The scale, such as 1:10."),
    click.option("--levels", metavar="A,B,...", help="The allowed scores, such as 0,1,2."),
    click.option(
        "--outside",
        type=click.Choice(["refuse", "missing", "keep"]),
        default="refuse",
        show_default=True,
        help="Scores outside the scale.",
    ),
    click.option(
        "--repeats",
        type=click.Choice(["refuse", "keep", "mean"]),
        default="refuse",
        show_default=True,
        help="Several calls of a judge on one generation.",
    ),
    click.option(
        "--missing",
        "missing_",
        multiple=True,
        metavar="VALUE",
        help="A further mark of a missing score; may be repeated.",
    ),
)


def how_to_read(command: Command) -> Command:
    """Give a command the options on how to read a table."""
    for option in reversed(READING):
        command = option(command)
    return command


def reading(command: Command) -> Command:
    """Give a command the argument FILE and the options on how to read it."""
    # Eager, so that --out can be held against it.
    return click.argument("file", metavar="FILE", is_eager=True)(how_to_read(command))


def read(
    file: str, options: dict[str, Any], stage: Callable[[str], None] | None = None
) -> ScoreTable:
    """Read the table that the shared options describe, taking them out of `options`.

    A `stage` tells the progress of large files; without one, this shows it.
    """
    if stage is None:
        from bayesjudge.cli import show

        with show.stages() as shown:
            return read(file, options, shown)
    from bayesjudge.readers import read_scores

    names = ("columns", "judges", "model_name", "judge_name", "where", "scale", "levels")
    taken = {name: options.pop(name) for name in names}
    missing = options.pop("missing_")
    return read_scores(
        file,
        format=options.pop("format_"),
        outside=options.pop("outside"),
        repeats=options.pop("repeats"),
        missing=list(missing) or None,
        on_rows=lambda rows: stage(f"reading {file} in parts: {rows:,} rows"),
        **taken,
    )


def names_of(options: Iterable[Callable[[Command], Command]]) -> set[str]:
    """Return the names of the parameters that some options stand for."""

    def nothing() -> None:
        """Carry options."""

    for option in options:
        option(nothing)
    return {str(parameter.name) for parameter in nothing.__click_params__}  # type: ignore[attr-defined]


def refuse_idle(ctx: click.Context, used: Collection[str], why: str) -> None:
    """Refuse options that were given and have no effect here.

    Parameters
    ----------
    ctx : Context
        Of the command.
    used : collection of str
        Names of the parameters that do have one.
    why : str
        Why the others have none, after their names.
    """
    idle = [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.name not in used
        and ctx.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
    ]
    if idle:
        raise click.UsageError(f"{', '.join(idle)}: {why}")


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")


def _place(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty place, and the table that is being read."""
    if value is None:
        return None
    if not value.strip():
        raise click.BadParameter("is empty; name a file or a folder.")
    for source in ctx.params.get("files") or [ctx.params.get("file")]:
        if source and Path(source).exists() and Path(value).resolve() == Path(source).resolve():
            raise click.BadParameter(f"{value!r} is what is read; it would be overwritten.")
    return value


def out(help_text: str) -> Callable[[Command], Command]:
    """Give a command the option --out."""
    return click.option("--out", type=click.Path(), metavar="PATH", callback=_place, help=help_text)


def labels(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Read labels with commas between them."""
    if value is None:
        return None
    labels = [piece.strip() for piece in value.split(",")]
    if not all(labels):
        raise click.BadParameter(f"{value!r} should look like a,b,c.")
    return labels


def families(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> dict[str, str] | None:
    """Read ``gpt-4o=openai``, each name once; a name may hold an equals sign itself."""
    found: dict[str, str] = {}
    for piece in value:
        name, _, family = (part.strip() for part in piece.rpartition("="))
        if not (name and family):
            raise click.BadParameter(f"{piece!r} should look like gpt-4o=openai (name=family).")
        if found.setdefault(name, family) != family:
            raise click.BadParameter(f"{name!r} has the families {found[name]!r} and {family!r}.")
    return found or None


family = click.option(
    "--family",
    "families",
    multiple=True,
    callback=families,
    metavar="NAME=FAMILY",
    help="The family of a judge or model; may be repeated.",
)

SHIPPED = (
    "linear",
    "linear-paper",
    "linear-judge-residual",
    "ordinal",
    "ordinal_probit",
    "ordinal_judge_scale",
)
_MODELS = f"{', '.join(SHIPPED)}, or your own file"

SAMPLING = (
    click.option(
        "--engine",
        type=click.Choice(["nuts", "psis"]),
        default="nuts",
        show_default=True,
        help="psis, for linear models: importance sampling, done in a second.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=1,
        show_default=True,
        help="The same seed gives the same numbers.",
    ),
    click.option("--chains", type=click.IntRange(1), default=4, show_default=True),
    click.option(
        "--draws",
        type=click.IntRange(4),
        default=1000,
        show_default=True,
        help="Kept draws in each chain.",
    ),
    click.option(
        "--tune",
        type=click.IntRange(1),
        default=None,
        help="Warm-up draws in each chain. Without it 500, or 200 for an ordinal model.",
    ),
    click.option(
        "--prior-scale",
        type=click.FloatRange(0, min_open=True),
        default=1.0,
        show_default=True,
        help="Multiplies the priors of all standard deviations: 2 is twice as wide.",
    ),
    click.option(
        "--bins",
        type=click.IntRange(2),
        default=None,
        metavar="N",
        help="For an ordinal model of scores that are not levels: cut the scale into N levels.",
    ),
    click.option(
        "--keep-unused-levels",
        is_flag=True,
        default=False,
        help="For an ordinal model: declared levels that never occur have the prior's probability.",
    ),
)

FITTING = (
    click.option(
        "--model",
        "model",
        default="linear",
        show_default=True,
        metavar="NAME|FILE.toml",
        help=f"{_MODELS}.",
    ),
    *SAMPLING,
)


def sampling(command: Command) -> Command:
    """Give a command the options on how to fit a model."""
    for option in reversed(SAMPLING):
        command = option(command)
    return command


def fitting(command: Command) -> Command:
    """Give a command the options of a fit."""
    for option in reversed(FITTING):
        command = option(command)
    return command


def _names(ctx: click.Context, param: click.Parameter, value: str) -> list[str]:
    """Read a list of models with commas."""
    names = [piece.strip() for piece in value.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise click.BadParameter(f"{value!r} should look like linear,ordinal: models, each once.")
    return names


models = click.option(
    "--models",
    default="linear,ordinal",
    show_default=True,
    callback=_names,
    metavar="A,B,...",
    help=f"What to fit to a table of scores: {_MODELS}.",
)
