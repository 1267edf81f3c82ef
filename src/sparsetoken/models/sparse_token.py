"""The default classifier: theory is the optimum with what a finite sample costs it."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from sparsetoken._types import Bools, Floats
from sparsetoken.estimators import SparseTokenClassifier
from sparsetoken.models.base import Draw, Model, OneClassError, Settings, Size, StudySize
from sparsetoken.models.optimal import FreshSamples
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
    basis = (
        "the theory of optimal learning, made worse by an empirical law for this classifier, which "
        "was within 10 % (one standard deviation) on random problems"
    )

    def outcomes(self, study: StudySize, choice: dict[str, Any], n_points: int) -> list[Any]:
        """Return the theory at a finite number of samples."""
        from sparsetoken.models.predictions import NearOptimal

        return [NearOptimal(study.problem, study.alpha, {}, study.n_samples)]

    def classifier(self, settings: Mapping[str, Any]) -> Any:
        """Return a SparseTokenClassifier."""
        return SparseTokenClassifier()

    def predict(self, problem: Problem, sizes: list[Size], settings: Settings) -> list[Any]:
        """Return what iteration from nothing reaches, and a little worse."""
        from sparsetoken.models.predictions import NearOptimal

        return [NearOptimal(problem, size, settings) for size in sizes]

    def train(self, draw: Draw) -> Any:
        """Fit the classifier to drawn sequences."""
        return ClassifierTrial(draw, SparseTokenClassifier(random_state=0))


class ClassifierTrial(FreshSamples):
    """A classifier fitted to drawn sequences, judged on fresh ones of the same direction."""

    def __init__(self, draw: Draw, classifier: Any) -> None:
        self.draw = draw
        X, y, truth = draw.problem.sample(
            draw.n_samples, draw.dim, random_state=draw.rng, return_truth=True
        )
        if np.unique(y).size < 2:
            raise OneClassError(f"a trial drew only one class among {len(y)} training samples")
        self.directions, self.fitted = truth.directions, classifier.fit(X, y)

    @cached_property
    def judged(self) -> tuple[Floats, Bools]:
        """Scores of fresh sequences, and whether they are positive."""
        numbers = max(self.draw.problem.lengths) * self.draw.dim
        n_samples = min(max(_DENSE_NUMBERS // numbers, _LEAST_DENSE), _MOST_DENSE)
        X, y = self.draw.problem.sample(
            n_samples, self.draw.dim, random_state=self.draw.rng, direction=self.directions
        )
        return self.fitted.decision_function(X), y == 1
