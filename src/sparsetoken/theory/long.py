"""Attention to endless sequences with R = ρ√L signal tokens (docs/theory, section 15)."""

import math

import numpy as np
from scipy.special import ndtri

from sparsetoken.law import FeatureLaw, Part
from sparsetoken.pooling import Softmax
from sparsetoken.population import AnyProblem
from sparsetoken.theory.models import Model
from sparsetoken.theory.points import BATCHES


class LongSequences(Model):
    """Softmax attention whose features have the law to which that of long sequences tends.

    Up to the factor 1/√L it depends on the length by ρ = R/√L only: two Gaussians, shifted by
    ρθ exp(κθγ) along the signal, with noise exp(κ²/2) off the query and √(1 + κ²) times that along
    it.
    """

    def law(self, problem: AnyProblem) -> FeatureLaw:
        """Law of the features; the normal along the query is a quantile of each of the points."""
        each = max(self.n_points // BATCHES, 16)
        offsets = (np.arange(BATCHES) + 0.5) / BATCHES
        normal = ndtri((np.arange(each) + offsets[:, np.newaxis]).ravel() / each)
        spread = math.exp(0.5 * self.sharpness**2)
        sine = math.sqrt(max(0.0, 1.0 - self.cosine**2))
        parts = []
        for kind, positive, label, probability in problem.groups:
            root = math.sqrt(kind.n_tokens)
            along = self.sharpness + spread * math.hypot(1.0, self.sharpness) * normal / root
            lead = math.exp(self.sharpness * kind.signal * self.cosine)
            shift = kind.signal * kind.n_signal / kind.n_tokens * lead if positive else 0.0
            parts.append(
                Part(
                    label,
                    positive,
                    probability,
                    along + self.cosine * shift,
                    np.full(normal.size, sine * shift),
                    np.full(normal.size, spread / root),
                )
            )
        return FeatureLaw.mixture(parts, BATCHES)


def long_model(cosine: float, sharpness: float, n_points: int) -> LongSequences:
    """Return the model for a query at this cosine and sharpness."""
    return LongSequences("attention", Softmax(), cosine, sharpness, n_points)
