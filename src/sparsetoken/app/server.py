"""The explorer as a web server: what it answers, what it refuses, and how it is started."""

import json
import logging
import socket
import threading
import warnings
import webbrowser
from contextlib import closing
from typing import Any

from dash import Dash, Output
from dash.exceptions import DependencyException
from flask import Flask, Response, request
from threadpoolctl import threadpool_limits
from waitress import create_server
from werkzeug.exceptions import HTTPException, NotFound

from sparsetoken._validation import check_count
from sparsetoken.app.callbacks import (
    LONGEST,
    MOST_STEPS,
    BadRequestError,
    connect,
    read_link,
    view_content,
)
from sparsetoken.app.content import Drawing, time_limit
from sparsetoken.app.jobs import Jobs
from sparsetoken.app.page import layout
from sparsetoken.app.views import VIEWS
from sparsetoken.experiments.table import table_text
from sparsetoken.theory import ConvergenceWarning

__all__ = ["make_app", "serve"]

_UPDATE = "/_dash-update-component"
_PATHS = ("/_dash-layout", "/_dash-dependencies", "/_favicon.ico", "/table.csv", _UPDATE)
_FOLDERS = ("/assets/", "/_dash-component-suites/")
_MOST_BYTES = 20_000
_MOST_BRACKETS = 100  # in a request: nested deeper, it would exhaust the stack
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def make_app(jobs: Jobs) -> Dash:
    """Return the page and its server."""
    flask = Flask("sparsetoken.app")
    flask.config["MAX_CONTENT_LENGTH"] = _MOST_BYTES
    app = Dash(
        "sparsetoken.app",
        server=flask,
        title="sparsetoken explorer",
        update_title="",
        serve_locally=True,
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    app.layout = layout()
    connect(app, jobs)
    flask.add_url_rule("/table.csv", view_func=_table(jobs))
    policy = (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "font-src 'self' data:; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; "
        f"form-action 'self'; script-src 'self' {' '.join(app.csp_hashes())}"
    )
    flask.before_request(lambda: _guard(app))
    flask.after_request(lambda response: _seal(response, policy))
    flask.register_error_handler(Exception, _refuse)
    return app


def _guard(app: Dash) -> None:
    """Let through only what the page itself asks for."""
    if request.path != "/" and request.path not in _PATHS:
        anything = "path" in (request.view_args or {})  # Dash shows its page for any other path
        if anything or not request.path.startswith(_FOLDERS):
            raise NotFound("there is nothing here")
        return
    if request.path == _UPDATE:
        _check_update(app, request.get_data())


def _check_update(app: Dash, body: bytes) -> None:
    """Refuse what Dash would stumble over: it trusts the page."""
    if body.count(b"[") + body.count(b"{") > _MOST_BRACKETS:
        raise BadRequestError("the body has too many parts")
    try:
        asked = json.loads(body)
    except ValueError:
        raise BadRequestError("the body must be JSON") from None
    if not isinstance(asked, dict) or not isinstance(asked.get("output"), str):
        raise BadRequestError("the body must be an object with an output")
    known = app.callback_map.get(asked["output"], {})
    if "callback" not in known:  # or it runs in the browser
        raise BadRequestError("there is no such callback")
    outputs = known["output"]
    places = [_place(part) for part in outputs] if isinstance(outputs, list) else _place(outputs)
    if asked.get("outputs") != places:
        raise BadRequestError("outputs must be those of the callback")
    for part in ("inputs", "state"):
        expected = [(entry["id"], entry["property"]) for entry in known[part]]
        given = asked.get(part, [])
        if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
            raise BadRequestError(f"{part} must be a list of objects")
        if [(entry.get("id"), entry.get("property")) for entry in given] != expected:
            raise BadRequestError(f"{part} must be those of the callback")
    changed = asked.get("changedPropIds", [])
    if not isinstance(changed, list) or not all(isinstance(name, str) for name in changed):
        raise BadRequestError("changedPropIds must be a list of names")


def _place(output: Output) -> dict[str, str]:
    return {"id": output.component_id, "property": output.component_property}


def _seal(response: Response, policy: str) -> Response:
    response.headers.update(_HEADERS)
    response.headers["Content-Security-Policy"] = policy
    return response


def _refuse(error: Exception) -> Response:
    """Answer what went wrong in one line, never with a traceback."""
    if isinstance(error, HTTPException):
        return Response(f"{error.description}\n", error.code, mimetype="text/plain")
    if isinstance(error, DependencyException):  # a file that is none of the page's
        return Response("there is nothing here\n", 404, mimetype="text/plain")
    if isinstance(error, BadRequestError):
        return Response(f"{error}\n", 400, mimetype="text/plain")
    logging.getLogger("sparsetoken.app").error("a request failed", exc_info=error)
    return Response("something went wrong on the server\n", 500, mimetype="text/plain")


def _table(jobs: Jobs) -> Any:
    """Return the function that answers with the table behind a view."""

    def table() -> Response:
        view, values, complaint = read_link(request.query_string.decode("latin-1"))
        if complaint:
            raise BadRequestError(complaint)
        try:
            drawing = Drawing(MOST_STEPS, time_limit(LONGEST), jobs.known)
            content = view_content(VIEWS[view], values, drawing)
        except ValueError as error:
            raise BadRequestError(str(error)) from None
        name = f'attachment; filename="{view}.csv"'
        return Response(
            table_text(content.rows), mimetype="text/csv", headers={"Content-Disposition": name}
        )

    return table


def serve(host: str = "127.0.0.1", port: int = 8050, *, browser: bool = True) -> None:
    """Serve the explorer until interrupted.

    Parameters
    ----------
    host : str, default="127.0.0.1"
        Address to listen at; the default is not reachable from other machines.
    port : int, default=8050
        Port; 0 takes a free one.
    browser : bool, default=True
        Whether to open the page.
    """
    check_count("port", port, minimum=0)
    warnings.simplefilter("ignore", ConvergenceWarning)  # a server has nobody to warn
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # that visitors wait is no news
    with (
        threadpool_limits(limits=1),
        closing(Jobs()) as jobs,
        closing(_listen(make_app(jobs).server, host, port)) as server,
    ):
        address = f"http://{'[' + host + ']' if ':' in host else host}:{server.effective_port}/"
        print(f"sparsetoken explorer at {address} (stop with Ctrl-C)", flush=True)
        threading.Thread(target=_warm_up, daemon=True).start()
        if browser:
            threading.Timer(0.3, webbrowser.open, [address]).start()
        server.run()


def _listen(app: Flask, host: str, port: int) -> Any:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family)
    return create_server(app, sockets=[listener], threads=8, max_request_body_size=50 * _MOST_BYTES)


def _warm_up() -> None:
    """Draw every view once, so that no visitor waits for compiled code to load."""
    for view in VIEWS.values():
        for step in (0, 1):
            view_content(view, {}, Drawing(step))
