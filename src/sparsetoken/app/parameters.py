"""What a visitor can set: quantities of the vocabulary, and a few of the page."""

from dataclasses import asdict, replace
from typing import Any

from sparsetoken.losses import loss_names
from sparsetoken.models import DEFAULT, look, names
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.vocabulary import MEASURED, PARAMETERS, Quantity, group

Values = dict[str, Any]

_AXES = (*group("problem"), "alpha", "reg")
_LABELS = {"best": "the best of the three", "training": "training, step by step"}
_LABELS |= {"fresh": "fresh at every step", "reused": "the same at every step"}
_LABELS |= {"online": "one sample at a time"}
# The page has its own default where the vocabulary has none or one that takes too long; training
# begins where the curves are smooth.
_DEFAULTS = {"alpha": 2.0, "alpha0": 2.0, "dim": 200, "trials": 4, "steps": 20, "batches": "online"}

_OF_THE_PAGE = (
    Quantity("alpha_max", "curves up to", "α", "Where the horizontal axis ends.", default=20.0,
             slider=(1.0, 100.0), logarithmic=True),
    Quantity("features", "features per token", "d",
             "Dimension of your tokens; it gives the number of samples n beside α.", default=384,
             whole=True, slider=(10, 5000), logarithmic=True),
    Quantity("quantity", "shown", "", "What the curves show.", default="test_error",
             options=("test_error", "train_loss", "auc", "recall", "training")),
    Quantity("x_axis", "across", "", "Horizontal axis.", default="signal", options=_AXES),
    Quantity("y_axis", "up", "", "Vertical axis.", default="alpha", options=_AXES),
    Quantity("capacity_axis", "against", "", "Horizontal axis.", default="signal",
             options=group("problem")),
    Quantity("plan_model", "classifier", "", "What the plan is for.", default=DEFAULT,
             options=(DEFAULT, "two-step", "pooled", "vectorized", "best", "optimal")),
    *(
        replace(PARAMETERS[f"lr_{name}"], name=f"step_{name}", default=default,
                help="The learning rate of every step.")
        for name, default in (("readout", 2.0), ("bias", 2.0), ("query", 1.0))
    ),
)  # fmt: skip
_STEP_RATES = ("step_readout", "step_bias", "step_query")

GROUPS: dict[str, tuple[str, ...]] = {
    "View": (
        *("quantity", "error", "fpr", "x_axis", "y_axis", "capacity_axis", "plan_model"),
        *("alpha_max", "features"),
    ),
    "Problem": group("problem"),
    "Training": ("alpha", "split", "alpha0", "loss", "reg", "steps", "batches"),
    "Learning rates": (*group("two steps"), *_STEP_RATES),
    "Random draws": ("dim", "trials", "random_state"),
}
"""The headings of the controls, and what stands under each."""

DEPENDENT: dict[str, tuple[str, str, bool]] = {
    "error": ("quantity", "test_error", True),
    "fpr": ("quantity", "recall", True),
    **dict.fromkeys(("alpha", "steps", "batches", *_STEP_RATES), ("quantity", "training", True)),
    **dict.fromkeys(
        ("alpha_max", "split", "lr_readout", "lr_bias", "lr_query", "dim", "trials"),
        ("quantity", "training", False),
    ),
}
"""Controls that matter only if another one of the view has some value, or has not."""


def _control(name: str) -> Quantity:
    control = (PARAMETERS | {quantity.name: quantity for quantity in _OF_THE_PAGE})[name]
    if name == "loss":
        control = replace(control, options=loss_names())
    if name == "dim":  # the page has "features per token, d" of the visitor's own data too
        control = replace(control, label="simulated dimension", symbol="")
    if control.slider:  # its ends bound what a request may cost
        low, high = control.slider
        control = replace(control, low=low, high=high, above=False, infinite=False)
    return replace(control, default=_DEFAULTS.get(name, control.default))


CONTROLS = {name: _control(name) for names in GROUPS.values() for name in names}
"""Every control of the page, with the ends of its slider as limits."""

PRESETS: dict[str, Values] = {
    "slides": {"n_tokens": 500, "n_signal": 10, "signal": 3.0, "positive_rate": 0.4}
    | {"lr_bias": 4.3, "lr_query": 100.0, "beta": 5.0, "reg": 1e-3, "features": 384},
    "activation probe": {"n_tokens": 100, "n_signal": 3, "signal": 4.0, "positive_rate": 0.3}
    | {"lr_bias": 4.4, "lr_query": 20.0, "beta": 5.0, "reg": 1e-3, "features": 2000},
    "rare events": {"n_tokens": 20, "n_signal": 1, "signal": 6.0, "positive_rate": 0.02}
    | {"lr_bias": 8.1, "lr_query": 500.0, "beta": 5.0, "reg": 1e-4, "features": 64}
    | {"alpha": 50.0, "alpha0": 25.0, "alpha_max": 100.0, "quantity": "recall"},
}
"""Settings to begin with, by what the sequences are; the rates let attention see the signal."""


def describe(control: Quantity) -> dict[str, Any]:
    """Return what the page needs to show a control."""
    labels = {name: quantity.axis for name, quantity in (PARAMETERS | MEASURED).items()}
    labels |= {name: look(name).label for name in names()} | _LABELS
    options = {name: labels.get(name, name) for name in control.options}
    limits = {} if control.slider else {"low": None, "high": None}  # JSON has no infinity
    return asdict(control) | {"options": options} | limits


def check(control: Quantity, value: Any) -> Any:
    """Return the value of a control in the right type, or raise ValueError with its label."""
    return replace(control, name=control.label[:1].upper() + control.label[1:]).check(value)


def slider(name: str) -> tuple[float, float]:
    """Return the ends of a control's slider."""
    return CONTROLS[name].low, CONTROLS[name].high


def select(values: Values, *groups: str) -> Values:
    """Return the values whose quantities belong to some groups of the vocabulary."""
    return {name: values[name] for name in group(*groups) if name in values}


def training_settings(values: Values) -> Values:
    """Return the rates of the two steps, and the loss."""
    return select(values, "two steps") | {"loss": values["loss"]}


def make_problem(values: Values) -> SparseTokenProblem:
    """Return the problem of a visitor."""
    return SparseTokenProblem(**select(values, "problem"))
