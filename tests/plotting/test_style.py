"""Captions, and curves that differ without their colors."""

from invented_figures import invented
from sparsetoken.experiments import draw_figure
from sparsetoken.plotting import select


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
    assert "1 of 2 are more than 3 standard errors off" in draw_figure("alignment", rows).caption


def test_curves_differ_without_their_colors():
    for name in ("learning-curves", "sensitivity", "split"):
        for ax in draw_figure(name, invented(name)).axes:
            drawn = [line for line in ax.lines if line.get_label()[0] != "_"]
            looks = {(line.get_linestyle(), line.get_marker()) for line in drawn}
            assert len(looks) == len(drawn)
