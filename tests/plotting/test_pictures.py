"""Each figure is drawn from a table of invented numbers: every one of them must be on the axes."""

import math

import numpy as np
import pytest
from PIL import Image

from sparsetoken.experiments import draw_figure, figure_names
from sparsetoken.experiments.figures import get_recipe
from sparsetoken.plotting import new_figure, save_picture, select
from sparsetoken.plotting.picture import with_subscripts

TINY = {
    "alignment": {"signals": [3.0, 8.0], "lines": [1.0, 10.0], "points": [2.0]},
    "attention-map": {"n_sequences": 3, "dim": 20},
    "capacity": {"lines": [0.5, 1.5], "ratios": [0.5, 1.5], "dims": [10, 20]},
    "depth": {"cosines": [0.8], "depths": [0, 1], "points": [0, 1]},
    "joint-training": {"lines": [2.0, 4.0], "points": [2.0, 4.0], "budgets": [1.0, 4.0]},
    "learning-curves": {"lines": [1.0, 4.0], "points": [1.0, 2.0], "vectorized_points": [1.0]},
    "length-shift": {"lines": [10, 40], "points": [10, 40], "window_points": 1024},
    "long-limits": {"lengths": [3, 30]},
    "long-sequences": {"ratios": [0.5, 1.0], "dims": [100, 200], "budget_lengths": [50, 500]},
    "hard-phase": {
        "lengths": [10, 100, 1000],
        "length_points": [30, 300],
        "alphas": [0.1, 1.0],
        "lines": [0.1, 1.0],
        "points": [0.1, 1.0],
    },
    "optimal": {
        "lines": [0.5, 4.0],
        "points": [0.5, 4.0],
        "descent_lines": [0.5, 4.0],
        "joint_lines": [2.0, 4.0],
    },
    "residual-error": {"lines": [-0.5, 0.5], "points": [0.0], "sharpness": [1.0, 2.0]},
    "scaling": {
        "lengths": [10, 100],
        "longest_integrated": 10,
        "trained_lengths": [4, 40],
        "trained_points": [4, 40],
    },
    "sensitivity": {
        "readout_rates": [0.5, 1.0, 2.0],
        "bias_rates": [0.0, 2.0],
        "positive_rates": [0.2, 0.8],
        "positive_points": [0.5],
        "betas": [0.5, 2.0],
        "beta_points": [1.0],
    },
    "split": {"alphas": [1.0, 2.0], "lines": [0.2, 0.5, 0.8], "points": [0.5]},
}
# For each panel: which rows it shows, and against what.
PANELS = {
    "alignment": [({"quantity": "cosine"}, "alpha0")],
    "depth": [({"n_signal": n}, "depth") for n in (1, 3)],
    "joint-training": [
        ({"panel": "steps", "curve": "fresh", "quantity": "test_error"}, "steps"),
        ({"panel": "minimum", "quantity": "test_error"}, "alpha"),
        ({"panel": "steps", "curve": "fresh", "quantity": "cosine"}, "steps"),
        ({"panel": "budget", "quantity": "test_error"}, "alpha"),
    ],
    "optimal": [({"quantity": q}, "alpha") for q in ("test_error", "cosine")],
    "learning-curves": [({"quantity": q}, "alpha") for q in ("test_error", "train_loss")],
    "length-shift": [
        ({"quantity": q}, "test_n_tokens") for q in ("test_error", "false_positives", "recall")
    ],
    "long-limits": [
        ({"panel": "many"}, "sharpness"),
        ({"panel": "few"}, "sharpness"),
        ({"panel": "lock"}, "n_tokens"),
    ],
    "long-sequences": [
        ({"panel": "proportional", "quantity": "cosine"}, "dim"),
        ({"panel": "proportional", "quantity": "test_error"}, "dim"),
        ({"panel": "budget"}, "n_tokens"),
    ],
    "residual-error": [({"model": "attention"}, "cosine")],
    "scaling": [
        ({"quantity": "required_signal"}, "n_tokens"),
        ({"quantity": "test_error"}, "n_tokens"),
        ({"quantity": "oracle_error"}, "n_tokens"),
    ],
    "split": [({"quantity": "test_error"}, "split")],
}


def invented(name, **settings):
    """Return the table of a figure at tiny size, its numbers drawn at random."""
    recipe = get_recipe(name)
    data = recipe.data(**recipe.settings(**(TINY[name] | settings)))
    if isinstance(data, list):
        return data
    rng = np.random.default_rng(0)
    return [
        cell.values
        | {"source": cell.source, "quantity": quantity, "value": rng.uniform(0.1, 0.9)}
        | {"uncertainty": rng.uniform(0.01, 0.05), "converged": True}
        | dict(grid.columns)
        for grid, cells in data.parts
        for cell in cells
        for quantity in cell.quantities
    ]


def points_on(ax):
    return {
        (round(x, 9), round(y, 9))
        for line in ax.lines
        for x, y in np.column_stack([line.get_xdata(), line.get_ydata()]).tolist()
    }


