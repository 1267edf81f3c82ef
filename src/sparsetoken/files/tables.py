"""Tables: one token a row, or one sequence a row with its tokens in a list."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetoken.files.dataset import Dataset, Rows, is_missing, make_dataset, shorten
from sparsetoken.files.formats import Block, Table, check_size
from sparsetoken.files.names import USUAL, Wanted, find_names
from sparsetoken.sequences.forms import offsets_of
from sparsetoken.sequences.grouping import constant_columns, first_rows
from sparsetoken.sequences.interop import as_floats
from sparsetoken.sequences.sequences import Sequences

Array = NDArray[Any]


class _ChosenColumns(NamedTuple):
    """The columns of a table that are read."""

    by: str | None
    label: str | None
    group: str | None
    features: list[str]


def read_table(path: Path, table: Table, wanted: Wanted) -> Dataset:
    """Read sequences from a table."""
    columns = _choose(path, table, wanted)
    check_size(path, table.count(columns.features), 4, wanted.max_numbers)
    read = _TokenRows(path, table, columns)
    first = 0
    for block in table.blocks(read.texts, columns.features):
        first = read.add(block, first)
        check_size(path, read.tokens.count * read.dim, 4, wanted.max_numbers)
    if not read.tokens.count:
        raise ValueError(f"{path} has no tokens: only the names of columns")
    tokens, numbers, lengths = (rows.whole() for rows in (read.tokens, read.numbers, read.lengths))
    ids, codes = list(range(len(numbers))), np.arange(len(numbers))
    if columns.by is not None:
        ids, codes = read.cells[columns.by].decoded()
    labels, groups = (
        None if name is None else read.one_each(name, ids, codes, numbers)
        for name in (columns.label, columns.group)
    )
    of_token = np.repeat(codes, lengths)
    if wanted.features is None and table.kinds[columns.features[0]] in ("any", "number"):
        _check_no_label(path, columns, tokens, of_token)
    rows = np.repeat(numbers, lengths)
    if (np.diff(of_token) < 0).any():
        order = np.argsort(of_token, kind="stable")
        tokens, rows = tokens[order], rows[order]
    offsets = offsets_of(np.bincount(of_token, minlength=len(ids)))
    names = columns.features if len(columns.features) == tokens.shape[1] else None
    reading = columns._asdict() | {"table": True}
    return make_dataset(
        path, Sequences(tokens, offsets, names), ids, rows, labels, groups, reading=reading
    )


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
        self.codes, self.values = Rows(), dict[Any, int]()

    def add(self, cells: list[Any]) -> None:
        values = self.values
        self.codes.add(np.array([values.setdefault(c, len(values)) for c in cells], np.int32))

    def decoded(self) -> tuple[list[Any], Array]:
        return list(self.values), self.codes.whole()


class _TokenRows:
    """Rows of a table, collected block by block."""

    def __init__(self, path: Path, table: Table, columns: _ChosenColumns) -> None:
        self.path, self.table, self.columns = path, table, columns
        self.texts = [name for name in columns[:3] if isinstance(name, str)]
        self.cells = {name: _Coded() for name in self.texts}
        self.tokens, self.numbers, self.lengths = Rows(), Rows(), Rows()
        self.dim = 0

    def add(self, block: Block, first: int) -> int:
        """Check and keep a block whose first row has this number; return that of the next."""
        lengths = block.lengths
        n_rows = len(block.tokens) if lengths is None else len(lengths)
        numbers = np.arange(first, first + n_rows, dtype=np.int32)
        if self.columns.by is not None and lengths is None:
            block, numbers = _without_blanks(block, numbers)
        self._check(block, numbers)
        for name, cells in zip(self.texts, block.cells, strict=True):
            self.cells[name].add(cells)
        tokens = as_floats(block.tokens, f"{self.path}: {self.columns.features[0]!r}")
        if self.dim and len(tokens) and tokens.shape[1] != self.dim:
            raise ValueError(
                f"{self.path}, row {first}: {tokens.shape[1]} features per token, {self.dim} before"
            )
        if len(tokens):
            self.dim = tokens.shape[1]
            self.tokens.add(tokens)
        self.numbers.add(numbers)
        self.lengths.add(np.ones(len(numbers), np.int64) if lengths is None else lengths)
        return first + n_rows

    def one_each(self, name: str, ids: list[Any], codes: Array, numbers: Array) -> list[Any]:
        """Return the value of each sequence, which all its rows share."""
        values, of_row = self.cells[name].decoded()
        missing = np.array([is_missing(value) for value in values])
        same = np.where(missing[of_row], -1, of_row)
        first = first_rows(codes)
        differs = same != same[first][codes]
        if differs.any():
            row = int(differs.argmax())
            raise ValueError(
                f"{self.path}, {self.table.where(int(numbers[row]), name)}, but "
                f"{values[of_row[first[codes[row]]]]!r} before in sequence {ids[codes[row]]!r}"
            )
        return [values[code] for code in of_row[first]]

    def _check(self, block: Block, numbers: Array) -> None:
        """Refuse rows without the name of a sequence, and numbers that are none."""
        where, columns = self.table.where, self.columns
        by = block.cells[0] if columns.by is not None else [0] * len(numbers)
        for number, name in zip(numbers, by, strict=True):
            if name is None or name != name or name == "":
                raise ValueError(
                    f"{self.path}, {where(int(number), str(columns.by))} names no sequence"
                )
        if block.lengths is not None or self.table.kinds[columns.features[0]] == "vector":
            return  # checked with the sequences
        finite = np.isfinite(block.tokens)
        if not finite.all():
            row, feature = np.argwhere(~finite)[0]
            name = columns.features[feature]
            remedy = f"ignore={name!r}"
            if columns.label is None:
                remedy = f"label={name!r}, or {remedy}"
            raise ValueError(
                f"{self.path}, {where(int(numbers[row]), name)} is not a finite number, in "
                f"sequence {by[row]!r}; if this column is no feature, say {remedy}"
            )


def _choose(path: Path, table: Table, wanted: Wanted) -> _ChosenColumns:
    """Decide what each column is."""
    kinds, where = table.kinds, f"{path}, columns"
    header = list(kinds)
    by = wanted.pick("by", header, where)
    label = wanted.pick("label", header, where, USUAL["label"][:2])
    group = wanted.pick("group", header, where)
    for role, name in (("by", by), ("label", label), ("group", group)):
        if name is not None and any(word in kinds[name] for word in ("vector", "tokens", "<")):
            raise ValueError(f"{path}: {role}={name!r} holds {kinds[name]}, not names")
    ignored = find_names(wanted.ignore, header, where)
    features = _features(path, kinds, wanted, {by, label, group, *ignored})
    if by is None and kinds[features[0]] != "tokens":
        raise ValueError(
            f"{path}: no column 'bag' or 'sequence' among {shorten(header, 8) or 'none'}; name the "
            "column with the sequence of each token with by="
        )
    return _ChosenColumns(by, label, group, features)


def _features(path: Path, kinds: dict[str, str], wanted: Wanted, taken: set[Any]) -> list[str]:
    named = wanted.features
    if named is None and wanted.like.get("table"):
        named = tuple(wanted.like["features"])
    if named is None:
        free = [name for name in kinds if name not in taken]
        nested = [name for name in free if kinds[name] == "tokens"]
        nested = nested or [name for name in free if kinds[name] == "vector"]
        if len(nested) > 1:
            raise ValueError(
                f"{path}: the tokens may be in {shorten(nested)}; say which with features="
            )
        features = nested or free
    else:
        features = find_names(named, list(kinds), f"{path}, columns")
        if any("*" in pattern for pattern in named):
            features = [name for name in features if name not in taken]
        for name in features:
            if name in taken:
                raise ValueError(f"{path}: {name!r} cannot be a feature and something else too")
    if not features:
        raise ValueError(f"{path}, line 1: no columns with features")
    if len(features) == 1 and kinds[features[0]] in ("vector", "tokens"):
        return features
    for name in features:
        if kinds[name] not in ("any", "number"):
            held = {"text": "string"}.get(kinds[name], kinds[name])
            raise ValueError(
                f"{path}: column {name!r} holds {held}, not numbers; leave it out with "
                f"ignore={name!r}"
            )
    return features


def _check_no_label(path: Path, columns: _ChosenColumns, tokens: Array, of_token: Array) -> None:
    """Refuse what looks like a second label among columns that nobody has called features."""
    constant = constant_columns(tokens, of_token)
    if constant.size:
        name = columns.features[constant[0]]
        raise ValueError(
            f"{path}: column {name!r} has one value in each sequence, as a label has; leave it "
            f"out with ignore={name!r}, or say features='*' if it is a feature"
        )


def _without_blanks(block: Block, numbers: Array) -> tuple[Block, Array]:
    """Return a block without rows of empty cells, as spreadsheets write, and its rows' numbers."""
    ids = block.cells[0]
    if "" not in ids and None not in ids:
        return block, numbers
    kept = [
        i
        for i, name in enumerate(ids)
        if name not in ("", None) or not np.isnan(block.tokens[i]).all()
    ]
    return Block(_rows_of(block.cells, kept), block.tokens[kept]), numbers[kept]


def _rows_of(columns: list[list[Any]], rows: Sequence[int]) -> list[list[Any]]:
    return [[cells[i] for i in rows] for cells in columns]
