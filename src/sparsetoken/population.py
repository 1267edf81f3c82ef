"""Populations: samples of several kinds, and labels that may be wrong (docs/theory, section 11)."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sparsetoken._validation import check_real, shown
from sparsetoken.problem import FIELDS, Problem, SparseTokenProblem
from sparsetoken.vocabulary import check_known


@dataclass(frozen=True, init=False)
class Population(Problem):
    """A mixture of kinds of samples, with labels that may be recorded wrongly.

    Each sample draws its kind, then its class with the positive rate of that kind, then its
    recorded label. It is accepted wherever a problem is; errors count against recorded labels, and
    ``r.on(population without label errors)`` counts them against true ones.

    Parameters
    ----------
    kinds : iterable of SparseTokenProblem
        Each with its own length, signal tokens, strength and positive rate. Equal ones are joined,
        and those without a share left out.
    shares : iterable of float, optional
        Fraction of the samples of each kind; they add up to one. Equal unless given.
    label_errors : (float, float), default=(0.0, 0.0)
        Probability that a positive is recorded as negative, and that a negative is recorded as
        positive.

    Examples
    --------
    >>> import sparsetoken as st
    >>> population = st.Population(
    ...     [st.SparseTokenProblem(10, signal=5.0), st.SparseTokenProblem(40, signal=4.0)],
    ...     shares=[0.7, 0.3], label_errors=(0.05, 0.0),
    ... )
    >>> X, y = population.sample(200, 50, random_state=0)
    >>> sorted({x.shape for x in X})
    [(10, 50), (40, 50)]
    >>> round(population.positive_rate, 3)
    0.475
    >>> st.theory.risk(population, "pooled", alpha=2.0, reg=1e-2)
    Risk(pooled, test_error=0.3620 ± 1e-08, train_loss=0.3978, alpha=2, reg=0.01)
    """

    kinds: tuple[SparseTokenProblem, ...]
    shares: tuple[float, ...]
    label_errors: tuple[float, float]

    def __init__(
        self,
        kinds: Iterable[SparseTokenProblem],
        shares: Iterable[float] | None = None,
        label_errors: Iterable[float] = (0.0, 0.0),
    ) -> None:
        listed = list(kinds)
        if not listed or not all(isinstance(kind, SparseTokenProblem) for kind in listed):
            raise ValueError(f"kinds must be one or more SparseTokenProblem, got {shown(listed)}")
        weights = [1.0 / len(listed)] * len(listed) if shares is None else list(shares)
        weights = [check_real("shares", weight, low=0.0, high=1.0) for weight in weights]
        if len(weights) != len(listed):
            raise ValueError(f"shares must be {len(listed)} numbers, got {shown(weights)}")
        if not math.isclose(sum(weights), 1.0, abs_tol=1e-6):
            raise ValueError(f"shares must add up to 1, got {shown(weights)}")
        errors = tuple(check_real("label_errors", e, low=0.0, high=1.0) for e in label_errors)
        if len(errors) != 2:
            raise ValueError(f"label_errors must be two probabilities, got {shown(errors)}")
        if len({kind.n_kinds for kind in listed}) > 1:
            raise ValueError(f"kinds must have the same n_kinds, got {shown(listed)}")
        joined: dict[SparseTokenProblem, float] = {}
        for kind, weight in zip(listed, weights, strict=True):
            if weight > 0.0:
                joined[kind] = joined.get(kind, 0.0) + weight
        total = sum(joined.values())
        object.__setattr__(self, "kinds", tuple(joined))
        object.__setattr__(self, "shares", tuple(weight / total for weight in joined.values()))
        object.__setattr__(self, "label_errors", errors)

    def __iter__(self) -> Any:
        """Iterate over pairs of kind and share."""
        return iter(zip(self.kinds, self.shares, strict=True))

    def map(self, change: Callable[[SparseTokenProblem], SparseTokenProblem]) -> Problem:
        """Return the population with each kind changed."""
        return Population(map(change, self.kinds), self.shares, self.label_errors)

    def with_rate(self, positive_rate: float) -> Problem:
        """Return the population when another fraction of it is recorded as positive."""
        more = positive_rate / self.positive_rate
        fewer = (1.0 - positive_rate) / (1.0 - self.positive_rate)
        missed, invented = self.label_errors
        positive = more * (1.0 - missed) + fewer * missed  # how many more true positives there are
        negative = fewer * (1.0 - invented) + more * invented
        kinds, weights = [], []
        for kind, weight in self:
            rate = kind.positive_rate
            total = rate * positive + (1.0 - rate) * negative
            kinds.append(replace(kind, positive_rate=min(rate * positive / total, 1.0)))
            weights.append(weight * total)
        weights = [weight / sum(weights) for weight in weights]
        return Population(kinds, weights, (fewer * missed / positive, more * invented / negative))

    @classmethod
    def from_tables(
        cls, kinds: Any, label_errors: Iterable[float] = (0.0, 0.0), positive_rate: float = 0.5
    ) -> "Population":
        """Return the population that tables describe, as :meth:`to_tables` returns them.

        Parameters
        ----------
        kinds : list of dict
            For each kind its ``probability``, and the numbers of its problem.
        label_errors : (float, float), default=(0.0, 0.0)
            As of a population.
        positive_rate : float, default=0.5
            Of kinds that have none of their own.
        """
        names = ("probability", *FIELDS)
        if not isinstance(kinds, list) or not all(isinstance(kind, Mapping) for kind in kinds):
            raise ValueError(f"kinds must be tables with {', '.join(names)}; got {shown(kinds)}")
        probabilities, problems = [], []
        for kind in map(dict, kinds):
            for name in kind:
                check_known("entry of a kind", name, names)
            for name in ("probability", "n_tokens", "signal"):
                if name not in kind:
                    raise ValueError(f"a kind needs {name}, got {shown(kind)}")
            probabilities.append(kind.pop("probability"))
            problems.append(SparseTokenProblem(**({"positive_rate": positive_rate} | kind)))
        return cls(problems, probabilities, label_errors)
