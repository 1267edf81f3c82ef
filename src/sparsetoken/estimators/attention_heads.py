"""Heads that collect evidence: log-sum-exp attention, whose query and readout are one direction.

A head's score is a·log mean exp(Zw/a) + b over the tokens of a sequence, in standard coordinates:
for the model of docs/theory and a = 1 the log-odds of the Bayes rule. At temperature a = 1 a few
tokens decide, and with growing a the score becomes that of the mean token, which the pooled heads
have. A negative a collects evidence for the other class. L-BFGS minimizes the objectives
Σ sᵢ ℓ(score; yᵢ) + (λ/2)‖w‖² of all heads, folds and classes together; a step of all is one pass
over the tokens, one product forward and one back.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sparsetoken._types import Array, Floats, Indices
from sparsetoken.estimators.head_passes import TaskHeads, evidence_gradients, query_gradients
from sparsetoken.estimators.head_pooling import EvidencePooling, HeadPooling, linear_scores
from sparsetoken.estimators.members import Heads, TrainingSamples
from sparsetoken.estimators.minimize import minimize_many
from sparsetoken.estimators.reference import mean_auc
from sparsetoken.sequences.passes import pooled_features

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
LARGEST_COVARIANCE = 1000  # features; the cost of whitening grows with their third power


class HeadSpec(NamedTuple):
    """A way to fit a head."""

    temperature: float
    shrinkage: float | None
    reg: float
    n_signal: int = 1
    n_kinds: int = 1  # kinds of signal, a direction each


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
    frequencies: Any = None  # (directions, C), of kinds of signal; None: there is one
    aucs: list[float] = field(default_factory=list)  # of held-out samples, if any

    def __post_init__(self) -> None:
        count = sum(spec.n_kinds for spec in self.specs)
        if self.directions is not None and count != self.directions.shape[1]:
            raise ValueError(f"heads of {count} directions, and {self.directions.shape[1]} of them")
        if any(min(s.n_signal, s.n_kinds) < 1 or not abs(s.temperature) > 0 for s in self.specs):
            raise ValueError("a head without signal tokens, or without temperature")

    def fit(self, training: TrainingSamples) -> Floats:
        """Fit all heads to all samples and without each fold, all of them together."""
        self.reference_length = float(np.median(training.data.lengths))
        self.specs = self._choose_specs(training)
        self.directions, self.intercepts = self._fit_columns(training, training.fit_weights)
        held_out = training.held_out(self)
        seen = np.isfinite(held_out).all(axis=(0, 2))
        if seen.any():
            self.aucs = [mean_auc(s[seen], training.signs[seen]) for s in held_out]
        return held_out

    def half_fits(
        self, training: TrainingSamples, spec: HeadSpec, halves: Floats
    ) -> tuple[Floats, float]:
        """Fit a kind of head to two halves of the samples, given by their weights (n, 2).

        Return standard directions (2, kinds times classes, d), and the AUC of the other halves.
        """
        alone = replace(self, specs=[spec], directions=None, intercepts=None)
        alone.directions, alone.intercepts = alone._fit_columns(training, halves)
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
        weights = training.weights[:, np.newaxis]
        objective = HeadObjective(training, self.specs, weights, self.pooled)
        start, steps = (self.directions[0], self.intercepts[0]), min(self.steps, self.more_steps)
        fits = objective.minimize(steps, self.tolerance, start)
        self.directions[:1], self.intercepts[:1] = fits

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

    def describe(self) -> list[dict[str, Any]]:
        """Return what there is to say about each head."""
        return [
            {"model": self.kind, **spec._asdict(), "auc": self.aucs[k] if self.aucs else None}
            for k, spec in enumerate(self.specs)
        ]

    def heads(self, weights: Floats, scales: Floats, shift: Floats) -> list[Head]:
        """Return the heads as users see them: with their weights, scaled, and shifted alike."""
        classes: Any = 0 if len(shift) == 1 else slice(None)  # two classes have one score
        heads = []
        for row, k in enumerate(np.repeat(np.arange(len(weights)), self.n_kinds)):
            about = self.describe()[k]
            frequency = 1.0 if self.frequencies is None else self.frequencies[row, 0]
            query = self.directions[0, row] * (0.0 if self.pooled else 1.0) / about["temperature"]
            coef, intercept = (a[0, row] * scales[k] for a in (self.directions, self.intercepts))
            about |= {"temperature": float(about["temperature"] * scales[k])}
            about |= {"query": query[classes], "coef": coef[classes]}
            about |= {"intercept": (intercept + shift)[classes]}
            heads.append(Head(**about, weight=float(weights[k] * frequency)))
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

    def _fit_columns(self, training: TrainingSamples, weights: Floats) -> tuple[Floats, Floats]:
        """Return directions (F, K, C, d) and intercepts (F, K, C) for F columns of weights."""
        objective = HeadObjective(training, self.specs, weights, self.pooled)
        return objective.minimize(self.steps, self.tolerance)


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


class HeadObjective:
    """Value and gradient of the objectives of heads: a task for each fit, spec and class.

    A point is w and b in a row. With ``pooled`` every sequence is its mean token.
    """

    def __init__(
        self, training: TrainingSamples, specs: list[HeadSpec], weights: Floats, pooled: bool
    ) -> None:
        self.training, self.pooled = training, pooled
        self.data = training.data.pooled() if pooled else training.data
        self.rows = (training.signs, weights)
        self.shape = (weights.shape[1], len(specs), training.signs.shape[1])
        self.weight_column, spec, self.label_column = (i.ravel() for i in np.indices(self.shape))
        self.regs = np.array([one.reg for one in specs])[spec]
        self.temperatures = np.array([one.temperature for one in specs])[spec]
        self.shrinkages = [specs[k].shrinkage for k in spec]
        self.tasks = np.arange(len(spec))

    def __call__(self, points: Floats, which: Indices) -> tuple[Floats, Floats]:
        """Return values and gradients of some tasks."""
        rows, regs = points[:, :-1], self.regs[which]
        directions, offsets = self._to_data(rows, which)
        columns = self.label_column[which], self.weight_column[which]
        heads = TaskHeads(self.temperatures[which], points[:, -1] + offsets, *columns)
        sums = self.data.total(evidence_gradients, self.rows, directions.T, heads)
        values, by_direction, by_bias = sums
        values = values + 0.5 * regs * (rows**2).sum(axis=1)
        gradients = self._from_data(by_direction.T, by_bias, which)
        return values, np.column_stack([gradients + regs[:, np.newaxis] * rows, by_bias])

    def minimize(
        self, steps: int, tolerance: float, start: tuple[Floats, Floats] | None = None
    ) -> tuple[Floats, Floats]:
        """Return directions (F, K, C, d) and intercepts (F, K, C) for tokens as they are.

        The start is such a pair, by default zero if pooled, else two-step queries.
        """
        points, standard = np.zeros((len(self.regs), self.data.dim + 1)), self.training.standard
        if start is not None:
            directions = start[0].reshape(len(self.regs), -1)
            points[:, :-1] = self._by_shrinkage(standard.to_standard, self.tasks, directions)
            points[:, -1] = start[1].ravel() + directions @ standard.mean
        elif not self.pooled:
            queries, sign = self.two_step_queries()
            points[:, :-1] = queries * (sign * np.abs(self.temperatures))[:, np.newaxis]
        points = minimize_many(self, points, steps, tolerance)
        directions, offsets = self._to_data(points[:, :-1], self.tasks)
        intercepts = points[:, -1] + offsets
        return directions.reshape(*self.shape, -1), intercepts.reshape(self.shape)

    def two_step_queries(self) -> tuple[Floats, Floats]:
        """Return two-step queries of norm one in standard coordinates, and the readout's sign.

        The slopes of the second step are centered: both classes have the same weight, counted in
        tokens less one. So neither the class prior nor different lengths of the classes can turn
        the query round (docs/theory, section 3), and long sequences do not drown it.
        """
        sign = self.rows[0][:, self.label_column]
        weight = self.rows[1][:, self.weight_column]
        slopes = _balanced(sign, weight)
        means = self.data.per_sample(pooled_features)
        readout = self._from_data(slopes.T @ means, slopes.sum(axis=0), self.tasks)
        spread = 1.0 - 1.0 / self.data.lengths[:, np.newaxis]
        slopes, directions = -_balanced(sign, weight, spread), self._to_data(readout, self.tasks)[0]
        (gradient,) = self.data.total(query_gradients, (slopes,), directions.T)
        query = -self._from_data(gradient.T, np.zeros(len(self.tasks)), self.tasks)
        norm = np.linalg.norm(query, axis=1, keepdims=True)
        query = np.divide(query, norm, out=np.zeros_like(query), where=norm > 0)
        return query, np.where((query * readout).sum(axis=1) >= 0, 1.0, -1.0)

    def _to_data(self, rows: Floats, which: Indices) -> tuple[Floats, Floats]:
        """Return directions and offsets for tokens as they are, of tasks in their coordinates."""
        standard = self.training.standard
        directions = self._by_shrinkage(lambda *part: standard.to_data(*part)[0], which, rows)
        return directions, -(directions @ standard.mean)

    def _from_data(self, sums: Floats, totals: Floats, which: Indices) -> Floats:
        """Return sums over tokens in the coordinates of tasks."""
        return self._by_shrinkage(self.training.standard.from_data, which, sums, totals)

    def _by_shrinkage(self, change: Any, which: Indices, *rows: Floats) -> Floats:
        """Return what a change of coordinates makes of rows, with the shrinkage of each task."""
        shrinkages = [self.shrinkages[k] for k in which]
        changed = np.empty_like(rows[0])
        for shrinkage in dict.fromkeys(shrinkages):
            alike = [one == shrinkage for one in shrinkages]
            changed[alike] = change(*(part[alike] for part in rows), shrinkage)
        return changed


def _balanced(sign: Floats, weight: Floats, spread: Floats | float = 1.0) -> Floats:
    """Return ±weight, scaled so that weight·spread of each class sums to one half."""
    positive, negative = (
        np.where(side, weight * spread, 0.0).sum(axis=0) for side in (sign > 0, sign < 0)
    )
    total = np.where(sign > 0, positive, negative)
    return 0.5 * sign * np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
