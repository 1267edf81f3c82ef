"""Tables: one token per row, or one sequence per row with its tokens in a list."""

from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken.files.dataset import Dataset, without_missing
from sparsetoken.files.frames import Table, not_finite
from sparsetoken.files.guards import prefix_errors, shorten
from sparsetoken.files.roles import USUAL, Roles, find_names
from sparsetoken.sequences.forms import as_floats, frame_tokens, split_lists
from sparsetoken.sequences.grouping import Grouping, is_row_number
from sparsetoken.sequences.sequences import Sequences


def read_table(
    table: Table, roles: Roles, max_numbers: int | None, rows_alone: bool = False
) -> Dataset:
    """Read sequences from a table; with ``rows_alone`` a row may be one, if none is named."""
    used = _choose(table, roles)
    by, features = used.by, list(used.features or ())
    kinds = table.kinds
    kind = kinds[features[0]]
    if by is None and kind != "tokens" and not rows_alone:
        raise ValueError(
            f"no column 'bag' or 'sequence' among {shorten(list(kinds), 8)}; name the column "
            "with the sequence of each token with 'by'"
        )
    texts = [name for name in (by, used.label, used.group) if name is not None]
    frame = table.read(texts, features, max_numbers)
    if not len(frame):
        raise ValueError(f"{table.path} has no tokens: only the names of columns")
    tokens, lengths = _tokens(frame, features, kind)
    rows = names = np.arange(len(frame))
    if by is not None:
        listed = [None if name == "" else name for name in frame[by].to_pylist()]
        names = np.array(listed, dtype=None if kinds[by] == "number" else object)
    if by is not None and kinds[by] == "any":  # spreadsheets write blank rows
        blank = np.array([n is None for n in names]) & np.isnan(tokens).all(axis=1)
        rows, frame = np.flatnonzero(~blank), frame.filter(~blank)
        names, tokens = names[rows], tokens[rows]
    bags = Grouping(names, by or "row", lengths, rows)
    if kind in ("any", "number"):
        if not np.isfinite(tokens).all():
            row, feature = np.argwhere(~np.isfinite(tokens))[0]
            sequence = "" if by is None else f", in sequence {bags.ids.tolist()[bags.codes[row]]!r}"
            value = tokens[row, feature].item()
            raise not_finite(int(rows[row]), features[feature], value, sequence)
        if roles.features is None and by is not None:
            bags.refuse_labels(tokens, features)

    def one_each(name: str) -> Any:
        values = np.array(without_missing(frame[name].to_pylist()), dtype=object)
        with prefix_errors(f"column {name!r}"):
            return bags.shared(values).tolist()

    labels, groups = (None if n is None else one_each(n) for n in (used.label, used.group))
    feature_names = features if len(features) == tokens.shape[1] else None
    sequences = Sequences(bags.sort(tokens), bags.offsets, feature_names, bags.ids)
    numbers = np.repeat(rows, lengths)[bags.order]
    source = None if used.label is None else f"column {used.label!r}"
    return Dataset(table.path, sequences, labels, groups, numbers, None, used, source)


def _choose(table: Table, roles: Roles) -> Roles:
    """Decide what each column is."""
    kinds, header = table.kinds, list(table.kinds)
    usual = {"by": USUAL["by"], "label": USUAL["label"][:2], "group": USUAL["group"]}
    chosen: dict[str, Any] = {role: roles.pick(role, header, usual[role]) for role in usual}
    for role, name in chosen.items():
        if name is not None and any(word in kinds[name] for word in ("vector", "tokens", "<")):
            raise ValueError(f"column {name!r}, taken for {role!r}, holds {kinds[name]}, not names")
    features = _features(kinds, roles, {*chosen.values(), *find_names(roles.ignore, header)})
    return Roles(**chosen, features=tuple(features), layout="table")


def _features(kinds: dict[str, str], roles: Roles, taken: set[Any]) -> list[str]:
    """Return the columns that are named, were used in a table like this, or are nothing else."""
    patterns = roles.features
    if patterns is None and roles.before.layout == "table":
        patterns = roles.before.features
    if patterns is None:
        free = [name for name in kinds if name not in taken and not is_row_number(name)]
        tokens = [name for name in free if kinds[name] == "tokens"]
        tokens = tokens or [name for name in free if kinds[name] == "vector"]
        if len(tokens) > 1:
            raise ValueError(f"the tokens may be in {shorten(tokens)}; say which with 'features'")
        features = tokens or free
    else:
        features = find_names(patterns, list(kinds))
        if any("*" in pattern for pattern in patterns):
            features = [name for name in features if name not in taken]
        for name in taken & set(features):
            raise ValueError(f"{name!r} cannot be a feature and something else too")
    if not features:
        raise ValueError("no columns with features")
    lists = ("vector", "tokens") if len(features) == 1 else ()
    for name in features:
        if kinds[name] not in ("any", "number", *lists):
            wrong = f"{kinds[name]}, not numbers; leave it out with 'ignore'"
            raise ValueError(f"column {name!r} holds {wrong}")
    return features


def _tokens(frame: Any, features: list[str], kind: str) -> tuple[Array, Any]:
    """Return the tokens of all rows, and how many each row has."""
    if kind in ("any", "number"):
        tokens = frame_tokens(frame, features)
        if kind == "any":  # numbers that float32 holds exactly: single digits would be long
            with np.errstate(over="ignore"):
                narrow = tokens.astype(np.float32)
            tokens = narrow if np.array_equal(narrow, tokens, equal_nan=True) else tokens
        return tokens, 1
    import pyarrow

    name = features[0]
    column = frame[name].combine_chunks()
    if kind == "vector":  # one token per row: a list of one sequence
        ends = pyarrow.array([0, len(column)], pyarrow.int64())
        column = pyarrow.LargeListArray.from_arrays(ends, getattr(column, "storage", column))
    with prefix_errors(f"column {name!r}"):
        tokens, lengths = split_lists(column) or (np.empty((0, 0)), 1)
    return as_floats(tokens, repr(name)), 1 if kind == "vector" else lengths
