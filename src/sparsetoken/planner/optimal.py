"""The best that any learner can do, as something to plan for and as a floor under every plan."""

import math
from typing import Any

from scipy.optimize import brentq

from sparsetoken.estimate import Estimate
from sparsetoken.estimators import BayesAttentionClassifier
from sparsetoken.planner.architectures import Architecture, Choice
from sparsetoken.planner.metric import Metric
from sparsetoken.planner.request import Case
from sparsetoken.population import AnyProblem
from sparsetoken.theory import optimal
from sparsetoken.theory.optimal_solution import LearningSolution

_ENDS = 1e-9, 1e9  # samples per dimension
_POINTS = 1024  # where several tokens carry the signal: a table of more takes long to make


class OptimalLearner(Architecture):
    """The posterior iteration from nothing: the best learner that is quick; nothing is chosen.

    Its limit is within a few per cent of finite sizes from twenty samples on.
    """

    name, oracle, label = "optimal", "bayes", "the best learner"
    classifier, has_sampler = BayesAttentionClassifier, False
    basis = (
        "The expectation is that of the theory of optimal learning, in the limit of many "
        "dimensions, with strength and number of the signal tokens known to the learner."
    )

    def first_choice(self, case: Case) -> Choice:
        """Return the only choice."""
        return Choice("", 0.0)

    def improve(self, case: Case, choice: Choice) -> Choice:
        """Return the only choice."""
        return choice

    def limit(self, case: Case, choice: Choice) -> LearningSolution:
        """Return what the iteration reaches."""
        return optimal(case.problem, case.alpha, n_points=_POINTS).from_nothing

    def settings(self, case: Case, choice: Choice) -> dict[str, Any]:
        """Return nothing: the classifier estimates what it needs."""
        return {}

    def expected(self, case: Case, choice: Choice) -> Estimate:
        """Return the limit."""
        return case.metric.shortfall(self.limit(case, choice))

    def search_value(self, case: Case, choice: Choice) -> float:
        """Return the log of the limit."""
        return math.log(max(self.expected(case, choice), 1e-300))


OPTIMAL = OptimalLearner()


def least_shortfall(case: Case) -> Estimate:
    """Return the least shortfall of any learner with these samples, quick or not."""
    return case.metric.shortfall(optimal(case.problem, case.alpha, n_points=_POINTS))


def least_alpha(
    problem: AnyProblem, metric: Metric, shortfall: float, ends: tuple[float, float] = _ENDS
) -> float:
    """Return the samples per dimension below which no learner reaches the shortfall.

    It is infinite if the upper end does not suffice, and zero if the lower end does.
    """

    def excess(log_alpha: float) -> float:
        return metric.shortfall(optimal(problem, math.exp(log_alpha), n_points=_POINTS)) - shortfall

    low, high = map(math.log, ends)
    if excess(low) <= 0.0:
        return 0.0
    return math.inf if excess(high) > 0.0 else math.exp(brentq(excess, low, high, xtol=1e-6))
