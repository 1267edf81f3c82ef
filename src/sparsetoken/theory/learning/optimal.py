"""The best that any learner can do with so many samples (docs/theory, section 17).

With x the precision that the samples add per dimension, a function of the squared length M of the
posterior mean, the equation is M = x/(1 + x). Its solutions are the stationary points of the free
entropy ½(M + log(1 − M)) + ½ Σ α ∫ X dM.
"""

import math
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import overload

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from sparsetoken._types import Floats
from sparsetoken._validation import as_list, check_count, check_real, check_within, is_several
from sparsetoken.estimate import Estimate, Record, standard_error
from sparsetoken.performance import LEAST_UNCERTAINTY
from sparsetoken.problem import Problem, check_problem
from sparsetoken.theory.bayes import BayesRule, bayes_rule
from sparsetoken.theory.learning.information import InformationCurve, information_curve

POINTS = 4096  # per class, where several tokens carry the signal: more than enough
_MOST_SAMPLES = 1e9
_SCAN = 4001  # places where signs are compared, so that no pair of solutions is missed
_FEW = 256  # points that tell how a number changes with the overlap
_RELATIVE = 1e-6  # accuracy of the tabulated information


class Optimal(Record):
    """The best that any learner can do: :func:`~sparsetoken.theory.optimal` makes it.

    ``cosine``, ``overlap``, ``test_error``, ``auc`` and ``recall(fpr)`` are those of the
    Bayes-optimal learner. Every number is an :class:`~sparsetoken.estimate.Estimate`: a float with
    ``uncertainty``.
    """

    columns = (
        *("alpha", "unlabelled", "cosine", "overlap", "test_error", "uncertainty", "auc"),
        "hard",
    )

    problem: Problem
    alpha: float
    """Labelled samples per dimension."""
    unlabelled: float
    """Unlabelled samples per dimension."""
    n_points: int
    overlap: Estimate
    """M: the squared length of the posterior mean of the direction."""
    free_entropy: Estimate
    """Log evidence per dimension and direction; the larger of two solutions is the true one."""
    _solutions: "tuple[Optimal, ...]" = ()
    """All solutions of the equation, by their overlap, if this is the best of them."""

    @property
    def from_nothing(self) -> "Optimal":
        """What the quick iteration reaches that begins without knowledge."""
        return self._solutions[0] if self._solutions else self

    @property
    def informed(self) -> "Optimal":
        """What it would reach if it began at the truth."""
        return self._solutions[-1] if self._solutions else self

    @property
    def hard(self) -> bool:
        """Whether the samples tell more than the iteration from nothing finds."""
        return self.overlap != self.from_nothing.overlap

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
        extra = f", unlabelled={self.unlabelled:g}" if self.unlabelled else ""
        return (
            f"Optimal(cosine={self.cosine:.6g}, test_error={self.test_error:.6g} ± "
            f"{self.uncertainty:.1g}, alpha={self.alpha:g}{extra}{', hard' if self.hard else ''})"
        )

    @cached_property
    def _rule(self) -> BayesRule:
        return self._rule_at(self.overlap, self.n_points)

    def _rule_at(self, overlap: float, n_points: int) -> BayesRule:
        return bayes_rule(self.problem.scaled(math.sqrt(overlap)), n_points)

    def _number(self, number: Callable[[BayesRule], Estimate]) -> Estimate:
        """Return a number of the rule, its error bar with that of the overlap."""
        value = number(self._rule)
        bar = self.overlap.uncertainty
        if bar <= 10.0 * LEAST_UNCERTAINTY:
            return value
        ends = max(self.overlap - bar, 0.0), min(self.overlap + bar, 1.0)
        low, high = (number(self._rule_at(end, _FEW)) for end in ends)  # of the same points
        return Estimate(value, math.hypot(value.uncertainty, 0.5 * abs(high - low)))


