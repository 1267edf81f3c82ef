"""A visitor's own data: the report, what is refused, and that nothing is left behind."""

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
from app.views.drawing import merged
from sparsetoken.app import study
from sparsetoken.estimators import SparseTokenClassifier


def table(n_sequences=60, dim=3):
    """Return labelled sequences of one to five tokens as the text of a CSV file."""
    X, y = st.SparseTokenProblem(5, 1, 6.0).sample(n_sequences, dim, random_state=0)
    lines = ["bag,label,a,b,c"]
    for i in range(n_sequences):
        for token in X[i, : 2 + i % 4] if not y[i] else X[i]:
            numbers = ",".join(f"{number:.3f}" for number in token)
            lines.append(f"bag {i},{'ill' if y[i] else 'well'},{numbers}")
    return "\n".join(lines) + "\n"


def put(server, body, name="bags.csv", **options):
    return server.ask("PUT", f"/api/data?{urlencode({'name': name, **options})}", body)


def studied(path, error=0.2, **options):
    """Return the lines of a study."""
    lines = []
    study.study(path, options, error, lines.append)
    return lines


@pytest.fixture
def quick(monkeypatch):
    """Classifiers of few trees and heads: nothing here is about how good they are."""

    class Quick(SparseTokenClassifier):
        def __init__(self, *, n_trees=5, cv=2, refine_steps=3, random_state=None):
            super().__init__(n_trees=5, cv=2, refine_steps=3, random_state=random_state)

    monkeypatch.setattr("sparsetoken.estimators.SparseTokenClassifier", Quick)
    monkeypatch.setattr(study, "_EFFORT", 0.1)


def test_a_study(tmp_path, quick):
    path = tmp_path / "bags.csv"
    path.write_text(table(40))
    lines = studied(path)
    assert lines[0] == {"columns": ["bag", "label", "a", "b", "c"], "progress": "reading"}
    known = merged(lines)
    assert known["progress"] == ""
    assert known["sentence"].startswith("A classifier of 30 sequences labels ")
    first, last = (line["page"] for line in lines if "page" in line)
    assert first.startswith("<!doctype html>")
    assert "bags.csv" in first
    assert "Would more samples help?" not in first
    assert "Would more samples help?" in last
    assert "<script" not in last
    assert str(tmp_path) not in last
    json.dumps(lines)


def three_classes(n_sequences=60):
    """Return sequences of three classes in six groups, and noise in all of them, as a CSV file."""
    rng = np.random.default_rng(0)
    lines = ["case,site,kind,a,b"]
    for i in range(n_sequences):
        for a, b in rng.normal(size=(3, 2)):
            lines.append(f"case {i},site {i // 10},kind {i % 3},{a:.3f},{b:.3f}")
    return "\n".join(lines) + "\n"


@pytest.mark.system
def test_three_classes_and_groups(tmp_path, quick):
    path = tmp_path / "bags.csv"
    path.write_text(three_classes())
    page = studied(path, by="case", label="kind", group="site", ignore=["b"])[-1]["page"]
    assert "1 features per token" in page or "1 feature per token" in page
    assert all(f"said kind {k}" in page for k in range(3))


@pytest.mark.parametrize("options", [{"by": "nothing"}, {"label": "a"}], ids=str)
def test_columns_can_be_named(tmp_path, options):
    path = tmp_path / "1.csv"
    path.write_text(table(8))
    with pytest.raises(ValueError, match=r"^1\.csv") as refused:
        studied(path, **options)
    assert str(tmp_path) not in str(refused.value)
    assert next(iter(options.values())) in str(refused.value)


def test_too_many_numbers_are_refused_before_anything_is_fitted(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "_MOST_NUMBERS", 100)
    path = tmp_path / "1.csv"
    path.write_text(table(20))
    with pytest.raises(ValueError, match="100"):
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
    error = reply.lines[-1]["error"]
    assert error.endswith(".")
    assert "Traceback" not in error
    assert "died" not in error
    assert str(server.folder) not in error
    until(lambda: server.files() == [])


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_file_is_deleted_when_its_visitor_leaves(server):
    link, reply, line = server.begin("PUT", "/api/data?name=bags.csv", table())
    assert line["columns"][0] == "bag"
    assert [path.name for path in server.files()] == ["bags.csv"]
    reply.close()
    link.close()
    until(lambda: server.files() == [])


@pytest.mark.system
def test_an_upload_that_is_cut_off_or_too_large_leaves_nothing(server):
    head = "PUT /api/data?name=x.csv HTTP/1.1\r\nHost: localhost\r\n"
    chunk = f"{1_000_000:x}\r\n".encode() + bytes(1_000_000) + b"\r\n"
    address = "127.0.0.1", urlsplit(server.address).port
    with socket.create_connection(address, timeout=60) as link:
        link.sendall(f"{head}Content-Length: 9000000\r\n\r\n".encode() + chunk)
        until(lambda: server.files() != [])
    until(lambda: server.files() == [])
    with socket.create_connection(address, timeout=60) as link:
        link.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        with suppress(ConnectionError):  # the server has heard enough
            for _ in range(study.MOST_BYTES // 1_000_000 + 1):
                link.sendall(chunk)
        until(lambda: server.files() == [])


@pytest.mark.system
@pytest.mark.skipif(not hasattr(psutil, "RLIMIT_FSIZE"), reason="no limit on the size of files")
def test_a_full_disk_is_answered_in_words(server):
    process = psutil.Process(server.process.pid)
    before = process.rlimit(psutil.RLIMIT_FSIZE)
    process.rlimit(psutil.RLIMIT_FSIZE, (2_000_000, before[1]))
    try:
        reply = put(server, bytes(9_000_000), "large.csv")
        assert reply.status == 507
        assert reply.json["detail"] == "large.csv could not be kept here: File too large."
        assert server.files() == []
    finally:
        process.rlimit(psutil.RLIMIT_FSIZE, before)


def test_a_file_that_is_too_large_is_refused_with_words(server):
    size = {"Content-Length": str(study.MOST_BYTES + 1)}
    reply = server.ask("PUT", "/api/data?name=x.csv", b"", size)
    assert reply.status == 413
    assert reply.json["detail"] == "This is larger than 200 MB, the most that the explorer takes."
