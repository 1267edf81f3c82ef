"""``sparsetoken plan``: how many samples, how to use them, and when no number will do."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import sparsetoken as st

if TYPE_CHECKING:  # the planner is imported when it is used: other commands start faster
    from sparsetoken.planner import PilotPlan, Plan

__all__ = ["plan"]


def plan(
    samples: Annotated[int | None, typer.Option(help="Number of labelled sequences.")] = None,
    dim: Annotated[int | None, typer.Option(help="Features per token.")] = None,
    tokens: Annotated[int | None, typer.Option(help="Length of a sequence.")] = None,
    signal_tokens: Annotated[
        int | None, typer.Option(help="Tokens that carry the signal; 1 unless solved for.")
    ] = None,
    signal: Annotated[
        float | None, typer.Option(help="Strength of the signal, in units of the noise.")
    ] = None,
    positive_rate: Annotated[
        float | None, typer.Option(help="Share of positive sequences; 0.5 unless solved for.")
    ] = None,
    error: Annotated[
        float | None, typer.Option(help="Target test error (1 − AUC with --metric auc).")
    ] = None,
    solve_for: Annotated[
        str | None,
        typer.Option(help="signal-tokens or positive-rate: solve for it, not its default."),
    ] = None,
    model: Annotated[
        str, typer.Option(help="attention, pooled, vectorized, or best of the three.")
    ] = "attention",
    metric: Annotated[str, typer.Option(help="error, or auc for rare positives.")] = "error",
    pilot: Annotated[
        Path | None,
        typer.Option(
            help="Plan --error from this .npz: X (n, L, d), or stacked X with bag; and y."
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the curve into this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Plan a study: leave out one quantity and it is solved for.

    Example: sparsetoken plan --dim 384 --tokens 50 --signal 6 --error 0.05
    """
    found: Plan | PilotPlan
    if pilot is not None:
        if error is None:
            raise ValueError("error must be given with --pilot, got None")
        if metric != "error":
            raise ValueError(f"metric must be 'error' with --pilot, got {metric!r}")
        for name, value in (("samples", samples), ("dim", dim), ("tokens", tokens)):
            if value is not None:
                raise ValueError(f"{name} must be left out with --pilot, got {value}")
        from_pilot = st.plan.from_pilot(*read_pilot(pilot), error=error, model=model)
        found, planned = from_pilot, from_pilot.plan
    else:
        defaults = {"signal-tokens": 1, "positive-rate": 0.5}
        if solve_for is not None and solve_for not in defaults:
            raise ValueError(
                f"solve_for must be 'signal-tokens' or 'positive-rate', got {solve_for!r}; "
                "any other quantity is solved for by leaving it out"
            )
        if solve_for is not None:
            del defaults[solve_for]
        found = planned = st.plan(
            n_samples=samples,
            dim=dim,
            n_tokens=tokens,
            n_signal=defaults.get("signal-tokens") if signal_tokens is None else signal_tokens,
            signal=signal,
            positive_rate=defaults.get("positive-rate") if positive_rate is None else positive_rate,
            error=error,
            model=model,
            metric=metric,
        )
    if plot is not None:
        planned.plot(plot)
    if as_json:
        typer.echo(json.dumps(_as_data(found)))
    elif isinstance(found, st.planner.PilotPlan):
        typer.echo(found.summary())
        typer.echo("\n" + planned.summary())
    else:
        typer.echo(planned.summary())


def read_pilot(path: Path) -> tuple[Any, Any]:
    """Return sequences and labels from a file of arrays.

    ``X`` of shape (n, L, d) with ``y`` of shape (n,), or ``X`` of shape (tokens, d) with ``bag``,
    the sequence of each token, and ``y``, one label per sequence in the order of sorted ``bag``.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            data = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, EOFError, AttributeError) as failure:
        raise ValueError(f"pilot must be a readable .npz file, got {path}: {failure}") from None
    missing = {"X", "y"} - data.keys()
    if missing:
        raise ValueError(f"pilot must hold X and y, got {sorted(data)} in {path}")
    X, y = data["X"], data["y"]
    if "bag" not in data:
        return X, y
    bag = data["bag"]
    if X.ndim != 2 or bag.shape != (len(X),):
        raise ValueError(f"bag must have one entry per row of X, got {bag.shape} for {X.shape}")
    order = np.argsort(bag, kind="stable")
    ends = 1 + np.flatnonzero(bag[order][1:] != bag[order][:-1])
    return np.split(X[order], ends), y


def _as_data(found: "Plan | PilotPlan") -> dict[str, Any]:
    planned = found.plan if isinstance(found, st.planner.PilotPlan) else found
    data: dict[str, Any] = {
        "solved_for": planned.solved_for,
        **{
            name: getattr(planned, name)
            for name in (
                "n_samples",
                "dim",
                "n_tokens",
                "n_signal",
                "signal",
                "positive_rate",
                "error",
                "limit_error",
                "uncertainty",
                "model",
                "metric",
                "target",
                "settings",
                "alternatives",
            )
        },
        "curve": planned.curve._asdict(),
    }
    if isinstance(found, st.planner.PilotPlan):
        estimate = found.estimate
        data["pilot"] = {
            "signal": estimate.signal,
            "n_signal": estimate.n_signal,
            "positive_rate": estimate.positive_rate,
            "standard_errors": estimate.standard_errors,
            "reliable": estimate.reliable,
            "optimistic": found.optimistic.n_samples,
            "pessimistic": None if found.pessimistic is None else found.pessimistic.n_samples,
            "observed": found.observed,
            "trust": found.trust,
        }
    return data
