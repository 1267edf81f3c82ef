"""The theory of trained readouts, along curves where each point starts from the last."""

from collections.abc import Sequence
from typing import Any

from sparsetoken.estimate import Estimate
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.models.base import TESTED, Numbers, measured, tested_number, two_steps
from sparsetoken.experiments.query_rates import query_samples
from sparsetoken.performance import Performance
from sparsetoken.pooling import Pooling
from sparsetoken.theory import capacity, oracle_error, required_signal
from sparsetoken.theory.curves import solve_along
from sparsetoken.theory.long import long_model
from sparsetoken.theory.models import get_model
from sparsetoken.theory.trained import Risk
from sparsetoken.vocabulary import MEASURED


def predict_readouts(
    architecture: str | Pooling, cells: Sequence[Cell], queries: Sequence[Any]
) -> list[Numbers]:
    """Return what the theory says about cells that differ in their samples only.

    Each has a query, an object with its cosine and sharpness, or None.
    """
    trained: Sequence[Risk | None] = [None] * len(cells)
    if measured("trained") & set(cells[0].quantities):
        places = [
            (get_model(architecture, **_query_arguments(cell, query)), cell.alpha1)
            for cell, query in zip(cells, queries, strict=True)
        ]
        values = cells[0].values
        trained = solve_along(cells[0].problem, places, values["reg"], values["loss"])
    return [_predict(architecture, *each) for each in zip(cells, queries, trained, strict=True)]


def _predict(architecture: str | Pooling, cell: Cell, query: Any, trained: Risk | None) -> Numbers:
    tested = trained and _tested(cell, trained)
    return {
        name: _predict_one(name, architecture, cell, query, trained, tested)
        for name in cell.quantities
    }


def _predict_one(
    name: str,
    architecture: str | Pooling,
    cell: Cell,
    query: Any,
    trained: Risk | None,
    tested: Performance | None,
) -> Estimate:
    values, about = cell.values, MEASURED[name].group
    if trained is not None and tested is not None and about == "trained":
        return _trained_number(name, values.get("fpr"), trained, tested)
    if name == "required_samples":
        return Estimate(query_samples(cell.problem, **two_steps(cell)))
    if about == "query":
        return Estimate(getattr(query, name))
    if about == "capacity":
        limit = capacity(cell.problem, architecture, **_query_arguments(cell, query))
        if name == "capacity":
            return limit
        return Estimate(cell.alpha1 < limit, 0.0, limit.converged)
    if about == "limit":
        long = long_model(values["cosine"], values["sharpness"], values["n_points"])
        (risk,) = solve_along(cell.problem, [(long, cell.alpha1)], values["reg"], values["loss"])
        return _estimate(risk.test_error)
    return predict_oracle(name, cell, str(architecture))


def predict_oracle(name: str, cell: Cell, architecture: str) -> Estimate:
    """Return the error of the best weights, or the signal that they need."""
    if name == "oracle_error":
        return oracle_error(cell.problem, architecture, **_points(cell))
    error = cell.values["error"]
    return _estimate(required_signal(cell.problem, architecture, error=error, **_points(cell)))


def _tested(cell: Cell, trained: Risk) -> Performance:
    same = cell.test_problem == cell.problem
    tested = trained if same else trained.on(cell.test_problem)
    return tested if cell.n_windows == 1 else tested.windowed(cell.n_windows)


def _trained_number(name: str, fpr: Any, trained: Risk, tested: Performance) -> Estimate:
    state = name.removeprefix("trained_")
    if state != name:
        return _estimate(
            getattr(trained, state if state in ("bias", "step") else f"readout_{state}")
        )
    return _estimate(tested_number(name, fpr, trained, tested if name in TESTED else trained))


def _query_arguments(cell: Cell, query: Any) -> dict[str, Any]:
    """Return cosine and sharpness of the query, and the points, as arguments of the theory."""
    if query is None:
        return {}
    return {"cosine": query.cosine, "sharpness": query.sharpness} | _points(cell)


def _points(cell: Cell) -> dict[str, Any]:
    return {"n_points": cell.values["n_points"]} if "n_points" in cell.values else {}


def _estimate(value: float) -> Estimate:
    bar, fine = getattr(value, "uncertainty", 0.0), getattr(value, "converged", True)
    return Estimate(value, bar, fine)
