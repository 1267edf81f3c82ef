"""What a user waits for before the first line of work."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial

from benchmarks.report import Row, at_most, ratio, seconds

FIT = """
import sparsetoken as st
X, y = st.SparseTokenProblem(10, signal=6.0).sample(100, 10, random_state=0)
st.SparseTokenClassifier(random_state=0).fit(X, y)
"""
IMPORTS = {
    "import sparsetoken": ("import sparsetoken", 1.0),
    "import and compiled losses, cached": ("import sparsetoken as st; st.losses.Logistic", 2.0),
    "import and a first fit, kernels cached": (FIT, 10.0),
}
COMMAND = "import sys; sys.argv[0] = 'sparsetoken'; from sparsetoken.cli import main; main()"


def start(code: str, *arguments: str, **environment: str) -> None:
    command, env = [sys.executable, "-c", code, *arguments], os.environ | environment
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)


def rows() -> Iterator[Row]:
    bare = seconds(partial(start, "pass"), repeats=5)
    for what, (code, bound) in IMPORTS.items():
        yield at_most(what, seconds(partial(start, code), repeats=5) - bare, bound, "s")
    with tempfile.TemporaryDirectory() as empty:
        compiling = seconds(partial(start, FIT, NUMBA_CACHE_DIR=empty), repeats=1, warm=False)
    yield at_most("the same, kernels to be compiled", compiling - bare, 40.0, "s")
    for words in (["--help"], ["theory", "--help"]):
        against = ratio(partial(start, COMMAND, *words), partial(start, "import typer"))
        what = " ".join(["sparsetoken", *words])
        yield at_most(f"{what}: time / that of python -c 'import typer'", against, 4.0)
