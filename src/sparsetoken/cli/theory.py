"""``sparsetoken theory``: any quantity of the theory for given parameters."""

from typing import Annotated

import typer

from sparsetoken.cli.output import message, print_json, print_table
from sparsetoken.experiments import compute, make_cell
from sparsetoken.experiments.values import DEFAULTS, KNOWN, QUANTITIES, check_known

__all__ = ["theory"]

_SIMULATION_ONLY = ("dim", "trials", "seed", "protocol", "refine_steps")
_VALUES = [name for name in KNOWN if name not in _SIMULATION_ONLY]


def _complete_quantity(typed: str) -> list[str]:
    return [quantity for quantity in QUANTITIES if quantity.startswith(typed)]


def _complete_value(typed: str) -> list[str]:
    return [f"{name}=" for name in _VALUES if name.startswith(typed)]


def theory(
    quantity: Annotated[
        str | None,
        typer.Argument(
            help="One, or several with commas; without it they are listed.",
            autocompletion=_complete_quantity,
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE...", autocompletion=_complete_value),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print quantities of the theory, with their numerical uncertainty.

    \b
    sparsetoken theory test_error,auc alpha=4 n_tokens=20 signal=5
    sparsetoken theory cosine alpha0=2 positive_rate=0.2 lr_bias=3
    sparsetoken theory test_error model=pooled alpha=inf
    sparsetoken theory required_signal model=hardmax n_tokens=1000000 error=0.01

    Samples per dimension are alpha, of which the share 'split' goes to the query, or alpha0 (query)
    and alpha1 (readout). With cosine and sharpness the query is given instead of learned.
    """  # noqa: D301 (the backslash keeps the lines of the examples)
    if quantity is None:
        defaults = [(name, str(DEFAULTS.get(name, ""))) for name in _VALUES]
        if as_json:
            print_json({"quantities": QUANTITIES, "values": dict(defaults)})
            return
        print_table(("quantity",), [(name,) for name in QUANTITIES])
        print_table(("value", "default"), defaults)
        return
    given = dict(_parse(text) for text in values or [])
    asked = quantity.split(",")
    cell = make_cell("theory", asked, given)
    missing = sorted(set(asked) - set(cell.quantities if cell else ()))
    if cell is None or missing:
        model = given.get("model", DEFAULTS["model"])
        raise ValueError(
            f"{', '.join(missing)} does not exist for model {model!r} and these values"
        )
    found = compute(cell)
    if as_json:
        print_json({"values": cell.values} | {q: m._asdict() for q, m in found.items()})
        return
    lines = []
    for name, measured in found.items():
        error = measured.standard_error
        lines.append((name, f"{measured.value:.6g}", "" if error is None else f"± {error:.1g}"))
    print_table(("quantity", "value", "uncertainty"), lines)
    doubtful = [name for name, measured in found.items() if not measured.converged]
    if doubtful:
        message(f"not converged: {', '.join(doubtful)}")


def _parse(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"values are written name=value, got {text!r}")
    check_known("value", name, _VALUES)
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, value
