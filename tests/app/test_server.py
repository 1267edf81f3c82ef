"""The explorer over HTTP: what it answers, what it refuses, and how it starts and ends."""

import csv
import io
import json
import random
import signal
import socket
import sys
import threading
import time

import psutil
import pytest

from app.conftest import request, update
from sparsetoken.app.views import VIEWS
from sparsetoken.cli import main

HEADERS = ("Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options")
HEADERS += ("Referrer-Policy", "Cross-Origin-Opener-Policy", "Permissions-Policy")


def check_refused(reply, *codes):
    """A refusal is one line of text with a code that blames the request, sealed like the rest."""
    assert reply.status in (codes or range(400, 500)), reply
    assert "Traceback" not in reply.text
    assert len(reply.text) < 500
    assert all(name in reply.headers for name in HEADERS)


def check_answered(reply):
    if reply.status not in (200, 204):
        check_refused(reply)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/_dash-layout",
        "/_dash-dependencies",
        "/_favicon.ico",
        "/assets/explorer.js",
        "/assets/explorer.css",
        "/table.csv?view=attention-map",
    ],
)
def test_pages_are_sealed(server, path):
    reply = server.ask("HEAD", path)
    assert reply.status == 200
    assert all(name in reply.headers for name in HEADERS)
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe-eval" not in policy
    assert "script-src 'self' 'sha256-" in policy


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/etc/passwd",
        "//etc/passwd",
        "/_reload-hash",
        "/_dash-config",
        "/index.html",
        "/assets/",
        "/assets/nothing.js",
        "/assets/../server.py",
        "/assets/%2e%2e/server.py",
        "/assets/..%2f..%2f..%2f..%2f..%2fetc/passwd",
        "/assets//etc/passwd",
        "/assets/%00",
        "/_dash-component-suites/dash/version.py",
        "/_dash-component-suites/os/path.py",
        "/_dash-component-suites/dash/../../sparsetoken/app/server.py",
        "/_dash-component-suites/dash/%2e%2e/%2e%2e/sparsetoken/app/server.py",
        "/_dash-component-suites/sparsetoken/app/server.py",
        "/_dash-component-suites/x",
    ],
)
def test_nothing_else_is_served(server, path):
    check_refused(server.ask("GET", path), 400, 404)


def test_wrong_methods(server):
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for path in ("/", "/_dash-layout", "/table.csv", "/assets/explorer.js"):
            check_refused(server.ask(method, path, "{}"))
    check_refused(server.ask("GET", "/_dash-update-component"))


@pytest.mark.parametrize(
    "body",
    [
        "",
        "nonsense",
        "[]",
        "1",
        "null",
        '"text"',
        "{}",
        '{"output": 1}',
        '{"output": "no.such"}',
        '{"output": "theme.data"}',
        "\xff\xfe".encode("latin-1"),
        "[" * 5000,
        '{"a":' * 3000,
        "9" * 6000,
        "x" * 19_999,
    ],
)
def test_bodies_that_are_no_requests(server, body):
    check_refused(server.post(body), 400)


def test_bodies_that_are_too_large(server):
    check_refused(server.post(json.dumps("x" * 100_000)), 413)
    # Beyond a megabyte it is refused before it is read.
    with socket.create_connection(server.address[7:-1].split(":"), timeout=30) as link:
        link.sendall(
            b"POST /_dash-update-component HTTP/1.1\r\nHost: x\r\nContent-Length: 900000000\r\n\r\n"
        )
        assert link.recv(100).startswith(b"HTTP/1.1 413 ")


def test_the_content_type_must_be_json(server):
    body = json.dumps(update("link", url_search=""))
    check_refused(server.ask("POST", "/_dash-update-component", body), 415)


def test_draws_what_the_page_asks_for(server):
    reply = server.post(update("draw", request_data=request("attention-map", {"n_tokens": 7})))
    assert reply.status == 200
    response = json.loads(reply.text)["response"]
    assert sum(len(trace["x"]) for trace in response["figure"]["figure"]["data"][:2]) == 7
    assert response["answer"]["data"] == {"sequence": 1, "step": 0, "more": False}
    assert "7" in response["python"]["children"]


