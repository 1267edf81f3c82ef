"""Scripts and command lines that compute what a view shows."""

from typing import Any

from sparsetoken.app.parameters import Values, select, spreads
from sparsetoken.vocabulary import PARAMETERS


def keywords(arguments: Values) -> str:
    """Return values as keyword arguments."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def script(values: Values, code: str, **more: Any) -> str:
    """Return a script that makes the problem and then runs code with values filled in.

    The code is a template: ``{signal!r}`` stands for a value, ``{training!r}`` for the rates and
    the loss.
    """
    problem = f"st.SparseTokenProblem({keywords(select(values, 'problem'))})"
    varying = spreads(values)
    if varying:
        problem = f"st.Population.spread({problem}, n_nodes=2, {keywords(varying)})"
    training = select(values, "two steps") | {"loss": values["loss"]}
    head = f"import numpy as np\nimport sparsetoken as st\n\nproblem = {problem}\n"
    return head + code.format(**values, training=training, **more)


def theory_command(quantities: str, values: Values, *names: str) -> str:
    """Return the command that prints quantities at the values, with some more of them by name.

    There is none for several kinds of sequences, which take a file.
    """
    if spreads(values):
        return ""
    options = select(values, "problem", "training", "two steps")
    options |= {name: values[name] for name in names}
    listed = [f"{PARAMETERS[name].option} {value}" for name, value in options.items()]
    return " ".join(["sparsetoken theory", quantities, *listed])
