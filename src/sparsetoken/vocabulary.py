"""Every quantity once: its name, symbol, words, range and default.

A symbol, a label, a limit or a default is changed here and nowhere else. A model, a loss or a
pooling is described by its own class. Nothing heavy is imported: the command line's help needs
these words before any number is computed.
"""

import difflib
import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sparsetoken._validation import check_choice, check_count, check_flag, check_real

__all__ = [
    "COLORS",
    "MARKERS",
    "MEASURED",
    "PARAMETERS",
    "SPEAKS",
    "Quantity",
    "check_known",
    "check_parameters",
    "group",
]


@dataclass(frozen=True)
class Quantity:
    """A quantity of the model, of training or of a result.

    Parameters
    ----------
    name, label, symbol, help : str
        Its name in Python and commands, in a sentence, in the theory, and what it is.
    low, high : float
        The values it may take; ``above`` excludes ``low``, ``infinite`` includes infinity.
    default : object
        What a command, a sweep or a slider uses unless told otherwise; None for none.
    whole, logarithmic : bool
        Whether it counts something, and whether axes and sliders are logarithmic.
    options : tuple of str
        What may be chosen, for a quantity that is a word.
    slider : tuple of float or None
        Where a slider of the explorer begins and ends; this also bounds what a request may cost.
    group : str
        What it belongs to.
    named : bool
        Whether it is a name, or a table, that whoever uses it checks.

    Examples
    --------
    >>> from sparsetoken.vocabulary import PARAMETERS
    >>> signal = PARAMETERS["signal"]
    >>> signal.axis
    'signal strength, θ'
    >>> signal.check(-1.0)
    Traceback (most recent call last):
    ...
    ValueError: signal must be a finite number in [0, inf), got -1.0
    """

    name: str
    label: str
    symbol: str
    help: str
    low: float = -math.inf
    high: float = math.inf
    default: Any = None
    whole: bool = False
    above: bool = False
    infinite: bool = False
    options: tuple[str, ...] = ()
    slider: tuple[float, float] | None = None
    logarithmic: bool = False
    group: str = ""
    named: bool = False

    @property
    def axis(self) -> str:
        """Return the label of an axis."""
        return f"{self.label}, {self.symbol}" if self.symbol else self.label

    @property
    def short(self) -> str:
        """Return the symbol, or the label where there is none."""
        return self.symbol or self.label

    def check(self, value: Any) -> Any:
        """Return ``value`` in the right type, or raise ValueError."""
        if isinstance(self.default, bool):
            return check_flag(self.name, value)
        if self.options:
            return check_choice(self.name, value, self.options)
        if self.whole:
            most = None if math.isinf(self.high) else int(self.high)
            return check_count(self.name, value, int(self.low), most)
        if self.named:
            return value  # checked by whoever looks it up
        return check_real(
            self.name, value, self.low, self.high, above=self.above, infinite=self.infinite
        )


_ALPHA: dict[str, Any] = {"low": 0.0, "above": True, "infinite": True, "logarithmic": True}
_RATE: dict[str, Any] = {"low": 0.0, "group": "two steps"}

