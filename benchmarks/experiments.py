"""Simulation without tokens against the dense route; two workers against one."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Row, at_least, ratio, seconds
from sparsetoken import SparseTokenProblem
from sparsetoken.estimators.readout import fit_readout
from sparsetoken.experiments import Grid, Store, Sweep, local_processes, run
from sparsetoken.losses import Logistic
from sparsetoken.pooling import Softmax
from sparsetoken.problem import random_direction
from sparsetoken.sampling import sample_features, sample_query

DIM, ALPHA = 200, 2.0
N = round(ALPHA * DIM)


def reduced_samples(problem: SparseTokenProblem) -> Any:
    """Draw query and training features without tokens."""
    rng = np.random.default_rng(0)
    learned = sample_query(problem, N, DIM, loss=Logistic(), random_state=rng)
    return sample_features(problem, N, learned.query, learned.direction, random_state=rng)


def dense_samples(problem: SparseTokenProblem) -> Any:
    """Draw the tokens of both stages, take the two steps and pool the features."""
    rng = np.random.default_rng(0)
    direction, loss = random_direction(DIM, rng), Logistic()
    X, y = problem.sample(N, DIM, direction=direction, random_state=rng)
    sign = 2.0 * y - 1.0
    pooled = X.mean(axis=1)
    residual = loss.derivative(np.zeros(N), sign)
    readout = -residual @ pooled / N
    slope = loss.derivative(pooled @ readout - residual.mean(), sign)
    scores = X @ readout
    scores -= scores.mean(axis=1, keepdims=True)
    query = np.tensordot(slope[:, np.newaxis] * scores, X, axes=2)
    query *= -20.0 / (N * problem.n_tokens)
    X, y = problem.sample(N, DIM, direction=direction, random_state=rng)
    weights = Softmax().weights(X @ query)
    return np.einsum("nl,nld->nd", weights, X), y


def _trial(samples: Any, problem: SparseTokenProblem) -> Any:
    features, y = samples(problem)
    return fit_readout(features, 2.0 * y - 1.0, 1e-2, Logistic())


def _sweep_seconds(workers: int) -> float:
    """Time of 40 cells, the start of the workers included."""
    axes = {"alpha": np.linspace(1.0, 3.0, 40).tolist()}
    fixed = {"model": "pooled", "dim": 400, "trials": 6}
    sweep = Sweep([Grid(["test_error"], axes, fixed, ["simulation"])])

    def once() -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            Store(Path(folder, "results.db")) as store,
            local_processes(workers) as processes,
        ):
            run(sweep, store, processes)

    return seconds(once, repeats=1)


def rows() -> Iterator[Row]:
    for n_tokens in (10, 100):
        problem = SparseTokenProblem(n_tokens, 1, 5.0)
        repeats = 5 if n_tokens == 100 else 9
        yield at_least(
            f"sampling of one trial, L={n_tokens} d={DIM}: dense time / reduced time",
            ratio(lambda: dense_samples(problem), lambda: reduced_samples(problem), repeats),  # noqa: B023
            0.7 * n_tokens,
        )
        yield at_least(
            f"one whole trial, L={n_tokens} d={DIM}: dense time / reduced time",
            ratio(
                lambda: _trial(dense_samples, problem),  # noqa: B023
                lambda: _trial(reduced_samples, problem),  # noqa: B023
                repeats,
            ),
            1.0,
        )
    yield at_least(
        "sweep of 40 cells: time of one worker / of two", _sweep_seconds(1) / _sweep_seconds(2), 1.7
    )
