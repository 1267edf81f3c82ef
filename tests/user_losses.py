"""Losses as a user would write them."""

import numpy as np

from sparsetoken.losses import Loss


class SmoothedHinge(Loss):
    """A user's loss: three methods, no prox, a jump in the second derivative."""

    def value(self, z, y):
        gap = np.maximum(0.0, 1.0 - y * z)
        return np.where(gap < 1.0, 0.5 * gap**2, gap - 0.5)

    def derivative(self, z, y):
        return -y * np.clip(1.0 - y * z, 0.0, 1.0)

    def second_derivative(self, z, y):
        return np.where((y * z < 1.0) & (y * z > 0.0), 1.0, 0.0)
