"""Joint training of query, readout and bias by gradient descent (docs/theory, section 13)."""

import warnings
from collections.abc import Sequence
from typing import Any

from sparsetoken._types import Floats
from sparsetoken._validation import check_choice, check_count
from sparsetoken.estimate import ConvergenceWarning
from sparsetoken.losses import Loss, get_loss
from sparsetoken.problem import Problem, check_problem
from sparsetoken.theory.features import BATCHES, DEFAULT_POINTS
from sparsetoken.theory.open.fresh import NewSamples, run_fresh, run_online
from sparsetoken.theory.open.record import Training
from sparsetoken.theory.open.reused import MOST_STEPS, run_reused
from sparsetoken.theory.open.schedule import Schedule

_BATCHES = ("fresh", "reused", "online")
_TURNS = 8  # sets of points that an online run alternates between

Rate = float | Sequence[float]


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
    check_choice("batches", batches, _BATCHES)
    schedule = Schedule.make(steps, alpha, reg, beta, lr_query, lr_readout, lr_bias)
    if batches == "reused":
        check_count("steps", steps, maximum=MOST_STEPS)
    smooth = check_smooth(get_loss(loss))
    n_points = check_count("n_points", n_points, minimum=256)
    trained = follow_training(problem, batches, schedule, smooth, n_points)
    if not trained.converged:
        what = (
            "cannot be followed accurately: see uncertainty()"
            if trained.diverged_at is None
            else f"runs away in step {trained.diverged_at}: lower the learning rates"
        )
        warnings.warn(f"the training {what}", ConvergenceWarning, stacklevel=2)
    return trained


def follow_training(
    problem: Problem, batches: str, schedule: Schedule, loss: Loss, n_points: int
) -> Training:
    """Run each scrambling of the points on its own; their spread gives the error bars."""

    def points(batch: int, divisor: int = 1) -> NewSamples:
        return NewSamples.draw(problem, schedule.beta, loss, n_points // divisor, batch)

    runs: list[list[Floats]] = []
    shared = schedule
    for batch in range(BATCHES):
        if batches == "fresh":
            run = run_fresh(points(batch), shared)
        elif batches == "online":
            turns = [points(batch + BATCHES * turn, 4) for turn in range(_TURNS)]
            run = run_online(turns, shared)
        else:
            run = run_reused(points(batch), shared, batch)
        runs.append(run)
        shared = shared.first(len(run))  # the others need not go further
    return Training.from_runs(problem, batches, schedule, loss, runs)


def check_smooth(loss: Loss) -> Loss:
    """Return the loss, or raise ValueError if it has kinks."""
    if not loss.smooth:
        raise ValueError(f"loss must be smooth here (no kinks), got {loss!r}")
    return loss
