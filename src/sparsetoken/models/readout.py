"""A readout trained on features that are fixed by then: what all such models share."""

import warnings
from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsetoken._types import Array
from sparsetoken.estimate import Estimate
from sparsetoken.estimators.readout import LinearReadout, fit_readout
from sparsetoken.losses import Hinge, get_loss
from sparsetoken.models.base import (
    QUERY,
    TWO_STEPS,
    Draw,
    Model,
    OneClassError,
    Range,
    Settings,
    Size,
    alpha_of,
    measured,
)
from sparsetoken.models.bayes import OracleTheory
from sparsetoken.performance import Performance
from sparsetoken.problem import Problem

TRAINED = measured("trained")
RIDGES = (1e-5, 10.0)
"""Ridges worth searching, in units of a feature's variance. For the error the best is below 1, or
the noise of the bias decides; an AUC may want more, but gains nothing beyond."""
# The hinge loss with a ridge that matters only to separators as long as √(2/(n·ridge)).
_SEPARATING_RIDGE = 1e-9


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

    def search_space(self, problem: Problem) -> dict[str, Range]:
        """Return the ridges; the logistic loss has the optimal rule for two Gaussian classes.

        The square loss misplaces the bias of rare classes.
        """
        unit, (low, high) = self.feature_variance(problem), RIDGES
        starts = tuple(unit * reg for reg in (low, 1e-3, 1e-1, high))
        return {"reg": Range(unit * low, unit * high, starts)}

    def feature_variance(self, problem: Problem) -> float:
        """Return the variance of the features that are read out, the unit of the ridge."""
        return 1.0

    def predict(self, problem: Problem, sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the readouts, which are solved for together, each from the last."""
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

    @abstractmethod
    def draw_training(self, draw: Draw, query: Any) -> tuple[Array, Array]:
        """Draw features seen through a query, and whether each is labelled positive."""

    @abstractmethod
    def judge(self, trial: "ReadoutTrial", readout: LinearReadout) -> Performance:
        """Return the performance of the trained readout on fresh samples."""


class ReadoutTheory(OracleTheory):
    """A trained readout, and the query that two gradient steps teach where it is not given.

    All that :class:`~sparsetoken.theory.Risk` has can be asked for: ``test_error``, ``recall(fpr)``
    and so on. Of a learned query, ``cosine``, ``bias`` and the other numbers of
    :class:`~sparsetoken.theory.Alignment` are those after the two steps; the trained readout's are
    in ``risk``.
    """

    def __init__(
        self, problem: Problem, architecture: str, size: Size, settings: Settings, curve: list[Any]
    ) -> None:
        super().__init__(problem, architecture, settings)
        self.size, self.curve, self.learns_query = size, curve, "split" in settings

    @property
    def alpha(self) -> float:
        """Samples per dimension of the readout."""
        return alpha_of(self.size, self.settings)

    @cached_property
    def query(self) -> Any:
        """What the two steps teach."""
        from sparsetoken.theory import alignment

        steps = {name: self.settings[name] for name in TWO_STEPS}
        return alignment(self.problem, alpha=alpha_of(self.size, self.settings, 0), **steps)

    @property
    def query_arguments(self) -> dict[str, Any]:
        """Cosine and sharpness of the query, and the points, as arguments of the theory."""
        names = ("cosine", "sharpness")
        if self.learns_query:
            return {name: getattr(self.query, name) for name in names} | self.points
        return {n: self.settings[n] for n in names if n in self.settings} | self.points

    @cached_property
    def risk(self) -> Any:
        """The solved readout. Those of the curve with many samples come first: half the work."""
        from sparsetoken.theory.features import get_model
        from sparsetoken.theory.readout.risk import solve_each

        ordered = sorted(self.curve, key=lambda one: -one.alpha)
        places = [
            (get_model(one.architecture, **one.query_arguments), one.alpha) for one in ordered
        ]
        reg, loss = self.settings["reg"], self.settings["loss"]
        for one, risk in zip(ordered, solve_each(self.problem, places, reg, loss), strict=True):
            one.__dict__["risk"] = risk
        return self.__dict__["risk"]

    @cached_property
    def capacity(self) -> Estimate:
        """Samples per dimension that can be separated perfectly."""
        from sparsetoken.theory import capacity

        return capacity(self.problem, self.architecture, **self.query_arguments)

    @property
    def separable(self) -> Estimate:
        """Whether these samples can be separated perfectly."""
        return Estimate(self.alpha < self.capacity, 0.0, self.capacity.converged)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.query if self.learns_query and name in QUERY else self.risk, name)


class ReadoutTrial:
    """A readout trained on one drawn data set; each number is computed when first asked for.

    All that :class:`~sparsetoken.theory.Performance` has can be asked for: ``test_error``,
    ``recall(fpr)`` and so on; and with a query, what a LearnedQuery has: ``cosine``, ``bias``, ...
    """

    def __init__(self, model: ReadoutModel, draw: Draw, **drawn: Any) -> None:
        self.model, self.draw = model, draw
        vars(self).update(drawn)  # of query, training and readout, what there is already

    @cached_property
    def query(self) -> Any:
        """The query, a LearnedQuery, or None."""
        return self.model.draw_query(self.draw)

    @cached_property
    def training(self) -> tuple[Array, Array]:
        """The features of the training set, and the signs of its labels."""
        features, positive = self.model.draw_training(self.draw, self.query)
        return features, 2.0 * positive - 1.0

    @cached_property
    def readout(self) -> LinearReadout:
        """The trained readout."""
        check_classes(self.training[1])
        settings = self.draw.settings
        return fit_readout(*self.training, settings["reg"], get_loss(settings["loss"]))

    @cached_property
    def margins(self) -> Array:
        """The scores of the training samples times the signs of their labels."""
        return self._margins_of(self.readout)

    @property
    def train_loss(self) -> float:
        """Mean loss of the training samples."""
        return float(np.mean(get_loss(self.draw.settings["loss"]).value(self.margins, 1.0)))

    @property
    def train_error(self) -> float:
        """Fraction of training samples labelled wrongly."""
        return float(np.mean(self.margins < 0.0))

    @cached_property
    def separable(self) -> float:
        """Whether some readout has no training error.

        The margins decide, so it does not matter whether the separator found is the shortest. That
        of the trained readout is the quicker one to try.
        """
        if (self.margins > 0.0).all():
            return 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            separator = fit_readout(*self.training, _SEPARATING_RIDGE, Hinge())
        return float((self._margins_of(separator) > 0.0).all())

    def _margins_of(self, readout: LinearReadout) -> Array:
        features, sign = self.training
        return sign * (features @ readout.coef + readout.intercept)

    @cached_property
    def performance(self) -> Performance:
        """What the readout does on fresh samples."""
        return self.model.judge(self, self.readout)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.query if name in QUERY else self.performance, name)
