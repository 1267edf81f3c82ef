"""``sparsetoken demo``: the headline comparison of theory, simulation and the optimum."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sparsetoken.cli.figure import make_figure, print_files
from sparsetoken.cli.options import AsJson, Workers, option
from sparsetoken.cli.output import print_json, print_table
from sparsetoken.models import look, names
from sparsetoken.vocabulary import PARAMETERS

_NOTES = """\
The difference, in standard errors, shrinks as dim grows: the theory is its limit.
No classifier trained on as many samples can have an expected error below the best possible; some
simulations do, as dim is small or by chance. More trials tell: sparsetoken demo --trials 50."""
_NEXT = """
type next  sparsetoken plan --dim 384 --n-tokens 50 --signal 6 --error 0.05   how many samples?
           sparsetoken fit bags.csv --by bag --label y                        your own sequences
           sparsetoken figure                                                 more pictures"""
_KEYS = ("model", "alpha", "quantity")
_FORMATS = {"alpha": "g", "theory": ".4g", "simulation": ".4g", "uncertainty": ".1g"}
_FORMATS |= {"difference": "+.1f"}


def demo(
    out: Annotated[
        Path, option("The picture; its table (.csv) and results (.db) go beside it.")
    ] = Path("learning-curves.png"),
    workers: Workers = None,
    dim: Annotated[int, option(PARAMETERS["dim"].help, min=40)] = 500,
    trials: Annotated[int, option(PARAMETERS["trials"].help, min=2)] = 8,
    as_json: AsJson = False,
) -> None:
    """Compare three classifiers, in theory and simulation, with the best possible one.

    One of ten tokens carries a weak signal in half of the sequences. Averaging all tokens (pooled)
    and weighing each position (vectorized) drown it; attention finds it. The theory predicts the
    error of all three, and the least error that any learner could have.
    """
    executor = {"workers": workers}
    rows, _ = make_figure("learning-curves", out, True, {}, executor, dim=dim, trials=trials)
    compared = _compare(rows)
    if as_json:
        print_json({"picture": str(out), "rows": compared})
        return
    lines = [
        [look(row["model"]).label, *(format(row[name], how) for name, how in _FORMATS.items())]
        for row in compared
        if row["quantity"] == "test_error"
    ]
    columns = ("model", "samples/dim", "theory", "simulation", "± s.e.", "difference")
    title = f"test error: one signal token of 10, signal 5, dim {dim}, {trials} trials"
    print_table(columns, lines, title)
    typer.echo(_NOTES)
    print_files(out)
    typer.echo(_NEXT)


def _compare(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return theory and simulation side by side, with their difference in standard errors."""
    from sparsetoken.plotting.style import beside_theory

    compared = [
        {key: row[key] for key in _KEYS}
        | {"theory": predicted["value"], "simulation": row["value"]}
        | {"uncertainty": row["uncertainty"], "difference": difference}
        for row, predicted, difference in beside_theory(rows)
    ]
    order = names()
    return sorted(compared, key=lambda r: (r["quantity"], order.index(r["model"]), r["alpha"]))
