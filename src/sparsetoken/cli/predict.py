"""``sparsetoken predict``: scores of sequences in a file, and the tokens that matter."""

from pathlib import Path
from typing import Annotated, Any

import sparsetoken as st
from sparsetoken.cli.options import AsJson, Data, Model, option, read_as_in_fit, with_options
from sparsetoken.cli.output import (
    as_text,
    check_output,
    message,
    print_json,
    print_measures,
    print_table,
    waiting,
)
from sparsetoken.experiments.table import TABLES, write_table

Columns = dict[str, list[Any]]


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
    from sparsetoken.sequences.passes import seen_in_fit

    others = (model, data, reading.get("labels"))
    for name, path, written in (("--out", out, None), ("--tokens", tokens, out)):
        if path is not None:
            check_output(path, TABLES, name, (*others, written))
    classifier: Any = st.load(model)
    dataset = read_as_in_fit(data, model, reading)
    if seen := int(seen_in_fit(classifier, dataset.sequences).sum()):
        message(
            f"{seen} of the {len(dataset)} sequences of {data} were used to fit this "
            "model: it has seen their labels, so its scores here are too good"
        )
    with waiting("predicting"):
        X = dataset.sequences
        predicted, scores = classifier.predict(X), classifier.decision_function(X)
        table = _predictions(classifier, dataset, predicted, scores, top)
        measures = _measures(classifier, dataset, predicted, scores)
    if tokens is not None:
        write_table(_token_columns(classifier, dataset), tokens)
        message(f"{len(dataset.rows)} tokens: {tokens}")
    texts = {n: list(map(as_text, column)) for n, column in table.items() if n == "top_tokens"}
    if out is not None:
        write_table(table | texts, out)
        message(f"{len(dataset)} rows: {out}")
    if as_json:
        rows = zip(*table.values(), strict=True)
        print_json([dict(zip(table, row, strict=True)) for row in rows])
    elif out is None:
        _print(table, measures, classifier.classes_)
        return
    for measure in measures:
        message(f"{measure.name} {measure}")


def _predictions(classifier: Any, dataset: Any, predicted: Any, scores: Any, top: int) -> Columns:
    """Return one row per sequence: the prediction, probabilities, score, tokens and label."""
    X, names = dataset.sequences, [str(name) for name in classifier.classes_]
    chances = classifier.predict_proba(X)
    at = range(len(X)), [names.index(str(label)) for label in predicted]
    table: Columns = {
        "sequence": list(dataset.ids),
        "predicted": predicted.tolist(),
        "probability": chances[at].tolist(),
        **{f"probability_{name}": chances[:, j].tolist() for j, name in enumerate(names)},
        "score": (scores if scores.ndim == 1 else scores[at]).tolist(),
    }
    if top:
        pairs = ((e.tokens.tolist(), e.weights.tolist()) for e in classifier.explain(X, top=top))
        table["top_tokens"] = [
            [{"token": token, "weight": weight} for token, weight in zip(*pair, strict=True)]
            for pair in pairs
        ]
    if dataset.labels is not None:
        table["label"] = dataset.labels.tolist()
    return table


def _measures(classifier: Any, dataset: Any, predicted: Any, scores: Any) -> list[Any]:
    """Return how good the model is on the sequences whose label it knows."""
    import numpy as np

    from sparsetoken.inspection.measures import judge

    if dataset.labels is None:
        return []
    labels, names = dataset.labels.astype(str), classifier.classes_.astype(str)
    known = np.isin(labels, names)
    if not known.any():
        message(f"the labels of {dataset.path} are none of the model's: {', '.join(names)}")
        return []
    return judge(labels[known], predicted[known].astype(str), scores[known], names)


def _print(table: Columns, measures: list[Any], classes: Any) -> None:
    """Print predictions and measures for people."""
    shown = {n: map(as_text, v) for n, v in table.items() if not n.startswith("probability_")}
    score = f"score for {str(classes[1])!r}; " if len(classes) == 2 else ""
    title = f"probability of the prediction; {score}top tokens, counted from 0, with their weights"
    print_table(list(shown), list(zip(*shown.values(), strict=True)), title)
    if measures:
        print_measures(measures, "on labelled sequences")


def _token_columns(classifier: Any, dataset: Any) -> Columns:
    """Return a table with one row per token, in the order of sequences and positions."""
    sequences, names = dataset.sequences, [str(name) for name in classifier.classes_]
    table: Columns = {"sequence": [], "position": [], "row": dataset.rows.tolist()}
    if dataset.coords is not None:
        table |= zip("xyz", dataset.coords.T.tolist(), strict=False)
    table |= {"weight": [], "contribution": [], "towards": []}
    explanations = classifier.explain(sequences, top=int(sequences.lengths.max()))
    for name, explanation in zip(dataset.ids, explanations, strict=True):
        tokens, weights, contributions, *_ = explanation.by_position()
        label = str(explanation.speaks_for)
        other = names[0] if len(names) == 2 and label == names[1] else f"not {label}"
        table["sequence"] += [name] * len(tokens)
        table["position"] += tokens.tolist()
        table["weight"] += weights.tolist()
        table["contribution"] += contributions.tolist()
        table["towards"] += [label if number >= 0 else other for number in contributions]
    return table
