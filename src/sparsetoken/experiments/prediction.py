"""The theory of cells: one at a time, or along a curve where each point starts from the last."""

from collections.abc import Iterable, Sequence
from typing import Any

from sparsetoken.estimate import Estimate
from sparsetoken.experiments.cell import DESCENT, LINEAR, PROBLEM, TOGETHER, TWO_STEPS, Cell
from sparsetoken.experiments.query_rates import query_samples
from sparsetoken.performance import Performance
from sparsetoken.pooling import Pooling
from sparsetoken.theory import (
    Alignment,
    alignment,
    capacity,
    joint_risk,
    oracle_error,
    required_signal,
    training,
)
from sparsetoken.theory.curves import solve_along
from sparsetoken.theory.long import long_model
from sparsetoken.theory.models import Model, get_model
from sparsetoken.theory.trained import Risk
from sparsetoken.vocabulary import MEASURED, group

__all__ = ["curves", "predict"]

_LONGEST = 12  # cells of a curve that are computed together
_SAMPLES = ("alpha", "alpha0", "alpha1", "split")


def curves(cells: Iterable[Cell]) -> list[tuple[Cell, ...]]:
    """Gather the cells that differ in their samples only, those with many samples first.

    From many to few is half the work of the other way. Simulations stay alone.
    """
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        alone = cell.source == "simulation" or not _trained(cell) or _together(cell)
        alone = alone or "tuned" in cell.values
        fixed = {name: value for name, value in cell.values.items() if name not in _SAMPLES}
        groups.setdefault(cell.key if alone else repr((cell.quantities, fixed)), []).append(cell)
    found = []
    for alike in groups.values():
        ordered = sorted(alike, key=lambda cell: -cell.alpha1) if len(alike) > 1 else alike
        found += [
            tuple(ordered[start : start + _LONGEST]) for start in range(0, len(alike), _LONGEST)
        ]
    return found


def predict(cells: Sequence[Cell]) -> list[dict[str, Estimate]]:
    """Return what the theory says about each cell of a curve, see :func:`curves`."""
    if _together(cells[0]):
        return [_train_together(cell) for cell in cells]
    queries = [_query(cell) for cell in cells]
    trained: Sequence[Risk | None] = [None] * len(cells)
    if _trained(cells[0]):
        models = [_model(cell, query) for cell, query in zip(cells, queries, strict=True)]
        places = [(model, cell.alpha1) for model, cell in zip(models, cells, strict=True)]
        values = cells[0].values
        trained = solve_along(cells[0].problem, places, values["reg"], values["loss"])
    return [_quantities(*each) for each in zip(cells, queries, trained, strict=True)]


def _quantities(cell: Cell, query: Alignment | None, trained: Risk | None) -> dict[str, Estimate]:
    tested = trained and _tested(cell, trained)
    found: dict[str, Estimate] = {}
    for quantity in cell.quantities:
        if quantity == "required_samples":
            found[quantity] = Estimate(query_samples(cell.problem, **_two_steps(cell)))
        elif quantity == "limit_error":
            found[quantity] = _limit_error(cell)
        elif MEASURED[quantity].group == "query":
            found[quantity] = Estimate(getattr(query, quantity))
        elif MEASURED[quantity].group == "trained":
            assert trained is not None
            assert tested is not None
            found[quantity] = _number(cell, quantity, trained, tested)
        elif quantity in ("capacity", "separable"):
            found[quantity] = capacity(cell.problem, _name(cell), **_given(cell, query))
            if quantity == "separable":
                found[quantity] = Estimate(
                    cell.alpha1 < found[quantity], 0.0, found[quantity].converged
                )
        else:
            found[quantity] = _oracle(cell, quantity)
    return found


def _tested(cell: Cell, trained: Risk) -> Performance:
    same = cell.test_problem == cell.problem
    tested = trained if same else trained.on(cell.test_problem)
    return tested if cell.n_windows == 1 else tested.windowed(cell.n_windows)


