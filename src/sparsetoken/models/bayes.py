"""The best classifier that knows the signal: nothing is trained."""

from typing import Any

from sparsetoken.models.base import Model, Settings, Size, measured
from sparsetoken.problem import Problem


class BayesRule(Model):
    """The likelihood ratio with the signal known."""

    name = "bayes"
    settings = ("n_points",)
    predicted = measured("oracle")

    def predict(self, problem: Problem, sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the least error, or the signal that it needs, whatever the samples."""
        from sparsetoken.models.predictions import OracleTheory

        return [OracleTheory(problem, self.name, settings)] * len(sizes)
