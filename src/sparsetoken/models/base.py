"""What a model is. Nothing here imports numerics."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sparsetoken._validation import Named, check_count, check_real, shown
from sparsetoken.vocabulary import MEASURED, PARAMETERS, check_known, check_parameters, group

if TYPE_CHECKING:
    import numpy as np

    from sparsetoken.problem import Problem

Size = float | tuple[float | None, float | None] | None
"""Samples per dimension. For a model with a ``split`` also a pair: for query and for readout."""

Settings = dict[str, Any]
"""Settings by name, complete and checked."""


class Look(NamedTuple):
    """How a model is called and drawn."""

    label: str
    color: str
    marker: str


class Draw(NamedTuple):
    """What a trial is drawn from: the arguments of :meth:`Model.trial`, the settings complete."""

    problem: "Problem"
    size: Size
    dim: int
    settings: Settings
    rng: "np.random.Generator"

    def n_samples(self, part: int = 1) -> int:
        """Return the samples of the query (part 0), or of the readout; of all if none is split."""
        if isinstance(self.size, float) and "split" in self.settings:
            every = max(3, round(self.size * self.dim))
            first = min(max(round(self.settings["split"] * every), 1), every - 2)
            return (first, every - first)[part]
        return max(2, round(alpha_of(self.size, self.settings, part) * self.dim))


@dataclass(frozen=True)
class StudySize:
    """A problem with numbers of samples and of features, which are infinite for a floor."""

    problem: "Problem"
    n_samples: float
    dim: float

    @property
    def alpha(self) -> float:
        """Samples per dimension."""
        return math.inf if math.isinf(self.n_samples) else self.n_samples / self.dim


class Range(NamedTuple):
    """Values of a setting worth searching."""

    low: float
    high: float
    starts: tuple[float, ...]
    """Where to look first."""
    step: float = 0.8
    """First step of a search from there, in logarithms; of a fraction, in those of its odds."""

    @property
    def is_fraction(self) -> bool:
        """Whether it lies between 0 and 1."""
        return self.high < 1.0


class OneClassError(ValueError):
    """A trial drew training samples of one class only."""


class Model(Named):
    """A classifier with its theory and its simulation, for all who compute, plan or draw it.

    A subclass with a ``name`` can be asked for by that name in sweeps, figures, plans, on the
    command line and by :func:`sparsetoken.models.get`. Theory and trial are independent: a trial
    never uses the theory's points.
    """

    known: ClassVar[dict[str, Any]] = {}
    look: ClassVar[Look]
    """Its label, color and marker; without one it gets a free color."""
    settings: ClassVar[tuple[str, ...]] = ()
    """What can be set beside problem and samples: names of ``vocabulary.PARAMETERS``, which has the
    defaults. Theory and trial take the same; one that does not matter to them is ignored."""
    predicted: frozenset[str] = frozenset()
    """The numbers that :meth:`theory` has, by their names in ``vocabulary.MEASURED``."""
    simulated: ClassVar[frozenset[str]] = frozenset()
    """The same of :meth:`trial`."""
    architecture: str = "bayes"
    """What its best weights are called by :func:`sparsetoken.theory.oracle_error`."""
    estimator: str = ""
    """Name of the classifier in ``sparsetoken.estimators``; empty if there is none."""
    losses: ClassVar[tuple[str, ...]] = ("logistic",)
    """Those that a plan may choose where it searches at all, the cheapest first."""
    drawn_up_to: ClassVar[int] = 0
    """Up to so many samples a plan expects the mean error of trials. There the rare ones that go
    wrong decide, which no expansion around the limit of many dimensions sees."""
    basis: ClassVar[str] = (
        "the high-dimensional theory, with the leading fluctuations of a finite sample averaged in"
    )
    """What a plan's expectation rests on."""

    def theory(
        self, problem: "Problem", sizes: Sequence[Size], settings: Mapping[str, Any]
    ) -> list[Any]:
        """Return what the theory says at each number of samples.

        Parameters
        ----------
        problem : SparseTokenProblem or Population
            The model of the data.
        sizes : sequence of float
            Samples per dimension, one result for each; None leaves a result only what does not
            depend on them. See ``Size``.
        settings : mapping
            Some of the ``settings``; the others have their defaults.

        Returns
        -------
        results : list
            Objects with the names of ``predicted`` as attributes, each computed when it is first
            asked for: an :class:`~sparsetoken.estimate.Estimate`. ``recall(fpr)`` and
            ``required_signal(error)`` are methods.
        """
        from sparsetoken.problem import check_problem

        if not isinstance(sizes, Iterable) or isinstance(sizes, str):
            raise ValueError(f"sizes must be a list of samples per dimension, got {shown(sizes)}")
        complete = self.complete(settings)
        self.check(check_problem(problem), complete, frozenset())
        return self.predict(problem, [self._check_size(size) for size in sizes], complete)

    def predict(self, problem: "Problem", sizes: list[Size], settings: Settings) -> list[Any]:
        """Return what the theory says at each size: what :meth:`theory` returns."""
        numbers = ", ".join(sorted(self.simulated))
        raise ValueError(f"model {self.name!r} has no theory; a trial has {numbers or 'nothing'}")

    def trial(
        self,
        problem: "Problem",
        size: Size,
        dim: int,
        settings: Mapping[str, Any],
        rng: "np.random.Generator",
    ) -> Any:
        """Train on one drawn data set.

        Parameters
        ----------
        problem, size, settings
            As in :meth:`theory`, of one size.
        dim : int
            Features per token.
        rng : numpy.random.Generator
            Source of randomness; it is read when a number is first asked for.

        Returns
        -------
        result : object
            With the names of ``simulated`` as attributes, which are floats, and the same methods.
            Training samples of one class raise OneClassError.
        """
        from sparsetoken.problem import check_problem

        complete = self.complete(settings)
        self.check(check_problem(problem), complete, self.simulated)
        dim, size = check_count("dim", dim), self._check_size(size, infinite=False)
        return self.train(Draw(problem, size, dim, complete, rng))

    def _check_size(self, size: Any, infinite: bool = True) -> Size:
        if isinstance(size, tuple | list) and len(size) == 2 and "split" in self.settings:
            return tuple(self._check_size(each, infinite) for each in size)  # type: ignore[return-value]
        real: Any = {"low": 0.0, "above": True, "infinite": infinite}
        return None if size is None else check_real("samples per dimension", size, **real)

    def train(self, draw: Draw) -> Any:
        """Train on one drawn data set: what :meth:`trial` returns."""
        numbers = ", ".join(sorted(self.predicted))
        raise ValueError(f"model {self.name!r} has no trial; its theory has {numbers or 'nothing'}")

    def classifier(self, settings: Mapping[str, Any]) -> Any:
        """Return the unfitted estimator with these settings."""
        from sparsetoken import estimators

        if not self.estimator:
            raise ValueError(f"model {self.name!r} is theory and simulation: it has no classifier")
        made = getattr(estimators, self.estimator)()
        taken, values = made.get_params(), self.complete(settings)
        return made.set_params(**{name: values[name] for name in values if name in taken})

    def search_space(self, problem: "Problem") -> dict[str, Range]:
        """Return the settings that a plan may choose beside the loss, with their ranges."""
        return {}

    def tuned(self, study: StudySize, choice: dict[str, Any]) -> dict[str, Any]:
        """Return the settings that a choice from the search space stands for at this size."""
        return choice

    def limit(self, study: StudySize, choice: dict[str, Any]) -> Any:
        """Return what the theory says about a choice, in the limit of many dimensions."""
        return self.theory(study.problem, [study.alpha], self.tuned(study, choice))[0]

    def outcomes(self, study: StudySize, choice: dict[str, Any], n_points: int) -> list[Any]:
        """Return equally likely results of training at this size, to leading order.

        ``n_points`` is the number of points for a theory that needs them.
        """
        return [self.limit(study, choice)]

    def check(
        self, problem: "Problem", values: Mapping[str, Any], quantities: frozenset[str]
    ) -> None:
        """Raise ValueError if theory or trial cannot have these numbers.

        ``values`` has all that was given to a cell of a sweep, also what this model does not take.
        """

    def complete(self, settings: Mapping[str, Any]) -> Settings:
        """Return the settings with the defaults of the others, or raise ValueError.

        Numerics have no default here: theory and trial have their own.
        """
        for name in settings:
            check_known(f"setting of model {self.name!r}", name, self.settings)
        defaults = {
            name: PARAMETERS[name].default
            for name in self.settings
            if PARAMETERS[name].default is not None and PARAMETERS[name].group != "numerics"
        }
        return defaults | check_parameters(settings)


def measured(*groups: str) -> frozenset[str]:
    """Return the names of the quantities of some groups of the vocabulary."""
    return frozenset(name for name, quantity in MEASURED.items() if quantity.group in groups)


QUERY = measured("query")
"""Numbers of a learned query."""
TWO_STEPS = ("loss", "center", *group("two steps"))
"""Settings that a query learned by two steps depends on."""


def alpha_of(size: Size, settings: Settings, part: int = 1) -> float:
    """Return the samples per dimension of the query (part 0), or of the readout; or of all."""
    if isinstance(size, tuple):
        alpha = size[part]
    elif size is not None and "split" in settings:
        alpha = (settings["split"], 1.0 - settings["split"])[part] * size
    else:
        alpha = size
    if not alpha:
        of = ("query", "readout")[part]
        raise ValueError(f"a value for alpha{part} (or alpha) is needed: samples of the {of}")
    return alpha
