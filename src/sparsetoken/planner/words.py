"""Words about plans: answers, cautions and reports of all kinds of plans."""

import math
import platform
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sparsetoken.models import look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TESTED = 4.0  # times the pilot: as far as benchmarks compare predictions with what came
_RARE = 0.25  # of all samples: below, the answer counts the rarest class too

Progress = Callable[[str], object]
"""Called at each step of a long computation, with a few words about what is done next."""

Table = list[tuple[str, ...]]
"""Rows of cells; the first row is the head."""


def no_progress(doing: str) -> None:
    """Report no progress."""


class Words(NamedTuple):
    """What is said of a plan beside its answer."""

    remarks: list[str]
    """On the answer: what to be careful about."""
    assumptions: list[str]
    basis: list[str]
    tables: dict[str, Table]


class PlanResult(ABC):
    """A plan: an answer in a sentence, plain data, a picture, and a report."""

    _drawing: str
    """Name of the function of ``sparsetoken.plotting`` that draws it."""

    @property
    @abstractmethod
    def answer(self) -> str:
        """The plan in one sentence."""

    @abstractmethod
    def _words(self) -> Words:
        """Return what is said beside the answer."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON."""

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw the plan.

        Parameters
        ----------
        path : str, Path or None, default=None
            Also save the picture: a file ending in .png, .pdf or .svg.
        """
        from sparsetoken import plotting

        figure: Figure = getattr(plotting, self._drawing)(self.to_dict())
        if path is not None:
            plotting.save_picture(figure, path)
        return figure

    def summary(self) -> str:
        """Return the report as plain text, without the versions of the software."""
        return "\n\n".join(self._blocks(markdown=False))

    def report(self, *, markdown: bool = False) -> str:
        """Return the text that a protocol or a methods section needs.

        It has the answer with its interval, the assumptions, what the answer rests on, and the
        software.

        Parameters
        ----------
        markdown : bool, default=False
            Return headings and tables in Markdown instead of plain text.
        """
        release = sys.modules["sparsetoken"].__version__  # the parent is there, installed or not
        software = (
            f"sparsetoken {release}, with Python {platform.python_version()}, "
            f"NumPy {version('numpy')} and SciPy {version('scipy')}."
        )
        blocks = [*self._blocks(markdown), _block("Software", [software], markdown)]
        return "\n\n".join(blocks) + "\n"

    def _blocks(self, markdown: bool) -> list[str]:
        remarks, assumptions, basis, tables = self._words()
        answer = [self.answer, *remarks]
        return [
            _block("Answer", answer, markdown) if markdown else "\n".join(answer),
            _block("Assumptions", assumptions, markdown),
            _block("What it rests on", basis, markdown),
            *(f"{caption}:\n\n{_lines(rows, markdown)}" for caption, rows in tables.items()),
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.answer.rstrip('.')})"


def _block(title: str, sentences: list[str], markdown: bool) -> str:
    text = " ".join(sentences)
    return f"## {title}\n\n{text}" if markdown else f"{title}: {text}"


def _lines(rows: Table, markdown: bool) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [[cell.rjust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    if not markdown:
        return "\n".join("  " + "  ".join(row) for row in cells)
    rule = ["-" * (width - 1) + ":" for width in widths]
    return "\n".join(f"| {' | '.join(row)} |" for row in [cells[0], rule, *cells[1:]])


def number(value: Any) -> str:
    """Return a number as text; nobody will ever tell an error below 1e-9 from none."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if value >= 1e-9 else "below 1e-9"


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {number(value)}" for name, value in values.items())


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# Plans by theory


def _label(plan: Any) -> str:
    return "the best learner" if plan.model == "optimal" else look(plan.model).label


