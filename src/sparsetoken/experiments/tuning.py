"""Settings that the theory expects to be best, put in place of a cell's ``tuned``."""

from functools import lru_cache
from typing import Any

from sparsetoken.experiments.cell import DESCENT, Cell, make_cell
from sparsetoken.losses import get_loss
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.dynamics.best import best_protocol, best_rates

__all__ = ["settle"]


def settle(cell: Cell) -> Cell:
    """Return the cell with its settings found, or the cell itself if it is not tuned.

    A simulation so trains as a user would who asked the theory first; its data are its own.
    """
    values = dict(cell.values)
    if not values.pop("tuned", 0):
        return cell
    alpha, loss = values.pop("alpha"), values["loss"]
    if values["model"] == DESCENT:
        names = ("steps", "batches", "beta", "reg")
        found = _rates(cell.problem, alpha, loss, **{name: values[name] for name in names})
    else:
        found = _protocol(cell.problem, alpha, loss)
    settled = make_cell(cell.source, cell.quantities, values | found)
    assert settled is not None
    return settled


@lru_cache
def _rates(
    problem: SparseTokenProblem, alpha: float, loss: str, *, steps: int, batches: str, **others: Any
) -> dict[str, Any]:
    found = best_rates(
        problem, alpha=alpha, steps=steps, batches=batches, loss=get_loss(loss), **others
    )
    return found._asdict() | {"alpha": alpha if batches == "reused" else alpha / steps}


@lru_cache
def _protocol(problem: SparseTokenProblem, alpha: float, loss: str) -> dict[str, Any]:
    return best_protocol(problem, alpha=alpha, loss=get_loss(loss))
