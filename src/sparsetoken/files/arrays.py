"""Arrays in files: archives of NumPy, HDF5 and safetensors, and folders with a file a sequence."""

import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetoken._validation import import_extra
from sparsetoken.files.dataset import (
    Dataset,
    Rows,
    Selection,
    make_dataset,
)
from sparsetoken.sequences.convert import as_sequences
from sparsetoken.sequences.grouping import group_rows, one_per_group
from sparsetoken.sequences.interop import as_floats, find_name
from sparsetoken.sequences.sequences import Sequences

__all__ = ["OPENERS", "read_archive", "read_folder"]

Array = NDArray[Any]
Arrays = Mapping[str, Array]

_DAMAGE = (AttributeError, ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)


def _open_npy(path: Path) -> Arrays:
    return {"X": np.load(path, allow_pickle=False)}


def _open_npz(path: Path) -> Arrays:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _open_h5(path: Path) -> Arrays:
    h5py = import_extra("h5py", f"{path}: {path.suffix}")
    arrays: dict[str, Array] = {}

    def take(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            text = h5py.check_string_dtype(item.dtype) is not None
            arrays[name] = np.asarray(item.asstr()[()] if text else item[()])

    with h5py.File(path, "r") as file:
        file.visititems(take)
    return arrays


def _open_safetensors(path: Path) -> Arrays:
    tensors = import_extra("safetensors", f"{path}: {path.suffix}").deserialize(path.read_bytes())
    return {name: _tensor(**content) for name, content in sorted(tensors, key=lambda t: t[0])}


def _tensor(dtype: str, shape: list[int], data: Any) -> Array:
    if dtype == "BF16":  # the upper half of a float32, which NumPy does not have
        halves = np.frombuffer(data, "<u2").astype(np.uint32)
        return (halves << 16).view(np.float32).reshape(shape)
    kind = "?" if dtype == "BOOL" else f"<{dtype[0].lower()}{int(dtype[1:]) // 8}"
    return np.frombuffer(data, kind).reshape(shape)


OPENERS: dict[str, Callable[[Path], Arrays]] = {
    ".npz": _open_npz,
    ".h5": _open_h5,
    ".hdf5": _open_h5,
    ".safetensors": _open_safetensors,
    ".npy": _open_npy,
}


def _open(path: Path) -> Arrays:
    path.open("rb").close()  # a file that is missing or forbidden is not a damaged one
    try:
        return OPENERS[path.suffix](path)
    except ImportError:
        raise
    except Exception as error:
        if not isinstance(error, _DAMAGE) and "safetensor" not in type(error).__module__:
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        kind = "a NumPy archive" if path.suffix == ".npz" else f"a {path.suffix} file"
        raise ValueError(f"{path} is not {kind}, or is damaged: {reason}") from None


def read_archive(path: Path, selection: Selection) -> Dataset:
    """Read one file with all sequences.

    Either an array ``X`` of shape (n, L, d), with ``mask`` if it is padded; or ``X`` of shape
    (tokens, d) with ``bag``, the sequence of each token, or ``offsets``; or an array of shape
    (L_i, d) for each sequence, under its name. ``y`` has one label a token, or one a sequence.
    """
    arrays = _open(path)
    name = _name_of_tokens(path, arrays, selection)
    if name is None:
        return _one_array_each(path, arrays, selection)
    X = arrays[name]
    by = _pick(path, arrays, selection, "by", ("bag", "sequence"))
    label = _pick(path, arrays, selection, "label", ("y", "label"))
    group = _pick(path, arrays, selection, "group", ())
    codes = None
    if by is not None:
        sequences, codes = _bags(path, X, arrays[by])
    else:
        sequences = _dense(path, X, arrays)
    names = arrays.get("feature_names")
    per_sequence = {
        what: None
        if what is None
        else _per_sequence(path, what, arrays[what], sequences, codes, arrays.get("ids"))
        for what in (label, group)
    }
    ids = sequences.ids
    if ids is None:
        ids = arrays.get("ids", np.arange(len(sequences)))
    sequences = _checked(path, sequences, ids, names)
    rows = np.arange(len(sequences.tokens))
    if codes is not None:
        rows = np.argsort(codes, kind="stable")
    used = Selection(by, label, group, (name,))
    return make_dataset(path, sequences, per_sequence[label], per_sequence[group], rows, used)


def read_folder(path: Path, suffix: str, selection: Selection) -> Dataset:
    """Read a folder with a file a sequence; its name without the ending names the sequence."""

    def parts() -> Iterator[tuple[str, Array]]:
        for file in sorted(path.glob(f"*{suffix}")):
            arrays = _open(file)
            name = _name_of_tokens(file, arrays, selection, alone=True)
            yield file.stem, _token_array(file, arrays[str(name)])

    return _from_parts(path, parts(), selection)


def _name_of_tokens(
    path: Path, arrays: Arrays, selection: Selection, *, alone: bool = False
) -> str | None:
    """Return the array that holds the tokens, or None if each array is a sequence."""
    held = ", ".join(arrays) or "nothing"
    if selection.features is not None:
        if "features" in selection.remembered and selection.features[0] not in arrays:
            return _name_of_tokens(path, arrays, Selection(), alone=alone)
        if len(selection.features) > 1:
            raise ValueError(f"{path}: --features must name one array, got {selection.features}")
        return find_name(selection.features[0], list(arrays), str(path))
    for usual in ("X", "features"):
        if usual in arrays:
            return usual
    tokens = [name for name, array in arrays.items() if array.ndim in (2, 3)]
    if alone and len(tokens) == 1:
        return tokens[0]
    if alone or not tokens or any(arrays[name].ndim == 3 for name in tokens):
        raise ValueError(
            f"{path} must hold an array 'X', it holds {held}; name another with --features"
        )
    return None


def _pick(
    path: Path, arrays: Arrays, selection: Selection, field: str, usual: tuple[str, ...]
) -> str | None:
    """Return the array that is named for something, or else has a usual name for it."""
    given = getattr(selection, field)
    if given in arrays or (given and field not in selection.remembered):
        return find_name(given, list(arrays), str(path))
    return next((name for name in usual if name in arrays), None)


def _bags(path: Path, X: Array, bag: Array) -> tuple[Sequences, Array]:
    if X.ndim != 2 or bag.shape != (len(X),):
        raise ValueError(
            f"{path}: with 'bag', X must have shape (tokens, d) and bag (tokens,), "
            f"got {X.shape} and {bag.shape}"
        )
    try:
        return Sequences.from_stacked(X, bag), group_rows(bag)[1]
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _dense(path: Path, X: Array, arrays: Arrays) -> Sequences:
    try:
        if "offsets" in arrays:
            return Sequences(X, arrays["offsets"])
        if "mask" in arrays:
            return Sequences.from_padded(X, arrays["mask"])
        return as_sequences(X)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _per_sequence(
    path: Path, name: str, values: Array, sequences: Sequences, codes: Array | None, ids: Any
) -> list[Any]:
    """Return one value a sequence, from one a token or one a sequence.

    Values per sequence come in the order of the sequences; with ``bag`` that is the order in which
    these first appear. If the sorted order is another one, the file could mean either, and must
    say which by ``ids``, the names in the order of the values.
    """
    count = len(sequences)
    if codes is not None and values.shape == codes.shape:
        try:
            return list(one_per_group(values, np.asarray(sequences.ids), codes).tolist())
        except ValueError as error:
            raise ValueError(f"{path}: {name}: {error}") from None
    if values.shape != (count,):
        wanted = f"({count},)" if codes is None else f"({count},), or one per token ({len(codes)},)"
        raise ValueError(f"{path}: {name} must have shape {wanted}, got {values.shape}")
    if codes is None:
        return list(values.tolist())
    own = np.asarray(sequences.ids).tolist()
    if ids is not None:
        order = np.asarray(ids).tolist()
        if sorted(order) != sorted(own):
            raise ValueError(f"{path}: ids must hold each name in 'bag' once")
    elif own == sorted(own):
        order = own
    else:
        raise ValueError(
            f"{path}: {name} has one value a sequence, but the sequences appear in the order "
            f"{_list(own)}, which is not the sorted one; say which is meant by an array 'ids' with "
            f"the names in the order of {name}, or give one value a token"
        )
    keyed = dict(zip(order, values.tolist(), strict=True))
    return [keyed[name] for name in own]


def _one_array_each(path: Path, arrays: Arrays, selection: Selection) -> Dataset:
    parts = ((n, _token_array(path, array, n)) for n, array in arrays.items() if array.ndim == 2)
    return _from_parts(path, parts, selection)


def _from_parts(path: Path, parts: Iterable[tuple[str, Array]], selection: Selection) -> Dataset:
    tokens = Rows()
    names: list[str] = []
    lengths: list[int] = []
    for name, part in parts:
        if tokens.array is not None and part.shape[1] != tokens.array.shape[1]:
            raise ValueError(
                f"{path}: sequence {name!r} has {part.shape[1]} features per token, "
                f"{names[0]!r} has {tokens.array.shape[1]}"
            )
        tokens.add(part)
        names.append(name)
        lengths.append(len(part))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.concatenate([np.arange(length) for length in lengths])
    sequences = _checked(path, Sequences(tokens.whole(), offsets), np.array(names), None)
    return make_dataset(path, sequences, None, None, rows, selection)


def _token_array(path: Path, array: Array, name: str = "") -> Array:
    if array.ndim == 3 and len(array) == 1:  # some extractors write a batch of one
        array = array[0]
    if array.ndim != 2:
        raise ValueError(f"{path}: {name or 'its array'} must have shape (L, d), got {array.shape}")
    return as_floats(array, f"{path}: {name or 'its array'}")


def _checked(path: Path, sequences: Sequences, ids: Array, names: Any) -> Sequences:
    try:
        return as_sequences(Sequences(sequences.tokens, sequences.offsets, names, ids))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _list(names: list[Any]) -> str:
    return ", ".join(repr(name) for name in names[:4]) + (", …" if len(names) > 4 else "")
