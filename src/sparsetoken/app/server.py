"""The explorer as a web service: its routes, and how it is started and ended.

FastAPI checks every request against types and describes itself (``/api/openapi.json``); uvicorn
serves it from one thread, so that a slow client costs nothing. Nothing is computed here: processes
do it.
"""

import asyncio
import errno
import signal
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field, create_model
from starlette.requests import ClientDisconnect

from sparsetoken._validation import check_count
from sparsetoken.app.content import Content, View
from sparsetoken.app.data import FIELDS, MOST_BYTES, save, study
from sparsetoken.app.guard import Guard
from sparsetoken.app.jobs import Jobs, Status
from sparsetoken.app.parameters import CONTROLS, GROUPS, PRESETS, describe, values_model
from sparsetoken.app.pictures import Pictures
from sparsetoken.app.processes import OvertakenError, RefusedError, refusal
from sparsetoken.app.views import VIEWS
from sparsetoken.models import look, names

_STATIC = Path(__file__).with_name("static")
_MOST_STEPS = 100
_MOST_BODY = 20_000
_BACKLOG = 64  # connections taken at once; without descriptors asyncio complains of each
Visitor = Annotated[str, Query(pattern="^[A-Za-z0-9-]{8,40}$", description="Who asks.")]
ColumnQuery = Annotated[str, Query(max_length=200, description="See `sparsetoken fit --help`.")]
WELCOME = (
    "A few tokens of a sequence carry a weak signal; see here how many labelled sequences each "
    "classifier needs to find it. Move a slider, start from an example, or drop a file of your own."
)


class Asked(BaseModel):
    """What every request for a picture has, besides its values."""

    visitor: Visitor = "anonymous"
    sequence: Annotated[int, Field(ge=0, le=2**53)] = 0
    """Counts the visitor's requests: a newer one overtakes those before it."""
    step: Annotated[int, Field(ge=0, le=_MOST_STEPS)] = 0
    """0 is coarse and fast; each further step refines."""


