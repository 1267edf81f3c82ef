"""Tables and waiting for people; outputs that cannot be written."""

import os
import subprocess
import sys
import threading

from rich.progress import Progress

import sparsetoken


def test_names_are_whole_in_a_narrow_terminal():
    import pty

    code = "from sparsetoken.cli import main; main(['figure'])"
    leader, follower = pty.openpty()
    environment = os.environ | {"COLUMNS": "40", "TERM": "xterm", "NO_COLOR": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, stdout=follower, check=False)
    os.close(follower)
    shown = b""
    try:
        while part := os.read(leader, 4096):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(leader)
    for name in sparsetoken.experiments.figure_names():
        assert name.encode() in shown


def test_a_bad_output_fails_before_anything_is_read(refused, tmp_path):
    data = tmp_path / "missing.csv"
    refused(("fit", data, "--out", tmp_path / "no" / "model.npz"), 1, "there is no folder")
    refused(("fit", data, "--out", tmp_path / "model.txt"), 2, "--out must end in .npz")
    (tmp_path / "model.npz").mkdir()
    refused(("fit", data, "--out", tmp_path / "model.npz"), 1, "may not be written to")
    for option in ("--out", "--tokens"):
        wrong = tmp_path / "table.txt"
        refused(("predict", data, data, option, wrong), 2, f"{option} must end in .csv, .parquet")


def fail(*_):
    raise OSError(28, "No space left on device")


def test_a_place_that_cannot_be_written_is_found_before_the_fit(refused, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: fail())
    model = tmp_path / "model.npz"
    refused(("fit", tmp_path / "missing.csv", "--out", model), 1, "may not be written to: No space")


def test_waiting_shows_on_a_terminal_only(monkeypatch, capsys):
    from sparsetoken.cli import output

    with output.waiting("fitting"):
        pass
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    with output.waiting("fitting"):
        pass  # too short to be worth it
    assert capsys.readouterr().err == ""
    started = threading.Event()
    monkeypatch.setattr(Progress, "start", lambda self: started.set())
    monkeypatch.setattr(output, "_PATIENCE", 0.0)
    with output.waiting("fitting"):
        assert started.wait(10)


def test_what_waiting_is_told_is_shown(monkeypatch):
    from sparsetoken.cli import output

    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    shown = []
    monkeypatch.setattr(Progress, "update", lambda self, task, **news: shown.append(news))
    with output.waiting("cells", counted=True) as counted, output.waiting("fitting") as said:
        counted(3, 8)
        said("judging")
    assert shown == [{"completed": 3, "total": 8}, {"description": "judging"}]


def test_cells_of_a_table():
    from sparsetoken.cli.output import as_text

    assert as_text([{"token": 4, "weight": 0.256}, {"token": 1, "weight": 0.1}]) == "4:0.26 1:0.10"
    assert as_text({"pooled": 0.123456, "trees": 1}) == "pooled 0.1235, trees 1"
    assert as_text(["a", 2.0]) == "a 2"
