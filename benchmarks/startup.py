"""What a user waits for before the first line of work."""

import os
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.report import Row, at_most, ratio, seconds

COMPLETE = {
    "_SPARSETOKEN_COMPLETE": "complete_bash",
    "COMP_WORDS": "sparsetoken figure le",
    "COMP_CWORD": "2",
}


def run(code: str, *arguments: str, **environment: str) -> None:
    command = [sys.executable, "-c", code, *arguments]
    subprocess.run(
        command, env=os.environ | environment, stdout=subprocess.DEVNULL, check=not environment
    )


def command(*arguments: str, **environment: str) -> None:
    start = "import sys; sys.argv[0] = 'sparsetoken'; from sparsetoken.cli import main; main()"
    run(start, *arguments, **environment)


def rows() -> Iterator[Row]:
    bare = seconds(lambda: run("pass"), repeats=5)
    package = seconds(lambda: run("import sparsetoken"), repeats=5)
    yield at_most("import sparsetoken", package - bare, 1.0, "s")
    compiled = seconds(lambda: run("import sparsetoken as st; st.losses.Logistic"), repeats=5)
    yield at_most("import sparsetoken and its compiled losses, cached", compiled - bare, 2.0, "s")
    for what, call in (
        ("sparsetoken --help", lambda: command("--help")),
        ("sparsetoken theory --help", lambda: command("theory", "--help")),
        ("completion of sparsetoken figure", lambda: command(**COMPLETE)),
    ):
        against = ratio(call, lambda: run("import typer"), repeats=9)
        yield at_most(f"{what}: time / that of python -c 'import typer'", against, 4.0)
