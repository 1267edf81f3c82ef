"""The samplers against drawing their random numbers and against tokens."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import Row, at_least, at_most, peak_bytes, ratio, seconds
from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Logistic
from sparsetoken.sampling import sample_features, sample_query

L, DIM, N = 10, 1000, 5000
PROBLEM = SparseTokenProblem(L, 1, 5.0)


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


def _rows_for(dtype: Any) -> Iterator[Row]:
    query, direction = np.eye(DIM)[0] * 0.9 + np.eye(DIM)[1] * 0.4, np.eye(DIM)[0]

    def normals(*shape: int) -> Any:
        return np.random.default_rng(0).standard_normal(shape, dtype=dtype)

    def features() -> Any:
        return sample_features(PROBLEM, N, query, direction, dtype=dtype, random_state=0)

    what = f"features, L=10 d=1000 n=5000, {dtype}"
    cost = ratio(features, lambda: normals(N, DIM))
    yield at_most(f"{what}: time / drawing n·d normals", cost, 1.5)
    memory = peak_bytes(features) / (N * DIM * dtype.itemsize)
    yield at_most(f"{what}: peak memory / feature matrix", memory, 1.2)
    for problem in (PROBLEM, SparseTokenProblem(L, L, 5.0, 1.0)):
        dense = partial(problem.sample, N // L, DIM, dtype=dtype, random_state=0)
        what = f"dense sampling, {problem.n_signal} signal tokens of {L}, {dtype}"
        cost = ratio(dense, lambda: normals(N // L, L, DIM))
        yield at_most(f"{what}: time / drawing n·L·d normals", cost, 1.3)


def rows() -> Iterator[Row]:
    for dtype in (np.float64, np.float32):
        yield from _rows_for(np.dtype(dtype))
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
