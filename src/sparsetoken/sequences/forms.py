"""Whatever holds sequences, as stacked tokens with the places where sequences start.

Nothing is imported for other libraries: an object shows by its attributes what it is, and the
library whose object it is has been imported already.
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sparsetoken._types import Array, Indices
from sparsetoken.sequences.checks import OneTokenWarning, warn_caller, warn_of_empty

Stacked = tuple[Array, Indices, Array | None]  # tokens, offsets, names of the features

_FORMS = "X must be an array of shape (n, L, d) or (n, d), a list of (L_i, d) arrays, or Sequences"


def stack(X: Any) -> Stacked:
    """Stack arrays and tensors of any library, frames, lists, Arrow and awkward columns."""
    if is_frame(X):
        check_frame(X)
        return _stack_array(*named_tokens(X, "X"))
    if (lists := split_lists(X)) is not None:
        return lists[0], offsets_of(lists[1]), None
    whole = any(hasattr(X, name) for name in ("__array__", "__dlpack__", "toarray"))
    if whole and getattr(X, "ndim", None) == 1 and str(X.dtype) == "object":
        X, whole = list(X), False  # arrays of different shapes
    if not whole:
        if isinstance(X, str | dict) or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
            raise ValueError(f"{_FORMS}, got {type(X).__name__}")
        if not len(X) or is_frame(X[0]) or np.ndim(X[0]) >= 2:
            return stack_list(X)
    return _stack_array(as_floats(X, "X"))


def check_frame(frame: Any) -> None:
    """Refuse a table whose rows are the tokens of named sequences: say how to group them."""
    index: Any = getattr(frame, "index", None)
    by = getattr(index, "name", None)
    if by is not None and not index.is_unique:
        reason = f"its index {by!r} names several rows alike"
    else:
        names = [name for name in column_names(frame) if len(frame[name])]
        texts = [name for name in names if isinstance(column_values(frame[name])[0], str)]
        if not texts:
            return
        by, reason = texts[0], f"column {texts[0]!r} holds text"
    call = f"X, y = Sequences.from_frame(df, by={by!r}, label=...)"
    raise ValueError(f"X is a table, and {reason}: group its rows into sequences with {call}")


def stack_list(sequences: Sequence[Any]) -> Stacked:
    """Stack arrays or frames of shape (length, dim)."""
    if len(sequences) == 0:
        raise ValueError("X must hold at least one sequence, got an empty list")
    named = [named_tokens(part, f"sequence {i} of X") for i, part in enumerate(sequences)]
    for i, (tokens, _) in enumerate(named):
        if tokens.ndim != 2:
            raise ValueError(f"sequence {i} of X must have shape (length, dim), got {tokens.shape}")
    lengths = [len(tokens) for tokens, _ in named]
    return join_tokens(named, "sequence"), offsets_of(lengths), named[0][1]


def stack_padded(array: Any, mask: Any) -> Stacked:
    """Return the tokens of an array of shape (n, L, d) where a mask, or its own, is true."""
    if mask is None and isinstance(array, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(array)
        if (hidden.any(axis=-1) != hidden.all(axis=-1)).any():
            raise ValueError("a token of array has some features masked and others not")
        mask = ~hidden.all(axis=-1)
    padded = as_floats(np.ma.getdata(array) if np.ma.is_masked(array) else array, "array")
    if padded.ndim != 3:
        raise ValueError(f"array must have shape (n, L, d), got {padded.shape}")
    if mask is None:
        raise ValueError("mask must say where array has tokens, got None")
    present = as_floats(mask, "mask")
    if present.shape != padded.shape[:2] or not np.isin(present, (0, 1)).all():
        wrong = f"got shape {present.shape} and values {np.unique(present)[:4]}"
        raise ValueError(f"mask must hold True or False of shape {padded.shape[:2]}, {wrong}")
    lengths = present.sum(axis=1)
    warn_of_empty(lengths, "mask", "; a mask that is true at the padding must be inverted: ~mask")
    return padded[present == 1], offsets_of(lengths), None


def offsets_of(lengths: Any) -> Indices:
    """Return where sequences of these lengths start, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def join_tokens(parts: Sequence[tuple[Array, Array | None]], what: str) -> Array:
    """Concatenate tokens, with the features of each part in the order of the first."""
    (tokens, names), aligned = parts[0], []
    for i, (part, part_names) in enumerate(parts):
        where = f"{what} {i} of X"
        if (part_names is None) != (names is None):
            lacks = where if part_names is None else f"{what} 0 of X"
            raise ValueError(f"{lacks} has no names of features, but others have")
        if part_names is not None and names is not None and part_names.tolist() != names.tolist():
            for odd in sorted(set(part_names) ^ set(names)):
                has = "has" if odd in part_names else "lacks"
                raise ValueError(f"{where} {has} the feature {odd!r}, unlike {what} 0")
            place = {name: j for j, name in enumerate(part_names)}
            part = part[:, [place[name] for name in names]]
        dim, expected = part.shape[1], tokens.shape[1]
        if dim != expected:
            raise ValueError(f"{where} has tokens of dimension {dim}, {what} 0 of {expected}")
        aligned.append(part)
    return np.concatenate(aligned)


