"""A pooling of a user's own."""

import numpy as np

from sparsetoken.pooling import Pooling


class Rectified(Pooling):
    """Weights max(0, score)/L: whole sequences may have no weight at all."""

    def weigh(self, scores, segments):
        return np.maximum(scores, 0.0) / segments.spread(segments.lengths)
