"""Test error and training loss of the trained readout (docs/theory, section 4)."""

import math
import warnings
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from sparsetoken._types import Floats
from sparsetoken.estimate import Estimate
from sparsetoken.law import FeatureLaw, Readout, score_mean
from sparsetoken.losses import Loss
from sparsetoken.performance import LEAST_UNCERTAINTY, Performance, error_rate
from sparsetoken.problem import Problem, check_problem
from sparsetoken.theory.envelope_averages import Moments
from sparsetoken.theory.features import FeatureModel
from sparsetoken.theory.readout.saddle import ReadoutObjective, assemble, is_stationary
from sparsetoken.theory.readout.solver import (
    LARGEST,
    Saddle,
    eliminate,
    fits_perfectly,
    shifted,
    solve,
    solve_scaled,
)
from sparsetoken.theory.separation import law_capacity

RESOLUTION = 3.0  # of the averages over G, see envelope_averages.py
_RIDGELESS = 1e-10  # of a feature's variance: stands for the limit of no ridge


class Risk(Performance, kw_only=True):
    """Performance of a trained classifier in the high-dimensional limit.

    ``test_error``, ``train_loss``, ``train_error``, ``test_loss`` and ``auc`` are floats with
    ``uncertainty``, their numerical error; ``uncertainty`` itself is that of ``test_error``;
    ``converged`` says whether the solver reached its accuracy, and whether there is one solution to
    reach: with a strong ridge the hinge loss leaves the bias of balanced classes free.
    :func:`~sparsetoken.theory.risk` makes them.
    """

    columns = (
        *("model", "alpha", "reg", "cosine", "sharpness", "test_error", "uncertainty", "auc"),
        *("test_loss", "train_loss", "train_error", "bias", "readout_norm", "converged"),
    )

    problem: Problem
    model: FeatureModel
    alpha: float
    reg: float
    train_loss: Estimate
    """Mean loss of the training samples, without the ridge."""
    _path: tuple[Readout, Readout]
    """The readout for the first batch of points, and for all: a start for the next point."""
    _smoothing: float
    """What was left of the smoothing of a loss with kinks, where hardly anything is learned."""

    @property
    def cosine(self) -> float:
        """Cosine between query and signal."""
        return self.model.cosine

    @property
    def sharpness(self) -> float:
        """Sharpness of the attention."""
        return self.model.sharpness

    @property
    def bias(self) -> Estimate:
        """The trained bias, b."""
        return self._state(lambda x: x.bias)

    @property
    def readout_along_query(self) -> Estimate:
        """Component w₁ of the trained readout along the query; zero without one."""
        return self._state(lambda x: x.along_query)

    @property
    def readout_along_rest(self) -> Estimate:
        """Component w₂ of the trained readout along the signal's part orthogonal to the query."""
        return self._state(lambda x: x.along_rest)

    @property
    def readout_overlap(self) -> Estimate:
        """Overlap of the trained readout with the signal's direction.

        For a vectorized model that direction is the signal's, evenly spread over the tokens.
        """
        sine = math.sqrt(1.0 - self.cosine**2)
        return self._state(lambda x: self.cosine * x.along_query + sine * x.along_rest)

    @property
    def readout_spread(self) -> Estimate:
        """Norm τ of the trained readout orthogonal to query and signal: the noise it learned."""
        return self._state(lambda x: x.spread)

    @property
    def readout_norm(self) -> Estimate:
        """Norm of the trained readout."""
        return self._state(lambda x: math.hypot(x.along_query, x.norm_rest))

    @property
    def chi(self) -> Estimate:
        """The step χ of a training sample's score towards its label; zero at infinite alpha."""
        if math.isinf(self.alpha):
            return Estimate(0.0, 0.0, self.converged)
        return self._state(lambda x: math.exp(x.log_chi))

    @property
    def step(self) -> Estimate:
        """The name that ``chi`` had in 0.3."""
        warnings.warn("step is now called chi; step goes in 0.6", FutureWarning, stacklevel=2)
        return self.chi

    def __getitem__(self, name: str) -> Any:
        return self.model.name if name == "model" else super().__getitem__(name)

    def _state(self, number: Callable[[Readout], float]) -> Estimate:
        """Return a function of the readout, which varies as the batches would move it."""
        moves = self.moves if self.moves is not None and self.law.batches > 1 else ()
        return self._with_error(
            number(self.readout), lambda: [number(self.readout.moved(by)) for by in moves]
        )

    @cached_property
    def train_error(self) -> Estimate:
        """Fraction of the training samples on the wrong side."""
        return self._estimate(self._train_error)

    def _train_error(self, law: FeatureLaw, readout: Readout) -> float:
        p = law.points
        finite = math.isfinite(self.alpha)
        step = math.exp(readout.log_chi) * p.scale**2 if finite else np.zeros_like(p.scale)
        # The prox is monotone, and 0 at r = step·ℓ′(0).
        edge = step * self.loss.derivative(np.zeros_like(step), p.label)
        margin = p.label * (score_mean(p, readout) - edge)
        return p.average(error_rate(margin, p.scale * readout.norm_rest))

    def on(self, problem: Problem) -> Performance:
        """Return the performance of the same classifier on another problem.

        Parameters
        ----------
        problem : SparseTokenProblem or Population
            Another length, sparsity, strength or rate; the direction stays the same.

        Examples
        --------
        >>> import sparsetoken as st
        >>> short = st.SparseTokenProblem(n_tokens=10, signal=5.0)
        >>> r = st.theory.risk(short, "pooled", alpha=2.0, reg=1e-2)
        >>> r.on(st.SparseTokenProblem(n_tokens=20, signal=5.0))
        Performance(test_error=0.360508 ± 1e-08)
        """
        law = partial(self.model.law, check_problem(problem), self.problem)
        return Performance(
            law(),
            self.readout,
            self.loss,
            self.moves,
            self.converged,
            window_law=law,
        )

    def __repr__(self) -> str:
        flag = "" if self.converged else ", converged=False"
        return (
            f"Risk({self.model.name}, test_error={self.test_error:.6g} ± {self.uncertainty:.1g}, "
            f"train_loss={self.train_loss:.6g}, alpha={self.alpha:g}, reg={self.reg:g}{flag})"
        )


