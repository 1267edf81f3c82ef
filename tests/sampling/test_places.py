"""Places of the signal against enumeration."""

import itertools

import numpy as np
import pytest

from sparsetoken import SparseTokenProblem
from sparsetoken.sampling.places import weigh_places


@pytest.mark.parametrize(
    "kind",
    [
        SparseTokenProblem(6, 1),
        SparseTokenProblem(6, 2),
        SparseTokenProblem(6, 4),
        SparseTokenProblem(6, 6),
        SparseTokenProblem(6, 3, contiguous=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("scale", [0.0, 1.0, 300.0])
def test_places_against_enumeration(kind, scale):
    exponents = scale * np.random.default_rng(0).standard_normal((5, 6))
    subsets = list(itertools.combinations(range(6), kind.n_signal))
    if kind.contiguous:
        subsets = [s for s in subsets if s[-1] - s[0] == kind.n_signal - 1]
    members = np.array([[token in subset for token in range(6)] for subset in subsets])
    sums = exponents @ members.T
    top = sums.max(axis=1, keepdims=True)
    weights = np.exp(sums - top)
    log_mean, chances = weigh_places(exponents, kind)
    assert log_mean == pytest.approx(top[:, 0] + np.log(weights.mean(axis=1)), abs=1e-9)
    assert chances == pytest.approx(weights @ members / weights.sum(axis=1, keepdims=True))
