"""Which columns of a table are what."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sparsetoken.files.dataset import Selection, find_names
from sparsetoken.sequences.interop import find_name

__all__ = ["Columns", "choose_columns"]


class Columns(NamedTuple):
    """The columns of a table that are read."""

    by: str
    label: str | None
    group: str | None
    features: list[str]

    @property
    def texts(self) -> list[str]:
        """Those that are no features."""
        return [name for name in self[:3] if isinstance(name, str)]


def choose_columns(path: Path, header: Sequence[str], selection: Selection) -> Columns:
    """Decide what each column is."""
    where = f"{path}, columns"
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise ValueError(f"{path} has two columns named {twice!r}")
    if selection.by in header or (selection.by and "by" not in selection.remembered):
        by = find_name(str(selection.by), header, where)
    else:
        usual = [name for name in ("bag", "sequence") if name in header]
        if len(usual) != 1:
            found = "both" if usual else f"no column 'bag' or 'sequence' among {_list(header)}"
            raise ValueError(
                f"{path}, line 1: {found}; name the column with the sequence of each token by --by"
            )
        by = usual[0]
    label: str | None = selection.label or "label"
    if label not in header:
        if selection.label is not None and "label" not in selection.remembered:
            find_name(selection.label, header, where)
        label = None
    group = None if selection.group is None else find_name(selection.group, header, where)
    taken = {by, label, group, *find_names(selection.ignore, header, where)}
    if selection.features is None:
        features = [name for name in header if name not in taken]
    else:
        features = find_names(selection.features, header, where)
        if any("*" in pattern for pattern in selection.features):
            features = [name for name in features if name not in taken]
        for name in features:
            if name in taken:
                raise ValueError(f"{path}: {name!r} cannot be a feature and something else too")
    if not features:
        raise ValueError(f"{path}, line 1: no columns with features")
    return Columns(by, label, group, features)


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return f"{shown}, …" if len(names) > 8 else shown or "none"
