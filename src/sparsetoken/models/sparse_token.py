"""The default classifier: theory is the optimum with what a finite sample costs it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparsetoken.models.base import Draw, Look, Model, Size
from sparsetoken.vocabulary import COLORS

if TYPE_CHECKING:
    from sparsetoken.problem import Problem


class SparseToken(Model):
    """:class:`~sparsetoken.SparseTokenClassifier`, which nobody has to set.

    Its theory is not exact: the optimum, made worse by a law that a benchmark established
    (:class:`~sparsetoken.models.predictions.NearOptimal`). A trial fits the classifier itself.
    """

    name = "sparse-token"
    look = Look("SparseTokenClassifier", "the default classifier for real data", COLORS[5], "*")
    settings = ("n_points",)
    predicted = simulated = frozenset({"test_error", "auc", "recall"})
    basis = (
        "the theory of optimal learning, made worse by an empirical law for this classifier, which "
        "was within 12 % (one standard deviation) on random problems"
    )

    def classifier(self, settings: Mapping[str, Any]) -> Any:
        """Return a SparseTokenClassifier."""
        from sparsetoken.estimators import SparseTokenClassifier

        return SparseTokenClassifier()

    def theory(
        self, problem: "Problem", sizes: Sequence[Size], settings: Mapping[str, Any]
    ) -> list[Any]:
        """Return what iteration from nothing reaches, and a little worse."""
        from sparsetoken.models.predictions import NearOptimal

        complete = self.complete(settings)
        return [NearOptimal(problem, size, complete) for size in sizes]

    def train(self, draw: Draw) -> Any:
        """Fit the classifier to drawn sequences."""
        from sparsetoken.models.trials import ClassifierTrial

        return ClassifierTrial(draw, self.classifier({}).set_params(random_state=0))
