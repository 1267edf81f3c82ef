"""Estimators as JSON and arrays, and back.

Whatever a class learns is stored without code of its own if it is in attributes that end in "_" and
consists of arrays, numbers, strings, None, lists, tuples, dicts, and the classes listed here.
Everything but plain JSON values is a dict with one key that says what it is.
"""

import importlib
import re
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sparsetoken._types import Array
from sparsetoken.losses import Loss, get_loss

Arrays = dict[str, Array]

_LEARNED = re.compile(r"[a-z]\w*[a-z0-9]_")

OURS = "sparsetoken.estimators"
CLASSIFIERS = (
    "SparseTokenClassifier",
    "AttentionClassifier",
    "BayesAttentionClassifier",
    "TwoStepAttentionClassifier",
    "PooledClassifier",
    "VectorizedClassifier",
)
RECORDS = {
    "AttentionHeads": f"{OURS}.attention_heads",
    "HeadSpec": f"{OURS}.attention_heads",
    "KernelHeads": f"{OURS}.kernel_heads",
    "ModelFit": f"{OURS}.model_fit",
    "PooledHeads": f"{OURS}.attention_heads",
    "PosteriorHeads": f"{OURS}.posterior_heads",
    "Reference": f"{OURS}.reference",
    "Stack": f"{OURS}.stack",
    "Trees": f"{OURS}.trees",
}
"""Members, and what else a fitted classifier consists of: a new member is named here."""


def encode(value: Any, name: str, arrays: Arrays) -> Any:
    """Return ``value`` as JSON; its arrays go to ``arrays``, named after ``name``."""
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
            return {"objects": [encode(item, name, arrays) for item in value.tolist()]}
        unique = name if name not in arrays else f"{name}.{len(arrays)}"
        arrays[unique] = value
        return {"array": unique}
    if type(value).__name__ in RECORDS:
        record = type(value).__name__
        fields = value._asdict() if hasattr(value, "_asdict") else vars(value)
        items = {key: encode(item, f"{name}.{key}", arrays) for key, item in fields.items()}
        return {"record": record, "fields": items}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [encode(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]}
    if isinstance(value, dict):
        return {
            "dict": [
                [encode(key, name, arrays), encode(item, f"{name}.{key}", arrays)]
                for key, item in value.items()
            ]
        }
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"{name} cannot be saved without pickle: {value!r}")


def _encode_estimator(estimator: Any, name: str, arrays: Arrays) -> Any:
    kind = type(estimator).__name__
    if kind not in CLASSIFIERS:
        raise ValueError(f"{name} cannot be saved: {kind} is not one of {', '.join(CLASSIFIERS)}")
    parameters = estimator.get_params(deep=False)
    if not isinstance(parameters.get("random_state"), int | None):
        parameters["random_state"] = None
    learned = {key: value for key, value in vars(estimator).items() if _LEARNED.fullmatch(key)}
    encoded = {
        title: {key: encode(item, f"{name}.{key}", arrays) for key, item in values.items()}
        for title, values in (("parameters", parameters), ("learned", learned))
    }
    return {"estimator": kind, **encoded}


def decode(value: Any, arrays: Arrays) -> Any:
    """Return what :func:`encode` was given."""
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "objects" in value:
        return np.array([decode(item, arrays) for item in value["objects"]], dtype=object)
    if "list" in value:
        return [decode(item, arrays) for item in value["list"]]
    if "tuple" in value:
        return tuple(decode(item, arrays) for item in value["tuple"])
    if "dict" in value:
        return {decode(key, arrays): decode(item, arrays) for key, item in value["dict"]}
    if "record" in value:
        fields = {key: decode(item, arrays) for key, item in value["fields"].items()}
        return _class("record", value["record"], RECORDS)(**fields)
    kind = _class("class", value["estimator"], dict.fromkeys(CLASSIFIERS, OURS))
    estimator = kind(**{key: decode(item, arrays) for key, item in value["parameters"].items()})
    for key, item in value["learned"].items():
        if not _LEARNED.fullmatch(key):
            raise ValueError(f"the file sets an attribute {key!r} that is not learned")
        setattr(estimator, key, decode(item, arrays))
    return estimator


def _class(what: str, name: str, modules: dict[str, str]) -> Any:
    """Return a class of those that a file may name."""
    if name not in modules:
        raise ValueError(f"the file names an unknown {what} {name!r}")
    return getattr(importlib.import_module(modules[name]), name)
