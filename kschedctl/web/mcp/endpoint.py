"""The protocol over HTTP, at ``/mcp`` of the server, with its rules about who may send requests."""

import asyncio
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from litestar import asgi
from litestar.handlers import ASGIRouteHandler

from kschedctl.web.served import Served

#: The time after which a session without requests ends, in seconds.
_IDLE_SECONDS: Final = 120.0


class Endpoint:
    """The endpoint; the protocol is imported and started with its first request, since few servers get one.

    Args:
        served: The cluster, and the processes that answer.
    """

    def __init__(self, served: Served) -> None:
        self._served = served
        self._starting: asyncio.Future[Any] | None = None
        self._running: asyncio.Task[None] | None = None
        self._handling: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_future()
            self._running = asyncio.ensure_future(self._run(self._starting))
        manager = await asyncio.shield(self._starting)
        gone = asyncio.Event()
        receiving = iter([await receive()])

        async def received() -> Any:
            if (message := next(receiving, None)) is None:
                await gone.wait()
                message = {"type": "http.disconnect"}
            return message

        # The end of a connection does not end a session: the protocol says what it means for a request.
        handling = asyncio.ensure_future(manager.handle_request(scope, received, send))
        self._handling.add(handling)
        handling.add_done_callback(self._handling.discard)
        try:
            await asyncio.shield(handling)
        finally:
            gone.set()

    async def _run(self, starting: "asyncio.Future[Any]") -> None:
        """Run the sessions of all clients, until the server ends."""
        try:
            limits = self._served.settings.limits
            server = await asyncio.to_thread(import_module, "kschedctl.web.mcp.server")
            manager = server.sessions(self._served, limits.streams, _IDLE_SECONDS, limits.body_bytes)
            async with manager.run():
                starting.set_result(manager)
                await asyncio.Future()
        except Exception as error:
            if starting.done():
                raise
            starting.set_exception(error)
        finally:
            # The next request tries again.
            self._starting = None
            starting.cancel()

    def close(self) -> None:
        """End all sessions."""
        for task in (*self._handling, *([self._running] if self._running else ())):
            task.cancel()


def endpoint(served: Served) -> list[ASGIRouteHandler]:
    """Return the handlers of the protocol; none if the package of the protocol is not installed."""
    if find_spec("mcp") is None:
        return []
    protocol = Endpoint(served)
    served.closing.append(protocol.close)
    return [asgi("/mcp", copy_scope=True)(protocol)]
