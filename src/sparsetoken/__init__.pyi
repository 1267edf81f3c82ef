from . import (
    estimators,
    experiments,
    losses,
    models,
    planner,
    plotting,
    pooling,
    sampling,
    theory,
    vocabulary,
)
from .estimators import (
    AttentionClassifier,
    BayesAttentionClassifier,
    PooledClassifier,
    Sequences,
    SparseTokenClassifier,
    TwoStepAttentionClassifier,
    VectorizedClassifier,
    export,
    load,
    save,
    to_torch,
)
from .files import read_dataset
from .inspection.estimation import estimate_problem
from .inspection.layers import choose_layer
from .planner import plan
from .population import Population
from .problem import SparseTokenProblem
from .reporting import report

__version__: str

__all__ = [
    "AttentionClassifier",
    "BayesAttentionClassifier",
    "PooledClassifier",
    "Population",
    "Sequences",
    "SparseTokenClassifier",
    "SparseTokenProblem",
    "TwoStepAttentionClassifier",
    "VectorizedClassifier",
    "choose_layer",
    "estimate_problem",
    "estimators",
    "experiments",
    "export",
    "load",
    "losses",
    "models",
    "plan",
    "planner",
    "plotting",
    "pooling",
    "read_dataset",
    "report",
    "sampling",
    "save",
    "theory",
    "to_torch",
    "vocabulary",
]
