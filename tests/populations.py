"""Populations that the tests share: each breaks another assumption of the one-kind problem."""

from dataclasses import replace

import numpy as np

from sparsetoken import Population, SparseTokenProblem


def with_strengths(problem, deviation, n_nodes=5):
    """Spread the signal as exp of a Gaussian of this deviation, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    strengths = problem.signal * np.exp(deviation * nodes)
    kinds = [replace(problem, signal=strength) for strength in strengths]
    return Population(kinds, weights / weights.sum())


TWO_LENGTHS = Population(
    [SparseTokenProblem(4, 1, 4.0), SparseTokenProblem(14, 2, 3.0)], shares=[0.6, 0.4]
)
STRENGTHS = with_strengths(SparseTokenProblem(6, 1, 4.0, 0.4), 0.4, n_nodes=4)
LABEL_ERRORS = Population([SparseTokenProblem(6, 1, 4.0, 0.4)], label_errors=(0.2, 0.05))
LENGTH_WITH_LABEL = Population(
    [SparseTokenProblem(12, 1, 4.5, 0.8), SparseTokenProblem(4, 1, 4.5, 0.2)], shares=[0.4, 0.6]
)
POPULATIONS = {
    "two lengths": TWO_LENGTHS,
    "strengths": STRENGTHS,
    "label errors": LABEL_ERRORS,
    "length goes with the label": LENGTH_WITH_LABEL,
}
