"""What all figures share; each has a test of its numbers in figures/."""

from inspect import signature

import pytest

from invented_figures import TINY, assert_shown, invented
from sparsetoken.experiments import draw_figure, figure_names
from sparsetoken.experiments.figures import get_figure
from sparsetoken.plotting import select


def test_a_figure_with_failed_cells_is_refused(table):
    settings = {"points": [1.0], "lines": [1.0], "vectorized_points": [1.0], "dim": 4, "trials": 2}
    problem = {"n_tokens": 4, "positive_rate": 1e-6}
    with pytest.raises(RuntimeError, match="cells failed"):
        table("learning-curves", problem=problem, **settings)
    with pytest.raises(ValueError, match="unknown setting of learning-curves 'trails'; did you"):
        table("learning-curves", trails=3)


# For each panel: which rows it shows, and against what.
PANELS = {
    "alignment": [({"quantity": "cosine"}, "alpha0")],
    "learning-curves": [({"quantity": q}, "alpha") for q in ("test_error", "train_loss")],
    "residual-error": [({"model": "attention"}, "cosine")],
    "scaling": [
        ({"quantity": "required_signal"}, "n_tokens"),
        ({"quantity": "test_error"}, "n_tokens"),
        ({"quantity": "oracle_error"}, "n_tokens"),
    ],
    "split": [({"quantity": "test_error"}, "split")],
}


def letters_of(figure):
    """Return what each letter marks: the labels and title of its panel."""
    return {
        text.get_text(): (ax.get_title(), ax.get_xlabel(), ax.get_ylabel().replace("\n", " "))
        for ax in figure.axes
        for text in ax.texts
        if text.get_text() in tuple("abcdef")
    }


def test_every_figure_is_tested():
    assert set(TINY) == set(figure_names())
    for name in figure_names():
        assert get_figure(name).QUICK.keys() <= signature(get_figure(name).data).parameters.keys()
        assert get_figure(name).MINUTES > 0


@pytest.mark.parametrize("name", PANELS)
def test_every_number_is_on_its_panel(name):
    rows = invented(name)
    axes = draw_figure(name, rows).axes
    for i, (chosen, x) in enumerate(PANELS[name]):
        assert_shown(axes[min(i, len(axes) - 1)], select(rows, **chosen), x)
    for ax in axes:
        assert ax.get_xlabel()
    assert axes[0].get_ylabel()


@pytest.mark.parametrize("name", TINY)
def test_a_column_stacks_the_panels(name):
    rows = invented(name)
    wide, narrow = draw_figure(name, rows), draw_figure(name, rows, width=85, letters=True)
    assert narrow.get_figwidth() == pytest.approx(85 / 25.4)
    assert narrow.get_figheight() <= 240 / 25.4
    lettered = draw_figure(name, rows, width=170, letters=True)
    assert letters_of(narrow) == letters_of(lettered)  # a letter marks one panel at any width
    panels = [ax for ax in narrow.axes if ax.get_subplotspec()]
    assert len({ax.get_subplotspec().colspan.start for ax in panels}) == 1
    letters = "abcdef"[: len(panels)] if len(panels) > 1 else ""
    found = [t.get_text() for ax in panels for t in ax.texts if t.get_text() in tuple("abcdef")]
    assert "".join(found) == letters
    assert sorted(ax.get_title() for ax in narrow.axes) == sorted(
        ax.get_title() for ax in wide.axes
    )
