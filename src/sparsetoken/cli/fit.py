"""``sparsetoken fit``: a classifier of labelled sequences in a file."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import sparsetoken as st
from sparsetoken.cli.options import AsJson, Data, option, with_options
from sparsetoken.cli.output import (
    as_text,
    check_output,
    message,
    print_measures,
    print_result,
    waiting,
)
from sparsetoken.vocabulary import PARAMETERS


class Kind(StrEnum):
    """The classifiers, by the names of their classes."""

    SparseTokenClassifier = "sparse-token"
    AttentionClassifier = "attention"
    TwoStepAttentionClassifier = "two-step"
    PooledClassifier = "pooled"
    VectorizedClassifier = "vectorized"


@with_options("by", "label", "labels", "features", "ignore", "group", "layer")
def fit(
    data: Data,
    out: Annotated[Path, option("Where the model goes.")] = Path("model.npz"),
    model: Annotated[Kind, option("The classifier.")] = Kind.SparseTokenClassifier,
    reg: Annotated[
        float | None, option("Ridge. By default attention chooses it, others take 0.01.")
    ] = None,
    held_out: Annotated[
        float, option("Fraction of the sequences kept back to judge the model; 0 for none.")
    ] = 0.2,
    random_state: Annotated[int, option(PARAMETERS["random_state"].help, min=0)] = 0,
    as_json: AsJson = False,
    **reading: Any,
) -> None:
    """Fit a classifier to labelled sequences and save it.

    First it is judged on held-out sequences, then fitted to all of them. The model remembers its
    columns, so predict needs no options to read a file of the same kind.
    """
    if not 0.0 <= held_out < 1.0:
        raise ValueError(f"--held-out must be a number in [0, 1), got {held_out:g}")
    check_output(out, [".npz"], others=(data, reading.get("labels")))
    with waiting(f"reading {data}"):
        everything = st.read_dataset(data, **reading)
    dataset = everything.with_labels()
    classifier = _classifier(model, reg, random_state)
    report: dict[str, Any] = {"model": model.value, "sequences": len(dataset)}
    measures = []
    if held_out:
        with waiting("judging on held-out sequences"):
            measures, report["held_out"] = _judge(classifier, dataset, held_out, random_state)
    with waiting("fitting"):
        _fit(classifier, dataset, slice(None))
    report["classes"] = [str(name) for name in classifier.classes_]
    report |= {"members": classifier.members_, "query_reliability": classifier.query_reliability_}
    st.save(classifier, out, notes={"roles": dataset.roles.to_dict()})
    report["file"] = str(out)
    message(everything.label_summary)
    for measure in measures if as_json else ():
        name = f"held_out_{measure.name.lower().replace(' ', '_').replace('%', 'percent')}"
        report |= {name: measure.value, f"{name}_interval": [measure.low, measure.high]}
    lines = [(name.replace("_", " "), as_text(value)) for name, value in report.items()]
    print_result(as_json, report, ("fitted", ""), lines)
    if measures and not as_json:
        print_measures(measures, "on held-out sequences")


def _classifier(kind: Kind, reg: float | None, random_state: int) -> Any:
    classifier = getattr(st, kind.name)()
    parameters = classifier.get_params()
    if reg is not None and "reg" not in parameters:
        raise ValueError(f"--reg is not for --model {kind}, which chooses it")
    settings = {"reg": reg, "random_state": random_state}
    kept = {n: v for n, v in settings.items() if n in parameters and v is not None}
    return classifier.set_params(**kept)


def _fit(classifier: Any, dataset: Any, rows: Any) -> None:
    """Fit to these rows; groups stay together in the folds of a classifier that has any."""
    from sklearn.utils.validation import has_fit_parameter

    options = {}
    if dataset.groups is not None and has_fit_parameter(classifier, "groups"):
        options["groups"] = dataset.groups[rows]
    classifier.fit(dataset.sequences[rows], dataset.labels[rows], **options)


def _judge(classifier: Any, dataset: Any, fraction: float, random_state: int) -> Any:
    """Return measures on held-out sequences of a fit to the others, and how many these are."""
    from sparsetoken.inspection.measures import hold_out, judge

    labels = dataset.labels
    try:
        kept, tested = hold_out(labels, dataset.groups, fraction, random_state)
    except ValueError as error:
        raise ValueError(f"--held-out {fraction:g}: {error}; 0 holds none out") from None
    _fit(classifier, dataset, kept)
    held = dataset.sequences[tested]
    predicted, scores = classifier.predict(held), classifier.decision_function(held)
    return judge(labels[tested], predicted, scores, classifier.classes_), len(tested)
