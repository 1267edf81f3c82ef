"""``sparsetoken plan``: how many samples, how to use them, and when no number will do."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sparsetoken as st
from sparsetoken.cli.options import (
    READING,
    AsJson,
    PopulationFile,
    given_options,
    option,
    read_population,
    with_options,
)
from sparsetoken.cli.output import check_output, print_json, waiting
from sparsetoken.vocabulary import PARAMETERS

if TYPE_CHECKING:
    from sparsetoken.planner.result import PlanResult

__all__ = ["plan"]

_SOLVABLE = ("n_signal", "positive_rate")  # they have defaults, so leaving them out is not asking
_QUANTITIES = ("n_samples", "dim", "n_tokens", "n_signal", "signal", "positive_rate", "error")
_AIM = ("metric", "fpr")
_ALWAYS = (*_AIM, "random_state", *READING)  # go with everything


@with_options(
    *_QUANTITIES,
    *("fpr", "random_state", *READING),
    no_default=("dim", "n_tokens", "signal", "error"),
)
def plan(
    population: PopulationFile = None,
    solve_for: Annotated[str | None, option("n-signal or positive-rate: solve for it.")] = None,
    model: Annotated[
        str | None,
        option(
            "two-step, pooled, vectorized, best of the three, or optimal: the best possible. "
            f"[default: {PARAMETERS['model'].default}]"
        ),
    ] = None,
    metric: Annotated[
        str,
        option(
            "error, or for rare positives auc or recall; --error is then 1 − AUC, or 1 − "
            "recall at --fpr."
        ),
    ] = "error",
    pilot: Annotated[
        Path | None, option("Plan the samples for --error from labelled data, a file as for fit.")
    ] = None,
    curve: Annotated[
        Path | None,
        option(
            "Plan the samples for --error from a learning curve: a table with columns "
            "n_samples and error (or accuracy), auc or recall, a row for each training."
        ),
    ] = None,
    n_test: Annotated[
        int | None, option("With --curve: test samples, if there is no column n_test.")
    ] = None,
    chance: Annotated[
        float, option("With --curve: error of always predicting the commonest class.")
    ] = 0.5,
    width: Annotated[
        float | None, option("Plan the test set: width of the 95 % interval around --value.")
    ] = None,
    value: Annotated[float | None, option("With --width: the value that is expected.")] = None,
    other: Annotated[float | None, option("With --width: that of a second classifier.")] = None,
    effort: Annotated[float, option("With --pilot: more trainings, narrower interval.")] = 1.0,
    plot: Annotated[Path | None, option("Draw the curve into this file.")] = None,
    report: Annotated[
        bool, option("Print paragraphs for a protocol, in Markdown.", "--report")
    ] = False,
    as_json: AsJson = False,
    **values: Any,
) -> None:
    """Plan a study: leave out one quantity, and the plan finds it.

    \b
    sparsetoken plan --dim 384 --n-tokens 50 --signal 6 --error 0.05
    sparsetoken plan --dim 384 --population kinds.toml --error 0.1
    sparsetoken plan --pilot pilot.npz --error 0.1
    sparsetoken plan --curve curve.csv --n-test 500 --error 0.1
    sparsetoken plan --metric recall --fpr 0.01 --value 0.8 --width 0.1

    With a population, leave out one of --n-samples, --dim and --error. Give all three to find a
    factor on the strengths of all kinds. --pilot reads its file as fit does.
    """  # noqa: D301 (the backslash keeps the lines of the examples)
    by_theory = {"solve_for": solve_for, "model": model, "population": population}
    values = given_options(values | by_theory | {"metric": metric})
    result: PlanResult
    if plot is not None:
        check_output(plot, st.plotting.FORMATS, "--plot", (pilot, curve, population))
    with waiting("planning") as progress:
        if width is not None:
            if value is None:
                raise ValueError("--value must be given with --width: the value expected")
            asked = _only(values, "--width", "positive_rate")
            result = st.plan.test_size(**asked, value=value, width=width, other=other)
        elif curve is not None:
            asked = _only(values, "--curve", "error", needed="error")
            result = _from_curve(curve, n_test, chance=chance, **asked)
        elif pilot is not None:
            asked = _only(values, "--pilot", "error", "random_state", needed="error")
            reading = {name: values[name] for name in READING if name in values}
            data: Any = st.read_dataset(pilot, **reading).with_labels()
            options = {"groups": data.groups, "effort": effort, "progress": progress}
            result = st.plan.from_pilot(data.sequences, data.labels, **asked, **options)
        else:
            many = read_population(population)
            quantities = {name: values.get(name) for name in _QUANTITIES}
            if many:
                _refuse("with a population", {"solve_for": solve_for})
                asked = _of_population(quantities, many)
            else:
                asked = _of_problem(quantities, solve_for)
            aim = {name: values[name] for name in (*_AIM, "model") if name in values}
            try:
                result = st.plan(**asked, **aim, progress=progress)
            except st.planner.UnreachableError as impossible:
                if as_json:
                    print_json(impossible.to_dict())
                raise
        if plot is not None:
            result.plot(plot)
        text = result.report(markdown=True).rstrip() if report else result.summary()
        content = result.to_dict() if as_json else text
    if as_json:
        print_json(content)
    else:
        typer.echo(content)


def _only(values: dict[str, Any], option: str, *names: str, needed: str = "") -> dict[str, Any]:
    """Return the values that go with an option; refuse quantities that do not."""
    if needed and needed not in values:
        raise ValueError(f"{_dashed(needed)} must be given with {option}")
    _refuse(f"with {option}", {n: v for n, v in values.items() if n not in (*names, *_ALWAYS)})
    return {name: values[name] for name in (*names, *_AIM) if name in values}


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


def _refuse(why: str, others: dict[str, Any]) -> None:
    for name, value in given_options(others).items():
        raise ValueError(f"{_dashed(name)} must be left out {why}, got {value}")


def _of_problem(quantities: dict[str, Any], solve_for: str | None) -> dict[str, Any]:
    """Fill what has a default, unless it is to be solved for; one quantity must be missing."""
    unknown = None if solve_for is None else solve_for.replace("-", "_")
    if unknown is not None and unknown not in _SOLVABLE:
        raise ValueError(
            f"--solve-for must be one of {', '.join(_SOLVABLE).replace('_', '-')}, got "
            f"{solve_for!r}; leave out any other quantity to solve for it"
        )
    defaults = {name: PARAMETERS[name].default for name in _SOLVABLE if name != unknown}
    filled = quantities | defaults | given_options(quantities)
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
    from sparsetoken.population import Population

    for name in ("n_tokens", "n_signal", "signal"):
        if quantities[name] is not None:
            raise ValueError(f"{_dashed(name)} must be left out: each kind has its own")
    rate = quantities["positive_rate"]
    problem = Population.from_tables(
        many["kinds"],
        many.get("label_errors", (0.0, 0.0)),
        PARAMETERS["positive_rate"].default if rate is None else rate,
    )
    asked = {name: quantities[name] for name in ("n_samples", "dim", "error")}
    return asked | {"problem": problem.plain()}


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"
