"""What may be chosen for each architecture, and the best choice.

The theory predicts the performance of a choice in the high-dimensional limit; averaging over the
fluctuations of a finite sample gives what to expect. The best choice has the best expectation. It
is searched on a few points of the feature law, always the same, so that the search sees no noise.
The limit alone would choose badly: a strong ridge would shrink the scores until they drown in the
noise of the bias.
"""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit

from sparsetoken.estimate import ConvergenceWarning, Estimate
from sparsetoken.estimators import (
    BayesAttentionClassifier,
    PooledClassifier,
    TwoStepAttentionClassifier,
    VectorizedClassifier,
)
from sparsetoken.models import look
from sparsetoken.planner.expectation import (
    Progress,
    cosine_quantiles,
    drawn_error,
    expected_error,
    is_drawn,
)
from sparsetoken.planner.request import Case
from sparsetoken.problem import Problem
from sparsetoken.theory import Alignment, Risk, alignment, best_bias_rate, optimal, risk
from sparsetoken.theory.features import DEFAULT_POINTS, get_model
from sparsetoken.theory.learning.optimal import LearningSolution
from sparsetoken.theory.readout.risk import solve_along
from sparsetoken.theory.two_steps import possible_rates

_SEARCH_POINTS = 512
_ACCURATE_POINTS = 8192
_REGS = (1e-5, 10.0)
"""Ridges considered, in units of a feature's variance. For the error the best is below 1, or the
noise of the bias decides; an AUC may want more, but gains nothing beyond."""
_SPLITS = (0.02, 0.98)
_SHARPNESSES = (0.02, 30.0)
_LR_READOUT = 0.1  # small steps are never worse: lr_query sets the size of the query
_UNSOLVED = 10.0  # log of a error, for a solver that failed: worse than any other


class Choice(NamedTuple):
    """What is free. Query fraction and sharpness concern the two-step protocol only."""

    loss: str
    reg: float
    split: float = 0.0
    sharpness: float = 0.0


