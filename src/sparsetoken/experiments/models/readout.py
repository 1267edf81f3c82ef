"""A readout trained on features that are fixed by then: what all such ways of training share."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsetoken._types import Array
from sparsetoken.estimators.readout import LinearReadout, fit_readout
from sparsetoken.experiments.cell import Cell
from sparsetoken.experiments.models.base import (
    PROBLEM,
    TESTED,
    TESTING,
    Numbers,
    Rng,
    WayOfTraining,
    measured,
    tested_number,
)
from sparsetoken.law import Readout
from sparsetoken.losses import Hinge, get_loss
from sparsetoken.performance import Performance
from sparsetoken.pooling import Pooling
from sparsetoken.population import AnyProblem, windows
from sparsetoken.sampling.exact import readout_coordinates
from sparsetoken.vocabulary import MEASURED

TRAINED = measured("trained")
SIMULATED = (TRAINED - {"trained_step"}) | {"separable"}

# The hinge loss with a ridge that matters only to separators as long as √(2/(n·ridge)).
_SEPARATING_RIDGE = 1e-9


class TrainingSet(NamedTuple):
    """Training features with their labels, and what is known of their geometry."""

    features: Array
    sign: Array
    direction: Array
    """Unit vector of the signal."""
    query: Any = None
    """The drawn query, a LearnedQuery; None without one."""
    readout: Any = None
    """The LinearReadout, once it is trained."""

    def margins(self, readout: LinearReadout) -> Array:
        """Return the scores times the signs of the labels."""
        return self.sign * (self.features @ readout.coef + readout.intercept)


class ReadoutModel(WayOfTraining):
    """A readout of features: theory along curves, simulation on features drawn directly."""

    predicted = TRAINED | measured("capacity", "oracle")
    simulated = SIMULATED
    chained = TRAINED  # a saddle point is found from its neighbor's
    query_parameters: ClassVar[frozenset[str]] = frozenset()

    @property
    def architecture(self) -> str | Pooling:
        """What the theory calls it."""
        return self.name

    def parameters(self, quantity: str, source: str) -> set[str]:
        """Return the problem's values, and those of query, readout and test that it is about."""
        about = MEASURED[quantity].group
        names = set(PROBLEM)
        if about != "oracle":
            names |= self.query_parameters
        if about != "query":
            names.add("model")
        if about in ("trained", "limit") or quantity == "separable":
            names |= {"alpha1", "alpha", "reg", "loss"}
        if quantity in TESTED:
            names |= TESTING
        if quantity in ("recall", "false_positives"):
            names.add("fpr")
        if quantity == "required_signal":
            names = names - {"signal"} | {"error"}
        return names

    def predict(self, cell: Cell) -> Numbers:
        """Return what the theory says about a cell."""
        return self.predict_curve([cell])[0]

    def predict_curve(self, cells: Sequence[Cell]) -> list[Numbers]:
        """Return what the theory says about cells that differ in their samples only."""
        from sparsetoken.experiments.models.readout_theory import predict_readouts

        queries = [self.predict_query(cell) for cell in cells]
        return predict_readouts(self.architecture, cells, queries)

    def predict_query(self, cell: Cell) -> Any:
        """Return an object with the query's cosine and sharpness by theory; None without query."""
        return None

    def draw_training(self, cell: Cell, rng: Rng) -> TrainingSet:
        """Draw a training set."""
        raise NotImplementedError

    def judge(
        self, problem: AnyProblem, trained: TrainingSet, loss: str, rng: Rng, n_windows: int
    ) -> Performance:
        """Return the trained readout's performance on fresh samples, or windows, of a problem."""
        raise NotImplementedError

    def trial(self, cell: Cell, rng: Rng) -> dict[str, float]:
        """Draw a training set, train on it and judge the readout exactly."""
        training = self.draw_training(cell, rng)
        if np.unique(training.sign).size < 2:
            raise ValueError(
                f"a trial drew only one class among {training.sign.size} training samples: "
                "raise dim, alpha or positive_rate"
            )
        result = {
            name: getattr(training.query, name)
            for name in cell.quantities
            if MEASURED[name].group == "query"
        }
        if "separable" in cell.quantities:
            result["separable"] = float(_separable(training))
        if TRAINED & set(cell.quantities):
            result |= self._trained(cell, training, rng)
        return result

    def _trained(self, cell: Cell, training: TrainingSet, rng: Rng) -> dict[str, float]:
        loss, reg = get_loss(cell.values["loss"]), cell.values["reg"]
        if training.readout is None:
            readout = fit_readout(training.features, training.sign, reg, loss)
            training = training._replace(readout=readout)
        margins = training.margins(training.readout)
        result = {
            "train_loss": float(np.mean(loss.value(margins, 1.0))),
            "train_error": float(np.mean(margins < 0.0)),
        } | _readout_state(training, training.readout)

        def judge(problem: AnyProblem, n_windows: int) -> Performance:
            window = windows(problem, n_windows)
            judged = self.judge(window, training, cell.values["loss"], rng, n_windows)
            return replace(judged, n_windows=n_windows)

        wanted = TESTED & set(cell.quantities)
        if wanted:
            tested = judge(cell.test_problem, cell.n_windows)
            held = judge(cell.problem, 1) if "false_positives" in wanted else tested
            fpr = cell.values.get("fpr")
            result |= {name: float(tested_number(name, fpr, held, tested)) for name in wanted}
        return result


def _readout_state(training: TrainingSet, readout: LinearReadout) -> dict[str, float]:
    """Return the trained bias, and the readout in its parts along query and signal."""
    coef, direction = readout.coef, training.direction
    overlap = float(coef @ direction)
    if training.query is None:
        spread = math.sqrt(max(float(coef @ coef) - overlap**2, 0.0))
        parts = Readout(0.0, overlap, readout.intercept, spread)
    else:
        parts = readout_coordinates(coef, readout.intercept, training.query.query, direction)
    return {
        "trained_bias": readout.intercept,
        "trained_along_query": parts.along_query,
        "trained_along_rest": parts.along_rest,
        "trained_overlap": overlap,
        "trained_spread": parts.spread,
        "trained_norm": float(np.linalg.norm(coef)),
    }


def _separable(training: TrainingSet) -> bool:
    """Whether some readout has no training error.

    The margins decide, so it does not matter whether the separator found is the shortest.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        separator = fit_readout(training.features, training.sign, _SEPARATING_RIDGE, Hinge())
    return bool((training.margins(separator) > 0.0).all())