@overload
def optimal(
    problem: Problem, alpha: float = 2.0, unlabelled: float = 0.0, *, n_points: int = POINTS
) -> Optimal: ...
@overload
def optimal(
    problem: Problem, alpha: Iterable[float], unlabelled: float = 0.0, *, n_points: int = POINTS
) -> list[Optimal]: ...
def optimal(
    problem: Problem,
    alpha: float | Iterable[float] = 2.0,
    unlabelled: float = 0.0,
    *,
    n_points: int = POINTS,
) -> Optimal | list[Optimal]:
    """Return the best that any learner can do with so many samples, in high dimension.

    No classifier trained on ``alpha`` labelled samples per dimension, and ``unlabelled`` others,
    has a smaller expected test error, whatever its architecture and training; nor if it is told the
    strength of the signal.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data. Lengths and recorded labels are seen, kinds are not.
    alpha : float or sequence of float, default=2.0
        Labelled samples per dimension; ``math.inf`` for the limit of a known direction. A sequence
        gives a list of results.
    unlabelled : float, default=0.0
        Further samples per dimension whose labels are not recorded.
    n_points : int, default=4096
        Points per class, used where several tokens of a sequence carry the signal or kinds of one
        length differ. One signal token is exact.

    Returns
    -------
    Optimal, or list of Optimal
        With ``cosine``, ``overlap``, ``test_error``, ``auc``, ``recall(fpr)``, ``hard``,
        ``from_nothing`` and ``informed``.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> best = st.theory.optimal(problem, alpha=2.0)
    >>> round(best.cosine, 4), round(best.test_error, 4), best.hard
    (0.9805, 0.02, False)
    >>> [round(best.test_error, 4) for best in st.theory.optimal(problem, [0.5, 1.0, 2.0])]
    [0.0286, 0.023, 0.0203]

    Long sequences can be hard: the samples tell the direction, but no quick algorithm is known that
    finds it.

    >>> long = st.theory.optimal(st.SparseTokenProblem(n_tokens=5000, signal=5.0), alpha=3.0)
    >>> long.hard, round(long.cosine, 3), round(long.from_nothing.cosine, 3)
    (True, 0.984, 0.097)
    """
    check_learnable(problem)
    unlabelled = check_within("unlabelled", unlabelled, 0.0, _MOST_SAMPLES, math.inf)
    n_points = check_count("n_points", n_points, minimum=256)
    curve = []
    for value in as_list(alpha):
        labelled = check_within("alpha", value, 0.0, _MOST_SAMPLES, math.inf)
        solutions = stable_solutions(problem, labelled, unlabelled, n_points)
        best = max(solutions, key=lambda solution: solution.free_entropy)
        curve.append(Optimal(**vars(best) | {"_solutions": solutions}))
    return curve if is_several(alpha) else curve[0]


def check_learnable(problem: Problem) -> None:
    """Raise ValueError unless there are samples of both labels to learn from."""
    check_problem(problem)
    check_real("positive_rate", problem.positive_rate, low=1e-6, high=1.0 - 1e-6)


def stable_solutions(
    problem: Problem, alpha: float, unlabelled: float, n_points: int
) -> list[Optimal]:
    """Return the stable solutions, from that which iteration from nothing reaches on."""
    information = information_curve(problem, n_points)
    samples = np.array([alpha, unlabelled])
    if math.isinf(samples.sum()):
        overlaps = [float(information(1.0)[np.isinf(samples)].max() > 1e-290)]
    else:
        overlaps = _roots(information, samples)
    bar, entropy = (partial(f, information, samples) for f in (_with_bar, _free_entropy))
    return [Optimal(problem, alpha, unlabelled, n_points, bar(x), entropy(x)) for x in overlaps]


def _roots(information: InformationCurve, samples: Floats) -> list[float]:
    """Return the stable solutions M: where log x(M) − log(M/(1 − M)) falls through zero."""
    least, most = (float(information(end) @ samples) for end in (0.0, 1.0))
    if most <= 1e-290:
        return [0.0]

    def excess(log_odds: Floats | float) -> Floats:
        added = information(expit(log_odds)) @ samples
        return np.asarray(np.log(added) - log_odds)

    # x grows with M, so all solutions lie between its ends.
    grid = np.linspace(math.log(least) - 1e-3, math.log(most) + 1e-3, _SCAN)
    above = excess(grid) > 0.0
    falls = np.flatnonzero(above[:-1] & ~above[1:])
    roots = [float(brentq(excess, grid[i], grid[i + 1], xtol=1e-12)) for i in falls]
    return [float(expit(log_odds)) for log_odds in roots]


def _with_bar(information: InformationCurve, samples: Floats, overlap: float) -> Estimate:
    """Attach the error bar: how each batch of points would move the solution."""
    if overlap in (0.0, 1.0):
        return Estimate(overlap)
    added = information(overlap) * samples
    moved = information.deviations(overlap) @ added / added.sum()  # of log x
    step = 1e-4 * overlap * (1.0 - overlap)
    up, down = (math.log(information(overlap + by) @ samples) for by in (step, -step))
    slope = 1.0 - (up - down) / (2.0 * step) * overlap * (1.0 - overlap)
    relative = math.hypot(standard_error(moved), _RELATIVE)
    bar = overlap * (1.0 - overlap) * relative / max(slope, 1e-3)
    return Estimate(overlap, max(bar, 1e-15))


def _free_entropy(information: InformationCurve, samples: Floats, overlap: float) -> Estimate:
    if overlap in (0.0, 1.0):
        return Estimate(overlap and math.inf)
    prior = 0.5 * (overlap + math.log1p(-overlap))
    evidence = 0.5 * information.integral(overlap) * samples
    total = float(evidence.sum())
    each = information.deviations(overlap) @ evidence
    return Estimate.from_batches(prior + total, each, beside=_RELATIVE * total)
