"""Models, one file each: what a classifier is called, predicted to do, and does.

Names and looks are known without numerics: a file is imported when its model is asked for.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from sparsetoken._validation import check_choice
from sparsetoken.models.base import Look, Model, OneClassError, Range
from sparsetoken.vocabulary import COLORS, MARKERS

__all__ = ["DEFAULT", "Look", "Model", "OneClassError", "Range", "get", "look", "names"]

DEFAULT = "sparse-token"
"""What a plan is about unless it is told otherwise."""
LOOKS = {
    name: Look(label, COLORS[color], marker)
    for name, label, color, marker in (
        ("sparse-token", "SparseTokenClassifier", 5, "*"),
        ("two-step", "two-step attention", 0, "o"),
        ("pooled", "pooled", 1, "s"),
        ("vectorized", "vectorized", 2, "^"),
        ("attention", "attention", 5, "P"),
        ("training", "gradient descent", 3, "v"),
        ("optimal", "best possible", 6, "P"),
        ("bayes", "Bayes", 6, "X"),
        ("hardmax", "hardmax", 3, "D"),
        ("elementwise", "elementwise", 4, "v"),
    )
}
"""How models look, in the order in which they are listed and drawn; the last two are poolings."""
POOLINGS = ("hardmax", "elementwise")
"""Models with another pooling than softmax: they are called by its name and have no file."""


def names() -> list[str]:
    """Return the names of the models.

    Examples
    --------
    >>> import sparsetoken as st
    >>> st.models.names()[:3]
    ['sparse-token', 'two-step', 'pooled']
    """
    return list(LOOKS | Model.known)


def get(name: str, settings: Mapping[str, Any] | None = None) -> Model:
    """Return a model by its name, or raise ValueError.

    Parameters
    ----------
    name : str
        One of :func:`names`, or a pooling by its name or import path. Such a model learns its query
        by two steps, unless it is given.
    settings : mapping, optional
        A ``cosine`` among them says that the query of a pooling is given.

    Examples
    --------
    >>> import numpy as np, sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> pooled = st.models.get("pooled")
    >>> [round(result.test_error, 3) for result in pooled.theory(problem, [1.0, 2.0], {})]
    [0.329, 0.293]
    >>> rng = np.random.default_rng(0)
    >>> round(pooled.trial(problem, 2.0, dim=200, settings={}, rng=rng).test_error, 2)
    0.3
    """
    if not isinstance(name, str):
        raise ValueError(f"model must be a name or an import path, got {name!r}")
    if name in LOOKS and name not in POOLINGS:
        importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    if name in Model.known:
        model: Model = Model.known[name]()
        return model
    from sparsetoken.models.attention import Attention
    from sparsetoken.models.two_step import TwoStepAttention
    from sparsetoken.pooling import get_pooling, pooling_models

    if ":" in name:
        get_pooling(name)  # raises ValueError if there is none
    else:
        check_choice("model", name, dict.fromkeys([*names(), *pooling_models()]))
    return (Attention if "cosine" in (settings or {}) else TwoStepAttention)(name)


def look(name: str) -> Look:
    """Return how a model is called and drawn; one without a look of its own gets a free color."""
    index = sum(map(ord, name)) % len(MARKERS)
    free = Look(name, COLORS[index], MARKERS[index])
    return getattr(Model.known.get(name), "look", LOOKS.get(name, free))
