"""Tables: one token per row, or one sequence per row with its tokens in a list."""

from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken._types import Array, Indices
from sparsetoken.files.dataset import Dataset, checked, is_missing
from sparsetoken.files.frames import Table
from sparsetoken.files.guards import shorten
from sparsetoken.files.roles import USUAL, Roles, find_names
from sparsetoken.sequences.grouping import (
    constant_columns,
    differing_row,
    first_rows,
    group_rows,
    is_row_number,
)
from sparsetoken.sequences.interop import as_floats, frame_tokens, split_lists
from sparsetoken.sequences.sequences import grouped


def read_table(
    path: Path, table: Table, roles: Roles, max_numbers: int | None, rows_alone: bool = False
) -> Dataset:
    """Read sequences from a table; with ``rows_alone`` a row may be one, if none is named."""
    used = _choose(table, roles)
    features = list(used.features or ())
    if used.by is None and table.kinds[features[0]] != "tokens" and not rows_alone:
        raise ValueError(
            f"no column 'bag' or 'sequence' among {shorten(list(table.kinds), 8)}; name the column "
            "with the sequence of each token with 'by'"
        )
    texts = [name for name in (used.by, used.label, used.group) if name is not None]
    frame = table.read(texts, features, max_numbers)
    if not len(frame):
        raise ValueError(f"{path} has no tokens: only the names of columns")
    tokens, lengths = _tokens(table, frame, features)
    rows = np.flatnonzero(~_empty_rows(frame, used.by, tokens, lengths))
    if len(rows) < len(frame):
        tokens, lengths, frame = tokens[rows], lengths[rows], frame.iloc[rows]
    ids, codes = _names(table, frame, used.by, rows)
    plain = table.kinds[features[0]] in ("any", "number")
    if plain:
        _check_finite(table, tokens, features, rows, None if used.by is None else ids[codes])
    labels, groups = (
        None if name is None else _one_each(table, frame[name], name, ids, codes, rows)
        for name in (used.label, used.group)
    )
    of_token = np.repeat(codes, lengths)
    if roles.features is None and plain and used.by is not None:
        for i in constant_columns(tokens, of_token):
            raise ValueError(
                f"column {features[i]!r} has one value in each sequence, as a label has; leave it "
                f"out with 'ignore', or take all columns with the pattern '*' for 'features'"
            )
    feature_names = features if len(features) == tokens.shape[1] else None
    sequences = grouped(tokens, ids, of_token, feature_names)
    numbers = np.repeat(rows, lengths)[np.argsort(of_token, kind="stable")]
    source = None if used.label is None else f"column {used.label!r}"
    return checked(Dataset(path, sequences, labels, groups, numbers, None, used, source))


def _choose(table: Table, roles: Roles) -> Roles:
    """Decide what each column is."""
    kinds, header = table.kinds, list(table.kinds)
    by = roles.pick("by", header)
    label = roles.pick("label", header, USUAL["label"][:2])
    group = roles.pick("group", header)
    for role, name in (("by", by), ("label", label), ("group", group)):
        if name is not None and any(word in kinds[name] for word in ("vector", "tokens", "<")):
            raise ValueError(f"column {name!r}, taken for {role!r}, holds {kinds[name]}, not names")
    features = _features(kinds, roles, {by, label, group, *find_names(roles.ignore, header)})
    return Roles(by, label, group, tuple(features), layout="table")


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
            kind = "string" if kinds[name] == "text" else kinds[name]
            raise ValueError(
                f"column {name!r} holds {kind}, not numbers; leave it out with 'ignore'"
            )
    return features


def _tokens(table: Table, frame: Any, features: list[str]) -> tuple[Array, Indices]:
    """Return the tokens of all rows, and how many each row has."""
    kind, one_each = table.kinds[features[0]], np.ones(len(frame), np.int64)
    if kind in ("any", "number"):
        tokens = frame_tokens(frame, features)
        return _narrow(tokens) if kind == "any" else tokens, one_each
    import pyarrow

    column = frame[features[0]].array.__arrow_array__().combine_chunks()
    if kind == "vector":  # one token per row: a list of one sequence
        ends = pyarrow.array([0, len(column)], pyarrow.int64())
        column = pyarrow.LargeListArray.from_arrays(ends, getattr(column, "storage", column))
    try:
        tokens, lengths = split_lists(column) or (np.empty((0, 0)), one_each)
    except ValueError as error:
        raise ValueError(f"column {features[0]!r}: {error}") from None
    return as_floats(tokens, repr(features[0])), one_each if kind == "vector" else lengths


def _narrow(values: Array) -> Array:
    """Return numbers that float32 holds exactly as that: single digits would be 4 times as long."""
    with np.errstate(over="ignore"):
        narrow = values.astype(np.float32)
    return narrow if np.array_equal(narrow, values, equal_nan=True) else values


def _empty_rows(frame: Any, by: str | None, tokens: Array, lengths: Indices) -> Array:
    """Return which rows have neither a name nor a number, as spreadsheets write them at the end."""
    if by is None or len(tokens) != len(frame) or (lengths != 1).any():
        return np.zeros(len(frame), bool)
    empty: Array = frame[by].isin(["", None]).to_numpy(copy=True)
    empty[empty] = np.isnan(tokens[empty]).all(axis=1)
    return empty


def _names(table: Table, frame: Any, by: str | None, rows: Indices) -> tuple[Array, Indices]:
    """Return the names of the sequences, and the sequence of each row."""
    if by is None:
        return np.arange(len(frame)), np.arange(len(frame))
    nameless = (frame[by].isna() | (frame[by] == "")).to_numpy()
    if nameless.any():
        raise ValueError(f"{table.where(int(rows[nameless.argmax()]), by)} names no sequence")
    return group_rows(frame[by], by)


def _check_finite(
    table: Table, tokens: Array, features: list[str], rows: Indices, names: Array | None
) -> None:
    finite = np.isfinite(tokens)
    if not finite.all():
        row, feature = np.argwhere(~finite)[0]
        sequence = "" if names is None else f", in sequence {names.tolist()[row]!r}"
        raise table.no_number(int(rows[row]), features[feature], sequence)


def _one_each(
    table: Table, column: Any, name: str, ids: Array, codes: Indices, rows: Indices
) -> Any:
    """Return the value of each sequence, which all its rows share."""
    values = np.array([None if is_missing(value) else value for value in column], dtype=object)
    first, row = first_rows(codes), differing_row(values, codes)
    if row is not None:
        value, name_of = column.iloc[int(first[codes[row]])], ids.tolist()[codes[row]]
        before = f"{value!r} before in sequence {name_of!r}"
        raise ValueError(f"{table.where(int(rows[row]), name)}, but {before}")
    return values[first].tolist()
