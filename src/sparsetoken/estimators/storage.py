"""Fitted classifiers in a file: arrays in npz, the rest in a JSON header, nothing executable.

Loading builds an object of a listed class and sets its attributes: no code runs. The file also has
what the classifier said of two made-up sequences, which a loaded one must reproduce: a version of
ours, or of a library below, that computes something else is found out.
"""

import json
import os
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from sparsetoken._replace import replaced
from sparsetoken._types import Floats
from sparsetoken.estimators.encoding import CLASSIFIERS, Arrays, decode, encode
from sparsetoken.sequences.sequences import Sequences

_FORMAT = "sparsetoken model"
_VERSION = 5
_RELEASE = sys.modules["sparsetoken"].__version__  # the parent is there, installed or not
_HEADER = "header"


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
    header |= {"content": encode(classifier, arrays), "scores": _trial_scores(classifier).tolist()}
    entries: dict[str, Any] = {_HEADER: np.array(json.dumps(header)), **arrays}
    with replaced(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **entries)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a classifier written by :func:`~sparsetoken.estimators.save`.

    Parameters
    ----------
    path : str or path
        The file. One that is damaged, of another format or of another version raises ValueError;
        nothing in the file is ever executed.
    """
    header, arrays = _read(path)
    try:
        classifier = decode(header["content"], arrays)
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
