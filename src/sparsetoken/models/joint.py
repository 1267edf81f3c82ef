"""Joint training: the same samples teach query and readout, up to the minimum."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sparsetoken.models.attention import Attention
from sparsetoken.models.base import QUERY, TWO_STEPS, Look, Size, TrainingSet, one_size
from sparsetoken.models.training import DESCENT, scaled
from sparsetoken.vocabulary import COLORS

if TYPE_CHECKING:
    import numpy as np

    from sparsetoken.estimate import Estimate
    from sparsetoken.problem import Problem


class JointTraining(Attention):
    """All parameters trained together, from the start that two steps give, to the minimum.

    There is no reduced sampler: the tokens are drawn. The ridge is on query and readout alike.
    """

    name = "joint"
    look = Look(
        "joint training",
        "attention whose parameters are all trained together, to the minimum",
        COLORS[2],
        "D",
    )
    settings = (*TWO_STEPS, "reg", "n_points")
    predicted = DESCENT
    simulated = Attention.simulated | (QUERY - {"misalignment"})

    def check(
        self, problem: "Problem", values: Mapping[str, Any], quantities: frozenset[str]
    ) -> None:
        """Refuse a query that is given."""
        if "cosine" in values:
            raise ValueError(
                f"model {self.name!r} learns its query; 'attention' has a given cosine"
            )

    def theory(
        self, problem: "Problem", sizes: Sequence[Size], settings: Mapping[str, Any]
    ) -> list[Any]:
        """Return the minimum, marked as not converged where it cannot be trusted."""
        complete = self.complete(settings)
        return [Minimum(problem, one_size(self, size), complete) for size in sizes]

    def draw_query(self, *arguments: Any) -> None:
        """Draw no query: it is learned together with the readout."""

    def draw_training(
        self,
        problem: "Problem",
        size: Size,
        dim: int,
        settings: dict[str, Any],
        rng: "np.random.Generator",
        query: Any,
    ) -> TrainingSet:
        """Draw tokens and train on all of them: two steps, the readout, then all parameters."""
        import numpy as np

        from sparsetoken.estimators.readout import fit_readout
        from sparsetoken.estimators.two_step import two_gradient_steps
        from sparsetoken.losses import get_loss
        from sparsetoken.models.descent import minimize_jointly
        from sparsetoken.sampling import LearnedQuery
        from sparsetoken.sequences.data import MemoryData
        from sparsetoken.sequences.passes import attention_features, pooled_features
        from sparsetoken.sequences.sequences import as_sequences

        if settings["loss"] != "logistic":
            raise ValueError(f"loss must be 'logistic' for model 'joint', got {settings['loss']!r}")
        n_samples, loss = self.readout_samples(size, dim, settings), get_loss(settings["loss"])
        beta, reg = settings["beta"], settings["reg"]
        X, y, truth = problem.sample(n_samples, dim, random_state=rng, return_truth=True)
        tokens, sign = MemoryData(as_sequences(X)), np.where(y == 1, 1.0, -1.0)
        pooled, weight = tokens.per_sample(pooled_features), np.full(len(y), 1.0 / len(y))
        steps = {name: settings[name] for name in TWO_STEPS} | {"loss": loss}
        start = two_gradient_steps(tokens, pooled, sign, weight, **steps)
        features = tokens.per_sample(attention_features, beta * start)
        readout = fit_readout(features, sign, reg, loss)
        learned, readout = minimize_jointly(tokens.sequences, sign, start, readout, loss, beta, reg)
        features = tokens.per_sample(attention_features, beta * learned)
        result = LearnedQuery(learned, readout.coef, readout.intercept, truth.direction, beta)
        return TrainingSet(features, sign, truth.direction, result, readout)


class Minimum:
    """The joint minimum by theory; all that :class:`~sparsetoken.theory.JointRisk` has."""

    def __init__(self, problem: "Problem", alpha: float, settings: dict[str, Any]) -> None:
        self.problem, self.alpha, self.settings = problem, alpha, settings

    @cached_property
    def risk(self) -> Any:
        """The solution."""
        from sparsetoken.theory import joint_risk

        names = [name for name in ("loss", "beta", "n_points") if name in self.settings]
        arguments = {name: self.settings[name] for name in names}
        reg = self.settings["reg"]
        return joint_risk(
            self.problem, alpha=self.alpha, reg_query=reg, reg_readout=reg, **arguments
        )

    @property
    def sharpness(self) -> "Estimate":
        """Sharpness β‖q‖ of the attention."""
        return scaled(self.settings["beta"], self.query_norm)

    def __getattr__(self, name: str) -> Any:
        from sparsetoken.estimate import Estimate

        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self.risk, name)
        return Estimate(value, getattr(value, "uncertainty", 0.0), self.risk.stable)
