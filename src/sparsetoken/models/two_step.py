"""The published protocol: two gradient steps teach the query, then the readout is trained.

Any pooling that is not given a query learns it in the same way.
"""

from typing import Any

from sparsetoken.losses import get_loss
from sparsetoken.models.attention import Attention
from sparsetoken.models.base import QUERY, TWO_STEPS, Draw, Range, StudySize
from sparsetoken.models.readout import RIDGES
from sparsetoken.problem import Problem
from sparsetoken.sampling import sample_query


class TwoStepAttention(Attention):
    """Attention whose query is learned by two gradient steps on samples of its own.

    The fraction ``split`` of the samples teaches the query. A size may also be a pair, samples per
    dimension of the query and of the readout; the latter None if the query alone is asked for.
    """

    name = "two-step"
    settings = ("split", *TWO_STEPS, "reg", "n_points")
    predicted = Attention.predicted | QUERY
    simulated = Attention.simulated | (QUERY - {"misalignment"})
    estimator = "TwoStepAttentionClassifier"
    drawn_up_to = 60

    def search_space(self, problem: Problem) -> dict[str, Range | tuple[str, ...]]:
        """Return query fraction, sharpness and ridge, and the losses."""
        return {
            "loss": ("square", "logistic"),
            "split": Range(0.02, 0.98, starts=(0.35, 0.7), step=0.4),
            "sharpness": Range(0.02, 30.0, starts=(0.3, 0.7, 1.5, 4.0), step=0.3),
            "reg": Range(*RIDGES, starts=(1e-3, 1e-1)),
        }

    def tuned(self, study: StudySize, choice: dict[str, Any]) -> dict[str, Any]:
        """Return the learning rates that give this sharpness and align the query best."""
        from sparsetoken.models import fluctuations

        rates = fluctuations.best_rates(study, choice)
        unit = fluctuations.learned_query(study, choice, rates).sharpness
        # A single token leaves nothing to attend to: the query stays zero at any rate.
        lr_query = choice["sharpness"] / unit if unit > 0 else 0.0
        kept = {name: choice[name] for name in ("split", "reg", "loss")}
        return kept | {"beta": 1.0, **rates, "lr_query": lr_query}

    def outcomes(self, study: StudySize, choice: dict[str, Any], n_points: int) -> list[Any]:
        """Return the readouts for a query that is luckier and one that is less lucky."""
        from sparsetoken.models import fluctuations

        return list[Any](fluctuations.outcomes(study, choice, n_points))

    def draw_query(self, draw: Draw) -> Any:
        """Draw the query that the two steps learn."""
        steps = {name: draw.settings[name] for name in TWO_STEPS}
        steps["loss"] = get_loss(steps["loss"])
        return sample_query(draw.problem, draw.parts[0], draw.dim, random_state=draw.rng, **steps)
