"""A visitor's own data: what is found out, what is refused, and that nothing is left behind."""

import io
import json
import pickle
import socket
import time
import zipfile
from contextlib import suppress
from urllib.parse import urlencode, urlsplit

import numpy as np
import psutil
import pytest

import sparsetoken as st
from sparsetoken.app import data
from sparsetoken.app.data import _read_file, in_page_words, study


def table(n_sequences=60, dim=3):
    """Return labelled sequences of one to five tokens as the text of a CSV file."""
    X, y = st.SparseTokenProblem(5, 1, 6.0).sample(n_sequences, dim, random_state=0)
    lines = ["bag,label,a,b,c"]
    for i in range(n_sequences):
        for token in X[i, : 2 + i % 4] if not y[i] else X[i]:
            numbers = ",".join(f"{number:.3f}" for number in token)
            lines.append(f"bag {i},{'ill' if y[i] else 'well'},{numbers}")
    return "\n".join(lines) + "\n"


def put(server, body, name="bags.csv", visitor="own-data", **options):
    query = urlencode({"visitor": visitor, "name": name, **options})
    return server.ask("PUT", f"/api/data?{query}", body)


def leave(server, visitor="own-data"):
    assert server.ask("POST", f"/api/visitors/{visitor}/leave").status == 204


def ended(server, key):
    deadline = time.monotonic() + 120
    while True:
        status = server.ask("GET", f"/api/jobs/{key}?visitor=own-data").json
        if status["state"] != "running":
            return status
        assert time.monotonic() < deadline
        time.sleep(0.1)


def studied(path, error=0.2, **columns):
    """Return the progress of a study, as it is sent."""
    steps = []
    study(path, "bags.csv", columns, error, steps.append)
    return steps


def test_a_study(tmp_path):
    path = tmp_path / "bags.csv"
    path.write_text(table(40))
    steps = studied(path)
    assert steps[0].message == "reading"
    assert steps[-1].done == steps[-1].total
    assert any("training" in step.message for step in steps)
    assert steps[0].content is None
    assert [step.content.roc is None for step in steps[1:]] == [step.done < 2 for step in steps[1:]]
    known = steps[-1].content
    assert known.read["sequences"] == "40"
    assert known.read["features of a token"] == "3 (a, b, c)"
    assert known.sentence.startswith("A classifier of 30 sequences labels ")
    assert known.members.keys() >= {"attention", "pooled", "statistics"}
    assert "takes 100 sequences of the other class, not " in known.held_out["recall"]
    assert sum(map(float, known.members.values())) == pytest.approx(1.0, abs=0.02)
    assert known.roc.curves[0].x[-1] == known.roc.curves[0].y[-1] == 1.0
    assert len(known.sequences) == 10
    for shown in known.sequences:
        assert sum(sum(line.y) for line in shown.panel.curves) == pytest.approx(1.0)
        assert shown.label in ("ill", "well")
        sides = {line.name.split()[1]: line.color for line in shown.panel.curves}
        assert sides == {"for": "#0072B2", "against": "#D55E00"}  # as in a report
    assert known.diagnosis
    fan = known.plan.panels[0].curves[0]
    assert np.all(np.array(fan.low) <= np.array(fan.high))
    json.loads(steps[-1].model_dump_json())


def three_classes(n_sequences=60):
    """Return sequences of three classes in six groups, and noise in all of them, as a CSV file."""
    rng = np.random.default_rng(0)
    lines = ["case,site,kind,a,b"]
    for i in range(n_sequences):
        for a, b in rng.normal(size=(3, 2)):
            lines.append(f"case {i},site {i // 10},kind {i % 3},{a:.3f},{b:.3f}")
    return "\n".join(lines) + "\n"


