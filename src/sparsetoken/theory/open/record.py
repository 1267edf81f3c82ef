"""What is known after each step of a training."""

from dataclasses import dataclass, field

import numpy as np

from sparsetoken._types import Floats, Indices
from sparsetoken._validation import check_choice
from sparsetoken.estimate import Record, standard_error
from sparsetoken.losses import Loss
from sparsetoken.problem import Problem
from sparsetoken.theory.open.schedule import Schedule

_LARGEST_ERROR = 0.05  # of cosine or test error, for a result to count as converged


@dataclass(frozen=True, repr=False)
class Training(Record):
    """Query, readout and bias after each step of gradient descent: arrays over steps 1, …, T.

    The arrays of a training that runs away end before that step, ``diverged_at``.
    :meth:`uncertainty` has the numerical error of each array. :func:`training` makes them.
    """

    columns = (
        *("step", "cosine", "query_norm", "readout_cosine", "readout_norm", "bias", "train_loss"),
        "test_error",
    )

    problem: Problem
    batches: str
    schedule: Schedule
    loss: Loss
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
    errors: dict[str, Floats] = field(compare=False)

    @classmethod
    def from_runs(
        cls,
        problem: Problem,
        batches: str,
        schedule: Schedule,
        loss: Loss,
        runs: list[list[Floats]],
    ) -> "Training":
        """Average independent runs, each a list of rows (see ``fresh.row_of``)."""
        steps = min(len(run) for run in runs)
        rows = np.array([run[:steps] for run in runs]).reshape(len(runs), steps, 8)
        mq, mw, qq, _, ww, bias, train_loss, test_error = np.moveaxis(rows, 2, 0)
        norms = np.sqrt(np.maximum(np.stack([qq, ww]), 0.0))
        safe = np.where(norms > 0.0, norms, 1.0)
        each = {
            "cosine": np.clip(mq / safe[0], -1.0, 1.0),
            "query_norm": norms[0],
            "readout_cosine": np.clip(mw / safe[1], -1.0, 1.0),
            "readout_norm": norms[1],
            "bias": bias,
            "train_loss": train_loss,
            "test_error": test_error,
        }
        return cls(
            problem=problem,
            batches=batches,
            schedule=schedule,
            loss=loss,
            **{name: values.mean(axis=0) for name, values in each.items()},
            diverged_at=steps + 1 if steps < schedule.steps else None,
            errors={name: standard_error(values) for name, values in each.items()},
        )

    @property
    def step(self) -> Indices:
        """The numbers of the steps, from 1 on."""
        return np.arange(1, len(self.cosine) + 1)

    @property
    def sharpness(self) -> Floats:
        """Sharpness β‖q‖ of the attention."""
        return self.schedule.beta * self.query_norm

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
