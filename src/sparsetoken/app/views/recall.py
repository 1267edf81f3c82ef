"""Recall: how many positives are found when few negatives may raise an alarm."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sparsetoken.app.content import Content, Line, View, axis, by_column, model_lines, panel_against
from sparsetoken.app.parameters import Values, slider
from sparsetoken.app.scripts import ATTENTION, script, theory_command
from sparsetoken.app.views.learning import curve, models
from sparsetoken.app.words import per_cent, samples
from sparsetoken.models import look

_PYTHON = f"""{ATTENTION}\
print(attention.recall(fpr={{fpr!r}}))
for model in {{linear!r}}:
    result = st.theory.risk(problem, model, alpha=alpha, reg=reg, loss=training["loss"])
    print(result.recall(fpr={{fpr!r}}))
"""


def draw(values: Values) -> Iterator[Content]:
    """Draw recall against the false-positive rate, for few points and then for more."""
    fpr = values["fpr"]
    for step, size in enumerate((2, 41)):
        grid = np.geomspace(*slider("fpr"), size)
        rates = sorted({fpr, *(float(f"{rate:.6g}") for rate in grid)})
        risks = {
            model: curve(values, model, [values["alpha"]], step)[0] for model in models(values)
        }
        rows = [(model, x, risk.recall(fpr=x)) for model, risk in risks.items() for x in rates]
        at_fpr = {model: recall for model, x, recall in rows if x == fpr}
        chance = Line(name="chance", look="dot", x=rates, y=rates)
        y = axis("recall", ends=(0.0, 1.02))
        facts = {f"recall of {look(m).label}": _text(recall) for m, recall in at_fpr.items()}
        if step:
            facts |= {f"AUC of {look(m).label}": _text(risk.auc) for m, risk in risks.items()}
        yield Content(
            panels=[panel_against("fpr", values, y, [*model_lines(rows), chance])],
            sentence=_sentence(values, at_fpr),
            facts=facts,
            table=by_column(("model", "fpr", "recall"), rows),
            python=script(values, _PYTHON, linear=models(values)[1:]),
            command=theory_command("auc", values, "alpha", "split"),
        )


def _text(number: Any) -> str:
    return f"{number:.4f} ± {number.uncertainty:.1g}"


def _sentence(values: Values, at_fpr: dict[str, Any]) -> str:
    rate, fpr = values["positive_rate"], values["fpr"]
    alarms = rate * at_fpr["two-step"] + (1.0 - rate) * fpr
    right = rate * at_fpr["two-step"] / alarms if alarms else 0.0
    return (
        f"With {samples(values['alpha'], values['features'])} and alarms for {per_cent(fpr)} of "
        f"the negatives, attention finds {per_cent(at_fpr['two-step'])} of the positives and "
        f"pooling {per_cent(at_fpr['pooled'])}; {per_cent(right)} of attention's alarms are right."
    )


VIEW = View(
    "recall",
    "Recall",
    "How many positives are found at a given rate of false alarms?",
    ("fpr", "features", "Problem", "alpha", "split", "loss", "reg", "Learning rates"),
    draw,
)
