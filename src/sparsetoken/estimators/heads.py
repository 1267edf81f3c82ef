"""Heads: a query and a readout each, learned together from a balanced two-step start.

In standard coordinates the readout is w = c·q + r: what the query looks for is also what the
readout counts, up to a correction r. The objective of a head is

    Σ sᵢ ℓ(⟨w, Xᵢᵀ softmax(Xᵢq)⟩ + b; yᵢ) + (λ/2)(‖q‖² + ‖r‖²)

with c and b free: with separate penalties on q and w the signal's direction would have to be
learned, and paid for, twice. L-BFGS minimises all of them together, over candidates, folds and
classes; a step of all is one pass over the tokens. A pooled head has query zero.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetoken.estimators.head_passes import (
    Heads,
    head_gradients,
    head_scores,
    pooled_gradients,
    query_gradients,
)
from sparsetoken.estimators.minimize import minimize_many
from sparsetoken.estimators.standardize import Standard
from sparsetoken.sequences.data import Data
from sparsetoken.sequences.passes import pooled_features

__all__ = ["Candidate", "Job", "fit_heads", "score_heads", "two_step_queries"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Candidate(NamedTuple):
    """A way to fit a head."""

    model: str
    """Which kind: "attention" or "pooled"."""
    shrinkage: float | None
    reg: float

    def __str__(self) -> str:
        return f"{self.model}, shrinkage {self.shrinkage}, reg {self.reg:g}"


class Job(NamedTuple):
    """A head to fit: how, to which column of the labels and to which column of the weights."""

    candidate: Candidate
    sign_of: int
    share_of: int


def fit_heads(
    data: Data,
    signs: Floats,
    shares: Floats,
    standard: Standard,
    jobs: list[Job],
    steps: int,
    start: Heads | None = None,
) -> Heads:
    """Return the head of each job, in scaled coordinates.

    Parameters
    ----------
    data : Data
        The sequences.
    signs, shares : ndarray of shape (n, C), (n, F)
        Labels ±1, and weights that sum to one in each column.
    standard : Standard
        Coordinates for each shrinkage among the jobs.
    jobs : list of Job
        What to fit.
    steps : int
        Most steps of L-BFGS; stopping early is part of the regularisation.
    start : Heads, optional
        Where to start instead of the two-step queries, for instance a fit to some of the samples.
    """
    size = data.dim
    queries, readouts = np.zeros((2, size, len(jobs)))
    found = Heads(standard.mean, standard.scale, queries, readouts, np.zeros(len(jobs)))
    for model, fit in (("attention", _fit_attention), ("pooled", _fit_pooled)):
        chosen = [k for k, job in enumerate(jobs) if job.candidate.model == model]
        if chosen:
            some = [jobs[k] for k in chosen]
            first = None if start is None else start.some(chosen)
            heads = fit(data, signs, shares, standard, some, steps, first)
            for ours, theirs in zip(found[2:], heads[2:], strict=True):
                ours[..., chosen] = theirs
    return found


def score_heads(data: Data, heads: Heads) -> Floats:
    """Return the score of each sequence by each head, of shape (n, K)."""
    return data.per_sample(head_scores, heads)


def _fit_attention(
    data: Data,
    signs: Floats,
    shares: Floats,
    standard: Standard,
    jobs: list[Job],
    steps: int,
    start: Heads | None,
) -> Heads:
    objective = _Attention(data, signs, shares, standard, jobs)
    first = objective.two_step_points() if start is None else objective.points_of(start)
    points = minimize_many(objective, first, steps, _TOLERANCE)
    return objective.heads_at(points, np.arange(len(jobs)))


class _Attention:
    """Value and slope of the objective; a point is a job's query q, r, c and b in a row."""

    def __init__(
        self, data: Data, signs: Floats, shares: Floats, standard: Standard, jobs: list[Job]
    ) -> None:
        self.data, self.labels, self.standard, self.jobs = data, (signs, shares), standard, jobs
        self.frame = _Frame(standard, jobs)
        self.regs = np.array([job.candidate.reg for job in jobs])[:, np.newaxis]
        self.sign_of, self.share_of = _columns_of(jobs)

    def __call__(self, points: Floats, which: Indices) -> tuple[Floats, Floats]:
        query, rest, ratio, _ = self._parts(points)
        regs = self.regs[which]
        found = self.data.total(
            head_gradients,
            self.labels,
            self.heads_at(points, which),
            self.sign_of[which],
            self.share_of[which],
        )
        by_query = self.frame.from_scaled(found[1].T, which)
        by_readout = self.frame.from_scaled(found[2].T, which)
        values = found[0] + 0.5 * regs[:, 0] * (query**2 + rest**2).sum(axis=1)
        gradients = [
            by_query + ratio * by_readout + regs * query,
            by_readout + regs * rest,
            (query * by_readout).sum(axis=1, keepdims=True),
            found[3][:, np.newaxis],
        ]
        return values, np.concatenate(gradients, axis=1)

    def heads_at(self, points: Floats, which: Indices) -> Heads:
        """Return the heads at some points."""
        query, rest, ratio, bias = self._parts(points)
        return Heads(
            self.standard.mean,
            self.standard.scale,
            self.frame.to_scaled(query, which).T,
            self.frame.to_scaled(ratio * query + rest, which).T,
            bias[:, 0],
        )

    def two_step_points(self) -> Floats:
        """Return the points of the two-step queries, with r = 0."""
        queries, ratio = two_step_queries(self.data, *self.labels, self.standard, self.jobs)
        bias = np.zeros((len(queries), 1))
        return np.concatenate([queries, np.zeros_like(queries), ratio[:, None], bias], axis=1)

    def points_of(self, heads: Heads) -> Floats:
        """Return the points at which these are the heads, with r orthogonal to q."""
        everyone = np.arange(len(self.jobs))
        queries = self.frame.to_standard(heads.queries.T, everyone)
        readouts = self.frame.to_standard(heads.readouts.T, everyone)
        norm = np.maximum((queries**2).sum(axis=1, keepdims=True), 1e-300)
        ratio = (queries * readouts).sum(axis=1, keepdims=True) / norm
        rest = readouts - ratio * queries
        return np.concatenate([queries, rest, ratio, heads.biases[:, np.newaxis]], axis=1)

    def _parts(self, points: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        size = self.data.dim
        return points[:, :size], points[:, size:-2], points[:, -2:-1], points[:, -1:]


_TOLERANCE = 1e-4


def two_step_queries(
    data: Data, signs: Floats, shares: Floats, standard: Standard, jobs: list[Job]
) -> tuple[Floats, Floats]:
    """Return two-step queries of norm one in standard coordinates, and the sign of their readout.

    The slopes of the second step, taken at small learning rates, are centred: both classes have
    the same weight, counted in tokens less one, which is what a sequence adds to the query's
    gradient along the readout. So neither the class prior nor different lengths of the classes can
    turn the query round (docs/theory, section 3), and long sequences do not drown it.
    """
    frame = _Frame(standard, jobs)
    everyone = np.arange(len(jobs))
    sign_of, share_of = _columns_of(jobs)
    sign, share = signs[:, sign_of], shares[:, share_of]
    pooled = standard.centred(data.per_sample(pooled_features))
    readout = frame.from_scaled((_balanced(sign, share).T @ pooled), everyone)
    spread = 1.0 - 1.0 / data.lengths[:, np.newaxis]
    (gradient,) = data.total(
        query_gradients,
        (-_balanced(sign, share, spread),),
        standard.mean,
        standard.scale,
        frame.to_scaled(readout, everyone).T,
    )
    query = -frame.from_scaled(gradient.T, everyone)
    norm = np.linalg.norm(query, axis=1, keepdims=True)
    query = np.divide(query, norm, out=np.zeros_like(query), where=norm > 0)
    agree = (query * readout).sum(axis=1) >= 0
    return query, np.where(agree, 1.0, -1.0)


def _balanced(sign: Floats, share: Floats, spread: Floats | float = 1.0) -> Floats:
    """Return ±share, scaled so that share·spread of each class sums to one half."""
    weight = share * spread
    total = np.where(
        sign > 0,
        np.where(sign > 0, weight, 0.0).sum(axis=0),
        np.where(sign < 0, weight, 0.0).sum(axis=0),
    )
    return 0.5 * sign * np.divide(share, total, out=np.zeros_like(share), where=total > 0)


def _fit_pooled(
    data: Data,
    signs: Floats,
    shares: Floats,
    standard: Standard,
    jobs: list[Job],
    steps: int,
    start: Heads | None,
) -> Heads:
    """Fit readouts of the mean token: convex, so that ``steps`` do not matter."""
    frame, everyone = _Frame(standard, jobs), np.arange(len(jobs))
    regs = np.array([job.candidate.reg for job in jobs])
    sign_of, share_of = _columns_of(jobs)
    means = data.pooled()

    def objective(points: Floats, which: Indices) -> tuple[Floats, Floats]:
        values, by_readout, by_bias = means.total(
            pooled_gradients,
            (signs, shares),
            standard.mean,
            standard.scale,
            frame.to_scaled(points[:, :-1], which).T,
            points[:, -1],
            sign_of[which],
            share_of[which],
        )
        values = values + 0.5 * regs[which] * (points[:, :-1] ** 2).sum(axis=1)
        by_readout = frame.from_scaled(by_readout.T, which)
        by_readout += regs[which, np.newaxis] * points[:, :-1]
        return values, np.column_stack([by_readout, by_bias])

    first = np.zeros((len(jobs), data.dim + 1))
    if start is not None:
        first[:, :-1] = frame.to_standard(start.readouts.T, everyone)
        first[:, -1] = start.biases
    points = minimize_many(objective, first, _POOLED_STEPS, _POOLED_TOLERANCE)
    readouts = frame.to_scaled(points[:, :-1], everyone).T
    queries = np.zeros_like(readouts)
    return Heads(standard.mean, standard.scale, queries, readouts, points[:, -1])


_POOLED_STEPS, _POOLED_TOLERANCE = 100, 1e-6


def _columns_of(jobs: list[Job]) -> tuple[Indices, Indices]:
    return np.array([job.sign_of for job in jobs]), np.array([job.share_of for job in jobs])


class _Frame:
    """Vectors of many jobs, a row each, between standard and scaled coordinates."""

    def __init__(self, standard: Standard, jobs: list[Job]) -> None:
        self.standard = standard
        self.known = list(dict.fromkeys(job.candidate.shrinkage for job in jobs))
        self.kind = np.array([self.known.index(job.candidate.shrinkage) for job in jobs])

    def to_scaled(self, rows: Floats, which: Indices) -> Floats:
        return self._each(self.standard.to_scaled, rows, which)

    def from_scaled(self, rows: Floats, which: Indices) -> Floats:
        return self._each(self.standard.from_scaled, rows, which)

    def to_standard(self, rows: Floats, which: Indices) -> Floats:
        return self._each(self.standard.to_standard, rows, which)

    def _each(self, change, rows, which):  # type: ignore[no-untyped-def]
        found = np.empty_like(rows)
        for number, shrinkage in enumerate(self.known):
            chosen = self.kind[which] == number
            found[chosen] = change(rows[chosen], shrinkage)
        return found
