"""What a user waits for before the first line of work."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.report import Row, at_most, ratio, seconds

FIT = """
import sparsetoken as st
X, y = st.SparseTokenProblem(10, signal=6.0).sample(100, 10, random_state=0)
st.SparseTokenClassifier(random_state=0).fit(X, y)
"""
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


def first_fit(**environment: str) -> None:
    run(FIT, **environment)


def rows() -> Iterator[Row]:
    bare = seconds(lambda: run("pass"), repeats=5)
    package = seconds(lambda: run("import sparsetoken"), repeats=5)
    yield at_most("import sparsetoken", package - bare, 1.0, "s")
    compiled = seconds(lambda: run("import sparsetoken as st; st.losses.Logistic"), repeats=5)
    yield at_most("import sparsetoken and its compiled losses, cached", compiled - bare, 2.0, "s")
    yield at_most("import and a first fit, kernels cached", seconds(first_fit, 3) - bare, 10.0, "s")
    with tempfile.TemporaryDirectory() as empty:
        compiling = seconds(lambda: first_fit(NUMBA_CACHE_DIR=empty), repeats=1, warm=False)
    yield at_most("the same, kernels to be compiled", compiling - bare, 40.0, "s")
    for what, call in (
        ("sparsetoken --help", lambda: command("--help")),
        ("sparsetoken theory --help", lambda: command("theory", "--help")),
        ("completion of sparsetoken figure", lambda: command(**COMPLETE)),
    ):
        against = ratio(call, lambda: run("import typer"), repeats=9)
        yield at_most(f"{what}: time / that of python -c 'import typer'", against, 4.0)
