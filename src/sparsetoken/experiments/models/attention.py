"""Tokens pooled by a query: what such models share, and the one whose query is given."""

import math
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from sparsetoken.estimators.readout import LinearReadout
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.models.base import Rng, count_samples, measured
from sparsetoken.experiments.models.readout import ReadoutModel, TrainingSet
from sparsetoken.performance import Performance
from sparsetoken.pooling import Pooling, Softmax
from sparsetoken.population import AnyProblem, lengths
from sparsetoken.problem import random_direction
from sparsetoken.sampling import (
    LearnedQuery,
    exact_performance,
    sample_feature_law,
    sample_features,
)
from sparsetoken.vocabulary import MEASURED

_NUMBERS = 600_000  # tokens drawn to judge one readout, within these numbers of points
_LEAST_POINTS, _MOST_POINTS, _MOST_WINDOWS = 2_048, 16_384, 262_144


class PoolingModel(ReadoutModel):
    """A readout of tokens pooled by a query; the pooling's name is that of the model."""

    def __init__(self, name: str | None = None, pooling: Pooling | None = None) -> None:
        self.name = name or type(self).name
        self.pooling = pooling or Softmax()

    @property
    def architecture(self) -> str | Pooling:
        """What the theory calls it."""
        return "attention" if self.name == type(self).name else self.name

    def quantities(self, source: str) -> frozenset[str]:
        """Return the quantities; the best weights of a pooling of the user's are not known."""
        quantities = super().quantities(source)
        return quantities - measured("oracle") if ":" in self.name else quantities

    def parameters(self, quantity: str, source: str) -> set[str]:
        """Return those of any readout; the theory's law of the features is a set of points."""
        points = source == "theory" and MEASURED[quantity].group != "query"
        return super().parameters(quantity, source) | ({"n_points"} if points else set())

    def check(self, values: Mapping[str, Any], cell: Cell) -> None:
        """Refuse a query that is given."""
        super().check(values, cell)
        if "cosine" in values:
            raise ValueError(
                f"model {self.name!r} learns its query; 'attention' has a given cosine"
            )

    def draw_query(self, cell: Cell, rng: Rng) -> LearnedQuery:
        """Draw the query."""
        raise NotImplementedError

    def draw_training(self, cell: Cell, rng: Rng) -> TrainingSet:
        """Draw the query, then features that it makes of other samples."""
        query = self.draw_query(cell, rng)
        features, y = sample_features(
            cell.problem,
            count_samples(cell.alpha1, cell.values["dim"]),
            query.query,
            query.direction,
            pooling=self.pooling,
            beta=query.beta,
            random_state=rng,
        )
        return TrainingSet(features, 2.0 * y - 1.0, query.direction, query)

    def judge(
        self, problem: AnyProblem, trained: TrainingSet, loss: str, rng: Rng, n_windows: int
    ) -> Performance:
        """Return the performance of query and readout on fresh points of their law."""
        query, readout = trained.query, trained.readout
        return judge_attention(problem, query, readout, self.pooling, loss, rng, n_windows)


def judge_attention(
    problem: AnyProblem,
    query: LearnedQuery,
    readout: LinearReadout,
    pooling: Pooling,
    loss: str,
    rng: Rng,
    n_windows: int = 1,
) -> Performance:
    """Return the performance of query and readout on freshly drawn points of their law."""
    law = sample_feature_law(
        problem,
        _count_points(problem, n_windows),
        cosine=query.cosine,
        sharpness=query.sharpness,
        pooling=pooling,
        random_state=rng,
    )
    law = replace(law, batches=1)  # the error bar is that of the trials
    return exact_performance(law, *readout, query.query, query.direction, loss=loss)


def _count_points(problem: AnyProblem, n_windows: int) -> int:
    """Return how many points to judge a readout on: more where the largest of windows counts."""
    affordable = _NUMBERS // max(lengths(problem)) // len(problem.kinds)
    points = min(max(affordable, _LEAST_POINTS), _MOST_POINTS)
    return points if n_windows == 1 else min(points * n_windows, _MOST_WINDOWS)


class AttentionModel(PoolingModel):
    """Attention with a query of given ``cosine`` and ``sharpness``."""

    name = "attention"
    query_parameters = frozenset({"cosine", "sharpness"})

    def check(self, values: Mapping[str, Any], cell: Cell) -> None:
        """Refuse a cell whose query is not given."""
        if set(cell.quantities) <= measured("oracle"):
            return
        for name in ("cosine", "sharpness") if self.pooling.sharpened else ("cosine",):
            if name not in cell.values:
                raise ValueError(
                    f"model {self.name!r} needs a value for {name}: its query is given"
                )

    def predict_query(self, cell: Cell) -> Any:
        """Return the query that is given; none if only the best weights are asked for."""
        query = {name: cell.values.get(name) for name in ("cosine", "sharpness")}
        return SimpleNamespace(**query) if "cosine" in cell.values else None

    def draw_query(self, cell: Cell, rng: Rng) -> LearnedQuery:
        """Make a query of the given length, at the given angle to a random signal."""
        direction, other = (random_direction(cell.values["dim"], rng) for _ in range(2))
        other -= (other @ direction) * direction
        other /= np.linalg.norm(other)
        cosine, sharpness = cell.values["cosine"], cell.values.get("sharpness", 1.0)
        query = sharpness * (cosine * direction + math.sqrt(1.0 - cosine**2) * other)
        return LearnedQuery(query, np.zeros_like(query), 0.0, direction, 1.0)
