"""Populations that the tests share: each breaks another assumption of the one-kind problem."""

from sparsetoken import Population, SparseTokenProblem

TWO_LENGTHS = Population(
    [SparseTokenProblem(4, 1, 4.0), SparseTokenProblem(14, 2, 3.0)], shares=[0.6, 0.4]
)
STRENGTHS = Population.spread(
    SparseTokenProblem(6, 1, positive_rate=0.4), n_nodes=4, signal=("lognormal", 4.0, 0.4)
)
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
