"""Sequences from files: NumPy archives and long tables in CSV."""

import csv
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetoken.estimators import Sequences

__all__ = ["Dataset", "read_dataset"]

_DAMAGE = (AttributeError, ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)


class Dataset(NamedTuple):
    """Sequences with the names of each, and labels if the file has them."""

    sequences: Any
    names: list[Any]
    labels: NDArray[Any] | None


def read_dataset(path: Path, sequence: str = "sequence", label: str = "label") -> Dataset:
    """Read a file by its ending: ``.npz`` or ``.csv``.

    Parameters
    ----------
    path : Path
        An archive with ``X`` of shape (n, L, d), or ``X`` of shape (tokens, d) and ``bag``, the
        sequence of each token; and ``y``, one label per sequence (in the order of the sorted bags)
        or per token. Or a table with one token per line.
    sequence, label : str
        Columns of a table with the name of the sequence and its label; all others are features.
    """
    if path.suffix == ".npz":
        return _from_arrays(path, _read_arrays(path))
    if path.suffix == ".csv":
        return _read_table(path, sequence, label)
    raise ValueError(f"data must be a file ending in .npz or .csv, got {path.name!r}")


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as file:
        try:
            archive: Any = np.load(file, allow_pickle=False)
            return {name: archive[name] for name in archive.files}
        except _DAMAGE as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ValueError(f"{path} is not a NumPy archive, or is damaged: {reason}") from None


def _from_arrays(path: Path, arrays: dict[str, NDArray[Any]]) -> Dataset:
    if "X" not in arrays:
        held = ", ".join(arrays) or "nothing"
        raise ValueError(f"{path} must hold an array 'X', it holds {held}")
    X, y, bag = arrays["X"], arrays.get("y"), arrays.get("bag")
    if bag is not None:
        return _bags(path, X, y, bag)
    if X.ndim not in (2, 3):
        raise ValueError(f"{path}: X must have shape (n, L, d), or (tokens, d) with 'bag'")
    if y is not None and y.shape != (len(X),):
        raise ValueError(f"{path}: y must have shape ({len(X)},), got {y.shape}")
    return Dataset(X, list(range(len(X))), y)


def _bags(path: Path, X: NDArray[Any], y: NDArray[Any] | None, bag: NDArray[Any]) -> Dataset:
    if X.ndim != 2 or bag.shape != (len(X),):
        raise ValueError(
            f"{path}: with 'bag', X must have shape (tokens, d) and bag (tokens,), "
            f"got {X.shape} and {bag.shape}"
        )
    names, which = np.unique(bag, return_inverse=True)
    order = np.argsort(which, kind="stable")
    counts = np.bincount(which)
    sequences = Sequences(X[order], np.concatenate([[0], np.cumsum(counts)]))
    if y is not None and y.shape == bag.shape:
        first = np.searchsorted(which[order], np.arange(len(names)))
        per_bag = y[order][first]
        if (per_bag[which] != y).any():
            token = int(np.argmax(per_bag[which] != y))
            raise ValueError(f"{path}: y[{token}] differs from other labels of its bag")
        y = per_bag
    elif y is not None and y.shape != names.shape:
        raise ValueError(
            f"{path}: y must have one label per bag ({len(names)}) or token ({len(bag)}), "
            f"got shape {y.shape}"
        )
    return Dataset(sequences, names.tolist(), y)


def _read_table(path: Path, sequence: str, label: str) -> Dataset:
    """Read one token per line; errors name the line and the column."""
    tokens: dict[str, list[list[float]]] = {}
    labels: dict[str, str] = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            if sequence not in header:
                listed = ", ".join(header) or "none"
                raise ValueError(
                    f"{path}, line 1: no column {sequence!r}, the columns are {listed}"
                )
            features = [i for i, name in enumerate(header) if name not in (sequence, label)]
            if not features:
                raise ValueError(f"{path}, line 1: no columns with features")
            for row in reader:
                where = f"{path}, line {reader.line_num}"
                if len(row) != len(header):
                    raise ValueError(f"{where}: {len(row)} columns instead of {len(header)}")
                name = row[header.index(sequence)]
                token = [_number(row[i], where, header[i]) for i in features]
                tokens.setdefault(name, []).append(token)
                if label in header:
                    given = row[header.index(label)]
                    if labels.setdefault(name, given) != given:
                        raise ValueError(
                            f"{where}, column {label!r}: {given!r}, but {labels[name]!r} "
                            f"before in sequence {name!r}"
                        )
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8") from None
    if not tokens:
        raise ValueError(f"{path} has no tokens: only the line with the columns")
    sequences = Sequences.from_list([np.array(part) for part in tokens.values()])
    return Dataset(sequences, list(tokens), _labels(list(labels.values())) if labels else None)


def _number(text: str, where: str, column: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{where}, column {column!r}: {text!r} is not a number") from None


def _labels(texts: list[str]) -> NDArray[Any]:
    try:
        return np.array([int(text) for text in texts])
    except ValueError:
        return np.array(texts)
