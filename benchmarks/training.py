"""Training dynamics and the joint minimum: time, accuracy, dense simulation, robustness.

``python -m benchmarks training`` prints the rows; ``python -m benchmarks.training dense`` compares
ten settings with gradient descent on dense tokens at two dimensions;
``python -m benchmarks.training random [SETTINGS] [SEED]`` runs random settings.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Row, at_most
from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Loss, get_loss
from sparsetoken.pooling import Softmax
from sparsetoken.theory import ConvergenceWarning, joint_risk, training

PROBLEM = SparseTokenProblem(10, 1, 5.0)
RATES: dict[str, Any] = {
    "swinging": {"lr_query": 8.0, "lr_readout": 2.0},
    "calm": {"lr_query": 4.0, "lr_readout": 1.0},
}
BOUNDS = {"fresh": (1e-3, 5.0), "online": (1e-3, 5.0), "reused": (3e-3, 30.0)}
NAMES = ("cosine", "query_norm", "readout_cosine", "readout_norm", "bias", "train_loss")


def rows() -> Iterator[Row]:
    for batches, (accuracy, limit) in BOUNDS.items():
        training(PROBLEM, steps=2, alpha=1.0, batches=batches, n_points=256)  # compile
        for name, rates in RATES.items():
            start = time.process_time()
            t = training(PROBLEM, steps=10, alpha=2.0, batches=batches, **rates)
            elapsed = time.process_time() - start
            worst = max(
                float((t.uncertainty(q)[1:] / np.abs(getattr(t, q)[1:])).max()) for q in NAMES[:4]
            )
            what = f"training, {batches}, {name} rates, T=10, L=10"
            yield at_most(f"{what}: processor time", elapsed, limit, "s")
            yield at_most(
                f"{what}: largest relative error of norms and cosines", worst, accuracy, ""
            )
    start = time.process_time()
    j = joint_risk(SparseTokenProblem(3, 1, 3.0), alpha=4.0, reg_query=0.1, reg_readout=0.1)
    yield at_most("joint minimum, L=3: processor time", time.process_time() - start, 15.0, "s")
    relative = j.test_error.uncertainty / j.test_error
    yield at_most("joint minimum, L=3: relative error of the test error", relative, 2e-3, "")


def random_setting(rng: np.random.Generator) -> dict[str, Any]:
    n_tokens = int(rng.integers(1, 41))
    return {
        "problem": SparseTokenProblem(
            n_tokens,
            int(rng.integers(1, n_tokens + 1)),
            float(rng.uniform(0, 8)),
            float(rng.uniform(0.02, 0.98)),
        ),
        "steps": int(rng.integers(1, 9)),
        "alpha": float(np.exp(rng.uniform(np.log(0.1), np.log(50.0)))),
        "batches": str(rng.choice(["fresh", "reused", "online"], p=[0.45, 0.45, 0.1])),
        "loss": str(rng.choice(["logistic", "square"])),
        "beta": float(np.exp(rng.uniform(np.log(0.2), np.log(5.0)))),
        "lr_query": float(np.exp(rng.uniform(np.log(0.1), np.log(50.0)))),
        "lr_readout": float(np.exp(rng.uniform(np.log(0.1), np.log(20.0)))),
        "lr_bias": float(rng.uniform(0, 5)),
        "reg": float(rng.choice([0.0, 0.01, 0.1])),
    }


def run_random(n_settings: int = 300, seed: int = 0) -> None:
    """Every result must be finite, or be flagged with a warning."""
    rng = np.random.default_rng(seed)
    flagged, bad, times = 0, [], []
    for _ in range(n_settings):
        setting = random_setting(rng)
        start = time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            t = training(**setting, n_points=512)
        times.append(time.process_time() - start)
        strange = [w for w in caught if not issubclass(w.category, ConvergenceWarning)]
        told = len(caught) > len(strange)
        flagged += told
        values = [getattr(t, name) for name in (*NAMES, "test_error")]
        finite = all(np.isfinite(value).all() for value in values)
        sane = bool(np.all((t.test_error >= 0) & (t.test_error <= 1)))
        if not finite or not sane or strange or told == t.converged:
            bad.append((setting, t, strange))
    print(
        f"{n_settings} settings: {len(bad)} not finite or not told, {flagged} flagged; "
        f"median {np.median(times):.2f} s, longest {max(times):.1f} s"
    )
    for row in bad[:20]:
        print(*row)


def descend(
    problem: SparseTokenProblem, dim: int, rng: np.random.Generator, loss: Loss, **options: Any
) -> NDArray[np.float64]:
    """Gradient descent on dense tokens: cosines, norms, bias and loss after each step."""
    n_samples = round(options["alpha"] * dim)
    X, y, truth = problem.sample(n_samples, dim, random_state=rng, return_truth=True)
    q, w, b, rows = np.zeros(dim), np.zeros(dim), 0.0, []
    for step in range(options["steps"] + 1):
        sign, along = 2.0 * y - 1.0, X @ w
        weights = Softmax().weights(X @ q)
        score = np.einsum("nl,nl->n", weights, along)
        if step:
            norms = np.array([np.linalg.norm(q), np.linalg.norm(w)])
            cosines = np.array([q, w]) @ truth.direction / np.maximum(norms, 1e-300)
            value = loss.value(score + b, sign).mean()
            rows.append([cosines[0], norms[0], cosines[1], norms[1], b, value])
        slope = loss.derivative(score + b, sign) / n_samples
        pull = slope[:, np.newaxis] * weights
        change = pull * (along - score[:, np.newaxis])
        q = q - options["lr_query"] * np.tensordot(change, X, axes=2)
        w = w - options["lr_readout"] * np.tensordot(pull, X, axes=2)
        b = b - options["lr_bias"] * slope.sum()
        if options["batches"] == "fresh":
            X, y = problem.sample(n_samples, dim, random_state=rng, direction=truth.direction)
    return np.array(rows)


def run_dense(trials: int = 6) -> None:
    """Ten settings, new and reused samples, two dimensions: deviations in standard errors."""
    rng = np.random.default_rng(7)
    for index in range(10):
        problem = SparseTokenProblem(
            int(rng.integers(2, 9)), 1, float(rng.uniform(2, 4)), float(rng.uniform(0.25, 0.75))
        )
        options: dict[str, Any] = {
            "steps": 5,
            "alpha": float(rng.uniform(1, 4)),
            "lr_query": float(rng.uniform(1, 6)),
            "lr_readout": float(rng.uniform(0.5, 2)),
            "lr_bias": 1.0,
        }
        for batches in ("fresh", "reused"):
            options["batches"] = batches
            t = training(problem, **options, n_points=16384)
            expected = np.stack([getattr(t, name) for name in NAMES], axis=1)
            for dim in (150, 400):
                drawn = np.array(
                    [
                        descend(problem, dim, rng, get_loss("logistic"), **options)
                        for _ in range(trials)
                    ]
                )
                error = drawn.std(axis=0, ddof=1) / np.sqrt(trials)
                moved = error > 1e-12
                scores = (drawn.mean(axis=0) - expected)[moved] / error[moved]
                bias = np.abs(drawn.mean(axis=0) - expected)[1:, 0].mean()
                print(
                    f"{index} {batches:7} d={dim:4}: root mean square score "
                    f"{np.sqrt((scores**2).mean()):.2f}, largest {np.abs(scores).max():.1f}; "
                    f"mean deviation of the cosine {bias:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[2:]]
    if sys.argv[1] == "dense":
        run_dense(*numbers)
    else:
        run_random(*numbers)
