"""``sparsetoken report``: one page about a model and labelled sequences."""

from pathlib import Path
from typing import Annotated, Any

import sparsetoken as st
from sparsetoken.cli.options import Data, Model, option, read_as_in_fit, with_options
from sparsetoken.cli.output import check_output, message, waiting


@with_options("by", "label", "labels", "features", "group", "layer")
def report(
    model: Model,
    data: Data,
    out: Annotated[Path, option("The page.")] = Path("report.html"),
    fpr: Annotated[float, option("False-positive rate of the recall.")] = 0.01,
    error: Annotated[float | None, option("Error to plan for; by default half of today's.")] = None,
    plan: Annotated[
        bool, option("Say what more samples would bring; slow.", "--plan/--no-plan")
    ] = True,
    title: Annotated[str | None, option("Heading; by default the file's name.")] = None,
    **reading: Any,
) -> None:
    """Write a page that a colleague can read: how good, which signal, which tokens, what next.

    The model is judged by sequences that it was not trained on. If these are fewer than ten of a
    class, all are scored by refits that did not see them. The page is one file that needs no
    network.
    """
    check_output(out, [".html"], others=(model, data, reading.get("labels")))
    classifier: Any = st.load(model)
    dataset = read_as_in_fit(data, model, reading).with_labels()
    with waiting("judging; refits and the plan may take a minute"):
        evidence = st.report(
            classifier,
            dataset.sequences,
            dataset.labels,
            out,
            title=title or f"{data.stem}: {type(classifier).__name__}",
            groups=dataset.groups,
            fpr=fpr,
            error=error,
            plan=plan,
        )
    for measure in evidence.measures:
        message(f"{measure.name} {measure}")
    if evidence.no_recall:
        message(evidence.no_recall)
    message(f"report: {out}")