def test_a_later_request_of_the_same_visitor_wins(server):
    for sequence, status in ((5, 200), (4, 204), (6, 200)):
        asked = request("attention-map", sequence=sequence, client="hasty visitor")
        assert server.post(update("draw", request_data=asked)).status == status


WRONG_VALUES = [
    {"n_tokens": 0},
    {"n_tokens": 2.5},
    {"n_tokens": "many"},
    {"n_tokens": None},
    {"n_tokens": True},
    {"n_tokens": 10**300},
    {"n_tokens": [10]},
    {"n_tokens": {"a": {"b": []}}},
    {"signal": float("nan")},
    {"signal": float("inf")},
    {"signal": "x" * 15_000},
    {"loss": "absolute"},
    {"loss": 3},
    {"loss": None},
    {"n_signal": 11},
    {"unknown": 1},
    {"__class__": 1},
]


@pytest.mark.parametrize("values", WRONG_VALUES, ids=lambda values: json.dumps(values)[:40])
def test_wrong_values_are_explained(server, values):
    reply = server.post(update("draw", request_data=request("attention-map", values)))
    assert reply.status == 200
    response = json.loads(reply.text)["response"]
    assert response["answer"]["data"]["refused"] is True
    assert next(iter(values)) in response["sentence"]["children"]
    assert len(response["sentence"]["children"]) < 200
    assert "figure" not in response
    reply = server.post(update("work", job_request_data=request("learning", values)))
    assert json.loads(reply.text)["response"]["job"]["data"]["state"] == "failed"


@pytest.mark.parametrize(
    "change",
    [
        {"client": ""},
        {"client": "short"},
        {"client": "x" * 41},
        {"client": 12345678},
        {"sequence": -1},
        {"sequence": 1.5},
        {"sequence": 2**60},
        {"sequence": None},
        {"step": -1},
        {"step": 31},
        {"step": True},
        {"step": float("nan")},
        {"step": "0"},
        {"view": "nothing"},
        {"view": None},
        {"view": []},
        {"values": None},
        {"values": [1]},
        {"values": "x"},
    ],
    ids=str,
)
def test_requests_that_the_page_never_makes(server, change):
    asked = request("attention-map") | change
    check_refused(server.post(update("draw", request_data=asked)), 400)
    check_refused(server.post(update("work", job_request_data=asked)), 400)


def test_callbacks_with_missing_or_foreign_parts(server):
    for callback in ("link", "draw", "work", "listen"):
        whole = update(callback)
        for name in ("output", "outputs", "inputs"):
            check_refused(server.post({k: v for k, v in whole.items() if k != name}), 400)
            for wrong in (None, 0, "x", [], {}, [[]], [None], [{}], [{"id": "x"}]):
                check_refused(server.post(whole | {name: wrong}), 400)
        for wrong in (0, "x", [{}], {}):
            check_refused(server.post(whole | {"changedPropIds": wrong}), 400)
            check_answered(server.post(whole | {"state": wrong}))


def test_listening_and_cancelling_with_nonsense(server):
    for job in (None, 3, "x", [], {}, {"key": 1}, {"key": None}):
        assert server.post(update("listen", job_data=job)).status == 204
    reply = server.post(update("listen", job_data={"key": "x" * 10_000}))
    assert json.loads(reply.text)["response"]["heard"]["data"]["state"] == "cancelled"
    for key in (None, 3, "x" * 10_000, [], {}):
        reply = server.post(update("work", job_request_data={"cancel": key}))
        assert json.loads(reply.text)["response"]["job"]["data"] == {"state": "cancelled"}
    no_work = update("work", job_request_data=request("capacity"))
    check_refused(server.post(no_work), 400)


@pytest.mark.parametrize(
    "search",
    [
        "?view=nothing",
        "?n_tokens=abc",
        "?" + "a=1&" * 500,
        "?" + "x" * 15_000,
        "?%00=%ff",
        "&=&=",
        "?n_tokens=5&n_tokens=6",
        "?signal=nan",
        "?signal=inf",
        None,
        5,
        [],
        {"a": 1},
    ],
    ids=lambda search: str(search)[:20],
)
def test_links_never_fail(server, search):
    reply = server.post(update("link", url_search=search))
    assert reply.status == 200
    assert json.loads(reply.text)["response"]["link"]["data"]["view"] in VIEWS


