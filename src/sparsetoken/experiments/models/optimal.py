"""The best that any learner can do, and the iteration that reaches it (docs/theory, section 17)."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from sparsetoken.estimate import Estimate
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.models.base import (
    PROBLEM,
    Numbers,
    Rng,
    WayOfTraining,
    count_samples,
    measured,
)
from sparsetoken.population import lengths
from sparsetoken.sampling import sample_posterior_mean

_LEARNED = frozenset({"test_error", "auc", "recall", "cosine"})
_THRESHOLDS = measured("thresholds")
_NUMBERS = 2_000_000  # tokens drawn to judge one learner, within these numbers of samples
_LEAST_SAMPLES, _MOST_SAMPLES = 4_000, 100_000


class OptimalModel(WayOfTraining):
    """The posterior mean of the direction; simulated by message passing.

    The theory is that of the optimum, the simulation starts from nothing: in the hard phase it
    stays short of it. With a value for ``start`` both are about that start.
    """

    name = "optimal"
    predicted = _LEARNED | _THRESHOLDS
    simulated = _LEARNED
    tested_elsewhere = False

    def parameters(self, quantity: str, source: str) -> set[str]:
        """Return the problem and the samples; thresholds are numbers of samples themselves."""
        names = {*PROBLEM, "contiguous", "model"}
        names |= {"n_points"} if source == "theory" else set()
        if quantity in _THRESHOLDS:
            return names
        names |= {"fpr"} if quantity == "recall" else set()
        return names | {"alpha", "unlabelled", "start"}

    def check(self, values: Mapping[str, Any], cell: Cell) -> None:
        """Refuse unlimited data in a simulation."""
        super().check(values, cell)
        if cell.source == "simulation" and math.isinf(cell.values.get("unlabelled", 0.0)):
            raise ValueError("unlabelled must be finite in a simulation")

    def predict(self, cell: Cell) -> Numbers:
        """Return the optimum, or what is reached from the given start; and the thresholds."""
        from sparsetoken.theory import learning_thresholds, optimal

        values, points = cell.values, {"n_points": cell.values["n_points"]}
        numbers = {}
        if _THRESHOLDS & set(cell.quantities):
            thresholds = learning_thresholds(cell.problem, **points)
            numbers = {
                "information_threshold": thresholds.information,
                "iteration_threshold": thresholds.iteration,
                "iteration_law": Estimate(thresholds.iteration_law),
            }
        if _LEARNED & set(cell.quantities):
            best = optimal(cell.problem, cell.alpha1, values.get("unlabelled", 0.0), **points)
            start = {"nothing": best.from_nothing, "informed": best.informed}
            learned = start.get(values.get("start", ""), best)
            numbers |= {name: getattr(learned, name) for name in ("test_error", "auc", "cosine")}
            if "recall" in cell.quantities:
                numbers["recall"] = learned.recall(values["fpr"])
        return {name: numbers[name] for name in cell.quantities}

    def trial(self, cell: Cell, rng: Rng) -> dict[str, float]:
        """Return what the iteration has learned from one drawn data set."""
        values, dim = cell.values, cell.values["dim"]
        learned = sample_posterior_mean(
            cell.problem,
            count_samples(cell.alpha1, dim),
            dim,
            n_unlabelled=round(values.get("unlabelled", 0.0) * dim),
            start=values.get("start", "nothing"),
            random_state=rng,
        )
        n_samples = _NUMBERS // max(lengths(cell.problem))
        n_samples = min(max(n_samples, _LEAST_SAMPLES), _MOST_SAMPLES)
        chances, labels = learned.judge(n_samples, rng)
        numbers = {
            "cosine": learned.cosine,
            "test_error": float(np.mean((chances > 0.5) != labels)),
            "auc": float(roc_auc_score(labels, chances)),
        }
        if "recall" in cell.quantities:
            threshold = np.quantile(chances[~labels], 1.0 - values["fpr"])
            numbers["recall"] = float(np.mean(chances[labels] > threshold))
        return numbers
