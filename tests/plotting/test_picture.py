"""Layout and files of pictures."""

import pytest
from PIL import Image

from invented_figures import invented
from sparsetoken.experiments import draw_figure
from sparsetoken.plotting import new_figure, save_picture
from sparsetoken.plotting.picture import with_subscripts


@pytest.mark.parametrize(("width", "columns"), [(3.0, 1), (4.5, 1), (6.7, 3)])
def test_panels_keep_their_order_in_any_layout(width, columns):
    figure, axes = new_figure(1, 3, width=width)
    assert axes.shape == (1, 3)
    assert [figure.axes.index(ax) for ax in axes[0]] == [0, 1, 2]
    assert axes[0][0].get_gridspec().ncols == columns


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
