"""What is known after each step of a training."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsetoken._types import Floats
from sparsetoken._validation import check_choice, check_count
from sparsetoken.losses import Loss
from sparsetoken.population import AnyProblem
from sparsetoken.theory.curves import risk
from sparsetoken.theory.dynamics.schedule import Schedule
from sparsetoken.theory.trained import Risk

_LARGEST_ERROR = 0.05  # of cosine or test error, for a result to count as converged


@dataclass(frozen=True, repr=False)
class Training:
    """Query, readout and bias after each step of gradient descent: arrays over steps 1, …, T.

    The arrays of a training that runs away end before that step, ``diverged_at``.
    :meth:`uncertainty` has the numerical error of each array. :func:`training` makes them.
    """

    problem: AnyProblem
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
        problem: AnyProblem,
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
            errors={
                name: values.std(axis=0, ddof=1) / np.sqrt(len(runs))
                for name, values in each.items()
            },
        )

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

    def risk(self, alpha: float, reg: float, *, step: int | None = None, loss: Any = None) -> Risk:
        """Return the risk of a readout fitted to new samples, with the query of a step frozen.

        Parameters
        ----------
        alpha : float
            New samples per dimension.
        reg : float
            Ridge of the readout.
        step : int, optional
            The step whose query is used, from 1; the last one unless given.
        loss : str or object, optional
            The loss of the readout; that of the training unless given.
        """
        at = check_count("step", len(self.cosine) if step is None else step, 1, len(self.cosine))
        return risk(
            self.problem,
            "attention",
            alpha=alpha,
            reg=reg,
            loss=self.loss if loss is None else loss,
            cosine=float(self.cosine[at - 1]),
            sharpness=float(self.sharpness[at - 1]),
        )

    def __repr__(self) -> str:
        steps = len(self.cosine)
        if not steps:
            return f"Training({self.batches}, diverged in step {self.diverged_at})"
        flag = "" if self.diverged_at is None else f", diverged in step {self.diverged_at}"
        return (
            f"Training({self.batches}, steps={steps}, cosine={self.cosine[-1]:.4g}, "
            f"test_error={self.test_error[-1]:.4g} ± {self.errors['test_error'][-1]:.1g}{flag})"
        )