def solve_point(
    problem: Problem,
    model: FeatureModel,
    alpha: float,
    reg: float,
    loss: Loss,
    before: tuple[Readout, Readout] | None,
) -> Risk:
    """Solve for one classifier; ``before`` is the path of a neighboring one, to start from."""
    law, ratio, ridge = model.law(problem, problem), model.ratio(problem, alpha), reg
    if ridge == 0.0 and math.isfinite(ratio):
        ridge = _without_ridge(law, ratio, alpha, loss)
    objective = ReadoutObjective(law.points, loss, ratio, ridge)
    coarse, saddle = _solve_law(law, objective._replace(resolution=RESOLUTION), before)
    if not (saddle.converged or fits_perfectly(objective, saddle.value)):
        coarse, saddle = _solve_law(law, objective, None)  # once more without grids
    moves = _batch_moves(law, saddle)
    converged = saddle.converged and not any_bias(saddle) and not _held_by_few(law, saddle)
    return Risk(
        law,
        saddle.readout,
        loss,
        moves,
        converged,
        window_law=partial(model.law, problem, problem),
        problem=problem,
        model=model,
        alpha=alpha,
        reg=reg,
        train_loss=_train_loss(law, saddle, moves, converged),
        _path=(coarse, saddle.readout),
        _smoothing=saddle.done.objective.smoothing,
    )


@np.errstate(over="ignore")  # where nothing has converged, moves are not bounded
def _train_loss(law: FeatureLaw, saddle: Saddle, moves: Floats, converged: bool) -> Estimate:
    """Return what is left of the saddle point's value without the ridge.

    The value of a batch differs by its mean envelope alone, the readout being stationary; the ridge
    is that of the readout the batch would train.
    """

    def penalty(x: Readout) -> float:
        return 0.5 * saddle.done.objective.reg * (x.along_query**2 + x.along_rest**2 + x.spread**2)

    value = saddle.value - penalty(saddle.readout)
    envelopes = law.by_batch(saddle.done.moments.envelope)
    each = envelopes - [penalty(saddle.readout.moved(by)) for by in moves]
    return Estimate.from_batches(
        max(value, 0.0), each, beside=LEAST_UNCERTAINTY, converged=converged
    )


