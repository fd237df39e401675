"""The command line. Each command is a thin layer on the function of the same name."""

from __future__ import annotations

import os
import sys

import click

from bayesjudge import __version__
from bayesjudge.cli import commands
from bayesjudge.errors import BayesJudgeError, SpecError

BAD_DATA, BAD_USAGE, INTERRUPTED, UNEXPECTED = 1, 2, 130, 70


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="bayesjudge")
def app() -> None:
    """Honest uncertainty for scores that LLM judges give.

    FILE is a table of scores (CSV, TSV, Parquet, JSON Lines) with columns model, scenario,
    generation, judge and score, or example:mtbench, example:mindeval, example:mtbench-ordinal.

    Exit status: 0; 1 when the data or the fit are not good enough (it says why); 2 when the
    command is not understood.
    """


for command in commands.ALL:
    app.add_command(command)


def main() -> None:
    """Run the command line and turn refusals into messages and exit statuses."""
    try:
        code = app.main(standalone_mode=False)
    except click.exceptions.Abort:
        _end("Interrupted.", INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(BAD_USAGE)
    except BayesJudgeError as error:
        _end(str(error), BAD_USAGE if isinstance(error, SpecError) else BAD_DATA)
    except KeyboardInterrupt:
        _end("Interrupted.", INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output left (`| head`): nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if os.environ.get("BAYESJUDGE_TRACEBACK"):
            raise
        _end(
            f"This is a fault of bayesjudge, not of your data: {type(error).__name__}: {error}\n"
            "Set BAYESJUDGE_TRACEBACK=1 for the details to report.",
            UNEXPECTED,
        )
    sys.exit(code if isinstance(code, int) else 0)


def _end(message: str, status: int) -> None:
    click.secho("Error: ", fg="red", bold=True, nl=False, err=True)
    click.echo(message, err=True)
    sys.exit(status)
