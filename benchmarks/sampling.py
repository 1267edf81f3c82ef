"""The reduced sampler of a trained query against the two gradient steps on tokens."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import Row, at_least, at_most, peak_bytes, ratio, seconds
from sparsetoken import SparseTokenProblem
from sparsetoken.estimators.linear import two_gradient_steps
from sparsetoken.losses import Logistic
from sparsetoken.sampling import sample_query
from sparsetoken.sequences.data import MemoryData
from sparsetoken.sequences.sequences import as_sequences

DIM = 1000
PROBLEM = SparseTokenProblem(10, 1, 5.0)


def dense_query(X: Any, y: Any) -> Any:
    """Take the two gradient steps on tokens."""
    sign, weights, tokens = (
        2.0 * y - 1.0,
        np.full(len(y), 1.0 / len(y)),
        MemoryData(as_sequences(X)),
    )
    return two_gradient_steps(
        tokens, X.mean(axis=1), sign, weights, Logistic(), 1.0, 1.0, 1.0, 20.0
    )


def rows() -> Iterator[Row]:
    cost = ratio(
        lambda: dense_query(*PROBLEM.sample(2 * DIM, DIM, random_state=0)),
        lambda: sample_query(PROBLEM, 2 * DIM, DIM, loss=Logistic(), random_state=0),
        repeats=5,
    )
    yield at_least("query stage, L=10 d=1000 alpha=2: dense time / reduced time", cost, 100)
    long = SparseTokenProblem(10_000, 1, 5.0)
    query = partial(sample_query, long, 20_000, 10_000, loss=Logistic(), random_state=0)
    yield at_most("query stage, L=10,000 d=10,000 n=20,000: seconds", seconds(query), 1.0, "s")
    yield at_most("query stage, L=10,000: peak memory", peak_bytes(query) / 1e9, 1.0, "GB")
