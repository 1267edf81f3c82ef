"""A learning rate of the query that gives every length the same sharpness."""

import math

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory import alignment

__all__ = ["query_rate"]


def query_rate(n_tokens: int, signal: float, alpha0: float, sharpness: float = 2.0) -> float:
    """Return the learning rate that gives the query this sharpness, to three digits.

    With one rate for all lengths, that of the query would fall as 1/L².
    """
    problem = SparseTokenProblem(n_tokens, 1, signal)
    rate = sharpness / alignment(problem, alpha=alpha0, lr_query=1.0).sharpness
    return round(rate, 2 - math.floor(math.log10(rate)))
