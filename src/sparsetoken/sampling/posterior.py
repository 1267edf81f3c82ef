"""The posterior mean of the direction, found by message passing on samples never built.

The iteration (docs/theory, section 17) uses the noise of the tokens only in products with vectors,
which are drawn when they are needed (hidden_noise.py).
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from sparsetoken._types import Bools, Floats
from sparsetoken._validation import check_choice, check_count
from sparsetoken.estimate import Estimate, Record
from sparsetoken.places import weigh_places
from sparsetoken.problem import (
    Problem,
    RandomState,
    SparseTokenProblem,
    check_problem,
    prepare_sample,
)
from sparsetoken.sampling.hidden_noise import HiddenNoise

__all__ = ["PosteriorMean", "sample_posterior_mean"]
_TOLERANCE = 1e-6  # of the squared length, between two iterations


class PosteriorMean(Record):
    """What the iteration has learned about the direction of the signal.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the samples.
    mean, directions : ndarray of shape (n_kinds, dim)
        The posterior means of the directions of the kinds of signal, and these directions, in an
        order in which they belong together.
    overlap : float
        The squared length that the iteration expects of a mean.
    n_iterations : int
        How many it took.
    converged : bool
        Whether the last one changed hardly anything.
    """

    columns = ("cosine", "norm", "overlap", "n_iterations", "converged")

    problem: Problem
    mean: Floats
    directions: Floats
    overlap: float
    n_iterations: int
    converged: bool

    def __init__(
        self,
        problem: Problem,
        mean: Floats,
        directions: Floats,
        overlap: float,
        n_iterations: int,
        converged: bool,
    ) -> None:
        vars(self).update(problem=problem, mean=mean, directions=directions, overlap=overlap)
        vars(self).update(n_iterations=n_iterations, converged=converged)

    @property
    def norm(self) -> float:
        """Length of the mean; of several, the root of the mean square."""
        return float(np.linalg.norm(self.mean)) / math.sqrt(len(self.mean))

    @property
    def cosine(self) -> float:
        """Cosine between the mean and the direction; 0 if nothing has been learned.

        Of several kinds, the average.
        """
        lengths = np.linalg.norm(self.mean, axis=1)
        overlaps = np.einsum("kd,kd->k", self.mean, self.directions)
        return float(np.mean(overlaps / np.where(lengths > 0.0, lengths, 1.0)))

    def test_error(self, n_samples: int = 20_000, random_state: RandomState = None) -> Estimate:
        """Return the error of the posterior odds on fresh samples, of which only scores are drawn.

        Parameters
        ----------
        n_samples : int, default=20000
            Number of samples.
        random_state : int, Generator or None, default=None
            Source of randomness.
        """
        chances, labels = self.judge(n_samples, random_state)
        wrong = (chances > 0.5) != labels
        return Estimate(wrong.mean(), wrong.std(ddof=1) / math.sqrt(wrong.size))

    def judge(
        self, n_samples: int = 20_000, random_state: RandomState = None
    ) -> tuple[Floats, Bools]:
        """Return the chance that each fresh sample is recorded as positive, and its label.

        Parameters
        ----------
        n_samples : int, default=20000
            Number of samples.
        random_state : int, Generator or None, default=None
            Source of randomness.
        """
        rng = np.random.default_rng(random_state)
        missed, invented = self.problem.label_errors
        square = self.mean @ self.mean.T
        sizes, axes = np.linalg.eigh(square)
        root = (axes * np.sqrt(np.maximum(sizes, 0.0))) @ axes.T
        blocks = _draw_blocks(self.problem, check_count("n_samples", n_samples), rng, False)
        chances = []
        for block in blocks:
            scores = block.signal @ (self.directions @ self.mean.T)
            scores += rng.standard_normal(scores.shape) @ root
            carries = block.posterior(scores, np.diag(square)).carries
            chances.append(carries * (1.0 - missed) + (1.0 - carries) * invented)
        return np.concatenate(chances), np.concatenate([block.label for block in blocks])

    def __repr__(self) -> str:
        return (
            f"PosteriorMean(cosine={self.cosine:.4f}, norm={self.norm:.4f}, "
            f"n_iterations={self.n_iterations}, dim={self.mean.shape[1]})"
        )


class _Posterior(NamedTuple):
    """What is expected of samples, given scores of their tokens."""

    mean: Floats
    """Of the tokens' signal along each direction, shape (samples, n_tokens, n_kinds)."""
    square: Floats
    carries: Floats
    """Chance that a sample carries the signal."""


