"""Planning from pilot data: the problem they show, and how far the plan can be trusted."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import ledoit_wolf
from sklearn.model_selection import StratifiedKFold, cross_val_score

from sparsetoken._validation import check_choice, check_count, check_real
from sparsetoken.estimators import PooledClassifier, TwoStepAttentionClassifier
from sparsetoken.estimators.sequences import Sequences, as_sequences
from sparsetoken.planner.architectures import ARCHITECTURES, Architecture
from sparsetoken.planner.floors import UnreachableError
from sparsetoken.planner.moments import Moments, TokenSummary, estimate_moments, summarise
from sparsetoken.planner.pilot_record import PilotEstimate, PilotPlan, PilotWarning
from sparsetoken.planner.progress import Progress
from sparsetoken.planner.record import Plan
from sparsetoken.planner.request import Request, fewest_samples, make_request
from sparsetoken.planner.solve import Solution, predict, solve
from sparsetoken.problem import RandomState, SparseTokenProblem

__all__ = ["estimate_problem", "plan_from_pilot"]

Array = NDArray[np.float64]

_GROUPS = 20
_FEWEST = 4  # samples of a class
_RANGE = 2.0  # standard errors
_WEAKEST = 1e-3  # signal that can be planned with


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
        for group in range(classes[0].size.size)
    ]
    whole = max(1, round(n_tokens))
    n_signal = min(max(1, round(moments.n_signal(n_tokens))), whole)
    signal = moments.signal_given(n_signal, n_tokens)
    rate = float(positive.mean())
    problem = SparseTokenProblem(whole, n_signal, signal, rate)
    errors = {
        "signal": _jackknife([m.signal() for m in left_out]),
        "n_signal": _jackknife([m.n_signal(n_tokens) for m in left_out]),
        "positive_rate": math.sqrt(rate * (1 - rate) / positive.size),
        "problem.signal": _jackknife([m.signal_given(n_signal, n_tokens) for m in left_out]),
    }
    spread = _jackknife([m.mean for m in left_out])
    estimate = PilotEstimate(
        problem,
        moments.signal(),
        moments.n_signal(n_tokens),
        rate,
        errors,
        moments.mean / spread if spread > 0 else math.inf,
        positive.size,
        sequences.dim,
        tuple(_plausible(problem, moments, left_out, n_tokens, errors["n_signal"])),
    )
    if not estimate.reliable:
        warnings.warn(
            f"the pilot of {positive.size} samples cannot tell the signal from noise: the class "
            f"difference is {estimate.evidence:.1f} standard errors; a larger pilot would help",
            PilotWarning,
            stacklevel=2,
        )
    return estimate


def _plausible(
    problem: SparseTokenProblem,
    moments: Moments,
    left_out: list[Moments],
    n_tokens: float,
    bar: float,
) -> Iterator[SparseTokenProblem]:
    """Yield the problems at the ends of the ranges of two standard errors.

    The further a number of signal tokens is from the estimate, the less the signal may be from
    that given this number: both within an ellipse.
    """
    centre = moments.n_signal(n_tokens)
    fewest = min(max(1, math.ceil(centre - _RANGE * bar)), problem.n_signal)
    most = max(min(problem.n_tokens, math.floor(centre + _RANGE * bar)), problem.n_signal)
    for n_signal in range(fewest, most + 1):
        off = 0.0 if n_signal == problem.n_signal else (n_signal - centre) / bar
        spread = _jackknife([m.signal_given(n_signal, n_tokens) for m in left_out])
        reach = math.sqrt(max(_RANGE**2 - off**2, 0.0)) * spread
        signal = moments.signal_given(n_signal, n_tokens)
        for moved in (signal - reach, signal + reach):
            yield replace(problem, n_signal=n_signal, signal=max(moved, _WEAKEST))


def plan_from_pilot(
    X: Any, y: Any, *, error: float, model: str, random_state: RandomState = 0
) -> PilotPlan:
    """Plan the number of samples; see :meth:`sparsetoken.planner.Planner.from_pilot`."""
    check_choice("model", model, ("attention", "pooled"))
    check_real("error", error, low=0.0, above=True)
    estimate = estimate_problem(X, y, random_state=random_state)
    if estimate.signal == 0:
        raise ValueError("X must show a signal to plan with: its moments show none")
    quantities = {"n_samples": None, "dim": estimate.dim, **asdict(estimate.problem)}
    request = make_request("error", **quantities, error=error)
    progress = Progress()
    try:
        architecture = ARCHITECTURES[model]
        try:
            solution = solve(architecture, request, progress)
        except UnreachableError as failure:
            raise UnreachableError(f"at {estimate!r}: {failure}") from None
        easiest, hardest = _extremes(architecture, solution, estimate.plausible)
        optimistic = solve(architecture, easiest, progress, solution.choice)
        try:
            pessimistic = solve(architecture, hardest, progress, solution.choice)
        except UnreachableError:
            pessimistic = None
        observed = tuple(_observed(X, y, model, solution, random_state, progress))
    finally:
        progress.close()
    return PilotPlan(
        estimate,
        Plan(model, error, solution),
        Plan(model, error, optimistic),
        None if pessimistic is None else Plan(model, error, pessimistic),
        observed,
    )


def _extremes(
    architecture: Architecture, solution: Solution, plausible: tuple[SparseTokenProblem, ...]
) -> tuple[Request, Request]:
    """Return the problems on which the plan does best and worst, as requests."""

    def shortfall(request: Request) -> float:
        return architecture.search_value(request.case, request.metric, solution.choice)

    requests = [
        solution.request.moved("n_signal", problem.n_signal).moved("signal", problem.signal)
        for problem in plausible
    ]
    return min(requests, key=shortfall), max(requests, key=shortfall)


def _observed(
    X: Any,
    y: Any,
    model: str,
    solution: Solution,
    random_state: RandomState,
    progress: Progress,
) -> Iterator[tuple[str, int, float, float, float]]:
    """Cross-validate on half and on four fifths of the pilot, and predict the same."""
    sequences, positive = _check(X, y)
    white = Sequences(_whiten(sequences, positive), sequences.offsets)
    label = positive.astype(int)
    folds = min(5, int(min(label.sum(), (1 - label).sum())))
    fewest = fewest_samples(solution.request.positive_rate)
    rng = np.random.default_rng(random_state)
    for name in dict.fromkeys((model, "pooled")):
        start = solution.choice if name == model else None
        for share in (0.5, 1.0):
            chosen = np.sort(rng.permutation(label.size)[: round(share * label.size)])
            n_samples = chosen.size - chosen.size // folds
            if n_samples < fewest or min(np.bincount(label[chosen], minlength=2)) < 2 * folds:
                continue
            request = solution.request.moved("n_samples", n_samples)
            predicted = Plan(name, None, predict(ARCHITECTURES[name], request, start, progress))
            progress.step(f"{name}: cross-validating on the pilot")
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
            yield name, n_samples, predicted.error, observed, bar


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
    """Return the standard error from the estimates with one group left out each."""
    size = len(values)
    return math.sqrt((size - 1) * float(np.var(values)))
