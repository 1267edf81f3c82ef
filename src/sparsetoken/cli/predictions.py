"""What ``sparsetoken predict`` tells: one row per sequence, or one row per token."""

from typing import TYPE_CHECKING, Any

from sparsetoken.cli.output import message

if TYPE_CHECKING:
    from sparsetoken.files import Dataset
    from sparsetoken.inspection.measures import Measure


def predictions(
    classifier: Any, dataset: "Dataset", top: int
) -> "tuple[list[dict[str, Any]], list[Measure]]":
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
    rows: list[dict[str, Any]] = []
    for i, sequence in enumerate(dataset.ids):
        shown = 1 if two else chances[i].argmax()
        rows.append(
            {
                "sequence": sequence,
                "predicted": plain(predicted[i]),
                "probability": float(chances[i, shown]),
                "probabilities": dict(zip(names, chances[i].tolist(), strict=True)),
                "score": float(scores[i] if two else scores[i, shown]),
            }
        )
    if top and hasattr(classifier, "explain"):
        for row, explanation in zip(rows, classifier.explain(X, top=top), strict=True):
            pairs = zip(explanation.tokens.tolist(), explanation.weights.tolist(), strict=True)
            row["top_tokens"] = [{"token": token, "weight": weight} for token, weight in pairs]
    if dataset.labels is None:
        return rows, []
    for row, label in zip(rows, dataset.labels, strict=True):
        row["label"] = plain(label)
    labelled = [i for i, row in enumerate(rows) if str(row["label"]) in names]
    if not labelled:
        message(f"the labels of {dataset.path} are none of the model's: {', '.join(names)}")
        return rows, []
    labels = classes[[names.index(str(rows[i]["label"])) for i in labelled]]
    return rows, judge(labels, predicted[labelled], scores[labelled], classes)


def per_class(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return rows as columns, with one for the probability of each class."""
    columns: dict[str, list[Any]] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name == "probabilities":
            for label in values[0]:
                columns[f"probability_{label}"] = [chances[label] for chances in values]
        else:
            columns[name] = values
    return columns


def token_columns(classifier: Any, dataset: "Dataset") -> dict[str, list[Any]]:
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
        label = str(explanation.label)
        other = two[0] if len(two) == 2 and label == two[1] else f"not {label}"
        table["weight"] += weights.tolist()
        table["contribution"] += contributions.tolist()
        table["towards"] += [label if number >= 0 else other for number in contributions]
    return table


def plain(value: Any) -> Any:
    """Return a number or text of NumPy as one of Python."""
    return value.item() if hasattr(value, "item") else value
