"""The best classifier that knows the signal: nothing is trained."""

from typing import TYPE_CHECKING, Any

from sparsetoken.models.base import Look, Model, Settings, Size, measured
from sparsetoken.vocabulary import COLORS

if TYPE_CHECKING:
    from sparsetoken.problem import Problem


class BayesRule(Model):
    """The likelihood ratio with the signal known."""

    name = "bayes"
    look = Look("Bayes", "the best classifier that knows the signal", COLORS[6], "X")
    settings = ("n_points",)
    predicted = measured("oracle")

    def predict(self, problem: "Problem", sizes: list[Size], settings: Settings) -> list[Any]:
        """Return the least error, or the signal that it needs, whatever the samples."""
        from sparsetoken.models.predictions import OracleTheory

        return [OracleTheory(problem, self.name, settings)] * len(sizes)
