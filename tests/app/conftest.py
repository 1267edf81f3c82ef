import http.client
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import psutil
import pytest


class Reply(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    text: str

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def lines(self):
        return [json.loads(line) for line in self.text.splitlines()]


class Server(NamedTuple):
    process: subprocess.Popen
    address: str
    folder: os.PathLike

    def ask(self, method, path, body=None, headers=None):
        link = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=120)
        try:
            link.request(method, path, body, headers or {})
            got = link.getresponse()
            return Reply(got.status, got.headers, got.read().decode())
        finally:
            link.close()

    def post(self, path, body):
        text = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.ask("POST", path, text, {"Content-Type": "application/json"})

    def draw(self, view, values=None):
        return self.post(f"/api/views/{view}", {"values": values or {}})

    def begin(self, method, path, body):
        """Return a connection and its first line; whoever closes it has lost interest."""
        link = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=120)
        link.request(method, path, body, {"Content-Type": "application/json"})
        reply = link.getresponse()
        return link, reply, json.loads(reply.readline())

    def workers(self):
        """Processes that compute."""
        found = []
        for child in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if child.status() != psutil.STATUS_ZOMBIE and not child.children():
                    found.append(child)
        return found

    def computes(self):
        """Whether any of them is at work: a waiting process takes no time at all."""

        def spent():
            times = []
            for worker in self.workers():
                with suppress(psutil.NoSuchProcess):
                    times.append((worker.pid, round(sum(worker.cpu_times()[:2]), 1)))
            return times

        before = spent()
        time.sleep(1.0)
        return spent() != before

    def files(self):
        """Files that visitors have left here."""
        walked = os.walk(self.folder)  # which does not mind what vanishes meanwhile
        found = [Path(root, name) for root, _, names in walked for name in names if name != "log"]
        return [path for path in found if path.is_file()]


def start_server(folder, port=0):
    """Serve the explorer as a visitor would, its temporary files in ``folder``."""
    command = [sys.executable, "-m", "sparsetoken", "serve", "--no-browser", "--port", str(port)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=os.environ | {"TMPDIR": str(folder)},
        )
    said = process.stdout.readline()
    assert said.startswith("sparsetoken explorer at http://127.0.0.1:"), said
    return Server(process, said.split()[3], folder)


def stop_server(server):
    """End the server; its children may have a last word for the log."""
    children = psutil.Process(server.process.pid).children(recursive=True)
    server.process.terminate()
    server.process.communicate(timeout=60)
    assert psutil.wait_procs(children, timeout=60)[1] == []


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server for all tests; whatever it logs is a failure."""
    folder = tmp_path_factory.mktemp("server")
    found = start_server(folder)
    yield found
    stop_server(found)
    assert (folder / "log").read_text() == ""
    assert found.files() == []
