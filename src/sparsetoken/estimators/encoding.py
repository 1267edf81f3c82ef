"""Fitted classifiers as JSON and arrays, and back.

Attributes that end in "_" are stored: arrays, numbers, strings, None, lists, tuples, dicts, and the
records listed here. All but plain JSON values are dicts with one key that says what they are.
"""

import importlib
import re
from typing import Any

import numpy as np

from sparsetoken._types import Array
from sparsetoken._validation import check_count
from sparsetoken.losses import Loss, get_loss

Arrays = dict[str, Array]
Shapes = dict[str, Any]
"""The shape of each array: a letter for the size of an axis. d features, c classes and C scores are
those of the classifier, v is features times tokens; any other letter is the same number throughout
a record. A tuple is for tuples in a list."""

_LEARNED = re.compile(r"[a-z]\w*[a-z0-9]_")
_HEADS: Shapes = {"directions": "KCd", "intercepts": "KC", "folds": ("KCd", "KC")}

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
    "HeadSpec": ("attention_heads", {}),
    "KernelHeads": (
        "kernel_heads",
        {"directions": "KCM", "intercepts": "KC", "folds": ("KCM", "KC")}
        | {"gammas": "K", "mean": "d", "scale": "d", "landmarks": "Md"},
    ),
    "ModelFit": ("model_fit", {}),
    "PooledHeads": ("attention_heads", _HEADS),
    "PosteriorHeads": (
        "posterior_heads",
        {"directions": "rCd", "intercepts": "rC", "folds": ("rCd", "rC"), "frequencies": "rC"}
        | dict.fromkeys(("prior", "strengths", "strength_errors", "evidence"), "K"),
    ),
    "Reference": (
        "reference",
        {"scores": "nC", "classes": "n", "tokens": "td", "offsets": "o"}
        | {"kept_classes": "m", "kept_folds": "m", "lengths": "2"},
    ),
    "Stack": ("stack", _STACK),
    "Trees": ("trees", {"unit": "d", "levels": "ld"}),
}
"""Members, and what else a fitted classifier consists of: a new member is named here, with the
shapes of its arrays, which compiled loops rely on."""


def encode(classifier: Any, arrays: Arrays) -> dict[str, Any]:
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


def decode(content: dict[str, Any], arrays: Arrays) -> Any:
    """Return the classifier that :func:`encode` was given, with arrays of the right shapes."""
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
    for name, shape in shapes.items():
        value = getattr(record, name)
        if value is None and name == "tokens":  # saved without them
            continue
        single = isinstance(shape, str)
        pairs = (
            [(value, shape)]
            if single
            else [pair for item in value for pair in zip(item, shape, strict=True)]
        )
        for array, letters in pairs:
            wanted = tuple(
                int(letter) if letter.isdigit() else sizes.setdefault(letter, size)
                for letter, size in zip(letters, array.shape, strict=False)
            )
            numeric = name == "classes_" or array.dtype.kind in "fiu"
            if len(array.shape) != len(letters) or wanted != array.shape or not numeric:
                raise ValueError(f"its {name} has shape {array.shape}, not {wanted}")
