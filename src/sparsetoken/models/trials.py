"""What was trained on one drawn data set, and what it does on fresh samples.

Every number is computed when it is first asked for.
"""

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from sparsetoken._types import Bools, Floats
from sparsetoken.estimators.readout import LinearReadout, fit_readout
from sparsetoken.losses import Hinge, get_loss
from sparsetoken.models.base import QUERY, Draw, OneClassError, TrainingSet
from sparsetoken.models.descent import descend
from sparsetoken.performance import Performance
from sparsetoken.pooling import Pooling, Softmax
from sparsetoken.sampling import (
    LearnedQuery,
    exact_performance,
    sample_feature_law,
    sample_posterior_mean,
)

# The hinge loss with a ridge that matters only to separators as long as √(2/(n·ridge)).
_SEPARATING_RIDGE = 1e-9
_TOKENS = 600_000  # drawn to judge one readout, within these numbers of points
_LEAST_POINTS, _MOST_POINTS = 2_048, 16_384
_LEARNER_TOKENS = 2_000_000  # drawn to judge the best learner, within these numbers of samples
_LEAST_SAMPLES, _MOST_SAMPLES = 4_000, 100_000
_DENSE_NUMBERS, _LEAST_DENSE = 10_000_000, 500  # drawn to judge a fitted classifier


class ReadoutTrial:
    """A readout trained on one drawn data set; each number is computed when first asked for.

    All that :class:`~sparsetoken.theory.Performance` has can be asked for: ``test_error``,
    ``recall(fpr)`` and so on; and with a query, what a LearnedQuery has: ``cosine``, ``bias``, ...

    Parameters
    ----------
    model : ReadoutModel
        The model.
    draw : Draw
        What it is drawn from.
    """

    def __init__(self, model: Any, draw: Draw) -> None:
        self.model, self.draw = model, draw

    @cached_property
    def training(self) -> TrainingSet:
        """The training set, once its readout is trained."""
        drawn = self._drawn
        drawn.check_classes()
        if drawn.readout is not None:
            return drawn
        loss = get_loss(self.draw.settings["loss"])
        readout = fit_readout(drawn.features, drawn.sign, self.draw.settings["reg"], loss)
        return drawn._replace(readout=readout)

    @cached_property
    def _drawn(self) -> TrainingSet:
        drawn: TrainingSet = self.model.draw_training(self.draw, self._given_query)
        return drawn

    @cached_property
    def _given_query(self) -> Any:
        return self.model.draw_query(self.draw)

    @property
    def query(self) -> Any:
        """The query, a LearnedQuery, which may be learned before the readout or with it."""
        return self._given_query or self._drawn.query

    @cached_property
    def _margins(self) -> Any:
        return self.training.margins(self.training.readout)

    @property
    def train_loss(self) -> float:
        """Mean loss of the training samples."""
        return float(np.mean(get_loss(self.draw.settings["loss"]).value(self._margins, 1.0)))

    @property
    def train_error(self) -> float:
        """Fraction of training samples labelled wrongly."""
        return float(np.mean(self._margins < 0.0))

    @cached_property
    def separable(self) -> float:
        """Whether some readout has no training error.

        The margins decide, so it does not matter whether the separator found is the shortest.
        """
        drawn = self._drawn
        drawn.check_classes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            separator = fit_readout(drawn.features, drawn.sign, _SEPARATING_RIDGE, Hinge())
        return float((drawn.margins(separator) > 0.0).all())

    @cached_property
    def performance(self) -> Performance:
        """What the readout does on fresh samples."""
        judged: Performance = self.model.judge(self.draw, self.training)
        return judged

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.query if name in QUERY else self.performance, name)


