"""Which column of a table, or array of a file, plays which role."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.guards import Arrays, check_size, list_arrays, report_damage, shorten
from sparsetoken.sequences.forms import find_name

_LAYER = re.compile(r"(?:^|[^a-z])(?:layers?[._\-/ ]?|blocks[./])(\d+)", re.IGNORECASE)
_TOKENS = "X features feats embeddings hidden_states last_hidden_state activations acts tokens data"
# Names as people write them. A table's label is never "y": that may be a coordinate.
USUAL: dict[str, list[str]] = {
    "features": _TOKENS.split(),
    "by": ["bag", "sequence", "bag_id", "bag_ids", "sequence_id"],
    "label": ["label", "labels", "y"],
    "mask": ["mask", "attention_mask"],
    "coords": ["coords", "coordinates"],
    "group": [],
}


@dataclass(frozen=True)
class Roles:
    """What is said about a file before it is read, and what is known of it afterwards.

    ``by``, ``label`` and ``group`` are columns or arrays; ``features`` are columns, or the array
    with the tokens; columns in ``ignore`` play no role. ``layout`` is "table", or "files" if each
    file is one sequence. The roles of ``like``, another file, are taken where they fit, before
    usual names are.
    """

    by: str | None = None
    label: str | None = None
    group: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    layer: int | None = None
    layout: str | None = None
    like: "Roles | None" = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON: ``Roles(**values)`` or ``like=values`` takes them."""
        return {n: v for n, v in asdict(self).items() if (v and n != "like") or v == 0}

    @property
    def before(self) -> "Roles":
        """The roles in the file that this one is like."""
        return self.like or Roles()

    @property
    def wanted_layer(self) -> int | None:
        """The layer that was named, or used in a file like this."""
        return self.before.layer if self.layer is None else self.layer

    def pick(self, role: str, names: Sequence[str], usual: Any = None) -> str | None:
        """Return what was named for a role, was used in a file like this, or has a usual name."""
        named, before = getattr(self, role, None), getattr(self.before, role, None)
        if named is not None:
            return find_name(named, names, repr(role))
        if before in names:
            return str(before)
        present = usual_names(USUAL[role] if usual is None else usual, names)
        if len(present) > 1:
            listed = " and ".join(repr(name) for name in present)
            raise ValueError(f"there are {listed}; say which is meant with {role!r}")
        return present[0] if present else None


def usual_names(usual: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return the usual names among others; if there is none, those that differ in writing only.

    That is in capitals, in spaces and hyphens for underscores, and in the s of a plural.
    """
    present = list(names)
    plain = {_plain(name) for name in usual}
    return [n for n in usual if n in present] or [n for n in present if _plain(n) in plain]


def _plain(name: str) -> str:
    return name.lower().replace(" ", "_").replace("-", "_").removesuffix("s")


def find_names(patterns: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Return the columns that patterns stand for, each once; every pattern must stand for some."""
    names, exact = dict[str, None](), set(columns)
    for pattern in patterns:
        matched = [pattern] if pattern in exact else [n for n in columns if fnmatchcase(n, pattern)]
        names.update(dict.fromkeys(matched or [find_name(pattern, columns, "columns")]))
    return list(names)


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
        check_size(self.path, size, max(dtype.itemsize, 1), self.max_numbers)
        with report_damage(self.path, f"{name} of shape {shape}"):
            return np.asarray(self.arrays[name])

    def pick(self, role: str) -> str | None:
        """Return the array for a role, None if there is none."""
        return self.roles.pick(role, list(self.arrays))

    def tokens_name(self) -> str | None:
        """Return the array that holds the tokens; None if each array, or group, is a sequence."""
        named, before, arrays = self.roles.features, self.roles.before, self.arrays
        if named is not None:
            if len(named) > 1:
                raise ValueError("'features' must name one array")
            inside = any(name.endswith(f"/{named[0]}") for name in arrays)
            return None if inside else find_name(named[0], list(arrays), "arrays")
        if before.features and before.layout != "table" and before.features[0] in arrays:
            return before.features[0]
        if "X" in arrays:
            return "X"
        large = [n for n, array in arrays.items() if len(array.shape) >= 2]
        usual = usual_names(USUAL["features"], large)
        usual = [n for n in usual if arrays[n].dtype.kind == "f"] or usual
        if len(usual) > 1:
            which = f"{' or '.join(usual)}; say which with 'features'"
            raise ValueError(f"the tokens may be in {which}. It holds {list_arrays(arrays)}")
        return usual[0] if usual else self._layer_name()

    def _layer_name(self) -> str | None:
        """Return the array of the layer that is wanted, None if arrays are no layers."""
        layers: dict[int, list[str]] = {}
        for name, array in self.arrays.items():
            if (number := _LAYER.search(name)) and len(array.shape) >= 2:
                layers.setdefault(int(number[1]), []).append(name)
        if not layers:
            return None
        wanted = self.roles.wanted_layer
        if wanted is None and len(layers) == 1:
            (wanted,) = layers
        if wanted not in layers:
            missing = "" if wanted is None else f" There is no layer {wanted}."
            which = f"say which with 'layer', one of {shorten(sorted(layers), 99)}.{missing}"
            held = f"{which} It holds {list_arrays(self.arrays)}"
            raise ValueError(f"{self.path} holds one array per layer: {held}")
        if len(layers[wanted]) > 1:
            names = " and ".join(layers[wanted])
            raise ValueError(f"layer {wanted} has {names}; say which with 'features'")
        return layers[wanted][0]

    def read_tokens(self, name: str) -> Array:
        """Read the tokens; of several layers in one array, the one that is wanted."""
        shape, wanted = self.arrays[name].shape, self.roles.wanted_layer
        if len(shape) != (3 if "offsets" in self.arrays else 4):
            if self.roles.layer is not None and not _LAYER.search(name):
                raise ValueError(f"'layer' is {self.roles.layer}, but {name} {shape} has no layers")
            return self.read(name)
        layers = self.read("layers").ravel().tolist() if "layers" in self.arrays else []
        axes = [i for i, size in enumerate(shape[:-1]) if size == len(layers)]
        if len(axes) != 1:
            found = f"{len(axes)} axes as long as 'layers', an array with the numbers of layers"
            other = "save each layer as an array of its own, layer_0, layer_1, …"
            raise ValueError(f"{name} {shape} has one axis too many, and {found}: {other}")
        wanted = layers[0] if wanted is None and len(layers) == 1 else wanted
        if wanted not in layers:
            raise ValueError(f"{name} has the layers {shorten(layers, 40)}; say which with 'layer'")
        return self.read(name).take(layers.index(wanted), axis=axes[0])

    def no_tokens(self) -> ValueError:
        """Return the error of a file in which no array can be the tokens."""
        held = f"name another with 'features'. It holds {list_arrays(self.arrays)}"
        return ValueError(f"{self.path} must hold an array 'X' with the tokens; {held}")
