"""Whether a measured learning curve bends the wrong way."""

import math

import numpy as np
from numpy.typing import NDArray

from sparsetoken.planner.curves import Measurements

Array = NDArray[np.float64]

_CLEARLY = 4.0  # standard errors that an error must rise by: many sizes are compared
_RECENT = 0.1  # of the largest size: smaller ones are not looked at


def find_rise(measured: Measurements) -> tuple[int, int] | None:
    """Return the sizes between which the first metric rises most clearly, if it does.

    Means of one to three neighboring sizes are compared with those of later ones, as angles, in
    units of the noise of the tests or of the curve's own roughness, whichever is larger. Roughness
    is that of draws of training samples: its variance shrinks as one over the size.
    """
    sizes, place = np.unique(measured.sizes, return_inverse=True)
    rates = np.bincount(place, weights=measured.shortfalls[0]) / np.bincount(place)
    angle = np.arcsin(np.sqrt(np.clip(rates, 0.0, 1.0)))
    roughness = 0.0
    if sizes.size >= 6:  # third differences see no smooth curve
        roughness = float(np.median(np.abs(np.diff(angle, 3)))) / (0.6745 * math.sqrt(20.0))
    drawn = roughness**2 * np.median(sizes) / sizes
    variance = np.maximum(drawn, 0.25 / measured.n_tested)
    clearest, where = _CLEARLY, None
    for width in (1, 2, 3):
        mean, bar = (_running_mean(values, width) for values in (angle, variance / width))
        early = int(np.searchsorted(sizes, _RECENT * sizes[-1]))  # old dips have no say any more
        for before, after in early + np.transpose(np.triu_indices(mean.size - early, width)):
            rise = (mean[after] - mean[before]) / math.sqrt(bar[before] + bar[after])
            if rise > clearest:
                clearest, where = rise, (round(sizes[before]), round(sizes[after + width - 1]))
    return where


def _running_mean(values: Array, width: int) -> Array:
    return np.convolve(values, np.full(width, 1.0 / width), mode="valid")
