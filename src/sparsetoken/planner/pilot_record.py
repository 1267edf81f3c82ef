"""What pilot data say, and the plan made from them."""

from dataclasses import dataclass

from sparsetoken.planner.record import Plan
from sparsetoken.problem import SparseTokenProblem

__all__ = ["PilotEstimate", "PilotPlan", "PilotWarning"]

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
    plausible: tuple[SparseTokenProblem, ...]
    """Problems within two standard errors: for each ``n_signal`` in its range, the weakest and the
    strongest signal given that number."""

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


@dataclass(frozen=True, repr=False)
class PilotPlan:
    """A plan from pilot data, with what its uncertainty does to it.

    ``plan`` is at the estimate; ``optimistic`` and ``pessimistic`` are at the easiest and the
    hardest of the problems within two standard errors of it, in signal and sparsity; the latter is
    None if the target is then out of reach. ``observed`` compares
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
            f"{model} at {n}: predicted {predicted:.3f}, observed {observed:.3f} ± {bar:.3f}"
            for model, n, predicted, observed, bar in self.observed
            if abs(observed - predicted) > 3 * bar + 0.15 * predicted
        ]
        if off:
            return (
                "little: the pilot's own errors differ from the prediction (" + "; ".join(off) + ")"
            )
        if self.pessimistic is None:
            return "with care: problems within two standard errors would not reach the target"
        if self.plan.caution:
            return f"with care: {self.plan.caution}"
        return "as far as the range goes: the pilot's own errors agree with the prediction"

    def summary(self) -> str:
        """Return estimate, plan, range and trust as text."""
        worst = "out of reach" if self.pessimistic is None else self.pessimistic.n_samples
        lines = [
            self.plan.answer,
            f"range, about 95 % (two standard errors): {self.optimistic.n_samples} to {worst}",
            f"trust: {self.trust}",
            "",
            repr(self.estimate),
            "observed on the pilot: model, n_samples, predicted, observed ± standard error",
        ]
        for model, n_samples, predicted, observed, bar in self.observed:
            lines.append(
                f"  {model:<10} {n_samples:<6} {predicted:.3f}  {observed:.3f} ± {bar:.3f}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"PilotPlan({self.plan.answer}; trust: {self.trust})"
