"""The explorer as a web service: its routes, and how it is started and ended.

Answers are lines of JSON that come as they are computed; a request that is aborted stops the work.
FastAPI describes the service (``/api/openapi.json``); uvicorn serves it from one thread, so that a
slow client costs nothing. Nothing is computed here: processes do it.
"""

import asyncio
import errno
import signal
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema, create_model
from starlette.requests import ClientDisconnect

from sparsetoken._validation import check_count
from sparsetoken.app.guard import Guard
from sparsetoken.app.parameters import (
    CONTROLS,
    DEPENDENT,
    GROUPS,
    PRESETS,
    check,
    check_together,
    describe,
)
from sparsetoken.app.study import FIELDS, MOST_BYTES, save, study
from sparsetoken.app.view import View
from sparsetoken.app.views import VIEWS
from sparsetoken.app.workers import Workers
from sparsetoken.vocabulary import Quantity

_STATIC = Path(__file__).with_name("static")
_MOST_BODY = 20_000
_BACKLOG = 64  # connections taken at once; without descriptors asyncio complains of each
_LINES = "application/x-ndjson"
_ANSWER: Any = {200: {"content": {_LINES: {}}, "description": "Lines of JSON, as they come."}}
ColumnQuery = Annotated[str, Query(max_length=200, description="See `sparsetoken fit --help`.")]
WELCOME = (
    "A few tokens of a sequence carry a weak signal; see here how many labelled sequences each "
    "classifier needs to find it. Move a slider, start from an example, or drop a file of your own."
)


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
    _add_pages(app)
    for view in VIEWS.values():
        _add_view(app, view)
    _add_data(app)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.workers = Workers()
    asyncio.get_running_loop().set_exception_handler(_log)
    yield
    app.state.workers.close()


def _log(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what went wrong, but not a thousand times that no more connections can be had."""
    if getattr(context.get("exception"), "errno", None) not in (errno.EMFILE, errno.ENFILE):
        loop.default_exception_handler(context)


def _explain(_: Request, error: Any) -> JSONResponse:
    """Say in a sentence which value is wrong and what it may be."""
    first = error.errors()[0]
    name = str(first["loc"][-1]) if first["loc"] else ""
    words = str(first.get("ctx", {}).get("error", "")) or f"{name[:40]}: {first['msg']}"
    return JSONResponse({"detail": f"{words.encode('utf-8', 'replace').decode()[:500]}."}, 422)


def _add_pages(app: FastAPI) -> None:
    """Serve the page, plotly.js from the installed package, and what the page needs to know."""
    plotly = files("plotly") / "package_data" / "plotly.min.js"

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(_STATIC / "index.html")

    @app.get("/static/plotly.js", include_in_schema=False)
    async def plotly_js() -> FileResponse:
        return FileResponse(str(plotly), media_type="text/javascript")

    @app.get("/api/explorer", summary="Controls with their limits, views and examples")
    async def explorer() -> dict[str, Any]:
        return {
            "welcome": WELCOME,
            "controls": {name: describe(control) for name, control in CONTROLS.items()},
            "groups": GROUPS,
            "dependent": DEPENDENT,
            "views": {
                view.name: {
                    "title": view.title,
                    "question": view.question,
                    "controls": list(view.controls),
                    "defaults": view.defaults,
                    "simulates": view.simulate is not None,
                }
                for view in VIEWS.values()
            },
            "presets": PRESETS,
            "fields": FIELDS,
            "most_bytes": MOST_BYTES,
        }

    app.mount("/static", StaticFiles(directory=_STATIC))


def _schema(control: Quantity) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": control.help, "default": control.default}
    if control.slider:
        kind = "integer" if control.whole else "number"
        return schema | {"type": kind, "minimum": control.low, "maximum": control.high}
    return schema | {"type": "string"} | ({"enum": control.options} if control.options else {})


def _request_type(view: View) -> Any:
    """Return the type of a request for a view; the vocabulary checks each value."""
    fields: dict[str, Any] = {
        name: (
            Annotated[
                Any, BeforeValidator(partial(check, control)), WithJsonSchema(_schema(control))
            ],
            control.default,
        )
        for name, control in view.controls.items()
    }
    title = view.title.title().replace(" ", "")
    model: Any = create_model(f"{title}Values", __config__={"extra": "forbid"}, **fields)

    def together(values: BaseModel) -> dict[str, Any]:
        found = values.model_dump()
        check_together(found)
        return found

    values = Field(default_factory=dict, validate_default=True)
    checked = Annotated[model, AfterValidator(together)]
    return create_model(f"{title}Request", values=(checked, values), simulate=(bool, False))


def _add_view(app: FastAPI, view: View) -> None:
    """Add the route of a view."""

    async def picture(asked: Any) -> StreamingResponse:
        function = view.simulate if asked.simulate and view.simulate else view.draw
        long = view.long or function is view.simulate
        answer = app.state.workers.answer(function, asked.values, long=long)
        return StreamingResponse(answer, media_type=_LINES)

    picture.__annotations__["asked"] = _request_type(view)
    path = f"/api/views/{view.name}"
    app.post(path, summary=view.question, response_class=Response, responses=_ANSWER)(picture)


def _add_data(app: FastAPI) -> None:
    """Add the route that takes a file."""
    body = {"content": {"application/octet-stream": {"schema": {"format": "binary"}}}}

    @app.put(
        "/api/data",
        summary="Report on a file of sequences: read, fit, judge, plan",
        response_class=Response,
        responses=_ANSWER,
        openapi_extra={"requestBody": body},
    )
    async def put_data(
        request: Request,
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
            path, folder = await save(name, request.stream())
        except ClientDisconnect:
            return Response(status_code=400)  # nobody listens
        names: dict[str, Any] = {"by": by, "label": label, "group": group, "layer": layer}
        lists = {"features": features, "ignore": ignore}
        names |= {
            n: [part.strip() for part in text.split(",")] for n, text in lists.items() if text
        }
        options = {option: value for option, value in names.items() if value not in ("", None)}

        async def answer() -> AsyncIterator[bytes]:
            with folder:
                async for line in app.state.workers.answer(study, path, options, error, long=True):
                    yield line

        return StreamingResponse(answer(), media_type=_LINES)


class _Server(uvicorn.Server):
    """Ends the processes first: whoever waits for them would hold up the end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app: Any = self.config.app
        app.state.workers.close()
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
