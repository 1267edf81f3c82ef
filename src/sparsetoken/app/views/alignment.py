"""Alignment: what two gradient steps teach the query, and the tokens that it then looks at."""

from typing import Any

import numpy as np

from sparsetoken.app import figures as fig
from sparsetoken.app.parameters import Values, make_problem, slider, training_settings
from sparsetoken.app.view import Line, Send, View
from sparsetoken.app.words import per_cent, plural, samples
from sparsetoken.experiments.token_weights import draw_token_weights
from sparsetoken.theory import alignment, best_bias_rate
from sparsetoken.vocabulary import MEASURED, SPEAKS, group

_LINE = 49  # alphas
_MOST_SAMPLES = 200_000  # for the drawn query
_FACTS = ("cosine", "sharpness", "query_norm", "readout_norm", "readout_overlap", "bias")
_PYTHON = """
print(st.theory.alignment(problem, alpha={alpha0}, **training))

from sparsetoken.experiments.token_weights import draw_token_weights

n_samples, dim = round({alpha0} * {dim}), {dim}
weights, carries_signal = draw_token_weights(
    problem, n_samples, dim, n_sequences=1, random_state={random_state}, **training
)
print(carries_signal[0, 0])  # a positive sequence; then its weights, and those of a negative one
print(weights[:, 0].round(4))
"""


def draw(values: Values, send: Send) -> None:
    """Draw the cosine against samples, and the attention in two sequences."""
    problem, settings = make_problem(values), training_settings(values)
    now = alignment(problem, alpha=values["alpha0"], **settings)
    alphas = [float(f"{a:.6g}") for a in np.geomspace(*slider("alpha0"), _LINE)]
    cosines = [alignment(problem, alpha=alpha, **settings).cosine for alpha in alphas]
    color, meta = fig.color_of("two-step"), {"model": "two-step"}  # so that it can be pinned
    line = fig.curve("cosine", alphas, cosines, color, meta=meta)
    x = fig.quantity_axis("alpha0", slider("alpha0"))
    y = fig.axis("cosine with the signal, γ", (-1.05, 1.05))
    marks = fig.mark("now", x=values["alpha0"]), fig.mark("below: away from the signal", y=0.0)
    facts = {MEASURED[name].axis: f"{getattr(now, name) + 0.0:.4g}" for name in _FACTS}
    tokens = _tokens(values)
    send(
        Line(
            figures=[fig.figure(x, y, [line], marks), *tokens["figures"]],
            sentence=f"{_sentence(values, now)} {tokens['sentence']}",
            facts=facts | tokens["facts"],
            table={"alpha0": alphas, "cosine": cosines} | tokens["table"],
        )
    )


def _tokens(values: Values) -> Line:
    """Return the weights that a drawn query gives the tokens of two drawn sequences."""
    n_tokens, n_signal, dim = values["n_tokens"], values["n_signal"], values["dim"]
    n_samples = min(max(2, round(values["alpha0"] * dim)), _MOST_SAMPLES)
    random = {"n_sequences": 1, "random_state": values["random_state"]}
    weights, carries_signal = draw_token_weights(
        make_problem(values), n_samples, dim, **random, **training_settings(values)
    )
    (positive,), (negative,) = weights
    signal = carries_signal[0, 0]
    top = 1.02 * max(float(weights.max()), 2.0 / n_tokens)  # one axis for both sequences
    weight = float(positive[signal].sum())
    return Line(
        figures=[
            _bars("token of a positive sequence", positive, signal, top),
            _bars("token of a negative sequence", negative, np.zeros_like(signal), top),
        ],
        sentence=(
            f"A query drawn in {dim} dimensions gives {per_cent(weight)} of its weight to the "
            f"{plural(n_signal, 'signal token')} of the sequence below; averaging would give "
            f"{per_cent(n_signal / n_tokens)}."
        ),
        facts={"weight on signal tokens": f"{weight:.4f}"},
        table={
            "token": list(range(n_tokens)),
            "carries_signal": signal.tolist(),
            "weight_in_positive": positive.tolist(),
            "weight_in_negative": negative.tolist(),
        },
    )


def _bars(title: str, weights: Any, signal: Any, top: float) -> fig.Figure:
    """Return the weights of a sequence's tokens as bars."""
    kinds = {"signal tokens": (SPEAKS["for"], signal), "noise tokens": (fig.SOFT, ~signal)}
    bars = [
        {"type": "bar", "name": name, "width": 0.85, "marker": {"color": color}}
        | {"x": np.flatnonzero(mask).tolist(), "y": weights[mask].tolist()}
        for name, (color, mask) in kinds.items()
        if mask.any()
    ]
    x = fig.axis(title, (-0.6, weights.size - 0.4)) | ({"dtick": 1} if weights.size <= 10 else {})
    before = fig.mark("before: all alike", y=1.0 / weights.size)
    return fig.figure(x, fig.axis("attention weight", (0.0, top)), bars, [before])


def _sentence(values: Values, now: Any) -> str:
    if values["signal"] == 0 or values["n_signal"] == values["n_tokens"]:
        return "The query has nothing to find: all tokens of a sequence are alike."
    towards = "away from" if now.anti_aligned else "towards"
    result = (
        f"Two steps on {samples(values['alpha0'], values['features'])} turn the query {towards} "
        f"the signal, to a cosine of {now.cosine:.3f}"
    )
    if now.anti_aligned:
        rates = {name: values[name] for name in ("loss", "lr_readout")}
        best = float(best_bias_rate(make_problem(values), alpha=values["alpha0"], **rates))
        most = slider("lr_bias")[1]
        step = f"of {best:.3g} would be best" if best <= most else "above those shown would help"
        return f"{result}: it attends to the wrong tokens; a bias step {step}."
    if now.misalignment < 0.1 * values["alpha0"]:
        return f"{result}; twice the samples would halve what is missing to 1."
    return f"{result}; more samples, or a bias step that fits the positive rate, would help."


_QUESTION = "What do two gradient steps teach the query, and which tokens does it look at?"
_CONTROLS = ("features", "Problem", "alpha0", "loss", *group("two steps"), "dim", "random_state")
VIEW = View("alignment", "Alignment", _QUESTION, _CONTROLS, _PYTHON, draw)
