"""What people pass to a classifier, checked: sequences, names of features, labels, weights."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from sparsetoken._types import Floats, Indices
from sparsetoken._validation import shown
from sparsetoken.sequences.checks import warn_caller
from sparsetoken.sequences.chunks import ChunkedData, is_dask
from sparsetoken.sequences.data import Data, MemoryData
from sparsetoken.sequences.forms import is_frame
from sparsetoken.sequences.sequences import Sequences, as_sequences


def check_data(classifier: Any, X: Any, *, reset: bool) -> Data:
    """Return checked sequences, with features in the order of ``fit`` if they have names."""
    n_jobs, table = getattr(classifier, "n_jobs", None), False
    if is_dask(X):
        data: Data = ChunkedData(X)
        _check_names(classifier, None, reset=reset)
    else:
        if hasattr(X, "__array__") and not hasattr(X, "shape"):
            X = np.asarray(X)
        table = _is_table(X)
        if table and not (is_frame(X) or np.ma.is_masked(X)):  # scikit-learn knows the other kinds
            floats = [np.float64, np.float32]
            X = check_array(X, dtype=floats, ensure_all_finite=False, estimator=classifier)
        sequences = as_sequences(X)
        order = _check_names(classifier, sequences.feature_names, reset=reset)
        if order is not None:
            sequences = Sequences(sequences.tokens[:, order], sequences.offsets)
        data = MemoryData(sequences, n_jobs)
    if reset:
        classifier.n_features_in_ = data.dim
    elif data.dim != classifier.n_features_in_:
        name, where = type(classifier).__name__, "" if table else " per token"
        raise ValueError(
            f"X has {data.dim} features{where}, but {name} is expecting "
            f"{classifier.n_features_in_} features as input"
        )
    return data


def _check_names(classifier: Any, names: Any, *, reset: bool) -> Indices | None:
    """Store the names of the features, or return where those of ``fit`` are now."""
    if reset:
        classifier.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if names is not None:
            classifier.feature_names_in_ = np.asarray(names, dtype=object)
        return None
    fitted = getattr(classifier, "feature_names_in_", None)
    if fitted is None or names is None:
        if (fitted is None) != (names is None):
            has, out = ("has", "out") if fitted is None else ("does not have valid", "")
            fitted_with = f"{type(classifier).__name__} was fitted with{out} feature names"
            warn_caller(f"X {has} feature names, but {fitted_with}", UserWarning)
        return None
    unseen, missing = (sorted(set(a) - set(b)) for a, b in ((names, fitted), (fitted, names)))
    if unseen or missing or len(names) != len(fitted):
        raise ValueError(
            "X must have the features of fit, each once: it has "
            f"{shown(unseen)} that fit had not, and lacks {shown(missing)}"
        )
    place = {name: position for position, name in enumerate(names)}
    order = np.array([place[name] for name in fitted])
    return None if np.array_equal(order, np.arange(len(order))) else order


def plain_labels(y: Any) -> Any:
    """Return labels of one kind: numbers that came as objects become numbers."""
    labels = np.asarray(y)
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return y
    kinds = {type(label).__name__ for label in labels.tolist()}
    if kinds == {"str"}:
        return labels
    plain = np.array(labels.tolist()) if len(kinds) == 1 else labels
    if plain.dtype.kind not in "biufU" or plain.ndim != 1:
        raise ValueError(
            "y must hold labels of one kind, text or numbers, got objects of type "
            f"{' and '.join(sorted(kinds))}"
        )
    return plain


def is_ragged(X: Any) -> bool:
    """Return whether ``X`` is a form that holds sequences of any length."""
    objects = isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind == "O"
    return objects or isinstance(X, Sequences | list | tuple)


def _is_table(X: Any) -> bool:
    """Return whether ``X`` has the form (n, d), or no form that has tokens."""
    if not is_ragged(X):
        return hasattr(X, "shape") and len(X.shape) < 3
    if isinstance(X, Sequences) or len(X) == 0:
        return False
    if isinstance(X, np.ndarray):
        return np.ndim(X[0]) < 1
    return np.ndim(X[0]) < 2 and not isinstance(X[0], str)


def check_sample_weight(sample_weight: Any, index: Indices) -> Floats:
    """Return weights that sum to one, or raise ValueError."""
    weights = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=float)
    if weights.ndim == 0:
        weights = np.full(len(index), float(weights))
    if weights.shape != index.shape:
        raise ValueError(
            f"sample_weight must have shape ({len(index)},), one per sequence, got {weights.shape}"
        )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total) or weights.min() < 0:
        raise ValueError("sample_weight must be finite and non-negative, and so must its sum")
    if not np.bincount(index[index >= 0], weights[index >= 0]).all():
        raise ValueError("sample_weight must not be zero on all samples of a class")
    return weights / total
