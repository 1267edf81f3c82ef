"""A readout of the mean token."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sparsetoken.models.base import Look, Size, TrainingSet, count_samples, one_size
from sparsetoken.models.readout import ReadoutModel
from sparsetoken.vocabulary import COLORS

if TYPE_CHECKING:
    import numpy as np

    from sparsetoken.performance import Performance
    from sparsetoken.problem import Problem


class Pooled(ReadoutModel):
    """A linear readout of the mean token."""

    name = "pooled"
    look = Look("pooled", "a linear readout of the mean token", COLORS[1], "s")

    def classifier(self, settings: Mapping[str, Any]) -> Any:
        """Return a PooledClassifier."""
        from sparsetoken.estimators import PooledClassifier

        return PooledClassifier(**self.complete(settings))

    def draw_training(
        self,
        problem: "Problem",
        size: Size,
        dim: int,
        settings: dict[str, Any],
        rng: "np.random.Generator",
        query: Any,
    ) -> TrainingSet:
        """Draw mean tokens; every direction of the signal is as good as another."""
        import numpy as np

        from sparsetoken.pooling import Mean
        from sparsetoken.sampling import sample_features

        n_samples = count_samples(one_size(self, size), dim)
        zero, direction = np.zeros(dim), np.eye(1, dim)[0]
        features, y = sample_features(
            problem, n_samples, zero, direction, pooling=Mean(), random_state=rng
        )
        return TrainingSet(features, 2.0 * y - 1.0, direction)

    def judge(
        self,
        problem: "Problem",
        training: TrainingSet,
        settings: dict[str, Any],
        rng: "np.random.Generator",
    ) -> "Performance":
        """Return the readout's performance: its scores are Gaussian."""
        from sparsetoken.sampling import pooled_performance

        coef, intercept = training.readout
        return pooled_performance(
            problem, coef, intercept, training.direction, loss=settings["loss"]
        )
