"""The joint minimum beside L-BFGS on dense tokens: ``python -m benchmarks.joint [TRIALS]``.

Six settings drawn at random, on which neither the theory nor its stability check was tuned: the
minimum, and whether L-BFGS finds it from the signal and from a random start.
"""

import warnings
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.report import Table, plus_minus, run
from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Logistic
from sparsetoken.models.training import gradient
from sparsetoken.sampling import exact_performance, sample_feature_law
from sparsetoken.sequences.sequences import as_sequences
from sparsetoken.theory import ConvergenceWarning, joint_risk


def dense_minimum(
    problem: SparseTokenProblem,
    dim: int,
    rng: np.random.Generator,
    alpha: float,
    ridges: tuple[float, float],
) -> list[list[float]]:
    """Minimize over all parameters from the signal and from a random start, on the same samples.

    Returns the minimized function and the test error of each.
    """
    n_samples = round(alpha * dim)
    X, y, truth = problem.sample(n_samples, dim, random_state=rng, return_truth=True)
    sequences, sign = as_sequences(X), 2.0 * y - 1.0

    def objective(point: Any) -> tuple[float, Any]:
        q, w = point[:dim], point[dim:-1]
        by_q, by_w, by_b, value = gradient(sequences, sign, q, w, point[-1], Logistic(), 1.0)
        ridge = 0.5 * (ridges[0] * q @ q + ridges[1] * w @ w)
        return value + ridge, np.concatenate([by_q + ridges[0] * q, by_w + ridges[1] * w, [by_b]])

    informed = np.concatenate([truth.direction, truth.direction, [0.0]])
    random = 0.1 * rng.standard_normal(2 * dim + 1) / np.sqrt(dim)
    options = {"maxiter": 1000}
    found = []
    for start in (informed, random):
        result = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
        q, w, b = result.x[:dim], result.x[dim:-1], float(result.x[-1])
        norm = float(np.linalg.norm(q))
        query: dict[str, Any] = {"cosine": float(q @ truth.direction) / norm, "sharpness": norm}
        law = sample_feature_law(problem, 16384, random_state=rng, **query)
        tested = exact_performance(law, w, b, q, truth.direction)
        found.append([float(result.fun), float(tested.test_error)])
    return found


def main(trials: int = 6, dim: int = 300) -> None:
    rng = np.random.default_rng(11)
    table = Table("L:2d", "signal:6.2f", "rate:5.2f", "α:5.2f", "ridges:12", "stable:6s",
                  "value:7.4f", "test error:7.4f", "value, informed:16s", "test error:16s",
                  "value, uninformed:17s", "test error:16s", "starts differ:8.1e")  # fmt: skip
    for _ in range(6):
        problem = SparseTokenProblem(
            int(rng.integers(2, 7)), 1, float(rng.uniform(2.5, 5)), float(rng.uniform(0.3, 0.7))
        )
        alpha = float(rng.uniform(1.5, 6))
        ridges = tuple(np.exp(rng.uniform(np.log(0.02), np.log(0.3), size=2)).tolist())
        options = dict(zip(("reg_query", "reg_readout"), ridges, strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            j = joint_risk(problem, alpha=alpha, n_points=2048, **options)
        value = j.train_loss + 0.5 * (ridges[0] * j.query_norm**2 + ridges[1] * j.readout_norm**2)
        drawn = np.array([dense_minimum(problem, dim, rng, alpha, ridges) for _ in range(trials)])
        gap = np.abs(drawn[:, 0, 0] - drawn[:, 1, 0]).max()
        found = [plus_minus(column, form=".4f") for column in drawn.reshape(trials, 4).T]
        facts = problem.n_tokens, problem.signal, problem.positive_rate, alpha
        shown = f"{ridges[0]:.3f} {ridges[1]:.3f}", str(j.stable)
        table.add(*facts, *shown, value, j.test_error, *found, gap)


if __name__ == "__main__":
    run(main)