def make_app() -> FastAPI:
    """Return the service; its processes are started when it begins to serve."""
    app = FastAPI(
        title="sparsetoken explorer",
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.add_middleware(Guard, most_bytes=_MOST_BODY, large={"/api/data": MOST_BYTES})
    app.add_exception_handler(RequestValidationError, _explain)
    app.add_exception_handler(RefusedError, lambda _, error: _refuse(422, str(error)))
    app.add_exception_handler(OvertakenError, lambda _, error: Response(status_code=204))
    _add_pages(app)
    for view in VIEWS.values():
        _add_view(app, view)
    _add_jobs(app)
    _add_data(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.pictures, app.state.jobs = Pictures(), Jobs()
    asyncio.get_running_loop().set_exception_handler(_log)
    watching = asyncio.create_task(app.state.jobs.look_after())
    yield
    watching.cancel()
    _end_processes(app)


def _end_processes(app: FastAPI) -> None:
    app.state.pictures.close()
    app.state.jobs.close()


def _log(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what went wrong, but not a thousand times that no more connections can be had."""
    if getattr(context.get("exception"), "errno", None) not in (errno.EMFILE, errno.ENFILE):
        loop.default_exception_handler(context)


def _refuse(code: int, words: str) -> JSONResponse:
    return JSONResponse({"detail": words.encode("utf-8", "replace").decode()}, code)


def _explain(_: Request, error: Any) -> JSONResponse:
    """Say in a sentence which value is wrong and what it may be."""
    first = error.errors()[0]
    name = str(first["loc"][-1]) if first["loc"] else ""
    try:
        if name in CONTROLS and (CONTROLS[name].slider or CONTROLS[name].options):
            CONTROLS[name].check(first.get("input"))
    except ValueError as wrong:
        return _refuse(422, str(refusal(wrong)))
    return _refuse(422, f"{name[:40]}: {first['msg']}.")


def _add_pages(app: FastAPI) -> None:
    """Serve the page, plotly.js from the installed package, and what the page needs to know."""
    plotly = files("plotly") / "package_data" / "plotly.min.js"

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(_STATIC / "index.html")

    @app.get("/static/plotly.js", include_in_schema=False)
    async def plotly_js() -> FileResponse:
        return FileResponse(str(plotly), media_type="text/javascript")

    @app.get("/api/explorer", summary="Controls with their limits, views, examples and models")
    async def explorer() -> dict[str, Any]:
        return {
            "welcome": WELCOME,
            "controls": {name: describe(control) for name, control in CONTROLS.items()},
            "groups": GROUPS,
            "views": {
                view.name: {
                    "title": view.title,
                    "question": view.question,
                    "controls": view.names,
                    "defaults": view.defaults,
                    "work": view.work is not None,
                    "button": view.button,
                }
                for view in VIEWS.values()
            },
            "presets": PRESETS,
            "models": {name: look(name)._asdict() for name in names()},
            "fields": FIELDS,
            "most_bytes": MOST_BYTES,
        }

    app.mount("/static", StaticFiles(directory=_STATIC))


def _add_view(app: FastAPI, view: View) -> None:
    """Add the routes of a view: its picture, and its work in the background if it has any."""
    title = view.title.title().replace(" ", "")
    values_type = values_model(f"{title}Values", view.names, view.defaults)
    values_field = (values_type, Field(default_factory=values_type))
    asked_type = create_model(f"{title}Request", __base__=Asked, values=values_field)

    async def picture(asked: Any) -> Response:
        values = asked.values.model_dump()
        request = asked.visitor, asked.sequence, view.name, values, asked.step
        drawn = await app.state.pictures.draw(*request)
        return Response(drawn, 200 if drawn else 204, media_type="application/json")

    async def start(asked: Any) -> Response:
        return _json(app.state.jobs.start(asked.visitor, view.work, asked.values.model_dump()))

    for path, endpoint, answer, summary in (
        (f"/api/views/{view.name}", picture, Content, view.question),
        (f"/api/jobs/{view.name}", start, Status, f"{view.button or 'Plan'}, in the background"),
    ):
        if endpoint is picture or view.work is not None:
            endpoint.__annotations__["asked"] = asked_type
            app.post(
                path,
                summary=summary,
                response_class=Response,
                responses={
                    200: {"model": answer},
                    204: {"description": "overtaken, or no such step"},
                },
            )(endpoint)


def _json(answer: BaseModel) -> Response:
    return Response(answer.model_dump_json(), media_type="application/json")


def _add_jobs(app: FastAPI) -> None:
    """Add the routes that watch and end work."""

    @app.get("/api/jobs/{key}", summary="How far a job is", responses={200: {"model": Status}})
    async def status(key: str, seen: int = -1) -> Response:
        return _json(app.state.jobs.status(key, seen))

    @app.delete("/api/jobs/{key}", summary="End a job", status_code=204)
    async def cancel(key: str) -> None:
        app.state.jobs.cancel(key)

    @app.put("/api/visitors/{visitor}", summary="Ask whether the server is there", status_code=204)
    async def hear(visitor: str) -> None:
        pass

    @app.post("/api/visitors/{visitor}/leave", summary="End jobs, delete files", status_code=204)
    async def leave(visitor: str) -> None:
        app.state.jobs.leave(visitor)


def _add_data(app: FastAPI) -> None:
    """Add the route that takes a file."""
    body = {"content": {"application/octet-stream": {"schema": {"format": "binary"}}}}

    @app.put(
        "/api/data",
        summary="Study a file of sequences: read, fit, explain, diagnose, plan",
        responses={200: {"model": Status}},
        openapi_extra={"requestBody": body},
    )
    async def put_data(
        request: Request,
        visitor: Visitor,
        name: Annotated[str, Query(max_length=200, description="Name of the file.")],
        by: ColumnQuery = "",
        label: ColumnQuery = "",
        group: ColumnQuery = "",
        features: ColumnQuery = "",
        ignore: ColumnQuery = "",
        layer: Annotated[int | None, Query(description="Which layer of activations.")] = None,
        error: Annotated[float, Query(gt=0.0, lt=1.0, description="Target error.")] = 0.1,
    ) -> Response:
        try:
            path, delete = await save(name, request.stream())
        except ClientDisconnect:
            return Response(status_code=400)  # nobody listens
        columns: dict[str, Any] = {"by": by, "label": label, "group": group}
        columns |= {"features": features, "ignore": ignore, "layer": layer}
        jobs: Jobs = app.state.jobs
        return _json(jobs.start(visitor, study, path, name, columns, error, release=delete))


class _Server(uvicorn.Server):
    """Ends the processes first: whoever waits for them would hold up the end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app: Any = self.config.app
        _end_processes(app)
        await super().shutdown(sockets)


def serve(port: int = 8050, *, browser: bool = True) -> None:
    """Serve the explorer to this machine until interrupted.

    Parameters
    ----------
    port : int, default=8050
        Port; 0 takes a free one.
    browser : bool, default=True
        Whether to open the page.
    """
    check_count("port", port, minimum=0, maximum=65535)
    with socket.create_server(("127.0.0.1", port)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        print(f"sparsetoken explorer at {address} (stop with Ctrl-C)", flush=True)
        if browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        config = uvicorn.Config(
            make_app(),
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            access_log=False,
            timeout_graceful_shutdown=1,
            backlog=_BACKLOG,
        )
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # no process or file is left
        with suppress(KeyboardInterrupt):  # the usual way to end it
            _Server(config).run(sockets=[listener])
