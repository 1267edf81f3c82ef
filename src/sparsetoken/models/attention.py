"""Tokens pooled by a query of given angle to the signal, and a readout of their sum."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparsetoken._types import Array
from sparsetoken._validation import check_count
from sparsetoken.estimators.readout import LinearReadout
from sparsetoken.models.base import Draw, measured
from sparsetoken.models.readout import ReadoutModel, ReadoutTrial
from sparsetoken.performance import Performance
from sparsetoken.pooling import Pooling, get_pooling, pooling_models
from sparsetoken.problem import Problem, random_directions
from sparsetoken.sampling import (
    LearnedQuery,
    exact_performance,
    sample_feature_law,
    sample_features,
)
from sparsetoken.sampling.features import query_geometry

_TOKENS = 600_000  # drawn to judge one readout, within these numbers of points
_LEAST_POINTS, _MOST_POINTS = 2_048, 16_384


class Attention(ReadoutModel):
    """Attention with a query of given ``cosine`` and ``sharpness``.

    Parameters
    ----------
    pooling : str, default="attention"
        The pooling by its name or import path; "attention" is softmax.
    """

    name = "attention"
    settings: ClassVar[tuple[str, ...]] = ("cosine", "sharpness", "reg", "loss", "n_points")

    def __init__(self, pooling: str = "attention") -> None:
        self.architecture = pooling
        if pooling != "attention":
            self.name = pooling  # type: ignore[misc]  # that of the class otherwise
            self.estimator = ""  # the classifiers attend by softmax
        if ":" in pooling:  # its best weights are not known
            self.predicted = self.predicted - measured("oracle")

    @property
    def pooling(self) -> Pooling:
        """How scores become weights."""
        return pooling_models().get(self.architecture) or get_pooling(self.architecture)

    def draw_query(self, draw: Draw) -> Any:
        """Make a query of the given length, at the given angle to a random signal."""
        settings, dim = draw.settings, check_count("dim", draw.dim, minimum=2)
        directions = random_directions(draw.problem.n_kinds, dim, draw.rng)
        direction = directions.sum(axis=0) / math.sqrt(len(directions))
        (other,) = random_directions(1, dim, draw.rng)
        other -= (other @ direction) * direction
        other /= np.linalg.norm(other)
        cosine, sharpness = settings["cosine"], settings.get("sharpness", 1.0)
        query = sharpness * (cosine * direction + math.sqrt(1.0 - cosine**2) * other)
        return LearnedQuery(query, np.zeros_like(query), 0.0, directions, 1.0)

    def check(
        self, problem: Problem, values: Mapping[str, Any], quantities: frozenset[str]
    ) -> None:
        """Refuse a query that is not given, unless nothing is asked about it, or one too many."""
        if "cosine" not in self.settings and "cosine" in values:
            raise ValueError(
                f"model {self.name!r} learns its query; 'attention' has a given cosine"
            )
        if "cosine" not in self.settings or quantities <= measured("oracle"):
            return
        for name in ("cosine", "sharpness") if self.pooling.sharpened else ("cosine",):
            if name not in values:
                raise ValueError(
                    f"model {self.name!r} needs a value for {name}: its query is given"
                )

    def draw_training(self, draw: Draw, query: Any) -> tuple[Array, Array]:
        """Draw the features that the query makes of fresh samples."""
        how: Any = {"pooling": self.pooling, "beta": query.beta, "random_state": draw.rng}
        return sample_features(draw.problem, draw.n_samples(), query.query, query.directions, **how)

    def judge(self, trial: ReadoutTrial, readout: LinearReadout) -> Performance:
        """Return the performance of query and readout on fresh points of their law."""
        problem, query, settings = trial.draw.problem, trial.query, trial.draw.settings
        affordable = _TOKENS // max(problem.lengths) // len(problem.kinds)
        n_points = settings.get("n_points", min(max(affordable, _LEAST_POINTS), _MOST_POINTS))
        _, cosines, sharpness = query_geometry(query.query, query.directions, query.beta)
        geometry: Any = {"cosine": np.clip(cosines, -1.0, 1.0), "sharpness": sharpness}
        how: Any = {"pooling": self.pooling, "random_state": trial.draw.rng}
        law = sample_feature_law(problem, n_points, **geometry, **how)
        trained = *readout, query.query, query.directions
        return exact_performance(law, *trained, loss=settings["loss"])