PARAMETERS: dict[str, Quantity] = {
    q.name: q
    for q in (
        Quantity("n_tokens", "sequence length", "L", "Tokens in a sequence.", 1, default=10,
                 whole=True, slider=(1, 1000), logarithmic=True, group="problem"),
        Quantity("n_signal", "signal tokens", "R", "Tokens of a positive sequence with a signal.",
                 1, default=1, whole=True, slider=(1, 50), group="problem"),
        Quantity("signal", "signal strength", "θ",
                 "Shift of a signal token, in standard deviations of the noise.", 0.0, default=5.0,
                 slider=(0.0, 15.0), group="problem"),
        Quantity("positive_rate", "positive rate", "π", "Fraction of sequences that are positive.",
                 0.0, 1.0, default=0.5, slider=(0.01, 0.99), group="problem"),
        Quantity("contiguous", "signal tokens in a run", "",
                 "Whether the signal tokens are neighbors.", 0, 1, default=False,
                 group="positions"),
        Quantity("n_kinds", "kinds of signal", "K",
                 "Kinds of signal among the positives, each with a direction of its own.", 1,
                 default=1, whole=True, slider=(1, 10), group="problem"),
        Quantity("kinds", "kinds of sequences", "",
                 "Kinds of sequences, each with probability, n_tokens, n_signal and signal.",
                 group="population", named=True),
        Quantity("label_errors", "label errors", "ε",
                 "Chance that a positive is recorded as negative, and the reverse: two numbers.",
                 group="population", named=True),
        Quantity("model", "model", "", "The classifier.", default="two-step", group="model",
                 named=True),
        Quantity("n_samples", "samples", "n", "Number of labelled sequences.", 1, whole=True,
                 logarithmic=True, group="plan"),
        Quantity("dim", "dimension", "d", "Features per token.", 1, default=1000, whole=True,
                 slider=(20, 400), logarithmic=True, group="simulation"),
        Quantity("alpha", "samples per dimension", "α",
                 "Labelled sequences per feature of a token.", **_ALPHA, slider=(0.1, 100.0),
                 group="samples"),
        Quantity("split", "query fraction", "",
                 "Fraction of the samples that teach the query; the others train the readout.", 0.0,
                 1.0, default=0.5, above=True, slider=(0.05, 0.95), group="samples"),
        Quantity("alpha0", "query samples per dimension", "α₀",
                 "Samples per dimension that teach the query.", **_ALPHA, slider=(0.05, 1000.0),
                 group="samples"),
        Quantity("alpha1", "readout samples per dimension", "α₁",
                 "Samples per dimension that train the readout.", **_ALPHA, slider=(0.05, 1000.0),
                 group="samples"),
        Quantity("unlabelled", "unlabelled samples per dimension", "αᵤ",
                 "Further sequences per feature whose label is not recorded, for the best learner.",
                 0.0, default=0.0, infinite=True, group="samples"),
        Quantity("reg", "ridge", "λ", "Penalty on the weights of the readout.", 0.0, default=1e-2,
                 slider=(1e-6, 100.0), logarithmic=True, group="training"),
        Quantity("loss", "loss", "", "What training minimizes: logistic, square or hinge.",
                 default="logistic", group="training", named=True),
        Quantity("beta", "inverse temperature", "β", "Multiplies the scores of the tokens.",
                 default=1.0, slider=(0.1, 10.0), logarithmic=True, **_RATE),
        Quantity("lr_readout", "readout learning rate", "η_w",
                 "Learning rate of the readout in the first gradient step.", default=1.0,
                 slider=(0.01, 100.0), logarithmic=True, **_RATE),
        Quantity("lr_bias", "bias learning rate", "η_b",
                 "Learning rate of the bias; if it does not match π, the query can turn away.",
                 default=1.0, slider=(0.0, 10.0), **_RATE),
        Quantity("lr_query", "query learning rate", "η_q",
                 "Learning rate of the query; it sets how sharp attention gets.", default=20.0,
                 slider=(0.1, 1000.0), logarithmic=True, **_RATE),
        Quantity("cosine", "cosine between query and signal", "γ",
                 "Cosine of the angle between query and signal.", -1.0, 1.0, slider=(-1.0, 1.0),
                 group="query"),
        Quantity("sharpness", "sharpness", "κ",
                 "Length of the query times the inverse temperature.", 0.0, slider=(0.01, 100.0),
                 logarithmic=True, group="query"),
        Quantity("center", "centered second step", "",
                 "Subtract the mean slope in the query's step, which long sequences need.",
                 0, 1, default=False, group="training"),
        Quantity("steps", "steps", "T", "Gradient steps of all parameters together.", 1, default=10,
                 whole=True, slider=(2, 30), group="training"),
        Quantity("batches", "samples of a step", "",
                 "Samples of each step: fresh, reused (the same ones), or online (one by one).",
                 default="fresh", options=("fresh", "reused", "online"), group="training"),
        Quantity("start", "start of the iteration", "",
                 "Where the best learner's iteration begins: nothing, or informed (at the truth).",
                 options=("nothing", "informed"), group="training"),
        Quantity("error", "target error", "", "The test error to reach.", 0.0, 1.0, default=0.05,
                 above=True, slider=(0.001, 0.45), logarithmic=True, group="plan"),
        Quantity("fpr", "false-positive rate", "", "Fraction of negatives that may raise an alarm.",
                 0.0, 1.0, default=0.01, above=True, slider=(0.001, 0.5), logarithmic=True,
                 group="plan"),
        Quantity("n_points", "quadrature points", "",
                 "Points per class for the law of the features.", 256, default=16384, whole=True,
                 logarithmic=True, group="numerics"),
        Quantity("trials", "trials", "", "Data sets drawn for each simulated number.", 2, default=8,
                 whole=True, slider=(2, 16), group="simulation"),
        Quantity("random_state", "seed", "", "Seed of the random draws.", 0, default=0, whole=True,
                 slider=(0, 9999), group="simulation"),
    )
}  # fmt: skip
"""What can be set, by name."""