class Architecture:
    """An architecture to plan for: its free choices, its prediction and its classifier."""

    name: str
    oracle: str
    """Its name where the theory knows the best weights."""
    classifier: Any
    """The class of the estimator."""
    has_sampler = True
    """Whether its training on few samples can be run by the exact reduced samplers."""
    basis = (
        "The expectation is that of the high-dimensional theory, with the leading fluctuations of "
        "a finite sample averaged in."
    )
    """What an expectation that is not drawn rests on."""

    @property
    def label(self) -> str:
        """What it is called in a sentence."""
        return look(self.name).label

    def supports(self, problem: Problem) -> bool:
        """Whether it can be trained on such sequences; a vectorized model needs one length."""
        return self.name != "vectorized" or len(problem.lengths) == 1

    def first_choice(self, case: Case) -> Choice:
        """Return a good choice from scratch; the only one where nothing is free."""
        return Choice("", 0.0)

    def improve(self, case: Case, choice: Choice) -> Choice:
        """Return the best choice near ``choice``, of the same loss."""
        return choice

    def settings(self, case: Case, choice: Choice) -> dict[str, Any]:
        """Return the choice as arguments of the classifier."""
        return {}

    def limit(self, case: Case, choice: Choice) -> Risk | LearningSolution:
        """Return the performance in the limit of many dimensions."""
        raise NotImplementedError

    def outcomes(self, case: Case, choice: Choice, n_points: int) -> list[Any]:
        """Return the risk of each equally likely outcome of training; only the limit here."""
        return [self.limit(case, choice)]

    def expected(self, case: Case, choice: Choice) -> Estimate:
        """Return the expected error at this finite size, with its numerical error."""
        if self.has_sampler and is_drawn(case):
            return drawn_error(case, self.settings(case, choice))
        results = self.outcomes(case, choice, _ACCURATE_POINTS)
        # The results share their points, so their numerical errors do not average out.
        bars = [case.metric.error(result).uncertainty for result in results]
        return Estimate(self._average(results, case, choice), sum(bars) / len(bars))

    def search_value(self, case: Case, choice: Choice) -> float:
        """Return the log of the expected error on few points; large if not solved."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            results = self.outcomes(case, choice, _SEARCH_POINTS)
        if not all(result.converged for result in results):
            return _UNSOLVED
        return math.log(max(self._average(results, case, choice), 1e-300))

    def _average(self, results: list[Any], case: Case, choice: Choice) -> float:
        return expected_error(results, case.metric, (1.0 - choice.split) * case.n_samples)


class LinearModel(Architecture):
    """The pooled or the vectorized classifier: only the ridge is free.

    The loss is the logistic one, whose population minimizer is the optimal rule for the two
    Gaussian classes that a linear model sees; the square loss misplaces the bias of rare classes.
    """

    def __init__(self, name: str, classifier: Any) -> None:
        self.name = self.oracle = name
        self.classifier = classifier
        self.has_sampler = name == "pooled"

    def first_choice(self, case: Case) -> Choice:
        """Search the whole range of ridges, by steps of two decades first."""
        scale = self._feature_variance(case)
        grid = [Choice("logistic", scale * reg) for reg in np.geomspace(*_REGS, 4)]
        return self.improve(case, min(grid, key=lambda choice: self.search_value(case, choice)))

    def improve(self, case: Case, choice: Choice) -> Choice:
        """Search the ridge within a decade."""
        low, high = np.log(_REGS) + math.log(self._feature_variance(case))
        center = math.log(choice.reg)
        best = minimize_scalar(
            lambda x: self.search_value(case, choice._replace(reg=math.exp(x))),
            bounds=(max(low, center - 2.3), min(high, center + 2.3)),
            method="bounded",
            options={"xatol": 0.3},
        )
        return choice._replace(reg=math.exp(float(best.x)))

    def limit(self, case: Case, choice: Choice) -> Risk:
        """Return the exact prediction; it needs no points, and only the bias fluctuates."""
        return risk(case.problem, self.name, alpha=case.alpha, reg=choice.reg, loss=choice.loss)

    def settings(self, case: Case, choice: Choice) -> dict[str, Any]:
        """Return ridge and loss."""
        return {"reg": choice.reg, "loss": choice.loss}

    def _feature_variance(self, case: Case) -> float:
        if self.name == "vectorized":
            return 1.0
        return math.fsum(group.probability / group.kind.n_tokens for group in case.problem.groups)


class TwoStep(Architecture):
    """The two-step protocol: query fraction, sharpness, ridge, loss and learning rates are free.

    The bias's learning rate aligns the query best, the query's gives the chosen sharpness. The
    losses are the logistic and the square one.
    """

    name, oracle, classifier = "two-step", "attention", TwoStepAttentionClassifier

    def first_choice(self, case: Case) -> Choice:
        """Search a coarse grid with the loss that is cheap, then from its best with both."""
        grid = [
            Choice("square", reg, split, sharpness)
            for reg in (1e-3, 1e-1)
            for split in (0.35, 0.7)
            for sharpness in (0.3, 0.7, 1.5, 4.0)
        ]
        best = min(grid, key=lambda choice: self.search_value(case, choice))
        square = self.improve(case, best)
        logistic = self.improve(case, square._replace(loss="logistic"))
        return min(square, logistic, key=lambda choice: self.search_value(case, choice))

    def improve(self, case: Case, choice: Choice) -> Choice:
        """Search split, sharpness and ridge by a simplex on their logarithmic scales."""
        start = np.array([logit(choice.split), math.log(choice.sharpness), math.log(choice.reg)])
        bounds = np.array([logit(_SPLITS), np.log(_SHARPNESSES), np.log(_REGS)])
        start = np.clip(start, *bounds.T)
        steps = np.array([0.4, 0.3, 0.8])
        steps[start + steps > bounds[:, 1]] *= -1.0  # a simplex on its bound would be flat

        def decode(x: Any) -> Choice:
            return Choice(choice.loss, math.exp(x[2]), float(expit(x[0])), math.exp(x[1]))

        simplex = np.stack([start, *(start + np.diag(steps))])
        best = minimize(
            lambda x: self.search_value(case, decode(x)),
            start,
            method="Nelder-Mead",
            bounds=bounds,
            options={"initial_simplex": simplex, "maxfev": 36, "fatol": 2e-3, "xatol": 0.2},
        )
        return decode(best.x)

    def limit(self, case: Case, choice: Choice) -> Risk:
        """Return the prediction for the query that the two steps learn."""
        learned = _learned(case, choice, _best_rates(case, choice))
        return _readouts(case, choice, [learned.cosine], DEFAULT_POINTS)[0]

    def outcomes(self, case: Case, choice: Choice, n_points: int) -> list[Risk]:
        """Return the predictions for a query that is luckier and one that is less lucky."""
        rates = _best_rates(case, choice)
        learned = _learned(case, choice, rates)
        if math.isinf(case.n_samples):
            return _readouts(case, choice, [learned.cosine], n_points)
        sampled = possible_rates(case.problem.positive_rate, choice.split * case.n_samples)
        cases = [case._replace(problem=case.problem.with_rate(rate)) for rate in sampled]
        at_rates = [_learned(moved, choice, rates) for moved in cases]
        return _readouts(case, choice, cosine_quantiles(learned, at_rates, case.dim), n_points)

    def settings(self, case: Case, choice: Choice) -> dict[str, Any]:
        """Return the arguments of TwoStepAttentionClassifier."""
        rates = _best_rates(case, choice)
        unit = _learned(case, choice, rates).sharpness
        return {
            "split": choice.split,
            "beta": 1.0,
            **rates,
            # A single token leaves nothing to attend to: the query stays zero at any rate.
            "lr_query": choice.sharpness / unit if unit > 0 else 0.0,
            "reg": choice.reg,
            "loss": choice.loss,
        }


def _best_rates(case: Case, choice: Choice) -> dict[str, float]:
    """Return the rates of the first step: the bias's aligns the query best with the signal."""
    sizes = {"alpha": choice.split * case.alpha, "n_samples": choice.split * case.n_samples}
    rate = best_bias_rate(case.problem, loss=choice.loss, lr_readout=_LR_READOUT, **sizes)
    return {"lr_readout": _LR_READOUT, "lr_bias": rate}


