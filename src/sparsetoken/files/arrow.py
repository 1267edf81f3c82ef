"""Arrow: ``.parquet``, ``.arrow``, ``.feather``, and folders that Hugging Face datasets saves."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._validation import import_extra
from sparsetoken.files.formats import Block, Table, UnreadableError, column_kinds, damage
from sparsetoken.sequences.interop import split_lists

_CELLS = 2**18  # cells that are read at a time
_SEQUENCES = 64  # rows that are read at a time if each is a sequence

Batches = Callable[[list[str], int], Iterator[Any]]


def open_parquet(path: Path) -> Table:
    """Open a Parquet file."""
    import_extra("pyarrow", f"{path}: Parquet")
    from pyarrow import parquet

    with damage(path):
        file = parquet.ParquetFile(path)

    def batches(names: list[str], size: int) -> Iterator[Any]:
        return parquet.ParquetFile(path).iter_batches(size, columns=names)

    def count(features: Sequence[str]) -> int:
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        with damage(path):
            columns = [group.column(i) for group in groups for i in range(group.num_columns)]
            return sum(c.num_values for c in columns if c.path_in_schema.split(".")[0] in features)

    return _table(path, file.schema_arrow, batches)._replace(count=count)


def open_ipc(path: Path) -> Table:
    """Open an Arrow file or stream; Feather is one of these."""
    import_extra("pyarrow", f"{path}: {path.suffix}")
    return _table(path, _reader(path).schema, partial(_ipc_batches, [path]))


def is_saved_to_disk(folder: Path) -> bool:
    """Return whether Hugging Face datasets has written a folder."""
    return (folder / "state.json").exists() or (folder / "dataset_dict.json").exists()


def open_saved_to_disk(folder: Path) -> Table:
    """Open what ``Dataset.save_to_disk`` wrote: Arrow files that ``state.json`` lists."""
    import_extra("pyarrow", f"{folder}: Arrow")
    if not (folder / "state.json").exists():
        splits = sorted(path.parent.name for path in folder.glob("*/state.json"))
        raise ValueError(f"{folder} holds several sets, {', '.join(splits)}: name one of them")
    try:
        state = json.loads((folder / "state.json").read_text())
        files = [folder / Path(entry["filename"]).name for entry in state["_data_files"]]
        indexed = state.get("_indices_data_files") or state.get("_indices_files")
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ValueError(f"{folder / 'state.json'} does not list the files of a dataset") from None
    if indexed or not files:
        raise ValueError(f"{folder}: call flatten_indices() before save_to_disk")
    return _table(folder, _reader(files[0]).schema, partial(_ipc_batches, files))


def _reader(path: Path) -> Any:
    import pyarrow

    with damage(path):
        source = pyarrow.memory_map(str(path))
        try:
            return pyarrow.ipc.open_file(source)
        except pyarrow.ArrowInvalid:
            source.seek(0)
            return pyarrow.ipc.open_stream(source)


def _ipc_batches(paths: list[Path], names: list[str], size: int) -> Iterator[Any]:
    for path in paths:
        reader = _reader(path)
        count = getattr(reader, "num_record_batches", None)  # that of a stream is not known
        for batch in reader if count is None else map(reader.get_batch, range(count)):
            columns = batch.select(names)
            yield from (columns.slice(start, size) for start in range(0, len(columns), size))


def _table(path: Path, schema: Any, batches: Batches) -> Table:
    with damage(path):
        names = list(schema.names)
    kinds = column_kinds(path, names, [_kind(column.type) for column in schema])

    def blocks(texts: Sequence[str], features: Sequence[str]) -> Iterator[Block]:
        nested = [kinds[name] for name in features if kinds[name] in ("vector", "tokens")]
        size = _SEQUENCES if "tokens" in nested else max(1, _CELLS // len(names))
        with damage(path):
            for batch in batches([*texts, *features], size):
                cells = [batch.column(name).to_pylist() for name in texts]
                if nested:
                    yield _nested(cells, batch, features[0], nested[0])
                else:
                    yield Block(cells, _numbers(batch, features))

    return Table(kinds, blocks, lambda row, column: f"row {row}, column {column!r}: its value")


def _numbers(batch: Any, features: Sequence[str]) -> Any:
    kinds = {str(batch.schema.field(name).type) for name in features}
    dtype = np.float32 if kinds <= {"float", "halffloat"} else np.float64
    values = np.empty((batch.num_rows, len(features)), dtype)
    for i, name in enumerate(features):
        values[:, i] = batch.column(name).to_numpy(zero_copy_only=False)
    return values


def _nested(cells: list[list[Any]], batch: Any, name: str, kind: str) -> Block:
    import pyarrow

    column = batch.column(name)
    if kind == "vector":  # one token per row: a list of one sequence
        ends = pyarrow.array([0, len(column)], pyarrow.int64())
        column = pyarrow.LargeListArray.from_arrays(ends, getattr(column, "storage", column))
    try:
        tokens, lengths = split_lists(column) or (np.empty((0, 0)), np.empty(0))
    except ValueError as error:
        raise UnreadableError(f"column {name!r}: {error}") from None
    return Block(cells, tokens, None if kind == "vector" else lengths)


def _kind(kind: Any) -> str:
    from pyarrow import types

    if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return "text"
    kind = getattr(kind, "storage_type", kind)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = _kind(kind.value_type)
        nested = {"number": "vector", "vector": "tokens", "tokens": "lists of lists of lists"}
        return nested.get(inner, str(kind))
    return str(kind)
