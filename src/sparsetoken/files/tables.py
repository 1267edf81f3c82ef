"""Tables: one token per row, or one sequence per row with its tokens in a list."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.dataset import Dataset, Rows, is_missing, make_dataset, shorten
from sparsetoken.files.formats import Block, Table, check_size
from sparsetoken.files.names import USUAL, Wanted, find_names
from sparsetoken.sequences.forms import offsets_of
from sparsetoken.sequences.grouping import constant_columns, first_rows
from sparsetoken.sequences.interop import as_floats
from sparsetoken.sequences.sequences import Sequences


class _ChosenColumns(NamedTuple):
    """The columns of a table that are read."""

    by: str | None
    label: str | None
    group: str | None
    features: list[str]


def read_table(path: Path, table: Table, wanted: Wanted) -> Dataset:
    """Read sequences from a table."""
    columns = _choose(table, wanted)
    check_size(path, table.count(columns.features), 4, wanted.max_numbers)
    rows = _TableRows(table, columns)
    for block in table.blocks(list(rows.coded), columns.features):
        rows.add(block)
        check_size(path, rows.tokens.count * rows.tokens.array.shape[1], 4, wanted.max_numbers)
    if not rows.tokens.count:
        raise ValueError(f"{path} has no tokens: only the names of columns")
    numbers, lengths = np.concatenate(rows.numbers), np.concatenate(rows.lengths)
    ids: list[Any] = list(range(len(numbers)))
    codes = np.arange(len(numbers))
    if columns.by is not None:
        ids, codes = rows.coded[columns.by].decoded()
        for code, name in enumerate(ids):
            if name is None or name != name or name == "":
                cell = table.where(int(numbers[codes == code][0]), columns.by)
                raise ValueError(f"{cell} names no sequence")
    labels, groups = (
        None if name is None else rows.one_each(name, ids, codes, numbers)
        for name in (columns.label, columns.group)
    )
    tokens, of_token = rows.tokens.whole(), np.repeat(codes, lengths)
    if wanted.features is None and table.kinds[columns.features[0]] in ("any", "number"):
        _check_no_label(columns, tokens, of_token)
    numbers = np.repeat(numbers, lengths)
    if (np.diff(of_token) < 0).any():
        order = np.argsort(of_token, kind="stable")
        tokens, numbers = tokens[order], numbers[order]
    offsets = offsets_of(np.bincount(of_token, minlength=len(ids)))
    names = columns.features if len(columns.features) == tokens.shape[1] else None
    reading = columns._asdict() | {"table": True}
    sequences = Sequences(tokens, offsets, names)
    return make_dataset(path, sequences, ids, numbers, labels, groups, reading=reading)


def read_columns(table: Table) -> dict[str, list[Any]]:
    """Read all columns of a small table."""
    names = [name for name, kind in table.kinds.items() if kind in ("any", "text", "number")]
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for block in table.blocks(names, []):
        for name, cells in zip(names, block.cells, strict=True):
            columns[name] += cells
    return columns


class _Coded:
    """A column of names, each stored once: rows hold their numbers."""

    def __init__(self) -> None:
        self.codes: list[Array] = []
        self.values: dict[Any, int] = {}

    def add(self, cells: list[Any]) -> None:
        values = self.values
        self.codes.append(np.array([values.setdefault(c, len(values)) for c in cells], np.int32))

    def decoded(self) -> tuple[list[Any], Array]:
        return list(self.values), np.concatenate(self.codes)


class _TableRows:
    """Rows of a table, collected block by block."""

    def __init__(self, table: Table, columns: _ChosenColumns) -> None:
        self.table, self.columns = table, columns
        self.coded = {name: _Coded() for name in columns[:3] if isinstance(name, str)}
        self.tokens, self.next_row = Rows(), 0
        self.numbers, self.lengths = list[Array](), list[Array]()

    def add(self, block: Block) -> None:
        """Check and keep a block; rows of empty cells, as spreadsheets write, are left out."""
        cells, values, lengths = block
        numbers = self.next_row + np.arange(len(values if lengths is None else lengths))
        self.next_row += len(numbers)
        if lengths is None:
            if self.columns.by is not None and ("" in cells[0] or None in cells[0]):
                named = np.array([name not in ("", None) for name in cells[0]])
                kept = np.flatnonzero(named | ~np.isnan(values).all(axis=1))
                cells = [[column[i] for i in kept] for column in cells]
                values, numbers = values[kept], numbers[kept]
            lengths = np.ones(len(values), np.int64)
            if self.table.kinds[self.columns.features[0]] != "vector":
                self._check_finite(values, numbers, cells)
        for coded, column in zip(self.coded.values(), cells, strict=True):
            coded.add(column)
        tokens = as_floats(values, repr(self.columns.features[0]))
        dim = self.tokens.array.shape[1]
        if self.tokens.count and len(tokens) and tokens.shape[1] != dim:
            raise ValueError(
                f"row {numbers[0]}: {tokens.shape[1]} features per token, {dim} before"
            )
        if len(tokens):
            self.tokens.add(tokens)
        self.numbers.append(numbers.astype(np.int32))
        self.lengths.append(lengths)

    def one_each(self, name: str, ids: list[Any], codes: Array, numbers: Array) -> list[Any]:
        """Return the value of each sequence, which all its rows share."""
        values, of_row = self.coded[name].decoded()
        missing = np.array([is_missing(value) for value in values])
        same = np.where(missing[of_row], -1, of_row)
        first = first_rows(codes)
        differs = same != same[first][codes]
        if differs.any():
            row = int(differs.argmax())
            raise ValueError(
                f"{self.table.where(int(numbers[row]), name)}, but "
                f"{values[of_row[first[codes[row]]]]!r} before in sequence {ids[codes[row]]!r}"
            )
        return [values[code] for code in of_row[first]]

    def _check_finite(self, values: Array, numbers: Array, cells: list[list[Any]]) -> None:
        finite = np.isfinite(values)
        if finite.all():
            return
        row, feature = np.argwhere(~finite)[0]
        name = self.columns.features[feature]
        sequence = f", in sequence {cells[0][row]!r}" if self.columns.by is not None else ""
        label = "" if self.columns.label is not None else f"label={name!r}, or "
        raise ValueError(
            f"{self.table.where(int(numbers[row]), name)} is not a finite number{sequence}; if "
            f"this column is no feature, say {label}ignore={name!r}"
        )


def _choose(table: Table, wanted: Wanted) -> _ChosenColumns:
    """Decide what each column is."""
    kinds, header = table.kinds, list(table.kinds)
    by = wanted.pick("by", header)
    label = wanted.pick("label", header, USUAL["label"][:2])
    group = wanted.pick("group", header)
    for role, name in (("by", by), ("label", label), ("group", group)):
        if name is not None and any(word in kinds[name] for word in ("vector", "tokens", "<")):
            raise ValueError(f"{role}={name!r} holds {kinds[name]}, not names")
    ignored = find_names(wanted.ignore, header)
    features = _features(kinds, wanted, {by, label, group, *ignored})
    if by is None and kinds[features[0]] != "tokens":
        raise ValueError(
            f"no column 'bag' or 'sequence' among {shorten(header, 8) or 'none'}; name the column "
            "with the sequence of each token with by="
        )
    return _ChosenColumns(by, label, group, features)


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
        for name in features:
            if name in taken:
                raise ValueError(f"{name!r} cannot be a feature and something else too")
    if not features:
        raise ValueError("no columns with features")
    if len(features) == 1 and kinds[features[0]] in ("vector", "tokens"):
        return features
    for name in features:
        if kinds[name] not in ("any", "number"):
            held = "string" if kinds[name] == "text" else kinds[name]
            raise ValueError(
                f"column {name!r} holds {held}, not numbers; leave it out with ignore={name!r}"
            )
    return features


def _check_no_label(columns: _ChosenColumns, tokens: Array, of_token: Array) -> None:
    """Refuse what looks like a second label among columns that nobody has called features."""
    constant = constant_columns(tokens, of_token)
    if constant.size:
        name = columns.features[constant[0]]
        raise ValueError(
            f"column {name!r} has one value in each sequence, as a label has; leave it out with "
            f"ignore={name!r}, or say features='*' if it is a feature"
        )
