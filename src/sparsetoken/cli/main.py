"""Entry point: the commands and what they share."""

from typing import Annotated

import typer

import sparsetoken
from sparsetoken.cli import demo, plan

__all__ = ["main"]

app = typer.Typer(
    help="Find the few tokens that matter in a sequence.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.command()(plan.plan)


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


def main() -> None:
    """Run the command line; a wrong argument gives one line on stderr and exit code 2."""
    try:
        app()
    except ValueError as error:
        typer.echo(f"sparsetoken: {error}", err=True)
        raise SystemExit(2) from None