class _Block(NamedTuple):
    """Samples of one length about which the same is recorded."""

    kinds: tuple[SparseTokenProblem, ...]
    chances: Floats
    """Of a sample to be a positive of each kind, before its tokens are seen."""
    signal: Floats
    """True signal of each token along each direction, shape (samples, n_tokens, n_kinds)."""
    label: Bools
    """Recorded labels."""

    def posterior(self, scores: Floats, overlaps: Floats) -> _Posterior:
        """Return what is expected if scores are signals times M, with noise of covariance M.

        ``overlaps`` is the diagonal of M.
        """
        rest = max(1.0 - float(self.chances.sum()), 0.0)
        with np.errstate(divide="ignore"):
            logs = np.log(np.append(self.chances, rest))
        terms = np.tile(logs[:, np.newaxis], len(scores))
        weights = []
        for kind, term in zip(self.kinds, terms, strict=False):
            exponents = kind.signal * scores - 0.5 * kind.signal**2 * overlaps
            by_kind = np.moveaxis(exponents, 2, 1).reshape(
                len(scores), kind.n_kinds * kind.n_tokens
            )
            log_mean, chances = weigh_places(by_kind, kind.n_signal, kind.contiguous, kind.n_kinds)
            term += log_mean
            weights.append(
                np.moveaxis(chances.reshape(len(scores), kind.n_kinds, kind.n_tokens), 1, 2)
            )
        terms = softmax(terms, axis=0)
        mean, square = np.zeros_like(scores), np.zeros_like(scores)
        for kind, term, chances in zip(self.kinds, terms, weights, strict=False):
            mean += kind.signal * term[:, np.newaxis, np.newaxis] * chances
            square += kind.signal**2 * term[:, np.newaxis, np.newaxis] * chances
        return _Posterior(mean, square, 1.0 - terms[-1])


def sample_posterior_mean(
    problem: Problem,
    n_samples: int,
    dim: int,
    *,
    n_unlabelled: int = 0,
    start: str = "nothing",
    max_iter: int = 100,
    direction: ArrayLike | None = None,
    random_state: RandomState = None,
) -> PosteriorMean:
    """Learn the direction by message passing from samples whose tokens are never built.

    The result has the law that the iteration has on dense samples of these sizes.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model the samples come from; the iteration knows it.
    n_samples, dim : int
        Number of labelled samples and features per token.
    n_unlabelled : int, default=0
        Number of further samples whose labels are not seen.
    start : {"nothing", "informed"}, default="nothing"
        Where the iteration begins: without knowledge, or with the true places of the signal.
    max_iter : int, default=100
        Iterations at most.
    direction : array-like of shape (dim,) or (n_kinds, dim), optional
        The signal's unit vector, or those of its kinds; drawn unless given.
    random_state : int, Generator or None, default=None
        Source of randomness.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=10, signal=5.0)
    >>> learned = st.sampling.sample_posterior_mean(problem, 1000, 500, random_state=0)
    >>> round(learned.cosine, 2)
    0.98
    """
    check_problem(problem)
    check_choice("start", start, ("nothing", "informed"))
    max_iter = check_count("max_iter", max_iter)
    n_unlabelled = check_count("n_unlabelled", n_unlabelled, minimum=0)
    setting = prepare_sample(problem, n_samples, dim, random_state, direction, np.float64)
    dim, rng, directions = setting.dim, setting.rng, setting.directions
    blocks = _draw_blocks(problem, n_samples, rng, True)
    if n_unlabelled:
        blocks += _draw_blocks(problem, n_unlabelled, rng, False)
    blocks = [block for block in blocks if block.chances.sum() > 0.0 and len(block.label)]
    if not blocks:  # nothing that may carry the signal has been drawn
        return PosteriorMean(problem, np.zeros_like(directions), directions, 0.0, 0, True)
    n_tokens = sum(block.signal.size for block in blocks) // problem.n_kinds
    noise = HiddenNoise(n_tokens, dim, rng)
    return iterate(problem, blocks, noise, directions, start == "informed", max_iter, rng)


