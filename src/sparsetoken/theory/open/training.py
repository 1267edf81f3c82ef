"""Joint training of query, readout and bias by gradient descent (docs/theory, section 13)."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsetoken._types import Floats, Indices
from sparsetoken._validation import LARGEST_RATE, check_choice, check_count, check_real
from sparsetoken.estimate import ConvergenceWarning, Record, standard_error
from sparsetoken.losses import Loss, get_loss
from sparsetoken.problem import Problem, check_problem
from sparsetoken.theory.features import BATCHES, DEFAULT_POINTS
from sparsetoken.theory.open.fresh import NewSamples, Schedule, run_fresh, run_online
from sparsetoken.theory.open.reused import MOST_STEPS, run_reused

_TURNS = 8  # sets of points that an online run alternates between
_LARGEST_ERROR = 0.05  # of cosine or test error, for a result to count as converged

Rate = float | Sequence[float]


class Training(Record):
    """Query, readout and bias after each step of gradient descent: arrays over steps 1, …, T.

    The arrays of a training that runs away end before that step, ``diverged_at``.
    :meth:`uncertainty` has the numerical error of each array. :func:`training` makes them.
    """

    columns = (
        *("step", "cosine", "query_norm", "readout_cosine", "readout_norm", "bias", "train_loss"),
        "test_error",
    )

    batches: str
    cosine: Floats
    """Cosine between query and signal; 0 while there is no query."""
    query_norm: Floats
    readout_cosine: Floats
    """Cosine between readout and signal."""
    readout_norm: Floats
    bias: Floats
    train_loss: Floats
    """Mean loss of the samples that the next step would use, without the ridge."""
    test_error: Floats
    """Probability that a new sample is classified wrongly."""
    diverged_at: int | None
    """The step in which the parameters became too large to follow, if there is one."""
    errors: dict[str, Floats]

    @property
    def step(self) -> Indices:
        """The numbers of the steps, from 1 on."""
        return np.arange(1, len(self.cosine) + 1)

    @property
    def converged(self) -> bool:
        """Whether all steps were taken, and followed well enough to be trusted."""
        worst = max(self.errors[name].max(initial=0.0) for name in ("cosine", "test_error"))
        return self.diverged_at is None and bool(worst <= _LARGEST_ERROR)

    def uncertainty(self, name: str) -> Floats:
        """Return the numerical error (one standard error) of an array, by its name."""
        return self.errors[check_choice("name", name, self.errors)]

    def __repr__(self) -> str:
        steps = len(self.cosine)
        if not steps:
            return f"Training({self.batches}, diverged in step {self.diverged_at})"
        flag = "" if self.diverged_at is None else f", diverged in step {self.diverged_at}"
        return (
            f"Training({self.batches}, steps={steps}, cosine={self.cosine[-1]:.4g}, "
            f"test_error={self.test_error[-1]:.4g} ± {self.errors['test_error'][-1]:.1g}{flag})"
        )


def training(
    problem: Problem,
    *,
    steps: int,
    alpha: float,
    batches: str = "fresh",
    loss: Any = "logistic",
    beta: float = 1.0,
    lr_readout: Rate = 2.0,
    lr_bias: Rate = 1.0,
    lr_query: Rate = 8.0,
    reg: float = 0.0,
    n_points: int = DEFAULT_POINTS,
) -> Training:
    """Predict gradient descent on query, readout and bias together, step by step.

    All parameters start at zero, and each step moves all of them along the gradient of the mean
    loss. The prediction is exact in the limit of many dimensions. Of several kinds of signal the
    query learns the mean direction; in few dimensions it may in time side with one of them.

    Parameters
    ----------
    problem : SparseTokenProblem or Population
        The model of the data.
    steps : int
        Number of steps.
    alpha : float
        Samples per dimension of a batch.
    batches : {"fresh", "reused", "online"}, default="fresh"
        Whether each step uses a new batch, all steps use the same one, or each sample is used once
        and alone. Online, a "step" is the time in which ``alpha`` samples per dimension pass, and
        a sample moves the parameters by the learning rates over the dimension.
    loss : str or object, default="logistic"
        "logistic", "square" or another smooth loss.
    beta : float, default=1.0
        Inverse temperature of the attention.
    lr_readout, lr_bias, lr_query : float or sequence of float
        Learning rates, or one for each step.
    reg : float, default=0.0
        Ridge λ on query and readout.
    n_points : int, default=16384
        Points for the averages over samples; more are more accurate and slower.

    Returns
    -------
    Training

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(n_tokens=6, signal=3.0)
    >>> t = st.theory.training(problem, steps=4, alpha=2.0)
    >>> t.cosine.round(2)
    array([0.  , 0.78, 0.74, 0.52])
    >>> bool(t.uncertainty("cosine").max() < 1e-3)
    True

    The published protocol moves readout and bias in the first step, the query in the second:

    >>> t = st.theory.training(
    ...     problem, steps=2, alpha=2.0, batches="reused",
    ...     lr_readout=[1.0, 0.0], lr_bias=[1.0, 0.0], lr_query=[0.0, 20.0],
    ... )
    >>> float(t.cosine[-1].round(6)), round(st.theory.alignment(problem, alpha=2.0).cosine, 6)
    (0.793276, 0.793276)
    """
    problem = check_problem(problem).seen_by_one_query()
    check_choice("batches", batches, ("fresh", "reused", "online"))
    steps = check_count("steps", steps, maximum=MOST_STEPS if batches == "reused" else None)
    by_name = {"lr_query": lr_query, "lr_readout": lr_readout, "lr_bias": lr_bias}
    *rates, of_bias = (_per_step(name, rate, steps) for name, rate in by_name.items())
    schedule = Schedule(
        np.stack(rates, axis=1),
        of_bias,
        check_real("alpha", alpha, low=0.0, above=True),
        check_real("reg", reg, low=0.0, high=LARGEST_RATE),
        check_real("beta", beta, low=0.0, high=LARGEST_RATE),
    )
    smooth = check_smooth(get_loss(loss))
    n_points = check_count("n_points", n_points, minimum=256)
    trained = _follow(problem, batches, schedule, smooth, n_points)
    if not trained.converged:
        what = (
            "cannot be followed accurately: see uncertainty()"
            if trained.diverged_at is None
            else f"runs away in step {trained.diverged_at}: lower the learning rates"
        )
        warnings.warn(f"the training {what}", ConvergenceWarning, stacklevel=2)
    return trained


def _per_step(name: str, rate: Any, steps: int) -> Floats:
    if np.ndim(rate) == 0:
        return np.full(steps, check_real(name, rate, low=0.0, high=LARGEST_RATE))
    rates = [check_real(name, one, low=0.0, high=LARGEST_RATE) for one in rate]
    if len(rates) != steps:
        raise ValueError(
            f"{name} must be a number or have one for each of {steps} steps, got {rate!r}"
        )
    return np.array(rates)


def _follow(
    problem: Problem, batches: str, schedule: Schedule, loss: Loss, n_points: int
) -> Training:
    """Run each scrambling of the points on its own; their spread gives the error bars."""

    def points(batch: int, divisor: int = 1) -> NewSamples:
        return NewSamples(problem, schedule.beta, loss, n_points // divisor, batch)

    def run(batch: int) -> list[Floats]:
        if batches == "online":
            turns = [points(batch + BATCHES * turn, 4) for turn in range(_TURNS)]
            return run_online(turns, schedule)
        if batches == "reused":
            return run_reused(points(batch), schedule, batch)
        return run_fresh(points(batch), schedule)

    runs = [run(batch) for batch in range(BATCHES)]
    steps = min(map(len, runs))
    rows = np.array([rows[:steps] for rows in runs]).reshape(BATCHES, steps, 8)
    mq, mw, qq, _, ww, bias, train_loss, test_error = np.moveaxis(rows, 2, 0)
    norms = np.sqrt(np.maximum(np.stack([qq, ww]), 0.0))
    cosines = np.clip(np.stack([mq, mw]) / np.where(norms > 0.0, norms, 1.0), -1.0, 1.0)
    each = {
        "cosine": cosines[0],
        "query_norm": norms[0],
        "readout_cosine": cosines[1],
        "readout_norm": norms[1],
        "bias": bias,
        "train_loss": train_loss,
        "test_error": test_error,
    }
    return Training(
        batches=batches,
        **{name: values.mean(axis=0) for name, values in each.items()},
        diverged_at=steps + 1 if steps < schedule.steps else None,
        errors={name: standard_error(values) for name, values in each.items()},
    )


def check_smooth(loss: Loss) -> Loss:
    """Return the loss, or raise ValueError if it has kinks."""
    if not loss.smooth:
        raise ValueError(f"loss must be smooth here (no kinks), got {loss!r}")
    return loss
