"""A readout trained on features that are fixed by then: what all such models share."""

import warnings
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsetoken._types import Array
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.losses import Hinge, get_loss
from sparsetoken.models.base import (
    QUERY,
    Draw,
    Model,
    OneClassError,
    Range,
    Settings,
    Size,
    measured,
)
from sparsetoken.performance import Performance
from sparsetoken.problem import Problem

TRAINED = measured("trained")
RIDGES = (1e-5, 10.0)
"""Ridges worth searching, in units of a feature's variance. For the error the best is below 1, or
the noise of the bias decides; an AUC may want more, but gains nothing beyond."""
# The hinge loss with a ridge that matters only to separators as long as √(2/(n·ridge)).
_SEPARATING_RIDGE = 1e-9


class TrainingSet(NamedTuple):
    """Training features with their labels, and the geometry behind them."""

    features: Array
    sign: Array
    directions: Array
    """Unit vectors of the kinds of signal, (n_kinds, dim)."""
    query: Any = None
    """The drawn query, a LearnedQuery; None without one."""
    readout: Any = None
    """The LinearReadout, if it is trained already."""

    def margins(self, readout: Any) -> Array:
        """Return the scores times the signs of the labels."""
        return self.sign * (self.features @ readout.coef + readout.intercept)


def check_classes(sign: Array) -> None:
    """Raise OneClassError unless there are samples of both classes."""
    if abs(sign.sum()) == sign.size:
        raise OneClassError(
            f"a trial drew only one class among {sign.size} training samples: "
            "raise dim, alpha or positive_rate"
        )


class ReadoutModel(Model):
    """A readout of features: theory along curves, simulation on features drawn directly."""

    settings: ClassVar[tuple[str, ...]] = ("reg", "loss")
    predicted = TRAINED | measured("capacity", "oracle")
    simulated = TRAINED | {"separable"}

    def search_space(self, problem: Problem) -> dict[str, Range | tuple[str, ...]]:
        """Return the ridges; the logistic loss has the optimal rule for two Gaussian classes.

        The square loss misplaces the bias of rare classes.
        """
        unit, (low, high) = self.feature_variance(problem), RIDGES
        starts = tuple(unit * reg for reg in (low, 1e-3, 1e-1, high))
        return {"loss": ("logistic",), "reg": Range(unit * low, unit * high, starts)}

    def feature_variance(self, problem: Problem) -> float:
        """Return the variance of the features that are read out, the unit of the ridge."""
        return 1.0

    def predict(self, problem: Problem, sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the readouts, which are solved for together, each from the last."""
        from sparsetoken.models.predictions import ReadoutTheory

        curve = list[Any]()
        for size in sizes:
            curve.append(ReadoutTheory(problem, self.architecture, size, settings, curve))
        return curve

    def train(self, draw: Draw) -> Any:
        """Draw a training set, train on it and judge the readout exactly."""
        return ReadoutTrial(self, draw)

    def draw_query(self, draw: Draw) -> Any:
        """Draw the query that is fixed before the readout is trained: a LearnedQuery, or None."""
        return None

    def draw_training(self, draw: Draw, query: Any) -> TrainingSet:
        """Draw a training set for the readout, seen through a query that is fixed."""
        raise NotImplementedError

    def judge(self, draw: Draw, training: TrainingSet) -> Performance:
        """Return the performance of the trained readout on fresh samples."""
        raise NotImplementedError


class ReadoutTrial:
    """A readout trained on one drawn data set; each number is computed when first asked for.

    All that :class:`~sparsetoken.theory.Performance` has can be asked for: ``test_error``,
    ``recall(fpr)`` and so on; and with a query, what a LearnedQuery has: ``cosine``, ``bias``, ...
    """

    def __init__(self, model: ReadoutModel, draw: Draw) -> None:
        self.model, self.draw = model, draw

    @cached_property
    def training(self) -> TrainingSet:
        """The training set, once its readout is trained."""
        drawn = self._drawn
        if drawn.readout is not None:
            return drawn
        check_classes(drawn.sign)
        loss = get_loss(self.draw.settings["loss"])
        readout = fit_readout(drawn.features, drawn.sign, self.draw.settings["reg"], loss)
        return drawn._replace(readout=readout)

    @cached_property
    def _drawn(self) -> TrainingSet:
        return self.model.draw_training(self.draw, self._given_query)

    @cached_property
    def _given_query(self) -> Any:
        return self.model.draw_query(self.draw)

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
        return float(np.mean(get_loss(self.draw.settings["loss"]).value(self._margins, 1.0)))

    @property
    def train_error(self) -> float:
        """Fraction of training samples labelled wrongly."""
        return float(np.mean(self._margins < 0.0))

    @cached_property
    def separable(self) -> float:
        """Whether some readout has no training error.

        The margins decide, so it does not matter whether the separator found is the shortest. That
        of the trained readout is the quicker one to try.
        """
        drawn = self.training
        if (self._margins > 0.0).all():
            return 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            separator = fit_readout(drawn.features, drawn.sign, _SEPARATING_RIDGE, Hinge())
        return float((drawn.margins(separator) > 0.0).all())

    @cached_property
    def performance(self) -> Performance:
        """What the readout does on fresh samples."""
        return self.model.judge(self.draw, self.training)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.query if name in QUERY else self.performance, name)
