"""Named figures, one module each: the sweep behind it, and the drawing of its table.

The figure "NAME" is the module ``NAME.py`` of this folder. Nothing of it is imported before it is
asked for: names and summaries are known without any numerics. It has

* ``TITLE``, the first sentence of its caption, and ``PANELS``, the numbers of rows and columns;
* ``data``, which returns the sweep to compute, or rows. Its defaults are the settings for a paper,
  which take about ``MINUTES`` on two processors; ``QUICK`` has those that differ for a look within
  a minute;
* ``draw``, which draws rows on the panels and returns the remarks of the caption. It computes
  nothing.
"""

import importlib
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sparsetoken._validation import check_real
from sparsetoken.vocabulary import check_known

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from sparsetoken.experiments.store import Store
    from sparsetoken.plotting import Picture
    from sparsetoken.problem import Problem

WIDTHS = (40.0, 500.0)
"""The least and the largest width of a figure, in mm."""

SUMMARIES = {
    "alignment": "cosine between query and signal against samples per dimension",
    "attention-map": "attention weights on drawn sequences, after the two steps",
    "capacity": "separable fraction and training loss around the capacity, several dimensions",
    "hard-phase": "lengths and samples at which learning is impossible, hard, and easy",
    "kinds": "test error and required signal against the number of kinds of signal",
    "learning-curves": "test error and training loss of three models and the optimum, by samples",
    "residual-error": "error in the limit of unlimited readout data against the query's cosine",
    "scaling": "required signal and test error against sequence length, six architectures",
    "sensitivity": "cosine and test error over learning rates, rate of positives and temperature",
    "split": "test error against the fraction of the samples given to the query",
}
"""What each figure shows, by its name."""

Rows = Sequence[dict[str, Any]]


def figure_names() -> list[str]:
    """Return the names of the figures, without importing them."""
    return list(SUMMARIES)


def get_figure(name: str) -> Any:
    """Return the module of a figure, or raise ValueError with the nearest name."""
    check_known("figure", name, SUMMARIES)
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def figure_rows(
    name: str,
    store: "Store",
    executor: "Executor | None" = None,
    *,
    quick: bool = False,
    progress: Any = None,
    **settings: Any,
) -> list[dict[str, Any]]:
    """Return the table behind a figure, computing what the store lacks.

    Parameters
    ----------
    name : str
        One of :func:`figure_names`.
    store, executor, progress
        As in :func:`~sparsetoken.experiments.run`.
    quick : bool, default=False
        Whether to take the quick settings.
    **settings
        Settings to replace.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.experiments import Store, draw_figure, figure_rows
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/results.db") as store:
    ...     rows = figure_rows(
    ...         "alignment", store, signals=[5.0], lines=[1.0, 2.0], points=[2.0], dim=100, trials=4
    ...     )
    >>> sorted({row["source"] for row in rows})
    ['simulation', 'theory']
    >>> len(draw_figure("alignment", rows).axes)
    2
    """
    from sparsetoken.experiments.sweep import collect

    figure = get_figure(name)
    for setting in settings:
        check_known(f"setting of {name}", setting, inspect.signature(figure.data).parameters)
    data = figure.data(**(figure.QUICK if quick else {}) | settings)
    return data if isinstance(data, list) else collect(data, store, executor, progress=progress)


def draw_figure(
    name: str, rows: Rows, *, width: float | None = None, title: bool = False, letters: bool = False
) -> "Picture":
    """Draw a named figure from its table, or from the same read from a file.

    Parameters
    ----------
    name : str
        One of :func:`figure_names`.
    rows : sequence of dict
        Its table.
    width : float or None, default=None
        Width in mm: 85 is one column of a journal, 170 two. Letters keep their size; where panels
        would become too narrow they are stacked. None takes what suits the number of panels.
    title : bool, default=False
        Whether to write title and caption above the panels.
    letters : bool, default=False
        Whether to mark the panels a, b, c, ...

    Returns
    -------
    figure : sparsetoken.plotting.Picture
        A matplotlib figure with a ``caption``, to be changed, or saved with
        :func:`sparsetoken.plotting.save_picture`.
    """
    from sparsetoken.plotting import caption, finish, new_figure, styled

    figure = get_figure(name)
    inches = None if width is None else check_real("width", width, *WIDTHS) / 25.4
    with styled():
        picture, axes = new_figure(*figure.PANELS, width=inches)
        notes = figure.draw(rows, list(axes.flat))
        caption(picture, rows, figure.TITLE, notes)
        return finish(picture, title=title, letters=letters)


def query_rate(problem: "Problem", alpha0: float, sharpness: float) -> float:
    """Return the learning rate that gives the query this sharpness, to three digits.

    With one rate for all lengths, the sharpness would fall as 1/L².
    """
    from sparsetoken.theory import alignment

    unit = alignment(problem, alpha=alpha0, lr_query=1.0).sharpness
    return float(f"{sharpness / unit:.3g}")
