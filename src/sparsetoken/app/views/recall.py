"""Recall: how many positives are found when few negatives may raise an alarm."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sparsetoken.app.content import Content, Line, Mark, Panel, Values, View, axis, model_line
from sparsetoken.app.parameters import controls, slider
from sparsetoken.app.scripts import attention_code, theory_command
from sparsetoken.app.views.learning import curve, models
from sparsetoken.app.words import per_cent, samples
from sparsetoken.vocabulary import MEASURED, MODELS, PARAMETERS


def draw(values: Values) -> Iterator[Content]:
    """Draw recall against the false-positive rate, for few points and then for more."""
    fpr = values["fpr"]
    for step, size in enumerate((2, 41)):
        grid = np.geomspace(*slider("fpr"), size)
        rates = sorted({fpr, *(float(f"{rate:.6g}") for rate in grid)})
        risks = {
            model: curve(values, model, [values["alpha"]], step)[1][0] for model in models(values)
        }
        recalls = {m: [risk.recall(fpr=rate) for rate in rates] for m, risk in risks.items()}
        at_fpr = {model: numbers[rates.index(fpr)] for model, numbers in recalls.items()}
        chance = Line(name="chance", look="dot", x=rates, y=rates)
        yield Content(
            panels=[
                Panel(
                    x=axis(PARAMETERS["fpr"]),
                    y=axis(MEASURED["recall"], ends=(0.0, 1.02)),
                    curves=[*(model_line(m, rates, y) for m, y in recalls.items()), chance],
                    marks=[Mark(text="now", x=fpr)],
                )
            ],
            sentence=_sentence(values, at_fpr),
            facts={f"recall of {MODELS[model].label}": _text(at_fpr[model]) for model in at_fpr}
            | {f"AUC of {MODELS[m].label}": _text(r.auc) for m, r in risks.items() if step},
            table={"fpr": rates} | recalls,
            python=_python(values),
            command=theory_command("auc", values, "alpha", "split"),
            more=not step,
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


def _python(values: Values) -> str:
    return (
        attention_code(values)
        + f"print(attention.recall(fpr={values['fpr']!r}))\n"
        + f"for model in {models(values)[1:]!r}:\n"
        + "    result = st.theory.risk(problem, model, alpha=alpha, reg=reg, "
        + 'loss=training["loss"])\n'
        + f"    print(result.recall(fpr={values['fpr']!r}))\n"
    )


VIEW = View(
    "recall",
    "Recall",
    "How many positives are found at a given rate of false alarms?",
    controls("fpr", "features", "Problem", "alpha", "split", "loss", "reg", "Learning rates"),
    draw,
)