def _number(cell: Cell, quantity: str, trained: Risk, tested: Performance) -> Estimate:
    if quantity == "recall":
        return tested.recall(fpr=cell.values["fpr"])
    if quantity == "false_positives":
        return tested.rates(trained.threshold(fpr=cell.values["fpr"])).fpr
    state = quantity.removeprefix("trained_")
    if state != quantity:
        name = state if state in ("bias", "step") else f"readout_{state}"
        return _estimate(getattr(trained, name))
    return _estimate(getattr(trained if quantity.startswith("train") else tested, quantity))


def _together(cell: Cell) -> bool:
    return cell.values.get("model") in TOGETHER


def _train_together(cell: Cell) -> dict[str, Estimate]:
    """Return the last step of gradient descent, or the minimum."""
    values, problem = cell.values, cell.problem
    numbers: dict[str, Estimate]
    if values["model"] == DESCENT:
        data = {*PROBLEM, *group("population"), "model"}
        asked = {name: value for name, value in values.items() if name not in data}
        t = training(problem, **asked)
        if t.diverged_at is not None:
            raise ArithmeticError(f"the training runs away in step {t.diverged_at}")
        numbers = {
            name: Estimate(getattr(t, name)[-1], bar[-1], t.converged)
            for name, bar in t.errors.items()
        }
    else:
        ridges = {"reg_query": values["reg"], "reg_readout": values["reg"]}
        asked = {name: values[name] for name in ("alpha", "loss", "beta", "n_points")}
        j = joint_risk(problem, **ridges, **asked)
        numbers = {
            name: Estimate(value, value.uncertainty, j.stable)
            for name, value in vars(j).items()
            if isinstance(value, Estimate)
        }
    norm = numbers["query_norm"]
    scale = values["beta"]
    numbers["sharpness"] = Estimate(scale * norm, scale * norm.uncertainty, norm.converged)
    return {quantity: numbers[quantity] for quantity in cell.quantities}


def _limit_error(cell: Cell) -> Estimate:
    values = cell.values
    model = long_model(values["cosine"], values["sharpness"], values["n_points"])
    (found,) = solve_along(cell.problem, [(model, cell.alpha1)], values["reg"], values["loss"])
    return _estimate(found.test_error)


def _oracle(cell: Cell, quantity: str) -> Estimate:
    model, points = cell.values["model"], _points(cell)
    model = "attention" if model == "two-step" else model
    if quantity == "oracle_error":
        return oracle_error(cell.problem, model, **points)
    return _estimate(required_signal(cell.problem, model, error=cell.values["error"], **points))


def _estimate(value: float) -> Estimate:
    bar, fine = getattr(value, "uncertainty", 0.0), getattr(value, "converged", True)
    return Estimate(value, bar, fine)


def _trained(cell: Cell) -> bool:
    return any(MEASURED[quantity].group == "trained" for quantity in cell.quantities)


def _query(cell: Cell) -> Alignment | None:
    """Return what the two steps teach the query, if they do."""
    if not cell.learns_query or not {"alpha", "alpha0"} & cell.values.keys():
        return None
    return alignment(cell.problem, alpha=cell.alpha0, **_two_steps(cell))


def _two_steps(cell: Cell) -> dict[str, Any]:
    steps = {name: cell.values[name] for name in TWO_STEPS if name in cell.values}
    return {"center" if name == "centre" else name: value for name, value in steps.items()}


def _model(cell: Cell, query: Alignment | None) -> Model:
    return get_model(_name(cell), **_given(cell, query))


def _name(cell: Cell) -> str | Pooling:
    """Return the theory's name of the architecture: two steps teach softmax attention."""
    model: str = cell.values["model"]
    if "depth" in cell.values:
        return cell.pooling
    return "attention" if model == "two-step" else model


def _given(cell: Cell, query: Alignment | None) -> dict[str, Any]:
    """Return cosine and sharpness of the query, and the points, as arguments of the theory."""
    if cell.values["model"] in LINEAR:
        return {}
    cosine, sharpness = (
        (query.cosine, query.sharpness)
        if query is not None
        else (cell.values["cosine"], cell.values.get("sharpness"))
    )
    return {"cosine": cosine, "sharpness": sharpness} | _points(cell)


def _points(cell: Cell) -> dict[str, Any]:
    return {"n_points": cell.values["n_points"]} if "n_points" in cell.values else {}
