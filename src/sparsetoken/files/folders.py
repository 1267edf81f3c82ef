"""Folders with one file per sequence: side by side, in folders of their own, or by class."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sparsetoken.files.arrays import read_sequences
from sparsetoken.files.dataset import Dataset
from sparsetoken.files.guards import Arrays
from sparsetoken.files.named_arrays import NamedArrays
from sparsetoken.files.roles import USUAL

Opener = Callable[[Path], Arrays]
_SPLITS = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}


def read_folder(
    folder: Path, asked: NamedArrays, endings: Sequence[str], open_arrays: Opener
) -> Dataset:
    """Read a folder; the name of a file, or of the folder that it is alone in, names a sequence.

    Folders inside are classes, or ``features`` beside ``labels`` and ``coords`` of the same files.
    """
    home = next((folder / n for n in USUAL["features"] if (folder / n).is_dir()), folder)
    files = _named(home, _files(home, endings))
    archives = (
        (name, replace(asked, path=file, arrays=_with_siblings(file, home, folder, open_arrays)))
        for name, file in files.items()
    )
    dataset = read_sequences(folder, archives, asked)
    classes = _classes(home, files)
    if dataset.labels is not None or classes is None:
        return dataset
    labelled = dataset.labelled_by([classes[name] for name in dataset.ids], dataset.groups)
    return replace(labelled, label_source="the folder of each file")


def _files(folder: Path, endings: Sequence[str]) -> list[Path]:
    """Return the files of a folder that hold arrays, all in it or all deeper inside."""
    every = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [path for path in every if path.suffix in endings]
    beside = [path for path in files if path.parent == folder]
    if 0 < len(beside) < len(files):
        inside = f"{beside[0].name} beside {len(files) - len(beside)} files in folders"
        raise ValueError(f"{folder} holds {inside}: move it away, or name the folder to read")
    kinds = {path.suffix for path in files}
    if len(kinds) != 1:
        counts = Counter(p.suffix or p.name for p in every if p.suffix in kinds or not kinds)
        held = " and ".join(f"{n} {kind}" for kind, n in counts.most_common(5)) or "nothing"
        kinds_read = f"files of one kind, {', '.join(endings)}; it holds {held}"
        raise ValueError(f"{folder} must hold {kinds_read}; save other arrays with numpy.savez")
    return files


def _named(folder: Path, files: list[Path]) -> dict[str, Path]:
    """Return the files by the shortest names that tell them apart."""
    stems = {file.stem for file in files}
    if 1 < len(files) == len(stems):
        return {file.stem: file for file in files}
    paths = [file.relative_to(folder).with_suffix("") for file in files]
    if len(stems) == 1 and folder not in (file.parent for file in files):
        paths = [path.parent for path in paths]
    return {path.as_posix(): file for path, file in zip(paths, files, strict=True)}


def _classes(folder: Path, files: dict[str, Path]) -> dict[str, str] | None:
    """Return the folder that each file is in, if folders can be classes."""
    homes = {name: file.relative_to(folder).parent.as_posix() for name, file in files.items()}
    distinct = set(homes.values())
    if len(distinct) < 2 or any("/" in home for home in distinct):
        return None
    if len(distinct) == len(files) or any(name != file.stem for name, file in files.items()):
        return None  # one folder per sequence
    if {home.lower() for home in distinct} & _SPLITS:
        held = ", ".join(sorted(distinct))
        raise ValueError(f"{folder} holds {held}: these are no classes, name one of them")
    return homes


def _with_siblings(file: Path, home: Path, folder: Path, open_arrays: Opener) -> Arrays:
    """Return the arrays of a file, and its label and coordinates from folders beside its own."""
    arrays = dict(open_arrays(file))
    for role in ("labels", "coords") if home != folder else ():
        beside = folder / role / file.relative_to(home)
        if beside.exists():
            for array in open_arrays(beside).values():
                arrays.setdefault(role, array)
    return arrays
