"""Fitted classifiers in a file: arrays in npz, the rest in a JSON header, nothing executable.

Attributes that end in "_" are stored: arrays, numbers, strings, None, lists, tuples, dicts, and the
records listed here. All but plain JSON values are dicts with one key that says what they are.
Loading builds objects of listed classes and sets their attributes: no code runs. The file also has
what the classifier said of two made-up sequences, which a loaded one must reproduce: a version of
ours, or of a library below, that computes something else is found out.
"""

import importlib
import json
import os
import re
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from sparsetoken._replace import replaced
from sparsetoken._types import Array, Floats
from sparsetoken._validation import check_count
from sparsetoken.losses import Loss, get_loss
from sparsetoken.sequences.sequences import Sequences

_FORMAT = "sparsetoken model"
_VERSION = 5
_RELEASE = sys.modules["sparsetoken"].__version__  # the parent is there, installed or not
_HEADER = "header"

Arrays = dict[str, Array]
Shapes = dict[str, str]
"""The shape of each array: a letter for the size of an axis. d features, c classes and C scores are
those of the classifier, v is features times tokens; any other letter is the same number throughout
a record."""

_LEARNED = re.compile(r"[a-z]\w*[a-z0-9]_")
_HEADS: Shapes = {"directions": "FKCd", "intercepts": "FKC", "frequencies": "KC"}
_STACKED: Shapes = {"classes_": "c", "token_scale_": "d"}
_STACK: Shapes = {"weights": "K", "scales": "K", "limits": "2K", "shift": "C", "center": "d"}
_OURS = "sparsetoken.estimators"
CLASSIFIERS: dict[str, Shapes] = {
    "SparseTokenClassifier": _STACKED,
    "AttentionClassifier": _STACKED,
    "BayesAttentionClassifier": _STACKED,
    "TwoStepAttentionClassifier": {"classes_": "c", "query_": "d", "coef_": "d"},
    "PooledClassifier": {"classes_": "c", "coef_": "d"},
    "VectorizedClassifier": {"classes_": "c", "coef_": "v"},
}
RECORDS: dict[str, tuple[str, Shapes]] = {
    "AttentionHeads": ("attention_heads", _HEADS),
    "HeadSpec": ("head_objective", {}),
    "KernelHeads": (
        "kernel_heads",
        {"directions": "FKCM", "intercepts": "FKC"}
        | {"gammas": "K", "mean": "d", "scale": "d", "landmarks": "Md"},
    ),
    "ModelFit": ("answers", {}),
    "PooledHeads": ("attention_heads", _HEADS),
    "PosteriorHeads": (
        "posterior_heads",
        {"directions": "FrCd", "intercepts": "FrC", "frequencies": "rC"}
        | dict.fromkeys(("prior", "strengths", "strength_errors", "evidence"), "K"),
    ),
    "Reference": (
        "stack",
        {"scores": "nC", "classes": "n", "tokens": "td", "offsets": "o"}
        | {"kept_classes": "m", "kept_folds": "m", "lengths": "2"},
    ),
    "Stack": ("stack", _STACK),
    "Trees": ("trees", {"unit": "d", "levels": "ld"}),
}
"""Members, and what else a fitted classifier consists of: a new member is named here, with the
shapes of its arrays, which compiled loops rely on."""


