"""Signal strength and sparsity from moments of labelled tokens, the direction unknown.

With unit noise, the class difference of the mean tokens is (R/L)E[θ]ξ, that of the second moments
of tokens (R/L)E[θ²]ξξᵀ, and that of the second moments of mean tokens (R/L)²E[θ²]ξξᵀ, where θ may
vary between the positive samples. Writing a_i = ±1/n± for the samples' weights and x̄_i for their
mean tokens, the products

    U = Σ_{i≠j} a_i a_j ⟨x̄_i, x̄_j⟩  →  (R/L)²E[θ]²
    T = Σ_{i≠j≠k} a_i a_j a_k x̄_iᵀ S_k x̄_j  →  U times the second moment along ξ

over distinct samples are free of the bias that noise in high dimension puts into squares of the
same means: they average over all ways of splitting the samples. S_k is the second moment of a
sample's tokens, or x̄_k x̄_kᵀ. All terms are sums over samples, so that the jackknife leaves out a
group by subtracting its sums.
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
    long: Array
    """Σ ‖x̄‖²x̄, shape (groups, d)."""
    fourth: Array
    """Σ ‖x̄‖⁴."""

    def without(self, group: int | None) -> "TokenSummary":
        """Return the sums over all groups but one, or over all."""
        totals = (part.sum(axis=0) for part in self)
        if group is None:
            return TokenSummary(*totals)
        return TokenSummary(*(t - part[group] for t, part in zip(totals, self, strict=True)))


class TokenMoments(NamedTuple):
    """Estimates of the moments and of what follows from them."""

    mean: float
    """((R/L)E[θ])², which chance can make negative."""
    second: float
    """(R/L)E[θ²]."""
    between: float
    """(R/L)²E[θ²]."""

    @property
    def _found(self) -> bool:
        return min(self.mean, self.second) > 0

    def signal(self) -> float:
        """Return θ if it does not vary; 0 if the moments show none."""
        return self.second / math.sqrt(self.mean) if self._found else 0.0

    def n_signal(self, n_tokens: float) -> float:
        """Return R if θ does not vary; 0 if the moments show no signal."""
        return n_tokens * self.mean / self.second if self._found else 0.0

    def spread(self, of_lengths: float = 0.0) -> float:
        """Return Var θ/E[θ]², which chance can make negative.

        ``of_lengths`` is the same of 1/L, which varies the mean tokens too.
        """
        return self.between / self.mean / (1.0 + of_lengths) - 1.0 if self._found else 0.0

    def signal_given(self, n_signal: int, n_tokens: float, spread: float = 0.0) -> float:
        """Return E[θ] for a known R: the geometric mean of what the moments say."""
        if not self._found:
            return 0.0
        by_mean = math.sqrt(self.mean) * n_tokens / n_signal
        by_second = math.sqrt(self.second * n_tokens / n_signal / (1.0 + spread))
        return math.sqrt(by_mean * by_second)


def summarise(tokens: Array, offsets: NDArray[np.int64], groups: NDArray[np.int64]) -> TokenSummary:
    """Return the sums of one class; ``groups`` has the group of each sample."""
    n_groups, dim = int(groups.max()) + 1, tokens.shape[1]
    size, own, fourth = np.zeros(n_groups), np.zeros(n_groups), np.zeros(n_groups)
    mean, turned, long = (np.zeros((n_groups, dim)) for _ in range(3))
    outer, second = np.zeros((n_groups, dim, dim)), np.zeros((n_groups, dim, dim))
    for sample, group in enumerate(groups):
        part = tokens[offsets[sample] : offsets[sample + 1]]
        centre = part.mean(axis=0)
        projected = part @ centre
        size[group] += 1
        mean[group] += centre
        turned[group] += projected @ part / len(part)
        own[group] += float(projected @ projected) / len(part)
        square = float(centre @ centre)
        long[group] += square * centre
        fourth[group] += square**2
    lengths = np.diff(offsets)
    centres = np.add.reduceat(tokens, offsets[:-1]) / lengths[:, np.newaxis]
    scaled = tokens / np.repeat(np.sqrt(lengths), lengths)[:, np.newaxis]
    of_token = np.repeat(groups, lengths)
    for group in range(n_groups):
        rows = scaled[of_token == group]
        second[group] = rows.T @ rows
        rows = centres[groups == group]
        outer[group] = rows.T @ rows
    return TokenSummary(size, mean, outer, second, turned, own, long, fourth)


def estimate_moments(positive: TokenSummary, negative: TokenSummary) -> TokenMoments:
    """Return the unbiased moments from the sums over the samples of both classes."""
    n_pos, n_neg = float(positive.size), float(negative.size)
    difference = positive.mean / n_pos - negative.mean / n_neg
    outer = positive.outer / n_pos**2 + negative.outer / n_neg**2
    # Only pairs of positives have a mean, and a share 1/n₊ of all pairs are not pairs.
    distinct = 1.0 - 1.0 / n_pos
    mean = (float(difference @ difference) - float(np.trace(outer))) / distinct
    if mean <= 0:
        return TokenMoments(mean, 0.0, 0.0)
    others = n_pos / (n_pos - 2.0)  # beside a pair of positives, two fewer are left

    def along(second: str, turned: str, own: str) -> float:
        """Return the class difference of second moments along the signal, beyond the mean one.

        That is the same in all directions: noise that differs between the classes, or the
        imperfect whitening of the tokens.
        """
        sums = [
            (getattr(positive, name), getattr(negative, name)) for name in (second, turned, own)
        ]
        (s_pos, s_neg), (t_pos, t_neg), (o_pos, o_neg) = sums
        moved = others * s_pos / n_pos - s_neg / n_neg
        triple = float(difference @ moved @ difference) - float(np.sum(moved * outer))
        triple -= 2.0 * float(difference @ (others * t_pos / n_pos**2 + t_neg / n_neg**2))
        triple += 2.0 * (others * float(o_pos) / n_pos**3 - float(o_neg) / n_neg**3)
        level = float(np.trace(s_pos / n_pos - s_neg / n_neg)) / difference.size
        return (triple / distinct / mean - level) / (1.0 - 1.0 / difference.size)

    return TokenMoments(mean, along("second", "turned", "own"), along("outer", "long", "fourth"))
