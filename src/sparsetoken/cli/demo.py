"""``sparsetoken demo``: what two gradient steps find in sequences that averaging drowns."""

import json
from typing import Annotated

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from sparsetoken import SparseTokenProblem
from sparsetoken.losses import Logistic
from sparsetoken.pooling import Softmax
from sparsetoken.sampling import sample_query

__all__ = ["demo"]

QUANTITIES = {
    "cosine": "between the learned query and the hidden signal; 1 means found",
    "sharpness": "of the attention, β‖q‖; 0 means pooling",
    "weight": "that attention gives the signal token of a fresh positive sequence",
    "found": "share of fresh positive sequences whose signal token gets the most attention",
}


def demo(
    signal: Annotated[float, typer.Option(help="Strength θ of the signal.")] = 5.0,
    tokens: Annotated[
        int, typer.Option(help="Length L of a sequence; one token carries signal.")
    ] = 10,
    dim: Annotated[int, typer.Option(help="Features per token.")] = 1000,
    trials: Annotated[int, typer.Option(help="Repetitions, for the standard errors.")] = 8,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Learn a query in two gradient steps and show what it attends to.

    One of L tokens carries a weak signal in half of the sequences. More samples per dimension
    (alpha) turn the query towards it; the table shows mean ± standard error over the trials.
    """
    problem = SparseTokenProblem(n_tokens=tokens, n_signal=1, signal=signal)
    if trials < 2:
        raise ValueError(f"trials must be an integer >= 2, got {trials}")
    columns = {
        alpha: [_trial(problem, alpha, dim, (seed, index)) for index in range(trials)]
        for alpha in (0.5, 1.0, 2.0, 4.0)
    }
    if as_json:
        typer.echo(json.dumps([{"alpha": a, **row} for a, rows in columns.items() for row in rows]))
        return
    table = Table(
        box=box.SIMPLE_HEAD,
        title=f"Two gradient steps, one signal token of {tokens}, signal {signal:g}, dim {dim}",
    )
    table.add_column("samples/dim", justify="right")
    for name in QUANTITIES:
        table.add_column(name, justify="right")
    for alpha, rows in columns.items():
        table.add_row(
            f"{alpha:g}", *(_mean_and_error([row[q] for row in rows]) for q in QUANTITIES)
        )
    console = Console()
    console.print(table)
    for name, meaning in QUANTITIES.items():
        console.print(f"[bold]{name}[/bold]: {meaning}")


def _trial(
    problem: SparseTokenProblem, alpha: float, dim: int, seed: tuple[int, int]
) -> dict[str, float]:
    """Learn one query from alpha·dim samples and look at its attention on fresh positives."""
    rng = np.random.default_rng(seed)
    n_samples = max(1, round(alpha * dim))
    learned = sample_query(problem, n_samples, dim, loss=Logistic(), random_state=rng)
    fresh = SparseTokenProblem(problem.n_tokens, 1, problem.signal, positive_rate=1.0)
    X, _, truth = fresh.sample(
        100, dim, direction=learned.direction, random_state=rng, return_truth=True
    )
    weights = Softmax().weights(learned.beta * X @ learned.query)
    at_signal = weights[truth.positions]
    return {
        "cosine": learned.cosine,
        "sharpness": learned.sharpness,
        "weight": float(at_signal.mean()),
        "found": float((at_signal == weights.max(axis=1)).mean()),
    }


def _mean_and_error(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"
