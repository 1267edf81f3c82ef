"""Training dynamics and the joint minimum: time and accuracy.

``python -m benchmarks.training`` prints the rows; ``... joint [TRIALS]`` compares the joint minimum
and its stability check with L-BFGS on dense tokens, at settings on which neither was tuned.
"""

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.report import Row, Table, at_most, plus_minus, print_rows, run
from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Logistic
from sparsetoken.models.training import gradient
from sparsetoken.sampling import exact_performance, sample_feature_law
from sparsetoken.sequences.sequences import as_sequences
from sparsetoken.theory import ConvergenceWarning, joint_risk, training

PROBLEM = SparseTokenProblem(10, 1, 5.0)
RATES: dict[str, Any] = {
    "swinging": {"lr_query": 8.0, "lr_readout": 2.0},
    "calm": {"lr_query": 4.0, "lr_readout": 1.0},
}
BOUNDS = {"fresh": (1e-3, 5.0), "online": (1e-3, 5.0), "reused": (3e-3, 30.0)}
NAMES = ("cosine", "query_norm", "readout_cosine", "readout_norm")


def rows() -> Iterator[Row]:
    for batches, (accuracy, limit) in BOUNDS.items():
        training(PROBLEM, steps=2, alpha=1.0, batches=batches, n_points=256)  # compile
        for name, rates in RATES.items():
            start = time.process_time()
            t = training(PROBLEM, steps=10, alpha=2.0, batches=batches, **rates)
            used = time.process_time() - start
            worst = max(
                float((t.uncertainty(q)[1:] / np.abs(getattr(t, q)[1:])).max()) for q in NAMES
            )
            what = f"training, {batches}, {name} rates, T=10, L=10"
            yield at_most(f"{what}: processor time", used, limit, "s")
            yield at_most(f"{what}: relative error of norms and cosines", worst, accuracy, "")
    start = time.process_time()
    j = joint_risk(SparseTokenProblem(3, 1, 3.0), alpha=4.0, reg_query=0.1, reg_readout=0.1)
    yield at_most("joint minimum, L=3: processor time", time.process_time() - start, 15.0, "s")
    relative = j.test_error.uncertainty / j.test_error
    yield at_most("joint minimum, L=3: relative error of the test error", relative, 2e-3, "")


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


def joint(trials: int = 6, dim: int = 300) -> None:
    """Compare settings drawn at random: the minimum, and whether both starts find it."""
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
    run(lambda: print_rows("training", rows()), joint=joint)
