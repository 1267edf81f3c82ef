"""The theory of a cell."""

from typing import Any

from sparsetoken.experiments.cell import Cell, Measurement
from sparsetoken.experiments.values import ALIGNMENT, LINEAR, STEPS
from sparsetoken.theory import (
    Alignment,
    alignment,
    capacity,
    oracle_error,
    required_signal,
    risk,
)

__all__ = ["predict"]


def predict(cell: Cell) -> dict[str, Measurement]:
    """Return what the theory says about each of the cell's quantities."""
    wanted = set(cell.quantities)
    found: dict[str, Measurement] = {}
    query = _query(cell)
    for quantity in wanted & {*ALIGNMENT, "misalignment"}:
        found[quantity] = Measurement(getattr(query, quantity), 0.0)
    model: Any = cell.values.get("model")
    problem = cell.problem
    if wanted & {"capacity", "separable"}:
        limit = capacity(problem, model, **_geometry(cell, query))
        found["capacity"] = Measurement(float(limit), limit.uncertainty, limit.converged)
        if "separable" in wanted:
            below = float(cell.alpha1 < limit)
            found["separable"] = Measurement(below, None, limit.converged)
    if wanted & {"test_error", "train_loss", "train_error", "test_loss", "auc"}:
        found |= _trained(cell, query)
    if "oracle_error" in wanted:
        error = oracle_error(problem, model, **_points(cell))
        found["oracle_error"] = Measurement(float(error), error.uncertainty, error.converged)
    if "required_signal" in wanted:
        signal = required_signal(problem, model, error=cell.values["error"], **_points(cell))
        found["required_signal"] = Measurement(signal)
    return {quantity: found[quantity] for quantity in cell.quantities}


def _trained(cell: Cell, query: Alignment | None) -> dict[str, Measurement]:
    """Return what the trained readout does, on the problem it is tested on."""
    trained = risk(
        cell.problem,
        cell.values["model"],
        alpha=cell.alpha1,
        reg=cell.values["reg"],
        loss=cell.values["loss"],
        **_geometry(cell, query),
    )
    tested = trained if cell.test_problem == cell.problem else trained.on(cell.test_problem)
    fine = trained.converged
    results: dict[str, Any] = {
        "test_error": lambda: Measurement(tested.test_error, tested.uncertainty, fine),
        "test_loss": lambda: Measurement(tested.test_loss, None, fine),
        "auc": lambda: Measurement(tested.auc, None, fine),
        "train_loss": lambda: Measurement(trained.train_loss, None, fine),
        "train_error": lambda: Measurement(trained.train_error, None, fine),
    }
    return {name: result() for name, result in results.items() if name in cell.quantities}


def _query(cell: Cell) -> Alignment | None:
    """Return what the two steps teach the query, if they do."""
    if "lr_query" not in cell.values:  # frozen, or none
        return None
    return alignment(cell.problem, alpha=cell.alpha0, **{n: cell.values[n] for n in STEPS})


def _geometry(cell: Cell, query: Alignment | None) -> dict[str, Any]:
    """Return how the query lies, as arguments of the theory."""
    if cell.values["model"] in LINEAR:
        return {}
    if query is None:
        given = {"cosine": cell.values["cosine"], "sharpness": cell.values.get("sharpness")}
        return given | _points(cell)
    return {"cosine": query.cosine, "sharpness": query.sharpness} | _points(cell)


def _points(cell: Cell) -> dict[str, Any]:
    return {"n_points": cell.values["n_points"]} if "n_points" in cell.values else {}