@pytest.mark.system
def test_three_classes_and_groups(tmp_path):
    path = tmp_path / "bags.csv"
    path.write_text(three_classes())
    known = studied(path, by="case", label="kind", group="site", ignore="b")[-1].content
    assert known.read["features of a token"] == "1 (a)"
    *classes, chance = known.roc.curves
    assert [line.name for line in classes] == ["for kind 0", "for kind 1", "for kind 2"]
    assert len({line.color for line in classes}) == 3
    assert chance.color is None
    sites = {int(shown.name.split()[1]) // 10 for shown in known.sequences}
    assert len(sites) < 6  # those held out are of sites of their own
    # The data are noise; what more samples would do is said once, by the plan.
    assert "nothing beats chance" in known.diagnosis
    assert "More samples" not in known.diagnosis


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"by": "nothing"}, "nothing"),
        ({"label": "a"}, "a"),
    ],
    ids=str,
)
def test_columns_can_be_named(tmp_path, columns, words):
    path = tmp_path / "1.csv"
    path.write_text(table(8))
    with pytest.raises(ValueError, match=words) as refused:
        studied(path, **columns)
    assert str(path) not in str(refused.value)


@pytest.mark.system
@pytest.mark.parametrize(
    "text",
    [
        "bag,a\n1,2\n1,3\n2,4\n",
        "case,label,a\n1,x,2\n2,y,3\n",
        "bag,label,a,b\n1,x,2,one\n2,y,3,two\n",
        "bag,label,a,b\n1,x,2,7\n1,x,3,7\n2,y,3,8\n2,y,4,8\n",
        "bag,label,a\n1,x,2\n2,y,3\n2,y,4\n3,y,4\n",
    ],
)
def test_remedies_are_fields_of_the_page(tmp_path, text):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"\w") as refused:
        studied(path)
    assert "--" not in str(refused.value)
    assert str(tmp_path) not in str(refused.value)


def test_options_and_arguments_become_fields():
    field = "“Column of the label”", "“Columns to leave out”", "“Column of the sequence”"
    assert in_page_words("say --label x, or --ignore x by --by") == (
        f"say {field[0]} x, or {field[1]} x by {field[2]}"
    )
    assert in_page_words("say label='x', or ignore='x' with by=; the label is") == (
        f"say {field[0]} 'x', or {field[1]} 'x' with {field[2]}; the label is"
    )


def test_too_many_numbers_are_refused_before_anything_is_fitted(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "_MOST_NUMBERS", 100)
    path = tmp_path / "1.csv"
    path.write_text(table(20))
    with pytest.raises(ValueError, match="use 'sparsetoken fit' on the command line"):
        studied(path)


class Trap:
    def __reduce__(self):
        return (open, ("/tmp/sparsetoken-trap", "w"))


def bomb():
    """Return an archive of a few kilobytes that holds gigabytes of zeros."""
    packed = io.BytesIO()
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (500_000_000, 1)}
    )
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w", force_zip64=True) as file,
    ):
        file.write(header.getvalue())
        for _ in range(40):
            file.write(bytes(1_000_000))
    return packed.getvalue()


def objects():
    packed = io.BytesIO()
    np.savez(packed, X=np.array([Trap()], dtype=object), y=np.array([1]))
    return packed.getvalue()


def test_bombs_are_refused_by_their_headers(tmp_path):
    path = tmp_path / "bags.npz"
    path.write_bytes(bomb())
    words = r"^bags\.csv holds \S+ million numbers; the page takes 20 million: use 'sparsetoken fit"
    with pytest.raises(ValueError, match=words):
        studied(path)


