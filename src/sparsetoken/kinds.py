"""Populations as text, for tables, commands and files.

A kind is written ``share,n_tokens,n_signal,signal`` or, with a positive rate of its own,
``share,n_tokens,n_signal,signal,positive_rate``; several are joined by semicolons.
"""

import tomllib
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from sparsetoken._validation import check_real, shown
from sparsetoken.population import AnyProblem, Population, plain
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import PARAMETERS, check_known

__all__ = ["errors_text", "kinds_text", "load_population", "parse_kind", "read_population"]

_FIELDS = ("share", "n_tokens", "n_signal", "signal", "positive_rate")
_FORM = "share,n_tokens,n_signal,signal or share,n_tokens,n_signal,signal,positive_rate"
_NO_ERRORS = (0.0, 0.0)


def parse_kind(kind: Any) -> tuple[float, ...]:
    """Return the numbers of a kind given as text, table or sequence, or raise ValueError."""
    if isinstance(kind, Mapping):
        for name in kind:
            check_known("entry of a kind", name, _FIELDS)
        for name in ("share", "n_tokens", "signal"):
            if name not in kind:
                raise ValueError(f"a kind needs {name}, got {shown(dict(kind))}")
        entries = [kind.get(name, 1 if name == "n_signal" else None) for name in _FIELDS]
        entries = entries if "positive_rate" in kind else entries[:-1]
    else:
        entries = kind.split(",") if isinstance(kind, str) else list(kind)
    try:
        numbers = [float(entry) for entry in entries]
    except (TypeError, ValueError):
        numbers = []
    if not 4 <= len(numbers) <= 5:
        raise ValueError(f"a kind must be {_FORM}, got {shown(kind)}")
    share = check_real("share", numbers[0], low=0.0, high=1.0)
    named = zip(_FIELDS[1:], numbers[1:], strict=False)
    checked = [PARAMETERS[n].check(_whole(v) if PARAMETERS[n].whole else v) for n, v in named]
    SparseTokenProblem(*checked)  # raises ValueError if there is no such problem
    return share, *checked


def _whole(value: float) -> Any:
    return int(value) if value.is_integer() else value


def kinds_text(kinds: Any, positive_rate: float | None = None) -> str:
    """Return kinds in one way of writing, those without a positive rate with the given one.

    Parameters
    ----------
    kinds : str, Population or iterable
        As text, or each as text, as a table with ``share``, ``n_tokens`` and so on, or as numbers.
    positive_rate : float, optional
        The rate of kinds that have none of their own.
    """
    found: Iterable[Any]
    if isinstance(kinds, Population):
        if any(kind.contiguous for kind in kinds.kinds):
            raise ValueError(f"kinds as text have no runs (contiguous), got {shown(kinds)}")
        found = [(share, k.n_tokens, k.n_signal, k.signal, k.positive_rate) for k, share in kinds]
    elif isinstance(kinds, str):
        found = kinds.split(";")
    elif isinstance(kinds, Iterable) and not isinstance(kinds, Mapping):
        found = kinds
    else:
        raise ValueError(f"kinds must be a list, each {_FORM}, got {shown(kinds)}")
    parsed = [parse_kind(kind) for kind in found]
    rate = () if positive_rate is None else (float(positive_rate),)
    complete = [(*kind, *rate)[:5] for kind in parsed]
    _population(complete, _NO_ERRORS)  # the shares must add up to one
    return "; ".join(",".join(map(repr, kind)) for kind in complete)


def errors_text(label_errors: Any) -> str:
    """Return the two label errors in one way of writing."""
    return ",".join(map(repr, _errors(label_errors)))


def read_population(
    kinds: Any, label_errors: Any = _NO_ERRORS, positive_rate: float | None = None
) -> AnyProblem:
    """Return the population, or the problem if there is one kind and no label errors."""
    text = kinds_text(kinds, positive_rate)
    parsed = [parse_kind(kind) for kind in text.split(";")]
    return plain(_population(parsed, _errors(label_errors)))


def load_population(path: str | PathLike[str]) -> dict[str, Any]:
    """Read ``kinds`` and ``label_errors`` of a TOML file, checked.

    The file has tables ``[[kinds]]`` with ``share``, ``n_tokens``, ``n_signal`` (1 unless given),
    ``signal`` and, if it differs from the others', ``positive_rate``; and optionally
    ``label_errors = [0.05, 0.0]``.
    """
    try:
        with Path(path).open("rb") as file:
            content = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    try:
        for name in content:
            check_known("entry", name, ("kinds", "label_errors"))
        if "kinds" not in content:
            raise ValueError("it has no kinds, written [[kinds]]")
        errors = errors_text(content.get("label_errors", _NO_ERRORS))
        return {"kinds": kinds_text(content["kinds"]), "label_errors": errors}
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _errors(given: Any) -> tuple[float, float]:
    entries = given.split(",") if isinstance(given, str) else given
    try:
        missed, invented = map(float, entries)
    except (TypeError, ValueError):
        raise ValueError(
            "label_errors must be two probabilities, that a positive is recorded as negative and "
            f"the reverse, as 0.05,0; got {shown(given)}"
        ) from None
    return (
        check_real("label_errors", missed, low=0.0, high=1.0),
        check_real("label_errors", invented, low=0.0, high=1.0),
    )


def _population(kinds: Iterable[tuple[Any, ...]], label_errors: tuple[float, float]) -> Population:
    listed = list(kinds)
    problems = [SparseTokenProblem(*fields) for _, *fields in listed]
    return Population(problems, [share for share, *_ in listed], label_errors)