MEASURED: dict[str, Quantity] = {
    q.name: q
    for q in (
        Quantity("test_error", "test error", "",
                 "Probability of a wrong label on a new sequence.", 0.0, 1.0, logarithmic=True,
                 group="trained"),
        Quantity("train_loss", "training loss", "",
                 "Mean loss on the training samples.", 0.0, logarithmic=True, group="trained"),
        Quantity("train_error", "training error", "",
                 "Fraction of training samples labelled wrongly.", 0.0, 1.0, group="trained"),
        Quantity("test_loss", "test loss", "",
                 "Mean loss on new sequences.", 0.0, logarithmic=True, group="trained"),
        Quantity("auc", "AUC", "",
                 "Probability that a positive scores above a negative.", 0.0, 1.0, group="trained"),
        Quantity("recall", "recall", "",
                 "Fraction of positives found at a fixed false-positive rate.", 0.0, 1.0,
                 group="trained"),
        Quantity("cosine", "cosine between query and signal", "γ",
                 "Cosine of the angle between query and signal.", -1.0, 1.0, group="query"),
        Quantity("sharpness", "sharpness", "κ",
                 "Length of the query times the inverse temperature.", 0.0, group="query"),
        Quantity("query_norm", "length of the query", "‖q‖",
                 "Length of the query after the second step.", 0.0, group="query"),
        Quantity("query_overlap", "overlap of query and signal", "⟨q, ξ⟩",
                 "Scalar product of query and signal direction.", group="query"),
        Quantity("readout_norm", "length of the readout", "‖w‖",
                 "Length of the readout after the first step.", 0.0, group="query"),
        Quantity("readout_overlap", "overlap of readout and signal", "⟨w, ξ⟩",
                 "Scalar product of readout and signal direction, after the first step.",
                 group="query"),
        Quantity("bias", "bias", "b", "Bias after the first step.", group="query"),
        Quantity("misalignment", "misalignment constant", "C",
                 "C of cosine = 1 − C/α₀ + …: how fast more samples turn the query.", 0.0,
                 group="query"),
        Quantity("information_threshold", "samples that tell the direction", "α",
                 "Samples per dimension from which the best learner knows the direction well.",
                 0.0, logarithmic=True, group="thresholds"),
        Quantity("iteration_threshold", "samples from which iteration learns", "α",
                 "Samples per dimension from which a quick iteration finds the direction.",
                 0.0, logarithmic=True, group="thresholds"),
        Quantity("capacity", "capacity", "α*",
                 "Samples per dimension that can be separated perfectly.", 0.0, group="capacity"),
        Quantity("separable", "separable fraction", "",
                 "Fraction of training sets that can be separated perfectly.", 0.0, 1.0,
                 group="capacity"),
        Quantity("oracle_error", "least possible error", "",
                 "Error of the best weights, chosen with the signal known.",
                 0.0, 1.0, logarithmic=True, group="oracle"),
        Quantity("required_signal", "required signal", "θ",
                 "Signal at which the best weights reach the target error.", 0.0, logarithmic=True,
                 group="oracle"),
    )
}  # fmt: skip
"""What can be computed, by name."""

# Okabe and Ito's colors, told apart by every kind of color vision, the darkest first.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SPEAKS = {"for": COLORS[0], "against": COLORS[1]}  # tokens, by what they say of a class


def group(*names: str) -> tuple[str, ...]:
    """Return the names of the parameters of some groups, in the order of this module."""
    return tuple(q.name for q in PARAMETERS.values() if q.group in names)


def check_known(what: str, name: Any, names: Iterable[str]) -> str:
    """Return ``name`` if it is one of the names, or raise ValueError with the nearest of them."""
    names = list(names)
    if name in names:
        return str(name)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(names)}"
    raise ValueError(f"unknown {what} {name!r}{hint}")


def check_parameter(what: str, name: Any) -> str:
    """Return the name of a parameter, or raise ValueError with the one whose symbol it spells."""
    for entry in PARAMETERS.values():
        if name in (entry.symbol, _spelled(entry.symbol)) and name not in PARAMETERS:
            hint = f"did you mean {entry.name!r}, {entry.symbol}?"
            raise ValueError(f"unknown {what} {name!r}; {hint}")
    return check_known(what, name, PARAMETERS)


def _spelled(symbol: str) -> str:
    """Return the name of a Greek letter in the Latin alphabet."""
    letter = unicodedata.name(symbol, "") if len(symbol) == 1 else ""
    return letter.removeprefix("GREEK SMALL LETTER ").lower().replace("lamda", "lambda")


def check_parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters in the order and types of this module, or raise ValueError."""
    for name in values:
        check_parameter("value", name)
    return {name: q.check(values[name]) for name, q in PARAMETERS.items() if name in values}
