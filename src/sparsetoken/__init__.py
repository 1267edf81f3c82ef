"""Find the few tokens that matter in a sequence, and know beforehand how well that will work."""

import importlib
from typing import Any

from sparsetoken.problem import SparseTokenProblem

__version__ = "0.1.0"

# Everything heavier than NumPy is imported when it is first used.
_MODULES = (
    "estimators",
    "experiments",
    "losses",
    "planner",
    "plotting",
    "pooling",
    "sampling",
    "theory",
)
_NAMES = {
    "AttentionClassifier": "estimators",
    "PooledClassifier": "estimators",
    "Sequences": "estimators",
    "TwoStepAttentionClassifier": "estimators",
    "VectorizedClassifier": "estimators",
    "estimate_problem": "planner",
    "load": "estimators",
    "plan": "planner",
    "save": "estimators",
}

__all__ = ["SparseTokenProblem", *_MODULES, *_NAMES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
