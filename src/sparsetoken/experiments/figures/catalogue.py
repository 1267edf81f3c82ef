"""The catalogue of figures, and how one is computed."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

from sparsetoken.experiments.execution import Progress, run
from sparsetoken.experiments.figures import (
    alignment,
    attention_map,
    capacity,
    joint_training,
    learning_curves,
    length_shift,
    residual_error,
    scaling,
    sensitivity,
    split,
)
from sparsetoken.experiments.store import Store
from sparsetoken.experiments.sweep import Sweep
from sparsetoken.experiments.values import check_known

__all__ = ["FIGURES", "Recipe", "figure_table", "in_store"]

Rows = list[dict[str, Any]]
Runner = Callable[[Sweep], Rows]


@dataclass(frozen=True)
class Recipe:
    """How the table of a figure is computed.

    Parameters
    ----------
    name, summary : str
        What the figure is called and what it shows.
    table : callable
        ``table(run, **settings)`` returns rows; ``run`` computes a sweep.
    full, quick : dict
        Settings for a paper, and for a look within a minute.
    """

    name: str
    summary: str
    table: Callable[..., Rows]
    full: dict[str, Any] = field(repr=False)
    quick: dict[str, Any] = field(repr=False)


FIGURES = {
    name.replace("_", "-"): Recipe(
        name.replace("_", "-"), module.SUMMARY, module.table, module.FULL, module.QUICK
    )
    for name, module in {
        "learning_curves": learning_curves,
        "alignment": alignment,
        "scaling": scaling,
        "capacity": capacity,
        "sensitivity": sensitivity,
        "residual_error": residual_error,
        "split": split,
        "length_shift": length_shift,
        "joint_training": joint_training,
        "attention_map": attention_map,
    }.items()
}


def in_store(
    store: Store, executor: Executor | None = None, progress: Progress | None = None
) -> Runner:
    """Return a function that computes a sweep into a store and returns its rows.

    A picture with a hole could be taken for a result: cells that failed before are tried again, and
    one that fails now raises RuntimeError.
    """
    store.retry_failed()

    def runner(sweep: Sweep) -> Rows:
        cells = sweep.cells()
        run(sweep, store, executor, progress=progress)
        keys = {cell.key for cell in cells}
        failures = [failure for failure in store.failures() if failure.cell.key in keys]
        if failures:
            first = failures[0]
            raise RuntimeError(
                f"{len(failures)} of {len(cells)} cells failed; the first, "
                f"{first.cell.describe()}: {first.error}"
            )
        return store.rows(cells)

    return runner


def figure_table(name: str, runner: Runner, *, quick: bool = False, **settings: Any) -> Rows:
    """Return the table behind a figure.

    Parameters
    ----------
    name : str
        One of ``FIGURES``.
    runner : callable
        Computes a sweep and returns its rows, see :func:`in_store`.
    quick : bool, default=False
        Whether to take the quick settings.
    **settings
        Settings to replace.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.experiments import Store, figure_table, in_store
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/results.db") as store:
    ...     rows = figure_table(
    ...         "alignment", in_store(store), signals=[5.0], lines=[1.0, 2.0], points=[2.0],
    ...         dim=100, trials=4,
    ...     )
    >>> sorted({row["source"] for row in rows})
    ['simulation', 'theory']
    """
    recipe = FIGURES[check_known("figure", name, FIGURES)]
    chosen = recipe.quick if quick else recipe.full
    for setting in settings:
        check_known(f"setting of {name}", setting, chosen)
    return recipe.table(runner, **(chosen | settings))
