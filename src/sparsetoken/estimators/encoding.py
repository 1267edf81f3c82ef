"""Estimators as JSON and arrays, and back.

Whatever a class learns is stored without code of its own if it is in attributes that end in "_" and
consists of arrays, numbers, strings, None, lists, tuples, dicts, records and estimators of the
classes listed here. Everything but plain JSON
values is a dict with one key that says what it is.
"""

import importlib
import re
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sparsetoken._types import Array
from sparsetoken.losses import Loss, get_loss

Arrays = dict[str, Array]

_LEARNED = re.compile(r"[a-z]\w*[a-z0-9]_|_n_features_out")

OURS = "sparsetoken.estimators"
CLASSIFIERS = (
    "SparseTokenClassifier",
    "AttentionClassifier",
    "BayesAttentionClassifier",
    "TwoStepAttentionClassifier",
    "PooledClassifier",
    "VectorizedClassifier",
)
KNOWN = dict.fromkeys(CLASSIFIERS, OURS) | {
    "MinMaxScaler": "sklearn.preprocessing",
    "Nystroem": "sklearn.kernel_approximation",
    "PCA": "sklearn.decomposition",
    "Pipeline": "sklearn.pipeline",
    "RBFSampler": "sklearn.kernel_approximation",
    "RobustScaler": "sklearn.preprocessing",
    "StandardScaler": "sklearn.preprocessing",
}

RECORDS = {
    "AttentionHeads": f"{OURS}.attention_heads",
    "HeadSpec": f"{OURS}.attention_heads",
    "KernelHeads": f"{OURS}.kernel_heads",
    "ModelFit": "sparsetoken.inspection.model_fit",
    "PooledHeads": f"{OURS}.attention_heads",
    "PosteriorHeads": f"{OURS}.posterior_heads",
    "Reference": "sparsetoken.inspection.thresholds",
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
        own = name if name not in arrays else f"{name}.{len(arrays)}"
        arrays[own] = value
        return {"array": own}
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
    if type(estimator).__module__.partition(".")[0] != KNOWN.get(kind, "").partition(".")[0]:
        raise ValueError(f"{name} cannot be saved: {kind} is not one of {', '.join(KNOWN)}")
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
            key: encode(item, f"{name}.{key}", arrays) for key, item in parameters.items()
        },
        "learned": {key: encode(item, f"{name}.{key}", arrays) for key, item in learned.items()},
    }


def decode(value: Any, arrays: Arrays, version: int) -> Any:
    """Return what :func:`encode` of that version of the format was given."""
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "objects" in value or (version == 1 and "list" in value):
        items = value["objects" if "objects" in value else "list"]
        return np.array([decode(item, arrays, version) for item in items], dtype=object)
    if "list" in value:
        return [decode(item, arrays, version) for item in value["list"]]
    if "tuple" in value:
        return tuple(decode(item, arrays, version) for item in value["tuple"])
    if "dict" in value:
        return {
            decode(key, arrays, version): decode(item, arrays, version)
            for key, item in value["dict"]
        }
    if "record" in value:
        fields = {key: decode(item, arrays, version) for key, item in value["fields"].items()}
        return _record(value["record"])(**fields)
    return _decode_estimator(value, arrays, version)


def _decode_estimator(value: dict[str, Any], arrays: Arrays, version: int) -> Any:
    kind = value["estimator"]
    if kind not in KNOWN:
        raise ValueError(f"the file names an unknown class {kind!r}")
    if version < 3 and kind in ("AttentionClassifier", "SparseTokenClassifier"):
        raise ValueError(f"{kind} learns other heads since 0.3: fit it again")
    parameters = {key: decode(item, arrays, version) for key, item in value["parameters"].items()}
    if version < 3 and "centre" in parameters:
        parameters["center"] = parameters.pop("centre")
    if kind == "Pipeline":
        parameters["steps"] = list(parameters["steps"])
    estimator = getattr(importlib.import_module(KNOWN[kind]), kind)(**parameters)
    learned = {key: decode(item, arrays, version) for key, item in value["learned"].items()}
    for key, item in learned.items():
        if not _LEARNED.fullmatch(key):
            raise ValueError(f"the file sets an attribute {key!r} that is not learned")
        setattr(estimator, key, item)
    return estimator


def _record(name: str) -> Any:
    """Return one of the records that a fitted classifier holds."""
    if name not in RECORDS:
        raise ValueError(f"the file names an unknown record {name!r}")
    return getattr(importlib.import_module(RECORDS[name]), name)
