"""Groups of samples that one Gaussian law describes: a kind, a true class and a recorded label."""

from typing import NamedTuple

from sparsetoken.problem import SparseTokenProblem

__all__ = ["Group", "groups_of"]


class Group(NamedTuple):
    """Samples of one kind, class and label, and their share of all samples."""

    kind: SparseTokenProblem
    n_signal: int
    """Tokens with signal: none in the negative class."""
    label: float
    share: float


def groups_of(problem: SparseTokenProblem) -> list[Group]:
    """Return the groups of a problem that have samples."""
    rate = problem.positive_rate
    groups = [Group(problem, problem.n_signal, 1.0, rate), Group(problem, 0, -1.0, 1.0 - rate)]
    return [group for group in groups if group.share > 0.0]
