"""Fitted classifiers in a file: arrays in npz, the rest in a JSON header, nothing executable.

The header holds the format's version, the class, its parameters and its learned attributes; arrays
are named there and stored beside it. A digest over everything tells a damaged or edited file from
a good one. Loading builds an object of a listed class and sets its attributes: no code runs.
"""

import hashlib
import importlib
import io
import json
import os
import re
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from sparsetoken.losses import Loss, get_loss

__all__ = ["load", "save"]

_FORMAT = "sparsetoken model"
_VERSION = 1
_HEADER, _DIGEST = "header", "digest"
_LEARNED = re.compile(r"[a-z]\w*[a-z0-9]_|_n_features_out")

_CLASSIFIERS = {
    name: "sparsetoken.estimators"
    for name in (
        "AttentionClassifier",
        "PooledClassifier",
        "TwoStepAttentionClassifier",
        "VectorizedClassifier",
    )
}
_TOKEN_MAPS = {
    "MinMaxScaler": "sklearn.preprocessing",
    "Nystroem": "sklearn.kernel_approximation",
    "PCA": "sklearn.decomposition",
    "Pipeline": "sklearn.pipeline",
    "RBFSampler": "sklearn.kernel_approximation",
    "RobustScaler": "sklearn.preprocessing",
    "StandardScaler": "sklearn.preprocessing",
}
_KNOWN = _CLASSIFIERS | _TOKEN_MAPS

# Whatever a zip file, an array or JSON that is not what it says can raise.
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)

Arrays = dict[str, NDArray[Any]]


def save(classifier: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to a file, without pickle.

    Parameters
    ----------
    classifier : PooledClassifier, VectorizedClassifier, TwoStepAttentionClassifier or \
AttentionClassifier
        The classifier. A loss of your own cannot be stored; a ``token_map`` can if it is one of
        scikit-learn's MinMaxScaler, Nystroem, PCA, RBFSampler, RobustScaler or StandardScaler, or
        a Pipeline of them.
        A ``random_state`` that is not an int is stored as None.
    path : str or path
        The file, usually ``*.npz``; an existing one is replaced.

    Examples
    --------
    >>> import tempfile, pathlib, sparsetoken as st
    >>> X, y = st.SparseTokenProblem(n_tokens=10).sample(100, 5, random_state=0)
    >>> clf = st.PooledClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.npz")
    ...     st.save(clf, path)
    ...     again = st.load(path)
    >>> bool((again.predict(X) == clf.predict(X)).all())
    True
    """
    if type(classifier).__name__ not in _CLASSIFIERS:
        raise ValueError(
            f"classifier must be one of {', '.join(_CLASSIFIERS)}, got {type(classifier).__name__}"
        )
    arrays: Arrays = {}
    content = _encode(classifier, type(classifier).__name__, arrays)
    header = json.dumps({"format": _FORMAT, "version": _VERSION, "content": content})
    entries = {_HEADER: np.array(header), **arrays}
    buffer = io.BytesIO()
    np.savez(buffer, **entries, **{_DIGEST: np.array(_digest(entries))})  # type: ignore[arg-type]
    Path(path).write_bytes(buffer.getvalue())


def load(path: str | os.PathLike[str]) -> Any:
    """Read a classifier written by :func:`save`.

    Parameters
    ----------
    path : str or path
        The file. One that is damaged, edited, of another format or of a later version raises
        ValueError; nothing in the file is ever executed.

    Returns
    -------
    classifier : object
        The fitted classifier.
    """
    stored = io.BytesIO(Path(path).read_bytes())
    try:
        with zipfile.ZipFile(stored) as archive:
            entries = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
            }
        digest, header = str(entries.pop(_DIGEST)), json.loads(str(entries[_HEADER]))
        known = isinstance(header, dict) and header.get("format") == _FORMAT
    except _DAMAGE as error:
        raise ValueError(f"{path} is not a sparsetoken model, or is damaged: {error}") from None
    if not known:
        raise ValueError(f"{path} is not a sparsetoken model")
    if header.get("version") != _VERSION:
        raise ValueError(
            f"{path} has format version {header.get('version')!r}, "
            f"this sparsetoken reads version {_VERSION}"
        )
    if digest != _digest(entries):
        raise ValueError(f"{path} is damaged or was edited: its digest does not match")
    try:
        return _decode(header["content"], entries)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a valid sparsetoken model: {error}") from None


def _digest(entries: Arrays) -> str:
    """Return a digest over names, types, shapes and values."""
    total = hashlib.sha256()
    for name in sorted(entries):
        array = np.ascontiguousarray(entries[name])
        total.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def _encode(value: Any, name: str, arrays: Arrays) -> Any:
    """Return ``value`` as JSON; its arrays go to ``arrays``, named after ``name``.

    Everything but plain JSON values is a dict with one key that says what it is.
    """
    if isinstance(value, BaseEstimator):
        return _encode_estimator(value, name, arrays)
    if isinstance(value, Loss):
        if value not in map(get_loss, ("logistic", "square", "hinge")):
            raise ValueError(f"{name} cannot be saved: {value!r} is not a built-in loss")
        return value.name
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return {"list": [_encode(item, name, arrays) for item in value.tolist()]}
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list | tuple):
        return {"tuple": [_encode(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]}
    if isinstance(value, dict):
        pairs = [[_encode(item, name, arrays) for item in pair] for pair in value.items()]
        return {"dict": pairs}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"{name} cannot be saved without pickle: {value!r}")


def _encode_estimator(estimator: Any, name: str, arrays: Arrays) -> Any:
    kind = type(estimator).__name__
    if type(estimator).__module__.partition(".")[0] != _KNOWN.get(kind, "").partition(".")[0]:
        raise ValueError(f"{name} cannot be saved: {kind} is not one of {', '.join(_KNOWN)}")
    parameters = estimator.get_params(deep=False)
    if not isinstance(parameters.get("random_state"), int | None):
        parameters["random_state"] = None
    learned = {
        key: value
        for key, value in vars(estimator).items()
        if key not in parameters and _LEARNED.fullmatch(key)
    }
    return {
        "estimator": kind,
        "parameters": {
            key: _encode(item, f"{name}.{key}", arrays) for key, item in parameters.items()
        },
        "learned": {key: _encode(item, f"{name}.{key}", arrays) for key, item in learned.items()},
    }


def _decode(value: Any, arrays: Arrays) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "list" in value:
        return np.array([_decode(item, arrays) for item in value["list"]], dtype=object)
    if "tuple" in value:
        return tuple(_decode(item, arrays) for item in value["tuple"])
    if "dict" in value:
        return {_decode(key, arrays): _decode(item, arrays) for key, item in value["dict"]}
    kind = value["estimator"]
    if kind not in _KNOWN:
        raise ValueError(f"the file names an unknown class {kind!r}")
    parameters = {key: _decode(item, arrays) for key, item in value["parameters"].items()}
    if kind == "Pipeline":
        parameters["steps"] = list(parameters["steps"])
    estimator = getattr(importlib.import_module(_KNOWN[kind]), kind)(**parameters)
    for key, item in value["learned"].items():
        if not _LEARNED.fullmatch(key):
            raise ValueError(f"the file sets an attribute {key!r} that is not learned")
        setattr(estimator, key, _decode(item, arrays))
    return estimator
