"""The command in a process that tells which libraries it has loaded."""

import json
import os
import subprocess
import sys

HEAVY = ("numpy", "scipy", "sklearn", "numba", "matplotlib", "dask", "pandas", "plotly")
LIGHT = f"""
import contextlib, io, json, os, sys
sys.argv[0] = "sparsetoken"
from sparsetoken.cli import main
outputs = []
for arguments in json.loads(sys.argv.pop()):
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
        main(arguments)
    outputs.append(shown.getvalue())
print(json.dumps([outputs, sorted(set({HEAVY!r}) & set(sys.modules))]))
"""


def light(*commands, **environment):
    """Run commands in one process that must not load numerics: what each of them prints."""
    shown = subprocess.run(
        [sys.executable, "-c", LIGHT, json.dumps([command.split() for command in commands])],
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    outputs, loaded = json.loads(shown.stdout)
    assert loaded == [], commands
    return outputs
