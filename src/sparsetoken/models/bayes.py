"""The best classifier that knows the signal: nothing is trained."""

from functools import cached_property
from typing import Any

from sparsetoken.estimate import Estimate
from sparsetoken.models.base import Model, Settings, Size, measured
from sparsetoken.problem import Problem


class BayesRule(Model):
    """The likelihood ratio with the signal known."""

    name = "bayes"
    settings = ("n_points",)
    predicted = measured("oracle")

    def predict(self, problem: Problem, sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the least error, or the signal that it needs, whatever the samples."""
        return [OracleTheory(problem, self.name, settings)] * len(sizes)


class OracleTheory:
    """The best weights of an architecture, chosen with the signal known: nothing is trained."""

    def __init__(self, problem: Problem, architecture: str, settings: Settings) -> None:
        self.problem, self.architecture, self.settings = problem, architecture, settings
        self.points = {name: settings[name] for name in ("n_points",) if name in settings}

    @cached_property
    def oracle_error(self) -> Estimate:
        """Error of the best weights."""
        from sparsetoken.theory import oracle_error

        return oracle_error(self.problem, self.architecture, **self.points)

    def required_signal(self, error: float) -> Estimate:
        """Return the signal at which the best weights reach an error."""
        from sparsetoken.theory import required_signal

        return required_signal(self.problem, self.architecture, error=error, **self.points)
