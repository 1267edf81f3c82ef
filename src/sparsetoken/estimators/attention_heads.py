"""Heads that collect evidence: log-sum-exp attention, whose query and readout are one direction.

A head's score is a·log mean exp(Zw/a) + b over the tokens of a sequence, in standard coordinates.
For the model of docs/theory and a = 1 that is the log-odds of the Bayes rule: what the query looks
for is what the readout counts. The temperature a says how sharply: at a = 1 a few tokens decide,
and with growing a the score becomes that of the mean token, which the pooled heads have. A negative
a collects evidence for the other class. The objective

    Σ sᵢ ℓ(score; yᵢ) + (λ/2)‖w‖²

leaves no scale free that a ridge does not hold. L-BFGS minimizes those of all heads, folds and
classes together; a step of all is one pass over the tokens, one product forward and one back.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from sparsetoken._types import Array, Floats, Indices
from sparsetoken.estimators.head_passes import (
    evidence_gradients,
    evidence_scores,
    evidence_tokens,
    query_gradients,
)
from sparsetoken.estimators.members import Member, TokenPart, TrainingSamples
from sparsetoken.estimators.minimize import minimize_many
from sparsetoken.inspection.measures import mean_auc
from sparsetoken.sequences.data import Data
from sparsetoken.sequences.passes import pooled_features
from sparsetoken.sequences.sequences import Sequences

# Tuned on needle digits, tiger and musk1 (docs/guide/comparison): temperature and ridge of heads
# to which few tokens matter, some, and many.
_KINDS = ((1.0, 0.01), (3.0, 3e-3), (10.0, 3e-4))
_POOLED_RIDGES = (0.1, 0.01)
# Tokens as they are, up to one scale, and with their correlations mostly removed; a model of many
# features has scaled ones instead of the latter.
_SHRINKAGES: tuple[float | None, ...] = (None, 0.3)
_MANY_FEATURES: tuple[float | None, ...] = (1.0, None)
_POOLED_SHRINKAGES: tuple[float | None, ...] = (None, 1.0, 0.3)
LARGEST_COVARIANCE = 1000  # features; the cost of whitening grows with their third power
_TOLERANCE, _POOLED_TOLERANCE = 1e-5, 1e-7
_POOLED_STEPS = 100
_MORE_STEPS = 15  # on all samples, from heads of some of them


class HeadSpec(NamedTuple):
    """A way to fit a head."""

    temperature: float
    shrinkage: float | None
    reg: float
    n_signal: int = 1


class HeadTask(NamedTuple):
    """A head to fit: how, to which column of the labels and to which column of the weights."""

    spec: HeadSpec
    label_column: int
    weight_column: int


@dataclass
class AttentionHeads(Member):
    """Heads for sequences in which a few tokens decide.

    Parameters
    ----------
    reg : float or None
        The ridge of sharp heads alone; by default there are sharp and soft ones, with ridges of
        their own.
    shrinkages : tuple of float or None, optional
        Coordinates to fit heads in; by default the tokens' own, and nearly whitened ones.
    steps : int
        Most steps of L-BFGS; stopping early is part of the regularization.
    adds : bool
        Whether scores are sums over tokens instead of means, and none speaks for the other class:
        a further token never lowers such a score.
    """

    name: ClassVar[str] = "attention"
    kind: ClassVar[str] = "attention"
    """What ``heads_`` calls them."""
    pooled: ClassVar[bool] = False
    reg: float | None = None
    shrinkages: tuple[float | None, ...] | None = None
    steps: int = 40
    adds: bool = False
    typical: float = 1.0
    """Tokens of a sequence whose sum counts as its mean."""
    specs: list[HeadSpec] = field(default_factory=list)
    directions: Any = None
    """(K, C, d), for tokens as they are."""
    intercepts: Any = None
    """(K, C)."""
    folds: list[Any] = field(default_factory=list)
    """Directions and intercepts of the fits without each fold."""
    aucs: list[float] = field(default_factory=list)
    """AUC of each head on held-out samples; empty if there were none."""

    def fit(self, training: TrainingSamples) -> Floats:
        """Fit all heads to all samples and without each fold, all of them together."""
        self.specs = self._choose_specs(training)
        self.typical = float(np.median(training.data.lengths))
        n_fits, n_classes = len(training.folds) + 1, training.signs.shape[1]
        tasks = [
            HeadTask(spec, c, f)
            for f in range(n_fits)
            for spec in self.specs
            for c in range(n_classes)
        ]
        objective = HeadObjective(training, tasks, training.fit_weights, self.pooled)
        points = self._minimize(objective, objective.start())
        shape = (n_fits, len(self.specs), n_classes)
        directions, intercepts = objective.in_data(points)
        heads = list(zip(directions.reshape(*shape, -1), intercepts.reshape(shape), strict=True))
        (self.directions, self.intercepts), self.folds = heads[0], [list(h) for h in heads[1:]]
        scores = objective.scores(points).reshape(-1, *shape).transpose(1, 2, 0, 3)
        return self._judge(training, scores)

    def refine(self, training: TrainingSamples) -> None:
        """Take steps on all samples, from the heads of some of them."""
        n_classes = training.signs.shape[1]
        tasks = [HeadTask(spec, c, 0) for spec in self.specs for c in range(n_classes)]
        objective = HeadObjective(training, tasks, training.weights[:, np.newaxis], self.pooled)
        start = objective.points_of(self.directions, self.intercepts)
        few = replace(self, steps=min(self.steps, _MORE_STEPS))
        directions, intercepts = objective.in_data(few._minimize(objective, start))
        self.directions = directions.reshape(self.directions.shape)
        self.intercepts = intercepts.reshape(self.intercepts.shape)

    def half_fits(
        self, training: TrainingSamples, spec: HeadSpec, halves: Floats
    ) -> tuple[Floats, float]:
        """Fit a kind of head to two halves of the samples, given by their weights (n, 2).

        Return the directions (2, classes, d) in standard coordinates, and the mean AUC of each
        half's scores by the fit to the other.
        """
        n_classes = training.signs.shape[1]
        tasks = [HeadTask(spec, c, half) for half in range(2) for c in range(n_classes)]
        objective = HeadObjective(training, tasks, halves, self.pooled)
        points = self._minimize(objective, objective.start())
        scores = objective.scores(points).reshape(-1, 2, n_classes)
        other = [(halves[:, half] == 0) & (training.weights > 0) for half in range(2)]
        aucs = [mean_auc(scores[o, half], training.signs[o]) for half, o in enumerate(other)]
        return points[:, :-1].reshape(2, n_classes, -1), float(np.mean(aucs))

    def scores(self, data: Data) -> Floats:
        """Return the scores (n, K, C) of sequences."""
        directions = self.directions.reshape(-1, self.directions.shape[-1]).T
        temperatures = np.repeat(self._temperatures, self.directions.shape[1])
        scores = data.per_sample(evidence_scores, directions, temperatures)
        scores = scores.reshape(-1, *self.intercepts.shape) + self.intercepts
        return scores + self.by_length(data.lengths)

    def by_length(self, lengths: Any) -> Floats:
        """Return what turns means over so many tokens into sums, (n, K, 1)."""
        more = np.log(np.asarray(lengths) / self.typical) * self.adds
        return self._temperatures[:, np.newaxis] * more.reshape(-1, 1, 1)

    def without_fold(self, fold: int) -> Self:
        """Return the heads that were fitted without a fold."""
        directions, intercepts = self.folds[fold]
        return replace(self, directions=directions, intercepts=intercepts, folds=[])

    def per_token(self, sequences: Sequences, column: int, center: Floats) -> TokenPart:
        """Return attention and contribution of every token."""
        directions = self.directions[:, column].T
        attention, parts = evidence_tokens(sequences, directions, self._temperatures, center)
        more = np.repeat(self.by_length(sequences.lengths)[..., 0], sequences.lengths, axis=0)
        baseline = center @ directions + self.intercepts[:, column]
        return TokenPart(attention, parts + attention * more, baseline)

    def describe(self) -> list[dict[str, Any]]:
        """Return what there is to say about each head."""
        return [
            {"model": self.kind, **spec._asdict(), "auc": self.aucs[k] if self.aucs else None}
            for k, spec in enumerate(self.specs)
        ]

    def summarize(self, token: Array) -> Any:
        """Return a token's scores, (K, C), the sum e^(score − largest) and the number of tokens."""
        scores = self.directions @ token / self._temperatures[:, np.newaxis]
        return scores, np.ones_like(scores), 1

    def join(self, earlier: Any, later: Any) -> Any:
        """Return the summary of tokens followed by others."""
        largest = np.maximum(earlier[0], later[0])
        before, after = np.exp(earlier[0] - largest), np.exp(later[0] - largest)
        return largest, before * earlier[1] + after * later[1], earlier[2] + later[2]

    def scores_of(self, summary: Any) -> Floats:
        """Return the scores (K, C) of the tokens of a summary."""
        largest, total, count = summary
        log_mean = largest + np.log(total / count)
        scores: Floats = self._temperatures[:, np.newaxis] * log_mean + self.intercepts
        return scores + self.by_length(count)[0]

    def _judge(self, training: TrainingSamples, scores: Floats) -> Floats:
        """Return the held-out ones of the scores (fits, K, n, C), and keep their AUCs."""
        held_out = training.held_out(scores)
        held_out += self.by_length(training.data.lengths).swapaxes(0, 1)
        seen = np.isfinite(held_out).all(axis=(0, 2))
        self.aucs = (
            [mean_auc(s[seen], training.signs[seen]) for s in held_out] if seen.any() else []
        )
        return held_out

    @property
    def _temperatures(self) -> Floats:
        return np.array([spec.temperature for spec in self.specs])

    def _choose_specs(self, training: TrainingSamples) -> list[HeadSpec]:
        kinds = _KINDS if self.reg is None else ((1.0, self.reg),)
        if self.adds:  # soft heads would count how often a harmless token occurs
            kinds = kinds[:1]
        # Of several classes each has heads of its own.
        turns = (1.0, -1.0) if training.signs.shape[1] == 1 and not self.adds else (1.0,)
        return [
            HeadSpec(turn * temperature, shrinkage, reg)
            for shrinkage in _shrinkages(self.shrinkages, _SHRINKAGES, training)
            for temperature, reg in kinds
            for turn in turns
        ]

    def _minimize(self, objective: "HeadObjective", start: Floats) -> Floats:
        return minimize_many(objective, start, self.steps, _TOLERANCE)


