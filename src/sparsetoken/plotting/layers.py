"""The picture of a choice between layers."""

from typing import Any

from matplotlib.figure import Figure

from sparsetoken.plotting.picture import COLUMN, finish, new_figure, styled
from sparsetoken.plotting.style import caption
from sparsetoken.vocabulary import COLORS

_MOST_NAMES = 16  # of numbered layers: more labels would overlap


def draw_layers(data: dict[str, Any]) -> Figure:
    """Draw the held-out AUC of each layer with its interval.

    Parameters
    ----------
    data : dict
        What :meth:`sparsetoken.planner.LayerChoice.to_dict` returns.

    Returns
    -------
    figure : matplotlib.figure.Figure
        To be changed, or saved with :func:`save_picture`.

    Examples
    --------
    >>> from sparsetoken.plotting import draw_layers
    >>> rows = [{"layer": "12", "auc": [0.7, 0.6, 0.8]}, {"layer": "20", "auc": [0.9, 0.8, 0.95]}]
    >>> figure = draw_layers({"best": "20", "as_good": ["20"], "layers": rows})
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['12', '20']
    """
    names = [str(row["layer"]) for row in data["layers"]]
    numbers = [float(name) for name in names if name.isdecimal()]
    x = numbers if len(numbers) == len(names) else [float(place) for place in range(len(names))]
    with styled():
        figure, axes = new_figure(1, 1, width=1.25 * COLUMN)
        ax = axes[0][0]
        for place, row in zip(x, data["layers"], strict=True):
            auc, low, high = row["auc"]
            good = row["layer"] in data["as_good"]
            ax.errorbar(
                place,
                auc,
                yerr=[[auc - low], [high - auc]],
                fmt="*" if row["layer"] == data["best"] else "o",
                color=COLORS[0],
                ms=9 if row["layer"] == data["best"] else None,
                markerfacecolor=COLORS[0] if good else "white",
                capsize=1.5,
            )
        ax.axhline(0.5, ls="--", lw=0.8, color="0.55", zorder=1)
        if len(names) <= _MOST_NAMES or x is not numbers:
            ax.set_xticks(x, names)
        ax.margins(x=0.08)
        ax.set(xlabel="layer", ylabel="AUC of held-out sequences")
        answer = f"Layer {data['best']} is best"
        caption(figure, [], answer, ["Filled: may be as good; 95 % intervals; dashed: chance"])
        return finish(figure, title=True)
