"""A visitor's own data: what is found out, what is refused, and that nothing is left behind."""

import io
import json
import pickle
import time
import zipfile
from urllib.parse import urlencode

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.app import data
from sparsetoken.app.content import Progress
from sparsetoken.app.told import told

pytestmark = pytest.mark.filterwarnings("ignore")


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


def ended(server, key):
    deadline = time.monotonic() + 120
    while True:
        status = server.ask("GET", f"/api/jobs/{key}?visitor=own-data").json
        if status["state"] not in ("waiting", "running"):
            return status
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_study(tmp_path):
    path = tmp_path / "1.csv"
    path.write_text(table(40))
    steps = list(data.study(str(path), "bags.csv", "", "", 0.2))
    assert steps[0].message == "reading"
    assert steps[-1].done == steps[-1].total
    assert any("training" in step.message for step in steps)
    found = steps[-1].content
    assert found.read["sequences"] == "40"
    assert found.read["features of a token"] == "3 (a, b, c)"
    assert found.sentence.startswith("A classifier of 30 sequences labels ")
    assert found.members.keys() == {"attention", "pooled", "statistics"}
    assert sum(map(float, found.members.values())) == pytest.approx(1.0, abs=0.02)
    assert found.roc.curves[0].x[-1] == found.roc.curves[0].y[-1] == 1.0
    assert len(found.sequences) == 10
    for shown in found.sequences:
        assert sum(sum(line.y) for line in shown.panel.curves) == pytest.approx(1.0)
        assert shown.label in ("ill", "well")
    assert found.diagnosis
    fan = found.plan.panels[0].curves[0]
    assert np.all(np.array(fan.low) <= np.array(fan.high))
    json.loads(steps[-1].model_dump_json())


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
    chosen = {"by": "", "label": ""} | columns
    with pytest.raises(ValueError, match=words) as refused:
        list(data.study(str(path), "bags.csv", chosen["by"], chosen["label"], 0.2))
    assert str(path) not in str(refused.value)


def test_too_many_numbers_are_refused_before_anything_is_fitted(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "_MOST_NUMBERS", 100)
    path = tmp_path / "1.csv"
    path.write_text(table(20))
    with pytest.raises(ValueError, match="use 'sparsetoken fit' on the command line"):
        list(data.study(str(path), "bags.csv", "", "", 0.2))


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
    status = ended(server, reply.json["key"])
    assert status["state"] == "failed"
    assert status["message"].endswith(".")
    assert "Traceback" not in status["message"]
    assert "died" not in status["message"]
    assert str(server.folder) not in status["message"]
    server.ask("DELETE", "/api/visitors/own-data")
    assert server.files() == []


def test_files_are_kept_apart_and_deleted_when_their_visitor_leaves(server):
    for visitor in ("own-data", "other-visitor"):
        for _ in range(2):  # the second takes the place of the first
            put(server, table(), visitor=visitor)
    assert len(server.files()) == 2
    assert server.ask("POST", "/api/visitors/own-data/leave").status == 204
    assert len(server.files()) == 1
    assert server.ask("DELETE", "/api/visitors/other-visitor").status == 204
    assert server.files() == []


def test_a_file_that_is_too_large_is_refused_with_words(server):
    reply = server.ask(
        "PUT",
        "/api/data?visitor=own-data&name=x.csv",
        b"",
        {"Content-Length": str(data.MOST_BYTES + 1)},
    )
    assert reply.status == 413
    assert reply.json["detail"] == "This is larger than 200 MB, the most that the explorer takes."


def test_words_of_a_long_call_are_passed_on():
    def count(progress, total):
        for number in range(total):
            progress(f"{number + 1} of {total}")
            time.sleep(0.01)
        return total

    def collect():
        result = yield from told(count, Progress(done=1, total=2, content="so far"), total=3)
        yield Progress(done=2, total=2, content=result)

    steps = list(collect())
    assert steps[0].message == ""
    assert steps[-1].content == 3
    assert all(step.content == "so far" and step.done == 1 for step in steps[:-1])
    assert len(steps) > 2
