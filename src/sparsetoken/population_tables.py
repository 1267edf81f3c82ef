"""Populations as plain data: a list of tables, as TOML and JSON have them."""

from collections.abc import Iterable, Mapping
from typing import Any

from sparsetoken._validation import shown
from sparsetoken.population import Population
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import check_known, group

FIELDS = ("probability", *group("problem"))


def as_tables(population: Population) -> list[dict[str, Any]]:
    """Return a table for each kind: its probability, and the numbers of its problem."""
    if any(kind.contiguous for kind in population.kinds):
        raise ValueError(f"kinds as tables have no runs (contiguous), got {shown(population)}")
    return [
        {"probability": probability} | {name: getattr(kind, name) for name in FIELDS[1:]}
        for kind, probability in population
    ]


def from_tables(
    kinds: Any, label_errors: Iterable[float] = (0.0, 0.0), positive_rate: float = 0.5
) -> Population:
    """Return the population that tables describe; kinds without a positive rate have this one."""
    if not isinstance(kinds, list) or not all(isinstance(kind, Mapping) for kind in kinds):
        raise ValueError(f"kinds must be tables with {', '.join(FIELDS)}; got {shown(kinds)}")
    probabilities, problems = [], []
    for kind in map(dict, kinds):
        for name in kind:
            check_known("entry of a kind", name, FIELDS)
        for name in ("probability", "n_tokens", "signal"):
            if name not in kind:
                raise ValueError(f"a kind needs {name}, got {shown(kind)}")
        probabilities.append(kind.pop("probability"))
        problems.append(SparseTokenProblem(**({"positive_rate": positive_rate} | kind)))
    return Population(problems, probabilities, label_errors)
