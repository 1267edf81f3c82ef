"""What a way of training is."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from sparsetoken.estimate import Estimate
from sparsetoken.experiments.cell import Cell
from sparsetoken.vocabulary import MEASURED, group

Numbers = dict[str, Estimate]
Rng = np.random.Generator

PROBLEM = frozenset(group("problem", "population"))
"""The names of the values that describe the problem or population."""
TESTING = frozenset(group("testing"))
"""The names of the values that describe the problem in testing."""
TWO_STEPS = frozenset({"loss", "center", *group("two steps")})
"""The names of the values that a query learned by two steps depends on beside its samples."""
TESTED = frozenset({"test_error", "test_loss", "auc", "recall", "false_positives"})
"""The quantities of a test."""

KNOWN: dict[str, "type[WayOfTraining]"] = {}


def measured(*groups: str) -> frozenset[str]:
    """Return the quantities of some groups of the vocabulary."""
    return frozenset(name for name, quantity in MEASURED.items() if quantity.group in groups)


class WayOfTraining:
    """A way of training: on what its numbers depend, its theory and its simulation.

    A subclass with a ``name`` can be asked for by that name, as ``model``, in sweeps, figures and
    on the command line. It says which quantities it has, on which values they depend, and computes
    them in :meth:`predict` and in :meth:`trial`. A simulation may not use the theory, so
    whatever :meth:`predict` needs of it is imported there.

    Attributes
    ----------
    name : str
        Its name.
    predicted, simulated : frozenset of str
        The quantities that its theory and its simulation have.
    chained : frozenset of str
        Those that the theory finds quicker along a curve, by :meth:`predict_curve`.
    tested_elsewhere : bool
        Whether it can be tested on another problem than that of training.
    """

    name: str
    predicted: ClassVar[frozenset[str]] = frozenset()
    simulated: ClassVar[frozenset[str]] = frozenset()
    chained: ClassVar[frozenset[str]] = frozenset()
    tested_elsewhere: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            KNOWN[cls.name] = cls

    def quantities(self, source: str) -> frozenset[str]:
        """Return the quantities that the theory, or the simulation, has."""
        return self.predicted if source == "theory" else self.simulated

    def parameters(self, quantity: str, source: str) -> set[str]:
        """Return the names of the values that the quantity depends on.

        Two cells that differ in other values only are one. Dimension, trials and seed of a
        simulation are added to these.
        """
        raise NotImplementedError

    def check(self, values: Mapping[str, Any], cell: Cell) -> None:
        """Raise ValueError if there is no such cell; ``values`` has those that it left out, too."""
        elsewhere = [name for name in values if name in TESTING and name.startswith("test_")]
        if elsewhere and not self.tested_elsewhere:
            raise ValueError(
                f"{elsewhere[0]}: model {self.name!r} is tested on the problem it learned"
            )

    def predict(self, cell: Cell) -> Numbers:
        """Return what the theory says about a cell."""
        raise NotImplementedError

    def predict_curve(self, cells: Sequence[Cell]) -> list[Numbers]:
        """Return what the theory says about cells that differ in their samples only."""
        return [self.predict(cell) for cell in cells]

    def simulate(self, cell: Cell) -> Numbers:
        """Return the mean over the cell's trials of each quantity, with its standard error."""
        seeds = np.random.SeedSequence(cell.seed).spawn(cell.values["trials"])
        results = [self.trial(cell, np.random.default_rng(seed)) for seed in seeds]
        numbers = {}
        for quantity in cell.quantities:
            values = np.array([result[quantity] for result in results])
            error = float(values.std(ddof=1)) / math.sqrt(values.size)
            numbers[quantity] = Estimate(float(values.mean()), error)
        return numbers

    def trial(self, cell: Cell, rng: Rng) -> dict[str, float]:
        """Return the quantities after training on one drawn data set."""
        raise NotImplementedError


def two_steps(cell: Cell) -> dict[str, Any]:
    """Return the settings of the two steps."""
    return {name: value for name, value in cell.values.items() if name in TWO_STEPS}


def count_samples(alpha: float, dim: int) -> int:
    """Return the number of samples, at least two."""
    return max(2, round(alpha * dim))
