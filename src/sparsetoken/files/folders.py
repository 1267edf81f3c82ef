"""Folders with one file a sequence: side by side, in folders of their own, or by class."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.files.archive import Archive
from sparsetoken.files.arrays import read_sequences
from sparsetoken.files.dataset import Dataset, make_dataset
from sparsetoken.files.formats import Arrays
from sparsetoken.files.names import USUAL, Wanted
from sparsetoken.sequences.sequences import Sequences

Opener = Callable[[Path], Arrays]
_SPLITS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}


def read_folder(
    folder: Path, wanted: Wanted, endings: Mapping[str, Any], open_arrays: Opener
) -> Dataset:
    """Read a folder; the name of a file, or of the folder that it is alone in, names a sequence.

    Folders inside are classes if each sequence is in one of several. ``features`` beside
    ``labels`` and ``coords`` has the tokens, and files of the same names in the others have the
    rest.
    """
    home = next((folder / n for n in USUAL["features"] if (folder / n).is_dir()), folder)
    files = _files(home, endings)
    names = _names(home, files)

    def opened(file: Path) -> Callable[[], Archive]:
        return lambda: Archive(file, _with_siblings(file, home, folder, open_arrays), wanted)

    each = {name: opened(file) for name, file in zip(names, files, strict=True)}
    dataset = read_sequences(folder, each, wanted)
    if {file.name for file in files} == {"features.npy"}:
        dataset = _without_places(dataset)
    classes = _classes(home, files, names)
    if dataset.labels is not None or classes is None:
        return dataset
    labels = dict(zip(names, classes, strict=True))
    return make_dataset(
        folder,
        dataset.sequences,
        dataset.ids,
        dataset.rows,
        [labels[name] for name in dataset.ids],
        dataset.groups,
        dataset.coords,
        dataset.reading,
    )


def _files(folder: Path, endings: Mapping[str, Any]) -> list[Path]:
    """Return the files of a folder that hold arrays, those deeper inside only if it has none."""
    every = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    if folder.suffix == ".zarr" or any(path.name in (".zarray", "zarr.json") for path in every):
        raise ValueError(
            f"{folder} is a zarr store, which is not read: save its arrays with numpy.savez"
        )
    files = [path for path in every if path.suffix in endings]
    files = [path for path in files if not path.name.endswith(".index.npz")]  # Slideflow's tiles
    files = [path for path in files if path.parent == folder] or files
    kinds = Counter(path.suffix for path in files)
    if len(kinds) != 1:
        held = Counter(
            path.suffix or path.name for path in every if path.suffix in kinds or not kinds
        )
        listed = " and ".join(f"{n} {kind}" for kind, n in held.most_common(5)) or "nothing"
        raise ValueError(
            f"{folder} must hold files of one kind, {', '.join(endings)}; it holds {listed}; save "
            "other arrays with numpy.savez"
        )
    return files


def _names(folder: Path, files: list[Path]) -> list[str]:
    stems = [file.stem for file in files]
    if len(set(stems)) == len(stems) and len(stems) > 1:
        return stems
    paths = [file.relative_to(folder).with_suffix("") for file in files]
    if len(set(stems)) == 1 and all(path.parent.name for path in paths):
        return [path.parent.as_posix() for path in paths]
    return [path.as_posix() for path in paths]


def _classes(folder: Path, files: list[Path], names: list[str]) -> list[str] | None:
    """Return the folder that each file is in, if folders can be classes."""
    homes = [file.relative_to(folder).parent.as_posix() for file in files]
    distinct = set(homes)
    if distinct == {"."} or len(distinct) < 2 or any("/" in home for home in distinct):
        return None
    if len(distinct) == len(files) or names != [file.stem for file in files]:
        return None  # a folder a sequence
    if {home.lower() for home in distinct} & _SPLITS:
        raise ValueError(
            f"{folder} holds {', '.join(sorted(distinct))}: these are no classes, name one of them"
        )
    return homes


def _without_places(dataset: Dataset) -> Dataset:
    """Take the columns of level, x and y, which Owkin puts first, as coordinates."""
    X = dataset.sequences
    whole = (X.tokens == np.round(X.tokens)).all(axis=0)
    if not whole[:3].all() or len(whole) < 4 or whole[3:].mean() > 0.5:  # some may always be zero
        return dataset
    warnings.warn(
        f"{dataset.path}: the first three columns hold whole numbers: taken as level, x and y of "
        "a tile, not as features",
        stacklevel=5,
    )
    sequences = Sequences(X.tokens[:, 3:], X.offsets, ids=X.ids)
    return replace(dataset, sequences=sequences, coords=X.tokens[:, 1:3])


def _with_siblings(file: Path, home: Path, folder: Path, open_arrays: Opener) -> Arrays:
    """Return the arrays of a file, and its label and coordinates from folders beside its own."""
    arrays = dict(open_arrays(file))
    if home != folder:
        for role in ("labels", "coords"):
            beside = folder / role / file.relative_to(home)
            if beside.exists():
                inside = open_arrays(beside)
                if len(inside) == 1:
                    arrays.setdefault(role, next(iter(inside.values())))
    return arrays
