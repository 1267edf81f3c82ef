"""The service over HTTP: each route, what it refuses, and how it starts and ends."""

import json
import random
import signal
import socket
import sys
import time
from urllib.parse import urlsplit

import psutil
import pytest

from app.conftest import start_server
from app.refusals import check_refused
from app.test_study import table
from app.views.drawing import checked
from sparsetoken.app.views import VIEWS
from sparsetoken.vocabulary import PARAMETERS

CHEAP = {"loss": "square"}
SLOW = {"dim": 400, "trials": 16, "n_tokens": 4}


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_view_answers_in_lines(server):
    reply = server.draw("learning", CHEAP)
    assert reply.headers["Content-Type"].startswith("application/x-ndjson")
    first, *_, last = reply.lines
    assert first["sentence"].endswith(".")
    size = [len(max(line["table"].values(), key=len)) for line in (first, last)]
    assert size[0] < size[1]
    assert first["figures"][0]["data"][0]["type"] == "scatter"


def test_a_picture_needs_no_values(server):
    link, _, line = server.begin("POST", "/api/views/alignment", "{}")
    link.close()
    assert "Two steps on 2 samples per dimension" in line["sentence"]


def test_errors_of_the_library_are_the_last_line(server):
    (line,) = server.draw("phase", {"x_axis": "reg", "y_axis": "reg"}).lines
    assert line == {"error": "the two axes must differ."}


@pytest.mark.system
def test_a_simulation_ends_with_its_connection(server):
    body = json.dumps({"values": CHEAP | SLOW, "simulate": True})
    server.draw("alignment", CHEAP)  # idle processes have started
    link, reply, line = server.begin("POST", "/api/views/learning", body)
    assert line["progress"].startswith("0 of ")
    until(lambda: b"simulated" in reply.readline())
    assert server.computes()
    reply.close()
    link.close()
    until(lambda: not server.computes())


def test_the_page_learns_its_controls_from_the_vocabulary(server):
    found = server.ask("GET", "/api/explorer").json
    assert list(found["views"]) == list(VIEWS)
    for name, control in found["controls"].items():
        if name in PARAMETERS:
            quantity = PARAMETERS[name]
            assert control["label"] == quantity.label or name == "dim"  # d is the visitor's own
            assert control["help"] == quantity.help
            assert quantity.slider is None or [control["low"], control["high"]] == [
                *quantity.slider
            ]
    used = {name for view in found["views"].values() for name in view["controls"]}
    assert (
        used == set(found["controls"]) == {n for names in found["groups"].values() for n in names}
    )


def test_the_service_describes_itself(server):
    schema = server.ask("GET", "/api/openapi.json").json
    assert set(schema["paths"]) == {"/api/explorer", "/api/views/{name}", "/api/data"}
    assert set(schema["components"]["schemas"]["Asked"]["properties"]) == {"values", "simulate"}


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/etc/passwd",
        "//etc/passwd",
        "/templates/",
        "/nothing.js",
        "/../server.py",
        "/%2e%2e/server.py",
        "/..%2f..%2f..%2f..%2fetc/passwd",
        "/%00",
        "/docs",
        "/redoc",
    ],
)
def test_nothing_else_is_served(server, path):
    check_refused(server.ask("GET", path), 400, 404)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"n_tokens": 0}, "Sequence length must be an integer in [1, 1000], got 0."),
        ({"loss": "zero"}, "Loss must be one of 'logistic', 'square', 'hinge', got 'zero'."),
        ({"nothing": 1}, "unknown value 'nothing'"),
    ],
    ids=str,
)
def test_wrong_values_are_explained(server, values, words):
    reply = server.draw("learning", values)
    assert reply.status == 422
    assert reply.json["detail"].startswith(words)


BODIES = ["", "nonsense", "[]", "1", "null", '"text"', "[" * 5000, '{"a":' * 3000, "9" * 6000]
BODIES += [b"\xff\xfe", '{"values": {"signal": NaN}}', '{"values": {"signal": 1e400}}']
BODIES += ['{"values": 3}', '{"simulate": "often"}']


@pytest.mark.parametrize("body", BODIES, ids=lambda body: str(body)[:20])
def test_bodies_that_are_no_requests(server, body):
    check_refused(server.post("/api/views/learning", body), 400, 422)


def mutated(body, rng):
    """Return a request with one part of it replaced, removed or repeated."""
    body = json.loads(json.dumps(body))
    inner = body.get("values")
    part = inner if isinstance(inner, dict) and rng.random() < 0.7 else body
    junk = [None, True, -1, 0, 3.5, 1e308, 10**40, float("nan"), float("-inf"), "", "x", [], {}]
    junk += ["é\0\ud800", "9" * 3000, [[]], {"": {}}, [{}] * 20]
    name = rng.choice([*part, "__proto__", "view"])
    if rng.random() < 0.2:
        part.pop(name, None)
    else:
        part[name] = rng.choice(junk)
    return body


@pytest.mark.system
def test_150_mutated_requests(server):
    rng = random.Random(0)
    for _ in range(150):
        body = {"simulate": False, "values": checked("alignment", CHEAP)}
        text = json.dumps(mutated(mutated(body, rng), rng))
        reply = server.post("/api/views/alignment", text)
        if reply.status != 200:
            check_refused(reply)


def test_odd_names_and_methods(server):
    for method, path in (
        ("GET", "/api/views/%00"),
        ("POST", "/api/views/nothing"),
        ("PUT", "/api/views/learning"),
        ("POST", "/"),
        ("POST", "/main.js"),
        ("PUT", "/api/data"),
        ("PUT", "/api/data?name=x&error=2"),
    ):
        check_refused(server.ask(method, path, "{}"))


@pytest.mark.system
def test_idle_connections_do_not_stand_in_the_way(server):
    port = urlsplit(server.address).port
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
    for link in idle[::2]:
        link.sendall(
            b"POST /api/views/learning HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
        )
    try:
        assert server.draw("alignment", {"signal": 3.21}).status == 200
    finally:
        for link in idle:
            link.close()


@pytest.mark.system
@pytest.mark.skipif(sys.platform == "win32", reason="no interrupt can be sent")
def test_an_interrupt_ends_everything(tmp_path):
    server = start_server(tmp_path)
    link, *_ = server.begin("PUT", "/api/data?name=x.csv", table())
    other, *_ = server.begin("POST", "/api/views/planner", "{}")
    children = psutil.Process(server.process.pid).children(recursive=True)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=60) == 0
    server.process.communicate()
    assert psutil.wait_procs(children, timeout=60)[1] == []
    assert server.files() == []
    assert (tmp_path / "log").read_text() == ""
    link.close()
    other.close()
