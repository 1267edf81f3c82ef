"""``sparsetoken theory``: any quantity of the theory for given parameters."""

from typing import Annotated, Any

import typer

from sparsetoken.cli.options import AsJson, PopulationFile, read_population, with_options
from sparsetoken.cli.output import message, print_result
from sparsetoken.vocabulary import MEASURED, PARAMETERS

_OTHERS = ("n_samples", "dim", "trials", "random_state")  # of plans, simulations
_PARAMETERS = [n for n in PARAMETERS if n not in (*_OTHERS, "kinds", "label_errors")]


@with_options(*_PARAMETERS)
def theory(
    quantity: Annotated[
        str | None,
        typer.Argument(help="One or several, with commas; leave it out for the list."),
    ] = None,
    population: PopulationFile = None,
    as_json: AsJson = False,
    **values: Any,
) -> None:
    """Print quantities of the theory, with their numerical uncertainty.

    \b
    sparsetoken theory test_error,auc --alpha 4 --n-tokens 20 --signal 5
    sparsetoken theory cosine --alpha0 2 --positive-rate 0.2 --lr-bias 3
    sparsetoken theory test_error --model pooled --alpha inf
    sparsetoken theory required_signal --model hardmax --n-tokens 1000000 --error 0.01

    --alpha is the number of samples per dimension; the fraction --split of them goes to the query.
    Or give --alpha0 (query) and --alpha1 (readout). Model 'attention' takes a query of given
    --cosine and --sharpness.

    A population has several kinds of sequences, and labels may be wrong. --population reads a
    TOML file:

    \b
    label_errors = [0.05, 0.0]
    kinds = [
      {probability = 0.7, n_tokens = 10, signal = 5.0},
      {probability = 0.3, n_tokens = 40, signal = 4.0},
    ]
    """  # noqa: D301 (the backslash keeps the lines of the examples)
    if quantity is None:
        defaults = {name: PARAMETERS[name].default for name in _PARAMETERS}
        content = {"quantities": list(MEASURED), "values": defaults}
        rows = [(q.name, q.help) for q in MEASURED.values()]
        print_result(as_json, content, ("quantity", "what it is"), rows)
        return
    from sparsetoken.experiments import compute, make_cell

    if population is not None:
        values["kinds"] = read_population(population, values.pop("positive_rate", None))
    asked = [name.strip() for name in quantity.split(",")]
    cell = make_cell("theory", asked, values)
    missing = sorted(set(asked) - set(cell.quantities if cell else ()))
    if cell is None or missing:
        model = values.get("model", PARAMETERS["model"].default)
        raise ValueError(
            f"{', '.join(missing)} does not exist for model {model!r} and these values"
        )
    numbers = compute(cell)
    listed = {
        name: {"value": float(n), "uncertainty": n.uncertainty, "converged": n.converged}
        for name, n in numbers.items()
    }
    lines = [(name, f"{n:.6g}", f"± {n.uncertainty:.1g}") for name, n in numbers.items()]
    columns = ("quantity", "value", "uncertainty")
    print_result(as_json, {"values": cell.values} | listed, columns, lines)
    if doubtful := [name for name, number in numbers.items() if not number.converged]:
        message(f"not converged: {', '.join(doubtful)}")
