"""Scripts and command lines that compute what a view shows."""

import json
from typing import Any

from sparsetoken.app.measure import PROBLEM, RATES
from sparsetoken.app.parameters import Values

__all__ = ["arguments", "problem_code", "rates_code", "sweep_command"]


def arguments(values: Values, *names: str) -> str:
    """Return values as keyword arguments."""
    return ", ".join(f"{name}={values[name]!r}" for name in names)


def problem_code(values: Values) -> str:
    """Return the lines that import the package and make the problem."""
    return (
        "import numpy as np\n"
        "import sparsetoken as st\n\n"
        f"problem = st.SparseTokenProblem({arguments(values, *PROBLEM)})\n"
    )


def rates_code(values: Values) -> str:
    """Return the line that collects how attention is trained."""
    listed = ", ".join(f'"{name}": {values[name]!r}' for name in ("loss", *RATES))
    return f"training = {{{listed}}}\n"


def sweep_command(*grids: tuple[list[str], dict[str, list[Any]], Values]) -> str:
    """Return the commands that run sweeps of the theory: quantities, axes and fixed values each."""
    lines = ["cat > sweep.toml <<'END'", 'sources = ["theory"]']
    for quantities, axes, fixed in grids:
        lines += ["[[grid]]", f"quantities = {json.dumps(quantities)}"]
        lines += [f"fixed.{name} = {json.dumps(value)}" for name, value in fixed.items()]
        lines += [f"axes.{name} = {json.dumps(values)}" for name, values in axes.items()]
    lines += ["END", "sparsetoken sweep run sweep.toml"]
    lines += ["sparsetoken sweep export --store sweep.db --out sweep.csv"]
    return "\n".join(lines)
