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
group by subtracting its sums. Second moments enter only through quadratic forms xᵀSx of mean tokens
and class differences, so that no matrix of d by d numbers is held for each group.
"""

import math
from typing import NamedTuple

import numpy as np

from sparsetoken._types import Bools, Floats, Indices


class ClassTokens(NamedTuple):
    """The whitened tokens of the samples of one class, and the jackknife group of each sample."""

    tokens: Floats
    offsets: Indices
    groups: Indices

    @property
    def lengths(self) -> Indices:
        """Number of tokens of each sample."""
        return np.diff(self.offsets)

    @property
    def means(self) -> Floats:
        """Mean token x̄ of each sample."""
        sums: Floats = np.add.reduceat(self.tokens, self.offsets[:-1])
        return sums / self.lengths[:, np.newaxis]

    def scaled(self, group: int) -> Floats:
        """Return rows whose products add up to the second moments S of a group's samples."""
        of_token = np.repeat(self.groups, self.lengths) == group
        root: Floats = np.sqrt(np.repeat(self.lengths, self.lengths)[of_token, np.newaxis])
        return self.tokens[of_token] / root


class TokenMoments(NamedTuple):
    """Estimates from all samples, then with each jackknife group left out; zero without signal."""

    mean: Floats
    """((R/L)E[θ])², which chance can make negative."""
    second: Floats
    """(R/L)E[θ²]."""
    between: Floats
    """(R/L)²E[θ²]."""

    @property
    def _safe(self) -> tuple[Bools, Floats, Floats]:
        """Where there is a signal, and the first two moments, one where there is none."""
        signal = np.minimum(self.mean, self.second) > 0
        return signal, np.where(signal, self.mean, 1.0), np.where(signal, self.second, 1.0)

    def signal(self) -> Floats:
        """Return θ if it does not vary."""
        has_signal, mean, second = self._safe
        return has_signal * second / np.sqrt(mean)

    def n_signal(self, n_tokens: float) -> Floats:
        """Return R if θ does not vary."""
        has_signal, mean, second = self._safe
        return has_signal * n_tokens * mean / second

    def spread(self, of_lengths: float) -> Floats:
        """Return Var θ/E[θ]², which chance can make negative; ``of_lengths`` is that of 1/L."""
        has_signal, mean, _ = self._safe
        return has_signal * (self.between / mean / (1.0 + of_lengths) - 1.0)

    def signal_given(self, n_signal: int, n_tokens: float, spread: Floats) -> Floats:
        """Return E[θ] for a known R: the geometric mean of what the moments say."""
        has_signal, mean, second = self._safe
        by_mean = np.sqrt(mean) * n_tokens / n_signal
        by_second = np.sqrt(second * n_tokens / n_signal / (1.0 + spread))
        return np.where(has_signal, np.sqrt(by_mean * by_second), 0.0)


def jackknife_moments(positive: ClassTokens, negative: ClassTokens) -> TokenMoments:
    """Return the unbiased moments from all samples, then with each group left out."""
    classes, n_groups = (positive, negative), int(positive.groups.max()) + 1
    kept = np.vstack([np.ones(n_groups), 1.0 - np.eye(n_groups)])
    means = [one.means for one in classes]
    single = tuple(
        ClassTokens(mean, np.arange(len(mean) + 1), one.groups)
        for mean, one in zip(means, classes, strict=True)
    )
    counts: list[Floats] = [kept @ np.bincount(one.groups).astype(float) for one in classes]
    sums = [
        kept @ [mean[one.groups == group].sum(axis=0) for group in range(n_groups)]
        for mean, one in zip(means, classes, strict=True)
    ]
    difference = sums[0] / counts[0][:, np.newaxis] - sums[1] / counts[1][:, np.newaxis]
    squares = sum(
        kept @ np.bincount(one.groups, weights=np.sum(mean**2, axis=1)) / count**2
        for mean, one, count in zip(means, classes, counts, strict=True)
    )
    # Only pairs of positives have a mean, and a fraction 1/n₊ of all pairs are not pairs.
    distinct = 1.0 - 1.0 / counts[0]
    mean = (np.sum(difference**2, axis=1) - squares) / distinct
    scale = np.where(mean > 0, distinct * mean, math.inf)
    second, between = (
        _along_signal(samples, means, counts, difference, kept, scale)
        for samples in (classes, single)
    )
    return TokenMoments(mean, second, between)


def _along_signal(
    classes: tuple[ClassTokens, ...],
    means: list[Floats],
    counts: list[Floats],
    difference: Floats,
    kept: Floats,
    scale: Floats,
) -> Floats:
    """Return the class difference of second moments along the signal, beyond the mean one.

    That is the same in all directions: noise that differs between the classes, or the imperfect
    whitening of the tokens. ``kept`` has a row for each set of groups, as has the result.
    """
    dim, rows = difference.shape[1], np.vstack([*means, difference])
    splits = np.cumsum([len(mean) for mean in means])
    others = counts[0] / (counts[0] - 2.0)  # beside a pair of positives, two fewer are left
    triple, level = np.zeros(len(kept)), np.zeros(len(kept))
    for one, mean, count, sign, factor in zip(
        classes, means, counts, (1.0, -1.0), (others, np.ones(len(kept))), strict=True
    ):
        sums = [_group_sums(one, mean, group, rows) for group in range(kept.shape[1])]
        forms, second_times_mean, mean_second_mean, trace = map(np.array, zip(*sums, strict=True))
        *of_means, of_differences = np.split(forms, splits, axis=1)
        total = np.einsum("gA,Ag->g", kept, of_differences)
        for form, other, n in zip(of_means, classes, counts, strict=True):
            pairs = np.stack([np.bincount(other.groups, weights=row) for row in form])
            total -= np.einsum("gA,AB,gB->g", kept, pairs, kept) / n**2
        total -= 2.0 * sign / count * np.sum(difference * (kept @ second_times_mean), axis=1)
        total += 2.0 * (kept @ mean_second_mean) / count**2
        triple += sign * factor * total / count
        level += sign * (kept @ trace) / count / dim
    result: Floats = (triple / scale - level) / (1.0 - 1.0 / dim)
    return result


def _group_sums(
    one: ClassTokens, means: Floats, group: int, rows: Floats
) -> tuple[Floats, Floats, float, float]:
    """Return, of the second moments S of a group's samples, xᵀSx of rows, ΣSx̄, Σx̄ᵀSx̄ and tr S."""
    samples = np.flatnonzero(one.groups == group)
    scaled = one.scaled(group)
    if len(scaled) < rows.shape[1]:
        forms = np.sum((scaled @ rows.T) ** 2, axis=0)
    else:
        forms = np.sum((rows @ (scaled.T @ scaled)) * rows, axis=1)
    mean_of_token = means[np.repeat(samples, one.lengths[samples])]
    projected = np.einsum("ij,ij->i", scaled, mean_of_token)
    return forms, projected @ scaled, float(projected @ projected), float(np.sum(scaled**2))
