"""A table with the label of each sequence, beside the file that has the tokens."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from sparsetoken.files.dataset import Dataset, shorten
from sparsetoken.files.formats import Table
from sparsetoken.files.names import USUAL, Wanted
from sparsetoken.files.tables import read_columns


def with_table(dataset: Dataset, table: Table, wanted: Wanted) -> Dataset:
    """Look the label and the group of each sequence up in a table."""
    columns = read_columns(table)
    if not any(columns.values()):
        raise ValueError("it has no rows")
    by, places = _column_of_names(dataset, columns, wanted.by)
    usual = [name for name in USUAL["label"] if name != by]
    label = wanted.pick("label", list(columns), usual)
    if label is None:
        others = shorten([name for name in columns if name != by], 20)
        raise ValueError(f"name the column with the label with label=, one of {others}")
    group = wanted.pick("group", list(columns))
    values = {name: [None] * len(dataset) for name in (label, group) if name is not None}
    first: dict[int, int] = {}  # the row of each sequence
    for row, place in enumerate(places):
        for name, looked_up in values.items() if place is not None else ():
            before = first.setdefault(place, row)
            if before != row and columns[name][row] != columns[name][before]:
                raise ValueError(f"row {row}: another label or group for {columns[by][row]!r}")
            looked_up[place] = columns[name][row]
    labelled = dataset.labelled_by(values[label], values.get(group or ""))
    return replace(labelled, reading={**dataset.reading, "label": label})


def _column_of_names(
    dataset: Dataset, columns: dict[str, list[Any]], by: str | None
) -> tuple[str, list[Any]]:
    """Return the column that names sequences, and the number of the sequence in each row.

    It is the column that ``by`` names, or the one that has most of the sequences.
    """
    numbers = {str(name): i for i, name in enumerate(dataset.ids)}
    places = {
        column: [numbers.get(str(name), numbers.get(Path(str(name)).stem)) for name in names]
        for column, names in columns.items()
    }
    matches = {column: len({*rows} - {None}) for column, rows in places.items()}
    best = by if by in columns else max(matches, key=lambda column: matches[column])
    if not matches[best]:
        raise ValueError(
            f"it names none of the sequences: it has {columns[best][0]!r} in {best!r}, "
            f"{dataset.path} has {dataset.ids[0]!r}; the column of names is by="
        )
    return best, places[best]
