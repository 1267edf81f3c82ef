"""A learning curve as text: a table that was saved or pasted."""

import csv
import math
from collections.abc import Mapping
from typing import Any

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "sizes": ("n_samples", "size", "sizes", "n", "n_train", "num_train"),
    "errors": ("error", "errors", "test_error"),
    "accuracies": ("accuracy", "acc", "test_acc"),
    "aucs": ("auc", "aucs", "test_auc"),
    "recalls": ("recall", "recalls"),
    "n_test": ("n_test",),
}
"""What a column may be called; the first name is the one in the documentation."""


def read_curve(text: str) -> dict[str, Any]:
    r"""Return the arguments of ``plan.from_curve`` that a table has.

    Parameters
    ----------
    text : str
        A row with the names of the columns, then a row for each measurement; separated by commas,
        semicolons, tabs or spaces. Columns: ``n_samples``, and ``error`` (or ``accuracy``),
        ``auc``, ``recall``, of which one is enough; ``n_test`` may be there too. Other columns are
        left out, empty cells are not measured, and a size may have several rows.

    Returns
    -------
    dict
        ``sizes``, and of ``errors``, ``aucs``, ``recalls`` and ``n_test`` (the smallest) those that
        the table has.

    Examples
    --------
    >>> from sparsetoken.planner import read_curve
    >>> read_curve("n_samples,accuracy\n50,0.75\n100,0.875")
    {'sizes': [50.0, 100.0], 'errors': [0.25, 0.125]}
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        raise ValueError(f"the curve must have a row of names and one of numbers, got {text!r}")
    mark = next((mark for mark in ",;\t" if mark in lines[0]), None)
    rows = list(csv.reader(lines, delimiter=mark)) if mark else [line.split() for line in lines]
    names = [name.strip().lower() for name in rows[0]]
    columns: dict[str, Any] = {}
    for column, aliases in _COLUMNS.items():
        place = next((names.index(name) for name in aliases if name in names), None)
        if place is not None:
            columns[column] = [_number(row, place, line) for line, row in enumerate(rows[1:], 2)]
    if "sizes" not in columns:
        raise ValueError(f"the curve must have a column n_samples, got {', '.join(rows[0])}")
    accuracies = columns.pop("accuracies", None)
    if accuracies is not None and "errors" not in columns:
        columns["errors"] = [1.0 - accuracy for accuracy in accuracies]
    if "n_test" in columns:
        columns["n_test"] = int(min(columns["n_test"]))
    return columns


def _number(row: list[str], place: int, line: int) -> float:
    cell = row[place].strip() if place < len(row) else ""
    try:
        return float(cell) if cell else math.nan
    except ValueError:
        raise ValueError(f"the curve must have numbers, got {cell!r} in line {line}") from None
