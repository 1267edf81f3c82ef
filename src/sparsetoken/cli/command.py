"""Entry point: the commands and what they share."""

import sys
import warnings
from typing import Annotated, Any

import typer

import sparsetoken
from sparsetoken._validation import MissingPackageError, import_extra
from sparsetoken.cli import demo, figure, fit, plan, predict, report, sweep, theory
from sparsetoken.cli.options import option
from sparsetoken.cli.output import message

app = typer.Typer(
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

# Typer brings its own copy of click, or takes the installed one: the class is known by its child.
_UsageError: Any = typer.BadParameter.__base__
_EXPECTED = (_UsageError, ValueError, ArithmeticError, RuntimeError, MemoryError, OSError)


@app.command()
def serve(
    port: Annotated[int, option("Port; 0 takes a free one.", min=0, max=65535)] = 8050,
    browser: Annotated[
        bool, option("Open the page in a browser.", "--browser/--no-browser")
    ] = True,
) -> None:
    """Open the explorer in a browser.

    A page where the theory answers while you move a slider. It serves this machine alone.
    """
    try:
        from sparsetoken.app.server import serve as run
    except ImportError as missing:
        import_extra(missing.name or "", "the explorer", "app")
        raise
    run(port, browser=browser)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(sparsetoken.__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, option("Print the version.", "--version", callback=_print_version, is_eager=True)
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
        warnings.showwarning = lambda text, *_, **__: _say(text)
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
        text = str(error)
        if isinstance(error, _UsageError):
            text = error.format_message()
        elif isinstance(error, OSError):
            text = f"{error.filename}: " * bool(error.filename) + (error.strerror or text)
        _say(text or "there is not enough memory for this")
        wrong_argument = isinstance(error, (_UsageError, ValueError))
        return 2 if wrong_argument and not isinstance(error, MissingPackageError) else 1


def _say(text: object) -> None:
    message(f"sparsetoken: {' '.join(str(text).split())}")
