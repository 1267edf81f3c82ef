from . import (
    estimators,
    experiments,
    losses,
    planner,
    plotting,
    pooling,
    sampling,
    theory,
    vocabulary,
)
from .estimators import (
    AttentionClassifier,
    PooledClassifier,
    Sequences,
    TwoStepAttentionClassifier,
    VectorizedClassifier,
    load,
    save,
)
from .planner import estimate_problem, plan
from .problem import SparseTokenProblem

__version__: str

__all__ = [
    "AttentionClassifier",
    "PooledClassifier",
    "Sequences",
    "SparseTokenProblem",
    "TwoStepAttentionClassifier",
    "VectorizedClassifier",
    "estimate_problem",
    "estimators",
    "experiments",
    "load",
    "losses",
    "plan",
    "planner",
    "plotting",
    "pooling",
    "sampling",
    "save",
    "theory",
    "vocabulary",
]
