"""The law of a feature vector.

Given the true class, the positions of the signal and the noise of the tokens along the query, a
feature vector is Gaussian (docs/theory, section 2). Its law is therefore one of weighted points
(recorded label, along the query, along the rest of the signal, scale), made by the theory from
Sobol points and by :mod:`sparsetoken.sampling` from random ones. Either way the points come in
independent batches: how far the batches disagree is the error bar of every number that
:mod:`sparsetoken.performance` takes from them.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sparsetoken._types import Floats, Indices
from sparsetoken.problem import Problem


class Points(NamedTuple):
    """Weighted points; the weights add up to one."""

    label: Floats  # as recorded, ±1
    along_query: Floats  # a₁: the feature along the query's direction û
    along_rest: Floats  # μ₂: its mean along e₂, the signal's direction orthogonal to û
    scale: Floats  # c: its standard deviation along every direction orthogonal to û
    weight: Floats  # probability of each point

    def average(self, values: Floats) -> float:
        """Return the mean of ``values``; a plain sum, the threads of a BLAS would cost more."""
        return float(np.einsum("n,n->", self.weight, values))

    def where(self, rows: Any) -> "Points":
        """Return some of the points, their weights added up to one again."""
        subset = Points(*(column[rows] for column in self))
        if subset.weight.size == 0:
            raise ValueError("the samples must be of both labels, got one")
        return subset._replace(weight=subset.weight / subset.weight.sum())


class Part(NamedTuple):
    """Equally likely points of samples of one true class and recorded label, batch by batch."""

    label: float  # as recorded, ±1
    signal: bool  # whether the samples carry the signal: the true class
    probability: float
    along_query: Floats
    along_rest: Floats
    scale: Floats
    direction: int = 0  # index of the kind of signal


class Readout(NamedTuple):
    """A trained readout in the coordinates that matter."""

    along_query: float  # w₁: its component along the query
    along_rest: float  # w₂: its component along the rest of the signal's direction
    bias: float
    spread: float  # τ: the norm of everything else
    log_chi: float = 0.0  # log χ: what training does to its own samples' scores (section 4)

    @property
    def norm_rest(self) -> float:
        """ρ: the norm of the readout orthogonal to the query."""
        return math.hypot(self.along_rest, self.spread)

    def moved(self, by: Floats) -> "Readout":
        """Return the readout with the first entries of ``by`` added."""
        entries = np.array(self)
        entries[: by.size] += by
        return Readout(*entries.tolist())


def score_mean(points: Points, readout: Readout) -> Floats:
    """Mean score of each point, over the noise orthogonal to the query."""
    along = points.along_query * readout.along_query
    return along + points.along_rest * readout.along_rest + readout.bias


@dataclass(frozen=True, eq=False)
class FeatureLaw:
    """Law of the features of a sample, as points in equally large independent batches.

    Points are ordered by batch, then by part (a kind of sample, a true class, a recorded label).
    """

    points: Points
    direction: Indices
    """Index of each point's kind of signal; −1 of samples without signal."""
    batches: int = 1

    @classmethod
    def mixture(cls, parts: Iterable[Part], batches: int = 1) -> "FeatureLaw":
        """Return the law of parts; those of probability zero are left out."""
        columns = []
        for part in parts:
            if part.probability > 0.0:
                weight = part.probability / part.scale.size
                direction = part.direction if part.signal else -1
                triple = part.along_query, part.along_rest, part.scale
                column = np.broadcast_arrays(part.label, *triple, weight, direction)
                columns.append([values.reshape(batches, -1) for values in column])
        joined = [np.concatenate(x, axis=1).ravel() for x in zip(*columns, strict=True)]
        return cls(Points(*joined[:5]), joined[5], batches)

    @cached_property
    def positive(self) -> Points:
        """The points of samples recorded as positive, given that they are."""
        return self.points.where(self.points.label > 0)

    @cached_property
    def negative(self) -> Points:
        """The points of samples recorded as negative, given that they are."""
        return self.points.where(self.points.label < 0)

    @cached_property
    def noise(self) -> Points:
        """The points of samples that do not carry the signal, given that they do not."""
        return self.points.where(self.direction < 0)

    def rows(self, index: int) -> slice:
        """Return where the points of one batch are."""
        size = self.direction.size // self.batches
        return slice(index * size, (index + 1) * size)

    def batch(self, index: int) -> "FeatureLaw":
        """Return the law of one batch alone: a coarse version of the whole."""
        rows = self.rows(index)
        points = Points(*(column[rows] for column in self.points))
        points = points._replace(weight=points.weight * self.batches)
        return FeatureLaw(points, self.direction[rows])

    def by_batch(self, values: Floats) -> Floats:
        """Average ``values``, one per entry of :attr:`points`, within each batch."""
        weighted = self.batches * self.points.weight * values
        return np.asarray(weighted.reshape(self.batches, -1).sum(axis=1))


def linear_law(problem: Problem, n_tokens: int) -> FeatureLaw:
    """Law of √n_tokens times the mean token, exact by one point each.

    For sequences of ``n_tokens`` the noise is one, and it is the law of a vectorized model's
    features, along the direction of the signal spread evenly over the tokens.
    """
    zero, parts = np.zeros(1), []
    for kind, positive, label, probability in problem.groups:
        unit = math.sqrt(n_tokens / kind.n_tokens)
        mean = unit * kind.snr if positive else 0.0
        scale = np.full(1, unit)
        parts.append(Part(label, positive, probability, zero, np.full(1, mean), scale))
    return FeatureLaw.mixture(parts)
