"""Named arrays: which of them are tokens, where sequences start, which are labels."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsetoken.files.archive import Archive
from sparsetoken.files.dataset import Dataset, make_dataset, shorten, stack_sequences
from sparsetoken.files.formats import Arrays, check_size, list_arrays
from sparsetoken.files.names import USUAL, Wanted, usual_names
from sparsetoken.sequences.forms import OneTokenWarning
from sparsetoken.sequences.grouping import group_rows, one_per_group
from sparsetoken.sequences.interop import as_floats
from sparsetoken.sequences.sequences import Sequences

Array = NDArray[Any]


def read_archive(path: Path, arrays: Arrays, wanted: Wanted) -> Dataset:
    """Read one file with all sequences.

    Either an array ``X`` of shape (n, L, d), with ``mask`` if it is padded; or ``X`` of shape
    (tokens, d) with ``bag``, the sequence of each token, or ``offsets``; or an array of shape
    (L_i, d) for each sequence, under its name, or in its group. ``y`` has one label a token, or
    one a sequence.
    """
    archive = Archive(path, arrays, wanted)
    name = archive.tokens_name()
    if name is None:
        return read_sequences(path, _sequences_inside(archive), wanted)
    by, label, group = (archive.pick(role) for role in ("by", "label", "group"))
    shape = arrays[name].shape
    alone = by is None and "offsets" not in arrays and (len(shape) == 2 or shape[0] == 1)
    if alone and wanted.like.get("one_file"):
        return read_sequences(path, {path.stem: lambda: archive}, wanted)
    X = archive.read_tokens(name)
    coords = archive.pick("coords")
    places = None if coords is None else archive.read(coords)
    codes = None
    with _naming(path):
        if by is not None:
            sequences, codes = _bags(X, archive.read(by), by)
        else:
            sequences, places = _divided(archive, name, X, places)
    divided = by is not None or "offsets" in arrays
    _warn_of_masks(archive, None if divided else archive.pick("mask"))
    ids = archive.read("ids") if "ids" in arrays else None
    labels, groups = (
        None
        if what is None
        else _per_sequence(path, what, archive.read(what), sequences, codes, ids)
        for what in (label, group)
    )
    order = np.arange(len(sequences.tokens)) if codes is None else np.argsort(codes, kind="stable")
    if places is not None:
        places = places[order] if len(places) == len(order) else None
    if sequences.ids is not None:
        ids = sequences.ids
    if "feature_names" in arrays and arrays["feature_names"].shape == (sequences.dim,):
        named = archive.read("feature_names").tolist()
        sequences = Sequences(sequences.tokens, sequences.offsets, named)
    reading = {"by": by, "label": label, "features": [name], "table": False}
    return make_dataset(
        path,
        sequences,
        range(len(sequences)) if ids is None else ids.tolist(),
        order,
        labels,
        groups,
        places,
        reading | {"layer": wanted.chosen_layer},
    )


def read_sequences(
    path: Path, opened: Mapping[str, Callable[[], Archive]], wanted: Wanted
) -> Dataset:
    """Read archives that hold one sequence each, with its coordinates and its label if there."""
    beside: dict[str, list[Any]] = {"coords": [], "label": [], "group": []}
    rows: list[Array] = []
    used: set[str] = set()

    def sequences() -> Iterator[tuple[str, Array]]:
        total = 0
        for title, open_archive in opened.items():
            archive = open_archive()
            name = archive.tokens_name() or _only_matrix(archive)
            tokens = _one_sequence(archive, name)
            total += tokens.size
            check_size(path, total, 4, wanted.max_numbers)
            there = _tokens_there(archive, len(tokens))
            beside["coords"].append(_coordinates(archive, there))
            for role in ("label", "group"):
                beside[role].append(_one_value(archive, role))
            used.add(name)
            rows.append(np.flatnonzero(there))
            yield title, tokens[there]

    names, stacked = stack_sequences(path, sequences())
    complete = all(places is not None for places in beside["coords"])
    coords = np.concatenate(beside["coords"]) if complete else None
    labels, groups = (
        None if all(value is None for value in beside[role]) else beside[role]
        for role in ("label", "group")
    )
    reading = {
        "by": wanted.by,
        "label": wanted.label,
        "features": list(used) if len(used) == 1 else None,
        "layer": wanted.chosen_layer,
        "table": False,
        "one_file": True,
    }
    order = np.concatenate(rows)
    return make_dataset(path, stacked, names, order, labels, groups, coords, reading)


def _tokens_there(archive: Archive, length: int) -> NDArray[np.bool_]:
    """Return which tokens of a padded sequence are there: all without a mask."""
    name = archive.pick("mask")
    if name is None:
        return np.ones(length, dtype=bool)
    mask = archive.read(name).reshape(-1)
    if mask.shape != (length,) or not np.isin(mask, (0, 1)).all():
        raise ValueError(
            f"{archive.path}: {name} must hold 1 or 0 for each of the {length} tokens, got shape "
            f"{mask.shape}"
        )
    return mask.astype(bool)


def _coordinates(archive: Archive, there: NDArray[np.bool_]) -> Array | None:
    name = archive.pick("coords")
    if name is None:
        return None
    coords = archive.read(name)
    coords = coords[0] if coords.ndim == 3 else coords
    return coords[there] if len(coords) == len(there) else None


def _one_value(archive: Archive, role: str) -> Any:
    """Return the label or group of a sequence, None if its file has none."""
    name = archive.pick(role)
    if name is None or np.prod(archive.arrays[name].shape) != 1:
        return None
    return archive.read(name).reshape(-1).tolist()[0]


def _sequences_inside(archive: Archive) -> dict[str, Callable[[], Archive]]:
    """Return the sequences of a file that has an array, or a group of arrays, for each."""
    path, wanted, arrays = archive.path, archive.wanted, archive.arrays
    groups: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        home, _, leaf = name.rpartition("/")
        groups.setdefault(home, {})[leaf] = array
    if (
        groups
        and "" not in groups
        and all(usual_names(USUAL["features"], g) for g in groups.values())
    ):
        return {home: _later(path, inside, wanted) for home, inside in groups.items()}
    if wanted.features is not None and "" not in groups:
        return {home: _later(path, inside, wanted) for home, inside in groups.items()}
    matrices = {name: array for name, array in arrays.items() if len(array.shape) == 2}
    if matrices and all(len(array.shape) != 3 for array in arrays.values()):
        if len({array.shape[1] for array in matrices.values()}) == 1:
            return {name: _later(path, {"X": array}, wanted) for name, array in matrices.items()}
        name, odd = next(
            (n, a)
            for n, a in matrices.items()
            if a.shape[1] != next(iter(matrices.values())).shape[1]
        )
        first = next(iter(matrices))
        raise ValueError(
            f"{path}: sequence {name!r} has {odd.shape[1]} features per token, {first!r} has "
            f"{matrices[first].shape[1]}; if one array holds the tokens, say which with "
            f"features=. It holds {list_arrays(arrays)}"
        )
    raise ValueError(
        f"{path} must hold an array 'X' with the tokens; name another with features=. It holds "
        f"{list_arrays(arrays)}"
    )


def _later(path: Path, inside: Arrays, wanted: Wanted) -> Callable[[], Archive]:
    return lambda: Archive(path, inside, wanted)


def _only_matrix(archive: Archive) -> str:
    """Return the one array that can be the tokens of a sequence."""
    matrices = [name for name, array in archive.arrays.items() if len(array.shape) in (2, 3)]
    if len(matrices) != 1:
        raise ValueError(
            f"{archive.path} must hold an array 'X' with the tokens; name another with features=. "
            f"It holds {list_arrays(archive.arrays)}"
        )
    return matrices[0]


def _one_sequence(archive: Archive, name: str) -> Array:
    shape = archive.arrays[name].shape
    called = "its array" if archive.path.suffix == ".npy" else name
    if len(shape) == 3 and shape[0] == 1:  # some extractors write a batch of one
        return as_floats(archive.read(name)[0], f"{archive.path}: {called}")
    if len(shape) != 2:
        raise ValueError(f"{archive.path}: {called} must have shape (L, d), got {shape}")
    return as_floats(archive.read(name), f"{archive.path}: {called}")


def _bags(X: Array, bag: Array, by: str) -> tuple[Sequences, Array]:
    if X.ndim != 2 or bag.shape != (len(X),):
        raise ValueError(
            f"with {by!r}, X must have shape (tokens, d) and {by} (tokens,), "
            f"got {X.shape} and {bag.shape}"
        )
    return Sequences.from_stacked(X, bag), group_rows(bag)[1]


def _divided(
    archive: Archive, name: str, X: Array, places: Array | None
) -> tuple[Sequences, Array | None]:
    """Divide tokens into sequences as a mask, offsets or their shape say; coordinates too."""
    arrays, mask = archive.arrays, archive.pick("mask")
    if archive.path.suffix == ".h5ad":
        columns = [n for n, array in arrays.items() if len(array.shape) == 1]
        raise ValueError(
            "name the column of obs with the sequence of each cell with by=; it holds "
            f"{shorten(columns, 12)}"
        )
    if "offsets" in arrays:
        return Sequences(X, archive.read("offsets")), places
    if mask is not None:
        there = archive.read(mask)
        if X.ndim != 3 or there.shape != X.shape[:2]:
            raise ValueError(
                f"{mask} of shape {there.shape} does not go with {name} of shape {X.shape}: "
                "(n, L) and (n, L, d)"
            )
        if places is not None:
            places = places[there.astype(bool)] if places.shape[:2] == there.shape else None
        return Sequences.from_padded(X, there), places
    tokens = as_floats(X, name)
    if tokens.ndim == 2:
        warnings.warn(
            f"{archive.path}: each of the {len(tokens)} rows of {name} was taken as a sequence of "
            "one token; name the array with the sequence of each row with by=",
            OneTokenWarning,
            stacklevel=5,
        )
        tokens = tokens[:, np.newaxis]
    if tokens.ndim != 3:
        raise ValueError(f"{name} must have shape (n, L, d), got {tokens.shape}. Reshape your data")
    n, length, dim = tokens.shape
    if places is not None:
        places = places.reshape(n * length, -1) if len(places) in (n, n * length) else None
    return Sequences(tokens.reshape(n * length, dim), np.arange(n + 1) * length), places


def _warn_of_masks(archive: Archive, used: str | None) -> None:
    unused = [name for name in archive.names if "mask" in name.lower() and name != used]
    if unused:
        warnings.warn(f"{archive.path}: {shorten(unused)} is not used", stacklevel=5)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say of which file an error speaks."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _per_sequence(
    path: Path,
    name: str,
    values: Array,
    sequences: Sequences,
    codes: Array | None,
    ids: Array | None,
) -> list[Any]:
    """Return one value a sequence, from one a token or one a sequence.

    Values per sequence come in the order of the sequences; with ``bag`` that is the order in which
    these first appear. If the sorted order is another one, the file could mean either, and must
    say which by ``ids``, the names in the order of the values.
    """
    count = len(sequences)
    if codes is not None and values.shape == codes.shape:
        with _naming(Path(f"{path}: {name}")):
            return list(one_per_group(values, np.asarray(sequences.ids), codes).tolist())
    if values.shape != (count,):
        wanted = f"({count},)" if codes is None else f"({count},), or one per token ({len(codes)},)"
        raise ValueError(f"{path}: {name} must have shape {wanted}, got {values.shape}")
    if codes is None:
        return list(values.tolist())
    names: Sequence[Any] = np.asarray(sequences.ids).tolist()
    if ids is not None:
        order = np.asarray(ids).tolist()
        if sorted(order) != sorted(names):
            raise ValueError(f"{path}: ids must hold each name in 'bag' once")
    elif names == sorted(names):
        order = names
    else:
        raise ValueError(
            f"{path}: {name} has one value a sequence, but the sequences appear in the order "
            f"{shorten([repr(n) for n in names], 4)}, which is not the sorted one; say which is "
            f"meant by an array 'ids' with the names in the order of {name}, or give one value a "
            "token"
        )
    keyed = dict(zip(order, values.tolist(), strict=True))
    return [keyed[name] for name in names]
