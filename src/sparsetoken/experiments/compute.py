"""From a cell to its numbers, the same wherever and whenever it runs."""

import math
import warnings
from functools import cache

from sklearn.exceptions import ConvergenceWarning as FitWarning
from threadpoolctl import ThreadpoolController

from sparsetoken.experiments.cell import Cell, Measurement
from sparsetoken.experiments.predict import predict
from sparsetoken.experiments.simulate import simulate
from sparsetoken.theory import ConvergenceWarning

__all__ = ["compute"]


def compute(cell: Cell) -> dict[str, Measurement]:
    """Return the cell's quantities; a result that is not a number raises ArithmeticError.

    Linear algebra runs on one thread: as many cells as there are processors run side by side, and
    sums in another order would give other last digits.

    Examples
    --------
    >>> from sparsetoken.experiments import compute, make_cell
    >>> values = {"alpha0": 2.0, "dim": 200, "trials": 4}
    >>> theory, simulation = (
    ...     compute(make_cell(source, "cosine", values))["cosine"]
    ...     for source in ("theory", "simulation")
    ... )
    >>> abs(theory.value - simulation.value) < 4 * simulation.standard_error
    True
    """
    with _threads().limit(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # kept as a flag on the result
        warnings.simplefilter("error", FitWarning)
        found = predict(cell) if cell.source == "theory" else simulate(cell)
    for quantity, measured in found.items():
        if math.isnan(measured.value):
            raise ArithmeticError(f"{quantity} is not a number at {cell.describe()}")
    return found


@cache
def _threads() -> ThreadpoolController:
    """Look up the libraries with threads once: that takes longer than many a cell."""
    return ThreadpoolController()
