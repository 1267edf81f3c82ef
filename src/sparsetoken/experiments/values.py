"""The named values of a cell: what they are called, what they may be, and where they matter."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from sparsetoken._validation import check_choice, check_count, check_real
from sparsetoken.problem import SparseTokenProblem

__all__ = [
    "ALIGNMENT",
    "COUNTS",
    "DEFAULTS",
    "KNOWN",
    "LINEAR",
    "PREDICTED",
    "PROBLEM",
    "QUANTITIES",
    "SIMULATED",
    "SOURCES",
    "STEPS",
    "check_known",
    "check_values",
    "relevant_values",
]

Check = Callable[[str, Any], Any]

SOURCES = ("theory", "simulation")
LINEAR = ("pooled", "vectorized")
MODELS = ("pooled", "vectorized", "attention", "hardmax", "elementwise", "bayes")
PROTOCOLS = ("two-step", "reused", "joint")
PROBLEM = tuple(field.name for field in fields(SparseTokenProblem))

ALIGNMENT = ("cosine", "sharpness", "query_norm", "query_overlap", "readout_norm")
TRAINED = ("test_error", "train_loss", "train_error")
PREDICTED = ("test_loss", "auc", "misalignment")
SIMULATED = (*ALIGNMENT, *TRAINED, "separable")
QUANTITIES = (*SIMULATED, *PREDICTED, "capacity", "oracle_error", "required_signal")

STEPS = ("loss", "beta", "lr_readout", "lr_bias", "lr_query")


def _count(minimum: int) -> Check:
    return lambda name, value: check_count(name, value, minimum=minimum)


def _real(low: float, high: float = float("inf"), **options: bool) -> Check:
    return lambda name, value: check_real(name, value, low, high, **options)


def _choice(known: tuple[str, ...]) -> Check:
    return lambda name, value: check_choice(name, value, known)


_CHECKS: dict[str, Check] = {
    "n_tokens": _count(1),
    "n_signal": _count(1),
    "signal": _real(0.0),
    "positive_rate": _real(0.0, 1.0),
    "model": _choice(MODELS),
    "alpha": _real(0.0, above=True, infinite=True),
    "split": _real(0.0, 1.0, above=True),
    "alpha0": _real(0.0, above=True, infinite=True),
    "alpha1": _real(0.0, above=True, infinite=True),
    "reg": _real(0.0),
    "loss": _choice(("logistic", "square", "hinge")),
    "beta": _real(0.0),
    "lr_readout": _real(0.0),
    "lr_bias": _real(0.0),
    "lr_query": _real(0.0),
    "cosine": _real(-1.0, 1.0),
    "sharpness": _real(0.0),
    "protocol": _choice(PROTOCOLS),
    "refine_steps": _count(1),
    "error": _real(0.0, 1.0, above=True),
    "test_n_tokens": _count(1),
    "test_n_signal": _count(1),
    "test_signal": _real(0.0),
    "test_positive_rate": _real(0.0, 1.0),
    "n_points": _count(256),
    "dim": _count(2),
    "trials": _count(2),
    "seed": _count(0),
}

KNOWN = tuple(_CHECKS)
COUNTS = ("n_tokens", "n_signal", "test_n_tokens", "test_n_signal", "dim", "trials", "seed")

DEFAULTS: dict[str, Any] = {
    "n_tokens": 10,
    "n_signal": 1,
    "signal": 5.0,
    "positive_rate": 0.5,
    "model": "attention",
    "split": 0.5,
    "reg": 1e-2,
    "loss": "logistic",
    "beta": 1.0,
    "lr_readout": 1.0,
    "lr_bias": 1.0,
    "lr_query": 20.0,
    "protocol": "two-step",
    "refine_steps": 30,
    "error": 0.05,
    "n_points": 4096,
    "dim": 1000,
    "trials": 8,
    "seed": 0,
}


def check_known(what: str, name: str, known: Iterable[str]) -> str:
    """Return ``name`` if it is known, or raise ValueError with the nearest known name."""
    known = list(known)
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
    raise ValueError(f"unknown {what} {name!r}{hint}")


def check_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values in the order and types of this module, or raise ValueError."""
    for name in values:
        check_known("value", name, _CHECKS)
    return {name: check(name, values[name]) for name, check in _CHECKS.items() if name in values}


def relevant_values(source: str, quantities: Iterable[str], values: dict[str, Any]) -> set[str]:
    """Name the values on which the quantities depend; two cells that differ in others are one."""
    quantities = set(quantities)
    names = set(PROBLEM)
    model = values["model"]
    queried = model not in LINEAR
    frozen = "cosine" in values
    trained = {*TRAINED, "test_loss", "auc", "separable"} & quantities
    asked = trained or {*ALIGNMENT, "misalignment", "capacity"} & quantities
    learns = queried and not frozen and asked
    if learns:
        names |= {*STEPS, "alpha0", "alpha"}
        names |= {"split"} if values["protocol"] == "two-step" else set()
    if quantities - {*ALIGNMENT, "misalignment"}:
        names |= {"model"}
        names |= {"cosine", "sharpness"} if queried else set()
        names |= {"n_points"} if queried else set()
    if trained:
        names |= {"alpha1", "alpha", "reg", "loss"}
    if trained and queried and source == "simulation":
        names |= {"protocol"} | ({"refine_steps"} if values["protocol"] == "joint" else set())
    if trained & {"test_error", "test_loss", "auc"}:
        names |= {f"test_{name}" for name in PROBLEM}
    if "required_signal" in quantities:
        names |= {"error"}
        if quantities == {"required_signal"}:
            names -= {"signal"}
    if source == "simulation":
        names |= {"dim", "trials", "seed"}
    return names
