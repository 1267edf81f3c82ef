"""The default classifier: theory is the optimum with what a finite sample costs it."""

from typing import Any

from sparsetoken._types import Bools, Floats
from sparsetoken.estimators import SparseTokenClassifier
from sparsetoken.models.base import Draw, Model, Settings, Size, StudySize, one_size
from sparsetoken.models.optimal import FreshSamples
from sparsetoken.models.readout import check_classes
from sparsetoken.problem import Problem

_DENSE_NUMBERS = 10_000_000  # drawn to judge a fitted classifier, within these numbers of samples
_LEAST_DENSE, _MOST_DENSE = 500, 4_000


class SparseToken(Model):
    """:class:`~sparsetoken.SparseTokenClassifier`, which nobody has to set.

    Its theory is not exact: the optimum, made worse by a law that a benchmark established
    (:class:`~sparsetoken.models.predictions.NearOptimal`). A trial fits the classifier itself.
    """

    name = "sparse-token"
    settings = ("n_points",)
    predicted = simulated = frozenset({"test_error", "auc", "recall"})
    estimator = "SparseTokenClassifier"
    basis = (
        "the theory of optimal learning, made worse by an empirical law for this classifier, which "
        "was within 10 % (one standard deviation) on random problems"
    )

    def outcomes(self, study: StudySize, choice: dict[str, Any], n_points: int) -> list[Any]:
        """Return the theory at a finite number of samples."""
        from sparsetoken.models.predictions import NearOptimal

        return [NearOptimal(study.problem, study.alpha, {}, study.n_samples)]

    def predict(self, problem: Problem, sizes: list[Size], settings: Settings) -> list[Any]:
        """Return what iteration from nothing reaches, and a little worse."""
        from sparsetoken.models.predictions import NearOptimal

        return [NearOptimal(problem, one_size(size), settings) for size in sizes]

    def train(self, draw: Draw) -> Any:
        """Fit the classifier to drawn sequences; judge it on fresh ones of the same direction."""
        problem, dim, rng = draw.problem, draw.dim, draw.rng
        X, y, truth = problem.sample(draw.n_samples, dim, random_state=rng, return_truth=True)
        check_classes(2.0 * y - 1.0)
        fitted = SparseTokenClassifier(random_state=0).fit(X, y)

        def judge() -> tuple[Floats, Bools]:
            affordable = _DENSE_NUMBERS // (max(problem.lengths) * dim)
            n_samples = min(max(affordable, _LEAST_DENSE), _MOST_DENSE)
            X, y = problem.sample(n_samples, dim, random_state=rng, direction=truth.directions)
            return fitted.decision_function(X), y == 1

        return FreshSamples(judge)
