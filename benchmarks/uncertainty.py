"""Whether the error bars are honest: ``python -m benchmarks.uncertainty [SETTINGS] [SEED]``.

Every number of random settings, populations among them, is compared with that of a run with 16
times the points.
"""

import sys
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.robustness import random_setting
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
    "step": lambda r: r.step,
}


def main(n_settings: int = 200, seed: int = 0, n_points: int = 1024) -> None:
    """Print, for each number, how often it is within three bars of the finer one."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    rng = np.random.default_rng(seed)
    scores: dict[str, list[float]] = {name: [] for name in (*NUMBERS, "capacity")}
    for _ in range(n_settings):
        setting = random_setting(rng, ["attention"])
        rough, fine = (risk(n_points=n, **setting) for n in (n_points, 16 * n_points))
        if rough.converged and fine.converged:
            for name, number in NUMBERS.items():
                scores[name].append(_bars(number(rough), number(fine)))
        query = {name: setting[name] for name in ("cosine", "sharpness")}
        both = [
            capacity(setting["problem"], "attention", n_points=n, **query)
            for n in (n_points, 16 * n_points)
        ]
        scores["capacity"].append(_bars(*both))
    print("error over bar: share within 3, quantiles 50, 90, 95, 99 %")
    for name, found in scores.items():
        inside = 100 * np.mean(np.array(found) <= 3)
        quantiles = np.round(np.quantile(found, [0.5, 0.9, 0.95, 0.99]), 2)
        verdict = "ok  " if inside >= 95 else "MISS"
        print(f"{verdict} {name:<18} {inside:6.1f} % of {len(found)}  {quantiles}")


def _bars(rough: Estimate, fine: Estimate) -> float:
    if rough == fine:
        return 0.0
    return abs(rough - fine) / max(rough.uncertainty, 1e-12 * abs(fine), 1e-300)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
