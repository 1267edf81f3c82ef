"""Planning from pilot data: the problem they show, and how far the plan can be trusted."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import ledoit_wolf
from sklearn.model_selection import StratifiedKFold, cross_val_score

from sparsetoken._validation import check_choice, check_count, check_real
from sparsetoken.estimators import PooledClassifier, TwoStepAttentionClassifier
from sparsetoken.estimators.sequences import Sequences, as_sequences
from sparsetoken.planner.entry import make_plan
from sparsetoken.planner.floors import Unreachable
from sparsetoken.planner.moments import TokenSummary, estimate_moments, summarise
from sparsetoken.planner.record import Plan
from sparsetoken.problem import RandomState, SparseTokenProblem

__all__ = ["PilotEstimate", "PilotPlan", "PilotWarning", "estimate_problem", "plan_from_pilot"]

Array = NDArray[np.float64]

_GROUPS = 20
_FEWEST = 4  # samples of a class
_DETECTED = 2.0  # standard errors


class PilotWarning(UserWarning):
    """The pilot data cannot tell the signal from noise."""


@dataclass(frozen=True, repr=False)
class PilotEstimate:
    """What pilot data say about the problem; made by :func:`estimate_problem`."""

    problem: SparseTokenProblem
    """The problem to plan with: ``n_signal`` rounded, and the signal given that number."""
    signal: float
    """Strength θ, both moments taken at their word."""
    n_signal: float
    """Number R of signal tokens, not rounded."""
    positive_rate: float
    standard_errors: dict[str, float]
    """Of ``signal``, ``n_signal``, ``positive_rate`` and, as ``problem.signal``, of that one."""
    evidence: float
    """Class difference of the mean tokens (squared norm) in standard errors."""
    n_samples: int
    dim: int

    @property
    def reliable(self) -> bool:
        """Whether the pilot tells the signal from noise."""
        return self.evidence >= _DETECTED and self.signal > 0

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name}={getattr(self, name):.3g} ± {self.standard_errors[name]:.2g}"
            for name in ("signal", "n_signal", "positive_rate")
        )
        flag = "" if self.reliable else ", reliable=False"
        return f"PilotEstimate({parts}, n_tokens={self.problem.n_tokens}{flag})"


def estimate_problem(X: Any, y: Any, *, random_state: RandomState = 0) -> PilotEstimate:
    """Estimate signal strength, sparsity and rate from labelled pilot sequences.

    The tokens are centred and whitened by the negatives' mean and covariance, the latter shrunk
    towards a multiple of the identity as Ledoit and Wolf do: fully so where the tokens are too few
    for their dimension. Then the class differences of first and second moments are compared, free
    of the bias of high dimension, with standard errors by a jackknife over groups of samples.

    Parameters
    ----------
    X : Sequences, array of shape (n, L, d), or list of (L_i, d) arrays
        The pilot sequences; of different lengths the mean one enters.
    y : array-like of shape (n,)
        Two labels; the second in sorted order is the positive one.
    random_state : int, Generator or None, default=0
        Decides the groups of the jackknife.

    Returns
    -------
    PilotEstimate
        With ``problem`` and ``standard_errors``; a :class:`PilotWarning` says when the pilot cannot
        tell the signal from noise.

    Examples
    --------
    >>> import sparsetoken as st
    >>> truth = st.SparseTokenProblem(n_tokens=10, n_signal=2, signal=4.0)
    >>> X, y = truth.sample(400, 30, random_state=0)
    >>> pilot = st.estimate_problem(X, y)
    >>> pilot
    PilotEstimate(signal=..., n_signal=..., positive_rate=..., n_tokens=10)
    >>> pilot.problem.n_signal
    2
    """
    sequences, positive = _check(X, y)
    white = _whiten(sequences, positive)
    lengths = sequences.lengths
    n_tokens = float(lengths.mean())
    rng = np.random.default_rng(random_state)
    n_groups = _GROUPS if sequences.dim <= 256 else _GROUPS // 2  # bounds the memory
    n_groups = min(n_groups, int(positive.sum()), int((~positive).sum()))
    classes = [_summarise(white, sequences, mask, n_groups, rng) for mask in (positive, ~positive)]
    moments = estimate_moments(*(part.without(None) for part in classes))
    left_out = [
        estimate_moments(*(part.without(group) for part in classes))
        for group in range(classes[0].count.size)
    ]
    whole = max(1, round(n_tokens))
    n_signal = min(max(1, round(moments.n_signal(n_tokens))), whole)
    signal = moments.signal_given(n_signal, n_tokens)
    rate = float(positive.mean())
    errors = {
        "signal": _jackknife([m.signal() for m in left_out]),
        "n_signal": _jackknife([m.n_signal(n_tokens) for m in left_out]),
        "positive_rate": math.sqrt(rate * (1 - rate) / positive.size),
        "problem.signal": _jackknife([m.signal_given(n_signal, n_tokens) for m in left_out]),
    }
    spread = _jackknife([m.mean for m in left_out])
    estimate = PilotEstimate(
        SparseTokenProblem(whole, n_signal, signal, rate),
        moments.signal(),
        moments.n_signal(n_tokens),
        rate,
        errors,
        moments.mean / spread if spread > 0 else math.inf,
        positive.size,
        sequences.dim,
    )
    if not estimate.reliable:
        warnings.warn(
            f"the pilot of {positive.size} samples cannot tell the signal from noise: the class "
            f"difference is {estimate.evidence:.1f} standard errors; a larger pilot would help",
            PilotWarning,
            stacklevel=2,
        )
    return estimate


@dataclass(frozen=True, repr=False)
class PilotPlan:
    """A plan from pilot data, with what its uncertainty does to it.

    ``plan`` is at the estimate; ``optimistic`` and ``pessimistic`` at a signal one standard error
    stronger and weaker, the latter None if the target is then out of reach. ``observed`` compares
    predicted with cross-validated errors of the planned classifier and of the pooled one on the
    pilot data: rows of (model, n_samples, predicted, observed, standard error).
    """

    estimate: PilotEstimate
    plan: Plan
    optimistic: Plan
    pessimistic: Plan | None
    observed: tuple[tuple[str, int, float, float, float], ...]

    @property
    def trust(self) -> str:
        """How far to trust the plan, in plain words."""
        if not self.estimate.reliable:
            return "not at all: the pilot cannot tell the signal from noise"
        off = [
            f"{model} at {n} samples: predicted {predicted:.3f}, observed {observed:.3f} ± {bar:.3f}"
            for model, n, predicted, observed, bar in self.observed
            if abs(observed - predicted) > 3 * bar + 0.15 * predicted
        ]
        if off:
            return "little: the pilot's own errors differ from the prediction (" + "; ".join(off) + ")"
        if self.pessimistic is None:
            return "with care: a signal one standard error weaker would not reach the target"
        return "as far as the range goes: the pilot's own errors agree with the prediction"

    def summary(self) -> str:
        """Return estimate, plan, range and trust as text."""
        worst = "out of reach" if self.pessimistic is None else self.pessimistic.n_samples
        lines = [
            self.plan.answer,
            f"range over one standard error of the signal: {self.optimistic.n_samples} to {worst}",
            f"trust: {self.trust}",
            "",
            repr(self.estimate),
            "observed on the pilot: model, n_samples, predicted, observed ± standard error",
        ]
        for model, n_samples, predicted, observed, bar in self.observed:
            lines.append(f"  {model:<10} {n_samples:<6} {predicted:.3f}  {observed:.3f} ± {bar:.3f}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"PilotPlan({self.plan.answer}; trust: {self.trust})"


def plan_from_pilot(
    X: Any, y: Any, *, error: float, model: str, random_state: RandomState = 0
) -> PilotPlan:
    """Plan the number of samples; see :meth:`sparsetoken.planner.Planner.from_pilot`."""
    check_choice("model", model, ("attention", "pooled"))
    check_real("error", error, low=0.0, above=True)
    estimate = estimate_problem(X, y, random_state=random_state)
    if estimate.signal == 0:
        raise ValueError("X must show a signal to plan with: its moments show none")

    def at(shift: float) -> Plan:
        problem = estimate.problem
        return make_plan(
            n_samples=None,
            dim=estimate.dim,
            n_tokens=problem.n_tokens,
            n_signal=problem.n_signal,
            signal=max(problem.signal + shift, 1e-3),
            positive_rate=problem.positive_rate,
            error=error,
            model=model,
            metric="error",
        )

    spread = estimate.standard_errors["problem.signal"]
    try:
        pessimistic = at(-spread)
    except Unreachable:
        pessimistic = None
    observed = _observed(X, y, estimate, model, random_state)
    return PilotPlan(estimate, at(0.0), at(spread), pessimistic, observed)


def _observed(
    X: Any, y: Any, estimate: PilotEstimate, model: str, random_state: RandomState
) -> tuple[tuple[str, int, float, float, float], ...]:
    """Cross-validate on half and on four fifths of the pilot, and predict the same."""
    sequences, positive = _check(X, y)
    white = Sequences(_whiten(sequences, positive), sequences.offsets)
    label = positive.astype(int)
    folds = min(5, int(min(label.sum(), (1 - label).sum())))
    rng = np.random.default_rng(random_state)
    rows: list[tuple[str, int, float, float, float]] = []
    problem = estimate.problem
    for name in dict.fromkeys((model, "pooled")):
        for share in (0.5, 1.0):
            chosen = np.sort(rng.permutation(label.size)[: max(8, round(share * label.size))])
            n_samples = chosen.size - chosen.size // folds
            if n_samples < 8 or min(np.bincount(label[chosen], minlength=2)) < 2 * folds:
                continue
            predicted = make_plan(
                n_samples=n_samples,
                dim=estimate.dim,
                n_tokens=problem.n_tokens,
                n_signal=problem.n_signal,
                signal=max(problem.signal, 1e-3),
                positive_rate=problem.positive_rate,
                error=None,
                model=name,
                metric="error",
            )
            kind = PooledClassifier if name == "pooled" else TwoStepAttentionClassifier
            cv = StratifiedKFold(folds, shuffle=True, random_state=int(rng.integers(2**31)))
            scores = cross_val_score(
                kind(**predicted.settings), white[chosen], label[chosen], cv=cv
            )
            observed = 1.0 - float(scores.mean())
            bar = max(
                math.sqrt(max(observed * (1 - observed), 1e-4) / chosen.size),
                float(scores.std(ddof=1)) / math.sqrt(folds),
            )
            rows.append((name, n_samples, predicted.error, observed, bar))
    return tuple(rows)


def _check(X: Any, y: Any) -> tuple[Sequences, NDArray[np.bool_]]:
    sequences = as_sequences(X)
    labels = np.asarray(y)
    if labels.shape != (len(sequences),):
        raise ValueError(f"y must have shape ({len(sequences)},), got {labels.shape}")
    classes = np.unique(labels)
    if classes.size != 2:
        raise ValueError(f"y must have two labels, got {classes.size}")
    positive = labels == classes[1]
    check_count("the dimension of the tokens of X", sequences.dim, minimum=2)
    for name, count in (("positive", positive.sum()), ("negative", (~positive).sum())):
        if count < _FEWEST:
            raise ValueError(f"y must have at least {_FEWEST} {name} samples, got {count}")
    return sequences, positive


def _whiten(sequences: Sequences, positive: NDArray[np.bool_]) -> Array:
    """Return the tokens in units of the negatives' noise."""
    of_token = np.repeat(positive, sequences.lengths)
    tokens = sequences.tokens.astype(np.float64)
    tokens = tokens - tokens[~of_token].mean(axis=0)
    covariance = ledoit_wolf(tokens[~of_token], assume_centered=True)[0]
    values, vectors = np.linalg.eigh(covariance)
    floor = 1e-10 * float(values.max())
    if floor <= 0.0:
        raise ValueError("X must vary: the tokens of the negative samples are all the same")
    return tokens @ (vectors / np.sqrt(np.maximum(values, floor)))


def _summarise(
    white: Array,
    sequences: Sequences,
    mask: NDArray[np.bool_],
    n_groups: int,
    rng: np.random.Generator,
) -> TokenSummary:
    part = Sequences(white, sequences.offsets)[np.flatnonzero(mask)]
    return summarise(part.tokens, part.offsets, rng.permutation(len(part)) % n_groups)


def _jackknife(values: list[float]) -> float:
    """Standard error from the estimates with one group left out each."""
    size = len(values)
    return math.sqrt((size - 1) * float(np.var(values)))
