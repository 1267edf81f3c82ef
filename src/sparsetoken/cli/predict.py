"""``sparsetoken predict``: scores of sequences in a file, and the tokens that matter."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import sparsetoken as st
from sparsetoken.cli.options import AsJson, Data, Model, option, read_as_in_fit, with_options
from sparsetoken.cli.output import (
    as_text,
    check_output,
    message,
    print_json,
    print_table,
    waiting,
)

if TYPE_CHECKING:
    from sparsetoken.files import Dataset
    from sparsetoken.inspection.measures import Measure

Rows = list[dict[str, Any]]


@with_options("by", "label", "labels", "features", "layer")
def predict(
    model: Model,
    data: Data,
    top: Annotated[
        int, option("How many of the tokens that matter most to show, numbered from 0.", min=0)
    ] = 3,
    out: Annotated[Path | None, option("Write the table to this .csv or .parquet.")] = None,
    tokens: Annotated[
        Path | None,
        option(
            "Write one row per token to this .csv or .parquet: sequence, position and row of the "
            "file (both from 0), weight, contribution to the score, and the class it speaks for."
        ),
    ] = None,
    as_json: AsJson = False,
    **reading: Any,
) -> None:
    """Score sequences with a saved model, and name the tokens that matter.

    If the file has labels, it also prints accuracy, AUC and recall at 1 % false positives, with
    95 % intervals.
    """
    from sparsetoken.experiments.table import write_columns

    reads = (model, data, reading["labels"])
    for name, path, others in (("--out", out, reads), ("--tokens", tokens, (*reads, out))):
        if path is not None:
            check_output(path, [".csv", ".parquet"], name, others)
    classifier: Any = st.load(model)
    dataset = read_as_in_fit(data, model, reading)
    with waiting("predicting"):
        rows, measures = _predictions(classifier, dataset, top)
    if tokens is not None:
        write_columns(_token_columns(classifier, dataset), tokens)
        message(f"{len(dataset.rows)} tokens: {tokens}")
    if as_json:
        print_json(rows)
    elif out is not None:
        write_columns(_columns(rows), out)
        message(f"{len(rows)} rows: {out}")
    else:
        _print(rows, measures, classifier.classes_)
        return
    for measure in measures:
        message(f"{measure.name} {measure}")


def _predictions(classifier: Any, dataset: "Dataset", top: int) -> "tuple[Rows, list[Measure]]":
    """Return one row per sequence, and measures if there are labels."""
    from sparsetoken.inspection.measures import judge
    from sparsetoken.sequences.fingerprints import seen_in_fit

    X, classes = dataset.sequences, classifier.classes_
    seen = int(seen_in_fit(classifier, X).sum())
    if seen:
        message(
            f"{seen} of the {len(X)} sequences of {dataset.path} were used to fit this model: it "
            "has seen their labels, so its scores here are too good"
        )
    scores, chances = classifier.decision_function(X), classifier.predict_proba(X)
    predicted, names = classifier.predict(X), [str(name) for name in classes]
    two = len(classes) == 2
    rows: Rows = []
    for i, sequence in enumerate(dataset.ids):
        shown = names.index(str(predicted[i]))
        row = {
            "sequence": sequence,
            "predicted": _plain(predicted[i]),
            "probability": float(chances[i, shown]),
            "probabilities": dict(zip(names, chances[i].tolist(), strict=True)),
            "score": float(scores[i] if two else scores[i, shown]),
        }
        rows.append(row)
    if top:
        for row, explanation in zip(rows, classifier.explain(X, top=top), strict=True):
            pairs = zip(explanation.tokens.tolist(), explanation.weights.tolist(), strict=True)
            row["top_tokens"] = [{"token": token, "weight": weight} for token, weight in pairs]
    if dataset.labels is None:
        return rows, []
    for row, label in zip(rows, dataset.labels, strict=True):
        row["label"] = _plain(label)
    labelled = [i for i, row in enumerate(rows) if str(row["label"]) in names]
    if not labelled:
        message(f"the labels of {dataset.path} are none of the model's: {', '.join(names)}")
        return rows, []
    labels = classes[[names.index(str(rows[i]["label"])) for i in labelled]]
    return rows, judge(labels, predicted[labelled], scores[labelled], classes)


def _print(rows: Rows, measures: "list[Measure]", classes: Any) -> None:
    """Print predictions and measures for people."""
    columns = [name for name in rows[0] if name != "probabilities"]
    score = f"score for {_plain(classes[1])!r}; " if len(classes) == 2 else ""
    title = f"probability of the prediction; {score}top tokens, counted from 0, with their weights"
    print_table(columns, [[as_text(row[name]) for name in columns] for row in rows], title)
    if measures:
        lines = [(measure.name, str(measure)) for measure in measures]
        print_table(("on labelled sequences", "95 % interval"), lines)


def _columns(rows: Rows) -> dict[str, list[Any]]:
    """Return rows as columns, with one for the probability of each class."""
    columns: dict[str, list[Any]] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name == "probabilities":
            for label in values[0]:
                columns[f"probability_{label}"] = [chances[label] for chances in values]
        else:
            columns[name] = [as_text(v) for v in values] if name == "top_tokens" else values
    return columns


def _token_columns(classifier: Any, dataset: "Dataset") -> dict[str, list[Any]]:
    """Return a table with one row per token, in the order of sequences and positions."""
    import numpy as np

    lengths = dataset.sequences.lengths
    table: dict[str, list[Any]] = {
        "sequence": np.repeat(np.array(dataset.ids, dtype=object), lengths).tolist(),
        "position": np.concatenate([np.arange(length) for length in lengths]).tolist(),
        "row": dataset.rows.tolist(),
    }
    if dataset.coords is not None:
        for axis, places in zip("xyz", dataset.coords.T, strict=False):
            table[axis] = places.tolist()
    table |= {"weight": [], "contribution": [], "towards": []}
    two = [str(name) for name in classifier.classes_]
    for explanation in classifier.explain(dataset.sequences, top=int(lengths.max())):
        _, weights, contributions, *_ = explanation.by_position()
        label = str(explanation.speaks_for)
        other = two[0] if len(two) == 2 and label == two[1] else f"not {label}"
        table["weight"] += weights.tolist()
        table["contribution"] += contributions.tolist()
        table["towards"] += [label if number >= 0 else other for number in contributions]
    return table


def _plain(value: Any) -> Any:
    """Return a number or text of NumPy as one of Python."""
    return value.item() if hasattr(value, "item") else value
