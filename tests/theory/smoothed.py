"""Points to average a loss at."""

import numpy as np


def settings(size, seed=1):
    rng = np.random.default_rng(seed)
    label = rng.choice([-1.0, 1.0], size)
    return label, rng.normal(0, 3, size), rng.uniform(0.2, 1.0, size)
