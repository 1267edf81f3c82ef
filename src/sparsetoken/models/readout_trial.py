"""A readout trained on drawn features, and what it does on fresh samples."""

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsetoken.estimators.readout import LinearReadout, fit_readout
from sparsetoken.losses import Hinge, get_loss
from sparsetoken.models.base import QUERY, Size, TrainingSet
from sparsetoken.performance import Performance
from sparsetoken.pooling import Pooling
from sparsetoken.problem import Problem
from sparsetoken.sampling import LearnedQuery, exact_performance, sample_feature_law

# The hinge loss with a ridge that matters only to separators as long as √(2/(n·ridge)).
_SEPARATING_RIDGE = 1e-9
_NUMBERS = 600_000  # tokens drawn to judge one readout, within these numbers of points
_LEAST_POINTS, _MOST_POINTS = 2_048, 16_384


class ReadoutTrial:
    """A readout trained on one drawn data set; each number is computed when first asked for.

    All that :class:`~sparsetoken.theory.Performance` has can be asked for: ``test_error``,
    ``recall(fpr)`` and so on; and with a query, what a LearnedQuery has: ``cosine``, ``bias``, ...

    Parameters
    ----------
    model : ReadoutModel
        The model.
    problem, size, dim, settings, rng
        As in :meth:`sparsetoken.models.Model.trial`.
    """

    def __init__(
        self,
        model: Any,
        problem: Problem,
        size: Size,
        dim: int,
        settings: dict[str, Any],
        rng: np.random.Generator,
    ) -> None:
        self.model, self.problem, self.size, self.dim = model, problem, size, dim
        self.settings, self.rng = settings, rng

    @cached_property
    def training(self) -> TrainingSet:
        """The training set, once its readout is trained."""
        drawn = self._drawn
        drawn.check_classes()
        if drawn.readout is not None:
            return drawn
        loss = get_loss(self.settings["loss"])
        readout = fit_readout(drawn.features, drawn.sign, self.settings["reg"], loss)
        return drawn._replace(readout=readout)

    @cached_property
    def _drawn(self) -> TrainingSet:
        arguments = self.problem, self.size, self.dim, self.settings, self.rng
        drawn: TrainingSet = self.model.draw_training(*arguments, self._given_query)
        return drawn

    @cached_property
    def _given_query(self) -> Any:
        arguments = self.problem, self.size, self.dim, self.settings, self.rng
        return self.model.draw_query(*arguments)

    @property
    def query(self) -> Any:
        """The query, a LearnedQuery, which may be learned before the readout or with it."""
        return self._given_query or self._drawn.query

    @cached_property
    def _margins(self) -> Any:
        return self.training.margins(self.training.readout)

    @property
    def train_loss(self) -> float:
        """Mean loss of the training samples."""
        return float(np.mean(get_loss(self.settings["loss"]).value(self._margins, 1.0)))

    @property
    def train_error(self) -> float:
        """Fraction of training samples labelled wrongly."""
        return float(np.mean(self._margins < 0.0))

    @cached_property
    def separable(self) -> float:
        """Whether some readout has no training error.

        The margins decide, so it does not matter whether the separator found is the shortest.
        """
        drawn = self._drawn
        drawn.check_classes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            separator = fit_readout(drawn.features, drawn.sign, _SEPARATING_RIDGE, Hinge())
        return float((drawn.margins(separator) > 0.0).all())

    @cached_property
    def performance(self) -> Performance:
        """What the readout does on fresh samples."""
        arguments = self.problem, self.training, self.settings, self.rng
        judged: Performance = self.model.judge(*arguments)
        return judged

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.query if name in QUERY else self.performance, name)


def judge_attention(
    problem: Problem,
    query: LearnedQuery,
    readout: LinearReadout,
    settings: dict[str, Any],
    rng: np.random.Generator,
    pooling: Pooling,
) -> Performance:
    """Return the performance of query and readout on freshly drawn points of their law."""
    affordable = _NUMBERS // max(problem.lengths) // len(problem.kinds)
    n_points = settings.get("n_points", min(max(affordable, _LEAST_POINTS), _MOST_POINTS))
    law = sample_feature_law(
        problem,
        n_points,
        cosine=query.cosine,
        sharpness=query.sharpness,
        pooling=pooling,
        random_state=rng,
    )
    return exact_performance(law, *readout, query.query, query.direction, loss=settings["loss"])
