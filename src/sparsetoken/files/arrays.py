"""Sequences of named arrays: all in one file, or one per file of a folder."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.array_files import ARRAYS, open_arrays
from sparsetoken.files.dataset import Dataset, checked
from sparsetoken.files.guards import check_size, list_arrays, prefix_errors, shorten
from sparsetoken.files.roles import USUAL, NamedArrays, Roles, usual_names
from sparsetoken.sequences.checks import OneTokenWarning, warn_caller
from sparsetoken.sequences.forms import as_floats, offsets_of, stack
from sparsetoken.sequences.grouping import Grouping
from sparsetoken.sequences.sequences import Sequences

_SPLITS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}


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
        return _join(archive, _sequences_inside(archive))
    by, shape = archive.pick("by"), arrays[name].shape
    alone = by is None and "offsets" not in arrays and (len(shape) == 2 or shape[0] == 1)
    if alone and roles.before.layout == "files":
        return _join(archive, [(path.stem, archive)])
    label, group, X = archive.pick("label"), archive.pick("group"), archive.read_tokens(name)
    sequences, rows, bags = _divide(archive, name, X, by)
    labels, groups = (
        None if role is None else _per_sequence(archive, role, len(sequences), bags)
        for role in (label, group)
    )
    ids, names = sequences.ids, None
    if ids is None and "ids" in arrays:
        ids = archive.read("ids")
    if "feature_names" in arrays and arrays["feature_names"].shape == (sequences.dim,):
        names = archive.read("feature_names").tolist()
    sequences = Sequences(sequences.tokens, sequences.offsets, names, ids)
    coords = _coordinates(archive, rows, int(np.prod(X.shape[:-1])))
    used = Roles(by, label, group, (name,), layer=roles.wanted_layer)
    source = None if label is None else f"array {label!r}"
    return checked(Dataset(path, sequences, labels, groups, rows, coords, used, source))


def _divide(
    archive: NamedArrays, name: str, X: Array, by: str | None
) -> tuple[Sequences, Array, Grouping | None]:
    """Divide tokens into sequences as bags, offsets, a mask or their shape say.

    Return them with the rows of the array that their tokens were in, and the bags if there are any.
    """
    arrays, mask = archive.arrays, None
    bags, rows = None, np.arange(int(np.prod(X.shape[:-1])))
    if by is not None:
        bag = archive.read(by)
        if X.ndim != 2 or bag.shape != (len(X),):
            shapes = f"X must have shape (tokens, d), {by} (tokens,): {X.shape} and {bag.shape}"
            raise ValueError(f"with {by!r}, {shapes}")
        bags = Grouping(bag)
        rows, sequences = bags.order, Sequences(bags.sort(X), bags.offsets, ids=bags.ids)
    elif archive.path.suffix == ".h5ad":
        columns = shorten([column for column, array in arrays.items() if len(array.shape) == 1], 12)
        raise ValueError(f"say which column of obs names sequences with 'by'; it holds {columns}")
    elif "offsets" in arrays:
        sequences = Sequences(X, archive.read("offsets"))
    elif mask := archive.pick("mask"):
        present = archive.read(mask)
        with prefix_errors(f"{archive.path}: {mask} for {name}"):
            sequences, rows = Sequences.from_padded(X, present), np.flatnonzero(present)
    else:
        if X.ndim == 2:
            warn_caller(
                f"{archive.path}: each of the {len(X)} rows of {name} was taken as a sequence of "
                "one token; name the array with the sequence of each row with 'by'",
                OneTokenWarning,
            )
            X = X[:, np.newaxis]
        sequences = Sequences(*stack(X))
    if unused := [other for other in arrays if "mask" in other.lower() and other != mask]:
        warn_caller(f"{archive.path}: {shorten(unused)} is not used", UserWarning)
    return sequences, rows, bags


def _per_sequence(archive: NamedArrays, name: str, count: int, bags: Grouping | None) -> Any:
    """Return one value per sequence, from one per token or one per sequence.

    With ``bag`` sequences are in the order of first appearance. If the sorted order is another
    one, the file could mean either, and must say which by ``ids``, in the order of the values.
    """
    values = archive.read(name)
    if bags is not None and values.shape == bags.codes.shape:
        with prefix_errors(f"{archive.path}: {name}"):
            return bags.shared(values).tolist()
    if values.shape != (count,):
        each = "" if bags is None else f", or one per token ({len(bags.codes)},)"
        raise ValueError(f"{name} must have shape ({count},){each}, got {values.shape}")
    if bags is None:
        return values.tolist()
    names, stated = bags.ids.tolist(), "ids" in archive.arrays
    ordered = archive.read("ids").tolist() if stated else sorted(names)
    if sorted(ordered) != sorted(names):
        raise ValueError("ids must hold each name in 'bag' once")
    if not stated and ordered != names:
        raise ValueError(
            f"{name} has one value per sequence, but these appear in the order "
            f"{shorten([repr(n) for n in names], 4)}, which is not the sorted one; add an array "
            f"'ids' with the names in the order of {name}, or give one value a token"
        )
    by_name = dict(zip(ordered, values.tolist(), strict=True))
    return [by_name[sequence] for sequence in names]


def _join(asked: NamedArrays, archives: Iterable[tuple[str, NamedArrays]]) -> Dataset:
    """Read archives that hold one sequence each, with its coordinates and its label if there."""
    parts, total = list[tuple[Any, ...]](), 0
    for title, archive in archives:
        with prefix_errors(archive.path):
            parts.append((title, *_one_sequence(archive)))
        expected, dim = (part[1].shape[1] for part in (parts[0], parts[-1]))
        if dim != expected:
            wrong = f"{dim} features per token, {parts[0][0]!r} has {expected}"
            held = f"name it with 'features': {list_arrays(asked.arrays)}"
            hint = f"; if one array holds the tokens, {held}" if asked.arrays else ""
            raise ValueError(f"sequence {title!r} has {wrong}{hint}")
        total += parts[-1][1].size
        check_size(asked.path, total, 4, asked.max_numbers)
    columns: Any = map(list, zip(*parts, strict=True))
    ids, tokens, rows, coords, names, labels, groups = columns
    labels, groups = (None if set(each) == {None} else each for each in (labels, groups))
    places = None if any(each is None for each in coords) else np.concatenate(coords)
    sequences = Sequences(np.concatenate(tokens), offsets_of(list(map(len, rows))), None, ids)
    roles, features = asked.roles, (names[0],) if len(set(names)) == 1 else None
    used = Roles(roles.by, roles.label, None, features, (), roles.wanted_layer, "files")
    source, where = None if labels is None else "the file of each sequence", np.concatenate(rows)
    return checked(Dataset(asked.path, sequences, labels, groups, where, places, used, source))


def _one_sequence(archive: NamedArrays) -> tuple[Any, ...]:
    """Return tokens, their rows and coordinates, the name of their array, label and group."""
    matrices = [name for name, array in archive.arrays.items() if len(array.shape) in (2, 3)]
    name = archive.tokens_name() or (matrices[0] if len(matrices) == 1 else None)
    if name is None:
        raise archive.no_tokens()
    shape = archive.arrays[name].shape
    title = "its array" if archive.path.suffix == ".npy" else name
    if len(shape) != 2 and (len(shape), *shape[:1]) != (3, 1):  # some write a batch of one
        raise ValueError(f"{title} must have shape (L, d), got {shape}")
    tokens = as_floats(archive.read(name), title).reshape(shape[-2:])
    rows = np.arange(len(tokens))
    if mask := archive.pick("mask"):
        present = archive.read(mask).reshape(-1)
        if present.shape != rows.shape or not np.isin(present, (0, 1)).all():
            raise ValueError(f"{mask} must hold 1 or 0 for each of the {len(tokens)} tokens")
        rows = np.flatnonzero(present)

    def value(role: str) -> Any:
        found = archive.pick(role)
        alone = found is not None and np.prod(archive.arrays[found].shape) == 1
        return archive.read(str(found)).item() if alone else None

    coords = _coordinates(archive, rows, len(tokens))
    return tokens[rows], rows, coords, name, value("label"), value("group")


def _coordinates(archive: NamedArrays, rows: Array, total: int) -> Array | None:
    """Return the coordinates of tokens in some of all rows, None if there is not one for each."""
    name = archive.pick("coords")
    if name is None:
        return None
    coords = np.atleast_2d(archive.read(name))
    coords = coords.reshape(-1, coords.shape[-1])
    return coords[rows] if len(coords) == total else None


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
    matrices = [name for name, array in arrays.items() if len(array.shape) == 2]
    if not matrices or any(len(array.shape) == 3 for array in arrays.values()):
        raise archive.no_tokens()
    return [(name, replace(archive, arrays={"X": arrays[name]})) for name in matrices]


def read_folder(asked: NamedArrays) -> Dataset:
    """Read a folder; the name of a file, or of the folder that it is alone in, names a sequence.

    Folders inside are classes, or ``features`` beside ``labels`` and ``coords`` of the same files.
    """
    folder = asked.path
    home = next((folder / n for n in USUAL["features"] if (folder / n).is_dir()), folder)
    files = _named_files(home)
    archives = (
        (name, replace(asked, path=file, arrays=_with_siblings(file, home, folder)))
        for name, file in files.items()
    )
    dataset = _join(asked, archives)
    if dataset.labels is None and (classes := _classes(home, files)) is not None:
        labels = [classes[name] for name in dataset.ids]
        return dataset.labelled_by(labels, dataset.groups, label_source="the folder of each file")
    return dataset


def _named_files(folder: Path) -> dict[str, Path]:
    """Return the files that hold arrays, all in a folder or all deeper inside, by short names."""
    every = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [path for path in every if path.suffix in ARRAYS]
    beside = [path for path in files if path.parent == folder]
    if 0 < len(beside) < len(files):
        inside = f"{beside[0].name} beside {len(files) - len(beside)} files in folders"
        raise ValueError(f"{folder} holds {inside}: move it away, or name the folder to read")
    kinds = {path.suffix for path in files}
    if len(kinds) != 1:
        counts = Counter(p.suffix or p.name for p in every if p.suffix in kinds or not kinds)
        held = " and ".join(f"{n} {kind}" for kind, n in counts.most_common(5)) or "nothing"
        kinds_read = f"files of one kind, {', '.join(ARRAYS)}; it holds {held}"
        raise ValueError(f"{folder} must hold {kinds_read}; save other arrays with numpy.savez")
    stems = {file.stem for file in files}
    if 1 < len(files) == len(stems):
        return {file.stem: file for file in files}
    paths = [file.relative_to(folder).with_suffix("") for file in files]
    if len(stems) == 1 and not beside:
        paths = [path.parent for path in paths]
    return {path.as_posix(): file for path, file in zip(paths, files, strict=True)}


def _classes(folder: Path, files: dict[str, Path]) -> dict[str, str] | None:
    """Return the folder that each file is in, if folders can be classes."""
    homes = {name: file.relative_to(folder).parent.as_posix() for name, file in files.items()}
    distinct = set(homes.values())
    if not 1 < len(distinct) < len(files) or any("/" in home for home in distinct):
        return None  # one folder per sequence, or deeper ones
    if any(name != file.stem for name, file in files.items()):
        return None
    if {home.lower() for home in distinct} & _SPLITS:
        held = ", ".join(sorted(distinct))
        raise ValueError(f"{folder} holds {held}: these are no classes, name one of them")
    return homes


def _with_siblings(file: Path, home: Path, folder: Path) -> dict[str, Any]:
    """Return the arrays of a file, and its label and coordinates from folders beside its own."""
    arrays = dict(open_arrays(file))
    for role in ("labels", "coords") if home != folder else ():
        beside = folder / role / file.relative_to(home)
        if beside.exists():
            for array in open_arrays(beside).values():
                arrays.setdefault(role, array)
    return arrays
