"""The model's parameters from pilot data: strength, sparsity and kinds of signal, positive rate.

The posterior iteration of :class:`~sparsetoken.BayesAttentionClassifier` finds the directions of
the signal together with its strength, for several numbers of signal tokens and of kinds. Held-out
labels say how many kinds, the likelihood of the labels how many tokens, and fits without a fold say
how certain the strength is.
"""

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from sparsetoken._validation import check_count
from sparsetoken.estimators import BayesAttentionClassifier
from sparsetoken.estimators.folds import class_signs, mean_auc
from sparsetoken.inspection.diagnosis import chance_error
from sparsetoken.problem import RandomState, SparseTokenProblem
from sparsetoken.sequences.sequences import as_sequences

_FOLDS = 10
_FEWEST = 4  # samples of a class
_DETECTED = 3.0  # standard errors of the held-out AUC
_TEMPERATURE = 1.5  # evidence of neighboring numbers of tokens is less independent than it looks


class PilotWarning(UserWarning):
    """The pilot data cannot tell the signal from noise."""


@dataclass(frozen=True, repr=False)
class PilotEstimate:
    """What pilot data say about the problem; made by :func:`estimate_problem`."""

    signal: float
    """Strength θ in standard deviations of the noise; NaN if the pilot cannot tell."""
    n_signal: float
    """Number R of signal tokens, of 1, 2, 3, 5 and 8; NaN if the pilot cannot tell."""
    n_kinds: float
    """Kinds of signal that the labels tell apart, one to five; NaN if the pilot cannot tell."""
    positive_rate: float
    standard_errors: dict[str, float]
    """Of ``signal``, ``n_signal`` and ``positive_rate``."""
    evidence: float
    """How far the AUC of held-out sequences is above one half, in standard errors of chance."""
    holds: bool
    """Whether the model describes these data, as ``model_fit_`` of the classifier says."""
    n_samples: int
    """Labelled sequences."""
    n_tokens: int
    """Mean length of a sequence, rounded."""
    dim: int

    @property
    def reliable(self) -> bool:
        """Whether the pilot tells the signal from noise."""
        return self.evidence >= _DETECTED

    @property
    def problem(self) -> SparseTokenProblem:
        """The problem to plan with; strengths are taken as equal. ValueError if there is none."""
        if not self.reliable:
            raise ValueError(_too_small(self))
        n_signal = min(int(self.n_signal), self.n_tokens)
        numbers = self.n_tokens, n_signal, self.signal, self.positive_rate
        return SparseTokenProblem(*numbers, n_kinds=int(self.n_kinds))

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name}={getattr(self, name):.3g} ± {self.standard_errors[name]:.2g}"
            for name in ("signal", "n_signal", "positive_rate")
        )
        rest = f"n_kinds={self.n_kinds:g}, n_tokens={self.n_tokens}, holds={self.holds}"
        flag = "" if self.reliable else ", reliable=False"
        return f"PilotEstimate({parts}, {rest}{flag})"


