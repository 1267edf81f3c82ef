"""Tables of labels: which column names the sequences, and which label each of them gets."""

import re
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import Any

from sparsetoken.files.dataset import Dataset, without_missing
from sparsetoken.files.frames import Table
from sparsetoken.files.guards import shorten
from sparsetoken.files.roles import USUAL, Roles, usual_names
from sparsetoken.sequences.forms import find_name
from sparsetoken.sequences.grouping import is_row_number

_ENDING = re.compile(r"\.[A-Za-z]\w*$")
_THINGS = ["bag", "sequence", "slide", "sample", "file", "filename", "name", "document", "text"]
_NAMES = ["id", *_THINGS, *(f"{thing}_id" for thing in _THINGS)]  # usual for columns of names


def look_up_labels(dataset: Dataset, table: Table, roles: Roles) -> Dataset:
    """Look the label and the group of each sequence up in a table that holds no tokens."""
    names = [name for name, kind in table.kinds.items() if kind in ("any", "string", "number")]
    frame = table.read(names, [])
    if not len(frame):
        raise ValueError("it has no rows")
    columns = {name: frame[name].to_pylist() for name in names}
    label = roles.pick("label", names, [name for name in USUAL["label"] if name != roles.by])
    group = roles.pick("group", names)
    candidates = {n: values for n, values in columns.items() if n not in (label, group)}
    by, places = _match(dataset, candidates, roles.by)
    if label is None:
        others = shorten([name for name in candidates if name != by], 20)
        raise ValueError(f"name the column with the label with 'label', one of {others}")

    def one_each(name: str) -> list[Any]:
        values: dict[int | None, Any] = {}
        for row, value in enumerate(without_missing(columns[name])):
            if values.setdefault(places[row], value) != value and places[row] is not None:
                raise ValueError(f"row {row}: another label or group for {columns[by][row]!r}")
        return [values.get(place) for place in range(len(dataset))]

    labels, groups = (None if name is None else one_each(name) for name in (label, group))
    source = f"column {label!r} of {Path(table.path).name}, matched by its column {by!r}"
    used = replace(dataset.roles, label=label, group=group or dataset.roles.group)
    return dataset.labelled_by(labels, groups, roles=used, label_source=source)


def _match(
    dataset: Dataset, columns: dict[str, list[Any]], by: str | None
) -> tuple[str, list[int | None]]:
    """Return the column that names the sequences, with the sequence of each row.

    It is named by the caller, has a usual name, or is the only one with exactly the names. Unless
    the caller names it, it must name all sequences.
    """
    named = by is not None and (by in columns or by != dataset.roles.by)
    names = [name for name in columns if not is_row_number(name)]
    if named:
        names = [find_name(str(by), list(columns), "'by'")]
    elif not names:
        raise ValueError("no column names the sequences")
    ids, count = dataset.ids, len(dataset)
    numbers = {str(name): i for i, name in enumerate(ids)}
    if len(numbers) < count:
        raise ValueError(f"sequences of {dataset.path} have the same name: labels cannot be told")
    places = {
        name: [numbers.get(str(value), numbers.get(_stem(value))) for value in columns[name]]
        for name in names
    }
    counts = {name: len({*rows} - {None}) for name, rows in places.items()}
    usual = names if named else usual_names(_NAMES, names)
    complete = [name for name in usual if counts[name] == count or (named and counts[name])]
    if not complete and ids != list(range(count)):  # numbered: no names at all
        complete = [name for name in names if len(places[name]) == counts[name] == count]
    if complete and all(places[name] == places[complete[0]] for name in complete):
        return complete[0], places[complete[0]]
    partial = [f"{name!r} names {counts[name]} of {count}" for name in names if counts[name]]
    if not partial:
        first = (usual or names)[0]
        held = f"it has {columns[first][0]!r} in {first!r}, {dataset.path} has {ids[0]!r}"
        hint = "say with 'by' which column names them"
        raise ValueError(f"it names none of the sequences: {held}; {hint}")
    which = "say which with 'by' (sequences that it does not name have no label)"
    raise ValueError(
        f"it is not certain which column names the sequences: {shorten(partial)}; {which}"
    )


def _stem(value: Any) -> str:
    """Return the name of a file without folders and its ending, which begins with a letter."""
    return _ENDING.sub("", PureWindowsPath(str(value)).name)
