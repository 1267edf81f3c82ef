"""Fitted classifiers in a file: arrays in npz, the rest in a JSON header, nothing executable.

The header holds the format's version, the class, its parameters and its learned attributes; arrays
are named there and stored beside it. A digest over everything tells a damaged or edited file from
a good one. Loading builds an object of a listed class and sets its attributes: no code runs. The
file also holds what the classifier said of two made-up sequences, which a loaded one must
reproduce: a version of ours, or of a library below, that computes something else is found out.
"""

import hashlib
import io
import json
import math
import os
import sys
import zipfile
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from sparsetoken._replace import replaced
from sparsetoken._types import Array, Floats
from sparsetoken.estimators.encoding import CLASSIFIERS, Arrays, decode, encode
from sparsetoken.sequences.sequences import Sequences

_FORMAT = "sparsetoken model"
_VERSION = 4
_RELEASE = sys.modules["sparsetoken"].__version__  # the parent is there, installed or not
_HEADER, _DIGEST = "header", "digest"


def save(
    classifier: Any,
    path: str | os.PathLike[str],
    *,
    tokens: bool = True,
    notes: dict[str, Any] | None = None,
) -> None:
    """Write a fitted classifier to a file, without pickle.

    The file is complete or not there: an existing one stays as it was if writing fails.

    Parameters
    ----------
    classifier : one of our classifiers
        The fitted classifier. A loss of your own cannot be stored. A ``random_state`` that is not
        an int is stored as None.
    path : str or path
        The file, usually ``*.npz``; an existing one is replaced.
    tokens : bool, default=True
        Whether to store the training tokens that thresholds for other lengths, windows and streams
        are found from (``reference_``, up to 2²¹ numbers). Without them the file holds no training
        data, and only ``threshold(fpr)`` can be asked for.
    notes : dict, optional
        Anything that JSON can hold, kept beside the model: how its data were read, for one.

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
    kind = type(classifier).__name__
    if kind not in CLASSIFIERS:
        raise ValueError(f"classifier must be one of {', '.join(CLASSIFIERS)}, got {kind}")
    check_is_fitted(classifier)
    if not tokens and classifier.reference_ is not None:
        classifier = copy(classifier)
        classifier.reference_ = replace(classifier.reference_, tokens=None)
    arrays: Arrays = {}
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "sparsetoken": _RELEASE,
        "scikit-learn": sklearn.__version__,
        "content": encode(classifier, kind, arrays),
        "scores": _trial_scores(classifier, math.inf).tolist(),
        "notes": notes or {},
    }
    entries = {_HEADER: np.array(json.dumps(header)), **arrays}
    buffer = io.BytesIO()
    np.savez(buffer, **entries, **{_DIGEST: np.array(_digest(entries))})  # type: ignore[arg-type]
    _read(io.BytesIO(buffer.getvalue()), "what would be saved")
    with replaced(path) as file:
        file.write_bytes(buffer.getvalue())


def load(path: str | os.PathLike[str]) -> Any:
    """Read a classifier written by :func:`save`.

    Parameters
    ----------
    path : str or path
        The file. One that is damaged, edited, of another format or of a later version raises
        ValueError; nothing in the file is ever executed, and it takes no more memory than a few
        times its size.

    Returns
    -------
    classifier : object
        The fitted classifier.
    """
    with Path(path).open("rb") as file:
        return _read(file, path)


def load_notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the notes that :func:`save` put beside a classifier; an empty dict if there are none."""
    with Path(path).open("rb") as file:
        notes = _open(file, path)[0].get("notes")
    return notes if isinstance(notes, dict) else {}


