"""A readout trained on features that are fixed by then: what all such ways of training share."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsetoken._types import Array
from sparsetoken.estimate import Estimate
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
    """Training features with their labels, and the geometry behind them."""

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
        if about == "trained" or quantity == "separable":
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
        """Solve for the readouts together, each from the last, then read off the numbers."""
        from sparsetoken.theory.curves import solve_along
        from sparsetoken.theory.models import get_model

        queries = [self.predict_query(cell) for cell in cells]
        risks: Sequence[Any] = [None] * len(cells)
        if TRAINED & set(cells[0].quantities):
            places = [
                (get_model(self.architecture, **_query_arguments(cell, query)), cell.alpha1)
                for cell, query in zip(cells, queries, strict=True)
            ]
            values = cells[0].values
            risks = solve_along(cells[0].problem, places, values["reg"], values["loss"])
        return [self._predict(*each) for each in zip(cells, queries, risks, strict=True)]

    def _predict(self, cell: Cell, query: Any, risk: Any) -> Numbers:
        """Return the numbers of one cell, given its query and its solved readout, if any."""
        tested = risk if cell.test_problem == cell.problem else risk.on(cell.test_problem)
        if risk is not None and cell.n_windows > 1:
            tested = tested.windowed(cell.n_windows)
        numbers: dict[str, Any] = {}
        for name in cell.quantities:
            about, state = MEASURED[name].group, name.removeprefix("trained_")
            if about == "query":
                numbers[name] = getattr(query, name)
            elif about == "capacity":
                numbers[name] = self._predict_capacity(name, cell, query)
            elif about == "oracle":
                numbers[name] = predict_oracle(name, cell, str(self.architecture))
            elif state != name:
                plain = {"bias": "bias", "step": "chi"}
                numbers[name] = getattr(risk, plain.get(state, f"readout_{state}"))
            elif name in TESTED:
                numbers[name] = _tested_number(name, cell, risk, tested)
            else:
                numbers[name] = getattr(risk, name)
        return {name: _estimate(number) for name, number in numbers.items()}

    def _predict_capacity(self, name: str, cell: Cell, query: Any) -> Estimate:
        from sparsetoken.theory import capacity

        limit = capacity(cell.problem, self.architecture, **_query_arguments(cell, query))
        return limit if name == "capacity" else Estimate(cell.alpha1 < limit, 0.0, limit.converged)

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
        numbers = {
            name: getattr(training.query, name)
            for name in cell.quantities
            if MEASURED[name].group == "query"
        }
        if "separable" in cell.quantities:
            numbers["separable"] = float(_separable(training))
        if TRAINED & set(cell.quantities):
            numbers |= self._train(cell, training, rng)
        return numbers

    def _train(self, cell: Cell, training: TrainingSet, rng: Rng) -> dict[str, float]:
        loss, reg = get_loss(cell.values["loss"]), cell.values["reg"]
        if training.readout is None:
            readout = fit_readout(training.features, training.sign, reg, loss)
            training = training._replace(readout=readout)
        margins = training.margins(training.readout)
        numbers = {
            "train_loss": float(np.mean(loss.value(margins, 1.0))),
            "train_error": float(np.mean(margins < 0.0)),
        } | _readout_state(training)

        def judge(problem: AnyProblem, n_windows: int) -> Performance:
            window = windows(problem, n_windows)
            judged = self.judge(window, training, cell.values["loss"], rng, n_windows)
            return replace(judged, n_windows=n_windows)

        wanted = TESTED & set(cell.quantities)
        if wanted:
            tested = judge(cell.test_problem, cell.n_windows)
            held = judge(cell.problem, 1) if "false_positives" in wanted else tested
            numbers |= {name: float(_tested_number(name, cell, held, tested)) for name in wanted}
        return numbers


def predict_oracle(name: str, cell: Cell, architecture: str) -> Estimate:
    """Return the error of the best weights, or the signal that they need."""
    from sparsetoken.theory import oracle_error, required_signal

    if name == "oracle_error":
        return oracle_error(cell.problem, architecture, **_points(cell))
    error = cell.values["error"]
    return _estimate(required_signal(cell.problem, architecture, error=error, **_points(cell)))


def _query_arguments(cell: Cell, query: Any) -> dict[str, Any]:
    """Return cosine and sharpness of the query, and the points, as arguments of the theory."""
    if query is None:
        return {}
    return {"cosine": query.cosine, "sharpness": query.sharpness} | _points(cell)


def _points(cell: Cell) -> dict[str, Any]:
    return {"n_points": cell.values["n_points"]} if "n_points" in cell.values else {}


def _estimate(number: float) -> Estimate:
    return number if isinstance(number, Estimate) else Estimate(number)


def _tested_number(name: str, cell: Cell, trained: Performance, tested: Performance) -> Any:
    """Return a number of a test; ``trained`` is the performance where the threshold is set."""
    if name == "recall":
        return tested.recall(fpr=cell.values["fpr"])
    if name == "false_positives":
        return tested.rates(trained.threshold(fpr=cell.values["fpr"])).fpr
    return getattr(tested, name)


def _readout_state(training: TrainingSet) -> dict[str, float]:
    """Return the trained bias, and the readout in its parts along query and signal."""
    coef, intercept = training.readout
    overlap = float(coef @ training.direction)
    if training.query is None:
        spread = math.sqrt(max(float(coef @ coef) - overlap**2, 0.0))
        parts = Readout(0.0, overlap, intercept, spread)
    else:
        parts = readout_coordinates(coef, intercept, training.query.query, training.direction)
    return {
        "trained_bias": intercept,
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
