"""What to expect of a study, and the choices with which it does best.

The theory predicts the performance of a choice in the limit of many dimensions. In a finite sample
the bias and the query fluctuate, and the mean error is larger because the error is convex in them:
a model has a few equally likely outcomes of its query, and of each the bias is off by a standard
deviation either way. With very few samples rare draws decide, and the training is run again and
again instead. The best choice has the best expectation; the limit alone would choose badly, as a
strong ridge would shrink the scores until they drown in the noise of the bias. It is searched on a
few points of the feature law, always the same, so that the search sees no noise.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit

from sparsetoken.estimate import ConvergenceWarning, Estimate
from sparsetoken.law import score_mean
from sparsetoken.models import Model, OneClassError, Range
from sparsetoken.models.base import StudySize
from sparsetoken.performance import Performance
from sparsetoken.planner.metric import Metric
from sparsetoken.planner.words import Progress, no_progress
from sparsetoken.sequences.data import one_blas_thread
from sparsetoken.theory.envelope_averages import envelope_moments
from sparsetoken.theory.readout.trained import RESOLUTION

_SEARCH_POINTS = 512
_ACCURATE_POINTS = 8192
_UNSOLVED = 10.0  # log of an error, for a solver that failed: worse than any other
_DECADE = 2.3  # how far from a neighbor's choice a single setting is searched, in logarithms
_MOST_DIMENSIONS = 3000  # for trainings that are run
_TRIALS = 300
_TRIAL_POINTS = 512  # per class, to judge one training; their noise averages out
_SEED = 20261116

Choice = dict[str, Any]
"""A loss, and a value of each setting in the model's search space."""


@dataclass(frozen=True)
class Study(StudySize):
    """A model for a problem, so many samples of so many features, and the error asked of them.

    The quantity ``unknown`` is to be found; :meth:`at` puts a value in its place.
    """

    model: Model
    metric: Metric
    target: float
    unknown: str
    progress: Progress = no_progress

    @property
    def is_drawn(self) -> bool:
        """Whether the samples are so few that trainings are cheap and say more than a limit."""
        return self.n_samples <= self.model.drawn_up_to and self.dim <= _MOST_DIMENSIONS

    def at(self, value: float) -> "Study":
        """Return the study in which the unknown has this value."""
        if self.unknown not in ("n_tokens", "signal"):
            return replace(self, **{self.unknown: value})  # type: ignore[arg-type]
        changed: Any = {self.unknown: int(value) if self.unknown == "n_tokens" else value}
        return replace(self, problem=self.problem.map(lambda kind: replace(kind, **changed)))

    def say(self, doing: str) -> None:
        """Report progress."""
        self.progress(f"{self.model.name}: {doing}")


def choose(study: Study, start: Choice | None = None) -> tuple[Choice, Estimate]:
    """Return the best choice and its expectation; ``start`` is that of a neighboring study."""
    study.say("choosing the settings")
    choice = first_choice(study) if start is None else improve(study, start)
    return choice, expected_error(study, choice)


def first_choice(study: Study) -> Choice:
    """Return a good choice from scratch: the best of a coarse grid, improved, for every loss."""
    space = study.model.search_space(study.problem)
    if not space:
        return {}
    cheapest, *others = study.model.losses
    starts = product(*(one.starts for one in space.values()))
    grid = [{"loss": cheapest} | dict(zip(space, values, strict=True)) for values in starts]
    first = improve(study, min(grid, key=lambda choice: search_value(study, choice)))
    choices = [first] + [improve(study, first | {"loss": loss}) for loss in others]
    return min(choices, key=lambda choice: search_value(study, choice))


