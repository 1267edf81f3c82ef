import http.client
import json
import subprocess
import sys
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

PARTS = ("figure.figure", "sentence.children", "facts.children", "python.children")
PARTS += ("command.children", "answer.data")


def _place(name):
    part, _, prop = name.partition(".")
    return {"id": part, "property": prop}


def update(callback, **given):
    """Return the body that the page posts for one of the server's callbacks."""
    outputs, inputs, states = {
        "link": ("link.data", {"url.search": ""}, {}),
        "draw": (PARTS, {"request.data": None}, {}),
        "work": ("job.data", {"job-request.data": None}, {}),
        "listen": ("heard.data", {"tick.n_intervals": 1}, {"job.data": None}),
    }[callback]
    single = isinstance(outputs, str)

    def values(parts):
        names = {name: name.replace(".", "_").replace("-", "_") for name in parts}
        return [_place(n) | {"value": given.get(names[n], default)} for n, default in parts.items()]

    return {
        "output": outputs if single else f"..{'...'.join(outputs)}..",
        "outputs": _place(outputs) if single else [_place(part) for part in outputs],
        "inputs": values(inputs),
        "state": values(states),
        "changedPropIds": list(inputs),
    }


def request(view, values=None, sequence=1, step=0, client="a visitor", **rest):
    """Return what the page asks for, as the draw and the work callbacks take it."""
    asked = {"client": client, "sequence": sequence, "step": step, "view": view}
    return asked | {"values": values or {}, "dark": False, "narrow": False} | rest


class Reply(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    text: str


class Server(NamedTuple):
    process: subprocess.Popen
    address: str

    def ask(self, method, path, body=None, headers=None):
        link = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=60)
        try:
            link.request(method, path, body, headers or {})
            got = link.getresponse()
            return Reply(got.status, got.headers, got.read().decode())
        finally:
            link.close()

    def post(self, body):
        text = body if isinstance(body, str | bytes) else json.dumps(body)
        kind = {"Content-Type": "application/json"}
        return self.ask("POST", "/_dash-update-component", text, kind)


def start_server(log):
    command = [sys.executable, "-m", "sparsetoken", "serve", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    said = process.stdout.readline()
    assert said.startswith("sparsetoken explorer at http://127.0.0.1:"), said
    return Server(process, said.split()[3])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Serve the explorer as a visitor would; whatever it logs is a failure."""
    path = tmp_path_factory.mktemp("server") / "log"
    with path.open("w") as log:
        found = start_server(log)
        yield found
        found.process.kill()
        found.process.communicate()
    assert path.read_text() == ""