def estimate_problem(X: Any, y: ArrayLike, *, random_state: RandomState = 0) -> PilotEstimate:
    """Estimate strength, sparsity, kinds and rate of the signal from pilot sequences.

    A :class:`~sparsetoken.BayesAttentionClassifier` is fitted and finds how many kinds of signal
    there are. Its iteration estimates the strength with each of several numbers of signal tokens,
    and the labels weigh these numbers. The standard error of the strength holds what fits without a
    tenth of the sequences differ by, and what the likely numbers of tokens do. Strengths that vary
    between sequences or kinds cannot be told apart: the estimate is of a common one. Kinds that too
    few sequences carry are missed.

    Parameters
    ----------
    X : Sequences, array of shape (n, L, d), or list of (L_i, d) arrays
        The pilot sequences; of different lengths the mean one enters ``problem``.
    y : array-like of shape (n,)
        Two labels; the second in sorted order is the positive one. -1 marks sequences without a
        label if there are two others.
    random_state : int, Generator or None, default=0
        Decides the folds.

    Returns
    -------
    PilotEstimate
        With ``problem``, ``standard_errors`` and ``holds``. A ``PilotWarning`` says when the
        pilot cannot tell the signal from noise; there is no number then.

    Examples
    --------
    >>> import sparsetoken as st
    >>> truth = st.SparseTokenProblem(n_tokens=10, n_signal=2, signal=4.0)
    >>> X, y = truth.sample(400, 30, random_state=0)
    >>> pilot = st.estimate_problem(X, y)
    >>> round(pilot.signal, 1), pilot.problem.n_signal, pilot.holds
    (4.0, 2, True)
    """
    sequences, labels = as_sequences(X), np.asarray(y)
    counts = count_labels(labels, len(sequences), unlabelled=True)
    if len(counts) != 2:
        raise ValueError(f"y must have two labels, got {len(counts)}")
    check_count("the dimension of the tokens of X", sequences.dim, minimum=2)
    clf = BayesAttentionClassifier(cv=min(_FOLDS, *counts.values()), random_state=random_state)
    clf.fit(sequences, labels)
    labelled = labels[np.isin(labels, clf.classes_)]
    rate = float(np.mean(labelled == clf.classes_[1]))
    heads: Any = clf.stack_.members[0]
    alike = heads.n_kinds == clf.n_kinds_
    numbers = heads.n_signal[heads.first_directions][alike]
    strengths, evidence = heads.strengths[alike], heads.evidence[alike]
    weights, best = softmax(evidence / _TEMPERATURE), int(evidence.argmax())
    signal, variance = float(strengths[best]), float(heads.strength_errors[alike][best]) ** 2
    between = float(weights @ (strengths - signal) ** 2)
    estimate = PilotEstimate(
        signal=signal,
        n_signal=float(numbers[best]),
        n_kinds=clf.n_kinds_,
        positive_rate=rate,
        standard_errors={
            "signal": math.sqrt(variance + between),
            "n_signal": math.sqrt(weights @ (numbers - numbers[best]) ** 2),
            "positive_rate": math.sqrt(rate * (1.0 - rate) / len(labelled)),
        },
        evidence=_held_out_evidence(clf.reference_),
        holds=bool(clf.model_fit_.holds),
        n_samples=len(labelled),
        n_tokens=max(1, round(float(np.mean(sequences.lengths)))),
        dim=sequences.dim,
    )
    if estimate.reliable:
        return estimate
    warnings.warn(_too_small(estimate), PilotWarning, stacklevel=2)
    errors = estimate.standard_errors | dict.fromkeys(("signal", "n_signal"), math.inf)
    nothing: Any = dict.fromkeys(("signal", "n_signal", "n_kinds"), math.nan)
    return replace(estimate, **nothing, standard_errors=errors, holds=False)


def _too_small(estimate: PilotEstimate) -> str:
    return (
        f"the pilot of {estimate.n_samples} samples cannot tell the signal from noise: held-out "
        f"sequences are {estimate.evidence:.1f} standard errors from chance, {_DETECTED:g} are "
        "needed; a larger pilot would help"
    )


def _held_out_evidence(reference: Any) -> float:
    """Return the AUC of held-out scores less one half, in standard errors of chance."""
    seen = np.isfinite(reference.scores[:, 0])
    classes = reference.classes[seen]
    counts = np.bincount(classes, minlength=2)
    return (mean_auc(reference.scores[seen], class_signs(classes)) - 0.5) / chance_error(counts)


def count_labels(labels: Any, n_samples: int, unlabelled: bool = False) -> dict[Any, int]:
    """Return the number of samples of each label, at least four; or raise ValueError.

    With ``unlabelled``, a label of -1 beside two others does not count.
    """
    if labels.shape != (n_samples,):
        raise ValueError(f"y must have shape ({n_samples},), got {labels.shape}")
    if len({type(label) for label in labels.tolist()}) > 1 or (labels != labels).any():
        raise ValueError("y must have labels of one kind, with none missing")
    classes, numbers = np.unique(labels, return_counts=True)
    counts = dict(zip(classes.tolist(), numbers.tolist(), strict=True))
    if unlabelled and len(counts) == 3 and labels.dtype.kind in "if":
        counts.pop(-1, None)
    for label, count in counts.items():
        if count < _FEWEST:
            raise ValueError(f"y must have at least {_FEWEST} samples of {label!r}, got {count}")
    return counts
