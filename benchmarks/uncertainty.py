"""Whether the error bars are honest: ``python -m benchmarks.uncertainty [SETTINGS] [SEED]``.

The test error of random settings is compared with that of a run with 16 times the points.
"""

import sys
import warnings

import numpy as np

from benchmarks.robustness import random_setting
from sparsetoken.theory import ConvergenceWarning, risk


def main(n_settings: int = 200, seed: int = 0, n_points: int = 1024) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    rng = np.random.default_rng(seed)
    scores = []
    for index in range(n_settings):
        setting = random_setting(rng, ["attention"])
        rough = risk(n_points=n_points, **setting)
        fine = risk(n_points=16 * n_points, **setting)
        scores.append(abs(rough.test_error - fine.test_error) / rough.uncertainty)
        if (index + 1) % 50 == 0:
            inside = 100 * np.mean(np.array(scores) <= 3)
            print(f"{index + 1} settings: {inside:.1f} % within three error bars", flush=True)
    quantiles = np.quantile(scores, [0.5, 0.9, 0.95, 0.99])
    print("error over bar, quantiles 50, 90, 95, 99 %:", np.round(quantiles, 2))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
