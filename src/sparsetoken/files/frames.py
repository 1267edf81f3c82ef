"""Tables of Arrow: text, Parquet, Arrow files, and folders of Hugging Face datasets."""

import csv
import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sparsetoken._validation import import_extra
from sparsetoken.files.guards import UnreadableError, check_size, report_damage

_WIDEST = 2**24  # letters in a row of text
_END = b"\xff\xff\xff\xff" + bytes(4)  # of a stream of Arrow: without it some may be missing
_NO_NUMBER = re.compile(r"column #(\d+): Row #(\d+): .* to double: invalid value '(.*)'", re.DOTALL)


class Table(NamedTuple):
    """A file with columns."""

    path: Path
    kinds: dict[str, str]  # of columns: "any", "string", "number", "vector", "tokens", or the type
    batches: Callable[[Sequence[str], Sequence[str]], Iterable[Any]]  # of texts, and of features

    def read(
        self, texts: Sequence[str], features: Sequence[str], max_numbers: int | None = None
    ) -> Any:
        """Return some columns as a table of Arrow, checked before anything in it is used."""
        import pyarrow

        batches, numbers, size = [], 0, 0
        with report_damage(self.path):
            for batch in self.batches(texts, features):
                batch.validate(full=True)  # a damaged file may point outside of itself
                for column in map(batch.column, features):
                    while hasattr(column, "flatten") and not hasattr(column, "field"):
                        column = column.flatten()  # numbers inside lists
                    numbers += len(column)
                size += batch.nbytes
                check_size(self.path, size, numbers, max_numbers)
                batches.append(batch)
            schema = batches[0].schema if batches else pyarrow.schema([])
            return pyarrow.Table.from_batches(batches, schema)


def not_finite(row: int, column: str, value: Any, more: str = "") -> UnreadableError:
    """Return the error of a feature that is no finite number, or is missing."""
    return UnreadableError(
        f"row {row} (from 0), column {column!r}: {value!r} is not a finite number{more}; if this "
        "column is no feature, leave it out with 'ignore'; if a value is missing, "
        "Sequences.from_frame and estimators.PerToken(SimpleImputer()) fill it"
    )


def is_table(path: str | Path) -> bool:
    """Return whether a file, or a folder of Hugging Face datasets, has columns, not arrays."""
    saved_to_disk = any(Path(path, f"{n}.json").exists() for n in ("state", "dataset_dict"))
    return saved_to_disk or str(path).endswith(tuple(TABLES))


def open_table(path: str | Path, what: str = "path") -> Table:
    """Open a file, or a folder of Hugging Face datasets, that has columns."""
    path = Path(path)
    if not is_table(path):
        raise ValueError(f"{what} must end in {', '.join(TABLES)}, got {path.name!r}")
    import_extra("pyarrow", f"{path}: {path.suffix or 'Arrow'}")
    openers = (open_file for ending, open_file in TABLES.items() if path.name.endswith(ending))
    return _open_saved_to_disk(path) if path.is_dir() else next(openers)(path)


def _open_text(path: Path) -> Table:
    """Open text with the names of its columns in the first line."""
    import pyarrow
    from pyarrow import csv as arrow

    delimiter = "\t" if path.name.endswith((".tsv", ".tsv.gz")) else ","
    opened: Any = gzip.open if path.suffix == ".gz" else open
    how = {"encoding": "utf-8-sig", "errors": "replace", "newline": ""}
    with report_damage(path), opened(path, "rt", **how) as file:
        start = io.StringIO(file.read(_WIDEST), newline="")
        header = next(filter(None, csv.reader(start, delimiter=delimiter)), [])
    if len(header) == 1 and (other := re.search(r"[;\t|]", header[0])):
        raise ValueError(f"{path} must have commas between its columns, got {other[0]!r}")

    def batches(texts: Sequence[str], features: Sequence[str]) -> Iterator[Any]:
        kinds = dict.fromkeys(texts, pyarrow.string()) | dict.fromkeys(features, pyarrow.float64())
        try:
            yield from arrow.open_csv(
                path,
                # With threads errors do not tell the row; a row must fit into a block.
                arrow.ReadOptions(use_threads=False, block_size=_WIDEST),
                arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                arrow.ConvertOptions(column_types=kinds, include_columns=list(kinds)),
            )
        except pyarrow.ArrowInvalid as error:
            if cell := _NO_NUMBER.search(str(error)):
                raise not_finite(int(cell[2]) - 2, header[int(cell[1])], cell[3]) from None
            raise

    return _table(path, [(name, "any") for name in header], batches)


