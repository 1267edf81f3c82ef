def test_a_full_figure_says_how_long_it_takes(run, tmp_path):
    arguments = "figure", "attention-map", "--out", tmp_path / "map.png"
    code, _, err = run(*arguments)
    assert code == 0
    assert err.startswith("attention-map takes about 1 min on two processors")
    assert "takes about" not in run(*arguments, "--quick")[2]
