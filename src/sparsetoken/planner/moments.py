"""Signal strength and sparsity from moments of labelled tokens, the direction unknown.

With unit noise, the class difference of the mean tokens is (θR/L)ξ and that of the second moments
(θ²R/L)ξξᵀ. Writing a_i = ±1/n± for the samples' weights, D = Σ a_i x̄_i and S = Σ a_k S_k (x̄ a
sample's mean token, S_k its second moment), the products

    U = Σ_{i≠j} a_i a_j ⟨x̄_i, x̄_j⟩  →  (θR/L)²
    T = Σ_{i≠j≠k} a_i a_j a_k x̄_iᵀ S_k x̄_j  →  (θR/L)² · θ²R/L

over distinct samples are free of the bias that noise in high dimension puts into ‖D‖² and DᵀSD:
they average over all ways of splitting the samples. All terms are sums over samples, so that the
jackknife leaves out a group by subtracting its sums.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["TokenMoments", "TokenSummary", "estimate_moments", "summarise"]

Array = NDArray[np.float64]


class TokenSummary(NamedTuple):
    """Sums over the samples of one class in each group; the group is the first axis."""

    size: Array
    mean: Array
    """Σ x̄, shape (groups, d)."""
    outer: Array
    """Σ x̄x̄ᵀ, shape (groups, d, d)."""
    second: Array
    """Σ S, shape (groups, d, d)."""
    turned: Array
    """Σ S x̄, shape (groups, d)."""
    own: Array
    """Σ x̄ᵀSx̄."""

    def without(self, group: int | None) -> "TokenSummary":
        """Return the sums over all groups but one, or over all."""
        totals = (part.sum(axis=0) for part in self)
        if group is None:
            return TokenSummary(*totals)
        return TokenSummary(*(t - part[group] for t, part in zip(totals, self, strict=True)))


class TokenMoments(NamedTuple):
    """Estimates of the moments and of what follows from them."""

    mean: float
    """(θR/L)², which chance can make negative."""
    second: float
    """θ²R/L."""

    def signal(self) -> float:
        """Return θ; 0 if the moments show none."""
        return self.second / math.sqrt(self.mean) if min(self) > 0 else 0.0

    def n_signal(self, n_tokens: float) -> float:
        """Return R; 0 if the moments show no signal."""
        return n_tokens * self.mean / self.second if min(self) > 0 else 0.0

    def signal_given(self, n_signal: int, n_tokens: float) -> float:
        """Return θ for a known R: the geometric mean of what either moment says."""
        if min(self) <= 0:
            return 0.0
        by_mean = math.sqrt(self.mean) * n_tokens / n_signal
        by_second = math.sqrt(self.second * n_tokens / n_signal)
        return math.sqrt(by_mean * by_second)


def summarise(tokens: Array, offsets: NDArray[np.int64], groups: NDArray[np.int64]) -> TokenSummary:
    """Return the sums of one class; ``groups`` has the group of each sample."""
    n_groups, dim = int(groups.max()) + 1, tokens.shape[1]
    size, own = np.zeros(n_groups), np.zeros(n_groups)
    mean, turned = np.zeros((n_groups, dim)), np.zeros((n_groups, dim))
    outer, second = np.zeros((n_groups, dim, dim)), np.zeros((n_groups, dim, dim))
    for sample, group in enumerate(groups):
        part = tokens[offsets[sample] : offsets[sample + 1]]
        centre = part.mean(axis=0)
        projected = part @ centre
        size[group] += 1
        mean[group] += centre
        turned[group] += projected @ part / len(part)
        own[group] += float(projected @ projected) / len(part)
    lengths = np.diff(offsets)
    centres = np.add.reduceat(tokens, offsets[:-1]) / lengths[:, np.newaxis]
    scaled = tokens / np.repeat(np.sqrt(lengths), lengths)[:, np.newaxis]
    of_token = np.repeat(groups, lengths)
    for group in range(n_groups):
        rows = scaled[of_token == group]
        second[group] = rows.T @ rows
        rows = centres[groups == group]
        outer[group] = rows.T @ rows
    return TokenSummary(size, mean, outer, second, turned, own)


def estimate_moments(positive: TokenSummary, negative: TokenSummary) -> TokenMoments:
    """Return the unbiased moments from the sums over the samples of both classes."""
    n_pos, n_neg = float(positive.size), float(negative.size)
    dim = positive.mean.size
    difference = positive.mean / n_pos - negative.mean / n_neg
    second = positive.second / n_pos - negative.second / n_neg
    outer = positive.outer / n_pos**2 + negative.outer / n_neg**2
    turned = positive.turned / n_pos**2 + negative.turned / n_neg**2
    own = float(positive.own) / n_pos**3 - float(negative.own) / n_neg**3
    # Only pairs of positives have a mean, and a share 1/n₊ of all pairs are not pairs.
    distinct = 1.0 - 1.0 / n_pos
    mean = (float(difference @ difference) - float(np.trace(outer))) / distinct
    triple = float(difference @ second @ difference) - 2.0 * float(difference @ turned)
    triple += 2.0 * own - float(np.sum(second * outer))
    triple /= distinct
    if mean <= 0:
        return TokenMoments(mean, 0.0)
    # The trace removes what is the same in all directions: noise that differs between the classes,
    # or the imperfect whitening of the tokens.
    return TokenMoments(mean, (triple / mean - float(np.trace(second)) / dim) / (1.0 - 1.0 / dim))