class Descent:
    """What gradient descent on dense tokens learned, tested as any attention is tested."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        steps = {name: value for name, value in draw.settings.items() if name != "n_points"}
        steps["loss"] = get_loss(steps["loss"])
        *_, (self.query, self.train_loss) = descend(
            draw.problem, draw.n_samples, draw.dim, rng=draw.rng, **steps
        )

    @cached_property
    def performance(self) -> Performance:
        """What query and readout do on fresh samples."""
        readout = LinearReadout(self.query.readout, self.query.bias)
        return judge_attention(self.draw, self.query, readout, Softmax())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.query if name in QUERY else self.performance, name)


class OptimalTrial:
    """What message passing learned, judged on freshly drawn sequences."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.learned = sample_posterior_mean(
            draw.problem,
            draw.n_samples,
            draw.dim,
            n_unlabelled=round(draw.settings["unlabelled"] * draw.dim),
            start=draw.settings.get("start", "nothing"),
            random_state=draw.rng,
        )

    @property
    def cosine(self) -> float:
        """Cosine between what is learned and the signal."""
        return self.learned.cosine

    @cached_property
    def _judged(self) -> tuple[Floats, Bools]:
        """Probabilities of fresh sequences to be positive, and whether they are."""
        n_samples = _LEARNER_TOKENS // max(self.draw.problem.lengths)
        n_samples = min(max(n_samples, _LEAST_SAMPLES), _MOST_SAMPLES)
        return self.learned.judge(n_samples, self.draw.rng)

    @property
    def test_error(self) -> float:
        """Fraction of fresh sequences labelled wrongly."""
        chances, labels = self._judged
        return float(np.mean((chances > 0.5) != labels))

    @property
    def auc(self) -> float:
        """Fraction of pairs in the right order."""
        chances, labels = self._judged
        return float(roc_auc_score(labels, chances))

    def recall(self, fpr: float) -> float:
        """Return the fraction of the positives above the threshold that ``fpr`` sets."""
        chances, labels = self._judged
        threshold = np.quantile(chances[~labels], 1.0 - fpr)
        return float(np.mean(chances[labels] > threshold))


class ClassifierTrial:
    """A classifier fitted to drawn sequences, judged on fresh ones of the same direction."""

    def __init__(self, draw: Draw, classifier: Any) -> None:
        self.draw = draw
        X, y, truth = draw.problem.sample(
            draw.n_samples, draw.dim, random_state=draw.rng, return_truth=True
        )
        if np.unique(y).size < 2:
            raise OneClassError(f"a trial drew only one class among {len(y)} training samples")
        self.direction, self.fitted = truth.direction, classifier.fit(X, y)

    @cached_property
    def _judged(self) -> tuple[Floats, Bools]:
        """Scores of fresh sequences, and whether they are positive."""
        numbers = max(self.draw.problem.lengths) * self.draw.dim
        n_samples = min(max(_DENSE_NUMBERS // numbers, _LEAST_DENSE), _LEAST_SAMPLES)
        X, y = self.draw.problem.sample(
            n_samples, self.draw.dim, random_state=self.draw.rng, direction=self.direction
        )
        return self.fitted.decision_function(X), y == 1

    @property
    def test_error(self) -> float:
        """Fraction of fresh sequences labelled wrongly."""
        scores, labels = self._judged
        return float(np.mean((scores > 0.0) != labels))

    @property
    def auc(self) -> float:
        """Fraction of pairs in the right order."""
        scores, labels = self._judged
        return float(roc_auc_score(labels, scores))

    def recall(self, fpr: float) -> float:
        """Return the fraction of the positives above the threshold that ``fpr`` sets."""
        scores, labels = self._judged
        return float(np.mean(scores[labels] > np.quantile(scores[~labels], 1.0 - fpr)))


def judge_attention(
    draw: Draw, query: LearnedQuery, readout: LinearReadout, pooling: Pooling
) -> Performance:
    """Return the performance of query and readout on freshly drawn points of their law."""
    problem = draw.problem
    affordable = _TOKENS // max(problem.lengths) // len(problem.kinds)
    n_points = draw.settings.get("n_points", min(max(affordable, _LEAST_POINTS), _MOST_POINTS))
    law = sample_feature_law(
        problem,
        n_points,
        cosine=query.cosine,
        sharpness=query.sharpness,
        pooling=pooling,
        random_state=draw.rng,
    )
    loss = draw.settings["loss"]
    return exact_performance(law, *readout, query.query, query.direction, loss=loss)