def _open(file: Any, name: Any) -> tuple[dict[str, Any], Arrays, int]:
    """Return the header and the arrays of a file that is whole, and its size."""
    try:
        size = file.seek(0, os.SEEK_END)
        entries = _unpack(file, size)
        digest, header = str(entries.pop(_DIGEST)), json.loads(str(entries[_HEADER]))
        kind, version = header["format"], int(header["version"])
    except Exception as error:  # whatever a zip file, an array or JSON that is none can raise
        raise ValueError(f"{name} is not a sparsetoken model, or is damaged: {error}") from None
    if kind != _FORMAT:
        raise ValueError(f"{name} is not a sparsetoken model")
    if version != _VERSION:
        raise ValueError(
            f"{name} has format version {version}, written by sparsetoken "
            f"{header.get('sparsetoken', '0.1')}; this one reads version {_VERSION}: fit again"
        )
    if digest != _digest(entries):
        raise ValueError(f"{name} is damaged or was edited: its digest does not match")
    return header, entries, size


def _read(file: Any, name: Any) -> Any:
    header, entries, size = _open(file, name)
    try:
        classifier = decode(header["content"], entries)
        if type(classifier).__name__ not in CLASSIFIERS:
            raise ValueError(f"it holds {type(classifier).__name__}, which is no classifier")
        scores, saved = _trial_scores(classifier, size), np.array(header["scores"])
        near = 1e-6 + 1e-3 * np.abs(scores).max()
        if scores.shape != saved.shape or not np.allclose(scores, saved, rtol=0.0, atol=near):
            raise ValueError(
                f"written by sparsetoken {header['sparsetoken']} with scikit-learn "
                f"{header['scikit-learn']}, it gives other scores with sparsetoken "
                f"{_RELEASE} and scikit-learn {sklearn.__version__}"
            )
    except Exception as error:  # attributes that do not go together fail anywhere
        raise ValueError(f"{name} is not a valid sparsetoken model: {error}") from None
    return classifier


def _unpack(file: Any, size: int) -> Arrays:
    """Return the arrays of an archive. They are stored as they are: what is packed is a trap."""
    with zipfile.ZipFile(file) as archive:
        packed = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in packed):
            raise ValueError("its arrays are compressed")
        if sum(entry.file_size for entry in packed) > size:
            raise ValueError("it says to hold more than it does")
        return {
            entry.filename.removesuffix(".npy"): _array(archive.read(entry)) for entry in packed
        }


def _array(content: bytes) -> Array:
    """Return the array of an ``.npy`` file, whose header must not promise more than there is."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array is not of the first version of .npy")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    start = stream.tell()
    if dtype.hasobject or dtype.itemsize == 0:
        raise ValueError(f"an array has type {dtype}")
    if dtype.itemsize * math.prod(shape) != len(content) - start:
        raise ValueError(f"an array of {dtype} and shape {shape} does not fit its file")
    return np.ndarray(shape, dtype, content, start, order="F" if fortran else "C").copy()


def _digest(entries: Arrays) -> str:
    """Return a digest over names, types, shapes and values."""
    total = hashlib.sha256()
    for name in sorted(entries):
        array = np.ascontiguousarray(entries[name])
        total.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def _trial_scores(classifier: Any, size: float) -> Floats:
    """Return what a classifier says of two made-up sequences, having tried all that it can do.

    ``size`` bounds the features that a file of that size can speak of.
    """
    dim, n_tokens = int(classifier.n_features_in_), int(getattr(classifier, "n_tokens_", 3))
    if not (dim >= 1 and n_tokens >= 1 and dim * n_tokens <= size):
        raise ValueError(f"it speaks of {n_tokens} tokens of {dim} features")
    names = getattr(classifier, "feature_names_in_", None)
    tokens = np.sin(np.arange(2.0 * n_tokens * dim)).reshape(-1, dim)
    X = Sequences(tokens, np.array([0, 1, 2]) * n_tokens, names)
    with np.errstate(all="ignore"):
        classifier.predict(X)
        numbers = [classifier.decision_function(X), classifier.predict_proba(X)]
        numbers.append(np.shape(classifier.classes_))
        numbers += classifier.attention(X)
        classifier.explain(X)
    scores = np.concatenate([np.ravel(one) for one in numbers])
    if not np.isfinite(scores).all():
        raise ValueError("its scores are not finite")
    return scores
