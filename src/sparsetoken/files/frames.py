"""Tables of Arrow: text, Parquet, Arrow files, and folders of Hugging Face datasets."""

import csv
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sparsetoken._validation import import_extra
from sparsetoken.files.guards import UnreadableError, check_size, report_damage

_NO_NUMBER = re.compile(r"column #(\d+): Row #(\d+): CSV conversion error to double")
_WIDTH = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_IGNORE = "if this column is no feature, leave it out with 'ignore'"
_FILL = "Sequences.from_frame and estimators.PerToken(SimpleImputer()) fill it"


class Table(NamedTuple):
    """A file with columns."""

    path: Path
    schema: Any  # of Arrow: names and types of the columns
    batches: Callable[[Sequence[str], Sequence[str]], Iterable[Any]]  # of texts, and of features
    text: bool = False  # types are chosen when it is read

    @property
    def kinds(self) -> dict[str, str]:
        """What each column holds: "text", "number", "vector", "tokens", or its type."""
        kinds = {field.name: "any" if self.text else _kind(field.type) for field in self.schema}
        if len(kinds) < len(self.schema):
            twice = next(name for name, n in Counter(self.schema.names).items() if n > 1)
            raise ValueError(f"{self.path} has two columns named {twice!r}")
        return kinds

    def read(
        self, texts: Sequence[str], features: Sequence[str], max_numbers: int | None = None
    ) -> Any:
        """Return some columns as a table of Arrow, checked before anything in it is used."""
        import pyarrow

        batches, numbers = [], 0
        with report_damage(self.path):
            for batch in self.batches(texts, features):
                batch.validate(full=True)  # a damaged file may point outside of itself
                numbers += sum(_numbers(batch.column(name)) for name in features)
                check_size(self.path, numbers, 4, max_numbers)
                batches.append(batch)
            schema = batches[0].schema if batches else pyarrow.schema([])
            return pyarrow.Table.from_batches(batches, schema)

    def where(self, row: int, column: str) -> str:
        """Say where a cell is, by its row counted from 0, and in a text what it holds."""
        if not self.text:
            return f"row {row}, column {column!r}: its value"
        line, cells = next(islice(_lines(self.path), row + 1, None))
        return f"line {line}, column {column!r}: {cells[self.schema.names.index(column)]!r}"

    def no_number(self, row: int, column: str, more: str = "") -> UnreadableError:
        """Return the error of a feature that is no finite number, or is missing."""
        cell = f"{self.where(row, column)} is not a finite number{more}"
        return UnreadableError(f"{cell}; {_IGNORE}; if a value is missing, {_FILL}")


def is_table(path: str | Path) -> bool:
    """Return whether a file, or a folder of Hugging Face datasets, has columns, not arrays."""
    saved_to_disk = any(Path(path, f"{n}.json").exists() for n in ("state", "dataset_dict"))
    return saved_to_disk or _ending(Path(path)) in TABLES


def open_table(path: str | Path, what: str = "path") -> Table:
    """Open a file, or a folder of Hugging Face datasets, that has columns."""
    path = Path(path)
    if not is_table(path):
        raise ValueError(f"{what} must end in {', '.join(TABLES)}, got {path.name!r}")
    import_extra("pyarrow", f"{path}: {path.suffix or 'Arrow'}")
    return _open_saved_to_disk(path) if path.is_dir() else TABLES[_ending(path)](path)


def _ending(path: Path) -> str:
    return path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix


def _open_text(path: Path) -> Table:
    """Open text with the names of its columns in the first line."""
    import pyarrow
    from pyarrow import csv as arrow

    _, header = next(_lines(path), (0, []))
    if len(header) == 1 and (other := re.search(r"[;\t|]", header[0])):
        raise ValueError(f"{path} must have commas between its columns, got {other[0]!r}")
    schema = pyarrow.schema([(name, pyarrow.string()) for name in header])

    def batches(texts: Sequence[str], features: Sequence[str]) -> Iterator[Any]:
        kinds = dict.fromkeys(texts, pyarrow.string()) | dict.fromkeys(features, pyarrow.float64())
        try:
            yield from arrow.open_csv(
                path,
                arrow.ReadOptions(use_threads=False),
                arrow.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True),
                arrow.ConvertOptions(column_types=kinds, include_columns=list(kinds)),
            )
        except pyarrow.ArrowInvalid as error:
            raise _in_words(table, str(error)) from None

    table = Table(path, schema, batches, text=True)
    return table


