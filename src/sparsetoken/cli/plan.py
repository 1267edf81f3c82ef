"""``sparsetoken plan``: how many samples, how to use them, and when no number will do."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sparsetoken as st
from sparsetoken.estimators.readers import read_dataset

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
            help="Plan the samples for --error from labelled data, .npz or .csv as for fit."
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the curve into this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Plan a study: leave out one quantity and it is solved for.

    Example: sparsetoken plan --dim 384 --tokens 50 --signal 6 --error 0.05
    """
    given = {
        "--samples": samples,
        "--dim": dim,
        "--tokens": tokens,
        "--signal-tokens": signal_tokens,
        "--signal": signal,
        "--positive-rate": positive_rate,
    }
    found: Plan | PilotPlan
    if pilot is not None:
        _check_pilot({**given, "--solve-for": solve_for}, error, metric)
        data = read_dataset(pilot).with_labels()
        from_pilot = st.plan.from_pilot(data.sequences, data.labels, error=error, model=model)
        found, planned = from_pilot, from_pilot.plan
    else:
        given = {**_with_defaults(given, solve_for), "--error": error}
        _check_missing(given)
        quantities = dict(zip(st.planner.QUANTITIES, given.values(), strict=True))
        found = planned = st.plan(**quantities, model=model, metric=metric)
    if plot is not None:
        planned.plot(plot)
    if as_json:
        typer.echo(json.dumps(_as_data(found)))
    elif isinstance(found, st.planner.PilotPlan):
        typer.echo(f"{found.summary()}\n\n{planned.details()}")
    else:
        typer.echo(planned.summary())


def _check_pilot(given: dict[str, Any], error: float | None, metric: str) -> None:
    """Say what does not go with ``--pilot``, whose data tell the rest."""
    if error is None:
        raise ValueError("--error must be given with --pilot: the error to plan for")
    if metric != "error":
        raise ValueError(f"--metric must be 'error' with --pilot, got {metric!r}")
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} must be left out with --pilot, got {value}")


def _with_defaults(given: dict[str, Any], solve_for: str | None) -> dict[str, Any]:
    """Fill what has a default, unless it is to be solved for."""
    defaults: dict[str, Any] = {"signal-tokens": 1, "positive-rate": 0.5}
    if solve_for is not None and solve_for not in defaults:
        raise ValueError(
            f"--solve-for must be 'signal-tokens' or 'positive-rate', got {solve_for!r}; "
            "any other quantity is solved for by leaving it out"
        )
    filled = {
        f"--{name}": value
        for name, value in defaults.items()
        if name != solve_for and given[f"--{name}"] is None
    }
    return {**given, **filled}


def _check_missing(given: dict[str, Any]) -> None:
    missing = [name for name, value in given.items() if value is None]
    if len(missing) != 1:
        always = [name for name in given if name not in ("--signal-tokens", "--positive-rate")]
        raise ValueError(
            f"leave out exactly one of {', '.join(always)}, or name another with --solve-for; "
            f"left out: {', '.join(missing) or 'none'}"
        )


def _as_data(found: "Plan | PilotPlan") -> dict[str, Any]:
    planned = found.plan if isinstance(found, st.planner.PilotPlan) else found
    data: dict[str, Any] = {
        "answer": planned.answer,
        "caution": planned.caution,
        "solved_for": planned.solved_for,
        **{
            name: getattr(planned, name)
            for name in (
                *st.planner.QUANTITIES,
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
