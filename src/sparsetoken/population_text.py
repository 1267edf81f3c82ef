"""Populations as text, for tables, commands and files.

A kind is written ``share,n_tokens,n_signal,signal`` or, with a positive rate of its own,
``share,n_tokens,n_signal,signal,positive_rate``; several are joined by semicolons. In a TOML file
each is a table with these entries.
"""

from collections.abc import Mapping
from os import PathLike
from typing import Any

from sparsetoken._validation import check_real, read_toml, shown
from sparsetoken.population import AnyProblem, Population, plain
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import PARAMETERS, check_known

_FIELDS = ("share", "n_tokens", "n_signal", "signal", "positive_rate")
_FORM = "share,n_tokens,n_signal,signal or share,n_tokens,n_signal,signal,positive_rate"
_NO_ERRORS = (0.0, 0.0)

Kind = tuple[float, ...]


def parse_kind(kind: Any) -> Kind:
    """Return the numbers of a kind given as text or table, or raise ValueError."""
    if isinstance(kind, Mapping):
        for name in kind:
            check_known("entry of a kind", name, _FIELDS)
        for name in ("share", "n_tokens", "signal"):
            if name not in kind:
                raise ValueError(f"a kind needs {name}, got {shown(dict(kind))}")
        entries = [kind.get(name, 1) for name in _FIELDS if name == "n_signal" or name in kind]
    else:
        entries = kind.split(",") if isinstance(kind, str) else []
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
    """Return kinds (text, a Population, or a list of texts or tables) in one way of writing.

    Kinds without a positive rate of their own get the one given.
    """
    if isinstance(kinds, Population) and any(kind.contiguous for kind in kinds.kinds):
        raise ValueError(f"kinds as text have no runs (contiguous), got {shown(kinds)}")
    parsed = _parse_kinds(kinds, positive_rate)
    _population(parsed, _NO_ERRORS)  # the shares must add up to one
    return "; ".join(",".join(map(repr, kind)) for kind in parsed)


def errors_text(label_errors: Any) -> str:
    """Return the two label errors in one way of writing."""
    return ",".join(map(repr, _parse_errors(label_errors)))


def read_population(
    kinds: Any, label_errors: Any = _NO_ERRORS, positive_rate: float | None = None
) -> AnyProblem:
    """Return the population, or the problem if there is one kind and no label errors."""
    errors = _parse_errors(label_errors)
    if isinstance(kinds, Population):
        return plain(Population(kinds.kinds, kinds.shares, errors))
    return plain(_population(_parse_kinds(kinds, positive_rate), errors))


def load_population(path: str | PathLike[str]) -> dict[str, Any]:
    """Read ``kinds`` and ``label_errors`` of a TOML file, checked.

    The file has tables ``[[kinds]]`` with ``share``, ``n_tokens``, ``n_signal`` (1 unless given),
    ``signal`` and, if it differs from the others', ``positive_rate``; and optionally
    ``label_errors = [0.05, 0.0]``.
    """
    return read_toml(path, _check_file)


def _check_file(content: dict[str, Any]) -> dict[str, Any]:
    for name in content:
        check_known("entry", name, ("kinds", "label_errors"))
    if "kinds" not in content:
        raise ValueError("it has no kinds, written [[kinds]]")
    errors = errors_text(content.get("label_errors", _NO_ERRORS))
    return {"kinds": kinds_text(content["kinds"]), "label_errors": errors}


def _parse_kinds(kinds: Any, positive_rate: float | None) -> list[Kind]:
    if isinstance(kinds, Population):
        return [(share, k.n_tokens, k.n_signal, k.signal, k.positive_rate) for k, share in kinds]
    listed = kinds.split(";") if isinstance(kinds, str) else kinds
    if not isinstance(listed, list):
        raise ValueError(f"kinds must be a list, each {_FORM}, got {shown(kinds)}")
    rate = () if positive_rate is None else (float(positive_rate),)
    return [(*parse_kind(kind), *rate)[:5] for kind in listed]


def _parse_errors(label_errors: Any) -> tuple[float, float]:
    entries = label_errors.split(",") if isinstance(label_errors, str) else label_errors
    try:
        missed, invented = map(float, entries)
    except (TypeError, ValueError):
        raise ValueError(
            "label_errors must be two probabilities, that a positive is recorded as negative and "
            f"the reverse, as 0.05,0; got {shown(label_errors)}"
        ) from None
    return (
        check_real("label_errors", missed, low=0.0, high=1.0),
        check_real("label_errors", invented, low=0.0, high=1.0),
    )


def _population(kinds: list[Kind], label_errors: tuple[float, float]) -> Population:
    problems = [SparseTokenProblem(*fields) for _, *fields in kinds]  # type: ignore[arg-type]
    return Population(problems, [share for share, *_ in kinds], label_errors)
