"""Theory beside trials: ``python -m benchmarks.agreement [MODELS] [--settings 10] [--trials 24]``.

Problems, sizes and settings are drawn at random, so none of them was looked at when the theory was
written. Trials are simulations that use nothing of the theory, at two dimensions: a difference that
shrinks with the dimension is of finite size, one that stays is an error. A row has the mean of a
number over its trials, and how many standard errors that is from the theory.
"""

import math
import warnings
from typing import Any

import numpy as np

from benchmarks.report import Table, mean_and_error, run
from sparsetoken import Population, SparseTokenProblem
from sparsetoken import models as registry

MODELS = ("pooled", "vectorized", "attention", "two-step", "training", "optimal")
DIMENSIONS = (150, 600)
DENSE = (100, 300)  # where a trial draws every token
NUMBERS = ("test_error", "cosine", "train_loss", "auc", "query_norm", "readout_norm", "bias")


def random_problem(rng: np.random.Generator, model: str) -> Any:
    """Return a problem, sometimes with several signal tokens, a run of them, or wrong labels."""
    dense = model == "training"
    n_tokens = int(rng.integers(2, 9 if dense else 30))
    n_signal = int(rng.integers(1, min(n_tokens, 4) + 1)) if rng.random() < 0.3 else 1
    signal = float(rng.uniform(2.0, 4.5)) / math.sqrt(n_signal)
    in_run = model == "optimal" and n_signal > 1 and bool(rng.random() < 0.5)
    problem = SparseTokenProblem(n_tokens, n_signal, signal, float(rng.uniform(0.3, 0.7)), in_run)
    if dense or rng.random() < 0.7:
        return problem
    return Population([problem], label_errors=rng.uniform(0.0, 0.2, 2).tolist())


def random_settings(rng: np.random.Generator, model: str) -> dict[str, Any]:
    """Return the settings of a model, drawn around values at which something is learned."""
    settings: dict[str, Any] = {"reg": float(10.0 ** rng.uniform(-2.0, 0.0))}
    if model == "attention":
        settings |= {"cosine": rng.uniform(0.5, 1.0), "sharpness": rng.uniform(0.5, 2.0)}
    if model in ("two-step", "training"):
        settings["lr_query"] = float(rng.uniform(4.0, 25.0))
    if model == "training":
        settings = {"steps": 4, "batches": str(rng.choice(["fresh", "reused"])), "reg": 0.0}
        settings |= {"lr_query": rng.uniform(1.0, 6.0), "lr_readout": rng.uniform(0.5, 2.0)}
    if model == "optimal":
        settings = {"unlabelled": float(rng.uniform(0.0, 2.0)) if rng.random() < 0.4 else 0.0}
    return settings


def compare(name: str, index: int, trials: int, table: Table) -> list[float]:
    """Print the numbers of one setting; return how far the larger dimension is off."""
    rng = np.random.default_rng([index, *name.encode()])
    problem, settings = random_problem(rng, name), random_settings(rng, name)
    size, model = float(rng.uniform(1.0, 4.0)), registry.get(name, settings)
    (predicted,) = model.theory(problem, [size], settings)
    numbers = [n for n in NUMBERS if n in model.predicted and n in model.simulated]
    expected = {number: getattr(predicted, number) for number in numbers}
    scores: list[float] = []
    for dim in DENSE if name == "training" else DIMENSIONS:
        drawn = [model.trial(problem, size, dim, settings, rng) for _ in range(trials)]
        scores = []
        for number, value in expected.items():
            mean, error = mean_and_error([getattr(trial, number) for trial in drawn])
            bar = math.hypot(error, getattr(value, "uncertainty", 0.0))
            scores.append((mean - value) / max(bar, 1e-12))
            table.add(name, index, dim, number, value, mean, error, scores[-1])
    return scores


def main(*models: str, settings: int = 10, trials: int = 24) -> None:
    warnings.simplefilter("ignore")  # what did not converge has its error bar
    summary = {}
    table = Table("model:10", "setting:7d", "dim:4d", "number:12", "theory:8.4f", "trials:8.4f",
                  "s.e.:7.4f", "off by:6.1f")  # fmt: skip
    for name in models or MODELS:
        off = [s for i in range(settings) for s in compare(name, i, trials, table)]
        summary[name] = np.sqrt(np.mean(np.square(off))), np.abs(off).max()
    for name, (rms, largest) in summary.items():
        print(f"{name}: root mean square {rms:.2f} standard errors, largest {largest:.1f}")


if __name__ == "__main__":
    run(main)
