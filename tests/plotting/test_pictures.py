import pytest

from sparsetoken.plotting import draw, save_picture

ROWS = [
    {"signal": 5.0, "alpha0": a, "source": s, "quantity": "cosine", "value": v, "standard_error": e}
    for s, a, v, e in [
        ("theory", 1.0, 0.8, 0.0),
        ("theory", 10.0, 0.9, 0.0),
        ("simulation", 2.0, 0.85, 0.01),
    ]
]


def test_theory_is_a_line_and_simulation_has_error_bars():
    left, right = draw("alignment", ROWS).axes
    line = left.lines[0]
    assert line.get_xdata().tolist() == [1.0, 10.0]
    assert line.get_ydata().tolist() == [0.8, 0.9]
    (points, _, (bars,)) = left.containers[0]
    assert points.get_linestyle() == "None"
    assert points.get_ydata().tolist() == [0.85]
    assert bars.get_segments()[0][:, 1].tolist() == pytest.approx([0.84, 0.86])
    assert right.lines[0].get_ydata().tolist() == pytest.approx([0.2, 0.1])


def test_caption_names_the_parameters():
    rows = [row | {"n_tokens": 10, "dim": 500} for row in ROWS]
    text = draw("alignment", rows).get_suptitle()
    assert "L = 10" in text
    assert "d = 500" in text
    assert "α₀" not in text  # it varies


def test_formats(tmp_path):
    figure = draw("alignment", ROWS)
    for ending, start in ((".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")):
        path = tmp_path / f"picture{ending}"
        save_picture(figure, path)
        assert path.read_bytes().startswith(start)
    with pytest.raises(ValueError, match=r"\.png, \.pdf, \.svg, got 'picture.bmp'"):
        save_picture(figure, tmp_path / "picture.bmp")
    with pytest.raises(ValueError, match="name must be one of learning-curves"):
        draw("nonsense", ROWS)
