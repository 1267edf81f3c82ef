"""How much samples tell about the direction, given what is known of it (docs/theory, section 17).

If the posterior mean of ξ has the squared length M, each sample adds E Σ a_l â_l to the posterior
precision, where a is the signal of its tokens and â what the posterior expects of it. That is
tabulated once for a problem, as a function of √M. Of several kinds of signal, each sample teaches
one direction, which it must be told from the others: a place is a pair of a token and a kind
(section 19).
"""

import math
from collections.abc import Callable
from functools import cached_property, lru_cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import expit, logsumexp, softmax

from sparsetoken._types import Floats
from sparsetoken.places import weigh_places
from sparsetoken.problem import LengthGroup, Problem, SparseTokenProblem
from sparsetoken.theory.features import BATCHES
from sparsetoken.theory.single_token import STRONGEST, single_token_information
from sparsetoken.theory.token_scores import Positives, draw_positives

_TOLERANCE = 3e-5  # of the interpolation, relative: it converges by a factor of 16 a step
_MOST_NUMBERS = 500_000  # tokens of all points at most; long sequences get fewer points
_MOST_KNOTS = 400


class InformationCurve:
    """What samples add to the precision of a direction, per sample and dimension.

    It is known at ``roots``, values of √M from 0 to 1: ``batches``, of shape (roots, batches, 2).
    The last axis of all arrays: labelled, unlabelled.
    """

    def __init__(self, roots: Floats, batches: Floats) -> None:
        self.roots, self.batches = roots, batches
        mean = np.maximum(batches.mean(axis=1, keepdims=True), 1e-300)
        self._log_mean = CubicSpline(roots, np.log(mean[:, 0]))
        self._deviations = CubicSpline(roots, batches / mean - 1.0)

    @cached_property
    def _integral(self) -> CubicSpline:
        """Of 2X√M over √M, which is that of X over M."""
        fine = np.interp(
            np.arange(16 * (self.roots.size - 1) + 1) / 16, np.arange(self.roots.size), self.roots
        )
        return CubicSpline(fine, 2.0 * fine[:, np.newaxis] * self(fine**2)).antiderivative()

    def __call__(self, overlap: Floats | float) -> Floats:
        """Return what a sample adds if the posterior mean has this squared length M."""
        return np.exp(self._log_mean(np.sqrt(overlap)))

    def slope(self, overlap: Floats | float) -> Floats:
        """Return the derivative of the log of what a sample adds, by √M."""
        return np.asarray(self._log_mean(np.sqrt(overlap), 1))

    def batch(self, index: int) -> "InformationCurve":
        """Return the curve of one batch of points alone."""
        return InformationCurve(self.roots, self.batches[:, [index]])

    def deviations(self, overlap: float) -> Floats:
        """Return by how much, relatively, each batch of points differs, shape (batches, 2)."""
        return np.asarray(self._deviations(math.sqrt(overlap)))

    def integral(self, overlap: Floats | float) -> Floats:
        """Return the integral from nothing to M: twice the free entropy of a sample's tokens."""
        return np.asarray(self._integral(np.sqrt(overlap)))


@lru_cache(maxsize=32)
def information_curve(problem: Problem, n_points: int) -> InformationCurve:
    """Tabulate, with more knots until a spline agrees with what is computed between them."""
    carrying = [group for group in problem.by_length if group.positive.any()]
    lengths = [(group.masses, _information_of(group, n_points)) for group in carrying]

    def compute(root: float) -> Floats:
        total = np.zeros((BATCHES, 2))
        for masses, information in lengths:
            by_prior = masses * information(root)
            total[:, 0] += by_prior[..., 0] + by_prior[..., 1]
            total[:, 1] += by_prior[..., 2]
        return total / problem.n_kinds

    scale = max(kind.signal * math.sqrt(kind.n_signal) for kind in problem.kinds)
    smallest = min(0.2, 0.2 / max(scale, 1e-300))
    first = np.geomspace(smallest, 1.0, 5 + math.ceil(3 * math.log10(1.0 / smallest)))
    values = {root: compute(root) for root in (0.0, *first.tolist())}
    waiting = list(zip(sorted(values)[:-1], sorted(values)[1:], strict=True))
    while waiting and len(values) < _MOST_KNOTS:
        table = _table(values)
        wrong = []
        for low, high in waiting:
            middle = 0.5 * (low + high)
            values[middle] = compute(middle)
            exact = np.maximum(values[middle].mean(axis=0), 1e-300)
            if np.abs(table(middle**2) / exact - 1.0).max() > _TOLERANCE:
                wrong += [(low, middle), (middle, high)]
        waiting = wrong
    return _table(values)


def _table(values: dict[float, Floats]) -> InformationCurve:
    roots = sorted(values)
    return InformationCurve(np.array(roots), np.stack([values[root] for root in roots]))


def _information_of(group: LengthGroup, n_points: int) -> Callable[[float], Floats]:
    """Return the function of √M: for each batch (or for all) and prior, what a sample adds."""
    likely = np.flatnonzero(group.positive)
    kinds = [group.kinds[i] for i in likely]
    weights = group.positive[likely] / group.positive.sum()
    priors = group.priors.sum(axis=1)  # chances to carry the signal
    signals = np.array([kind.signal for kind in kinds])
    n_tokens, n_kinds = kinds[0].n_tokens, kinds[0].n_kinds
    if len(kinds) == 1 and kinds[0].n_signal == n_tokens:  # as good as one token
        n_tokens, signals = 1, signals * math.sqrt(n_tokens)
    elif any(kind.n_signal > 1 for kind in kinds) or (len(kinds) > 1 and signals.max() > STRONGEST):
        return _information_of_points(kinds, weights, priors, n_points)

    @lru_cache(maxsize=1)  # for strong signals, which are all alike
    def exact(*strengths: float) -> Floats:
        information = single_token_information(
            n_tokens * n_kinds, np.array(strengths), signals, weights, priors
        )
        return information[np.newaxis]

    return lambda root: exact(*np.minimum(root * signals, STRONGEST).tolist())


def _information_of_points(
    kinds: list[SparseTokenProblem], weights: Floats, priors: Floats, n_points: int
) -> Callable[[float], Floats]:
    """Return the same from points of the tokens along the signal: those of the Bayes rule."""
    n_points = min(n_points, max(256, _MOST_NUMBERS // kinds[0].n_pairs))
    drawn = [draw_positives(kinds, n_points, batch) for batch in range(BATCHES)]
    with np.errstate(divide="ignore"):
        odds = np.log(priors) - np.log1p(-priors)

    def added(root: float, kind: SparseTokenProblem, positives: Positives) -> Floats:
        noise, marked = positives
        x = noise + root * kind.signal * marked
        logs, amounts = [], []
        for other, likelihood in zip(kinds, weights, strict=True):
            strength = root * other.signal
            places = other.n_signal, other.contiguous, other.n_kinds
            log_mean, chances = weigh_places(strength * x, *places)
            log_ratio = log_mean - 0.5 * other.n_signal * strength**2
            logs.append(math.log(likelihood) + log_ratio)
            amounts.append(other.signal * (chances * marked).sum(axis=1))
        amount = kind.signal * (softmax(logs, axis=0) * amounts).sum(axis=0)
        carries = expit(np.add.outer(odds, np.asarray(logsumexp(logs, axis=0))))
        return np.asarray(priors * (carries * amount).mean(axis=1))

    def information(root: float) -> Floats:
        by_kind = [
            [added(root, *one) for one in zip(kinds, positives, strict=True)] for positives in drawn
        ]
        return np.einsum("k,bkp->bp", weights, by_kind)

    return information
