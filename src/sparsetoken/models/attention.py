"""Tokens pooled by a query of given angle to the signal, and a readout of their sum."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from sparsetoken._validation import check_count
from sparsetoken.models.base import Draw, Look, TrainingSet, measured
from sparsetoken.models.readout import ReadoutModel
from sparsetoken.vocabulary import COLORS

if TYPE_CHECKING:
    from sparsetoken.performance import Performance
    from sparsetoken.pooling import Pooling
    from sparsetoken.problem import Problem

POOLINGS = {
    "hardmax": Look(
        "hardmax", "all the weight on the token with the largest score", COLORS[3], "D"
    ),
    "elementwise": Look(
        "elementwise", "attention whose tokens do not compete for weight", COLORS[4], "v"
    ),
}
"""How models with another pooling than softmax look; they are called by the pooling's name."""


class Attention(ReadoutModel):
    """Attention with a query of given ``cosine`` and ``sharpness``.

    Parameters
    ----------
    pooling : str, default="attention"
        The pooling by its name or import path; "attention" is softmax.
    """

    name = "attention"
    look = Look(
        "attention", "softmax attention with a query given by cosine and sharpness", COLORS[5], "P"
    )
    settings: ClassVar[tuple[str, ...]] = ("cosine", "sharpness", "reg", "loss", "n_points")

    def __init__(self, pooling: str = "attention") -> None:
        self._pooling = pooling
        if pooling != "attention":
            self.name = pooling
            if ":" in pooling:  # its best weights are not known
                self.predicted = self.predicted - measured("oracle")  # type: ignore[misc]

    @property
    def architecture(self) -> str:
        """What the theory calls it."""
        return self._pooling

    @property
    def pooling(self) -> "Pooling":
        """How scores become weights."""
        from sparsetoken.pooling import get_pooling, pooling_models

        named = pooling_models().get(self._pooling)
        return get_pooling(self._pooling) if named is None else named

    def draw_query(self, draw: Draw) -> Any:
        """Make a query of the given length, at the given angle to a random signal."""
        import numpy as np

        from sparsetoken.problem import random_direction
        from sparsetoken.sampling import LearnedQuery

        settings, dim = draw.settings, check_count("dim", draw.dim, minimum=2)
        direction, other = (random_direction(dim, draw.rng) for _ in range(2))
        other -= (other @ direction) * direction
        other /= np.linalg.norm(other)
        cosine, sharpness = settings["cosine"], settings.get("sharpness", 1.0)
        query = sharpness * (cosine * direction + math.sqrt(1.0 - cosine**2) * other)
        return LearnedQuery(query, np.zeros_like(query), 0.0, direction, 1.0)

    def check(
        self, problem: "Problem", values: Mapping[str, Any], quantities: frozenset[str]
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

    def draw_training(self, draw: Draw, query: Any) -> TrainingSet:
        """Draw the features that the query makes of fresh samples."""
        from sparsetoken.sampling import sample_features

        features, y = sample_features(
            draw.problem,
            draw.parts[1],
            query.query,
            query.direction,
            pooling=self.pooling,
            beta=query.beta,
            random_state=draw.rng,
        )
        return TrainingSet(features, 2.0 * y - 1.0, query.direction, query)

    def judge(self, draw: Draw, training: TrainingSet) -> "Performance":
        """Return the performance of query and readout on fresh points of their law."""
        from sparsetoken.models.trials import judge_attention

        return judge_attention(draw, training.query, training.readout, self.pooling)
