"""What the command says when the explorer cannot start; app/ tests the explorer."""

import socket
import sys
import threading


def test_a_port_in_use_is_one_line(refused):
    threads = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused(("serve", "--no-browser", "--port", port), 1, port)
    assert threading.active_count() == threads


def test_without_the_extra_the_command_says_what_to_install(run, monkeypatch):
    monkeypatch.delitem(sys.modules, "sparsetoken.app.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    hint = "sparsetoken: the explorer needs uvicorn: pip install 'sparsetoken[app]'\n"
    assert run("serve") == (1, "", hint)
