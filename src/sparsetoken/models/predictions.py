"""What the theory says about each model; every number is computed when it is first asked for.

Models import this where they predict: their trials do without the theory.
"""

import math
from functools import cached_property
from typing import Any

from sparsetoken.estimate import Estimate
from sparsetoken.models.base import QUERY, TWO_STEPS, Settings, Size, one_size, shares
from sparsetoken.problem import Problem
from sparsetoken.theory import (
    LearningThresholds,
    Risk,
    alignment,
    capacity,
    learning_thresholds,
    optimal,
    oracle_error,
    required_signal,
)
from sparsetoken.theory.features import get_model
from sparsetoken.theory.readout.risk import solve_along

# What a finite sample costs the default classifier: fitted to 82 random problems with 20 to 400
# dimensions, 2 to 200 tokens and 20 to 2,000 samples (``python -m benchmarks.plan_truth law``).
_BY_SAMPLE, _BY_TOKEN = 4.3, 0.095
# How far the law is off, as parts of the error and of what it adds to the logarithm of the optimum:
# chosen on 64 other problems with fewer than 4 tokens a dimension, where it is off most.
_MISFIT, _MISFIT_OF_COST = 0.1, 0.35


class OracleTheory:
    """The best weights of an architecture, chosen with the signal known: nothing is trained."""

    def __init__(self, problem: Problem, architecture: str, settings: Settings) -> None:
        self.problem, self.architecture, self.settings = problem, architecture, settings
        self.points = {name: settings[name] for name in ("n_points",) if name in settings}

    @cached_property
    def oracle_error(self) -> Estimate:
        """Error of the best weights."""
        return oracle_error(self.problem, self.architecture, **self.points)

    def required_signal(self, error: float) -> Estimate:
        """Return the signal at which the best weights reach an error."""
        return required_signal(self.problem, self.architecture, error=error, **self.points)


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
        self.alpha0, self.alpha = shares(size, settings)

    @cached_property
    def query(self) -> Any:
        """What the two steps teach."""
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
    def risk(self) -> Risk:
        """The solved readout. Those of the curve with many samples come first: half the work."""
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
        return capacity(self.problem, self.architecture, **self.query_arguments)

    @property
    def separable(self) -> Estimate:
        """Whether these samples can be separated perfectly."""
        return Estimate((self.alpha or 0.0) < self.capacity, 0.0, self.capacity.converged)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.query if self.learns_query and name in QUERY else self.risk, name)


class OptimalTheory(OracleTheory):
    """The best learner, or what is reached from a given start; its thresholds.

    All that :class:`~sparsetoken.theory.Optimal` has can be asked for.
    """

    def __init__(self, problem: Problem, size: Size, settings: Settings) -> None:
        super().__init__(problem, "bayes", settings)
        self.size = size

    @cached_property
    def learned(self) -> Any:
        """The optimum, or what is reached from the given start."""
        unlabelled = self.settings["unlabelled"]
        best = optimal(self.problem, one_size(self.size), unlabelled, **self.points)
        starts = {"nothing": best.from_nothing, "informed": best.informed}
        return starts.get(self.settings.get("start", ""), best)

    @cached_property
    def thresholds(self) -> LearningThresholds:
        """Samples per dimension from which the direction can be known, and found."""
        return learning_thresholds(self.problem, **self.points)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name.endswith("_threshold"):
            return getattr(self.thresholds, name.removesuffix("_threshold"))
        return getattr(self.learned, name)


class NearOptimal:
    """The default classifier: the optimum, and what it costs to learn scales and thresholds too.

    Where the optimum, as far as iteration from nothing reaches it, has the error e, the classifier
    has e^(1 − k/n − c/(αL)): αL is the number of training tokens per dimension.
    """

    def __init__(
        self, problem: Problem, alpha: float, settings: Settings, n_samples: float = math.inf
    ) -> None:
        self.problem = problem
        self.reached = optimal(problem, alpha, **settings).from_nothing
        groups = problem.groups
        length = math.fsum(group.probability * group.kind.n_tokens for group in groups)
        cost = _BY_SAMPLE / n_samples + _BY_TOKEN / (alpha * length)
        self.power = max(1.0 - cost, 0.0)

    @property
    def test_error(self) -> Estimate:
        """Fraction of fresh sequences labelled wrongly."""
        rate = self.problem.positive_rate
        return self._error(self.reached.test_error, min(rate, 1.0 - rate))

    @property
    def auc(self) -> Estimate:
        """Fraction of pairs in the right order."""
        error = self._error(1.0 - self.reached.auc, 0.5)
        return Estimate(1.0 - error, error.uncertainty)

    def recall(self, fpr: float) -> Estimate:
        """Return the fraction of the positives above the threshold that ``fpr`` sets."""
        error = self._error(1.0 - self.reached.recall(fpr), 1.0 - fpr)
        return Estimate(1.0 - error, error.uncertainty)

    def _error(self, reached: float, chance: float) -> Estimate:
        """Return the classifier's error, given that of the optimum."""
        error = min(reached**self.power, max(chance, reached))
        added = math.log(error / reached) if reached > 0 else 0.0
        return Estimate(error, error * math.hypot(_MISFIT, _MISFIT_OF_COST * added))