def bars_on(ax):
    return {
        tuple(np.round([segment[0, 0], *segment[:, 1]], 9).tolist())
        for container in ax.containers
        for bars in container[2]
        for segment in bars.get_segments()
    }


def assert_shown(ax, rows, x):
    assert rows
    points, bars = points_on(ax), bars_on(ax)
    for row in rows:
        assert (round(row[x], 9), round(row["value"], 9)) in points, row
        if row["source"] == "simulation":
            ends = row["value"] - row["uncertainty"], row["value"] + row["uncertainty"]
            assert tuple(np.round([row[x], *ends], 9).tolist()) in bars, row


def test_every_figure_is_tested():
    assert set(TINY) == set(figure_names())
    for name in figure_names():
        recipe = get_recipe(name)
        assert recipe.name == name
        assert recipe.settings(quick=True).keys() == recipe.full.keys()


@pytest.mark.parametrize("name", PANELS)
def test_every_number_is_on_its_panel(name):
    rows = invented(name)
    axes = draw_figure(name, rows).axes
    for i, (chosen, x) in enumerate(PANELS[name]):
        assert_shown(axes[min(i, len(axes) - 1)], select(rows, **chosen), x)
    for ax in axes:
        assert ax.get_xlabel()
    assert axes[0].get_ylabel()


def test_alignment_shows_the_distance_from_one():
    rows = invented("alignment")
    ax = draw_figure("alignment", rows).axes[1]
    shown = points_on(ax)
    for row in select(rows, quantity="cosine", source="theory"):
        assert (row["alpha0"], round(1 - row["value"], 9)) in shown
    for row in select(rows, quantity="misalignment"):
        assert (10.0, round(row["value"] / 10, 9)) in shown


def test_capacity_is_drawn_in_units_of_itself():
    rows = invented("capacity")
    axes = draw_figure("capacity", rows).axes
    for i, limit in enumerate(select(rows, quantity="capacity")):
        mine = [
            row | {"ratio": row["alpha"] / limit["value"]}
            for row in select(rows, model=limit["model"])
            if "alpha" in row
        ]
        assert_shown(axes[i], select(mine, quantity="separable"), "ratio")
        assert_shown(axes[3 + i], select(mine, quantity="train_loss"), "ratio")
        assert f"{limit['value']:.2f}" in axes[i].get_title()


def test_sensitivity_has_a_map_and_two_curves_for_each_quantity():
    rows = invented("sensitivity")
    axes = draw_figure("sensitivity", rows).axes
    for start, quantity in ((0, "cosine"), (3, "test_error")):
        here = select(rows, quantity=quantity)
        rates = {(r["lr_bias"], r["lr_readout"]): r["value"] for r in select(here, panel="rates")}
        expected = [rates[key] for key in sorted(rates)]
        assert axes[start].collections[0].get_array().ravel().tolist() == expected
        assert_shown(axes[start + 1], select(here, panel="positives"), "positive_rate")
        assert_shown(axes[start + 2], select(here, panel="beta"), "beta")


def test_joint_minimum_is_a_level_that_ends_in_its_simulation():
    rows = invented("joint-training")
    minimum = select(rows, panel="steps", curve="joint", quantity="cosine")
    shown = points_on(draw_figure("joint-training", rows).axes[2])
    for row in minimum:
        places = {x for x, y in shown if y == round(row["value"], 9)}
        assert places == ({1, 1280} if row["source"] == "theory" else {1280})


def test_a_refused_joint_minimum_is_not_drawn():
    rows = invented("joint-training")
    refused = select(rows, panel="minimum", curve="joint", source="theory")
    for row in refused:
        row["converged"] = False
    shown = {y for _, y in points_on(draw_figure("joint-training", rows).axes[1])}
    assert not shown & {round(row["value"], 9) for row in refused}


def test_hard_phase_shows_each_simulation_in_its_half():
    rows = invented("hard-phase")
    axes = draw_figure("hard-phase", rows).axes
    halves = {
        (line.get_xdata()[0], line.get_ydata()[0], line.get_fillstyle()): line.get_color()
        for line in axes[0].lines
        if line.get_marker() == "o"
    }
    simulated = select(rows, panel="phases", source="simulation")
    assert len(halves) == len(simulated)
    for row in simulated:
        half = {100: "left", 400: "right"}[row["dim"]]
        shade = float(halves[row["alpha"], row["n_tokens"], half])
        assert shade == pytest.approx(1.0 - row["value"], abs=1e-3)
    for name in ("information_threshold", "iteration_threshold", "iteration_law"):
        for row in select(rows, quantity=name):
            assert (round(row["value"], 9), row["n_tokens"]) in points_on(axes[0])
    assert_shown(axes[1], select(rows, panel="curve"), "alpha")
    assert {text.get_text() for text in axes[0].texts} == {"impossible", "hard", "easy"}


