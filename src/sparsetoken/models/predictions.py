"""What the theory says about each model; every number is computed when it is first asked for.

Models import this where they predict: their trials do without the theory.
"""

import math
from functools import cached_property
from typing import Any

from sparsetoken.estimate import Estimate
from sparsetoken.models.base import QUERY, TWO_STEPS, Size, one_size
from sparsetoken.problem import Problem
from sparsetoken.theory import (
    JointRisk,
    LearningThresholds,
    Risk,
    Training,
    alignment,
    capacity,
    joint_risk,
    learning_thresholds,
    optimal,
    oracle_error,
    required_signal,
    training,
)
from sparsetoken.theory.features import get_model
from sparsetoken.theory.readout.risk import solve_along

# What a finite sample costs the default classifier: fitted to 82 random problems with 20 to 400
# dimensions, 2 to 200 tokens and 20 to 2,000 samples (``python -m benchmarks.plan_truth law``).
_BY_SAMPLE, _BY_TOKEN = 4.3, 0.095
_MISFIT = 0.1  # how far the law was off there, as a fraction: the error bar


class OracleTheory:
    """The best weights of an architecture, chosen with the signal known: nothing is trained."""

    def __init__(self, problem: Problem, architecture: str, settings: dict[str, Any]) -> None:
        self.problem, self.architecture = problem, architecture
        self.points = {name: settings[name] for name in ("n_points",) if name in settings}

    @cached_property
    def oracle_error(self) -> Estimate:
        """Error of the best weights."""
        return oracle_error(self.problem, self.architecture, **self.points)

    def required_signal(self, error: float) -> Estimate:
        """Return the signal at which the best weights reach an error."""
        return required_signal(self.problem, self.architecture, error=error, **self.points)


class ReadoutTheory(OracleTheory):
    """A trained readout; each number is computed when it is first asked for.

    All that :class:`~sparsetoken.theory.Risk` has can be asked for: ``test_error``, ``recall(fpr)``
    and so on.
    """

    def __init__(
        self,
        model: Any,
        problem: Problem,
        alpha: float | None,
        settings: dict[str, Any],
        curve: list[Any],
    ) -> None:
        super().__init__(problem, model.architecture, settings)
        self.alpha, self.settings, self.curve = alpha, settings, curve

    @property
    def query_arguments(self) -> dict[str, Any]:
        """Cosine and sharpness of the query, and the points, as arguments of the theory."""
        query = {n: self.settings[n] for n in ("cosine", "sharpness") if n in self.settings}
        return query | self.points

    @cached_property
    def risk(self) -> Risk:
        """The solved readout. Those of the curve with many samples come first: half the work."""
        unknown = [one for one in self.curve if one.alpha is None]
        if unknown:
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
        return getattr(self.risk, name)


class TwoStepTheory(ReadoutTheory):
    """A readout of attention whose query two gradient steps teach, from ``alpha0`` samples.

    ``cosine``, ``sharpness``, ``query_norm``, ``bias`` and the other numbers of
    :class:`~sparsetoken.theory.Alignment` are those after the two steps; the trained readout's are
    in ``risk``.
    """

    def __init__(self, *arguments: Any, alpha0: float | None) -> None:
        super().__init__(*arguments)
        self.alpha0 = alpha0

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
        return {"cosine": self.query.cosine, "sharpness": self.query.sharpness} | self.points

    def __getattr__(self, name: str) -> Any:
        if name in QUERY:
            return getattr(self.query, name)
        return super().__getattr__(name)


class OptimalTheory(OracleTheory):
    """The best learner, or what is reached from a given start; its thresholds.

    All that :class:`~sparsetoken.theory.Optimal` has can be asked for.
    """

    def __init__(self, problem: Problem, size: Size, settings: dict[str, Any]) -> None:
        super().__init__(problem, "bayes", settings)
        self.size, self.settings = size, settings

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


class NearOptimal(OracleTheory):
    """The default classifier: the optimum, and what it costs to learn scales and thresholds too.

    Where the optimum, as far as iteration from nothing reaches it, has the error e, the classifier
    has e^(1 − k/n − c/(αL)): αL is the number of training tokens per dimension.
    """

    def __init__(
        self, problem: Problem, size: Size, settings: dict[str, Any], n_samples: float = math.inf
    ) -> None:
        super().__init__(problem, "bayes", settings)
        self.alpha, self.n_samples = one_size(size), n_samples

    @cached_property
    def _reached(self) -> Any:
        return optimal(self.problem, self.alpha, **self.points).from_nothing

    @property
    def test_error(self) -> Estimate:
        """Fraction of fresh sequences labelled wrongly."""
        rate = self.problem.positive_rate
        return self._error(self._reached.test_error, min(rate, 1.0 - rate))

    @property
    def auc(self) -> Estimate:
        """Fraction of pairs in the right order."""
        error = self._error(1.0 - self._reached.auc, 0.5)
        return Estimate(1.0 - error, error.uncertainty)

    def recall(self, fpr: float) -> Estimate:
        """Return the fraction of the positives above the threshold that ``fpr`` sets."""
        error = self._error(1.0 - self._reached.recall(fpr), 1.0 - fpr)
        return Estimate(1.0 - error, error.uncertainty)

    def _error(self, reached: float, chance: float) -> Estimate:
        """Return the classifier's error, given the optimum."""
        groups = self.problem.groups
        length = math.fsum(group.probability * group.kind.n_tokens for group in groups)
        cost = _BY_SAMPLE / self.n_samples + _BY_TOKEN / (self.alpha * length)
        error = min(reached ** max(1.0 - cost, 0.0), max(chance, reached))
        return Estimate(error, _MISFIT * error)


class AllTrained:
    """What a theory of training all parameters together says; a subclass has the numbers."""

    query_norm: Estimate

    def __init__(self, problem: Problem, alpha: float, settings: dict[str, Any]) -> None:
        self.problem, self.alpha, self.settings = problem, alpha, settings

    @property
    def sharpness(self) -> Estimate:
        """Sharpness β‖q‖ of the attention."""
        beta, norm = self.settings["beta"], self.query_norm
        return Estimate(beta * norm, beta * norm.uncertainty, norm.converged)


class LastStep(AllTrained):
    """The state after the last step of a training, each number an Estimate."""

    @cached_property
    def path(self) -> Training:
        """The whole training."""
        path = training(self.problem, alpha=self.alpha, **self.settings)
        if path.diverged_at is not None:
            raise ArithmeticError(f"the training runs away in step {path.diverged_at}")
        return path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.path.errors:
            raise AttributeError(name)
        value, bar = getattr(self.path, name)[-1], self.path.errors[name][-1]
        return Estimate(value, bar, self.path.converged)


class Minimum(AllTrained):
    """The joint minimum; all that :class:`~sparsetoken.theory.JointRisk` has."""

    @cached_property
    def risk(self) -> JointRisk:
        """The solution."""
        names = [name for name in ("loss", "beta", "n_points") if name in self.settings]
        arguments = {name: self.settings[name] for name in names}
        ridges = dict.fromkeys(("reg_query", "reg_readout"), self.settings["reg"])
        return joint_risk(self.problem, alpha=self.alpha, **ridges, **arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self.risk, name)
        return Estimate(value, getattr(value, "uncertainty", 0.0), self.risk.stable)
