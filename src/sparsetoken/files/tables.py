"""Tables: one token per row, or one sequence per row with its tokens in a list; or labels alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.dataset import Dataset, TokenRows, is_missing, make_dataset
from sparsetoken.files.formats import Table, check_size, shorten
from sparsetoken.files.names import USUAL, Wanted, find_names
from sparsetoken.sequences.forms import offsets_of
from sparsetoken.sequences.grouping import constant_columns, first_rows
from sparsetoken.sequences.interop import as_floats
from sparsetoken.sequences.sequences import Sequences


class _Columns(NamedTuple):
    """The columns of a table that are read."""

    by: str | None
    label: str | None
    group: str | None
    features: list[str]


class _TableRows(NamedTuple):
    """The rows of a table that hold something."""

    tokens: Array
    lengths: Array
    """Tokens of each row."""
    numbers: Array
    """Where each row is in the file."""
    coded: dict[str, tuple[list[Any], Array]]
    """The values of each column of names or labels, and which of them each row has."""


def read_table(path: Path, table: Table, wanted: Wanted) -> Dataset:
    """Read sequences from a table."""
    columns = _choose(table, wanted)
    rows = _collect(path, table, columns, wanted.max_numbers)
    tokens, lengths, numbers, coded = rows
    ids, codes = coded.get(columns.by or "", (list(range(len(numbers))), np.arange(len(numbers))))
    for code, name in enumerate(ids):
        if name is None or name != name or name == "":
            cell = table.where(int(numbers[codes == code][0]), str(columns.by))
            raise ValueError(f"{cell} names no sequence")
    labels, groups = (
        None if name is None else _one_each(table, name, rows, ids, codes)
        for name in (columns.label, columns.group)
    )
    of_token, numbers = np.repeat(codes, lengths), np.repeat(numbers, lengths)
    if wanted.features is None and table.kinds[columns.features[0]] in ("any", "number"):
        constant = constant_columns(tokens, of_token)
        if constant.size:
            name = columns.features[constant[0]]
            raise ValueError(
                f"column {name!r} has one value in each sequence, as a label has; leave it out "
                f"with ignore={name!r}, or say features='*' if it is a feature"
            )
    if (np.diff(of_token) < 0).any():
        order = np.argsort(of_token, kind="stable")
        tokens, numbers = tokens[order], numbers[order]
    feature_names = columns.features if len(columns.features) == tokens.shape[1] else None
    offsets = offsets_of(np.bincount(of_token, minlength=len(ids)))
    sequences = Sequences(tokens, offsets, feature_names)
    reading = columns._asdict() | {"table": True}
    return make_dataset(path, sequences, ids, numbers, labels, groups, reading=reading)


def _collect(path: Path, table: Table, columns: _Columns, max_numbers: int | None) -> _TableRows:
    """Read the rows, and leave out those of empty cells, as spreadsheets write them."""
    check_size(path, table.count(columns.features), 4, max_numbers)
    names = [name for name in columns[:3] if isinstance(name, str)]
    values: list[dict[Any, int]] = [{} for _ in names]
    codes: list[list[Array]] = [[] for _ in names]
    collected, lengths, size, nested = TokenRows(), list[Array](), 0, False
    for cells, block, counts in table.blocks(names, columns.features):
        for numbered, coded, column in zip(values, codes, cells, strict=True):
            coded.append(
                np.array([numbered.setdefault(c, len(numbered)) for c in column], np.int32)
            )
        tokens, nested = as_floats(block, repr(columns.features[0])), counts is not None
        if len(tokens):
            if tokens.shape[1] != (collected.dim or tokens.shape[1]):
                raise ValueError(f"{tokens.shape[1]} features per token, {collected.dim} before")
            collected.add(tokens)
        lengths.append(np.ones(len(tokens), np.int64) if counts is None else counts)
        size += tokens.size
        check_size(path, size, 4, max_numbers)
    if not collected.dim:
        raise ValueError(f"{path} has no tokens: only the names of columns")
    tokens, counts = collected.array(), np.concatenate(lengths)
    listed, of_row = [list(column) for column in values], [np.concatenate(c) for c in codes]
    numbers = np.arange(len(counts))
    if columns.by is not None and not nested:
        nameless = np.array([name in ("", None) for name in listed[0]])
        empty = nameless[of_row[0]]
        empty[empty] = np.isnan(tokens[empty]).all(axis=1)
        if empty.any():
            tokens, counts, numbers = tokens[~empty], counts[~empty], numbers[~empty]
            used, of_row[0] = np.unique(of_row[0][~empty], return_inverse=True)
            listed[0] = [listed[0][code] for code in used]
            of_row[1:] = [coded[~empty] for coded in of_row[1:]]
    pairs = zip(listed, of_row, strict=True)
    rows = _TableRows(tokens, counts, numbers, dict(zip(names, pairs, strict=True)))
    if not nested and table.kinds[columns.features[0]] != "vector":
        _check_finite(table, columns, rows)
    return rows


def _check_finite(table: Table, columns: _Columns, rows: _TableRows) -> None:
    finite = np.isfinite(rows.tokens)
    if finite.all():
        return
    row, feature = np.argwhere(~finite)[0]
    name, sequence = columns.features[feature], ""
    if columns.by is not None:
        ids, codes = rows.coded[columns.by]
        sequence = f", in sequence {ids[codes[row]]!r}"
    label = "" if columns.label is not None else f"label={name!r}, or "
    raise ValueError(
        f"{table.where(int(rows.numbers[row]), name)} is not a finite number{sequence}; if this "
        f"column is no feature, say {label}ignore={name!r}"
    )


def _one_each(table: Table, name: str, rows: _TableRows, ids: list[Any], codes: Array) -> list[Any]:
    """Return the value of each sequence, which all its rows share."""
    values, of_row = rows.coded[name]
    same = np.where([is_missing(value) for value in values], -1, range(len(values)))[of_row]
    first = first_rows(codes)
    differs = same != same[first][codes]
    if differs.any():
        row = int(differs.argmax())
        before = f"{values[of_row[first[codes[row]]]]!r} before in sequence {ids[codes[row]]!r}"
        raise ValueError(f"{table.where(int(rows.numbers[row]), name)}, but {before}")
    return [values[code] for code in of_row[first]]


def _choose(table: Table, wanted: Wanted) -> _Columns:
    """Decide what each column is."""
    kinds, header = table.kinds, list(table.kinds)
    by = wanted.pick("by", header)
    label = wanted.pick("label", header, USUAL["label"][:2])
    group = wanted.pick("group", header)
    for role, name in (("by", by), ("label", label), ("group", group)):
        if name is not None and any(word in kinds[name] for word in ("vector", "tokens", "<")):
            raise ValueError(f"{role}={name!r} holds {kinds[name]}, not names")
    features = _features(kinds, wanted, {by, label, group, *find_names(wanted.ignore, header)})
    if by is None and kinds[features[0]] != "tokens":
        raise ValueError(
            f"no column 'bag' or 'sequence' among {shorten(header, 8)}; name the column with the "
            "sequence of each token with by="
        )
    return _Columns(by, label, group, features)


def _features(kinds: dict[str, str], wanted: Wanted, taken: set[Any]) -> list[str]:
    patterns = wanted.features
    if patterns is None and wanted.like.get("table"):
        patterns = tuple(wanted.like["features"])
    if patterns is None:
        free = [name for name in kinds if name not in taken]
        lists = [name for name in free if kinds[name] == "tokens"]
        lists = lists or [name for name in free if kinds[name] == "vector"]
        if len(lists) > 1:
            raise ValueError(f"the tokens may be in {shorten(lists)}; say which with features=")
        features = lists or free
    else:
        features = find_names(patterns, list(kinds))
        if any("*" in pattern for pattern in patterns):
            features = [name for name in features if name not in taken]
        for name in taken & set(features):
            raise ValueError(f"{name!r} cannot be a feature and something else too")
    if not features:
        raise ValueError("no columns with features")
    if len(features) == 1 and kinds[features[0]] in ("vector", "tokens"):
        return features
    for name in features:
        if kinds[name] not in ("any", "number"):
            kind = "string" if kinds[name] == "text" else kinds[name]
            raise ValueError(f"column {name!r} holds {kind}, not numbers; say ignore={name!r}")
    return features


def with_table(dataset: Dataset, table: Table, wanted: Wanted) -> Dataset:
    """Look the label and the group of each sequence up in a table that holds no tokens."""
    names = [name for name, kind in table.kinds.items() if kind in ("any", "text", "number")]
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for block in table.blocks(names, []):
        for name, cells in zip(names, block.cells, strict=True):
            columns[name] += cells
    if not any(columns.values()):
        raise ValueError("it has no rows")
    by, places = _column_of_names(dataset, columns, wanted.by)
    label = wanted.pick("label", names, [name for name in USUAL["label"] if name != by])
    if label is None:
        others = shorten([name for name in names if name != by], 20)
        raise ValueError(f"name the column with the label with label=, one of {others}")
    group = wanted.pick("group", names)
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
    """Return the column that names most sequences, or ``by``, and the sequence of each row."""
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