def _open_parquet(path: Path) -> Table:
    from pyarrow import parquet

    with report_damage(path):
        file = parquet.ParquetFile(path)

    def batches(texts: Sequence[str], features: Sequence[str]) -> Iterator[Any]:
        about = file.metadata  # not of its columns: damage there ends the process
        sizes = [about.row_group(i).total_byte_size for i in range(about.num_row_groups)]
        check_size(path, max(sum(sizes), 4 * about.num_rows * len(features)))
        return file.iter_batches(columns=[*texts, *features])

    return _table(path, [(each.name, _kind(each.type)) for each in file.schema_arrow], batches)


def _open_arrow(path: Path, files: Sequence[Path] = ()) -> Table:
    """Open an Arrow file or stream, of which Feather is one, or the files of a folder."""
    import pyarrow

    def reader(file: Path) -> Any:
        with report_damage(file):
            source = pyarrow.memory_map(str(file))
            try:
                opened = pyarrow.ipc.open_file(source)
            except pyarrow.ArrowInvalid:
                source.seek(source.size() - len(_END))
                if source.read() != _END:
                    raise ValueError("its end is missing") from None
                source.seek(0)
                opened = pyarrow.ipc.open_stream(source)
            _ = opened.schema.names  # damaged names are no text
            return opened

    def batches(texts: Sequence[str], features: Sequence[str]) -> Iterator[Any]:
        for opened in map(reader, files or [path]):
            count = getattr(opened, "num_record_batches", None)  # that of a stream is not known
            for batch in opened if count is None else map(opened.get_batch, range(count)):
                yield batch.select([*texts, *features])

    schema = reader(files[0] if files else path).schema
    return _table(path, [(each.name, _kind(each.type)) for each in schema], batches)


def _open_saved_to_disk(folder: Path) -> Table:
    """Open what ``Dataset.save_to_disk`` wrote: Arrow files that ``state.json`` lists."""
    if not (folder / "state.json").exists():
        splits = sorted(path.parent.name for path in folder.glob("*/state.json"))
        held = f"holds several sets, {', '.join(splits)}" if splits else "is a folder"
        raise ValueError(f"{folder} {held}: name one {'of them' if splits else 'file in it'}")
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        files = [folder / Path(entry["filename"]).name for entry in state["_data_files"]]
        indexed = state.get("_indices_data_files") or state.get("_indices_files")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError(f"{folder / 'state.json'} does not list the files of a dataset") from None
    if indexed or not files:
        raise ValueError(f"{folder}: call flatten_indices() before save_to_disk")
    return _open_arrow(folder, files)


TABLES: dict[str, Callable[[Path], Table]] = {
    ".csv": _open_text,
    ".csv.gz": _open_text,
    ".tsv": _open_text,
    ".tsv.gz": _open_text,
    ".parquet": _open_parquet,
    ".arrow": _open_arrow,
    ".feather": _open_arrow,
}


def _table(path: Path, kinds: Sequence[tuple[str, str]], batches: Any) -> Table:
    """Return a table whose columns have one name each."""
    if len(by_name := dict(kinds)) < len(kinds):
        repeated = Counter(name for name, _ in kinds).most_common(1)[0][0]
        raise ValueError(f"{path} has two columns named {repeated!r}")
    return Table(path, by_name, batches)


def _kind(kind: Any) -> str:
    from pyarrow import types

    if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return "string"
    kind = getattr(kind, "storage_type", kind)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        nested = {"number": "vector", "vector": "tokens", "tokens": "lists of lists of lists"}
        return nested.get(_kind(kind.value_type), str(kind))
    return str(kind)
