"""A report of a fitted classifier that a colleague can read: one page, no network."""

from os import PathLike
from typing import Any

from sparsetoken._replace import replaced
from sparsetoken._validation import check_real
from sparsetoken.reporting.evidence import Evidence, gather
from sparsetoken.reporting.page import render

__all__ = ["Evidence", "gather", "report"]


def report(
    classifier: Any,
    X: Any,
    y: Any,
    path: str | PathLike[str],
    *,
    groups: Any = None,
    fpr: float = 0.01,
    error: float | None = None,
    plan: bool = True,
    title: str = "Report",
    token_texts: dict[str, list[str]] | None = None,
    random_state: int = 0,
) -> Evidence:
    """Write a page about a fitted classifier and labelled sequences.

    The classifier is judged by the sequences that it was not trained on. If these are fewer than
    ten of a class, all sequences are scored by refits that did not see them.

    Parameters
    ----------
    classifier : object
        A fitted classifier of this package.
    X, y : as in ``fit``
        Labelled sequences.
    path : str or path
        The page, usually ``*.html``; an existing one is replaced when the new one is complete.
    groups : array-like of shape (n,), optional
        Sequences of one group are never split between training and judging, nor between the folds
        of a refit.
    fpr : float, default=0.01
        False-positive rate at which recall is shown.
    error : float, optional
        Error to plan for; by default half of what is observed.
    plan : bool, default=True
        Whether to show the learning curve and what more samples would buy; the slowest part.
    title : str, default="Report"
        Heading of the page.
    token_texts : dict of str to list of str, optional
        Text of each token, by name of the sequence.
    random_state : int, default=0
        Decides the folds.

    Returns
    -------
    evidence : Evidence
        The numbers on the page.
    """
    fpr = check_real("fpr", fpr, 0.0, 1.0, above=True)
    evidence = gather(
        classifier, X, y, groups=groups, fpr=fpr, error=error, plan=plan, random_state=random_state
    )
    with replaced(path) as file:
        file.write_text(render(evidence, title, token_texts), encoding="utf-8")
    return evidence