def _learned(case: Case, choice: Choice, rates: dict[str, Any]) -> Alignment:
    """Return what a query step of unit rate learns."""
    alpha = choice.split * case.alpha
    return alignment(case.problem, alpha=alpha, loss=choice.loss, lr_query=1.0, **rates)


def _readouts(case: Case, choice: Choice, cosines: Any, n_points: int) -> list[Risk]:
    """Return the predictions for queries that differ little, each solved from the last."""
    alpha = (1.0 - choice.split) * case.alpha
    models = [get_model("attention", c, choice.sharpness, n_points) for c in cosines]
    return solve_along(case.problem, [(one, alpha) for one in models], choice.reg, choice.loss)


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

    def limit(self, case: Case, choice: Choice) -> LearningSolution:
        """Return what the iteration reaches."""
        return optimal(case.problem, case.alpha).from_nothing

    def expected(self, case: Case, choice: Choice) -> Estimate:
        """Return the limit."""
        return case.metric.error(self.limit(case, choice))

    def search_value(self, case: Case, choice: Choice) -> float:
        """Return the log of the limit."""
        return math.log(max(self.expected(case, choice), 1e-300))


_LINEAR = LinearModel("pooled", PooledClassifier), LinearModel("vectorized", VectorizedClassifier)
ARCHITECTURES: dict[str, Architecture] = {one.name: one for one in (TwoStep(), *_LINEAR)}
OPTIMAL = OptimalLearner()


def predict(
    architecture: Architecture, case: Case, progress: Progress, start: Choice | None = None
) -> tuple[Choice, Estimate]:
    """Return the best choice and its expectation; ``start`` is that of a neighboring case."""
    progress(f"{architecture.name}: choosing the settings")
    choice = architecture.improve(case, start) if start else architecture.first_choice(case)
    return choice, architecture.expected(case, choice)
