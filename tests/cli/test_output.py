"""Tables and waiting for people; outputs that cannot be written."""

import os

import pytest

import sparsetoken
from sparsetoken.cli import output


def test_names_are_whole_in_a_narrow_terminal(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("COLUMNS", "40")
    code, out, _ = run("figure")
    assert code == 0
    for name in sparsetoken.experiments.figure_names():
        assert name in out


def test_a_bad_output_fails_before_anything_is_read(refused, tmp_path):
    data = tmp_path / "missing.csv"
    refused(("fit", data, "--out", tmp_path / "no" / "model.npz"), 1, "there is no folder")
    refused(("fit", data, "--out", tmp_path / "model.txt"), 2, "--out must end in .npz")
    (tmp_path / "model.npz").mkdir()
    refused(("fit", data, "--out", tmp_path / "model.npz"), 1, "may not be written to")
    for option in ("--out", "--tokens"):
        wrong = tmp_path / "table.txt"
        refused(("predict", data, data, option, wrong), 2, f"{option} must end in .csv, .parquet")


@pytest.fixture
def bags(tmp_path, monkeypatch):
    """A table of bags and a model of them, in the working directory."""
    monkeypatch.chdir(tmp_path)
    lines = [f"s{i},{i % 2},{i % 2 + j / 7},{i / 9}" for i in range(8) for j in range(2)]
    path = tmp_path / "bags.csv"
    path.write_text("\n".join(["bag,label,a,b", *lines]))
    (tmp_path / "folder").mkdir()
    return path


def names_of(path):
    """Other names of a file: relative, absolute, by a detour, by links."""
    folder = path.parent
    try:
        (folder / "symbolic.csv").symlink_to(path)
    except OSError:
        pytest.skip("this system allows no links")
    os.link(path, folder / "hard.csv")
    (folder / "linked").symlink_to(folder, target_is_directory=True)
    spellings = [path.name, str(path), f"folder/../{path.name}", f"linked/{path.name}"]
    if (folder / path.name.upper()).exists():  # where capitals do not matter
        spellings.append(path.name.upper())
    return [*spellings, "symbolic.csv", "hard.csv"]


def test_no_command_overwrites_what_it_reads(run, refused, bags):
    content = bags.read_text()
    assert run("fit", bags, "--model", "pooled", "--held-out", 0, "--out", "model.npz")[0] == 0
    for name in names_of(bags):
        for option in ("--out", "--tokens"):
            asked = ("predict", "model.npz", bags, option, name)
            refused(asked, 2, f"{option} must be a file of its own, not {bags}")
    bags.with_suffix(".db").symlink_to(bags)  # the results that a sweep beside them would have
    kinds = "kinds = [{probability = 1.0, n_tokens = 5, signal = 5.0}]"
    (bags.parent / "p.png").write_text(kinds)
    data = bags.with_suffix(".npz")
    data.write_bytes(b"data")
    for asked, written in (
        (("fit", data, "--out", data), "--out"),
        (("fit", "x.csv", "--labels", data, "--out", data), "--out"),
        (("fit", "folder", "--out", "folder/model.npz"), "--out"),
        (
            ("predict", "model.npz", bags, "--out", "t.csv", "--tokens", "folder/../t.csv"),
            "--tokens",
        ),
        (("report", "model.npz", "page.html", "--out", "page.html"), "--out"),
        (("sweep", "export", "s.toml", "--store", bags, "--out", "hard.csv"), "--out"),
        (("sweep", "export", bags.with_suffix(".toml"), "--out", bags), "--out"),
        (("plan", "pilot", "p.png", "--error", 0.1, "--plot", "p.png"), "--plot"),
        (("plan", "curve", "p.png", "--error", 0.1, "--plot", "p.png"), "--plot"),
        (
            ("plan", "--population", "p.png", "--dim", 9, "--error", 0.1, "--plot", "p.png"),
            "--plot",
        ),
    ):
        refused(asked, 2, f"{written} must be a file of its own, not ")
    assert bags.read_text() == content
    assert data.read_bytes() == b"data"


def test_waiting_shows_on_a_terminal_only(monkeypatch, capsys):
    def wait():
        with output.waiting("fitting") as say:
            say("judging")
        with output.waiting("cells", counted=True) as count:
            count(3, 8)
        return capsys.readouterr().err

    assert wait() == ""
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    shown = wait()
    assert "judging" in shown
    assert "3/8" in shown


def test_cells_of_a_table():
    as_text = output.as_text
    assert as_text([{"token": 4, "weight": 0.256}, {"token": 1, "weight": 0.1}]) == "4:0.26 1:0.10"
    assert as_text({"pooled": 0.123456, "trees": 1}) == "pooled 0.1235, trees 1"
    assert as_text(["a", 2.0]) == "a 2"