def _open_parquet(path: Path) -> Table:
    from pyarrow import parquet

    with report_damage(path):
        file = parquet.ParquetFile(path)

    def batches(texts: Sequence[str], features: Sequence[str]) -> Iterator[Any]:
        about = file.metadata  # not of its columns: damage there ends the process
        check_size(path, about.num_rows * len(features), 4, None)  # before anything is unpacked
        sizes = [about.row_group(i).total_byte_size for i in range(about.num_row_groups)]
        check_size(path, sum(sizes), 1, None)
        return parquet.ParquetFile(path).iter_batches(columns=[*texts, *features])

    return Table(path, file.schema_arrow, batches)


def _open_saved_to_disk(folder: Path) -> Table:
    """Open what ``Dataset.save_to_disk`` wrote: Arrow files that ``state.json`` lists."""
    if not (folder / "state.json").exists():
        splits = sorted(path.parent.name for path in folder.glob("*/state.json"))
        raise ValueError(f"{folder} holds several sets, {', '.join(splits)}: name one of them")
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        files = [folder / Path(entry["filename"]).name for entry in state["_data_files"]]
        indexed = state.get("_indices_data_files") or state.get("_indices_files")
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ValueError(f"{folder / 'state.json'} does not list the files of a dataset") from None
    if indexed or not files:
        raise ValueError(f"{folder}: call flatten_indices() before save_to_disk")
    return _open_arrow(folder, files)


def _open_arrow(path: Path, files: Sequence[Path] = ()) -> Table:
    """Open an Arrow file or stream, of which Feather is one, or the files of a folder."""
    files = files or [path]

    def batches(texts: Sequence[str], features: Sequence[str]) -> Iterator[Any]:
        for file in files:
            reader = _reader(file)
            count = getattr(reader, "num_record_batches", None)  # that of a stream is not known
            for batch in reader if count is None else map(reader.get_batch, range(count)):
                yield batch.select([*texts, *features])

    return Table(path, _reader(files[0]).schema, batches)


def _reader(path: Path) -> Any:
    import pyarrow

    with report_damage(path):
        source = pyarrow.memory_map(str(path))
        try:
            reader = pyarrow.ipc.open_file(source)
        except pyarrow.ArrowInvalid:
            source.seek(0)
            reader = pyarrow.ipc.open_stream(source)
        _ = reader.schema.names  # damaged names are no text
        return reader


TABLES: dict[str, Callable[[Path], Table]] = {
    ".csv": _open_text,
    ".tsv": _open_text,
    ".parquet": _open_parquet,
    ".arrow": _open_arrow,
    ".feather": _open_arrow,
}


def _numbers(column: Any) -> int:
    """Return how many numbers a column holds, also inside lists."""
    while hasattr(column, "flatten") and not hasattr(column, "field"):
        column = column.flatten()
    return len(column)


def _kind(kind: Any) -> str:
    from pyarrow import types

    if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return "text"
    kind = getattr(kind, "storage_type", kind)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        nested = {"number": "vector", "vector": "tokens", "tokens": "lists of lists of lists"}
        return nested.get(_kind(kind.value_type), str(kind))
    return str(kind)


def _in_words(table: Table, error: str) -> ValueError:
    """Return what Arrow could not read in a text, with the line and the name of the column."""
    if cell := _NO_NUMBER.search(error):
        return table.no_number(int(cell[2]) - 2, table.schema.names[int(cell[1])])
    if row := _WIDTH.search(error):
        line, _ = next(islice(_lines(table.path), int(row[1]) - 1, None))
        return UnreadableError(f"line {line}: {row[3]} columns instead of {row[2]}")
    return UnreadableError("it is not text in UTF-8") if "UTF8" in error else ValueError(error)


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of the lines that are not blank: header first."""
    opened = gzip.open if path.suffix == ".gz" else open
    with report_damage(path), opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=_delimiter(path))
        try:
            yield from ((reader.line_num, cells) for cells in reader if cells)
        except UnicodeDecodeError:
            raise UnreadableError("it is not text in UTF-8") from None


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in path.suffixes[-2:] else ","
