"""Named arrays: which of them are tokens, where sequences start, which are labels."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.dataset import Dataset, make_dataset
from sparsetoken.files.guards import check_size, list_arrays, prefix_errors, shorten
from sparsetoken.files.named_arrays import NamedArrays
from sparsetoken.files.roles import USUAL, Roles, usual_names
from sparsetoken.sequences.checks import OneTokenWarning, warn_caller
from sparsetoken.sequences.forms import offsets_of
from sparsetoken.sequences.grouping import group_rows, one_per_group
from sparsetoken.sequences.interop import as_floats
from sparsetoken.sequences.sequences import Sequences


def read_archive(archive: NamedArrays) -> Dataset:
    """Read one file with all sequences.

    Either an array ``X`` of shape (n, L, d), with ``mask`` if it is padded; or ``X`` of shape
    (tokens, d) with ``bag``, the sequence of each token, or ``offsets``; or an array of shape
    (L_i, d) for each sequence, under its name, or in its group. ``y`` has one label per token, or
    one per sequence.
    """
    path, arrays, roles = archive.path, archive.arrays, archive.roles
    name = archive.tokens_name()
    if name is None:
        return read_sequences(path, _sequences_inside(archive), archive)
    by, shape = archive.pick("by"), arrays[name].shape
    alone = by is None and "offsets" not in arrays and (len(shape) == 2 or shape[0] == 1)
    if alone and roles.like is not None and roles.like.layout == "files":
        return read_sequences(path, [(path.stem, archive)], archive)
    label, group = archive.pick("label"), archive.pick("group")
    divided = _divide(archive, name, by)
    sequences, rows = divided.sequences, divided.rows
    order = archive.read("ids") if "ids" in arrays else None
    labels, groups = (
        None if role is None else _per_sequence(archive, role, divided, order)
        for role in (label, group)
    )
    ids, names = order if sequences.ids is None else sequences.ids, None
    if "feature_names" in arrays and arrays["feature_names"].shape == (sequences.dim,):
        names = archive.read("feature_names").tolist()
    sequences = Sequences(sequences.tokens, sequences.offsets, names, ids)
    coords = _coordinates(archive, rows, divided.total)
    used = Roles(by, label, group, (name,), layer=roles.wanted_layer)
    source = None if label is None else f"array {label!r}"
    return make_dataset(path, sequences, rows, labels, groups, coords, used, source)


class _Divided(NamedTuple):
    sequences: Sequences
    rows: Array
    """Where each token was among the ``total`` rows of the array."""
    total: int
    codes: Array | None = None
    """The sequence of each row, where an array names it."""


def _divide(archive: NamedArrays, name: str, by: str | None) -> _Divided:
    """Divide tokens into sequences as bags, offsets, a mask or their shape say."""
    arrays, X = archive.arrays, archive.read_tokens(name)
    total, mask = int(np.prod(X.shape[:-1])), None
    rows = np.arange(total)
    if by is not None:
        bag = archive.read(by)
        if X.ndim != 2 or bag.shape != (len(X),):
            shapes = f"{X.shape} and {bag.shape}"
            raise ValueError(
                f"with {by!r}, X must have shape (tokens, d), {by} (tokens,): {shapes}"
            )
        codes = group_rows(bag)[1]
        rows = np.argsort(codes, kind="stable")
        divided = _Divided(Sequences.from_stacked(X, bag), rows, total, codes)
    elif archive.path.suffix == ".h5ad":
        columns = shorten([column for column, array in arrays.items() if len(array.shape) == 1], 12)
        raise ValueError(
            f"name the column of obs that names sequences with 'by'; it holds {columns}"
        )
    elif "offsets" in arrays:
        divided = _Divided(Sequences(X, archive.read("offsets")), rows, total)
    elif mask := archive.pick("mask"):
        present = archive.read(mask)
        if X.ndim != 3 or present.shape != X.shape[:2]:
            shapes = f"{present.shape} does not go with {name} of shape {X.shape}"
            raise ValueError(f"{mask} of shape {shapes}: (n, L) and (n, L, d)")
        divided = _Divided(Sequences.from_padded(X, present), np.flatnonzero(present), total)
    else:
        divided = _Divided(_by_shape(archive.path, name, X), rows, total)
    unused = [other for other in arrays if "mask" in other.lower() and other != mask]
    if unused:
        warn_caller(f"{archive.path}: {shorten(unused)} is not used", UserWarning)
    return divided


def _by_shape(path: Path, name: str, X: Array) -> Sequences:
    tokens = as_floats(X, name)
    if tokens.ndim == 2:
        warn_caller(
            f"{path}: each of the {len(tokens)} rows of {name} was taken as a sequence of one "
            "token; name the array with the sequence of each row with 'by'",
            OneTokenWarning,
        )
        tokens = tokens[:, np.newaxis]
    if tokens.ndim != 3:
        raise ValueError(f"{name} must have shape (n, L, d), got {tokens.shape}. Reshape your data")
    n, length, dim = tokens.shape
    return Sequences(tokens.reshape(n * length, dim), np.arange(n + 1) * length)


def _coordinates(archive: NamedArrays, rows: Array, total: int) -> Array | None:
    """Return the coordinates of tokens in some of all rows, None if there is not one for each."""
    name = archive.pick("coords")
    if name is None:
        return None
    coords = np.atleast_2d(archive.read(name))
    coords = coords.reshape(int(np.prod(coords.shape[:-1])), coords.shape[-1])
    return coords[rows] if len(coords) == total else None


def _per_sequence(
    archive: NamedArrays, name: str, divided: _Divided, order: Array | None
) -> list[Any]:
    """Return one value per sequence, from one per token or one per sequence.

    Values per sequence come in the order of the sequences; with ``bag`` that is the order in which
    these first appear. If the sorted order is another one, the file could mean either, and must
    say which by ``ids``, the names in the order of the values.
    """
    values, count, codes = archive.read(name), len(divided.sequences), divided.codes
    ids = np.asarray(divided.sequences.ids)
    if codes is not None and values.shape == codes.shape:
        with prefix_errors(f"{archive.path}: {name}"):
            return list(one_per_group(values, ids, codes).tolist())
    if values.shape != (count,):
        shape = f"({count},)" if codes is None else f"({count},), or one per token ({len(codes)},)"
        raise ValueError(f"{name} must have shape {shape}, got {values.shape}")
    if codes is None:
        return list(values.tolist())
    names = ids.tolist()
    ordered = sorted(names) if order is None else order.tolist()
    if sorted(ordered) != sorted(names):
        raise ValueError("ids must hold each name in 'bag' once")
    if order is None and ordered != names:
        raise ValueError(
            f"{name} has one value per sequence, but these appear in the order "
            f"{shorten([repr(n) for n in names], 4)}, which is not the sorted one; add an array "
            f"'ids' with the names in the order of {name}, or give one value a token"
        )
    by_name = dict(zip(ordered, values.tolist(), strict=True))
    return [by_name[sequence] for sequence in names]


def read_sequences(
    path: Path, archives: Iterable[tuple[str, NamedArrays]], asked: NamedArrays
) -> Dataset:
    """Read archives that hold one sequence each, with its coordinates and its label if there."""
    tokens, coords, labels, groups = (list[Any]() for _ in range(4))
    names, rows, total, used = list[str](), list[Array](), 0, set[str]()
    for title, archive in archives:
        with prefix_errors(archive.path):
            name = archive.tokens_name() or _only_matrix(archive)
            sequence = _one_sequence(archive, name)
            kept = _unmasked(archive, len(sequence))
            coords.append(_coordinates(archive, kept, len(sequence)))
            labels.append(_one_value(archive, "label"))
            groups.append(_one_value(archive, "group"))
        total += sequence.size
        check_size(path, total, 4, asked.max_numbers)
        names.append(title)
        used.add(name)
        rows.append(kept)
        width = tokens[0].shape[1] if tokens else sequence.shape[1]
        _check_width(title, sequence.shape[1], names[0], width)
        tokens.append(sequence if len(kept) == len(sequence) else sequence[kept])
    roles = asked.roles
    features = tuple(used) if len(used) == 1 else None
    reading = Roles(roles.by, roles.label, None, features, (), roles.wanted_layer, "files")
    labelled = any(label is not None for label in labels)
    return make_dataset(
        path,
        Sequences(np.concatenate(tokens), offsets_of([len(kept) for kept in rows]), None, names),
        np.concatenate(rows),
        labels if labelled else None,
        None if all(group is None for group in groups) else groups,
        None if any(places is None for places in coords) else np.concatenate(coords),
        reading,
        "the file of each sequence" if labelled else None,
    )


def _check_width(name: str, width: int, first: str, expected: int, hint: str = "") -> None:
    if width != expected:
        message = f"sequence {name!r} has {width} features per token, {first!r} has {expected}"
        raise ValueError(f"{message}{hint}")


def _one_sequence(archive: NamedArrays, name: str) -> Array:
    shape = archive.arrays[name].shape
    title = "its array" if archive.path.suffix == ".npy" else name
    batch = len(shape) == 3 and shape[0] == 1  # some extractors write a batch of one
    if len(shape) != 2 and not batch:
        raise ValueError(f"{title} must have shape (L, d), got {shape}")
    return as_floats(archive.read(name)[0] if batch else archive.read(name), title)


def _unmasked(archive: NamedArrays, length: int) -> Array:
    """Return which tokens of a padded sequence are there: all without a mask."""
    name = archive.pick("mask")
    if name is None:
        return np.arange(length)
    mask = archive.read(name).reshape(-1)
    if mask.shape != (length,) or not np.isin(mask, (0, 1)).all():
        raise ValueError(f"{name} must hold 1 or 0 for each of the {length} tokens")
    return np.flatnonzero(mask)


def _one_value(archive: NamedArrays, role: str) -> Any:
    """Return the label or group of a sequence, None if its file has none."""
    name = archive.pick(role)
    if name is None or np.prod(archive.arrays[name].shape) != 1:
        return None
    return archive.read(name).reshape(-1).tolist()[0]


def _sequences_inside(archive: NamedArrays) -> list[tuple[str, NamedArrays]]:
    """Return the sequences of a file that has an array, or a group of arrays, for each."""
    arrays, named = archive.arrays, archive.roles.features
    groups: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        home, _, leaf = name.rpartition("/")
        groups.setdefault(home, {})[leaf] = array
    tokens_in_each = all(usual_names(USUAL["features"], inside) for inside in groups.values())
    if groups and "" not in groups and (tokens_in_each or named is not None):
        return [(home, replace(archive, arrays=inside)) for home, inside in groups.items()]
    widths = {name: array.shape[1] for name, array in arrays.items() if len(array.shape) == 2}
    if not widths or any(len(array.shape) == 3 for array in arrays.values()):
        raise archive.no_tokens()
    first = next(iter(widths))
    hint = f"; if one array holds the tokens, name it with 'features': {list_arrays(arrays)}"
    for name, width in widths.items():
        _check_width(name, width, first, widths[first], hint)
    return [(name, replace(archive, arrays={"X": arrays[name]})) for name in widths]


def _only_matrix(archive: NamedArrays) -> str:
    """Return the one array that can be the tokens of a sequence."""
    matrices = [name for name, array in archive.arrays.items() if len(array.shape) in (2, 3)]
    if len(matrices) != 1:
        raise archive.no_tokens()
    return matrices[0]
