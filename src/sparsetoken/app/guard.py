"""What the server lets in: its own page, in small bodies; and how answers are sealed."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SEAL = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
        "style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'none'"  # Plotly writes styles; no script is inline
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}


class Guard:
    """Refuses requests of other sites, and bodies that are too large.

    ``most_bytes`` is the largest body for each path, 20 kB if it is not named.
    """

    def __init__(self, app: ASGIApp, most_bytes: dict[str, int]) -> None:
        self._app, self._most_bytes = app, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        most, seen = self._most_bytes.get(scope["path"], 20_000), 0

        async def limited() -> Message:  # a body may be longer than it says, or say nothing
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            _check_size(seen, most)
            return message

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_SEAL)
            await send(message)

        try:
            _check(Headers(scope=scope), scope["path"], most)
            await self._app(scope, limited, sealed)
        except HTTPException as error:  # of the check: the application answers to its own
            await JSONResponse({"detail": error.detail}, error.status_code)(scope, receive, sealed)


def _check(headers: Headers, path: str, most: int) -> None:
    own = f"http://{headers.get('host', '')}"
    foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site") and path != "/"
    if headers.get("origin", own) != own or foreign:
        raise HTTPException(403, "Another site has sent this request.")
    if "\0" in path:  # old libraries stumble over it
        raise HTTPException(404)
    _check_size(int(headers.get("content-length", "0")), most)


def _check_size(n_bytes: int, most: int) -> None:
    if n_bytes > most:
        size = f"{most / 1e6:g} MB" if most >= 1e6 else f"{most / 1e3:g} kB"
        raise HTTPException(413, f"This is larger than {size}, the most that the explorer takes.")
