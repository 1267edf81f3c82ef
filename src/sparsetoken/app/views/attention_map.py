"""Attention map: one drawn sequence, and the weights of its tokens before and after training."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsetoken.app.charts import GREY, colour, figure
from sparsetoken.app.content import Content, Drawing, View
from sparsetoken.app.measure import PROBLEM, RATES, problem_values, training
from sparsetoken.app.parameters import GROUPS, Values
from sparsetoken.app.snippets import arguments, problem_code
from sparsetoken.app.words import per_cent, plural
from sparsetoken.losses import get_loss
from sparsetoken.pooling import Softmax
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.sampling import sample_query
from sparsetoken.vocabulary import PARAMETERS

__all__ = ["VIEW"]

_MOST_SAMPLES = 200_000  # for the query


class Drawn(NamedTuple):
    """A positive sequence and what the trained query makes of it."""

    carries_signal: NDArray[np.bool_]
    weights: NDArray[np.float64]
    cosine: float
    n_samples: int


def draw_sequence(values: Values) -> Drawn:
    """Train a query on fresh samples and let it look at a fresh positive sequence."""
    problem, dim = SparseTokenProblem(**problem_values(values)), values["dim"]
    rng = np.random.default_rng(values["seed"])
    n_samples = min(max(2, round(values["alpha0"] * dim)), _MOST_SAMPLES)
    rates = {name: values[name] for name in RATES}
    learned = sample_query(
        problem, n_samples, dim, loss=get_loss(values["loss"]), random_state=rng, **rates
    )
    positive = SparseTokenProblem(problem.n_tokens, problem.n_signal, problem.signal, 1.0)
    X, _, truth = positive.sample(
        1, dim, direction=learned.direction, random_state=rng, return_truth=True
    )
    weights = Softmax().weights(learned.beta * X @ learned.query)
    return Drawn(truth.positions[0], weights[0], float(learned.cosine), n_samples)


def draw(values: Values, drawing: Drawing) -> Content:
    """Draw the weights of one sequence's tokens."""
    found = draw_sequence(values)
    n_tokens = values["n_tokens"]
    shared = problem_values(values) | training(values)
    shared |= {name: values[name] for name in ("alpha0", "dim", "seed")}
    rows = [
        shared
        | {"token": token, "carries_signal": bool(carries), "source": "simulation"}
        | {"quantity": "weight", "stage": stage, "value": float(weight)}
        for stage, weights in (
            ("before", np.full(n_tokens, 1 / n_tokens)),
            ("after", found.weights),
        )
        for token, (carries, weight) in enumerate(zip(found.carries_signal, weights, strict=True))
    ]
    share = float(found.weights[found.carries_signal].sum())
    sentence = (
        f"After two steps on {plural(found.n_samples, 'sample')} the query has a cosine of "
        f"{found.cosine:.2f} with the signal and gives {per_cent(share)} of the weight to the "
        f"{plural(values['n_signal'], 'signal token')} of this sequence; averaging would give "
        f"{per_cent(values['n_signal'] / n_tokens)}."
    )
    return Content(
        _picture(found),
        sentence,
        rows,
        _python(values, found.n_samples),
        _command(values),
        _facts(found, share),
    )


def _picture(found: Drawn) -> dict[str, Any]:
    tokens = np.arange(1, found.weights.size + 1)
    traces = []
    for name, mask, shade in (
        ("signal tokens", found.carries_signal, colour("pooled")),
        ("noise tokens", ~found.carries_signal, colour("two-step")),
    ):
        traces.append(
            {
                "type": "bar",
                "x": tokens[mask].tolist(),
                "y": found.weights[mask].tolist(),
                "name": name,
                "marker": {"color": shade},
                "hovertemplate": "token %{x}: %{y:.3f}<extra></extra>",
            }
        )
    before = {
        "type": "scatter",
        "mode": "lines",
        "x": [0.4, found.weights.size + 0.6],
        "y": [1.0 / found.weights.size] * 2,
        "name": "before: all alike",
        "line": {"color": GREY, "dash": "dash", "width": 2},
    }
    return figure(
        [*traces, before],
        xaxis={"title": {"text": "token"}, "range": [0.4, found.weights.size + 0.6]},
        yaxis={"title": {"text": "attention weight"}, "range": [0, 1.02 * _top(found)]},
        bargap=0.15 if found.weights.size < 60 else 0,
        barmode="overlay",
    )


def _top(found: Drawn) -> float:
    return max(float(found.weights.max()), 2.0 / found.weights.size)


def _facts(found: Drawn, share: float) -> list[tuple[str, str]]:
    return [
        ("weight on signal tokens", f"{share:.4f}"),
        ("cosine of query and signal", f"{found.cosine:.4f}"),
        ("largest weight of a noise token", f"{_largest(found):.4f}"),
    ]


def _largest(found: Drawn) -> float:
    noise = found.weights[~found.carries_signal]
    return float(noise.max()) if noise.size else 0.0


def _python(values: Values, n_samples: int) -> str:
    return (
        problem_code(values)
        + f"rng = np.random.default_rng({values['seed']})\n"
        + "learned = st.sampling.sample_query(\n"
        + f"    problem, {n_samples}, {values['dim']}, random_state=rng,\n"
        + f'    loss=st.losses.get_loss("{values["loss"]}"), {arguments(values, *RATES)},\n'
        + ")\n"
        + "positive = st.SparseTokenProblem("
        + arguments(values | {"positive_rate": 1.0}, *PROBLEM)
        + ")\n"
        + f"X, y, truth = positive.sample(1, {values['dim']}, direction=learned.direction, "
        + "random_state=rng, return_truth=True)\n"
        + "weights = st.pooling.Softmax().weights(learned.beta * X @ learned.query)[0]\n"
        + "print(np.round(weights, 4), truth.positions[0])\n"
    )


def _command(values: Values) -> str:
    names = (*PROBLEM, "alpha0", "loss", *RATES)
    listed = " ".join(f"{PARAMETERS[name].option} {values[name]}" for name in names)
    return f"sparsetoken theory cosine,sharpness {listed}"


VIEW = View(
    "attention-map",
    "Attention map",
    "Which tokens does the trained query look at?",
    (*GROUPS["Problem"], "alpha0", "loss", *GROUPS["Two steps"], "dim", "seed"),
    draw,
)
