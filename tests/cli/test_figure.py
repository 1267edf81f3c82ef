"""Named figures."""

import json


def test_figure_lists_and_draws(refused, run, tmp_path):
    code, out, _ = run("figure")
    assert code == 0
    assert "attention-map" in out
    for ending, start in ((".svg", b"<?xml"), (".pdf", b"%PDF")):
        picture = tmp_path / f"map{ending}"
        style = ("--width", "85", "--letters", "--title")
        code, out, err = run(
            "figure", "attention-map", "--quick", "--out", picture, "--json", *style
        )
        assert code == 0, err
        assert json.loads(out)["table"] == str(tmp_path / "map.csv")
        assert "L = 20" in json.loads(out)["caption"]
        assert picture.read_bytes().startswith(start)
    refused(("figure", "split", "--width", "8.5"), 2, "40")
    refused(("figure", "aligment"), 2, "did you mean 'alignment'")
    refused(("figure", "split", "--out", tmp_path / "a.jpg"), 2, ".png, .pdf, .svg")
    refused(("figure", "split", "--out", tmp_path / "no" / "a.png"), 1, "there is no folder")


def test_a_full_figure_says_how_long_it_takes(run, tmp_path):
    arguments = "figure", "attention-map", "--out", tmp_path / "map.png"
    code, _, err = run(*arguments)
    assert code == 0
    assert err.startswith("attention-map takes about 1 min on two processors")
    assert "takes about" not in run(*arguments, "--quick")[2]
