"""Which column of a table, or array of an archive, is what."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from sparsetoken.sequences.interop import find_name

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
class Wanted:
    """What the caller of ``read_dataset`` has said."""

    by: str | None = None
    label: str | None = None
    group: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    layer: int | None = None
    max_numbers: int | None = None
    like: Mapping[str, Any] = field(default_factory=dict)

    @property
    def layer_or_like(self) -> int | None:
        """The layer that was named, or used in a file like this."""
        return self.like.get("layer") if self.layer is None else self.layer

    def pick(self, role: str, names: Sequence[str], usual: Any = None) -> str | None:
        """Return what was named for a role, was used in a file like this, or has a usual name."""
        named = getattr(self, role, None)
        if named is not None:
            return find_name(named, names, f"{role}=")
        if self.like.get(role) in names:
            return str(self.like[role])
        present = usual_names(usual or USUAL[role], names)
        if len(present) > 1:
            listed = " and ".join(repr(name) for name in present)
            raise ValueError(f"there are {listed}; say which is meant with {role}=")
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
    names: dict[str, None] = {}
    exact = set(columns)
    for pattern in patterns:
        matched = [pattern] if pattern in exact else [n for n in columns if fnmatchcase(n, pattern)]
        names.update(dict.fromkeys(matched or [find_name(pattern, columns, "columns")]))
    return list(names)