def iterate(
    problem: Problem,
    blocks: list[_Block],
    noise: HiddenNoise,
    directions: Floats,
    informed: bool,
    max_iter: int,
    rng: np.random.Generator,
) -> PosteriorMean:
    """Pass messages between the directions and the signals of the tokens until both stay."""
    n_kinds, dim = directions.shape
    signal = np.concatenate([block.signal.reshape(-1, n_kinds) for block in blocks])
    edges = np.cumsum([0, *(len(block.signal) * block.signal.shape[1] for block in blocks)])
    mean, overlaps = np.zeros((n_kinds, dim)), np.zeros(n_kinds)
    expected = [block.posterior(np.zeros_like(block.signal), overlaps) for block in blocks]
    if n_kinds > 1:  # all kinds alike would stay so: let each sample speak for one
        for block, posterior in zip(blocks, expected, strict=True):
            one = rng.integers(n_kinds, size=(len(block.signal), 1, 1)) == np.arange(n_kinds)
            posterior.mean[:] *= n_kinds * one
    tokens = np.concatenate([posterior.mean.reshape(-1, n_kinds) for posterior in expected])
    spread = np.zeros((n_kinds, n_kinds))  # of the tokens' signals: no message has been passed yet
    if informed:
        tokens = signal
    n_iterations, converged = 0, False
    while n_iterations < max_iter and not converged:
        rest = dim * np.linalg.inv(dim * np.eye(n_kinds) + tokens.T @ tokens)  # 1 − M
        noise_along = np.stack([noise.transposed_times(column) for column in tokens.T])
        seen = (tokens.T @ signal) @ directions + noise_along
        mean = rest @ (seen - spread @ mean) / dim
        before, overlaps = overlaps, 1.0 - np.diag(rest)
        converged = bool(np.abs(overlaps - before).max() < _TOLERANCE)
        scores = signal @ (directions @ mean.T) - tokens @ rest
        scores += np.stack([noise.times(row) for row in mean], axis=1)
        expected = [
            block.posterior(scores[low:high].reshape(block.signal.shape), overlaps)
            for block, low, high in zip(blocks, edges[:-1], edges[1:], strict=True)
        ]
        tokens = np.concatenate([posterior.mean.reshape(-1, n_kinds) for posterior in expected])
        squares = sum(posterior.square.sum(axis=(0, 1)) for posterior in expected)
        spread = np.diag(squares) - tokens.T @ tokens
        n_iterations += 1
    order = linear_sum_assignment(-np.abs(directions @ mean.T))[1]
    overlap = float(overlaps.mean())
    return PosteriorMean(problem, mean[order], directions, overlap, n_iterations, converged)


def _draw_blocks(
    problem: Problem, n_samples: int, rng: np.random.Generator, labelled: bool
) -> list[_Block]:
    """Draw samples but for their noise, by length and, if it is seen, by recorded label."""
    drawn, kinds = problem.draw(n_samples, rng), problem.kinds
    lengths = np.array([kind.n_tokens for kind in kinds])
    labels = ((0, True), (1, False)) if labelled else ((2, None),)
    blocks = []
    for group, (row, label) in itertools.product(problem.by_length, labels):
        length = group.kinds[0].n_tokens
        seen = lengths[drawn.kind] == length
        if label is not None:
            seen &= drawn.label == label
        signal = np.zeros((int(seen.sum()), length, problem.n_kinds))
        direction = drawn.direction[seen]
        for index, kind in enumerate(kinds):
            rows = (drawn.kind[seen] == index) & drawn.positive[seen]
            if rows.any():
                positions = kind.draw_positions(int(rows.sum()), rng)
                signal[rows, :, direction[rows]] = kind.signal * positions
        likely = np.flatnonzero(group.priors[row])
        possible = tuple(group.kinds[i] for i in likely)
        chances = group.priors[row][likely]
        blocks.append(_Block(possible, chances, signal, drawn.label[seen] == 1))
    return blocks
