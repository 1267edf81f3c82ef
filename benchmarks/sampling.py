"""The reduced sampler of a trained query against the two gradient steps on tokens."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import Row, at_least, at_most, peak_bytes, ratio, seconds
from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Logistic
from sparsetoken.sampling import sample_query

DIM = 1000
PROBLEM = SparseTokenProblem(10, 1, 5.0)


def dense_query(X: Any, y: Any) -> Any:
    """Take the two gradient steps on tokens."""
    sign, loss = 2.0 * y - 1.0, Logistic()
    pooled = X.mean(axis=1)
    residual = loss.derivative(np.zeros(len(y)), sign)
    readout = -residual @ pooled / len(y)
    slope = loss.derivative(pooled @ readout - residual.mean(), sign)
    scores = X @ readout
    scores -= scores.mean(axis=1, keepdims=True)
    return -20.0 / X[..., 0].size * np.tensordot(slope[:, np.newaxis] * scores, X, axes=2)


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
