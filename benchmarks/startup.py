"""What a user waits for before the first line of work."""

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.report import Row, at_most, seconds


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def rows() -> Iterator[Row]:
    bare = seconds(lambda: run("pass"), repeats=5)
    package = seconds(lambda: run("import sparsetoken"), repeats=5)
    yield at_most("import sparsetoken", package - bare, 1.0, "s")
    compiled = seconds(lambda: run("import sparsetoken as st; st.losses.Logistic"), repeats=5)
    yield at_most("import sparsetoken and its compiled losses, cached", compiled - bare, 2.0, "s")