def save(
    classifier: Any,
    path: str | os.PathLike[str],
    *,
    tokens: bool = True,
    notes: dict[str, Any] | None = None,
) -> None:
    """Write a fitted classifier to a file, without pickle; if that fails, an old file stays.

    Parameters
    ----------
    classifier : one of our classifiers
        The fitted classifier. A loss of your own cannot be stored; a ``random_state`` that is not
        an int becomes None.
    path : str or path
        The file, usually ``*.npz``; an existing one is replaced.
    tokens : bool, default=True
        Whether to store the training tokens that thresholds for other lengths, windows and streams
        are found from (up to 2²¹ numbers). Without them only ``threshold(fpr)`` can be asked for.
    notes : dict, optional
        Anything that JSON can hold, kept beside the model: how its data were read, for one.

    Examples
    --------
    >>> import tempfile, pathlib, sparsetoken as st
    >>> X, y = st.SparseTokenProblem(n_tokens=10).sample(100, 5, random_state=0)
    >>> clf = st.PooledClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     st.save(clf, pathlib.Path(folder, "model.npz"))
    ...     bool((st.load(pathlib.Path(folder, "model.npz")).predict(X) == clf.predict(X)).all())
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
    header = {"format": _FORMAT, "version": _VERSION, "sparsetoken": _RELEASE}
    header |= {"scikit-learn": sklearn.__version__, "notes": notes or {}}
    header |= {
        "content": _encode_classifier(classifier, arrays),
        "scores": _trial_scores(classifier).tolist(),
    }
    entries: dict[str, Any] = {_HEADER: np.array(json.dumps(header)), **arrays}
    with replaced(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **entries)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a classifier written by :func:`~sparsetoken.estimators.save`.

    Parameters
    ----------
    path : str or path
        The file. One that is damaged or of another version raises ValueError; no code of it runs.
    """
    header, arrays = _read(path)
    try:
        classifier = _decode_classifier(header["content"], arrays)
        scores, saved = _trial_scores(classifier), np.array(header["scores"])
        near = 1e-6 + 1e-3 * np.abs(scores).max()
        if scores.shape != saved.shape or not np.allclose(scores, saved, rtol=0.0, atol=near):
            raise ValueError(
                f"written by sparsetoken {header['sparsetoken']} with scikit-learn "
                f"{header['scikit-learn']}, it gives other scores with sparsetoken "
                f"{_RELEASE} and scikit-learn {sklearn.__version__}"
            )
    except Exception as error:  # attributes that do not go together fail anywhere
        raise ValueError(f"{path} is not a valid sparsetoken model: {error}") from None
    return classifier


def load_notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the notes that :func:`save` put beside a classifier; an empty dict if there are none."""
    notes = _read(path)[0].get("notes")
    return notes if isinstance(notes, dict) else {}


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a file."""
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if sum(entry.file_size for entry in archive.zip.infolist()) > Path(path).stat().st_size:
                raise ValueError("its arrays are compressed")  # we never do, and bombs are
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop(_HEADER)))
        kind, version = header["format"], int(header["version"])
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever a zip file, an array or JSON that is none can raise
        raise ValueError(f"{path} is not a sparsetoken model, or is damaged: {error}") from None
    if kind != _FORMAT:
        raise ValueError(f"{path} is not a sparsetoken model")
    if version != _VERSION:
        raise ValueError(
            f"{path} has format version {version}, written by sparsetoken "
            f"{header.get('sparsetoken', '0.1')}; this one reads version {_VERSION}: fit again"
        )
    return header, arrays


def _trial_scores(classifier: Any) -> Floats:
    """Return what a classifier says of two made-up sequences, having tried all that it can do."""
    dim, n_tokens = int(classifier.n_features_in_), int(getattr(classifier, "n_tokens_", 3))
    names = getattr(classifier, "feature_names_in_", None)
    tokens = np.sin(np.arange(2.0 * n_tokens * dim)).reshape(-1, dim)
    X = Sequences(tokens, np.array([0, 1, 2]) * n_tokens, names)
    reference = classifier.reference_
    with np.errstate(all="ignore"):
        classifier.predict(X)
        numbers = [classifier.decision_function(X), classifier.predict_proba(X)]
        numbers += classifier.attention(X)
        classifier.explain(X)
        if reference is not None:
            reference.check(len(classifier.classes_))
            for fold in np.unique(reference.kept_folds[reference.kept_folds >= 0]):
                classifier.as_stack().without_fold(int(fold))
    scores = np.concatenate([np.ravel(one) for one in numbers])
    if not np.isfinite(scores).all():
        raise ValueError("its scores are not finite")
    return scores


def _encode_classifier(classifier: Any, arrays: Arrays) -> dict[str, Any]:
    """Return a fitted classifier as JSON; its arrays go to ``arrays``."""
    parameters = classifier.get_params(deep=False)
    if not isinstance(parameters.get("random_state"), int | None):
        parameters["random_state"] = None
    learned = {key: value for key, value in vars(classifier).items() if _LEARNED.fullmatch(key)}
    return {
        "class": type(classifier).__name__,
        "parameters": {key: _encode(item, key, arrays) for key, item in parameters.items()},
        "learned": {key: _encode(item, key, arrays) for key, item in learned.items()},
    }


