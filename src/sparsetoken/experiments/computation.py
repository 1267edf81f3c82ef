"""From cells to their numbers, the same wherever and whenever they run."""

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from sklearn.exceptions import ConvergenceWarning as FitWarning

from sparsetoken.estimate import ConvergenceWarning, Estimate
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.models import find_model
from sparsetoken.sequences.threads import one_blas_thread

Outcome = dict[str, Estimate] | str
"""The numbers of a cell, or its error: as text, for some errors cannot cross processes."""

_LONGEST = 12  # cells of a curve that are computed together
_SAMPLES = ("alpha", "alpha0", "alpha1", "split")


def compute(cell: Cell) -> dict[str, Estimate]:
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
    >>> abs(theory - simulation) < 4 * simulation.uncertainty
    True
    """
    return _compute([cell])[0]


def curves(cells: Iterable[Cell]) -> list[tuple[Cell, ...]]:
    """Gather the cells that are quicker computed together: theory at several numbers of samples.

    Those with many samples come first: that is half the work of the other way.
    """
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        chained = cell.source == "theory" and find_model(cell.values).chained & set(cell.quantities)
        fixed = {name: value for name, value in cell.values.items() if name not in _SAMPLES}
        groups.setdefault(repr((cell.quantities, fixed)) if chained else cell, []).append(cell)
    tasks: list[tuple[Cell, ...]] = []
    for curve in groups.values():
        ordered = sorted(curve, key=lambda cell: -cell.alpha1) if len(curve) > 1 else curve
        tasks += [tuple(ordered[i : i + _LONGEST]) for i in range(0, len(curve), _LONGEST)]
    return tasks


def compute_or_error(curve: Sequence[Cell]) -> list[Outcome]:
    """Compute the cells of a curve; should one fail, each by itself."""
    try:
        return list(_compute(curve))
    except Exception as error:  # whatever it is, it belongs in the store
        if len(curve) == 1:
            return [f"{type(error).__name__}: {error}"]
    return [outcome for cell in curve for outcome in compute_or_error([cell])]


def _compute(curve: Sequence[Cell]) -> list[dict[str, Estimate]]:
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # kept as a flag on the result
        warnings.simplefilter("error", FitWarning)
        model = find_model(curve[0].values)
        if len(curve) > 1:
            results = model.predict_curve(curve)
        elif curve[0].source == "theory":
            results = [model.predict(curve[0])]
        else:
            results = [model.simulate(curve[0])]
    for cell, numbers in zip(curve, results, strict=True):
        for quantity, number in numbers.items():
            if math.isnan(number):
                raise ArithmeticError(f"{quantity} is not a number at {cell.describe()}")
    return results