@dataclass
class PooledHeads(AttentionHeads):
    """Heads for sequences whose mean token decides: linear in it, so that all minima are unique."""

    name: ClassVar[str] = "pooled"
    kind: ClassVar[str] = "pooled"
    pooled: ClassVar[bool] = True

    def scores(self, data: Data) -> Floats:
        """Return the scores (n, K, C) of sequences."""
        means = data.per_sample(pooled_features)
        return np.einsum("nd,kcd->nkc", means, self.directions) + self.intercepts

    def per_token(self, sequences: Sequences, column: int, center: Floats) -> TokenPart:
        """Return equal attention, and each token's part of the mean."""
        lengths = np.repeat(sequences.lengths, sequences.lengths)[:, np.newaxis]
        directions = self.directions[:, column].T
        attention = np.broadcast_to(1.0 / lengths, (len(lengths), len(self.specs)))
        contributions = (sequences.tokens - center) @ directions / lengths
        return TokenPart(attention, contributions, center @ directions + self.intercepts[:, column])

    def summarize(self, token: Array) -> Any:
        """Return a token's scores and the number of tokens."""
        return self.directions @ token, 1

    def join(self, earlier: Any, later: Any) -> Any:
        """Return the summary of tokens followed by others."""
        return earlier[0] + later[0], earlier[1] + later[1]

    def scores_of(self, summary: Any) -> Floats:
        """Return the scores (K, C) of the tokens of a summary."""
        scores: Floats = summary[0] / summary[1] + self.intercepts
        return scores

    def _choose_specs(self, training: TrainingSamples) -> list[HeadSpec]:
        shrinkages = _shrinkages(self.shrinkages, _POOLED_SHRINKAGES, training)
        return [HeadSpec(1.0, s, reg) for s in shrinkages for reg in _POOLED_RIDGES]

    def _minimize(self, objective: "HeadObjective", start: Floats) -> Floats:
        return minimize_many(objective, start, _POOLED_STEPS, _POOLED_TOLERANCE)


