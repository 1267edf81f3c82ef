"""What the server lets in, and how its answers are sealed."""

import socket
from urllib.parse import urlsplit

import pytest

from app.refusals import SEALS, check_refused

STATIC = ("index.html", "explorer.css", "main.js", "api.js", "chart.js", "controls.js", "data.js")


@pytest.mark.parametrize("path", ["/", *(f"/{name}" for name in (*STATIC, "plotly.min.js"))])
def test_pages_are_sealed(server, path):
    reply = server.ask("GET", path)
    assert reply.status == 200
    assert all(name in reply.headers for name in SEALS)
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "unsafe-eval" not in policy
    if path.endswith((".html", "/")):
        assert reply.text.count("<script") == reply.text.count('<script src="/') == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "example.org"},
        {"Host": "127.0.0.1.example.org"},
        {"Host": ""},
        {"Origin": "http://example.org"},
        {"Origin": "null"},
        {"Origin": "http://[::1"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=str,
)
def test_other_hosts_and_sites_are_refused(server, headers):
    for method, path in (("GET", "/api/explorer"), ("POST", "/api/views/phase")):
        check_refused(server.ask(method, path, "{}", headers), 400, 403)


def test_this_machine_is_welcome_by_its_names(server):
    port = urlsplit(server.address).port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", "localhost:9"):
        headers = {"Host": host, "Origin": f"http://{host}"}
        assert server.ask("GET", "/api/explorer", headers=headers).status == 200


def test_bodies_are_limited(server):
    check_refused(server.post("/api/views/learning", "x" * 100_000), 413)
    link = socket.create_connection(("127.0.0.1", urlsplit(server.address).port), timeout=60)
    with link:  # one that does not say how long it is
        link.sendall(b"POST /api/views/learning HTTP/1.1\r\nHost: localhost\r\n")
        link.sendall(b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
        link.sendall(chunk * 3)
        assert b" 413 " in link.recv(200)