def improve(study: Study, choice: Choice) -> Choice:
    """Return the best choice near ``choice``, with the same loss."""
    ranges = study.model.search_space(study.problem)
    if not ranges:
        return choice

    def encode(one: Range, value: float) -> float:
        return float(logit(value)) if one.is_fraction else math.log(value)

    def decode(x: Any) -> Choice:
        pairs = zip(ranges.items(), np.atleast_1d(x).tolist(), strict=True)
        return choice | {
            name: float(expit(value)) if one.is_fraction else math.exp(value)
            for (name, one), value in pairs
        }

    def value(x: Any) -> float:
        return search_value(study, decode(x))

    bounds = np.array([[encode(one, end) for end in one[:2]] for one in ranges.values()])
    center = np.array([encode(one, choice[name]) for name, one in ranges.items()])
    center = np.clip(center, *bounds.T)
    if len(ranges) == 1:
        near = max(bounds[0, 0], center[0] - _DECADE), min(bounds[0, 1], center[0] + _DECADE)
        found = minimize_scalar(value, bounds=near, method="bounded", options={"xatol": 0.3})
        return decode(found.x)
    steps = np.array([one.step for one in ranges.values()])
    steps[center + steps > bounds[:, 1]] *= -1.0  # a simplex on its bound would be flat
    simplex = np.stack([center, *(center + np.diag(steps))])
    options = {"initial_simplex": simplex, "maxfev": 36, "fatol": 2e-3, "xatol": 0.2}
    return decode(minimize(value, center, method="Nelder-Mead", bounds=bounds, options=options).x)


def search_value(study: Study, choice: Choice) -> float:
    """Return the log of the expected error on few points; large if not solved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = study.model.outcomes(study, choice, _SEARCH_POINTS)
    if not all(getattr(result, "converged", True) for result in results):
        return _UNSOLVED
    return math.log(max(_mean_error(results, study, choice), 1e-300))


def expected_error(study: Study, choice: Choice) -> Estimate:
    """Return the expected error at this finite size, with its numerical error."""
    if study.is_drawn:
        return _mean_of_trials(study, choice)
    results = study.model.outcomes(study, choice, _ACCURATE_POINTS)
    # The results share their points, so their numerical errors do not average out.
    bars = [study.metric.error(result).uncertainty for result in results]
    return Estimate(_mean_error(results, study, choice), sum(bars) / len(bars))


def _mean_error(results: Sequence[Any], study: Study, choice: Choice) -> float:
    """Return the mean error of equally likely results, the bias of each a deviation off.

    The rest of a readout matters less: its direction differs between samples, but its overlaps
    hardly do. Only for the error does the bias matter: always predicting one class can do well.
    """
    errors, metric = [], study.metric
    n_samples = (1.0 - choice.get("split", 0.0)) * study.n_samples
    for result in results:
        if not hasattr(result, "readout"):
            errors.append(metric.error(result))
            continue
        matters = metric.name == "error" and math.isfinite(n_samples)
        noise = bias_noise(result, n_samples) if matters else 0.0
        for bias in {result.readout.bias - noise, result.readout.bias + noise}:
            moved = Performance(result.law, result.readout._replace(bias=bias), result.loss)
            errors.append(metric.error(moved))
    return math.fsum(errors) / len(errors)


def bias_noise(result: Any, n_samples: float) -> float:
    """Return the standard deviation of a bias trained on ``n_samples``, the readout held fixed.

    Training makes the mean slope E[ℓ′(p)] of the loss vanish on the sample. There it fluctuates by
    √(E[ℓ′(p)²]/n), and the bias follows by that over its derivative E[ℓ″(p)/(1 + χc²ℓ″(p))].
    """
    points, readout = result.law.points, result.readout
    score, chi = score_mean(points, readout), math.exp(readout.log_chi)
    solved = result.loss, points.label, score, points.scale, readout.norm_rest, chi
    moments = envelope_moments(*solved, resolution=RESOLUTION)
    slope = math.sqrt(points.average(moments.hh) / n_samples)
    return slope / float(points.average(moments.k))


def _mean_of_trials(study: Study, choice: Choice) -> Estimate:
    """Return the mean error over fresh trainings, with its standard error.

    It is that of chance where a training sees one class only.
    """
    model, errors = study.model, []
    points = {"n_points": _TRIAL_POINTS} if "n_points" in model.settings else {}
    asked = study.problem, study.alpha, round(study.dim), model.tuned(study, choice) | points
    with one_blas_thread():
        for seed in np.random.SeedSequence(_SEED).spawn(_TRIALS):
            trial = model.trial(*asked, np.random.default_rng(seed))
            try:
                errors.append(float(study.metric.error(trial)))
            except OneClassError:
                rate = study.problem.positive_rate
                errors.append(study.metric.chance(min(rate, 1.0 - rate)))
    return Estimate.from_batches(float(np.mean(errors)), errors)
