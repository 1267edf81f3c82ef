"""Entry point: the commands and what they share."""

import sys
import warnings
from typing import Annotated, Any

import typer

import sparsetoken
from sparsetoken._validation import MissingPackageError
from sparsetoken.cli import demo, figure, fit, plan, predict, report, serve, sweep, theory
from sparsetoken.cli.output import CommandError, message

app = typer.Typer(
    help="Find the few tokens that matter in a sequence.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help comes in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.command()(theory.theory)
app.command()(figure.figure)
app.add_typer(sweep.app, name="sweep")
app.command()(fit.fit)
app.command(short_help="Score sequences with a saved model.")(predict.predict)
app.add_typer(plan.app, name="plan")
app.command(short_help="Write a page about a model and labelled sequences.")(report.report)
app.command()(serve.serve)

# Typer brings its own copy of click, or takes the installed one: the class is known by its child.
_UsageError: Any = typer.BadParameter.__base__
_EXPECTED = (_UsageError, ValueError, ArithmeticError, RuntimeError, MemoryError, OSError)


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
    """Run the command line: exit code 2 for a wrong argument, 1 for what failed, one line each.

    Control-C ends with 130, as shells expect.
    """
    for stream in (sys.stdout, sys.stderr):  # a pipe of Windows has no Greek letters otherwise
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8")
    with warnings.catch_warnings():
        warnings.showwarning = lambda text, *_, **__: message(f"sparsetoken: {_one_line(text)}")
        sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        return app(arguments, standalone_mode=False) or 0
    except KeyboardInterrupt:
        return 130
    except _EXPECTED as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[union-attr]
            return 2
        message(f"sparsetoken: {_one_line(_sentence(error))}")
        if isinstance(error, CommandError):
            return error.code
        wrong_argument = isinstance(error, (_UsageError, ValueError))
        return 2 if wrong_argument and not isinstance(error, MissingPackageError) else 1


def _sentence(error: Exception) -> str:
    if isinstance(error, _UsageError):
        return str(error.format_message())
    if isinstance(error, OSError):
        return f"{error.filename}: " * bool(error.filename) + (error.strerror or str(error))
    if isinstance(error, MemoryError) and not str(error):
        return "there is not enough memory for this"
    return str(error)


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