def answer_by_theory(plan: Any) -> str:
    """The plan in one sentence."""  # noqa: D401 (it is a property of the plan)
    reached = plan.aim.words(plan.target or plan.error)
    name, unknown = _capital(_label(plan)), plan.solved_for
    if unknown == "n_samples" and plan.is_smallest:
        fewest = f"{plan.n_samples} labelled sequences, the fewest planned for"
        return f"{name} needs at most {fewest}, for {reached}."
    if unknown == "n_samples":
        return f"{name} needs at least {plan.n_samples} labelled sequences for {reached}."
    if unknown == "error":
        return f"{name} reaches {reached} with {plan.n_samples} labelled sequences."
    strengths = "a signal of" if plan.n_tokens else "all strengths multiplied by"
    conditions = {
        "dim": f"at most {plan.dim} features per token",
        "n_tokens": f"at most {plan.n_tokens} tokens per sequence",
        "signal": f"{strengths} at least {number(plan.signal)}",
    }
    return f"{name} reaches {reached} with {conditions[unknown]}."


def least_by_theory(plan: Any) -> str:
    """Say what no learner can do, and how far the classifier is from it, in one sentence."""
    reached = plan.aim.words(plan.target or plan.error)
    limit = f"No learner reaches {reached} with fewer than {plan.least_samples} labelled sequences"
    if plan.least_samples == plan.n_samples or plan.is_smallest or plan.model == "optimal":
        return f"{limit}."
    times = plan.n_samples / plan.least_samples
    ratio = f"{times:.2g}" if times < 10 else f"{times:,.0f}"
    return f"{limit}; {_label(plan)} takes {ratio} times as many."


def _others(plan: Any, reached: str) -> str:
    """Say how many samples the other classifiers need, those that need fewest first."""
    labels = {look(name).label: needed for name, needed in plan.others.items()}
    never = " or ".join(label for label, needed in labels.items() if needed is None)
    counts = sorted((needed, label) for label, needed in labels.items() if needed is not None)
    parts = [f"{label} needs {needed}" for needed, label in counts]
    parts += [f"no number is enough for {never}"] if never else []
    return f"For {reached} {', '.join(parts)}."


def words_by_theory(plan: Any) -> Words:
    """Return what is said of a plan by theory."""
    label, planned, kinds = plan.aim.label, plan.planned_with(), list[str]()
    if plan.n_tokens is None:
        planned["strengths ×"], kinds = planned.pop("signal"), _kinds(plan.problem)
    budget = {plan.model: plan.error, **plan.alternatives}
    curve = zip(plan.curve.values, plan.curve.errors, strict=True)
    return Words(
        [
            f"{plan.floor} This is the limit of many dimensions.",
            _others(plan, plan.aim.words(plan.target or plan.error)),
            *([f"Caution: {plan.caution}"] if plan.caution else []),
        ],
        [
            "Tokens are Gaussian noise; in a positive sequence those that carry the signal are "
            "shifted along one direction, which is not known beforehand.",
        ],
        [
            f"Planned with {_listed(planned)}.",
            *kinds,
            plan.basis,
            f"The expected {label} is a mean over studies, not a bound for one; in the limit of "
            f"many dimensions it is {number(plan.limit_error)}.",
            *([f"The settings are {_listed(plan.settings)}."] if plan.settings else []),
        ],
        {
            f"Expected {label} with the same samples": [
                ("classifier", label),
                *((name, number(value)) for name, value in budget.items()),
            ],
            f"Expected {label} against {plan.curve.quantity}": [
                (plan.curve.quantity, label, "±"),
                *((f"{x:.6g}", number(e), f"{e.uncertainty:.1g}") for x, e in curve),
            ],
        },
    )


def _kinds(population: Any) -> list[str]:
    """Return a sentence on each kind of a population, and one on its label errors."""
    lines = [
        f"{weight:.1%} of {kind.n_tokens} tokens, {kind.n_signal} with a signal of "
        f"{kind.signal:.4g}, {kind.positive_rate:.3g} positive."
        for kind, weight in zip(population.kinds, population.shares, strict=True)
    ]
    if any(population.label_errors):
        missed, false = population.label_errors
        lines.append(f"Label errors: {missed:g} of positives, {false:g} of negatives.")
    return lines