def test_split_marks_the_best():
    rows = invented("split")
    ax = draw_figure("split", rows).axes[0]
    stars = {
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))
        for line in ax.lines
        if line.get_marker() == "*" and len(line.get_xdata())
    }
    assert len(stars) == 2
    for alpha in (1.0, 2.0):
        theory = select(rows, alpha=alpha, source="theory")
        best = min(theory, key=lambda row: row["value"])
        assert (best["split"], best["value"]) in stars


def test_residual_error_compares_with_pooling():
    rows = invented("residual-error")
    (pooled,) = select(rows, model="pooled")
    assert math.isinf(pooled["alpha"])
    ax = draw_figure("residual-error", rows).axes[0]
    levels = [line.get_ydata() for line in ax.lines if line.get_label() == "pooled, α → ∞"]
    assert [list(level) for level in levels] == [[pooled["value"]] * 2]


def test_attention_map_shows_each_weight_and_marks_the_signal():
    rows = invented("attention-map")
    axes = draw_figure("attention-map", rows).axes
    for ax, label in zip(axes, (1, 0), strict=False):
        here = select(rows, label=label)
        shown = ax.collections[0].get_array().ravel().tolist()
        assert shown == [row["value"] for row in here]
        marked = {(r["token"] + 0.5, r["sequence"] + 0.5) for r in here if r["carries_signal"]}
        assert points_on(ax) == marked


def test_caption_names_the_parameters_and_is_drawn_if_asked_for():
    rows = invented("alignment")
    plain = draw_figure("alignment", rows)
    assert "L = 10" in plain.caption
    assert "d = 2000" in plain.caption
    assert "α₀" not in plain.caption  # it varies
    assert plain.get_suptitle() == ""
    titled = draw_figure("alignment", rows, title=True).get_suptitle()
    assert titled.replace("\n", " ") == plain.caption.replace(". ", " ", 1)


def test_caption_counts_the_points_off_their_lines():
    rows = invented("alignment")
    expected = {(r["signal"], r["alpha0"]): r for r in select(rows, source="theory")}
    simulated = select(rows, source="simulation")
    for row in simulated:
        row["value"] = expected[row["signal"], row["alpha0"]]["value"]
    assert "off their line" not in draw_figure("alignment", rows).caption
    simulated[0]["value"] += 1.0
    assert "2 of 4 are more than 3 standard errors off" in draw_figure("alignment", rows).caption


def letters_of(figure):
    """Return what each letter marks: the labels and title of its panel."""
    return {
        text.get_text(): (ax.get_title(), ax.get_xlabel(), ax.get_ylabel().replace("\n", " "))
        for ax in figure.axes
        for text in ax.texts
        if text.get_text() in tuple("abcdef")
    }


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


@pytest.mark.parametrize(("width", "columns"), [(3.0, 1), (4.5, 1), (6.7, 3)])
def test_panels_keep_their_order_in_any_layout(width, columns):
    figure, axes = new_figure(1, 3, width=width)
    assert axes.shape == (1, 3)
    assert [figure.axes.index(ax) for ax in axes[0]] == [0, 1, 2]
    assert axes[0][0].get_gridspec().ncols == columns


def test_curves_differ_without_their_colors():
    for name in ("learning-curves", "depth", "sensitivity", "split"):
        for ax in draw_figure(name, invented(name)).axes:
            drawn = [line for line in ax.lines if line.get_label()[0] != "_"]
            looks = {(line.get_linestyle(), line.get_marker()) for line in drawn}
            assert len(looks) == len(drawn)


def test_formats(tmp_path):
    figure = draw_figure("split", invented("split"))
    for ending, start in ((".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")):
        path = tmp_path / f"picture{ending}"
        save_picture(figure, path)
        assert path.read_bytes().startswith(start)
    svg = (tmp_path / "picture.svg").read_text()
    assert ">test error</text>" in svg
    assert f"<dc:description>{figure.caption}<" in svg
    assert Image.open(tmp_path / "picture.png").text["Description"] == figure.caption
    pdf = (tmp_path / "picture.pdf").read_bytes()
    assert b"/Type /Font /Subtype /Type3" not in pdf
    assert "How to divide".encode("utf-16-be") in pdf
    again = tmp_path / "again.pdf"
    save_picture(draw_figure("split", invented("split")), again)
    assert again.read_bytes() == pdf
    with pytest.raises(ValueError, match=r"\.png, \.pdf, \.svg, got 'picture.bmp'"):
        save_picture(figure, tmp_path / "picture.bmp")
    with pytest.raises(ValueError, match="unknown figure 'splitt'; did you mean 'split'"):
        draw_figure("splitt", [])
    with pytest.raises(ValueError, match="width must be"):
        draw_figure("split", [], width=3.4)


def test_only_symbols_have_subscripts():
    assert with_subscripts("rate, η_w") == "rate, η$_{w}$"
    assert with_subscripts("needs n_samples at least 88") == "needs n_samples at least 88"
