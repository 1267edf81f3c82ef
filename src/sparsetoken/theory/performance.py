"""What a fixed readout achieves on the features of a problem."""

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sparsetoken.losses import Loss
from sparsetoken.theory.points import FeatureLaw
from sparsetoken.theory.saddle import Readout, score_mean
from sparsetoken.theory.smoothing import envelope_moments

__all__ = ["Performance"]

Array = NDArray[np.float64]

_PAIRINGS = 64
_LEAST_UNCERTAINTY = 1e-8  # the quadratures over G are not better than this
RESOLUTION = 3.0


@dataclass(frozen=True, repr=False)
class Performance:
    """Test error of a readout on a feature law, and what goes with it.

    Parameters
    ----------
    law : FeatureLaw
        Law of the features it is tested on.
    readout : Readout
        The trained readout.
    loss : Loss
        The loss that ``test_loss`` averages.
    moves : ndarray of shape (batches, 4)
        How far each batch alone would move the readout: its numerical uncertainty.
    """

    law: FeatureLaw = field(compare=False)
    readout: Readout
    loss: Loss
    moves: Array = field(compare=False)

    @cached_property
    def test_error(self) -> float:
        """Probability that a fresh sample is classified wrongly."""
        return self.law.points.average(self._errors)

    @cached_property
    def uncertainty(self) -> float:
        """Estimated numerical error of ``test_error``: one standard error."""
        if self.law.batches == 1:
            return _LEAST_UNCERTAINTY
        points = self.law.points
        z = np.clip(self._standardised, -1e3, 1e3)  # infinite for a readout without noise
        density = np.exp(-0.5 * z**2) / -math.sqrt(2 * math.pi)
        deviation = np.maximum(points.scale * self.readout.norm_rest, 1e-300)
        ahead = density * points.label / deviation
        norm = max(self.readout.norm_rest, 1e-300)
        wider = -density * z / norm
        slopes = np.stack(
            [
                ahead * points.along_query,
                ahead * points.along_rest + wider * self.readout.along_rest / norm,
                ahead,
                wider * self.readout.spread / norm,
            ]
        )
        batches = self.law.by_batch(self._errors) + self.moves @ np.array(
            [points.average(slope) for slope in slopes]
        )
        error = float(np.std(batches, ddof=1)) / math.sqrt(self.law.batches)
        # Errors on tokens rarer than the points can show do not appear in their spread.
        return math.hypot(error, 0.02 / self.law.positive.weight.size)

    @cached_property
    def test_loss(self) -> float:
        """Mean loss of a fresh sample."""
        p = self.law.points
        norm = self.readout.norm_rest
        mean = score_mean(p, self.readout)
        moments = envelope_moments(
            self.loss, p.label, mean, p.scale, norm, 0.0, resolution=RESOLUTION
        )
        return p.average(moments.envelope)

    @cached_property
    def auc(self) -> float:
        """Probability that a fresh positive sample scores above a fresh negative one."""
        p, size = self.law.points, self.law.positive.weight.size
        mean, deviation = score_mean(p, self.readout), p.scale * self.readout.norm_rest
        rng = np.random.default_rng(0)
        total = 0.0
        for _ in range(_PAIRINGS if size > 1 else 1):
            other = size + rng.permutation(size)
            gap = mean[:size] - mean[other]
            spread = np.hypot(deviation[:size], deviation[other])
            total += float(ndtr(_divide(gap, spread)).mean())
        return total / (_PAIRINGS if size > 1 else 1)

    @cached_property
    def _standardised(self) -> Array:
        """Margin of each point over its standard deviation."""
        p = self.law.points
        return _divide(p.label * score_mean(p, self.readout), p.scale * self.readout.norm_rest)

    @cached_property
    def _errors(self) -> Array:
        return ndtr(-self._standardised)

    def __repr__(self) -> str:
        return f"Performance(test_error={self.test_error:.6g} ± {self.uncertainty:.1g})"


def _divide(value: Array, deviation: Array) -> Array:
    """Ratio that is ±∞ where there is no noise, and 0 where there is no value either."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(value == 0.0, 0.0, value / deviation)
