"""Tables with one token a row: CSV, tab-separated text and Parquet, read block by block."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetoken._validation import import_extra
from sparsetoken.files.columns import Columns, choose_columns
from sparsetoken.files.dataset import (
    Dataset,
    Rows,
    Selection,
    is_missing,
    make_dataset,
)
from sparsetoken.files.text import (
    CELLS,
    Block,
    NotReadError,
    arrow_blocks,
    csv_blocks,
    find_cell,
    read_rows,
    to_block,
)
from sparsetoken.sequences.convert import as_sequences
from sparsetoken.sequences.grouping import constant_columns
from sparsetoken.sequences.interop import find_name
from sparsetoken.sequences.sequences import Sequences

__all__ = ["read_csv", "read_parquet"]

Array = NDArray[Any]


def read_csv(path: Path, selection: Selection) -> Dataset:
    """Read ``.csv`` or ``.tsv``, or these with ``.gz``: one token a line after the header."""
    header = next(read_rows(path), [])
    columns = choose_columns(path, header, selection)

    def where(row: Any, column: str) -> str:
        line, text = find_cell(path, row, header.index(column))
        return f"line {line}, column {column!r}: {text!r}"

    try:
        return _collect(path, columns, selection, arrow_blocks(path, columns), where)
    except NotReadError:
        return _collect(path, columns, selection, csv_blocks(path, header, columns), where)


def read_parquet(path: Path, selection: Selection) -> Dataset:
    """Read a Parquet file: one token a row, or one sequence a row with its tokens in a list."""
    import_extra("pyarrow", f"{path}: Parquet")
    from pyarrow import ArrowException, parquet, types

    try:
        file = parquet.ParquetFile(path)
    except ArrowException as error:
        raise ValueError(f"{path} is not a Parquet file, or is damaged: {error}") from None
    schema = file.schema_arrow
    lists = [f.name for f in schema if types.is_list(f.type) or types.is_large_list(f.type)]
    if lists and (selection.features or (lists[0],)) == (lists[0],):
        return _one_sequence_a_row(path, file.read(), lists[0], selection)
    columns = choose_columns(path, schema.names, selection)
    for name in columns.features:
        kind = schema.field(name).type
        if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
            raise ValueError(
                f"{path}: column {name!r} holds {kind}, not numbers; leave it out with "
                f"--ignore {name}"
            )

    def where(row: Any, column: str) -> str:
        return f"row {row}, column {column!r}: its value"

    size = max(1, CELLS // len(schema.names))
    batches = file.iter_batches(size, columns=[*columns.texts, *columns.features])
    return _collect(path, columns, selection, map(to_block(columns), batches), where)


def _one_sequence_a_row(path: Path, table: Any, name: str, selection: Selection) -> Dataset:
    known = table.column_names

    def column(field: str, default: str | None) -> list[Any] | None:
        given = getattr(selection, field) or default
        if given not in known and (given == default or field in selection.remembered):
            return None
        return list(table[find_name(str(given), known, str(path))].to_pylist())

    try:
        sequences = as_sequences(table[name])
    except ValueError as error:
        raise ValueError(f"{path}, column {name!r}: {error}") from None
    ids = column("by", "bag") or list(range(table.num_rows))
    groups = column("group", None)
    return make_dataset(
        path,
        Sequences(sequences.tokens, sequences.offsets, ids=np.array(ids)),
        column("label", "label"),
        groups,
        np.repeat(np.arange(len(ids)), sequences.lengths),
        selection,
    )


def _collect(
    path: Path,
    columns: Columns,
    selection: Selection,
    blocks: Iterator[Block],
    where: Callable[[Any, str], str],
) -> Dataset:
    """Put blocks together: number the sequences, and check every cell."""
    codes: dict[Any, int] = {}
    labels: list[Any] = []
    groups: list[Any] = []
    tokens, of_token, numbers = Rows(), Rows(), Rows()
    first = 0
    for whole in blocks:
        block, rows = _without_blanks(whole, first)
        first += len(whole.ids)
        _check_cells(path, columns, block, rows, where)
        own = [codes.setdefault(name, len(codes)) for name in block.ids]
        for column, cells, known in (
            (columns.label, block.labels, labels),
            (columns.group, block.groups, groups),
        ):
            odd = None if cells is None else _first_contradiction(own, cells, known)
            if odd is not None:
                raise ValueError(
                    f"{path}, {where(rows[odd], str(column))}, but {known[own[odd]]!r} before in "
                    f"sequence {block.ids[odd]!r}"
                )
        tokens.add(block.values)
        of_token.add(np.array(own, dtype=np.int32))
        numbers.add(rows)
    if not codes:
        raise ValueError(f"{path} has no tokens: only the line with the columns")
    values, own_codes, rows = tokens.whole(), of_token.whole(), numbers.whole()
    if selection.features is None:
        _check_no_label(path, columns, values, own_codes)
    if (np.diff(own_codes) < 0).any():
        order = np.argsort(own_codes, kind="stable")
        values, rows = values[order], rows[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(own_codes))])
    sequences = Sequences(values, offsets, columns.features, np.array(list(codes)))
    return make_dataset(
        path,
        sequences,
        labels if columns.label is not None else None,
        groups if columns.group is not None else None,
        rows,
        Selection(columns.by, columns.label, columns.group, tuple(columns.features)),
    )


def _check_cells(
    path: Path, columns: Columns, block: Block, rows: Array, where: Callable[[Any, str], str]
) -> None:
    """Refuse rows without the name of a sequence, and numbers that are none."""
    for i, name in enumerate(block.ids):
        if name is None or name != name or name == "":
            raise ValueError(f"{path}, {where(rows[i], columns.by)} names no sequence")
    finite = np.isfinite(block.values)
    if not finite.all():
        row, feature = np.argwhere(~finite)[0]
        name = columns.features[feature]
        remedy = f"--ignore {name}"
        if columns.label is None:
            remedy = f"--label {name}, or {remedy}"
        raise ValueError(
            f"{path}, {where(rows[row], name)} is not a finite number, in sequence "
            f"{block.ids[row]!r}; if this column is no feature, say {remedy}"
        )


def _check_no_label(path: Path, columns: Columns, tokens: Array, of_token: Array) -> None:
    """Refuse what looks like a second label among columns that nobody has called features."""
    told = constant_columns(tokens, of_token)
    if told.size:
        name = columns.features[told[0]]
        raise ValueError(
            f"{path}: column {name!r} has one value in each sequence, as a label has; leave it "
            f"out with --ignore {name}, or say --features '*' if it is a feature"
        )


def _without_blanks(block: Block, first: int) -> tuple[Block, Array]:
    """Return a block without rows of empty cells, as spreadsheets write, and its rows' numbers."""
    rows = np.arange(first, first + len(block.ids), dtype=np.int32)
    if "" not in block.ids and None not in block.ids:
        return block, rows
    kept = [
        i
        for i, name in enumerate(block.ids)
        if name not in ("", None) or not np.isnan(block.values[i]).all()
    ]
    ids, labels, groups = (cells and [cells[i] for i in kept] for cells in block[:3])
    return Block(ids or [], labels, groups, block.values[kept]), rows[kept]


def _first_contradiction(own: list[int], cells: list[Any], known: list[Any]) -> int | None:
    """Note the cell of each new sequence, and return the first row that differs from its own."""
    for i, (code, cell) in enumerate(zip(own, cells, strict=True)):
        if code == len(known):
            known.append(cell)
        elif cell != known[code] and not (is_missing(cell) and is_missing(known[code])):
            return i
    return None
