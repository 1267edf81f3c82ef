"""``sparsetoken plan``: how many samples, how to use them, and when no number will do."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

import sparsetoken as st
from sparsetoken.cli.options import (
    READING,
    AsJson,
    Data,
    PopulationFile,
    option,
    read_population,
    with_options,
)
from sparsetoken.cli.output import check_output, print_json, waiting
from sparsetoken.models import DEFAULT

app = typer.Typer()

_SOUGHT = ("n_samples", "dim", "n_tokens", "signal", "error")  # one is left out
_DEFAULTED = ("n_signal", "positive_rate", "n_kinds")
Metric = Annotated[
    str,
    option("What to plan for: error; or, for rare positives, auc or recall (at --fpr)."),
]
Target = Annotated[
    float,
    option("The test error to reach. With --metric auc it is 1 − AUC, with recall 1 − recall."),
]
_SHOWN: dict[str, Any] = {
    "plot": Annotated[Path | None, option("Draw the plan into this file: .png, .pdf or .svg.")],
    "report": Annotated[bool, option("Print paragraphs for a protocol, in Markdown.", "--report")],
    "as_json": AsJson,
}


@app.callback(invoke_without_command=True)
@with_options(*_SOUGHT, *_DEFAULTED, "fpr", no_default=_SOUGHT, **_SHOWN)
def plan(
    context: typer.Context,
    model: Annotated[
        str,
        option(
            "The classifier: sparse-token (SparseTokenClassifier), two-step, pooled, vectorized, "
            "best (of these four), or optimal (the best possible learner)."
        ),
    ] = DEFAULT,
    metric: Metric = "error",
    population: PopulationFile = None,
    **values: Any,
) -> None:
    """Plan a study: find how many labelled sequences are needed.

    Without data, the theory answers. Describe the problem, and leave out what you want to know,
    usually --n-samples:

    \b
    sparsetoken plan --dim 384 --n-tokens 50 --signal 6 --error 0.05

    Leave out --error instead to learn what --n-samples reach. With --population, give two of
    --n-samples, --dim and --error.

    From data or measurements, and for the test set, there is a command each:

    \b
    sparsetoken plan pilot pilot.npz --error 0.1
    sparsetoken plan curve curve.csv --n-test 500 --error 0.1
    sparsetoken plan test-size --metric auc --value 0.8 --width 0.1
    """  # noqa: D301 (the backslash keeps the lines of the examples)
    if context.invoked_subcommand is not None:
        return
    if population is not None:
        values["problem"] = read_population(population, values.pop("positive_rate", None))
    _show(st.plan, population, **values, model=model, metric=metric)


@app.command("pilot", short_help="Plan from pilot data.")
@with_options("fpr", "random_state", *READING, **_SHOWN)
def plan_from_pilot(
    data: Data,
    error: Target,
    metric: Metric = "error",
    effort: Annotated[float, option("2 trains twice as often, for a narrower interval.")] = 1.0,
    **values: Any,
) -> None:
    """Plan from pilot data: train on parts of them, test on the rest, extrapolate.

    The file is read as by 'sparsetoken fit'; in a table without --by each row is a sample. The
    plan is for SparseTokenClassifier.

    \b
    sparsetoken plan pilot pilot.npz --error 0.1
    sparsetoken plan pilot tokens.csv --by case --label outcome --group patient --error 0.1
    sparsetoken plan pilot table.csv --label y --error 0.1
    """  # noqa: D301 (the backslash keeps the lines of the examples)
    reading = {name: values.pop(name) for name in READING if name in values}

    def make(**asked: Any) -> Any:
        read: Any = st.read_dataset(data, rows_alone=True, **reading).with_labels()
        return st.plan.from_pilot(read.sequences, read.labels, groups=read.groups, **asked)

    _show(make, data, **values, error=error, metric=metric, effort=effort)


@app.command("curve", short_help="Plan from a learning curve of any classifier.")
@with_options("fpr", **_SHOWN)
def plan_from_curve(
    file: Annotated[
        Path,
        typer.Argument(
            help="A table with columns n_samples and error (or accuracy), auc or recall, a row for "
            "each training."
        ),
    ],
    error: Target,
    n_test: Annotated[
        int | None, option("Number of test samples, if there is no column n_test.")
    ] = None,
    metric: Metric = "error",
    chance: Annotated[float, option("Error of always predicting the commonest class.")] = 0.5,
    **values: Any,
) -> None:
    """Plan from a learning curve, of any classifier: from a paper, or measured by you.

    \b
    sparsetoken plan curve curve.csv --n-test 500 --error 0.1
    """  # noqa: D301 (the backslash keeps the lines of the examples)

    def make(progress: Any, **asked: Any) -> Any:
        from sparsetoken.planner.measured import read_curve

        try:
            table = read_curve(file.read_text(encoding="utf-8", errors="replace"))
        except ValueError as wrong:
            raise ValueError(f"{file}: {wrong}") from None
        if n_test is not None:
            table["n_test"] = n_test
        if "n_test" not in table:
            raise ValueError(f"--n-test must be given: {file} has no column n_test")
        return st.plan.from_curve(**table, **asked)

    _show(make, file, **values, error=error, metric=metric, chance=chance)


@app.command("test-size", short_help="Plan the number of test samples.")
@with_options("fpr", "positive_rate", **_SHOWN)
def plan_test_size(
    value: Annotated[float, option("The value that you expect.")],
    metric: Annotated[str, option("What is measured: accuracy, error, auc or recall.")] = (
        "accuracy"
    ),
    width: Annotated[float | None, option("Width of the confidence interval.")] = None,
    null: Annotated[
        float | None, option("Instead of --width: the value that a test must tell --value from.")
    ] = None,
    power: Annotated[float, option("Probability that this test succeeds.")] = 0.9,
    level: Annotated[float, option("Of confidence.")] = 0.95,
    **values: Any,
) -> None:
    """Plan the test set: for an interval of a given width, or for a test with a given power.

    \b
    sparsetoken plan test-size --metric recall --fpr 0.01 --value 0.8 --width 0.1
    sparsetoken plan test-size --metric auc --value 0.85 --null 0.75 --power 0.9
    """  # noqa: D301 (the backslash keeps the lines of the examples)

    def make(progress: Any, **asked: Any) -> Any:
        from sparsetoken.planner.testing import plan_test_size

        return plan_test_size(**asked)

    values |= {"metric": metric, "value": value, "width": width, "null": null, "power": power}
    _show(make, None, **values, level=level)


def _show(
    make: Callable[..., Any],
    read: Path | None,
    plot: Path | None = None,
    report: bool = False,
    as_json: bool = False,
    **asked: Any,
) -> None:
    """Make a plan, draw it, and print it as JSON, as a report or as a summary.

    With JSON, a target that cannot be reached is an answer too.
    """
    if plot is not None:
        from sparsetoken.plotting import FORMATS

        check_output(plot, FORMATS, "--plot", (read,))
    try:
        with waiting("planning") as progress:
            result = make(**asked, progress=progress)
            if plot is not None:
                result.plot(plot)
            text = result.report(markdown=True).rstrip() if report else ""
            content = result.to_dict() if as_json else text or result.summary()
    except ValueError as impossible:
        if as_json and hasattr(impossible, "to_dict"):
            print_json(impossible.to_dict())
        raise
    (print_json if as_json else typer.echo)(content)
