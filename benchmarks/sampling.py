"""The samplers against the cost of drawing their random numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.report import Row, at_least, at_most, peak_bytes, ratio, seconds
from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Logistic
from sparsetoken.sampling import sample_features, sample_query

L, DIM, N = 10, 1000, 5000
PROBLEM = SparseTokenProblem(L, 1, 5.0)


def dense_query() -> Any:
    """Draw the tokens and take the two gradient steps on them."""
    X, y = PROBLEM.sample(2 * DIM, DIM, random_state=0)
    sign, loss = 2.0 * y - 1.0, Logistic()
    pooled = X.mean(axis=1)
    residual = loss.derivative(np.zeros(len(y)), sign)
    readout = -residual @ pooled / len(y)
    slope = loss.derivative(pooled @ readout - residual.mean(), sign)
    scores = X @ readout
    scores -= scores.mean(axis=1, keepdims=True)
    return -20.0 / (len(y) * L) * np.tensordot(slope[:, np.newaxis] * scores, X, axes=2)


def _rows_for(dtype: Any, query: Any, direction: Any) -> Iterator[Row]:
    def normals(*shape: int) -> Any:
        return np.random.default_rng(0).standard_normal(shape, dtype=dtype)

    def features() -> Any:
        return sample_features(PROBLEM, N, query, direction, dtype=dtype, random_state=0)

    def dense() -> Any:
        return PROBLEM.sample(N // L, DIM, dtype=dtype, random_state=0)

    yield at_most(
        f"features, L=10 d=1000 n=5000, {dtype}: time / drawing n·d normals",
        ratio(features, lambda: normals(N, DIM)),
        1.5,
    )
    yield at_most(
        f"features, {dtype}: peak memory / feature matrix",
        peak_bytes(features) / (N * DIM * dtype.itemsize),
        1.2,
    )
    yield at_most(
        f"dense sampling, {dtype}: time / drawing n·L·d normals",
        ratio(dense, lambda: normals(N // L, L, DIM)),
        1.3,
    )


def rows() -> Iterator[Row]:
    query = np.eye(DIM)[0] * 0.9 + np.eye(DIM)[1] * 0.4
    direction = np.eye(DIM)[0]
    for dtype in (np.float64, np.float32):
        yield from _rows_for(np.dtype(dtype), query, direction)
    crowded = SparseTokenProblem(L, L, 5.0, 1.0)
    yield at_most(
        "dense sampling, every token carries signal: time / drawing the normals",
        ratio(
            lambda: crowded.sample(N // L, DIM, random_state=0),
            lambda: np.random.default_rng(0).standard_normal((N // L, L, DIM)),
        ),
        1.3,
    )
    yield at_least(
        "query stage, L=10 d=1000 alpha=2: dense time / reduced time",
        ratio(
            dense_query,
            lambda: sample_query(PROBLEM, 2 * DIM, DIM, loss=Logistic(), random_state=0),
            repeats=5,
        ),
        100,
    )
    long = SparseTokenProblem(10_000, 1, 5.0)

    def long_query() -> Any:
        return sample_query(long, 20_000, 10_000, loss=Logistic(), random_state=0)

    yield at_most("query stage, L=10,000 d=10,000 n=20,000: seconds", seconds(long_query), 1.0, "s")
    yield at_most("query stage, L=10,000: peak memory", peak_bytes(long_query) / 1e9, 1.0, "GB")
