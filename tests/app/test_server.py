"""The service over HTTP: each route, what it refuses, and how it starts and ends."""

import json
import random
import signal
import socket
import time
from urllib.parse import urlsplit

import psutil
import pytest

import sparsetoken as st
from app.conftest import start_server
from app.refusals import check_refused
from sparsetoken.app.parameters import CONTROLS
from sparsetoken.app.views import VIEWS
from sparsetoken.vocabulary import PARAMETERS

VISITOR = "a-visitor"
CHEAP = {"loss": "square"}


def waited(server, key):
    deadline = time.monotonic() + 240
    while True:
        status = server.ask("GET", f"/api/jobs/{key}").json
        if status["state"] != "running":
            return status
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("view", [name for name in VIEWS if name != "planner"])
def test_every_view_answers_with_a_picture(server, view):
    values = {name: value for name, value in CHEAP.items() if name in VIEWS[view].names}
    found = server.draw(view, values).json
    assert found["sentence"].endswith(".")
    assert found["panels"]
    assert found["python"].startswith("import numpy as np\nimport sparsetoken as st\n")
    assert found["command"].startswith("sparsetoken " if view != "training" else "")
    lengths = {len(column) for column in found["table"].values()}
    assert len(lengths) == 1
    finer = server.draw(view, values, 1)
    if finer.status == 204:  # there is one step only
        assert view == "attention-map"
        return
    assert len(finer.json["table"]) == len(found["table"])
    assert max(map(len, finer.json["table"].values())) >= lengths.pop()


def test_the_first_picture_needs_no_values(server):
    reply = server.post("/api/views/attention-map", {})
    assert reply.status == 200
    assert "two steps on 400 samples" in reply.json["sentence"]


@pytest.mark.system
def test_jobs(server):
    values = CHEAP | {"dim": 60, "trials": 2, "alpha_max": 2.0, "n_tokens": 3}
    begun = server.post("/api/jobs/learning", {"visitor": VISITOR, "values": values}).json
    status = waited(server, begun["key"])
    assert status["state"] == "done"
    assert status["progress"]["done"] == status["progress"]["total"]
    curves = status["progress"]["content"]["panels"][0]["curves"]
    assert [curve["look"] for curve in curves] == ["points"] * 4
    assert len(curves[0]["x"]) == len(curves[0]["error"]) == 6
    key = server.post("/api/jobs/learning", {"visitor": VISITOR, "values": {"dim": 400}}).json[
        "key"
    ]
    assert server.ask("DELETE", f"/api/jobs/{key}").status == 204
    assert server.ask("GET", f"/api/jobs/{key}").json["state"] == "cancelled"
    key = server.post("/api/jobs/learning", {"visitor": VISITOR, "values": {"dim": 399}}).json[
        "key"
    ]
    assert server.ask("PUT", f"/api/visitors/{VISITOR}").status == 204
    assert server.ask("POST", f"/api/visitors/{VISITOR}/leave").status == 204
    assert server.ask("GET", f"/api/jobs/{key}").json["state"] == "cancelled"


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
    assert found["models"]["pooled"]["color"] == st.models.look("pooled").color
    used = {name for view in found["views"].values() for name in view["controls"]}
    assert (
        used == set(found["controls"]) == {n for names in found["groups"].values() for n in names}
    )


def test_the_service_describes_itself(server):
    schema = server.ask("GET", "/api/openapi.json").json
    assert "/api/views/learning" in schema["paths"]
    limits = schema["components"]["schemas"]["LearningCurvesValues"]["properties"]["n_tokens"]
    assert (limits["minimum"], limits["maximum"]) == (1, 1000)
    assert limits["description"] == "Tokens in a sequence."


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/etc/passwd",
        "//etc/passwd",
        "/static/",
        "/static/nothing.js",
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2f..%2f..%2f..%2fetc/passwd",
        "/static/%00",
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
        ({"n_tokens": 2.5}, "Sequence length must be an integer in [1, 1000], got 2.5."),
        ({"signal": "much"}, "Signal strength must be a finite number in [0, 15], got 'much'."),
        ({"signal": None}, "Signal strength must be a finite number in [0, 15], got None."),
        ({"loss": "zero"}, "Loss must be one of 'logistic', 'square', 'hinge', got 'zero'."),
        ({"n_signal": 4, "n_tokens": 3}, "Signal tokens must be an integer in [1, 3], got 4."),
        ({"nothing": 1}, "nothing: Extra inputs are not permitted."),
    ],
    ids=str,
)
def test_wrong_values_are_explained(server, values, words):
    reply = server.draw("learning", values)
    assert reply.status == 422
    assert reply.json["detail"].startswith(words)


