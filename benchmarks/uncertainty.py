"""Whether the error bars are honest: ``python -m benchmarks.uncertainty [SETTINGS] [SEED] [FILE]``.

Every number of random settings, populations among them, is compared with that of a run with 16
times the points. With a FILE, what is found is kept there and a second call goes on.
"""

import contextlib
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Kept, Table, run
from benchmarks.robustness import random_setting
from sparsetoken import theory
from sparsetoken.estimate import Estimate
from sparsetoken.theory import ConvergenceWarning, Risk, capacity, risk

NUMBERS: dict[str, Callable[[Risk], Estimate]] = {
    "test error": lambda r: r.test_error,
    "training loss": lambda r: r.train_loss,
    "training error": lambda r: r.train_error,
    "test loss": lambda r: r.test_loss,
    "AUC": lambda r: r.auc,
    "recall at 1 %": lambda r: r.recall(0.01),
    "threshold at 1 %": lambda r: r.threshold(0.01),
    "bias": lambda r: r.bias,
    "readout norm": lambda r: r.readout_norm,
    "readout overlap": lambda r: r.readout_overlap,
    "readout spread": lambda r: r.readout_spread,
    "chi": lambda r: r.chi,
}
MODELS = ("attention", "attention", "hardmax", "elementwise")
POINTS = 512
FINER = 16


def scores(setting: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield each number of a setting by name: how many bars it is off the finer one."""
    try:
        rough, fine = (risk(n_points=n, **setting) for n in (POINTS, FINER * POINTS))
        solved = rough.converged and fine.converged
    except ValueError:  # separable and no ridge: there is nothing to solve
        solved = False
    if solved:
        for name, number in NUMBERS.items():
            yield name, _bars(number(rough), number(fine))
    model, problem = setting["model"], setting["problem"]
    query = {name: setting[name] for name in ("cosine", "sharpness")}
    yield "capacity", _compare(lambda n: capacity(problem, model, n_points=n, **query))
    if max(kind.n_tokens for kind in problem.kinds) <= 50:  # longer ones take long
        yield "oracle error", _compare(lambda n: theory.oracle_error(problem, model, n_points=n))
        error = 0.5 * min(problem.positive_rate, 1.0 - problem.positive_rate)
        required = partial(theory.required_signal, problem, model, error=error)
        with contextlib.suppress(ValueError):  # wrong labels put a floor above the error
            yield "required signal", _compare(lambda n: required(n_points=n), 256)


def _compare(number: Callable[[int], Estimate], n_points: int = POINTS) -> float:
    return _bars(number(n_points), number(FINER * n_points))


def _bars(rough: Estimate, fine: Estimate) -> float:
    if abs(rough - fine) < 1e-15:
        return 0.0
    return abs(rough - fine) / max(rough.uncertainty, 1e-12 * abs(fine), 1e-300)


def main(settings: int = 200, seed: int = 0, file: Path | None = None) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    rng, kept = np.random.default_rng(seed), Kept(file)
    found: dict[str, list[float]] = defaultdict(list)
    for index in range(settings):
        setting = random_setting(rng, MODELS)
        for name, off in kept.get(f"{seed} {index}", partial(list, scores(setting))):
            found[name].append(off)
            if off > 10.0:
                print(f"#{index} {name}: {off:.1f} bars off, {setting}", flush=True)
    print("error over bar:")
    table = Table(":4", "number:18", "within 3:8.1%", "of:4d", "50 %:6.2f", "90 %:6.2f",
                  "95 %:6.2f", "99 %:6.2f")  # fmt: skip
    for name, offs in found.items():
        inside = np.mean(np.array(offs) <= 3)
        quantiles = np.quantile(offs, [0.5, 0.9, 0.95, 0.99])
        table.add("ok" if inside >= 0.95 else "MISS", name, inside, len(offs), *quantiles)


if __name__ == "__main__":
    run(main)
