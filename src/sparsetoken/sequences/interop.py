"""Numbers of other libraries as NumPy arrays: tensors, frames, Arrow lists, awkward arrays.

Nothing is imported for this: an object shows by its attributes what it is, and a library whose
object it is has been imported already.
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sparsetoken._types import Array


def as_floats(value: Any, name: str, *, keep: bool = False) -> Array:
    """Return float32 and float64 as they are, shorter floats as float32, other numbers as float64.

    ``keep`` leaves numbers of other types as they are, for a caller who converts them in one go.
    """
    array = _as_array(value, name)
    if np.iscomplexobj(array):
        raise ValueError(f"Complex data not supported: {name} has type {array.dtype}")
    if array.dtype == np.float32 or array.dtype == np.float64:
        return array
    if array.dtype == np.float16 or array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    if array.dtype.kind in "USO":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must hold numbers, got {array.dtype}: {error}") from None
    if array.dtype.kind not in "iufb":
        raise ValueError(f"{name} must hold numbers, got type {array.dtype}")
    return array if keep else array.astype(np.float64)


def _as_array(value: Any, name: str) -> Array:
    """Return any kind of array as one of NumPy, without a copy where that is possible."""
    if hasattr(value, "toarray"):
        raise TypeError(f"Sparse data was passed for {name}, but dense data is required")
    if np.ma.is_masked(value):
        raise ValueError(f"{name} has masked values: leave them out with Sequences.from_padded")
    if hasattr(value, "detach"):  # a torch tensor: off its graph and its device
        value = value.detach().cpu()
        if value.is_floating_point() and value.element_size() < 4:
            value = value.float()
    try:
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.from_dlpack(value)
        return np.asarray(value)
    except ValueError:  # vectors of different lengths
        raise ValueError(f"{name} must be an array of numbers, got rows of unequal shape") from None


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


def find_name(name: str, names: Sequence[str], where: str) -> str:
    """Return ``name`` if it is among others, or raise ValueError with the three nearest ones."""
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.0)
    listed = ", ".join(repr(other) for other in near) or "none"
    raise ValueError(f"{where}: there is no {name!r}; the nearest names are {listed}")


def frame_tokens(frame: Any, names: list[Any]) -> Array:
    """Return columns as an array of shape (rows, columns); missing numbers are NaN."""
    columns = [as_floats(frame[name].to_numpy(), f"column {name!r} of X") for name in names]
    if not columns:
        raise ValueError("X must have tokens of at least one feature, got no columns")
    return np.stack(columns, axis=1)


def named_tokens(value: Any, name: str, *, keep: bool = False) -> tuple[Array, Array | None]:
    """Return an array with the names of its features, which only a frame has."""
    if not is_frame(value):
        return as_floats(value, name, keep=keep), None
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
    if home == "awkward":
        import awkward

        lengths = awkward.to_numpy(awkward.num(value, axis=1))
        return awkward.to_numpy(awkward.flatten(value, axis=1)), lengths
    if hasattr(getattr(value, "dtype", None), "pyarrow_dtype"):  # a column of pandas
        home, value = "pyarrow", value.array.__arrow_array__()
    elif home == "polars" and hasattr(value, "to_arrow"):
        home, value = "pyarrow", value.to_arrow()
    if home != "pyarrow" or is_frame(value):
        return None
    from pyarrow import compute

    column = value.combine_chunks() if hasattr(value, "combine_chunks") else value
    tokens = column.flatten() if hasattr(column, "flatten") else column
    if not hasattr(tokens, "flatten") or tokens.null_count:
        raise ValueError(f"an Arrow X must be a column of lists of tokens, got {column.type}")
    if column.null_count:
        missing = column.is_null().to_pylist().index(True)
        raise ValueError(f"sequence {missing} of X is missing")
    lengths = compute.list_value_length(column).to_numpy(zero_copy_only=False)
    dims = compute.list_value_length(tokens).to_numpy(zero_copy_only=False)
    if dims.size and np.ptp(dims):
        other = int(np.argmax(dims != dims[0]))
        raise ValueError(f"token {other} of X has {dims[other]} features, token 0 has {dims[0]}")
    numbers = tokens.flatten().to_numpy(zero_copy_only=False)
    return numbers.reshape(len(tokens), dims[0] if dims.size else 0), lengths
