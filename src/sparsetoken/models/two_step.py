"""The published protocol: two gradient steps teach the query, then the readout is trained.

Any pooling that is not given a query learns it in the same way.
"""

import math
from collections.abc import Sequence
from typing import Any

from sparsetoken.models.attention import Attention
from sparsetoken.models.base import QUERY, TWO_STEPS, Draw, Range, StudySize
from sparsetoken.models.readout import RIDGES
from sparsetoken.problem import Problem
from sparsetoken.sampling import sample_query

_LR_READOUT = 0.1  # small steps are never worse: lr_query sets the size of the query
_LEAST_SHARPNESS = 1e-10  # that a query step of unit rate gives, worth sharpening


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
    losses = ("square", "logistic")
    drawn_up_to = 60

    def search_space(self, problem: Problem) -> dict[str, Range]:
        """Return query fraction, sharpness and ridge."""
        return {
            "split": Range(0.02, 0.98, starts=(0.35, 0.7), step=0.4),
            "sharpness": Range(0.02, 30.0, starts=(0.3, 0.7, 1.5, 4.0), step=0.3),
            "reg": Range(*RIDGES, starts=(1e-3, 1e-1)),
        }

    def tuned(self, study: StudySize, choice: dict[str, Any]) -> dict[str, Any]:
        """Return the learning rates that give this sharpness and align the query best."""
        from sparsetoken.theory import alignment

        split, steps = choice["split"], _best_steps(study, choice)
        unit = alignment(study.problem, alpha=split * study.alpha, **steps).sharpness
        # One token, or hardly any signal, leaves nothing to attend to: the query stays zero.
        lr_query = choice["sharpness"] / unit if unit > _LEAST_SHARPNESS else 0.0
        return {"split": split, "reg": choice["reg"]} | steps | {"lr_query": lr_query}

    def outcomes(self, study: StudySize, choice: dict[str, Any], n_points: int) -> list[Any]:
        """Return the readouts for a query that is luckier and one that is less lucky.

        In the limit of many dimensions the cosine of the query is certain. In a finite sample it
        fluctuates, and the mean error is larger because the error is convex in it. To leading order
        the mean is the average of two values: one standard deviation below, and one above.
        """
        from sparsetoken.theory import alignment
        from sparsetoken.theory.features import get_model
        from sparsetoken.theory.readout.risk import solve_each
        from sparsetoken.theory.two_steps import possible_rates

        problem, split, steps = study.problem, choice["split"], _best_steps(study, choice)
        sizes = split * study.alpha, split * study.n_samples
        learned = alignment(problem, alpha=sizes[0], **steps)
        cosines: Sequence[float] = [learned.cosine]
        if not math.isinf(study.n_samples):
            moved = [
                alignment(problem.with_rate(rate), alpha=sizes[0], **steps)
                for rate in possible_rates(problem.positive_rate, sizes[1])
            ]
            cosines = cosine_quantiles(learned, moved, study.dim)
        alpha, sharpness = (1.0 - split) * study.alpha, choice["sharpness"]
        places = [(get_model("attention", c, sharpness, n_points), alpha) for c in cosines]
        return list[Any](solve_each(problem, places, choice["reg"], choice["loss"]))

    def draw_query(self, draw: Draw) -> Any:
        """Draw the query that the two steps learn."""
        steps = {name: draw.settings[name] for name in TWO_STEPS}
        return sample_query(
            draw.problem, draw.n_samples(0), draw.dim, random_state=draw.rng, **steps
        )


def _best_steps(study: StudySize, choice: dict[str, Any]) -> dict[str, Any]:
    """Return the two steps with a query step of unit rate.

    The rate of the bias aligns the query best with the signal.
    """
    from sparsetoken.theory import best_bias_rate

    split, loss = choice["split"], choice["loss"]
    sizes = {"alpha": split * study.alpha, "n_samples": split * study.n_samples}
    lr_bias = best_bias_rate(study.problem, loss=loss, lr_readout=_LR_READOUT, **sizes)
    rates = {"beta": 1.0, "lr_readout": _LR_READOUT, "lr_bias": lr_bias, "lr_query": 1.0}
    return {"loss": loss} | rates


def cosine_quantiles(learned: Any, at_rates: Sequence[Any], dim: float) -> tuple[float, float]:
    """Return the query's cosine a standard deviation below and above what is learned.

    ``at_rates`` has what is learned at either of the possible rates. By chance, a fraction 1/√dim
    of the noise in readout and query also lies along the signal. The overlap of the query is
    proportional to that of the readout it was learned from, so the relative deviations of both add
    up; the length of the rest hardly varies.
    """
    cosine, low, high = learned.cosine, *(moved.cosine for moved in at_rates)
    center, by_rate, by_overlap = 0.5 * (low + high), 0.5 * (high - low), 0.0
    overlap = learned.readout_overlap
    if cosine > 0.0 and overlap > 0.0:
        readout = (learned.readout_norm**2 - overlap**2) / overlap**2
        query = (1.0 - cosine**2) / cosine**2
        deviation = math.sqrt(max(readout + query, 0.0) / dim)
        sine = math.sqrt(1.0 - cosine**2)
        moved = [cosine * (1.0 - deviation), cosine * (1.0 + deviation)]
        less, more = (overlap / math.hypot(overlap, sine) for overlap in moved)
        by_overlap = 0.5 * (more - less)
        center += 0.5 * (less + more) - cosine
    deviation = math.hypot(by_rate, by_overlap)
    return max(center - deviation, -1.0), min(center + deviation, 1.0)
