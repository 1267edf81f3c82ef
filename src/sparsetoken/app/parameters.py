"""The quantities a visitor can set: their names, limits and words, and how they are checked."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparsetoken._validation import check_choice

__all__ = ["GROUPS", "PARAMETERS", "Choice", "Number", "Values", "check_values"]

Values = dict[str, Any]


@dataclass(frozen=True)
class Number:
    """A number between two limits, which also bound what a request may cost."""

    name: str
    label: str
    symbol: str
    help: str
    low: float
    high: float
    default: float
    logarithmic: bool = False
    whole: bool = False

    def check(self, value: Any) -> float:
        """Return the value as a number of the right kind, or raise ValueError."""
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        kind = "a whole number" if self.whole else "a number"
        fits = self.low <= number <= self.high and (not self.whole or number == round(number))
        if not fits:
            given = "" if value is None else f", got {repr(value)[:40]}"
            limits = f"from {self.low:g} to {self.high:g}"
            raise ValueError(f"{self.label} ({self.name}) must be {kind} {limits}{given}")
        return int(number) if self.whole else number


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    name: str
    label: str
    help: str
    options: Mapping[str, str]
    """What may be chosen, and how it reads."""

    @property
    def default(self) -> str:
        """Return the first option."""
        return next(iter(self.options))

    def check(self, value: Any) -> str:
        """Return the value if it is an option, or raise ValueError."""
        if not isinstance(value, str):
            raise ValueError(f"{self.name} must be a word, got {repr(value)[:40]}")
        return check_choice(self.name, value[:40], tuple(self.options))


_AXES = {
    "signal": "signal θ",
    "n_tokens": "tokens L",
    "n_signal": "signal tokens R",
    "positive_rate": "positive rate π",
    "alpha": "samples per dimension α",
    "reg": "ridge λ",
}

PARAMETERS: dict[str, Number | Choice] = {
    parameter.name: parameter
    for parameter in (
        Number(
            "n_tokens",
            "Sequence length",
            "L",
            "Tokens in a sequence.",
            1,
            1000,
            10,
            logarithmic=True,
            whole=True,
        ),
        Number(
            "n_signal",
            "Signal tokens",
            "R",
            "How many tokens of a positive sequence carry the signal; at most L.",
            1,
            50,
            1,
            whole=True,
        ),
        Number(
            "signal",
            "Signal strength",
            "θ",
            "Shift of a signal token, in standard deviations of the noise.",
            0.0,
            15.0,
            5.0,
        ),
        Number(
            "positive_rate", "Positive rate", "π", "Share of positive sequences.", 0.01, 0.99, 0.5
        ),
        Choice(
            "loss",
            "Loss",
            "What training minimises.",
            {"logistic": "logistic", "square": "square", "hinge": "hinge"},
        ),
        Number(
            "reg",
            "Ridge",
            "λ",
            "Penalty on the readout's weights.",
            1e-6,
            100.0,
            0.01,
            logarithmic=True,
        ),
        Choice(
            "quantity",
            "Shown",
            "What the curves show.",
            {"test_error": "test error", "train_loss": "training loss", "auc": "AUC"},
        ),
        Number(
            "target",
            "Target error",
            "",
            "The test error you would like to reach.",
            0.001,
            0.45,
            0.05,
            logarithmic=True,
        ),
        Number(
            "alpha",
            "Samples n/d",
            "α",
            "Labelled sequences per feature of a token.",
            0.1,
            100.0,
            2.0,
            logarithmic=True,
        ),
        Number(
            "alpha_max",
            "Curves up to",
            "α",
            "Where the horizontal axis ends, in samples per dimension.",
            1.0,
            100.0,
            20.0,
            logarithmic=True,
        ),
        Choice(
            "query_by",
            "Samples for the query",
            "Attention learns its query on some samples and its readout on the others.",
            {"split": "a share of all", "alpha0": "a fixed number"},
        ),
        Number(
            "split",
            "Share for the query",
            "",
            "Share of the samples that teach the query; the rest train the readout.",
            0.05,
            0.95,
            0.5,
        ),
        Number(
            "alpha0",
            "Query samples",
            "α₀",
            "Sequences that teach the query, per dimension.",
            0.05,
            1000.0,
            2.0,
            logarithmic=True,
        ),
        Number(
            "beta",
            "Inverse temperature",
            "β",
            "Multiplies the scores in the softmax.",
            0.1,
            10.0,
            1.0,
            logarithmic=True,
        ),
        Number(
            "lr_readout",
            "Readout step",
            "η_w",
            "Learning rate of the readout in the first gradient step.",
            0.01,
            100.0,
            1.0,
            logarithmic=True,
        ),
        Number(
            "lr_bias",
            "Bias step",
            "η_b",
            "Learning rate of the bias; one that does not suit π turns the query around.",
            0.0,
            10.0,
            1.0,
        ),
        Number(
            "lr_query",
            "Query step",
            "η_q",
            "Learning rate of the query; sets how sharp attention gets.",
            0.1,
            1000.0,
            20.0,
            logarithmic=True,
        ),
        Choice("x_axis", "Across", "Horizontal axis.", _AXES),
        Choice("y_axis", "Up", "Vertical axis.", {"alpha": _AXES["alpha"], **_AXES}),
        Choice(
            "capacity_axis",
            "Against",
            "Horizontal axis.",
            {name: _AXES[name] for name in ("signal", "n_tokens", "n_signal", "positive_rate")},
        ),
        Number(
            "dim",
            "Features per token",
            "d",
            "Dimension of what is drawn.",
            20,
            400,
            200,
            logarithmic=True,
            whole=True,
        ),
        Number(
            "trials",
            "Trials",
            "",
            "Data sets drawn for each simulated point.",
            2,
            16,
            4,
            whole=True,
        ),
        Number("seed", "Draw", "", "Number of the random draw.", 0, 9999, 0, whole=True),
        Number(
            "plan_dim",
            "Features per token",
            "d",
            "Dimension of your tokens.",
            10,
            5000,
            384,
            logarithmic=True,
            whole=True,
        ),
        Choice(
            "plan_model",
            "Classifier",
            "What the plan is for.",
            {
                "two-step": "two-step",
                "pooled": "pooled",
                "vectorized": "vectorized",
                "best": "the best of the three",
            },
        ),
    )
}


GROUPS: dict[str, tuple[str, ...]] = {
    "View": (
        *("quantity", "target", "alpha_max", "x_axis", "y_axis", "capacity_axis"),
        *("plan_model", "plan_dim"),
    ),
    "Problem": ("n_tokens", "n_signal", "signal", "positive_rate"),
    "Training": ("alpha", "query_by", "split", "alpha0", "loss", "reg"),
    "Two steps": ("beta", "lr_readout", "lr_bias", "lr_query"),
    "Random draws": ("dim", "trials", "seed"),
}


def check_values(given: Any, names: tuple[str, ...]) -> Values:
    """Return a checked value for each of the names, its default where none is given.

    Raises ValueError for anything else than a mapping of known names to values within the limits.
    """
    if not isinstance(given, Mapping):
        raise ValueError(f"values must be names with values, got {type(given).__name__}")
    unknown = [name for name in given if name not in PARAMETERS]
    if unknown:
        raise ValueError(f"unknown value {str(unknown[0])[:40]!r}")
    values: Values = {
        name: PARAMETERS[name].check(given.get(name, PARAMETERS[name].default)) for name in names
    }
    if values.get("n_signal", 0) > values.get("n_tokens", math.inf):
        raise ValueError(
            f"Signal tokens (n_signal) must be at most the {values['n_tokens']} tokens of a "
            f"sequence, got {values['n_signal']}"
        )
    return values
