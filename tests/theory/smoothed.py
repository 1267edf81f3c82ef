"""A user's loss, and points to average a loss at."""

import numpy as np


class Huber:
    """A user's loss without prox; its envelope has no closed form here."""

    def value(self, z, y):
        gap = np.maximum(0.0, 1.0 - y * z)
        return np.where(gap < 1.0, 0.5 * gap**2, gap - 0.5)

    def derivative(self, z, y):
        return -y * np.clip(1.0 - y * z, 0.0, 1.0)

    def second_derivative(self, z, y):
        return np.where((y * z < 1.0) & (y * z > 0.0), 1.0, 0.0)


def settings(size, seed=1):
    rng = np.random.default_rng(seed)
    label = rng.choice([-1.0, 1.0], size)
    return label, rng.normal(0, 3, size), rng.uniform(0.2, 1.0, size)
