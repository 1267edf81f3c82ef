"""A readout trained on features that are fixed by then: what all such models share.

This file is light; ``predictions.py`` and ``trials.py`` compute.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from sparsetoken.models.base import (
    Draw,
    Model,
    Range,
    Settings,
    Size,
    TrainingSet,
    measured,
    one_size,
)

if TYPE_CHECKING:
    from sparsetoken.performance import Performance
    from sparsetoken.problem import Problem

TRAINED = measured("trained")
RIDGES = (1e-5, 10.0)
"""Ridges worth searching, in units of a feature's variance. For the error the best is below 1, or
the noise of the bias decides; an AUC may want more, but gains nothing beyond."""


class ReadoutModel(Model):
    """A readout of features: theory along curves, simulation on features drawn directly."""

    settings: ClassVar[tuple[str, ...]] = ("reg", "loss")
    predicted = TRAINED | measured("capacity", "oracle")
    simulated = TRAINED | {"separable"}

    def search_space(self, problem: "Problem") -> dict[str, Range | tuple[str, ...]]:
        """Return the ridges; the logistic loss has the optimal rule for two Gaussian classes.

        The square loss misplaces the bias of rare classes.
        """
        unit, (low, high) = self.feature_variance(problem), RIDGES
        starts = tuple(unit * reg for reg in (low, 1e-3, 1e-1, high))
        return {"loss": ("logistic",), "reg": Range(unit * low, unit * high, starts)}

    def feature_variance(self, problem: "Problem") -> float:
        """Return the variance of the features that are read out, the unit of the ridge."""
        return 1.0

    @property
    def architecture(self) -> str:
        """What the theory calls it."""
        return self.name

    def predict(self, problem: "Problem", sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the readouts, which are solved for together, each from the last."""
        from sparsetoken.models.predictions import ReadoutTheory

        curve = list[Any]()
        for size in sizes:
            alpha = None if size is None else one_size(size)
            curve.append(ReadoutTheory(self, problem, alpha, settings, curve))
        return curve

    def train(self, draw: Draw) -> Any:
        """Draw a training set, train on it and judge the readout exactly."""
        from sparsetoken.models.trials import ReadoutTrial

        return ReadoutTrial(self, draw)

    def draw_query(self, draw: Draw) -> Any:
        """Draw the query that is fixed before the readout is trained: a LearnedQuery, or None."""
        return None

    def draw_training(self, draw: Draw, query: Any) -> TrainingSet:
        """Draw a training set for the readout, seen through a query that is fixed."""
        raise NotImplementedError

    def judge(self, draw: Draw, training: TrainingSet) -> "Performance":
        """Return the performance of the trained readout on fresh samples."""
        raise NotImplementedError
