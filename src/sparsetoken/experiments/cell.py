"""A cell of a sweep: a pure function of named values, its key and seed hashes of them."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from sparsetoken._validation import check_choice, import_object
from sparsetoken.kinds import errors_text, kinds_text, read_population
from sparsetoken.losses import get_loss
from sparsetoken.pooling import Pooling, Stacked, get_pooling, pooling_models
from sparsetoken.population import AnyProblem, Population, lengths, windows
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import (
    MEASURED,
    MODELS,
    PARAMETERS,
    check_known,
    check_parameters,
    group,
)

__all__ = [
    "DESCENT",
    "LINEAR",
    "ONE_SET",
    "PROBLEM",
    "SOURCES",
    "TOGETHER",
    "TWO_STEPS",
    "Cell",
    "make_cell",
]

_MEANING = 2  # to be raised when the same values come to mean something else

SOURCES = ("theory", "simulation")
LINEAR = ("pooled", "vectorized")
ONE_SET = ("two-step-reused", "joint")  # query and readout learn from the same samples
DESCENT = "training"
TOGETHER = (DESCENT, "joint")  # query and readout are trained together
PROBLEM = group("problem")
# What the query depends on beside its samples.
TWO_STEPS = ("loss", *group("two steps"), "centre")

_DEFAULTS = {name: q.default for name, q in PARAMETERS.items() if q.default is not None}
_GROUP = {name: q.group for name, q in MEASURED.items()}
_ATTENTION = ("attention", "two-step", DESCENT, *ONE_SET)
_POOLINGS = {"pooled": "mean"} | dict.fromkeys(_ATTENTION, "softmax")
_THEORY_ONLY = {"misalignment", "capacity", "oracle_error", "required_signal", "limit_error"}
_THEORY_ONLY |= {"trained_step"}
_OF_DESCENT = {"test_error", "train_loss", "cosine", "sharpness", "query_norm", "readout_norm"}
_OF_DESCENT |= {"bias"}
_OF_DEPTH = {"test_error", "test_loss", "train_error", "train_loss"}  # counted on dense samples
_RATES = {"lr_readout", "lr_bias", "lr_query"}
_TESTED = {"test_error", "test_loss", "auc", "recall", "false_positives"}
_POPULATION = group("population")


@dataclass(frozen=True)
class Cell:
    """A point of a sweep: what to compute there, and how.

    Parameters
    ----------
    source : {"theory", "simulation"}
        Where the numbers come from.
    quantities : tuple of str
        What to compute.
    values : dict
        The named values, those alone on which the quantities depend. :func:`make_cell` makes them.
    """

    source: str
    quantities: tuple[str, ...]
    values: dict[str, Any]

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        """Hash of everything: the same key means the same numbers."""
        return _digest([_MEANING, self.source, self.quantities, _meaning(self.values)])

    @property
    def seed(self) -> int:
        """Seed of the random numbers, from the values alone."""
        return int(_digest([_MEANING, _meaning(self.values)])[:32], 16)

    @property
    def problem(self) -> AnyProblem:
        """The problem to train on."""
        return _problem(self.values)

    @property
    def test_problem(self) -> AnyProblem:
        """The problem to test on: that of training unless a value ``test_...`` says otherwise."""
        names = (*PROBLEM, *_POPULATION)
        changed = {n: self.values[f"test_{n}"] for n in names if f"test_{n}" in self.values}
        return _problem(self.values | changed)

    @property
    def n_windows(self) -> int:
        """In how many windows a sequence is tested."""
        return int(self.values.get("n_windows", 1))

    @property
    def learns_query(self) -> bool:
        """Whether the query is learned by the two steps, not given by cosine and sharpness."""
        return "lr_query" in self.values

    @property
    def pooling(self) -> Pooling:
        """How scores become weights; a vectorized model has none."""
        model = self.values["model"]
        if "depth" in self.values:
            return Stacked(self.values["depth"])
        return get_pooling(_POOLINGS[model]) if model in _POOLINGS else _pooling(model)

    @property
    def alpha0(self) -> float:
        """Samples per dimension for the query."""
        if "alpha" not in self.values:
            return float(self.values["alpha0"])
        return float(self.values.get("split", 1.0) * self.values["alpha"])

    @property
    def alpha1(self) -> float:
        """Samples per dimension for the readout; of all samples, those not used for the query."""
        if "alpha" not in self.values:
            return float(self.values["alpha1"])
        rest = 1.0 - self.values["split"] if "split" in self.values else 1.0
        return float(rest * self.values["alpha"])

    def describe(self) -> str:
        """Return the values in one line."""
        return ", ".join(f"{name}={value}" for name, value in self.values.items())


def make_cell(
    source: str, quantities: str | Iterable[str], values: Mapping[str, Any] | None = None
) -> Cell | None:
    """Return the cell for the given values, or None if none of the quantities exists there.

    A simulation has no ``capacity``, and a linear model no ``cosine``: such quantities are left
    out, and so are values on which nothing depends.

    Parameters
    ----------
    source : {"theory", "simulation"}
        Where the numbers come from.
    quantities : str or iterable of str
        What to compute.
    values : mapping
        Values by name; others have their defaults (:data:`sparsetoken.vocabulary.PARAMETERS`).
        Samples per dimension are either ``alpha``, of which the fraction ``split`` goes to the
        query, or ``alpha0`` for the query and ``alpha1`` for the readout. The model "two-step"
        learns its query, "attention" has one of the given ``cosine`` and ``sharpness``; any other
        pooling, by its name or import path, learns its query unless it is given. ``kinds`` of a
        population, as text or tables or a :class:`~sparsetoken.Population`, take the place of
        ``n_tokens``, ``n_signal`` and ``signal``. With a value for
        ``depth``, "attention" has self-attention layers before its query. "training" takes
        ``steps`` of gradient descent on all parameters, with ``alpha`` samples per dimension each;
        "joint" is the minimum, with the ridge on query and readout alike. A model that is ``tuned``
        has the learning rates (two steps also the split and the ridge) with which the theory
        expects the least error; ``alpha`` and ``steps`` are then the most it may use in all.

    Examples
    --------
    >>> from sparsetoken.experiments import compute, make_cell
    >>> cell = make_cell("theory", ["test_error"], {"model": "pooled", "alpha": 2.0})
    >>> round(compute(cell)["test_error"], 3)
    0.293
    """
    check_choice("source", source, SOURCES)
    if isinstance(quantities, str):
        quantities = (quantities,)
    wanted = {check_known("quantity", quantity, MEASURED) for quantity in quantities}
    checked = check_parameters(_with_population(dict(values or {})))
    _check_names(checked["model"], checked["loss"])
    _check_query(checked)
    wanted = {quantity for quantity in wanted if _exists(source, quantity, checked)}
    if not wanted:
        return None
    names = _relevant(source, wanted, checked)
    names -= {name for name in ("centre", "tuned") if not checked[name]}
    kept = {name: value for name, value in checked.items() if name in names}
    _check_complete(source, wanted, kept, names)
    return Cell(source, tuple(q for q in MEASURED if q in wanted), kept)


def _exists(source: str, quantity: str, values: dict[str, Any]) -> bool:
    model, kind = values["model"], _GROUP[quantity]
    if source == "simulation" and quantity in _THEORY_ONLY:
        return False
    if model == DESCENT or (source == "theory" and model == "joint"):
        return quantity in _OF_DESCENT
    if source == "theory" and model in ONE_SET:
        return False
    if model == "bayes":
        return kind == "oracle"
    if quantity == "limit_error":
        return model == "attention" and "depth" not in values
    if source == "simulation" and model == "attention" and "depth" in values:
        return quantity in _OF_DEPTH
    if kind == "query":
        return model not in LINEAR and model != "attention" and "cosine" not in values
    return kind != "oracle" or ":" not in model


def _relevant(source: str, wanted: set[str], values: dict[str, Any]) -> set[str]:
    """Name the values on which the quantities depend; two cells that differ in others are one."""
    if values["model"] == DESCENT or (source == "theory" and values["model"] == "joint"):
        return _relevant_together(source, values)
    kinds = {_GROUP[quantity] for quantity in wanted}
    model, queried = values["model"], values["model"] not in LINEAR
    trained = bool(kinds & {"trained", "limit"}) or "separable" in wanted
    names = {*PROBLEM, *_POPULATION}
    if queried and kinds - {"oracle"}:
        if model == "attention" or "cosine" in values:
            names |= {"cosine", "sharpness"} | ({"depth"} if model == "attention" else set())
        else:
            names |= {*TWO_STEPS, "alpha0", "alpha", "split"}
    if kinds - {"query"} or model in ONE_SET:
        names |= {"model"}
        names |= {"n_points"} if queried and source == "theory" else set()
    if trained:
        names |= {"alpha1", "alpha", "reg", "loss"}
    if model in ONE_SET:
        names -= {"split"}
        names |= {"alpha1", "reg"} | ({"refine_steps"} if model == "joint" else set())
    if wanted & _TESTED:
        names |= {f"test_{name}" for name in (*PROBLEM, *_POPULATION)} | {"n_windows"}
    names |= {"fpr"} if wanted & {"recall", "false_positives"} else set()
    names |= {"error"} if "required_signal" in wanted else set()
    if wanted == {"required_signal"}:
        names -= {"signal"}
    if wanted == {"required_samples"}:
        names -= {"alpha0", "alpha", "split"}
    if model == "two-step" and values["tuned"]:
        names = (names - {"split", "reg", "beta", *_RATES}) | {"model", "tuned"}
    if source == "simulation":
        names |= {"dim", "trials", "random_state"}
    return names


def _relevant_together(source: str, values: dict[str, Any]) -> set[str]:
    """Name the same for models whose parameters are all trained together."""
    names = {*PROBLEM, *_POPULATION, "model", "alpha", "reg", "loss", "beta"}
    if values["model"] == DESCENT:
        names |= {"steps", "batches"} | ({"tuned"} if values["tuned"] else _RATES)
    return names | ({"n_points"} if source == "theory" else {"dim", "trials", "random_state"})


def _check_complete(source: str, wanted: set[str], values: dict[str, Any], names: set[str]) -> None:
    cell, model = Cell(source, (), values), values.get("model", "two-step")
    windows(cell.test_problem, cell.n_windows)  # raises ValueError if there is no such problem
    found = lengths(cell.problem)
    if model == "vectorized" and len(found) > 1:
        listed = ", ".join(map(str, found))
        raise ValueError(f"model 'vectorized' needs sequences of one length, got lengths {listed}")
    if "alpha" in values and {"alpha0", "alpha1"} & values.keys():
        raise ValueError("give either alpha (and split), or alpha0 and alpha1, not both")
    if "alpha" not in values:
        for name in ("alpha0", "alpha1"):
            if name in names and name not in values:
                listed = ", ".join(sorted(wanted))
                raise ValueError(f"{listed}: a value for {name} (or alpha) is needed")
        if model in (*ONE_SET, DESCENT):
            raise ValueError(f"model {model!r} needs alpha: its samples teach query and readout")
        if "tuned" in values:
            raise ValueError("tuned needs alpha: the split is searched")
    elif values.get("split") == 1.0 and "alpha1" in names:
        raise ValueError("split must be below 1: it leaves no samples for the readout")
    if "cosine" in names:
        sharpened = Cell(source, (), values).pooling.sharpened
        for name in ("cosine", "sharpness") if sharpened else ("cosine",):
            if name not in values:
                raise ValueError(f"model {model!r} needs a value for {name}: its query is given")
    if source == "simulation":
        for name in ("alpha", "alpha0", "alpha1"):
            if math.isinf(values.get(name, 0.0)):
                raise ValueError(f"{name} must be finite in a simulation")
        if model == "joint" and values["loss"] != "logistic":
            raise ValueError(f"loss must be 'logistic' for model 'joint', got {values['loss']!r}")
        if values["dim"] < 2:
            raise ValueError(f"dim must be at least 2 in a simulation, got {values['dim']}")


def _problem(values: Mapping[str, Any]) -> AnyProblem:
    errors = values.get("label_errors", "0,0")
    if "kinds" in values:
        return read_population(values["kinds"], errors)
    single = SparseTokenProblem(**{n: values[n] for n in PROBLEM if n in values})
    return read_population(Population([single]), errors)


def _with_population(given: dict[str, Any]) -> dict[str, Any]:
    """Return the values with their defaults, a population among them written in one way."""
    rate = PARAMETERS["positive_rate"].check(given.get("positive_rate", 0.5))
    values = _written(_written(given, "", rate), "test_", rate)
    if "kinds" in values:
        for name in PROBLEM:
            if f"test_{name}" in values:
                raise ValueError(f"test_{name} does not go with kinds: give test_kinds")
        kind, *others = read_population(values["kinds"]).kinds
        if others:
            return {n: v for n, v in _DEFAULTS.items() if n not in PROBLEM} | values
        del values["kinds"]  # one kind is the problem that it is: the same numbers, the same key
        values |= {name: getattr(kind, name) for name in PROBLEM}
    return _DEFAULTS | values


def _written(values: dict[str, Any], prefix: str, rate: float) -> dict[str, Any]:
    """Return the values with kinds and label errors of training, or of testing, as text.

    ``rate`` is that of kinds without one of their own.
    """
    values = dict(values)
    kinds, errors = f"{prefix}kinds", f"{prefix}label_errors"
    given = values.get(kinds)
    if isinstance(given, Population):
        if errors in values:
            raise ValueError(f"{errors} must be left out: the population has label errors")
        values[errors] = given.label_errors
    if errors in values:
        values[errors] = errors_text(values[errors])
        if not prefix and values[errors] == errors_text((0.0, 0.0)):
            del values[errors]
    if given is None:
        return values
    for name in PROBLEM[:-1]:
        if f"{prefix}{name}" in values:
            raise ValueError(f"{prefix}{name} does not go with {kinds}: each kind has its own")
    own = values.pop(f"{prefix}positive_rate", None)
    values[kinds] = kinds_text(given, rate if own is None else own)
    if own is not None and values[kinds] == kinds_text(given):
        raise ValueError(f"{prefix}positive_rate must be left out: each kind has its own")
    return values


def _check_query(values: dict[str, Any]) -> None:
    model = values["model"]
    if model in ("two-step", *ONE_SET) and "cosine" in values:
        raise ValueError(f"model {model!r} learns its query; 'attention' has a given cosine")
    elsewhere = [name for name in values if name.startswith("test_")]
    if model in TOGETHER and elsewhere:
        raise ValueError(f"{elsewhere[0]}: model {model!r} is tested on the problem it learned")
    if model not in LINEAR and "sharpness" in values and "cosine" not in values:
        raise ValueError("sharpness needs a value for cosine beside it")


def _check_names(model: Any, loss: Any) -> None:
    for name, value in (("model", model), ("loss", loss)):
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a name or an import path, got {value!r}")
    if ":" in model:
        _pooling(model)
    else:
        check_choice("model", model, dict.fromkeys([*MODELS, *pooling_models()]))
    _loss(loss)


def _pooling(model: str) -> Pooling:
    return get_pooling(model) if ":" in model else pooling_models()[model]


_loss = cache(get_loss)


def _meaning(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values, what is imported by its path together with its parameters."""
    custom = {
        name: [values[name], sorted(vars(import_object(name, values[name])).items())]
        for name in ("model", "loss")
        if ":" in values.get(name, "")
    }
    return values | custom


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()
