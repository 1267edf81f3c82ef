"""Points of sequences along the signal, and what each adds to the error of a rule."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sparsetoken._types import Bools, Floats
from sparsetoken.estimate import Estimate
from sparsetoken.places import log_mean_over_places
from sparsetoken.problem import Problem, SparseTokenProblem
from sparsetoken.theory.features import BATCHES, token_noise

_SEED = 20260901


class Positives(NamedTuple):
    """Tokens along the kinds of signal, one row per sample that carries the first.

    A row has all tokens along the first kind, then all along the second, ...
    """

    noise: Floats  # without the signal, shape (rows, n_pairs)
    marked: Bools  # which of them carry it


def draw_positives(
    kinds: Sequence[SparseTokenProblem], n_points: int, batch: int
) -> list[Positives]:
    """Draw samples of each kind of one length.

    The columns of the signal tokens come first, unless it matters which carry it together.
    """
    in_place = any(kind.grouped for kind in kinds)
    each = max(n_points // len(kinds), 256)
    return [_draw(kind, each, batch + i * BATCHES, in_place) for i, kind in enumerate(kinds)]


def _draw(kind: SparseTokenProblem, n_points: int, batch: int, in_place: bool) -> Positives:
    noise = token_noise(replace(kind, n_tokens=kind.n_pairs), n_points, batch)
    first = np.arange(kind.n_pairs) < kind.n_signal
    if not in_place:
        return Positives(noise, np.broadcast_to(first, noise.shape))
    rng = np.random.default_rng([_SEED, *noise.shape, batch])
    marked = np.zeros(noise.shape, dtype=bool)
    marked[:, : kind.n_tokens] = kind.draw_positions(len(noise), rng)
    # The noise is sorted: it goes to the marked tokens, and to the others, in random order.
    order = np.argsort(np.where(marked, 0.0, 1.0) + rng.random(noise.shape), axis=1)
    placed = np.empty_like(noise)
    np.put_along_axis(placed, order, noise, axis=1)
    return Positives(placed, marked)


def log_likelihood_ratio(x: Floats, kind: SparseTokenProblem) -> Floats:
    """Log of the mean of exp(θ Σ x_l − Rθ²/2) over the places of the signal, for each row of x.

    Tokens must be in place if it matters which carry the signal together.
    """
    places = kind.n_signal, kind.contiguous, kind.n_kinds
    log_mean = log_mean_over_places(kind.signal * x, *places)
    return log_mean - 0.5 * kind.n_signal * kind.signal**2


class WeightedSamples:
    """Points of both classes, drawn equally often, and what each adds to the error of a rule."""

    def __init__(self, problem: Problem, n_points: int) -> None:
        self.problem, self.n_points = problem, n_points
        terms = [self._error_terms(batch) for batch in range(BATCHES)]
        # By batch and sample: what is missed if it is called negative, and falsely alarmed if not.
        self.missed, self.alarm = (np.stack(each) for each in zip(*terms, strict=True))

    def tokens(self, batch: int) -> list[Floats]:
        """Return the tokens along the signal of one batch, one row per sample, for each length.

        Of each kind positives come first, then as many negatives.
        """
        by_length, scores = self.problem.by_length, []
        for kinds, *_ in by_length:
            drawn = draw_positives(kinds, self.n_points // len(by_length), batch)
            pairs = zip(kinds, drawn, strict=True)
            rows = [(noise + kind.signal * marked, noise) for kind, (noise, marked) in pairs]
            scores.append(np.concatenate(sum(rows, ())))
        return scores

    def _error_terms(self, batch: int) -> tuple[Floats, Floats]:
        """Return what each sample adds to the mean error if called negative, and if positive.

        With m₊ and m₋ the densities of samples of a length recorded as positive and as negative,
        the error of a rule is the average of m₊/p or m₋/p under any density p. That of the rows is
        an equal mixture of both true classes: each is drawn equally often however rare it is.
        """
        missed, invented = self.problem.label_errors
        scores = self.tokens(batch)
        total = sum(map(len, scores))
        if_negative, if_positive = [], []
        for (kinds, positive, negative, _), x in zip(self.problem.by_length, scores, strict=True):
            logs = np.stack([np.zeros(len(x)), *(log_likelihood_ratio(x, kind) for kind in kinds)])
            ratios = np.exp(logs - logs.max(axis=0))
            density = 0.5 * ratios[0] + 0.5 * ratios[1:].mean(axis=0)
            signal, noise = positive @ ratios[1:], negative * ratios[0]
            unit = total / len(x) / density
            if_negative.append(((1.0 - missed) * signal + invented * noise) * unit)
            if_positive.append((missed * signal + (1.0 - invented) * noise) * unit)
        return np.concatenate(if_negative), np.concatenate(if_positive)

    def estimate(self, value: float, each: Callable[[], Any], **details: Any) -> Estimate:
        """Attach the error bar from each batch, and from what is too rare for points to show."""
        rate = self.problem.positive_rate
        rare = 0.02 * min(rate, 1.0 - rate) / self.missed.size
        return Estimate.from_batches(value, each, beside=rare, **details)
