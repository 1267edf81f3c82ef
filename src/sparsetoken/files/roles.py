"""Which column of a table, or array of a file, plays which role."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from sparsetoken.sequences.forms import find_name

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
