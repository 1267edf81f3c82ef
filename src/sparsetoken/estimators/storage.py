"""Fitted classifiers in a file: arrays in npz, the rest in a JSON header, nothing executable.

A classifier is one of the records listed here, whose fields are arrays, numbers, strings, None,
lists (also of tuples), dicts and records; all but plain JSON values are dicts with one key that
says what they are. Loading builds objects of listed classes and sets attributes that end in "_": no
code runs. The file also has what the classifier said of two made-up sequences, which a loaded one
must reproduce: a version of ours, or of a library below, that computes something else is found out.
"""

import json
import os
import re
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from sparsetoken._replace import replaced
from sparsetoken._types import Array, Floats, Indices
from sparsetoken._validation import check_count
from sparsetoken.estimators import classifiers, linear
from sparsetoken.estimators.answers import ModelFit
from sparsetoken.estimators.attention_heads import AttentionHeads, PooledHeads
from sparsetoken.estimators.head_objective import HeadSpec
from sparsetoken.estimators.kernel_heads import KernelHeads
from sparsetoken.estimators.posterior_heads import PosteriorHeads
from sparsetoken.estimators.stack import Reference, Stack
from sparsetoken.estimators.trees import Forest, Trees
from sparsetoken.losses import Loss, get_loss
from sparsetoken.sequences.sequences import Sequences

_FORMAT = "sparsetoken model"
_VERSION = 5
_RELEASE = sys.modules["sparsetoken"].__version__  # the parent is there, installed or not
_HEADER = "header"

Arrays = dict[str, Array]

_DTYPES = {Any: "fiu", Indices: "iu", Array: "biufUSOmM"}
_LEARNED = re.compile(r"[a-z]\w*[a-z0-9]_")
CLASSIFIERS = (
    classifiers.SparseTokenClassifier,
    classifiers.AttentionClassifier,
    classifiers.BayesAttentionClassifier,
    linear.TwoStepAttentionClassifier,
    linear.PooledClassifier,
    linear.VectorizedClassifier,
)
_MEMBERS = (AttentionHeads, PooledHeads, PosteriorHeads, KernelHeads, Trees)
RECORDS = {
    kind.__name__: kind
    for kind in (*CLASSIFIERS, *_MEMBERS, Forest, HeadSpec, ModelFit, Reference, Stack)
}
"""Members, and what else a fitted classifier consists of: a new member is listed here. An array is
annotated with its shape, which compiled loops rely on: a letter for the size of an axis. d, c and C
are the classifier's features, classes and scores, v is features times tokens; any other letter is
the same number throughout a record. One with "?" may be None."""


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
    if type(classifier) not in CLASSIFIERS:
        names, kind = ", ".join(c.__name__ for c in CLASSIFIERS), type(classifier).__name__
        raise ValueError(f"classifier must be one of {names}, got {kind}")
    check_is_fitted(classifier)
    classifier = copy(classifier)
    if not isinstance(getattr(classifier, "random_state", None), int | None):
        classifier.random_state = None
    if not tokens and classifier.reference_ is not None:
        classifier.reference_ = replace(classifier.reference_, tokens=None)
    arrays: Arrays = {}
    header = {"format": _FORMAT, "version": _VERSION, "sparsetoken": _RELEASE}
    header |= {"scikit-learn": sklearn.__version__, "notes": notes or {}}
    header |= {"content": _encode(classifier, "", arrays)}
    header |= {"scores": _trial_scores(classifier).tolist()}
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


def _encode(value: Any, name: str, arrays: Arrays) -> Any:
    if isinstance(value, Loss):
        if value not in map(get_loss, ("logistic", "square", "hinge")):
            raise ValueError(f"{name} cannot be saved: {value!r} is not a built-in loss")
        return value.name
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return {"objects": _encode(value.tolist(), name, arrays)}
        arrays[name] = value
        return {"array": name}
    if type(value) in RECORDS.values():
        fields = value._asdict() if hasattr(value, "_asdict") else vars(value)
        if type(value) in CLASSIFIERS:
            learned = {key: item for key, item in fields.items() if _LEARNED.fullmatch(key)}
            fields = value.get_params(deep=False) | learned
        prefix = name and f"{name}."
        parts = {key: _encode(item, prefix + key, arrays) for key, item in fields.items()}
        return {"record": type(value).__name__, "fields": parts}
    if isinstance(value, list | tuple):
        return [_encode(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
    if isinstance(value, dict):
        pairs = [(key, _encode(item, f"{name}.{key}", arrays)) for key, item in value.items()]
        return {"dict": [[_encode(key, name, arrays), item] for key, item in pairs]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"{name} cannot be saved without pickle: {value!r}")


def _decode_classifier(content: Any, arrays: Arrays) -> Any:
    """Return the classifier that was encoded, with arrays of the right shapes."""
    records = []

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
        if kind == "dict":
            return {decoded(key): decoded(item) for key, item in content}
        if kind != "record" or content not in RECORDS:
            raise ValueError(f"the file names an unknown {kind} {content!r}")
        fields = {key: decoded(item) for key, item in value["fields"].items()}
        learned = {key: fields.pop(key) for key in [*fields] if _LEARNED.fullmatch(key)}
        record = RECORDS[content](**fields)
        for key, item in learned.items():
            setattr(record, key, item)
        records.append(record)
        return record

    classifier = decoded(content)
    d = check_count("n_features_in_", classifier.n_features_in_)
    n_tokens = check_count("n_tokens_", getattr(classifier, "n_tokens_", 1))
    n_classes = check_count("the number of classes", len(classifier.classes_), minimum=2)
    if n_classes > 2 and not classifier._multi_class:
        raise ValueError(f"{type(classifier).__name__} has {n_classes} classes")
    n_scores = 1 if n_classes == 2 else n_classes
    sizes = {"d": d, "v": d * n_tokens, "c": n_classes, "C": n_scores}
    for record in records:
        _check_shapes(record, sizes)
    return classifier


def _check_shapes(record: Any, sizes: dict[str, int]) -> None:
    """Refuse arrays whose shapes do not go together: compiled loops would leave them."""
    sizes = dict(sizes)
    for name, hint in get_type_hints(type(record), include_extras=True).items():
        if get_origin(hint) is not Annotated or not hasattr(record, name):
            continue
        (kind, letters), array = get_args(hint), getattr(record, name)
        if array is None and letters.endswith("?"):
            continue
        letters = letters.rstrip("?")
        wanted = tuple(
            int(letter) if letter.isdigit() else sizes.setdefault(letter, size)
            for letter, size in zip(letters, array.shape, strict=False)
        )
        if len(array.shape) != len(letters) or wanted != array.shape:
            raise ValueError(f"its {name} has shape {array.shape}, not {wanted}")
        if array.dtype.kind not in _DTYPES[kind]:
            raise ValueError(f"its {name} holds {array.dtype}")
