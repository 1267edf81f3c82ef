"""Scripts and command lines that compute what a view shows."""

from sparsetoken.app.content import Values
from sparsetoken.app.parameters import population_values, select, spreads
from sparsetoken.vocabulary import PARAMETERS, group


def keywords(arguments: Values) -> str:
    """Return values as keyword arguments."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def problem_code(values: Values) -> str:
    """Return the lines that import the package and make the problem."""
    problem = f"st.SparseTokenProblem({keywords(select(values, 'problem'))})"
    varying = spreads(values)
    if varying:
        problem = f"st.Population.spread({problem}, n_nodes=2, {keywords(varying)})"
    return f"import numpy as np\nimport sparsetoken as st\n\nproblem = {problem}\n"


def training_code(values: Values) -> str:
    """Return the line that collects how attention is trained."""
    return f"training = {select(values, 'two steps') | {'loss': values['loss']}!r}\n"


def attention_code(values: Values) -> str:
    """Return the lines that make the problem and train attention on it."""
    return (
        problem_code(values)
        + training_code(values)
        + f"alpha, split, reg = {values['alpha']!r}, {values['split']!r}, {values['reg']!r}\n"
        + "attention = st.theory.two_step_risk(\n"
        + "    problem, alpha0=split * alpha, alpha1=(1 - split) * alpha, reg=reg, **training\n"
        + ")\n"
    )


def theory_command(quantities: str, values: Values, *names: str) -> str:
    """Return the command that prints quantities at the values, with some more of them by name."""
    options = select(values, "training", "two steps") | {name: values[name] for name in names}
    problem = population_values(values)
    kinds = [
        f"--kind {share!r},{','.join(repr(getattr(kind, name)) for name in group('problem'))}"
        for kind, share in problem.pop("kinds", ())
    ]
    listed = [f"{PARAMETERS[name].option} {value}" for name, value in (problem | options).items()]
    return " ".join(["sparsetoken theory", quantities, *kinds, *listed])
