"""Heads that collect evidence: log-sum-exp attention, whose query and readout are one direction.

A head's score is a·log mean exp(Zw/a) + b over the tokens of a sequence, in standard coordinates:
for the model of docs/theory and a = 1 the log-odds of the Bayes rule. At temperature a = 1 a few
tokens decide, and with growing a the score becomes that of the mean token, which the pooled heads
have. A negative a collects evidence for the other class.
"""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from sparsetoken._types import Array, Floats, Indices
from sparsetoken.estimators.folds import mean_auc
from sparsetoken.estimators.head_objective import HeadObjective, HeadSpec
from sparsetoken.estimators.head_pooling import EvidencePooling, HeadPooling, linear_scores
from sparsetoken.estimators.members import LARGEST_COVARIANCE, Heads, TrainingSamples

Shrinkages = tuple[float | None, ...]

# Tuned on needle digits, tiger and musk1 (docs/validation/bags): temperature and ridge of heads
# to which few tokens matter, some, and many.
_KINDS = ((1.0, 0.01), (3.0, 3e-3), (10.0, 3e-4))
_POOLED_RIDGES = (0.1, 0.01)
# Tokens as they are, up to one scale, and with their correlations mostly removed; a model of many
# features has scaled ones instead of the latter.
_SHRINKAGES: Shrinkages = (None, 0.3)
_MANY_FEATURES: Shrinkages = (1.0, None)
_POOLED_SHRINKAGES: Shrinkages = (None, 1.0, 0.3)


class Head(NamedTuple):
    """One of several heads, for tokens as they are.

    A pooled head scores ⟨coef, mean token⟩ + intercept. A head of attention scores
    a·log mean exp(X coef / a) + intercept with its ``temperature`` a; its weights on the tokens are
    softmax(X query), and ``query`` is ``coef`` / a.
    """

    model: str
    """Which kind: "attention", "pooled" or "posterior"."""
    temperature: float
    """How many tokens matter: one few, ten many; negative if they speak for ``classes_[0]``."""
    shrinkage: float | None
    reg: float
    auc: float | None
    """Of held-out samples, None if there were too few; of several classes the mean."""
    weight: float
    """Its part in the score."""
    n_signal: int
    """How many tokens of a sequence carry the signal; more than one for posterior heads only."""
    n_kinds: int
    """How many kinds of signal its model knows. Each has an entry and its part of the weight;
    a·log Σ exp(score/a) joins their scores."""
    query: Floats
    """(d,), or (classes, d) for more than two; zero for a pooled head."""
    coef: Floats
    intercept: Any