def test_a_layer_can_be_chosen(tmp_path):
    layers = {f"layer_{k}": np.random.default_rng(k).normal(size=(24, 5, 3)) for k in (4, 8)}
    np.savez(tmp_path / "bags.npz", y=np.arange(24) % 2, **layers)
    with pytest.raises(ValueError, match="say which with “Layer”"):
        studied(tmp_path / "bags.npz")
    data = _read_file(tmp_path / "bags.npz", {"layer": 8})
    assert data.sequences.tokens[:5] == pytest.approx(layers["layer_8"][0])


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("model.pkl", pickle.dumps(Trap())),
        ("bags.npz", pickle.dumps(Trap())),
        ("bags.npz", objects()),
        ("bags.npz", bomb()),
        ("bags.npz", b"PK\x03\x04 and nonsense"),
        ("bags.csv", b"\xff\xfe\x00"),
        ("bags.csv", b"bag,label,x\n1,a,one\n"),
        ("bags.csv", b""),
        ("bags.parquet", b"PAR1"),
        ("bags.h5", b"nonsense"),
        ("../../etc/passwd", b"root"),
        ("x" * 200, b""),
    ],
    ids=lambda part: part if isinstance(part, str) else str(len(part)),
)
def test_hostile_files_are_refused_with_a_sentence(server, name, body):
    reply = put(server, body, name)
    assert reply.status == 200
    status = ended(server, reply.json["key"])
    assert status["state"] == "failed"
    assert status["message"].endswith(".")
    assert "Traceback" not in status["message"]
    assert "died" not in status["message"]
    assert str(server.folder) not in status["message"]
    leave(server)
    assert server.files() == []


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.system
def test_files_are_deleted_when_their_visitor_leaves_or_the_study_ends(server):
    for visitor in ("own-data", "other-visitor"):
        for _ in range(2):  # the second takes the place of the first
            put(server, table(), visitor=visitor)
    assert [path.name for path in server.files()] == ["bags.csv"] * 2
    leave(server)
    assert len(server.files()) == 1
    leave(server, "other-visitor")
    assert server.files() == []
    put(server, b"bag,label\n")
    until(lambda: server.files() == [])


@pytest.mark.system
def test_an_upload_that_is_cut_off_or_too_large_leaves_nothing(server):
    head = "PUT /api/data?visitor=own-data&name=x.csv HTTP/1.1\r\nHost: localhost\r\n"
    chunk = f"{1_000_000:x}\r\n".encode() + bytes(1_000_000) + b"\r\n"
    address = "127.0.0.1", urlsplit(server.address).port
    with socket.create_connection(address, timeout=60) as link:
        link.sendall(f"{head}Content-Length: 9000000\r\n\r\n".encode() + chunk)
        until(lambda: server.files() != [])
    until(lambda: server.files() == [])
    with socket.create_connection(address, timeout=60) as link:
        link.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        with suppress(ConnectionError):  # the server has heard enough
            for _ in range(data.MOST_BYTES // 1_000_000 + 1):
                link.sendall(chunk)
        until(lambda: server.files() == [])
    assert put(server, table(8)).status == 200
    leave(server)


@pytest.mark.system
@pytest.mark.skipif(not hasattr(psutil, "RLIMIT_FSIZE"), reason="no limit on the size of files")
def test_a_full_disk_is_answered_in_words_to_this_visitor_alone(server):
    process = psutil.Process(server.process.pid)
    before = process.rlimit(psutil.RLIMIT_FSIZE)
    process.rlimit(psutil.RLIMIT_FSIZE, (2_000_000, before[1]))
    try:
        reply = put(server, bytes(9_000_000), "large.csv")
        assert reply.status == 507
        assert reply.json["detail"] == "large.csv could not be kept here: File too large."
        assert server.files() == []
        assert put(server, table(8), visitor="other-visitor").status == 200
    finally:
        process.rlimit(psutil.RLIMIT_FSIZE, before)
    leave(server, "other-visitor")


def test_a_file_that_is_too_large_is_refused_with_words(server):
    reply = server.ask(
        "PUT",
        "/api/data?visitor=own-data&name=x.csv",
        b"",
        {"Content-Length": str(data.MOST_BYTES + 1)},
    )
    assert reply.status == 413
    assert reply.json["detail"] == "This is larger than 200 MB, the most that the explorer takes."