# Plans from measured performance


def answer_by_curves(plan: Any) -> str:
    """The plan in one sentence."""  # noqa: D401 (it is a property of the plan)
    reached, n, size, unit = plan.aim.words(plan.target), plan.n_samples, plan.pilot_size, plan.unit
    if n is None:
        short = "small" if plan.source == "pilot" else "short"
        return (
            f"This {plan.source} is too {short} to tell how many {unit} {reached} needs, or "
            "whether it can be reached."
        )
    low, _, high = plan.needed
    end = f"{math.ceil(high)}" if math.isfinite(high) else "unbounded"
    interval = f"(80 % interval: {math.ceil(low)} to {end})"
    if high <= size:
        return (
            f"The {size} {unit} of this {plan.source} are enough for {reached}: about {n} would do "
            f"{interval}."
        )
    more, counts = "", plan.class_counts
    rarest = min(counts, key=lambda name: counts[name], default=None)
    if plan.more and n > size and counts[rarest] <= _RARE * size:
        more = (
            f": {n - size} more, {plan.more[rarest]} of them of the rare class {rarest!r} at the "
            "pilot's rate"
        )
    return f"About {n} labelled {unit} for {reached} {interval}{more}."


def trust_in_curves(plan: Any) -> str:
    """Say how far to trust the answer; what speaks against it, if anything does."""
    return " ".join(_doubts(plan)) or "Good: the interval should hold in 8 of 10 studies."


def _doubts(plan: Any) -> Iterator[str]:
    size, high = plan.pilot_size, plan.needed[2]
    if not plan.learns:
        yield (
            f"Little: on this {plan.source} the classifier does not clearly beat chance, so the "
            "extrapolation is mostly assumption."
        )
    if not math.isfinite(high):
        yield (
            f"Only {100.0 * plan.probability(plan.farthest):.0f} % of the curves compatible with "
            f"your {plan.source} reach the target within {plan.farthest:,} {plan.unit}."
        )
    elif high > _TESTED * size:
        yield (
            f"The upper end, {high:.0f} {plan.unit}, is {high / size:.0f} times your "
            f"{plan.source}; tests of such predictions cover up to {_TESTED:.0f} times."
        )
    if plan.aim not in plan.points.metrics:
        yield (
            f"The {plan.aim.label} was not measured: it is inferred from the rest, with Gaussian "
            "scores assumed."
        )


def words_by_curves(plan: Any) -> Words:
    """Return what is said of a plan from a pilot or a learning curve."""
    counts = ", ".join(f"{count} of class {name}" for name, count in plan.class_counts.items())
    label, rows = plan.measured()
    sizes = [factor * plan.pilot_size for factor in (1, 2, 4, 8)]
    good = plan.trust.startswith("Good")
    caution = plan.trust if good else plan.trust[:1].lower() + plan.trust[1:]
    return Words(
        [f"{'Trust' if good else 'Caution'}: {caution}"],
        [
            f"Further {plan.unit} come from the same population as those of the {plan.source} and "
            "are labelled by the same rule.",
            "The scores of the classes move apart as more is learned, towards a limit that is "
            "estimated with the rest.",
        ],
        [
            f"The plan is for {plan.classifier}.",
            f"{_capital(label)}, {plan.method}{f' ({counts})' if counts else ''}.",
            "Learning curves were drawn from a prior and weighted by how well they agree; the "
            "interval holds 80 % of their weight.",
        ],
        {
            f"Measured {label}": [
                (plan.unit, "measured", "standard error"),
                *((f"{n:.0f}", f"{error:.3f}", f"{bar:.3f}") for n, error, bar in rows),
            ],
            f"Expected {plan.aim.label}": [
                (plan.unit, "10 %", "expected", "90 %"),
                *(
                    (str(n), *(f"{value:.3f}" for value in row))
                    for n, row in zip(sizes, plan.predict(sizes), strict=True)
                ),
            ],
        },
    )
