"""A table with the label of each sequence, beside the file that has the tokens."""

from pathlib import Path
from typing import Any

from sparsetoken.files.dataset import Dataset, is_missing, make_dataset, shorten
from sparsetoken.files.formats import Table
from sparsetoken.files.names import USUAL, Wanted
from sparsetoken.files.tables import read_columns


def with_table(dataset: Dataset, path: Path, table: Table, wanted: Wanted) -> Dataset:
    """Look the label and the group of each sequence up in a table."""
    columns = read_columns(table)
    names, usual = list(columns), USUAL["label"]
    if not names or not columns[names[0]]:
        raise ValueError(f"{path} has no rows")
    place = {str(name): i for i, name in enumerate(dataset.ids)}
    by = _column_of_names(dataset, path, columns, place, wanted)
    label = wanted.pick("label", names, str(path), [name for name in usual if name != by])
    if label is None:
        others = [name for name in names if name != by]
        raise ValueError(
            f"{path}: name the column with the label with label=, one of {shorten(others, 20)}"
        )
    group = wanted.pick("group", names, str(path))
    used = [columns[name] for name in (label, group) if name is not None]
    rows: dict[int, int] = {}
    for number, name in enumerate(columns[by]):
        found = _place(name, place)
        if found is None:
            continue
        before = rows.setdefault(found, number)
        if any(column[number] != column[before] for column in used):
            raise ValueError(f"{path}, row {number}: another label or group for {name!r}")

    def looked_up(name: str) -> list[Any]:
        return [columns[name][rows[i]] if i in rows else None for i in range(len(dataset))]

    groups = None if group is None else looked_up(group)
    if groups is not None and any(map(is_missing, groups)):
        without = next(i for i, value in enumerate(groups) if is_missing(value))
        raise ValueError(f"{path}: sequence {dataset.ids[without]!r} has no {group!r}")
    return make_dataset(
        dataset.path,
        dataset.sequences,
        dataset.ids,
        dataset.rows,
        looked_up(label),
        groups,
        dataset.coords,
        dict(dataset.reading) | {"label": label},
    )


def _place(name: Any, place: dict[str, int]) -> int | None:
    """Return the number of the sequence of a name, which may end as a file does."""
    return place.get(str(name), place.get(Path(str(name)).stem))


def _column_of_names(
    dataset: Dataset,
    path: Path,
    columns: dict[str, list[Any]],
    place: dict[str, int],
    wanted: Wanted,
) -> str:
    """Return the column that names sequences: the one that is told, or has most of the names."""
    matches = {
        name: len({_place(cell, place) for cell in cells} - {None})
        for name, cells in columns.items()
    }
    by = max(matches, key=lambda name: matches[name])
    if wanted.by in columns:
        by = str(wanted.by)
    if not matches[by]:
        raise ValueError(
            f"{path} names none of the sequences: it has {columns[by][0]!r} in {by!r}, "
            f"{dataset.path} has {dataset.ids[0]!r}; the column of names is by="
        )
    return by