def _encode(value: Any, name: str, arrays: Arrays) -> Any:
    if isinstance(value, Loss):
        if value not in map(get_loss, ("logistic", "square", "hinge")):
            raise ValueError(f"{name} cannot be saved: {value!r} is not a built-in loss")
        return value.name
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return {"objects": [_encode(item, name, arrays) for item in value.tolist()]}
        unique = name if name not in arrays else f"{name}.{len(arrays)}"
        arrays[unique] = value
        return {"array": unique}
    record = type(value).__name__
    if record in RECORDS:
        fields = value._asdict() if hasattr(value, "_asdict") else vars(value)
        parts = {key: _encode(item, f"{name}.{key}", arrays) for key, item in fields.items()}
        return {"record": record, "fields": parts}
    if isinstance(value, list | tuple):
        items = [_encode(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        pairs = [(key, _encode(item, f"{name}.{key}", arrays)) for key, item in value.items()]
        return {"dict": [[_encode(key, name, arrays), item] for key, item in pairs]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"{name} cannot be saved without pickle: {value!r}")


def _decode_classifier(content: dict[str, Any], arrays: Arrays) -> Any:
    """Return the classifier that was encoded, with arrays of the right shapes."""
    name, records = content["class"], []
    if name not in CLASSIFIERS:
        raise ValueError(f"the file names an unknown class {name!r}")

    def decoded(value: Any) -> Any:
        if isinstance(value, list):
            return [decoded(item) for item in value]
        if not isinstance(value, dict):
            return value
        ((kind, content),) = ((k, v) for k, v in value.items() if k != "fields")
        if kind == "array":
            return arrays[content]
        if kind == "objects":
            return np.array(decoded(content), dtype=object)
        if kind == "tuple":
            return tuple(decoded(content))
        if kind == "dict":
            return {decoded(key): decoded(item) for key, item in content}
        if kind != "record" or content not in RECORDS:
            raise ValueError(f"the file names an unknown {kind} {content!r}")
        module, shapes = RECORDS[content]
        made = getattr(importlib.import_module(f"{_OURS}.{module}"), content)
        record = made(**{key: decoded(item) for key, item in value["fields"].items()})
        records.append((record, shapes))
        return record

    made = getattr(importlib.import_module(_OURS), name)
    classifier = made(**{key: decoded(item) for key, item in content["parameters"].items()})
    for key, item in content["learned"].items():
        if not _LEARNED.fullmatch(key):
            raise ValueError(f"the file sets an attribute {key!r} that is not learned")
        setattr(classifier, key, decoded(item))
    d = check_count("n_features_in_", classifier.n_features_in_)
    n_tokens = check_count("n_tokens_", getattr(classifier, "n_tokens_", 1))
    n_classes = check_count("the number of classes", len(classifier.classes_), minimum=2)
    if n_classes > 2 and not classifier._multi_class:
        raise ValueError(f"{name} has {n_classes} classes")
    n_scores = 1 if n_classes == 2 else n_classes
    sizes = {"d": d, "v": d * n_tokens, "c": n_classes, "C": n_scores}
    for record, shapes in ((classifier, CLASSIFIERS[name]), *records):
        check_shapes(record, shapes, sizes)
    return classifier


def check_shapes(record: Any, shapes: Shapes, sizes: dict[str, int]) -> None:
    """Refuse arrays whose shapes do not go together: compiled loops would leave them."""
    sizes = dict(sizes)
    for name, letters in shapes.items():
        array = getattr(record, name)
        if array is None and name in ("tokens", "frequencies"):  # saved without, of one kind
            continue
        wanted = tuple(
            int(letter) if letter.isdigit() else sizes.setdefault(letter, size)
            for letter, size in zip(letters, array.shape, strict=False)
        )
        numeric = name == "classes_" or array.dtype.kind in "fiu"
        if len(array.shape) != len(letters) or wanted != array.shape or not numeric:
            raise ValueError(f"its {name} has shape {array.shape}, not {wanted}")
