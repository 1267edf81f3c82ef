"""From cells to their numbers, the same wherever and whenever they run."""

import ctypes
import math
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning as FitWarning

from sparsetoken.estimate import ConvergenceWarning, Estimate
from sparsetoken.estimators.threads import one_blas_thread
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.prediction import predict
from sparsetoken.experiments.simulation import simulate
from sparsetoken.experiments.tuning import settle

__all__ = ["Outcome", "attempt", "compute"]

Outcome = dict[str, Estimate] | str
"""The numbers of a cell, or its error: as text, for some errors cannot cross processes."""


class _TimeLimitError(Exception):
    """A cell took longer than it may."""


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


def attempt(cells: Sequence[Cell], time_limit: float | None = None) -> list[Outcome]:
    """Compute the cells of a curve; should one fail, each by itself.

    Parameters
    ----------
    cells : sequence of Cell
        One of :func:`~sparsetoken.experiments.prediction.curves`.
    time_limit : float, optional
        Seconds that a cell may take.
    """
    if len(cells) > 1:
        try:
            with _limited(time_limit and time_limit * len(cells)):
                return list(_compute(cells))
        except Exception:  # whose it is shows below
            pass
    return [_attempt_one(cell, time_limit) for cell in cells]


def _attempt_one(cell: Cell, time_limit: float | None) -> Outcome:
    try:
        with _limited(time_limit):
            return compute(cell)
    except _TimeLimitError:
        return f"it took longer than the time limit of {time_limit:g} s"
    except Exception as error:  # whatever it is, it belongs in the store
        return f"{type(error).__name__}: {error}"


def _compute(cells: Sequence[Cell]) -> list[dict[str, Estimate]]:
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # kept as a flag on the result
        warnings.simplefilter("error", FitWarning)
        settled = [settle(cell) for cell in cells]
        theory = cells[0].source == "theory"
        found = predict(settled) if theory else [simulate(cell) for cell in settled]
    for cell, numbers in zip(cells, found, strict=True):
        for quantity, number in numbers.items():
            if math.isnan(number):
                raise ArithmeticError(f"{quantity} is not a number at {cell.describe()}")
    return found


@contextmanager
def _limited(seconds: float | None) -> Iterator[None]:
    """Raise in this thread, whichever it is, once the time is over.

    Signals would reach the main thread only, and Dask computes in others.
    """
    if seconds is None:
        yield
        return
    thread, lock, over = ctypes.c_ulong(threading.get_ident()), threading.Lock(), False

    def stop() -> None:
        with lock:
            if not over:
                error = ctypes.py_object(_TimeLimitError)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, error)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            over = True
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)  # one still on its way
        timer.cancel()
