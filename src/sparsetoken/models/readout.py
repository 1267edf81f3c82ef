"""A readout trained on features that are fixed by then: what all such models share.

This file is light; ``readout_theory.py`` and ``readout_trial.py`` compute.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sparsetoken.models.base import Model, Size, TrainingSet, measured, one_size

if TYPE_CHECKING:
    import numpy as np

    from sparsetoken.performance import Performance
    from sparsetoken.problem import Problem

TRAINED = measured("trained")
REGS = (1e-5, 10.0)
"""Ridges worth searching, in units of a feature's variance. For the error the best is below 1, or
the noise of the bias decides; an AUC may want more, but gains nothing beyond."""


class ReadoutModel(Model):
    """A readout of features: theory along curves, simulation on features drawn directly."""

    settings: ClassVar[tuple[str, ...]] = ("reg", "loss")
    predicted = TRAINED | measured("capacity", "oracle")
    simulated = TRAINED | {"separable"}
    search_space: ClassVar[Mapping[str, tuple[Any, ...]]] = {"reg": REGS}

    @property
    def architecture(self) -> str:
        """What the theory calls it."""
        return self.name

    def theory(
        self, problem: "Problem", sizes: Sequence[Size], settings: Mapping[str, Any]
    ) -> list[Any]:
        """Return the readouts, which are solved for together, each from the last."""
        from sparsetoken.models.readout_theory import ReadoutTheory

        complete, curve = self.complete(settings), list[Any]()
        for size in sizes:
            alpha = None if size is None else one_size(self, size)
            curve.append(ReadoutTheory(self, problem, alpha, complete, curve))
        return curve

    def trial(
        self,
        problem: "Problem",
        size: Size,
        dim: int,
        settings: Mapping[str, Any],
        rng: "np.random.Generator",
    ) -> Any:
        """Draw a training set, train on it and judge the readout exactly."""
        from sparsetoken.models.readout_trial import ReadoutTrial

        return ReadoutTrial(self, problem, size, dim, self.complete(settings), rng)

    def draw_query(
        self,
        problem: "Problem",
        size: Size,
        dim: int,
        settings: dict[str, Any],
        rng: "np.random.Generator",
    ) -> Any:
        """Draw the query that is fixed before the readout is trained: a LearnedQuery, or None."""
        return None

    def draw_training(
        self,
        problem: "Problem",
        size: Size,
        dim: int,
        settings: dict[str, Any],
        rng: "np.random.Generator",
        query: Any,
    ) -> TrainingSet:
        """Draw a training set for the readout, seen through a query that is fixed."""
        raise NotImplementedError

    def judge(
        self,
        problem: "Problem",
        training: TrainingSet,
        settings: dict[str, Any],
        rng: "np.random.Generator",
    ) -> "Performance":
        """Return the performance of the trained readout on fresh samples."""
        raise NotImplementedError
