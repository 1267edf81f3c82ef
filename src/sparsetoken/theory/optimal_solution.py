"""Solutions of the equation of optimal learning, and what they achieve (docs/theory, section 17).

With x the precision that the samples add per dimension, a function of the squared length M of the
posterior mean, the equation is M = x/(1 + x). Its solutions are the stationary points of the free
entropy ½(M + log(1 − M)) + ½ Σ α ∫ X dM.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from sparsetoken._types import Floats
from sparsetoken._validation import check_real
from sparsetoken.estimate import Estimate, Record, standard_error
from sparsetoken.performance import LEAST_UNCERTAINTY
from sparsetoken.population import AnyProblem, map_kinds
from sparsetoken.theory.bayes import BayesRule, bayes_rule
from sparsetoken.theory.optimal_precision import Precision, tabulate_precision

_SCAN = 4001  # places where signs are compared, so that no pair of solutions is missed
_FEW = 256  # points that tell how a number changes with the overlap
_RELATIVE = 1e-6  # of the tabulated precision


@dataclass(frozen=True, repr=False)
class LearningSolution(Record):
    """A solution of the equation of optimal learning, and what a learner there achieves.

    Every number is an :class:`~sparsetoken.estimate.Estimate`: a float with ``uncertainty``.
    """

    columns: ClassVar[tuple[str, ...]] = (
        *("alpha", "unlabelled", "cosine", "overlap", "test_error", "uncertainty", "auc"),
    )

    problem: AnyProblem
    alpha: float
    """Labelled samples per dimension."""
    unlabelled: float
    """Unlabelled samples per dimension."""
    overlap: Estimate
    """M: the squared length of the posterior mean of the direction."""
    free_entropy: Estimate
    """Log evidence per dimension; the larger of two solutions is the true one."""
    n_points: int = field(repr=False)

    @property
    def cosine(self) -> Estimate:
        """Cosine between the posterior mean of the direction and the direction: √M."""
        root = math.sqrt(self.overlap)
        return Estimate(root, self.overlap.uncertainty / max(2.0 * root, 1e-150))

    @cached_property
    def test_error(self) -> Estimate:
        """Probability of a wrong recorded label: the Bayes error at signal θ√M."""
        return self._number(lambda rule: rule.error)

    @property
    def uncertainty(self) -> float:
        """Estimated numerical error of ``test_error``: one standard error."""
        return self.test_error.uncertainty

    @cached_property
    def auc(self) -> Estimate:
        """Probability that a fresh positive sample scores above a fresh negative one."""
        return self._number(lambda rule: rule.auc)

    def recall(self, fpr: float) -> Estimate:
        """Return the fraction of the positives above the threshold that ``fpr`` sets."""
        fpr = check_real("fpr", fpr, low=0.0, high=1.0, above=True)
        return self._number(lambda rule: rule.recall(fpr))

    def __repr__(self) -> str:
        return f"LearningSolution(cosine={self.cosine:.6g}, test_error={self.test_error:.6g})"

    @cached_property
    def _rule(self) -> BayesRule:
        return self._rule_at(self.overlap, self.n_points)

    def _rule_at(self, overlap: float, n_points: int) -> BayesRule:
        root = math.sqrt(overlap)
        seen = map_kinds(self.problem, lambda kind: replace(kind, signal=root * kind.signal))
        return bayes_rule(seen, n_points)

    def _number(self, number: Callable[[BayesRule], Estimate]) -> Estimate:
        """Return a number of the rule, its error bar with that of the overlap."""
        value = number(self._rule)
        bar = self.overlap.uncertainty
        if bar <= 10.0 * LEAST_UNCERTAINTY:
            return value
        ends = max(self.overlap - bar, 0.0), min(self.overlap + bar, 1.0)
        low, high = (number(self._rule_at(end, _FEW)) for end in ends)  # of the same points
        return Estimate(value, math.hypot(value.uncertainty, 0.5 * abs(high - low)))


def stable_solutions(
    problem: AnyProblem, alpha: float, unlabelled: float, n_points: int
) -> list[LearningSolution]:
    """Return the stable solutions, from that which iteration from nothing reaches on."""
    precision = tabulate_precision(problem, n_points)
    samples = np.array([alpha, unlabelled])
    if math.isinf(samples.sum()):
        overlaps = [float(precision(1.0)[np.isinf(samples)].max() > 1e-290)]
    else:
        overlaps = _roots(precision, samples)
    return [
        LearningSolution(
            problem,
            alpha,
            unlabelled,
            _with_bar(precision, samples, overlap),
            _free_entropy(precision, samples, overlap),
            n_points,
        )
        for overlap in overlaps
    ]


def _roots(precision: Precision, samples: Floats) -> list[float]:
    """Return the stable solutions M: where log x(M) − log(M/(1 − M)) falls through zero."""
    least, most = (float(precision(end) @ samples) for end in (0.0, 1.0))
    if most <= 1e-290:
        return [0.0]

    def excess(log_odds: Floats | float) -> Floats:
        added = precision(expit(log_odds)) @ samples
        return np.asarray(np.log(added) - log_odds)

    # x grows with M, so all solutions lie between its ends.
    grid = np.linspace(math.log(least) - 1e-3, math.log(most) + 1e-3, _SCAN)
    above = excess(grid) > 0.0
    falls = np.flatnonzero(above[:-1] & ~above[1:])
    roots = [float(brentq(excess, grid[i], grid[i + 1], xtol=1e-12)) for i in falls]
    return [float(expit(log_odds)) for log_odds in roots]


def _with_bar(precision: Precision, samples: Floats, overlap: float) -> Estimate:
    """Attach the error bar: how each batch of points would move the solution."""
    if overlap in (0.0, 1.0):
        return Estimate(overlap)
    added = precision(overlap) * samples
    moved = precision.deviations(overlap) @ added / added.sum()  # of log x
    step = 1e-4 * overlap * (1.0 - overlap)
    up, down = (math.log(precision(overlap + by) @ samples) for by in (step, -step))
    slope = 1.0 - (up - down) / (2.0 * step) * overlap * (1.0 - overlap)
    relative = math.hypot(standard_error(moved), _RELATIVE)
    bar = overlap * (1.0 - overlap) * relative / max(slope, 1e-3)
    return Estimate(overlap, max(bar, 1e-15))


def _free_entropy(precision: Precision, samples: Floats, overlap: float) -> Estimate:
    if overlap in (0.0, 1.0):
        return Estimate(overlap and math.inf)
    prior = 0.5 * (overlap + math.log1p(-overlap))
    evidence = 0.5 * precision.integral(overlap) * samples
    spread = standard_error(precision.deviations(overlap) @ evidence)
    total = float(evidence.sum())
    return Estimate(prior + total, math.hypot(spread, _RELATIVE * total))
