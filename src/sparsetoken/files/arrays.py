"""Sequences of named arrays: all in one file, or one per file of a folder."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.array_files import ARRAYS, open_arrays
from sparsetoken.files.dataset import Dataset
from sparsetoken.files.guards import (
    Arrays,
    check_size,
    list_arrays,
    prefix_errors,
    report_damage,
    shorten,
)
from sparsetoken.files.roles import USUAL, Roles, usual_names
from sparsetoken.sequences.checks import OneTokenWarning, warn_caller
from sparsetoken.sequences.forms import find_name, stack
from sparsetoken.sequences.grouping import Grouping
from sparsetoken.sequences.sequences import Sequences

_LAYER = re.compile(r"(?:^|[^a-z])(?:layers?[._\-/ ]?|blocks[./])(\d+)", re.IGNORECASE)
_BESIDE = ("labels", "coords", "inst_labels")
_SPLITS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}


@dataclass
class NamedArrays:
    """The arrays of a file, each read once it is known to be of a sensible size."""

    path: Path
    arrays: Arrays
    roles: Roles
    max_numbers: int | None = None

    def read(self, name: str) -> Array:
        """Read an array."""
        shape, dtype = self.arrays[name].shape, self.arrays[name].dtype
        if dtype.kind == "V":
            raise ValueError(f"{name} holds raw bytes ({dtype}), as bfloat16: save it as float32")
        size = int(np.prod(shape, dtype=object))
        check_size(self.path, size * max(dtype.itemsize, 1), size, self.max_numbers)
        with report_damage(self.path, f"{name} of shape {shape}"):
            values = np.asarray(self.arrays[name])
            return np.char.decode(values) if values.dtype.kind == "S" else values

    def pick(self, role: str) -> str | None:
        """Return the array for a role, None if there is none."""
        return self.roles.pick(role, list(self.arrays))

    def tokens_name(self) -> str | None:
        """Return the array that holds the tokens; None if each array, or group, is a sequence."""
        named, before, arrays = self.roles.features, self.roles.before, self.arrays
        if named is not None:
            if len(named) != 1:
                raise ValueError("'features' must name one array")
            inside = any(name.endswith(f"/{named[0]}") for name in arrays)
            return None if inside else find_name(named[0], list(arrays), "arrays")
        if before.features and before.layout != "table" and before.features[0] in arrays:
            return before.features[0]
        if "X" in arrays:
            return "X"
        large = [name for name, array in arrays.items() if len(array.shape) >= 2]
        usual = usual_names(USUAL["features"], large)
        usual = [name for name in usual if arrays[name].dtype.kind == "f"] or usual
        usual = usual or self._names_of_layer(large)
        if len(usual) > 1:
            which = f"{' or '.join(usual)}; say which with 'features'"
            raise ValueError(f"the tokens may be in {which}. It holds {list_arrays(arrays)}")
        return usual[0] if usual else None

    def _names_of_layer(self, names: list[str]) -> list[str]:
        """Return those of the layer that is wanted, none if arrays are no layers."""
        numbers = {name: int(n[1]) for name in names if (n := _LAYER.search(name))}
        layers = list(dict.fromkeys(numbers.values()))
        chosen = self._choose_layer("it", layers) if layers else None
        return [name for name, number in numbers.items() if number == chosen]

    def _choose_layer(self, where: str, layers: Sequence[int]) -> int:
        """Return the layer that is wanted, or the only one."""
        wanted = self.roles.wanted_layer
        wanted = layers[0] if wanted is None and len(layers) == 1 else wanted
        if wanted is None or wanted not in layers:
            held = f"has the layers {shorten(layers, 99)}; say which with 'layer'"
            raise ValueError(f"{where} {held}. It holds {list_arrays(self.arrays)}")
        return wanted

    def read_tokens(self, name: str) -> Array:
        """Read the tokens; of several layers in one array, the one that is wanted."""
        shape, layer = self.arrays[name].shape, self.roles.layer
        if len(shape) != (3 if "offsets" in self.arrays else 4):
            if layer is not None and not _LAYER.search(name):
                raise ValueError(f"'layer' is {layer}, but {name} {shape} has no layers")
            return self.read(name)
        layers = self.read("layers").ravel().tolist() if "layers" in self.arrays else []
        axes = [i for i, size in enumerate(shape[:-1]) if size == len(layers)]
        if len(axes) != 1:
            found = f"{len(axes)} axes as long as 'layers', an array with the numbers of layers"
            other = "save each layer as an array of its own, layer_0, layer_1, …"
            raise ValueError(f"{name} {shape} has one axis too many, and {found}: {other}")
        number = layers.index(self._choose_layer(name, layers))
        return self.read(name).take(number, axis=axes[0])

    def no_tokens(self) -> ValueError:
        """Return the error of a file in which no array can be the tokens."""
        held = f"name another with 'features'. It holds {list_arrays(self.arrays)}"
        return ValueError(f"{self.path} must hold an array 'X' with the tokens; {held}")


def read_archive(archive: NamedArrays) -> Dataset:
    """Read one file with all sequences.

    Either an array ``X`` of shape (n, L, d), with ``mask`` if it is padded; or ``X`` of shape
    (tokens, d) with ``bag``, the sequence of each token, or ``offsets``; or an array of shape
    (L_i, d) for each sequence, under its name, or in its group. ``y`` has one label per token, or
    one per sequence.
    """
    name = archive.tokens_name()
    if name is None:
        return _join(archive, _sequences_inside(archive))
    arrays, by, shape = archive.arrays, archive.pick("by"), archive.arrays[name].shape
    alone = by is None and "offsets" not in arrays and (len(shape) == 2 or shape[:1] == (1,))
    if alone and archive.roles.before.layout == "files":
        return _join(archive, [(archive.path.stem, archive)])
    return _read(archive, name, by)


def _read(archive: NamedArrays, name: str, by: str | None, title: str | None = None) -> Dataset:
    """Read sequences whose tokens are in one array; with a title they are one, of that name."""
    arrays, X = archive.arrays, archive.read_tokens(name)
    X = X if title is None else X.reshape(1, *X.shape[-2:])
    sequences, rows, bags = _divide(archive, name, X, by, title is not None)
    ids, names, coords = sequences.ids, None, None
    if title is not None:
        ids = np.array([title])
    elif ids is None and "ids" in arrays:
        ids = archive.read("ids")
    if "feature_names" in arrays and arrays["feature_names"].shape == (sequences.dim,):
        names = archive.read("feature_names").tolist()

    def role(role: str) -> tuple[str | None, Any]:
        picked = archive.pick(role)
        if picked is None or (title is not None and np.prod(arrays[picked].shape) != 1):
            return None, None  # in the file of one sequence it is about tokens
        return picked, _per_sequence(archive, picked, len(sequences), bags)

    (label, labels), (group, groups) = role("label"), role("group")
    if (place := archive.pick("coords")) is not None:
        every = np.atleast_2d(archive.read(place))
        every = every.reshape(-1, every.shape[-1])
        coords = every[rows] if len(every) * sequences.dim == X.size else None
    sequences = Sequences(sequences.tokens, sequences.offsets, names, ids)
    used = Roles(by, label, group, (name,), layer=archive.roles.wanted_layer)
    source = None if label is None else f"array {label!r}"
    return Dataset(archive.path, sequences, labels, groups, rows, coords, used, source)


def _divide(
    archive: NamedArrays, name: str, X: Array, by: str | None, alone: bool
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
    elif "offsets" in arrays and not alone:
        sequences = Sequences(X, archive.read("offsets"))
    elif mask := archive.pick("mask"):
        present = archive.read(mask)
        present = present.reshape(1, -1) if alone else present
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
    unused = [other for other in arrays if "mask" in other.lower() and other != mask]
    if unused and not alone:
        warn_caller(f"{archive.path}: {shorten(unused)} is not used", UserWarning)
    return sequences, rows, bags


def _per_sequence(archive: NamedArrays, name: str, count: int, bags: Grouping | None) -> Any:
    """Return one value per sequence, from one per token or one per sequence.

    With ``bag`` sequences are in the order of first appearance. If the sorted order is another
    one, the file could mean either, and must say which by ``ids``, in the order of the values.
    """
    values = archive.read(name)
    if count == values.size == 1:
        return [values.item()]
    if bags is not None and values.shape == bags.codes.shape:
        with prefix_errors(f"{archive.path}: {name}"):
            return bags.shared(values).tolist()
    if values.shape != (count,):
        each = "" if bags is None else f", or one per token ({len(bags.codes)},)"
        raise ValueError(f"{name} must have shape ({count},){each}, got {values.shape}")
    if bags is None:
        return values.tolist()
    names, stated = bags.ids.tolist(), "ids" in archive.arrays
    ordered = archive.read("ids").tolist() if stated else np.sort(bags.ids).tolist()
    if Counter(ordered) != Counter(names):
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
    """Read archives that hold one sequence each."""
    parts, total = list[Dataset](), 0
    for title, archive in archives:
        with prefix_errors(archive.path):
            parts.append(_read_one(title, archive))
        expected, dim = (part.sequences.dim for part in (parts[0], parts[-1]))
        if dim != expected:
            wrong = f"{dim} features per token, {parts[0].ids[0]!r} has {expected}"
            held = f"name it with 'features': {list_arrays(asked.arrays)}"
            hint = f"; if one array holds the tokens, {held}" if asked.arrays else ""
            raise ValueError(f"sequence {title!r} has {wrong}{hint}")
        total += parts[-1].sequences.tokens.size
        check_size(asked.path, 4 * total, total, asked.max_numbers)

    labels: Any = [None if part.labels is None else part.labels[0] for part in parts]
    groups: Any = [None if part.groups is None else part.groups[0] for part in parts]
    labels, groups = (None if set(each) == {None} else each for each in (labels, groups))
    places: Any = [part.coords for part in parts]
    coords = None if any(each is None for each in places) else np.concatenate(places)
    rows = np.concatenate([part.rows for part in parts])
    roles, names = asked.roles, {part.roles.features for part in parts}
    features = names.pop() if len(names) == 1 else None
    used = Roles(roles.by, roles.label, None, features, (), roles.wanted_layer, "files")
    source = None if labels is None else "the file of each sequence"
    X = Sequences.concatenate(part.sequences for part in parts)
    return Dataset(asked.path, X, labels, groups, rows, coords, used, source)


def _read_one(title: str, archive: NamedArrays) -> Dataset:
    """Read arrays of one sequence."""
    matrices = [name for name, array in archive.arrays.items() if len(array.shape) in (2, 3)]
    name = archive.tokens_name() or (matrices[0] if len(matrices) == 1 else None)
    if name is None:
        raise archive.no_tokens()
    shape = archive.arrays[name].shape
    if len(shape) != 2 and (len(shape), *shape[:1]) != (3, 1):  # some write a batch of one
        called = "its array" if archive.path.suffix == ".npy" else name
        raise ValueError(f"{called} must have shape (L, d), got {shape}")
    return _read(archive, name, None, title)


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
    token = arrays[matrices[0]].shape[1:]
    if alone := [name for name, array in arrays.items() if array.shape == token]:
        wrong = f"{shorten(alone)} of shape {token} is not used; a sequence has shape (L, d)"
        warn_caller(f"{archive.path}: {wrong}", UserWarning)
    return [(name, replace(archive, arrays={"X": arrays[name]})) for name in matrices]


def read_folder(asked: NamedArrays) -> Dataset:
    """Read a folder; the name of a file, or of the folder that it is alone in, names a sequence.

    Folders inside are classes, or ``features`` beside ``labels`` and ``coords`` of the same files.
    """
    folder = asked.path
    home = next((folder / n for n in USUAL["features"] if (folder / n).is_dir()), folder)
    if home != folder:
        places = {file.relative_to(folder).parts[0] for file in _array_files(folder)}
        if others := sorted(places - {home.name, *_BESIDE}):
            held = f"{home.name}, and arrays in {shorten(others)}"
            raise ValueError(f"{folder} holds {held}: move them away, or name the folder to read")
    files = _named_files(home)
    archives = (
        (name, replace(asked, path=file, arrays=_with_siblings(file, home, folder)))
        for name, file in files.items()
    )
    dataset = _join(asked, archives)
    folders = {name: file.parent for name, file in files.items()}
    distinct = set(folders.values())
    one_deep = all(inside.parent == home for inside in distinct)
    by_stem = all(name == file.stem for name, file in files.items())  # not a folder for each
    if dataset.labels is not None or not (one_deep and by_stem and 1 < len(distinct) < len(files)):
        return dataset
    if {inside.name.lower() for inside in distinct} & _SPLITS:
        held = ", ".join(sorted(inside.name for inside in distinct))
        raise ValueError(f"{home} holds {held}: these are no classes, name one of them")
    labels: Any = [folders[name].name for name in dataset.ids]
    return replace(dataset, labels=labels, label_source="the folder of each file")


def _named_files(folder: Path) -> dict[str, Path]:
    """Return the files that hold arrays, all in a folder or all deeper inside, by short names."""
    files = _array_files(folder)
    beside = [path for path in files if path.parent == folder]
    if 0 < len(beside) < len(files):
        inside = f"{beside[0].name} beside {len(files) - len(beside)} files in folders"
        raise ValueError(f"{folder} holds {inside}: move it away, or name the folder to read")
    kinds = {path.suffix for path in files}
    if len(kinds) != 1 or not kinds <= ARRAYS.keys():
        every = files or [path for path in folder.rglob("*") if path.is_file()]
        counts = Counter(path.suffix or path.name for path in every)
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


def _array_files(folder: Path) -> list[Path]:
    """Return all files of a folder that hold arrays, by their endings in any case."""
    every = sorted(folder.rglob("*"))
    return [path for path in every if path.suffix.lower() in ARRAYS and path.is_file()]


def _with_siblings(file: Path, home: Path, folder: Path) -> dict[str, Any]:
    """Return the arrays of a file, and its label and coordinates from folders beside its own."""
    arrays = dict(open_arrays(file))
    for role in ("labels", "coords") if home != folder else ():
        beside = folder / role / file.relative_to(home)
        if beside.exists():
            for array in open_arrays(beside).values():
                arrays.setdefault(role, array)
    return arrays
