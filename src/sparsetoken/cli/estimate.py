"""``sparsetoken fit`` and ``sparsetoken predict``: classifiers of sequences in files."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsetoken.cli.options import AsJson, Data, how_data_were_read, set_options, taking
from sparsetoken.cli.output import check_output, message, print_json, print_table, waiting
from sparsetoken.cli.predictions import per_class, plain, predictions, token_columns
from sparsetoken.vocabulary import PARAMETERS

if TYPE_CHECKING:  # numerics are imported when a command runs: its help needs none
    from sparsetoken.files import Dataset
    from sparsetoken.inspection.measures import Measure


class Kind(StrEnum):
    """The classifiers, by the names of their classes."""

    SparseTokenClassifier = "sparse-token"
    AttentionClassifier = "attention"
    TwoStepAttentionClassifier = "two-step"
    PooledClassifier = "pooled"
    VectorizedClassifier = "vectorized"


@taking("by", "label", "labels", "features", "ignore", "group", "layer")
def fit(
    data: Data,
    out: Annotated[Path, typer.Option(help="Where the model goes.")] = Path("model.npz"),
    model: Annotated[Kind, typer.Option(help="The classifier.")] = Kind.SparseTokenClassifier,
    reg: Annotated[
        float | None, typer.Option(help="Ridge. By default attention chooses it, others take 0.01.")
    ] = None,
    held_out: Annotated[
        float, typer.Option(help="Share of the sequences kept back to judge the model; 0 for none.")
    ] = 0.2,
    random_state: Annotated[int, typer.Option(help=PARAMETERS["random_state"].help)] = 0,
    as_json: AsJson = False,
    **reading: Any,
) -> None:
    """Fit a classifier to labelled sequences and save it.

    First it is judged on held-out sequences, then fitted to all of them. The model remembers its
    columns, so predict needs no options to read a file of the same kind.
    """
    from sparsetoken.estimators import save
    from sparsetoken.files import read_dataset

    if not 0.0 <= held_out < 1.0:
        raise ValueError(f"--held-out must be a number in [0, 1), got {held_out:g}")
    check_output(out, [".npz"])
    with waiting(f"reading {data}"):
        everything = read_dataset(data, **set_options(reading))
    dataset = everything.with_labels()
    if len(dataset) < len(everything):
        message(
            f"{len(everything) - len(dataset)} of {len(everything)} sequences have no label (an "
            "empty cell, NA, NaN or null) and are left out"
        )
    classifier = _classifier(model, reg, random_state)
    report: dict[str, Any] = {"model": model.value, "sequences": len(dataset)}
    if held_out:
        with waiting("judging on held-out sequences"):
            report |= _judge_held_out(classifier, dataset, held_out, random_state)
    with waiting("fitting"):
        _fit(classifier, dataset, slice(None))
    report["classes"] = [str(name) for name in classifier.classes_]
    for name in ("members", "query_reliability"):
        if hasattr(classifier, f"{name}_"):
            report[name] = getattr(classifier, f"{name}_")
    save(classifier, out, notes={"reading": dataset.reading})
    report["file"] = str(out)
    if as_json:
        print_json(report)
    else:
        print_table(("fitted", ""), _lines(report))


@taking("by", "label", "labels", "features", "layer")
def predict(
    model: Annotated[Path, typer.Argument(help="A model that 'sparsetoken fit' has saved.")],
    data: Data,
    top: Annotated[
        int, typer.Option(min=0, help="How many of the tokens that matter most to show.")
    ] = 3,
    out: Annotated[
        Path | None, typer.Option(help="Write the table to this .csv or .parquet.")
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(
            help="Write one row per token to this .csv or .parquet: sequence, position, row of the "
            "file, weight, contribution to the score, and the class that it speaks for."
        ),
    ] = None,
    as_json: AsJson = False,
    **reading: Any,
) -> None:
    """Score sequences with a saved model, and name the tokens that matter.

    If the file has labels, it also prints accuracy, AUC and recall at 1 % false positives, with
    95 % intervals.
    """
    from sparsetoken.estimators import load
    from sparsetoken.experiments.table import write_columns
    from sparsetoken.files import read_dataset

    for option, path in (("--out", out), ("--tokens", tokens)):
        if path is not None:
            check_output(path, [".csv", ".parquet"], option)
    classifier = load(model)
    if tokens is not None and not hasattr(classifier, "explain"):
        raise ValueError(f"--tokens needs a model with attention, {model} has none")
    like = how_data_were_read(model, classifier)
    with waiting(f"reading {data}"):
        dataset = read_dataset(data, **set_options(reading), like=like)
    with waiting("predicting"):
        rows, measures = predictions(classifier, dataset, top)
    if tokens is not None:
        write_columns(token_columns(classifier, dataset), tokens)
        message(f"{len(dataset.rows)} tokens: {tokens}")
    _show(rows, measures, classifier, out, as_json)


def _show(
    rows: list[dict[str, Any]],
    measures: "list[Measure]",
    classifier: Any,
    out: Path | None,
    as_json: bool,
) -> None:
    from sparsetoken.experiments.table import write_columns

    if as_json:
        print_json(rows)
    elif out is not None:
        columns = per_class(rows)
        if "top_tokens" in columns:
            columns["top_tokens"] = [_text(tops) for tops in columns["top_tokens"]]
        write_columns(columns, out)
        message(f"{len(rows)} rows: {out}")
    else:
        shown = [
            {name: _text(value) for name, value in row.items() if name != "probabilities"}
            for row in rows
        ]
        of = "the predicted class"
        if len(classifier.classes_) == 2:
            of = repr(plain(classifier.classes_[1]))
        title = f"probability of {of}; top tokens with their weights"
        print_table(tuple(shown[0]), [tuple(row.values()) for row in shown], title)
        if measures:
            lines = [(measure.name, str(measure)) for measure in measures]
            print_table(("on labelled sequences", "95 % interval"), lines)
        return
    for measure in measures:
        message(f"{measure.name} {measure}")


def _classifier(kind: Kind, reg: float | None, random_state: int) -> Any:
    from sparsetoken import estimators

    classifier = getattr(estimators, kind.name)()
    known = classifier.get_params()
    if reg is not None and "reg" not in known:
        raise ValueError(f"--reg is not for --model {kind}, which chooses it")
    settings = set_options({"reg": reg, "random_state": random_state})
    return classifier.set_params(**{n: v for n, v in settings.items() if n in known})


def _fit(classifier: Any, dataset: "Dataset", rows: Any) -> None:
    """Fit to some sequences; groups stay together in the folds of a classifier that has any."""
    from sklearn.utils.validation import has_fit_parameter

    labels: Any = dataset.labels
    options = {}
    if dataset.groups is not None and has_fit_parameter(classifier, "groups"):
        options["groups"] = dataset.groups[rows]
    classifier.fit(dataset.sequences[rows], labels[rows], **options)


def _judge_held_out(
    classifier: Any, dataset: "Dataset", fraction: float, random_state: int
) -> dict[str, Any]:
    """Return measures on held-out sequences of a fit to the others."""
    from sparsetoken.inspection.measures import hold_out, judge

    labels: Any = dataset.labels
    try:
        kept, tested = hold_out(labels, dataset.groups, fraction, random_state)
    except ValueError as error:
        raise ValueError(f"{error}: --held-out 0 holds none out") from None
    _fit(classifier, dataset, kept)
    held = dataset.sequences[tested]
    predicted, scores = classifier.predict(held), classifier.decision_function(held)
    report: dict[str, Any] = {"held_out": len(tested)}
    for measure in judge(labels[tested], predicted, scores, classifier.classes_):
        name = f"held_out_{measure.name.lower().replace(' ', '_').replace('%', 'percent')}"
        report |= {name: measure.value, f"{name}_interval": [measure.low, measure.high]}
    return report


def _lines(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what was found as text, each interval beside its value."""
    lines = []
    for name, value in report.items():
        interval = report.get(f"{name}_interval")
        around = "" if interval is None else f" ({interval[0]:.3f}…{interval[1]:.3f})"
        if not name.endswith("_interval"):
            lines.append((name.replace("_", " "), f"{_text(value)}{around}"))
    return lines


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(
            f"{item['token']}:{item['weight']:.2f}" if isinstance(item, dict) else _text(item)
            for item in value
        )
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items())
    return f"{value:.4g}" if isinstance(value, float) else str(value)
