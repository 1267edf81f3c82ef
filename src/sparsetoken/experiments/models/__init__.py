"""Ways of training, one file each: what a value of ``model`` means in a sweep.

A way is an object with what its numbers depend on, its theory and its simulation
(:class:`~sparsetoken.experiments.models.base.WayOfTraining`). A new one is a file of this folder
and its name in the list of imports below.
"""

from collections.abc import Mapping
from typing import Any

from sparsetoken._validation import check_choice
from sparsetoken.experiments.models import (  # noqa: F401 (each registers itself by its name)
    bayes,
    gradient_descent,
    joint,
    linear,
    optimal,
)
from sparsetoken.experiments.models.attention import AttentionModel
from sparsetoken.experiments.models.base import KNOWN, WayOfTraining
from sparsetoken.experiments.models.two_step import TwoStepModel
from sparsetoken.pooling import get_pooling, pooling_models

__all__ = ["WayOfTraining", "find_model"]


def find_model(values: Mapping[str, Any]) -> WayOfTraining:
    """Return the way of training that the values of a cell ask for, or raise ValueError.

    A pooling, by its name or import path, has the query that ``cosine`` describes; without one it
    learns its query by two steps.
    """
    name = values.get("model", TwoStepModel.name)  # a learned query is the same for all poolings
    if not isinstance(name, str):
        raise ValueError(f"model must be a name or an import path, got {name!r}")
    if name in KNOWN:
        return KNOWN[name]()
    poolings = pooling_models()
    if ":" not in name:
        check_choice("model", name, dict.fromkeys([*KNOWN, *poolings]))
    pooling = get_pooling(name) if ":" in name else poolings[name]
    return (AttentionModel if "cosine" in values else TwoStepModel)(name, pooling)