BODIES = ["", "nonsense", "[]", "1", "null", '"text"', "[" * 5000, '{"a":' * 3000, "9" * 6000]
BODIES += [b"\xff\xfe", '{"values": {"signal": NaN}}', '{"values": {"signal": 1e400}}']
BODIES += ['{"visitor": "x"}', '{"visitor": "../../etc"}', '{"step": -1}', '{"step": 1e9}']


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
def test_500_mutated_requests(server):
    rng = random.Random(0)
    for _ in range(500):
        view = rng.choice(("attention-map", "alignment", "planner"))
        names = [name for name in VIEWS[view].names if name != "features"]
        values = {name: CONTROLS[name].default for name in names}
        body = {"visitor": VISITOR, "step": 0, "values": values}
        route = rng.choice(("views", "views", "views", "jobs"))
        reply = server.post(f"/api/{route}/{view}", mutated(mutated(body, rng), rng))
        if reply.status not in (200, 204):
            check_refused(reply)
    server.ask("POST", f"/api/visitors/{VISITOR}/leave")


def test_odd_names_and_methods(server):
    for method, path in (
        ("GET", "/api/jobs/%00?seen=x"),
        ("PUT", "/api/views/learning"),
        ("POST", "/"),
        ("POST", "/static/main.js"),
        ("PUT", "/api/data"),
        ("PUT", "/api/data?visitor=../../../../etc&name=x"),
    ):
        check_refused(server.ask(method, path, "{}"))
    assert server.ask("GET", "/api/jobs/none").json["state"] == "cancelled"
    assert server.ask("PUT", "/api/visitors/" + "x" * 3000).status == 204


@pytest.mark.system
def test_idle_connections_do_not_stand_in_the_way(server):
    port = urlsplit(server.address).port
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
    for link in idle[::2]:
        link.sendall(
            b"POST /api/views/learning HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
        )
    try:
        assert server.draw("attention-map", {"signal": 3.21}).status == 200
    finally:
        for link in idle:
            link.close()


@pytest.mark.system
def test_more_connections_than_descriptors_are_not_logged(server):  # the log must be empty
    process, port = psutil.Process(server.process.pid), urlsplit(server.address).port
    before = process.rlimit(psutil.RLIMIT_NOFILE)
    process.rlimit(psutil.RLIMIT_NOFILE, (process.num_fds() + 10, before[1]))
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    try:
        deadline = time.monotonic() + 5  # until none is left, or others that closed made room
        limit = process.rlimit(psutil.RLIMIT_NOFILE)[0]
        while process.num_fds() < limit - 2 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        for link in idle:
            link.close()
        process.rlimit(psutil.RLIMIT_NOFILE, before)
    assert server.draw("attention-map", {"signal": 3.22}).status == 200
    assert (server.folder / "log").read_text() == ""


@pytest.mark.system
def test_a_killed_process_costs_nobody_a_picture(server):
    for child in psutil.Process(server.process.pid).children(recursive=True):
        if "forkserver" not in " ".join(child.cmdline()) or child.children():
            continue
        child.kill()
    assert server.draw("attention-map", {"signal": 3.23}).status == 200


@pytest.mark.system
def test_an_interrupt_ends_everything(tmp_path):
    server = start_server(tmp_path)
    server.ask("PUT", "/api/data?visitor=a-visitor&name=x.csv", "a,b\n")
    server.post("/api/jobs/planner", {"visitor": VISITOR})
    children = psutil.Process(server.process.pid).children(recursive=True)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=60) == 0
    server.process.communicate()
    assert psutil.wait_procs(children, timeout=60)[1] == []
    assert server.files() == []
    assert (tmp_path / "log").read_text() == ""
