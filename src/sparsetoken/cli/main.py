"""Entry point: the commands and what they share."""

import sys
from typing import Annotated

import typer

import sparsetoken
from sparsetoken.cli import demo, estimate, figure, plan, serve, sweep, theory
from sparsetoken.cli.output import CommandError, message
from sparsetoken.experiments import StoreError
from sparsetoken.experiments.cluster import UnreachableError

__all__ = ["main"]

app = typer.Typer(
    help="Find the few tokens that matter in a sequence.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.command()(theory.theory)
app.command()(figure.figure)
app.add_typer(sweep.app, name="sweep")
app.command()(estimate.fit)
app.command()(estimate.predict)
app.command()(plan.plan)
app.command()(serve.serve)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(sparsetoken.__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Find the few tokens that matter in a sequence."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: exit code 2 for a wrong argument, 1 for what failed, one line each."""
    try:
        app(arguments)
    except ValueError as error:
        _fail(error, 2)
    except (CommandError, StoreError, UnreachableError, RuntimeError, ArithmeticError) as error:
        _fail(error, 1)
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        _fail(f"{what}{error.strerror or error}", 1)


def _fail(error: object, code: int) -> None:
    message(f"sparsetoken: {' '.join(str(error).split())}")
    sys.exit(code)