def _shrinkages(
    asked: tuple[float | None, ...] | None,
    usual: tuple[float | None, ...],
    training: TrainingSamples,
) -> tuple[float | None, ...]:
    if asked is not None:
        return asked
    return usual if training.data.dim <= LARGEST_COVARIANCE else _MANY_FEATURES


class HeadObjective:
    """Value and gradient of the objective of each task; a point is w and b in a row.

    With ``pooled`` every sequence is its mean token, of which a·log mean exp(z·w/a) is z·w.
    """

    def __init__(
        self, training: TrainingSamples, tasks: list[HeadTask], weights: Floats, pooled: bool
    ) -> None:
        self.training, self.tasks, self.pooled = training, tasks, pooled
        self.data = training.data.pooled() if pooled else training.data
        self.rows = (training.signs, weights)
        self.regs = np.array([task.spec.reg for task in tasks])
        self.temperatures = np.array([task.spec.temperature for task in tasks])
        self.label_column = np.array([task.label_column for task in tasks])
        self.weight_column = np.array([task.weight_column for task in tasks])

    def __call__(self, points: Floats, which: Indices) -> tuple[Floats, Floats]:
        """Return values and gradients of some tasks."""
        values, by_direction, by_bias = self.data.total(
            evidence_gradients,
            self.rows,
            *self.training.pass_scale,
            self._change("to_scaled", points[:, :-1], which).T,
            self.temperatures[which],
            points[:, -1],
            self.label_column[which],
            self.weight_column[which],
        )
        directions, regs = points[:, :-1], self.regs[which]
        values = values + 0.5 * regs * (directions**2).sum(axis=1)
        gradients = self._change("from_scaled", by_direction.T, which)
        return values, np.column_stack([gradients + regs[:, np.newaxis] * directions, by_bias])

    def start(self) -> Floats:
        """Return two-step queries, turned so that high scores speak for the class; or zero."""
        points = np.zeros((len(self.tasks), self.data.dim + 1))
        if not self.pooled:
            queries, sign = self.two_step_queries()
            points[:, :-1] = queries * (sign * np.abs(self.temperatures))[:, np.newaxis]
        return points

    def scores(self, points: Floats) -> Floats:
        """Return the scores (n, tasks) of all samples."""
        directions = self._change("to_scaled", points[:, :-1], self._all).T
        return points[:, -1] + self.data.per_sample(
            evidence_scores, directions, self.temperatures, *self.training.pass_scale
        )

    def in_data(self, points: Floats) -> tuple[Floats, Floats]:
        """Return directions (tasks, d) and intercepts for tokens as they are."""
        directions = self._change("to_scaled", points[:, :-1], self._all) * self.training.scale
        return directions, points[:, -1] - directions @ self.training.mean

    def points_of(self, directions: Floats, intercepts: Floats) -> Floats:
        """Return the points of heads for tokens as they are."""
        directions = directions.reshape(len(self.tasks), -1)
        scale = self.training.scale
        scaled = np.divide(directions, scale, out=np.zeros_like(directions), where=scale > 0)
        rows = self._change("to_standard", scaled, self._all)
        return np.column_stack([rows, intercepts.ravel() + directions @ self.training.mean])

    def two_step_queries(self) -> tuple[Floats, Floats]:
        """Return two-step queries of norm one in standard coordinates, and the readout's sign.

        The slopes of the second step, taken at small learning rates, are centered: both classes
        have the same weight, counted in tokens less one, which is what a sequence adds to the
        query's gradient along the readout. So neither the class prior nor different lengths of the
        classes can turn the query round (docs/theory, section 3), and long sequences do not drown
        it.
        """
        sign = self.rows[0][:, self.label_column]
        weight = self.rows[1][:, self.weight_column]
        means = self.data.per_sample(pooled_features)
        if self.training.pass_scale[0] is not None:
            means = (means - self.training.mean) * self.training.scale
        readout = self._change("from_scaled", _balanced(sign, weight).T @ means, self._all)
        spread = 1.0 - 1.0 / self.data.lengths[:, np.newaxis]
        (gradient,) = self.data.total(
            query_gradients,
            (-_balanced(sign, weight, spread),),
            *self.training.pass_scale,
            self._change("to_scaled", readout, self._all).T,
        )
        query = -self._change("from_scaled", gradient.T, self._all)
        norm = np.linalg.norm(query, axis=1, keepdims=True)
        query = np.divide(query, norm, out=np.zeros_like(query), where=norm > 0)
        return query, np.where((query * readout).sum(axis=1) >= 0, 1.0, -1.0)

    @property
    def _all(self) -> Indices:
        return np.arange(len(self.tasks))

    def _change(self, name: str, rows: Floats, which: Indices) -> Floats:
        """Return the rows of tasks in other coordinates, each in those of its shrinkage."""
        changed = np.empty_like(rows)
        shrinkages = [self.tasks[k].spec.shrinkage for k in which]
        for shrinkage in dict.fromkeys(shrinkages):
            chosen = [s == shrinkage for s in shrinkages]
            changed[chosen] = getattr(self.training.standard, name)(rows[chosen], shrinkage)
        return changed


def _balanced(sign: Floats, weight: Floats, spread: Floats | float = 1.0) -> Floats:
    """Return ±weight, scaled so that weight·spread of each class sums to one half."""
    spread_weight = weight * spread
    total = np.where(
        sign > 0,
        np.where(sign > 0, spread_weight, 0.0).sum(axis=0),
        np.where(sign < 0, spread_weight, 0.0).sum(axis=0),
    )
    return 0.5 * sign * np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
