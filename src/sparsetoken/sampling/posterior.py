"""The posterior mean of the direction, found by message passing on samples never built.

The iteration (docs/theory, section 17) uses the noise of the tokens only in products with vectors,
which are drawn when they are needed: it has its exact law without them.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from sparsetoken._types import Bools, Floats
from sparsetoken._validation import check_choice, check_count
from sparsetoken.estimate import Estimate, Record
from sparsetoken.places import weigh_places
from sparsetoken.problem import LengthGroup, Problem, RandomState, check_problem, prepare_sample

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
        """Return the error of the posterior odds on so many fresh samples."""
        chances, labels = self.judge(n_samples, random_state)
        wrong = (chances > 0.5) != labels
        return Estimate(wrong.mean(), wrong.std(ddof=1) / math.sqrt(wrong.size))

    def judge(
        self, n_samples: int = 20_000, random_state: RandomState = None
    ) -> tuple[Floats, Bools]:
        """Return the chances of so many fresh samples to be recorded as positive, and their labels.

        Only the scores of the samples are drawn.
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

    mean: Floats  # of the tokens' signal along each direction, shape (samples, n_tokens, n_kinds)
    square: Floats
    carries: Floats  # chance that a sample carries the signal


class _Block(NamedTuple):
    """Samples of one length about which the same is recorded."""

    group: LengthGroup
    chances: Floats  # of a sample to be a positive of each kind, before its tokens are seen
    signal: Floats
    """True signal of each token along each direction, shape (samples, n_tokens, n_kinds)."""
    label: Bools  # recorded labels

    def posterior(self, scores: Floats, overlaps: Floats) -> _Posterior:
        """Return what is expected if scores are signals times M, with noise of covariance M.

        ``overlaps`` is the diagonal of M.
        """
        with np.errstate(divide="ignore"):
            logs = np.log(np.append(self.chances, max(1.0 - float(self.chances.sum()), 0.0)))
        terms = np.tile(logs[:, np.newaxis], len(scores))
        by_kind = scores.swapaxes(1, 2)  # places are pairs of a kind and a token
        signals, weights = np.array([kind.signal for kind in self.group.kinds]), []
        for kind, term in zip(self.group.kinds, terms, strict=False):
            exponents = kind.signal * by_kind - 0.5 * kind.signal**2 * overlaps[:, np.newaxis]
            places = kind.n_signal, kind.contiguous, kind.n_kinds
            log_mean, chances = weigh_places(exponents.reshape(len(scores), kind.n_pairs), *places)
            term += log_mean
            weights.append(chances.reshape(by_kind.shape).swapaxes(1, 2))
        terms = softmax(terms, axis=0)
        mean, square = (
            np.einsum("k,kn,knlj->nlj", power, terms[:-1], weights)
            for power in (signals, signals**2)
        )
        return _Posterior(mean, square, 1.0 - terms[-1])


class HiddenNoise:
    """A matrix of independent standard normals, drawn only as far as its products show it.

    Given some products of the matrix with vectors, the next one is Gaussian with a known mean.
    """

    def __init__(self, n_rows: int, n_columns: int, rng: np.random.Generator) -> None:
        self._rng = rng
        # Orthonormal vectors whose products are known, with these, by side.
        self._products: tuple[list[tuple[Floats, Floats]], list[tuple[Floats, Floats]]] = ([], [])
        self._sizes = n_columns, n_rows

    def times(self, vector: Floats, transposed: bool = False) -> Floats:
        """Return the product with a vector over the columns, or the transposed matrix's."""
        side = int(transposed)
        products, across = self._products[side], self._products[1 - side]
        result, rest = np.zeros(self._sizes[1 - side]), vector.copy()
        for _ in range(2):  # the second pass removes what rounding left
            for unit, image in products:
                along = float(unit @ rest)
                result += along * image
                rest -= along * unit
        size = float(np.linalg.norm(rest))
        if size <= 1e-12 * float(np.linalg.norm(vector)):
            return result
        unit = rest / size
        image = self._rng.standard_normal(result.size)
        for other, other_image in across:  # along these it is known already
            image += (float(other_image @ unit) - float(other @ image)) * other
        products.append((unit, image))
        return result + size * image


def sample_posterior_mean(
    problem: Problem,
    n_samples: int,
    dim: int,
    *,
    n_unlabelled: int = 0,
    start: str = "nothing",
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
    n_unlabelled = check_count("n_unlabelled", n_unlabelled, minimum=0)
    rng, directions = prepare_sample(problem, n_samples, dim, random_state, None)
    blocks = _draw_blocks(problem, n_samples, rng, True)
    if n_unlabelled:
        blocks += _draw_blocks(problem, n_unlabelled, rng, False)
    blocks = [block for block in blocks if block.chances.sum() > 0.0 and len(block.label)]
    if not blocks:  # nothing that may carry the signal has been drawn
        return PosteriorMean(problem, np.zeros_like(directions), directions, 0.0, 0, True)
    n_tokens = sum(block.signal.size for block in blocks) // problem.n_kinds
    noise = HiddenNoise(n_tokens, dim, rng)
    return iterate(problem, blocks, noise, directions, start == "informed", rng)


def iterate(
    problem: Problem,
    blocks: list[_Block],
    noise: HiddenNoise,
    directions: Floats,
    informed: bool,
    rng: np.random.Generator,
    max_iter: int = 100,
) -> PosteriorMean:
    """Pass messages between the directions and the signals of the tokens until both stay."""
    n_kinds, dim = directions.shape
    signal = np.concatenate([block.signal.reshape(-1, n_kinds) for block in blocks])
    edges = np.cumsum([block.signal.size // n_kinds for block in blocks])[:-1]
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
        noise_along = np.stack([noise.times(column, transposed=True) for column in tokens.T])
        seen = (tokens.T @ signal) @ directions + noise_along
        mean = rest @ (seen - spread @ mean) / dim
        before, overlaps = overlaps, 1.0 - np.diag(rest)
        converged = bool(np.abs(overlaps - before).max() < _TOLERANCE)
        scores = signal @ (directions @ mean.T) - tokens @ rest
        scores += np.stack([noise.times(row) for row in mean], axis=1)
        expected = [
            block.posterior(part.reshape(block.signal.shape), overlaps)
            for block, part in zip(blocks, np.split(scores, edges), strict=True)
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
        blocks.append(_Block(group, group.priors[row], signal, drawn.label[seen] == 1))
    return blocks
