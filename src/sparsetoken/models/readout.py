"""A readout trained on features that are fixed by then: what all such models share."""

import warnings
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsetoken._types import Array
from sparsetoken.estimate import Estimate
from sparsetoken.estimators.readout import fit_readout
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
    measured,
    one_size,
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


class ReadoutTheory(OracleTheory):
    """A trained readout, and the query that two gradient steps teach where it is not given.

    All that :class:`~sparsetoken.theory.Risk` has can be asked for: ``test_error``, ``recall(fpr)``
    and so on. Of a learned query, ``cosine``, ``bias`` and the other numbers of
    :class:`~sparsetoken.theory.Alignment` are those after the two steps; the trained readout's are
    in ``risk``.
    """

    def __init__(
        self,
        problem: Problem,
        architecture: str,
        size: Size,
        settings: Settings,
        curve: list[Any],
    ) -> None:
        super().__init__(problem, architecture, settings)
        self.curve, self.learns_query = curve, "split" in settings
        if not self.learns_query:
            self.alpha0, self.alpha = None, None if size is None else one_size(size)
        elif size is None or isinstance(size, tuple):
            self.alpha0, self.alpha = size or (None, None)
        else:
            split = settings["split"]
            self.alpha0, self.alpha = split * size, None if split == 1.0 else (1.0 - split) * size

    @cached_property
    def query(self) -> Any:
        """What the two steps teach."""
        from sparsetoken.theory import alignment

        if self.alpha0 is None:
            raise ValueError("a value for alpha0 (or alpha) is needed: samples of the query")
        steps = {name: self.settings[name] for name in TWO_STEPS}
        return alignment(self.problem, alpha=self.alpha0, **steps)

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
        from sparsetoken.theory.readout.risk import solve_along

        if any(one.alpha is None for one in self.curve):
            raise ValueError("a value for alpha1 (or alpha) is needed: samples of the readout")
        ordered = sorted(self.curve, key=lambda one: -one.alpha)
        places = [
            (get_model(one.architecture, **one.query_arguments), one.alpha) for one in ordered
        ]
        reg, loss = self.settings["reg"], self.settings["loss"]
        for one, risk in zip(ordered, solve_along(self.problem, places, reg, loss), strict=True):
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
        return Estimate((self.alpha or 0.0) < self.capacity, 0.0, self.capacity.converged)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.query if self.learns_query and name in QUERY else self.risk, name)


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
