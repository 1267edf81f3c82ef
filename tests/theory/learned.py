"""Problems of all kinds, and the best that can be learned of them."""

from populations import POPULATIONS
from sparsetoken import SparseTokenProblem
from sparsetoken.theory import (
    optimal,
)

RUNS = SparseTokenProblem(12, 3, 2.5, 0.4, contiguous=True)
SEVERAL = SparseTokenProblem(8, 2, 2.5, 0.4)
LONG = SparseTokenProblem(5000, 1, 5.0)
PROBLEMS = {
    "one token": SparseTokenProblem(10, 1, 4.0, 0.3),
    "several": SEVERAL,
    "runs": RUNS,
    "all": SparseTokenProblem(5, 5, 1.0),
    "long": LONG,
} | POPULATIONS


def learn(problem, alpha, unlabelled=0.0):
    return optimal(problem, alpha, unlabelled, n_points=512)
