"""Tables: one token per row, or one sequence per row with its tokens in a list."""

from typing import Any

import numpy as np

from sparsetoken._types import Array, Indices
from sparsetoken.files.dataset import Dataset, checked, is_missing
from sparsetoken.files.frames import Table
from sparsetoken.files.guards import prefix_errors, shorten
from sparsetoken.files.roles import USUAL, Roles, find_names
from sparsetoken.sequences.forms import as_floats, frame_tokens, split_lists
from sparsetoken.sequences.grouping import group_rows, is_row_number, one_per_group, refuse_labels
from sparsetoken.sequences.sequences import grouped


def read_table(
    table: Table, roles: Roles, max_numbers: int | None, rows_alone: bool = False
) -> Dataset:
    """Read sequences from a table; with ``rows_alone`` a row may be one, if none is named."""
    used = _choose(table, roles)
    by, features = used.by, list(used.features or ())
    if by is None and table.kinds[features[0]] != "tokens" and not rows_alone:
        raise ValueError(
            f"no column 'bag' or 'sequence' among {shorten(list(table.kinds), 8)}; name the column "
            "with the sequence of each token with 'by'"
        )
    texts = [name for name in (by, used.label, used.group) if name is not None]
    frame = table.read(texts, features, max_numbers)
    if not len(frame):
        raise ValueError(f"{table.path} has no tokens: only the names of columns")
    tokens, lengths = _tokens(table, frame, features)
    plain = table.kinds[features[0]] in ("any", "number")
    rows = np.arange(len(frame))
    ids, codes = rows, rows
    if by is not None:
        names: Array = np.array(frame[by].to_pylist(), dtype=object)
        nameless = np.array([name is None or name != name or name == "" for name in names])
        if nameless.any() and plain:  # spreadsheets write empty rows at the end
            rows = np.flatnonzero(~(nameless & np.isnan(tokens).all(axis=1)))
            tokens, lengths = tokens[rows], lengths[rows]
        if nameless[rows].any():
            first = int(rows[nameless[rows].argmax()])
            raise ValueError(f"{table.where(first, by)} names no sequence")
        if table.kinds[by] == "number" and not nameless.any():
            names = frame[by].to_numpy()
        ids, codes = group_rows(names[rows], by)
    if plain and not np.isfinite(tokens).all():
        row, feature = np.argwhere(~np.isfinite(tokens))[0]
        sequence = "" if by is None else f", in sequence {ids[codes].tolist()[row]!r}"
        raise table.no_number(int(rows[row]), features[feature], sequence)

    def one_each(name: str) -> Any:
        values = [None if is_missing(value) else value for value in frame[name].to_pylist()]
        each = np.array(values, dtype=object)[rows]
        shared = one_per_group(each, ids, codes, lambda row: table.where(int(rows[row]), name))
        return shared.tolist()

    labels, groups = (None if n is None else one_each(n) for n in (used.label, used.group))
    of_token = np.repeat(codes, lengths)
    if roles.features is None and plain and by is not None:
        refuse_labels(tokens, of_token, features)
    feature_names = features if len(features) == tokens.shape[1] else None
    sequences = grouped(tokens, ids, of_token, feature_names)
    numbers = np.repeat(rows, lengths)[np.argsort(of_token, kind="stable")]
    source = None if used.label is None else f"column {used.label!r}"
    return checked(Dataset(table.path, sequences, labels, groups, numbers, None, used, source))


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
    patterns = roles.features
    if patterns is None and roles.like is not None and roles.like.layout == "table":
        patterns = roles.like.features
    if patterns is None:
        free = [name for name in kinds if name not in taken and not is_row_number(name)]
        lists = [name for name in free if kinds[name] == "tokens"]
        lists = lists or [name for name in free if kinds[name] == "vector"]
        if len(lists) > 1:
            raise ValueError(f"the tokens may be in {shorten(lists)}; say which with 'features'")
        features = lists or free
    else:
        features = find_names(patterns, list(kinds))
        if any("*" in pattern for pattern in patterns):
            features = [name for name in features if name not in taken]
        for name in taken & set(features):
            raise ValueError(f"{name!r} cannot be a feature and something else too")
    if not features:
        raise ValueError("no columns with features")
    if len(features) == 1 and kinds[features[0]] in ("vector", "tokens"):
        return features
    for name in features:
        if kinds[name] not in ("any", "number"):
            held = "string" if kinds[name] == "text" else kinds[name]
            raise ValueError(
                f"column {name!r} holds {held}, not numbers; leave it out with 'ignore'"
            )
    return features


def _tokens(table: Table, frame: Any, features: list[str]) -> tuple[Array, Indices]:
    """Return the tokens of all rows, and how many each row has."""
    name, one_each = features[0], np.ones(len(frame), np.int64)
    kind = table.kinds[name]
    if kind in ("any", "number"):
        tokens = frame_tokens(frame, features)
        if table.text:  # numbers that float32 holds exactly: single digits would be long
            with np.errstate(over="ignore"):
                narrow = tokens.astype(np.float32)
            tokens = narrow if np.array_equal(narrow, tokens, equal_nan=True) else tokens
        return tokens, one_each
    import pyarrow

    column = frame[name].combine_chunks()
    if kind == "vector":  # one token per row: a list of one sequence
        ends = pyarrow.array([0, len(column)], pyarrow.int64())
        column = pyarrow.LargeListArray.from_arrays(ends, getattr(column, "storage", column))
    with prefix_errors(f"column {name!r}"):
        tokens, lengths = split_lists(column) or (np.empty((0, 0)), one_each)
    return as_floats(tokens, repr(name)), one_each if kind == "vector" else lengths
