"""Attention map: two drawn sequences, and the weights that the trained query gives their tokens."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import sparsetoken as st
from sparsetoken.app.content import Content, Mark, Panel, PanelAxis, View, weight_panel
from sparsetoken.app.parameters import Values, select
from sparsetoken.app.scripts import keywords, script, theory_command
from sparsetoken.app.words import per_cent, plural
from sparsetoken.experiments.token_weights import draw_token_weights
from sparsetoken.vocabulary import MEASURED, SPEAKS, group

_MOST_SAMPLES = 200_000  # for the query
_PYTHON = """\
rng = np.random.default_rng({random_state})
learned = st.sampling.sample_query(
    problem, {n_samples}, {dim}, random_state=rng,
    loss=st.losses.get_loss({loss!r}), {rates},
)
for rate in (1.0, 0.0):  # a positive sequence, then a negative one
    one = st.SparseTokenProblem(**{problem!r} | {{'positive_rate': rate}})
    X, y, truth = one.sample(
        1, {dim}, direction=learned.direction, random_state=rng, return_truth=True
    )
    weights = st.pooling.Softmax().weights(learned.beta * X @ learned.query)[0]
    print(np.round(weights, 4), truth.positions[0])
"""


def draw(values: Values) -> Iterator[Content]:
    """Draw the weights of both sequences' tokens."""
    n_tokens, n_signal, dim = values["n_tokens"], values["n_signal"], values["dim"]
    n_samples = min(max(2, round(values["alpha0"] * dim)), _MOST_SAMPLES)
    problem, rates = select(values, "problem"), select(values, "two steps")
    drawn = draw_token_weights(
        st.SparseTokenProblem(**problem),
        n_samples,
        dim,
        n_sequences=1,
        random_state=values["random_state"],
        loss=values["loss"],
        **rates,
    )
    (positive,), (negative,) = drawn.weights
    carries_signal = drawn.carries_signal[0, 0]
    cosine, weight = float(drawn.query.cosine), float(positive[carries_signal].sum())
    top = 1.02 * max(float(np.max(drawn.weights)), 2.0 / n_tokens)  # one axis for both sequences
    more = {"problem": problem, "rates": keywords(rates), "n_samples": n_samples}
    yield Content(
        panels=[
            _panel("positive", positive, carries_signal, top),
            _panel("negative", negative, np.zeros(n_tokens, dtype=bool), top),
        ],
        sentence=(
            f"After two steps on {plural(n_samples, 'sample')} the query has a cosine of "
            f"{cosine:.2f} with the signal and gives {per_cent(weight)} of the weight to the "
            f"{plural(n_signal, 'signal token')} of the positive sequence; averaging would give "
            f"{per_cent(n_signal / n_tokens)}."
        ),
        facts={
            "weight on signal tokens": f"{weight:.4f}",
            MEASURED["cosine"].axis: f"{cosine:.4f}",
            "largest weight in the negative sequence": f"{negative.max():.4f}",
        },
        table={
            "sequence": ["positive"] * n_tokens + ["negative"] * n_tokens,
            "token": list(range(n_tokens)) * 2,
            "carries_signal": carries_signal.tolist() + [False] * n_tokens,
            "weight": drawn.weights.ravel().tolist(),
        },
        python=script(values, _PYTHON, **more),
        command=theory_command("cosine,sharpness", values, "alpha0"),
    )


def _panel(sequence: str, weights: Any, carries: Any, top: float) -> Panel:
    kinds = {"signal tokens": (SPEAKS["for"], carries), "noise tokens": (None, ~carries)}
    present = {name: kind for name, kind in kinds.items() if kind[1].any()}
    panel = weight_panel(f"token of the {sequence} sequence", weights, present)
    panel.y = PanelAxis(title="attention weight", ends=(0.0, top))
    panel.marks = [Mark(text="before: all alike", y=1.0 / weights.size)]
    return panel


VIEW = View(
    "attention-map",
    "Attention map",
    "Which tokens does the trained query look at?",
    (*group("problem"), "alpha0", "loss", "Learning rates", "dim", "random_state"),
    draw,
)
