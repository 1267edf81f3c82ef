"""The command in a process that tells which numerics it has loaded."""

import os
import subprocess
import sys

NUMERICS = ("numpy", "scipy", "sklearn", "numba", "matplotlib", "dask", "pandas", "plotly")


LIGHT = f"""
import sys
sys.argv[0] = "sparsetoken"
from sparsetoken.cli import main
try:
    main()
finally:
    print(*sorted(set({NUMERICS!r}) & set(sys.modules)), file=sys.stderr)
"""


def light(*arguments, **environment):
    """Run the command in a process that tells which numerics it has loaded: stdout."""
    shown = subprocess.run(
        [sys.executable, "-c", LIGHT, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.stderr.split() == [], arguments
    return shown.stdout