def mutated(body, rng):
    """Return a request with one part of it replaced, removed or repeated."""
    body = json.loads(json.dumps(body))
    places = []

    def collect(part):
        keys = list(part) if isinstance(part, dict) else range(len(part))
        for key in keys:
            places.append((part, key))
            if isinstance(part[key], dict | list):
                collect(part[key])

    collect(body)
    part, key = rng.choice(places)
    junk = [
        None,
        True,
        -1,
        0,
        3.5,
        1e308,
        10**40,
        float("nan"),
        float("-inf"),
        "",
        "x",
        "é\0\ud800",
    ]
    junk += ["{}", "..", [], {}, [[]], {"": {}}, [1, 2], "9" * 3000, [{}] * 20]
    action = rng.randrange(4)
    if action == 0:
        del part[key]
    elif action == 1 and isinstance(part, list):
        part.append(part[key])
    elif action == 2 and isinstance(part, dict):
        part[rng.choice(["", "id", "__proto__", "value", "view", "cancel"])] = rng.choice(junk)
    else:
        part[key] = rng.choice(junk)
    return body


def test_random_mutations_of_requests(server):
    rng = random.Random(0)
    values = {"n_tokens": 5, "n_signal": 2, "signal": 3.0, "loss": "square", "positive_rate": 0.3}
    bases = [
        update("link", url_search="?view=capacity&n_tokens=5"),
        update("draw", request_data=request("attention-map", values, step=1)),
        update("draw", request_data=request("alignment", values)),
        update("draw", request_data=request("planner", values)),
        update("work", job_request_data=request("learning", {"quantity": "auc"})),
        update("listen", job_data={"key": "x" * 16}),
    ]
    for _ in range(400):
        body = mutated(rng.choice(bases), rng)
        if rng.random() < 0.5:
            body = mutated(body, rng)
        check_answered(server.post(body))


def test_table(server):
    reply = server.ask("GET", "/table.csv?view=attention-map&n_tokens=6&seed=3")
    assert reply.headers["Content-Disposition"] == 'attachment; filename="attention-map.csv"'
    rows = list(csv.DictReader(io.StringIO(reply.text)))
    assert len(rows) == 12
    assert sum(float(row["value"]) for row in rows if row["stage"] == "after") == pytest.approx(1)
    for query in ("n_tokens=0", "n_tokens=x", "n_signal=50", "nothing=1", "a=1&" * 200):
        check_refused(server.ask("GET", f"/table.csv?view=attention-map&{query}"), 400)
    check_refused(server.ask("GET", "/table.csv?view=phase&x_axis=reg&y_axis=reg"), 400)


def test_a_port_in_use_is_one_line(capsys):
    threads = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit) as ended:
            main(["serve", "--no-browser", "--port", str(port)])
    assert ended.value.code == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("sparsetoken: Address already in use")
    assert str(port) in err
    assert err.count("\n") == 1
    assert threading.active_count() == threads


def test_without_dash_the_command_says_what_to_install(capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("sparsetoken.app")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dash", None)
    with pytest.raises(SystemExit) as ended:
        main(["serve"])
    hint = "sparsetoken: the explorer needs dash: pip install 'sparsetoken[app]'\n"
    assert (ended.value.code, *capsys.readouterr()) == (1, "", hint)


def test_an_interrupt_ends_everything(server):  # and so it comes last
    work = update("work", job_request_data=request("planner", {"n_tokens": 30}))
    assert json.loads(server.post(work).text)["response"]["job"]["data"]["state"] == "waiting"
    process = psutil.Process(server.process.pid)
    deadline = time.monotonic() + 60
    while len(children := process.children(recursive=True)) < 3:  # fork server, tracker, the job
        assert time.monotonic() < deadline
        time.sleep(0.05)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=60) == 0
    assert psutil.wait_procs(children, timeout=60)[1] == []
