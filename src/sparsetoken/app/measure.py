"""Numbers of the theory for the views: cells of the experiments, computed once and remembered."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from sparsetoken.app.content import Drawing
from sparsetoken.app.parameters import Values
from sparsetoken.estimate import Estimate
from sparsetoken.experiments import Cell, make_cell
from sparsetoken.experiments.cell import PROBLEM
from sparsetoken.experiments.prediction import curves, predict
from sparsetoken.vocabulary import group

__all__ = [
    "PROBLEM",
    "RATES",
    "Memory",
    "measure",
    "measure_curve",
    "numbers",
    "precision",
    "problem_values",
    "theory_cell",
    "training",
]

RATES = group("two steps")


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


def measure(quantity: str, cases: Iterable[Values], drawing: Drawing) -> list[Estimate]:
    """Return the theory's value for each of the cases, checking before each that it is wanted."""
    return [measure_curve(quantity, [values], drawing)[0] for values in cases]


def measure_curve(quantity: str, cases: Iterable[Values], drawing: Drawing) -> list[Estimate]:
    """Return the same for cases that differ in their samples only, solved along the curve."""
    cells = [theory_cell(quantity, values) for values in cases]
    missing = [cell for cell in cells if _THEORY.get(cell.key) is None]
    if missing:
        drawing.check()
    for curve in curves(missing):
        for cell, found in zip(curve, predict(curve), strict=True):
            _THEORY.put(cell.key, found[quantity])
    return [_THEORY.get(cell.key) for cell in cells]


def numbers(found: Estimate) -> Values:
    """Return a number as columns of a table."""
    return {
        "value": float(found),
        "uncertainty": found.uncertainty,
        "converged": found.converged,
    }


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
