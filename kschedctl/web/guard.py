"""The outermost layer of the server: it checks requests, limits their bodies and adds headers to responses."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from kschedctl.common.text.json_text import encoded_json
from kschedctl.web.access import Access, RefusedError, login_address, only_header
from kschedctl.web.problems import MEDIA_TYPE, Problem
from kschedctl.web.settings import ServeSettings

#: The types of ASGI. The framework's own tell requests from web sockets, which there are none of.
Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
#: The headers of every response.
HEADERS: Final[tuple[tuple[bytes, bytes], ...]] = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # With "no-referrer", browsers would hide the origin of forms that are posted.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_OWN: Final = frozenset(name for name, _ in HEADERS)


class _GoneError(Exception):
    """The client has closed the connection."""


class Guard:
    """The outermost layer of the server: it checks requests, limits their bodies and adds headers to responses.

    Args:
        counted: Receives the status of each response.
    """

    def __init__(self, app: ASGIApp, settings: ServeSettings, counted: Callable[[int], None]) -> None:
        self._app = app
        self._limits = settings.limits
        self._access = Access(settings)
        self._counted = counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008, "reason": ""})
                return
            await self._app(scope, receive, send)
            return
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                own = [(name, value) for name, value in message["headers"] if name.lower() not in _OWN]
                message["headers"] = [*own, *HEADERS]
                self._counted(message["status"])
            await send(message)

        try:
            # A proxy in front may see the end of such a request elsewhere (RFC 9112, section 6.1).
            names = {name.lower() for name, _ in scope["headers"]}
            if b"transfer-encoding" in names and (b"content-length" in names or scope["http_version"] == "1.0"):
                raise RefusedError(
                    HTTPStatus.BAD_REQUEST, "the request has Transfer-Encoding with Content-Length, or in HTTP/1.0"
                )
            self._access.check(scope)
            body = await self._body(scope, receive)
        except RefusedError as error:
            await _refuse(scope, sending, error)
            return
        except _GoneError:
            return
        await _until_gone(self._app(scope, _Replay(body), sending), receive)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Read the whole body of a request, within the limits on its size and its time."""
        declared = only_header(scope["headers"], b"content-length")
        if declared.isdigit() and int(declared[:20]) > self._limits.body_bytes:
            raise self._too_large()
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise _GoneError
                    size += len(message["body"])
                    if size > self._limits.body_bytes:
                        raise self._too_large()
                    parts.append(message["body"])
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise RefusedError(HTTPStatus.REQUEST_TIMEOUT, "the body of the request took too long") from None

    def _too_large(self) -> RefusedError:
        most = self._limits.body_bytes
        return RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body of the request exceeds {most:,} bytes")


class _Replay:
    """The receiving end of a request whose body is known."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    async def __call__(self) -> Message:
        if self._body is None:
            # The next message says that the client is gone; ``_until_gone`` receives it.
            await asyncio.Future()
        body, self._body = self._body or b"", None
        return {"type": "http.request", "body": body, "more_body": False}


async def _until_gone(response: Awaitable[None], receive: Receive) -> None:
    """Respond, unless the client goes away first: what it asked for is then cancelled."""
    responding = asyncio.ensure_future(response)
    listening = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait([responding, listening], return_when=asyncio.FIRST_COMPLETED)
    finally:
        listening.cancel()
        if not responding.done():
            responding.cancel()
        with suppress(asyncio.CancelledError):
            await responding


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(scope: Scope, send: Send, error: RefusedError) -> None:
    status = error.status
    is_for_a_person = scope["method"] == "GET" and b"text/html" in only_header(scope["headers"], b"accept")
    if status is HTTPStatus.UNAUTHORIZED and is_for_a_person:
        headers = [(b"location", login_address(scope["path"], scope["query_string"]).encode())]
        await send({"type": "http.response.start", "status": HTTPStatus.SEE_OTHER, "headers": headers})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return
    body = encoded_json(Problem(title=status.phrase, status=status, detail=str(error)))
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        # What is left of the body is not read.
        (b"connection", b"close"),
    ]
    if status is HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
