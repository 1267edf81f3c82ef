"""The best classifier that knows the signal: nothing is trained."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparsetoken.models.base import Look, Model, Size, measured
from sparsetoken.vocabulary import COLORS

if TYPE_CHECKING:
    from sparsetoken.problem import Problem


class BayesRule(Model):
    """The likelihood ratio with the signal known."""

    name = "bayes"
    look = Look("Bayes", "the best classifier that knows the signal", COLORS[6], "X")
    settings = ("n_points",)
    predicted = measured("oracle")

    def theory(
        self, problem: "Problem", sizes: Sequence[Size], settings: Mapping[str, Any]
    ) -> list[Any]:
        """Return the least error, or the signal that it needs, whatever the samples."""
        from sparsetoken.models.predictions import OracleTheory

        return [OracleTheory(problem, self.name, self.complete(settings))] * len(sizes)
