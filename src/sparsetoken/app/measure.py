"""Numbers of the theory for the views: cells of the experiments, computed once and remembered."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from sparsetoken.app.content import Drawing
from sparsetoken.app.parameters import Values
from sparsetoken.experiments import Cell, Measurement, make_cell
from sparsetoken.experiments.predict import predict
from sparsetoken.experiments.values import LINEAR, PROBLEM
from sparsetoken.theory import Risk, risk_curve, two_step_curve

__all__ = [
    "RATES",
    "Memory",
    "measure",
    "measure_curve",
    "precision",
    "problem_values",
    "theory_cell",
    "training",
]

RATES = ("beta", "lr_readout", "lr_bias", "lr_query")


class Memory:
    """The results used last, by key; safe to use from many threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._results: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Any:
        """Return the result for a key, or None."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def put(self, key: str, result: Any) -> None:
        """Keep a result, and forget the one that was not used for longest."""
        with self._lock:
            self._results[key] = result
            self._results.move_to_end(key)
            while len(self._results) > self._size:
                self._results.popitem(last=False)


_THEORY = Memory(20_000)


def theory_cell(quantity: str, values: Values) -> Cell:
    """Return the cell of the theory for one quantity."""
    cell = make_cell("theory", quantity, values)
    if cell is None:
        raise ValueError(f"{quantity} does not exist for the model {values.get('model')!r}")
    return cell


def measure(quantity: str, cases: Iterable[Values], drawing: Drawing) -> list[Measurement]:
    """Return the theory's value for each of the cases, checking before each that it is wanted."""
    found = []
    for values in cases:
        cell = theory_cell(quantity, values)
        result = _THEORY.get(cell.key)
        if result is None:
            drawing.check()
            result = predict(cell)[quantity]
            _THEORY.put(cell.key, result)
        found.append(result)
    return found


def measure_curve(quantity: str, cases: Iterable[Values], drawing: Drawing) -> list[Measurement]:
    """Return the same for cases that differ in their samples only, each solved from the next."""
    cells = [theory_cell(quantity, values) for values in cases]
    found = [_THEORY.get(cell.key) for cell in cells]
    if None not in found:
        return found
    drawing.check()
    results = _curve(cells[::-1])[::-1]  # from many samples to few: half the time of the other way
    for cell, result in zip(cells, results, strict=True):
        bar = result.uncertainty if quantity == "test_error" else None
        measured = Measurement(float(getattr(result, quantity)), bar, result.converged)
        _THEORY.put(cell.key, measured)
    return [_THEORY.get(cell.key) for cell in cells]


def _curve(cells: list[Cell]) -> list[Risk]:
    problem, values = cells[0].problem, cells[0].values
    alphas1 = [cell.alpha1 for cell in cells]
    reg, loss = values["reg"], values["loss"]
    if values["model"] in LINEAR:
        return risk_curve(problem, values["model"], alphas=alphas1, reg=reg, loss=loss)
    return two_step_curve(
        problem,
        alphas0=[cell.alpha0 for cell in cells],
        alphas1=alphas1,
        reg=reg,
        loss=loss,
        n_points=values["n_points"],
        **{name: values[name] for name in RATES},
    )


def problem_values(values: Values) -> Values:
    """Return those of the values that define the problem."""
    return {name: values[name] for name in PROBLEM}


def training(values: Values) -> Values:
    """Return those of the values that define how attention is trained, and its loss."""
    return {name: values[name] for name in ("loss", *RATES)}


def precision(values: Values, step: int) -> int:
    """Return how many points the law of the attention features gets: fewer for long sequences."""
    coarse, fine = (512, 4096) if values["n_tokens"] <= 128 else (256, 1024)
    return fine if step else coarse
