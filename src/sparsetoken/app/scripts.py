"""Scripts and command lines that compute what a view shows."""

from typing import Any

import sparsetoken as st
from sparsetoken.app.content import Values
from sparsetoken.app.parameters import make_problem, select

__all__ = ["keywords", "problem_code", "theory_command", "training_code"]


def keywords(given: Values) -> str:
    """Return values as keyword arguments."""
    return ", ".join(f"{name}={value!r}" for name, value in given.items())


def problem_code(values: Values) -> str:
    """Return the lines that import the package and make the problem."""
    problem = _code(make_problem(values))
    return f"import numpy as np\nimport sparsetoken as st\n\nproblem = {problem}\n"


def _code(problem: Any) -> str:
    if isinstance(problem, st.SparseTokenProblem):
        return f"st.{problem!r}"
    kinds = "".join(f"    {_code(kind)},\n" for kind in problem.problems)
    return f"st.Population([\n{kinds}])"


def training_code(values: Values) -> str:
    """Return the line that collects how attention is trained."""
    return f"training = {select(values, 'two steps') | {'loss': values['loss']}!r}\n"


def theory_command(quantities: str, values: Values, *names: str) -> str:
    """Return the command that prints quantities at the values, with some more of them by name."""
    given = select(values, "problem", "training", "two steps")
    given |= {name: values[name] for name in names}
    listed = " ".join(f"{name}={value}" for name, value in given.items())
    return f"sparsetoken theory {quantities} {listed}"