def _stack_array(array: Array, names: Array | None = None) -> Stacked:
    if array.ndim == 2:
        warn_caller(
            f"each of the {len(array)} rows of X was taken as a sequence of one token: group "
            "tokens by Sequences.from_frame or from_stacked, or pass X[:, None] if one token each "
            "is meant",
            OneTokenWarning,
        )
        array = array[:, np.newaxis]
    if array.ndim != 3:
        raise ValueError(f"{_FORMS}, got shape {array.shape}. Reshape your data")
    n, length, dim = array.shape
    return np.ascontiguousarray(array.reshape(n * length, dim)), np.arange(n + 1) * length, names


def as_floats(value: Any, name: str) -> Array:
    """Return any array as one of float32 (also shorter floats) or float64 (all other numbers).

    Nothing is copied where that is possible.
    """
    if hasattr(value, "toarray"):
        raise TypeError(f"Sparse data was passed for {name}, but dense data is required")
    if np.ma.is_masked(value):
        raise ValueError(f"{name} has masked values: leave them out with Sequences.from_padded")
    if hasattr(value, "detach"):  # a torch tensor: off its graph and its device
        value = value.detach().cpu()
        if value.is_floating_point() and value.element_size() < 4:
            value = value.float()
    foreign = hasattr(value, "__dlpack__") and not hasattr(value, "__array__")
    try:
        array = np.from_dlpack(value) if foreign else np.asarray(value)
    except ValueError:  # vectors of different lengths
        raise ValueError(f"{name} must be an array of numbers, got rows of unequal shape") from None
    if np.iscomplexobj(array):
        raise ValueError(f"Complex data not supported: {name} has type {array.dtype}")
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype == np.float16 or array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    if array.dtype.kind not in "iufbUSO":
        raise ValueError(f"{name} must hold numbers, got type {array.dtype}")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, got {array.dtype}: {error}") from None


def is_frame(value: Any) -> bool:
    """Return whether ``value`` is a table with named columns: pandas, polars, Arrow."""
    return hasattr(value, "columns") and hasattr(value, "shape") and len(value.shape) == 2


def column_names(frame: Any) -> list[Any]:
    """Return the names of the columns, each once."""
    names = list(getattr(frame, "column_names", frame.columns))
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X has two columns named {repeated!r}")
    return names


def column_values(column: Any) -> Array:
    """Return a column of a table as an array, in which missing values are None or NaN."""
    if "dictionary" in str(getattr(column, "type", "")):  # Arrow would fill in other values
        column = column.cast(column.type.value_type)
    array = np.asarray(column)
    if array.dtype == object and hasattr(column, "isna"):  # pandas' NA has no truth value
        array = np.where(column.isna(), np.array(None), array)
    return array


def find_name(name: str, names: Sequence[str], where: str) -> str:
    """Return ``name`` if it is among others, or raise ValueError with the three nearest ones."""
    if name in names:
        return name
    near = difflib.get_close_matches(str(name), list(map(str, names)), n=3, cutoff=0.0)
    listed = ", ".join(repr(other) for other in near) or "none"
    raise ValueError(f"{where}: there is no {name!r}; the nearest names are {listed}")


def frame_tokens(frame: Any, names: list[Any]) -> Array:
    """Return columns as an array of shape (rows, columns); missing numbers are NaN."""
    columns = [as_floats(column_values(frame[name]), f"column {name!r} of X") for name in names]
    if not columns:
        raise ValueError("X must have tokens of at least one feature, got no columns")
    return np.stack(columns, axis=1)


def named_tokens(value: Any, name: str) -> tuple[Array, Array | None]:
    """Return an array with the names of its features, which only a frame has."""
    if not is_frame(value):
        return as_floats(value, name), None
    names = column_names(value)
    return frame_tokens(value, names), as_names(names)


def as_names(names: Iterable[Any]) -> Array | None:
    """Return names as scikit-learn keeps them; columns that are numbered have none."""
    listed = list(names)
    texts = [isinstance(name, str) for name in listed]
    if not any(texts):
        return None
    if not all(texts):
        raise ValueError(f"names of features must all be strings, got {listed}")
    return np.array(listed, dtype=object)


def split_lists(value: Any) -> tuple[Array, Array] | None:
    """Return the tokens and lengths of an Arrow column of lists or an awkward array.

    Anything else gives None. The tokens of an Arrow column without missing values are not copied.
    """
    home = type(value).__module__.partition(".")[0]
    holds_arrow = home == "awkward" or hasattr(getattr(value, "dtype", None), "pyarrow_dtype")
    if is_frame(value) or not (holds_arrow or home in ("polars", "pyarrow")):
        return None
    import pyarrow
    from pyarrow import compute

    column = pyarrow.array(value) if holds_arrow else value
    column = column.to_arrow() if home == "polars" else column
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    tokens = column.flatten() if hasattr(column, "flatten") else column
    if not hasattr(tokens, "flatten"):
        raise ValueError(f"an Arrow X must be a column of lists of tokens, got {column.type}")
    if tokens.null_count:
        raise ValueError(f"token {tokens.is_null().to_pylist().index(True)} of X is missing")
    if column.null_count:
        missing = column.is_null().to_pylist().index(True)
        raise ValueError(f"sequence {missing} of X is missing")
    lengths, dims = (
        compute.list_value_length(lists).to_numpy(zero_copy_only=False)
        for lists in (column, tokens)
    )
    if dims.size and np.ptp(dims):
        other = int(np.argmax(dims != dims[0]))
        raise ValueError(f"token {other} of X has {dims[other]} features, token 0 has {dims[0]}")
    numbers = tokens.flatten().to_numpy(zero_copy_only=False)
    return numbers.reshape(len(tokens), dims[0] if dims.size else 0), lengths