def any_bias(saddle: Saddle) -> bool:
    """Whether the bias is free: a strong ridge keeps every margin of balanced classes below 1."""
    pull = saddle.done.moments.hh
    all_pull = float(pull.min()) > 0.999 * float(pull.max())
    curvature = eliminate(saddle.done, math.inf).hessian[2, 2]
    return not saddle.done.objective.loss.smooth and all_pull and bool(curvature < 1e-12)


def _held_by_few(law: FeatureLaw, saddle: Saddle) -> bool:
    """Whether a few points hold the readout, as rare samples with hardly any feature do.

    An average that rests on a few of many points is not known, and neither is its error bar. How
    many it rests on is (Σt)²/Σt², for the terms t of the readout's spread.
    """
    terms = law.points.weight * law.points.scale**2 * saddle.done.moments.hh
    squares = float(terms @ terms)
    return law.batches > 1 and float(terms.sum()) ** 2 < _LEAST_POINTS * squares


_LEAST_POINTS = 5.0


def _without_ridge(law: FeatureLaw, ratio: float, alpha: float, loss: Loss) -> float:
    """Return the ridge to solve with when none is asked for."""
    if loss.quadratic:
        return _RIDGELESS * law.points.average(law.points.scale**2)
    threshold = law_capacity(law)
    if ratio <= threshold + 3 * threshold.uncertainty:
        raise ValueError(
            f"reg must be > 0 here: at alpha={alpha:g} the training data are separable "
            f"(capacity {alpha * threshold / ratio:.4g}), so no minimizer exists without a ridge"
        )
    return 0.0


def coarser(law: FeatureLaw, objective: ReadoutObjective) -> ReadoutObjective:
    """Return the same for the first batch of points alone, with averages on coarse grids."""
    if law.batches == 1:
        return objective._replace(resolution=math.inf)
    return objective._replace(points=law.batch(0).points, resolution=0.5 * RESOLUTION)


def _solve_law(
    law: FeatureLaw, objective: ReadoutObjective, before: tuple[Readout, Readout] | None
) -> tuple[Readout, Saddle]:
    """Solve on the first batch of points, then on all of them from there; then look again.

    ``before`` has both solutions at a neighboring point: they differ by about the same there.
    """
    several = law.batches > 1
    begun = saddle = solve(
        coarser(law, objective), before and before[0], 1e-6 if several else 1e-12
    )
    if several:
        near = begun.readout
        if before is not None:
            near = shifted(near, np.subtract(before[1], before[0]))
        smoothing = begun.done.objective.smoothing if begun.converged else 0.0
        tolerance = 1e-5 if objective.loss.smooth else 1e-9  # Newton is slower at a kink
        fine = objective._replace(smoothing=smoothing)
        saddle = solve(fine, near if begun.converged else None, tolerance)
    right = is_stationary(law, saddle.done, saddle.readout)
    return begun.readout, saddle._replace(converged=saddle.converged and right)


def _batch_moves(law: FeatureLaw, saddle: Saddle) -> Floats:
    """How far each batch moves the readout, by one Newton step on the points without it.

    Without it, since a few points of a batch may hold the readout in place, as samples with hardly
    any feature do.
    """
    if law.batches == 1:
        return np.zeros((1, 4))
    systems = []
    for batch in range(law.batches):
        moments = Moments(*(moment[law.rows(batch)] for moment in saddle.done.moments))
        part = saddle.done.objective._replace(points=law.batch(batch).points)
        systems.append(assemble(part, saddle.readout, moments).system)
    matrices, gradients = (np.stack(parts) for parts in zip(*systems, strict=True))
    gradients -= gradients.mean(axis=0)
    others = (matrices.sum(axis=0) - matrices) / (law.batches - 1)
    moves = np.stack([-solve_scaled(*pair) for pair in zip(others, gradients, strict=True)])
    moves[:, 4:] = np.clip(moves[:, 4:], -1.0, 1.0)  # log χ
    return np.clip(np.nan_to_num(moves), -LARGEST, LARGEST)
