"""``sparsetoken plan``: how many samples, how to use them, and when no number will do."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sparsetoken as st
from sparsetoken.cli.options import (
    Kinds,
    LabelErrors,
    PopulationFile,
    population_options,
    set_options,
    taking,
)
from sparsetoken.cli.output import check_output, print_json, waiting
from sparsetoken.vocabulary import PARAMETERS

if TYPE_CHECKING:
    from sparsetoken.planner.result import PlanResult

__all__ = ["plan"]

_SOLVABLE = ("n_signal", "positive_rate")  # they have defaults, so leaving them out is not asking


def _option(name: str, more: str = "") -> Any:
    return typer.Option(help=PARAMETERS[name].help + more)


def _default(name: str) -> str:
    return f" [default: {PARAMETERS[name].default}]"


@taking("by", "label", "labels", "features", "ignore", "group", "layer")
def plan(
    n_samples: Annotated[int | None, _option("n_samples")] = None,
    dim: Annotated[int | None, _option("dim")] = None,
    n_tokens: Annotated[int | None, _option("n_tokens")] = None,
    n_signal: Annotated[int | None, _option("n_signal", _default("n_signal"))] = None,
    signal: Annotated[float | None, _option("signal")] = None,
    positive_rate: Annotated[
        float | None, _option("positive_rate", _default("positive_rate"))
    ] = None,
    error: Annotated[
        float | None, _option("error", " With --metric auc 1 − AUC, with recall 1 − recall.")
    ] = None,
    kind: Kinds = None,
    label_errors: LabelErrors = None,
    population: PopulationFile = None,
    solve_for: Annotated[
        str | None, typer.Option(help="n-signal or positive-rate: solve for it.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="two-step, pooled, vectorized, best of the three, or optimal: the best possible."
            + _default("model")
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="error, or auc or recall for rare positives.")
    ] = "error",
    fpr: Annotated[float, _option("fpr", " With --metric recall.")] = PARAMETERS["fpr"].default,
    pilot: Annotated[
        Path | None,
        typer.Option(help="Plan the samples for --error from labelled data, a file as for fit."),
    ] = None,
    curve: Annotated[
        Path | None,
        typer.Option(
            help="Plan the samples for --error from a learning curve: a table with columns "
            "n_samples and error (or accuracy), auc or recall, a row for each training."
        ),
    ] = None,
    n_test: Annotated[
        int | None,
        typer.Option(help="With --curve: test samples, unless the table has a column n_test."),
    ] = None,
    chance: Annotated[
        float, typer.Option(help="With --curve: error of always predicting the commonest class.")
    ] = 0.5,
    width: Annotated[
        float | None,
        typer.Option(help="Plan the test set: width of the 95 % interval around --value."),
    ] = None,
    value: Annotated[
        float | None, typer.Option(help="With --width: the error, AUC or recall expected.")
    ] = None,
    other: Annotated[
        float | None, typer.Option(help="With --width: that of a second classifier to compare.")
    ] = None,
    effort: Annotated[
        float, typer.Option(help="With --pilot: more trainings, for a narrower interval.")
    ] = 1.0,
    random_state: Annotated[int, _option("random_state", " With --pilot.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw the curve into this file.")] = None,
    report: Annotated[
        bool, typer.Option("--report", help="Print paragraphs for a protocol, as Markdown.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    **reading: Any,
) -> None:
    """Plan a study: leave out one quantity, and the plan finds it.

    \b
    sparsetoken plan --dim 384 --n-tokens 50 --signal 6 --error 0.05
    sparsetoken plan --dim 384 --kind 0.7,10,1,6 --kind 0.3,50,1,6 --error 0.1
    sparsetoken plan --pilot pilot.npz --error 0.1
    sparsetoken plan --curve curve.csv --n-test 500 --error 0.1
    sparsetoken plan --metric recall --fpr 0.01 --value 0.8 --width 0.1

    With a population, leave out one of --n-samples, --dim and --error. Give all three to find a
    factor on the strengths of all kinds. --pilot reads its file as fit does.
    """  # noqa: D301 (the backslash keeps the lines of the examples)
    quantities: dict[str, Any] = {
        "n_samples": n_samples,
        "dim": dim,
        "n_tokens": n_tokens,
        "n_signal": n_signal,
        "signal": signal,
        "positive_rate": positive_rate,
    }
    rate = set_options({"positive_rate": positive_rate})
    by_theory: dict[str, Any] = {"solve_for": solve_for, "model": model, "kind": kind}
    by_theory |= {"label_errors": label_errors, "population": population}
    aim: dict[str, Any] = {"metric": metric, "fpr": fpr}
    result: PlanResult
    if plot is not None:
        check_output(plot, st.plotting.FORMATS, "--plot")
    with waiting("planning") as progress:
        if width is not None:
            others = quantities | by_theory | {"error": error}
            _refuse("with --width", others | {"positive_rate": None})
            if value is None:
                raise ValueError("--value must be given with --width: the value expected")
            result = st.plan.test_size(**aim, value=value, width=width, other=other, **rate)
        elif curve is not None:
            target = _target("--curve", quantities | by_theory, error)
            result = _from_curve(curve, n_test, error=target, chance=chance, **aim)
        elif pilot is not None:
            aim["error"] = _target("--pilot", quantities | by_theory, error)
            aim |= {"effort": effort, "random_state": random_state, "progress": progress}
            data: Any = st.read_dataset(pilot, **set_options(reading)).with_labels()
            result = st.plan.from_pilot(data.sequences, data.labels, groups=data.groups, **aim)
        else:
            many = population_options(kind, label_errors, population)
            asked = _asked(quantities | {"error": error}, many, solve_for)
            aim["model"] = model or PARAMETERS["model"].default
            result = st.plan(**asked, **aim, progress=progress)
        if plot is not None:
            result.plot(plot)
        text = result.report(markdown=True).rstrip() if report else result.summary()
        content = result.to_dict() if as_json else text
    if as_json:
        print_json(content)
    else:
        typer.echo(content)


def _from_curve(path: Path, n_test: int | None, **options: Any) -> "PlanResult":
    from sparsetoken.planner import read_curve

    try:
        table = read_curve(path.read_text())
    except FileNotFoundError:
        raise ValueError(f"--curve must be a file, there is no {path}") from None
    except ValueError as wrong:
        raise ValueError(f"{path}: {wrong}") from None
    if n_test is not None:
        table["n_test"] = n_test
    if "n_test" not in table:
        raise ValueError("--n-test must be given with --curve, or a column n_test in the table")
    return st.plan.from_curve(**table, **options)


def _target(option: str, others: dict[str, Any], error: float | None) -> float:
    """Return the target; refuse what does not go with data, which tell the rest."""
    if error is None:
        raise ValueError(f"--error must be given with {option}: the error to plan for")
    _refuse(f"with {option}", others)
    return error


def _refuse(why: str, others: dict[str, Any]) -> None:
    for name, value in set_options(others).items():
        raise ValueError(f"{_dashed(name)} must be left out {why}, got {value}")


def _asked(
    quantities: dict[str, Any], many: dict[str, Any], solve_for: str | None
) -> dict[str, Any]:
    """Return the quantities of a plan by theory, of a problem or of a population."""
    if not many:
        return _of_problem(quantities, solve_for)
    _refuse("with a population", {"solve_for": solve_for})
    return _of_population(quantities, many)


def _of_problem(quantities: dict[str, Any], solve_for: str | None) -> dict[str, Any]:
    """Fill what has a default, unless it is to be solved for; one quantity must be missing."""
    unknown = None if solve_for is None else solve_for.replace("-", "_")
    if unknown is not None and unknown not in _SOLVABLE:
        raise ValueError(
            f"--solve-for must be one of {', '.join(_SOLVABLE).replace('_', '-')}, got "
            f"{solve_for!r}; leave out any other quantity to solve for it"
        )
    defaults = {name: PARAMETERS[name].default for name in _SOLVABLE if name != unknown}
    filled = quantities | defaults | set_options(quantities)
    missing = [_dashed(name) for name, value in filled.items() if value is None]
    if len(missing) != 1:
        always = [_dashed(name) for name in filled if name not in _SOLVABLE]
        raise ValueError(
            f"leave out exactly one of {', '.join(always)}, or name another with --solve-for; "
            f"left out: {', '.join(missing) or 'none'}"
        )
    return filled


def _of_population(quantities: dict[str, Any], many: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a plan for a population."""
    from sparsetoken.population import plain
    from sparsetoken.population_tables import from_tables

    of_one = set_options({name: quantities[name] for name in ("n_tokens", "n_signal", "signal")})
    if "kinds" in many and of_one:
        raise ValueError(f"{_dashed(min(of_one))} must be left out: each kind has its own")
    if "kinds" not in many and not {"n_tokens", "signal"} <= set(of_one):
        raise ValueError("--label-errors needs --n-tokens and --signal, or kinds of sequences")
    rate = quantities["positive_rate"]
    problem = from_tables(
        many.get("kinds") or [{"probability": 1.0} | of_one],
        many.get("label_errors", (0.0, 0.0)),
        PARAMETERS["positive_rate"].default if rate is None else rate,
    )
    asked = {name: quantities[name] for name in ("n_samples", "dim", "error")}
    return asked | {"problem": plain(problem)}


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"