@dataclass(kw_only=True)
class AttentionHeads(Heads):
    """Heads for sequences in which a few tokens decide."""

    name = "attention"
    kind = "attention"  # what ``heads_`` calls them
    directions: Annotated[Any, "FKCd"] = None
    pooled: ClassVar[bool] = False
    contiguous: bool = False
    tolerance: ClassVar[float] = 1e-5
    more_steps: ClassVar[int] = 15  # most steps on all samples, from heads of some of them
    reg: float | None = None  # ridge of sharp heads alone; by default there are soft ones, too
    shrinkages: Shrinkages | None = None  # coordinates to fit heads in
    steps: int = 40  # most steps of L-BFGS; stopping early is part of the regularization
    sums_evidence: bool = False  # an extra token never lowers the score
    reference_length: float = 1.0  # tokens of a sequence whose sum counts as its mean
    specs: list[HeadSpec] = field(default_factory=list)
    frequencies: Annotated[Any, "KC?"] = None  # of kinds of signal; None: there is one
    aucs: list[float] = field(default_factory=list)  # of held-out samples, if any

    def __post_init__(self) -> None:
        count = sum(spec.n_kinds for spec in self.specs)
        if self.directions is not None and count != self.directions.shape[1]:
            raise ValueError(f"heads of {count} directions, and {self.directions.shape[1]} of them")
        if any(min(s.n_signal, s.n_kinds) < 1 or not abs(s.temperature) > 0 for s in self.specs):
            raise ValueError("a head without signal tokens, or without temperature")

    def fit(self, training: TrainingSamples) -> Floats:
        """Fit all heads to all samples and without each fold, all of them together."""
        self.reference_length = float(np.median(training.lengths))
        self._learn(training, training.fit_weights)
        return self.held_out(training)

    def held_out(self, samples: TrainingSamples) -> Floats:
        """Return the scores (K, n, C) of samples by the fits without them, and note their AUCs."""
        held_out = super().held_out(samples)
        seen = np.isfinite(held_out).all(axis=(0, 2))
        if seen.any():
            self.aucs = [mean_auc(s[seen], samples.signs[seen]) for s in held_out]
        return held_out

    def half_fits(
        self, training: TrainingSamples, spec: HeadSpec, halves: Floats
    ) -> tuple[Floats, float]:
        """Fit a kind of head to two halves of the samples, given by their weights (n, 2).

        Return standard directions (2, kinds times classes, d), and the AUC of the other halves.
        """
        alone = replace(self, specs=[spec], directions=None, intercepts=None)
        alone._learn(training, halves)
        aucs = []
        for half, weights in enumerate(halves.T):
            other = np.flatnonzero((weights == 0) & (training.weights > 0))
            scores = alone.of_fit(half).scores(training.data.take(other))[:, 0]
            aucs.append(mean_auc(scores, training.signs[other]))
        flat = alone.directions.reshape(-1, training.data.dim)
        standard = training.standard.to_standard(flat, spec.shrinkage)
        return standard.reshape(2, -1, flat.shape[1]), float(np.mean(aucs))

    def refine(self, training: TrainingSamples) -> None:
        """Take steps on all samples, from the heads of some of them."""
        super().refine(training)
        weights = training.fit_weights
        fits, steps = slice(weights.shape[1]), min(self.steps, self.more_steps)
        objective = HeadObjective(training, self.specs, weights, self.pooled)
        start = self.directions[fits], self.intercepts[fits]
        refined = objective.minimize(steps, self.tolerance, start)
        self.directions[fits], self.intercepts[fits] = refined

    def token_scores(self, tokens: Array) -> Floats:
        """Return the scores of tokens: R of a choice divide the intercept among themselves."""
        offsets = self.intercepts[0] / self.n_signal[:, np.newaxis]
        return linear_scores(self.directions[0], offsets, tokens)

    def pooling(self) -> HeadPooling:
        """Return the log mean over tokens, or over choices of several."""
        length = self.reference_length if self.sums_evidence else None
        joined = self.first_directions if len(self.specs) < self.n_kinds.sum() else None
        numbers = self.temperatures, self.n_signal
        return EvidencePooling(*numbers, self.contiguous, length, joined)

    @property
    def n_scores(self) -> int:
        """One for each way to fit a head."""
        return len(self.specs)

    def heads(self, weights: Floats, scales: Floats, shift: Floats) -> list[Head]:
        """Return the heads as users see them: with their weights, scaled, and shifted alike."""
        classes: Any = 0 if len(shift) == 1 else slice(None)  # two classes have one score
        heads = []
        for row, k in enumerate(np.repeat(np.arange(len(weights)), self.n_kinds)):
            spec, auc = self.specs[k], self.aucs[k] if self.aucs else None
            frequency = 1.0 if self.frequencies is None else self.frequencies[row, 0]
            about = spec._asdict() | {"temperature": float(spec.temperature * scales[k])}
            about |= {"model": self.kind, "auc": auc, "weight": float(weights[k] * frequency)}
            query = self.directions[0, row] * (0.0 if self.pooled else 1.0) / spec.temperature
            coef, intercept = (a[0, row] * scales[k] for a in (self.directions, self.intercepts))
            vectors = (array[classes] for array in (query, coef, intercept + shift))
            heads.append(Head(**about, **dict(zip(Head._fields[-3:], vectors, strict=True))))
        return heads

    @property
    def temperatures(self) -> Floats:
        """(directions,): the temperature of each direction's head."""
        return np.repeat([spec.temperature for spec in self.specs], self.n_kinds)

    @property
    def n_signal(self) -> Indices:
        """(directions,): how many tokens carry the signal, in the model of each one's head."""
        return np.repeat([spec.n_signal for spec in self.specs], self.n_kinds)

    @property
    def n_kinds(self) -> Indices:
        """(K,): how many kinds of signal each head knows, a direction each."""
        return np.array([spec.n_kinds for spec in self.specs])

    @property
    def first_directions(self) -> Indices:
        """(K,): the first direction of each head; the others follow."""
        return np.cumsum(self.n_kinds) - self.n_kinds

    def _choose_specs(self, training: TrainingSamples) -> list[HeadSpec]:
        kinds = _KINDS if self.reg is None else ((1.0, self.reg),)
        if self.sums_evidence:  # soft heads would count how often a harmless token occurs
            kinds = kinds[:1]
        # Of several classes each has heads of its own.
        turns = (1.0, -1.0) if training.signs.shape[1] == 1 and not self.sums_evidence else (1.0,)
        return [
            HeadSpec(turn * temperature, shrinkage, reg)
            for shrinkage in self._coordinates(_SHRINKAGES, training)
            for temperature, reg in kinds
            for turn in turns
        ]

    def _coordinates(self, usual: Shrinkages, training: TrainingSamples) -> Shrinkages:
        by_size = usual if training.data.dim <= LARGEST_COVARIANCE else _MANY_FEATURES
        return by_size if self.shrinkages is None else self.shrinkages

    def _learn(self, training: TrainingSamples, weights: Floats) -> None:
        """Find directions (F, K, C, d) and intercepts (F, K, C) for F columns of weights."""
        self.specs = self.specs or self._choose_specs(training)
        objective = HeadObjective(training, self.specs, weights, self.pooled)
        self.directions, self.intercepts = objective.minimize(self.steps, self.tolerance)


@dataclass(kw_only=True)
class PooledHeads(AttentionHeads):
    """Heads for sequences whose mean token decides: linear in it, so that all minima are unique."""

    name = kind = "pooled"
    pooled: ClassVar[bool] = True
    tolerance: ClassVar[float] = 1e-7
    more_steps: ClassVar[int] = 100
    steps: int = 100

    def pooling(self) -> HeadPooling:
        """Return the mean over tokens."""
        return HeadPooling()

    def _choose_specs(self, training: TrainingSamples) -> list[HeadSpec]:
        shrinkages = self._coordinates(_POOLED_SHRINKAGES, training)
        return [HeadSpec(1.0, s, reg) for s in shrinkages for reg in _POOLED_RIDGES]
