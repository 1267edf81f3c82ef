"""Which picture belongs to which table, and how it is saved."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from sparsetoken.plotting import curves, panels
from sparsetoken.plotting.style import styled

__all__ = ["PICTURES", "draw", "save_picture"]

Rows = Sequence[dict[str, Any]]

PICTURES: dict[str, Callable[[Rows], Figure]] = {
    "learning-curves": curves.learning_curves,
    "alignment": curves.alignment,
    "scaling": curves.scaling,
    "capacity": panels.capacity,
    "sensitivity": panels.sensitivity,
    "residual-error": curves.residual_error,
    "split": curves.split,
    "length-shift": curves.length_shift,
    "joint-training": curves.joint_training,
    "attention-map": panels.attention_map,
}
_FORMATS = (".png", ".pdf", ".svg")


def draw(name: str, rows: Rows) -> Figure:
    """Draw a named figure from its table.

    Parameters
    ----------
    name : str
        One of ``PICTURES``.
    rows : sequence of dict
        The table that :func:`sparsetoken.experiments.figure_table` returns, or the same read from
        a file.

    Returns
    -------
    figure : matplotlib.figure.Figure
        To be changed, or saved with :func:`save_picture`.

    Examples
    --------
    >>> from sparsetoken.plotting import draw
    >>> row = {"signal": 5.0, "alpha0": 1.0, "source": "theory", "quantity": "cosine", "value": 0.9}
    >>> len(draw("alignment", [row, row | {"alpha0": 2.0, "value": 0.95}]).axes)
    2
    """
    if name not in PICTURES:
        raise ValueError(f"name must be one of {', '.join(PICTURES)}, got {name!r}")
    with styled():
        return PICTURES[name](rows)


def save_picture(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure as PNG, PDF or SVG, by the ending of the path."""
    path = Path(path)
    if path.suffix not in _FORMATS:
        raise ValueError(f"a picture is written as {', '.join(_FORMATS)}, got {path.name!r}")
    with styled():
        figure.savefig(path)
