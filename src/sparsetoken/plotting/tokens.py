"""A picture of one explained sequence."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sparsetoken.plotting.picture import COLUMN, finish, new_figure, styled
from sparsetoken.plotting.style import caption
from sparsetoken.vocabulary import SPEAKS


def explanation(explained: Any, texts: Sequence[str] | None = None) -> Figure:
    """Draw the attention that each token of a sequence got, and what it added to the score.

    Parameters
    ----------
    explained : Explanation
        One of those that ``explain`` returns; with ``top`` as large as the sequence, all its tokens
        are drawn.
    texts : sequence of str, optional
        The text of each token of the sequence, by position.

    Returns
    -------
    figure : matplotlib.figure.Figure
        To be changed, or saved with :func:`save_picture`. Colors are those of a report: blue tokens
        speak for the label, orange ones against it.

    Examples
    --------
    >>> import sparsetoken as st
    >>> X, y = st.SparseTokenProblem(n_tokens=10, signal=5.0).sample(200, 20, random_state=0)
    >>> clf = st.TwoStepAttentionClassifier(random_state=0).fit(X, y)
    >>> figure = st.plotting.explanation(clf.explain(X[:1], top=10)[0])
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['attention', 'adds to score']
    """
    tokens, attention, added, *_ = explained.by_position()
    colors = [SPEAKS["for" if value >= 0 else "against"] for value in added]
    with styled():
        figure, axes = new_figure(2, 1, width=1.25 * COLUMN, height=0.7 * COLUMN)
        (weights,), (contributions,) = axes
        weights.sharex(contributions)
        weights.bar(tokens, attention, color=colors)
        weights.set_ylabel("attention")
        weights.tick_params(labelbottom=False)
        contributions.bar(tokens, added, color=colors)
        contributions.axhline(0.0, color="0.3", lw=0.6)
        contributions.set(xlabel="token", ylabel="adds to score")
        contributions.xaxis.set_major_locator(MaxNLocator(integer=True))
        if texts is not None:
            contributions.set_xticks(tokens, [texts[token] for token in tokens], rotation=90)
        title = f"Blue tokens speak for {explained.speaks_for!r}, orange ones against it"
        caption(figure, [], title, [_sum(explained)])
        return finish(figure, title=True)


def _sum(explained: Any) -> str:
    """Say what the score is made of."""
    drawn = float(explained.contributions.sum())
    rest = explained.score - explained.baseline - explained.whole - drawn
    terms = [(f"{len(explained.tokens)} tokens", drawn), ("other tokens", rest)]
    terms += [("the sequence as a whole", explained.whole)]
    said = [f"{name} {value:+.2f}" for name, value in terms if abs(value) >= 0.005]
    return f"Score {explained.score:.2f}: baseline {explained.baseline:.2f}, {', '.join(said)}"
