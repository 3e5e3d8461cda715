"""The running of the server with uvicorn, until a signal ends it."""

import asyncio
import errno
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any, ClassVar, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kschedctl.common.errors import InputError
from kschedctl.web.app import create_app
from kschedctl.web.served import ClusterSource, Served
from kschedctl.web.settings import ServeSettings

#: The time that open requests have when the server ends, in seconds.
_GRACE: Final = 3
_BACKLOG: Final = 1024
#: The size of the system's buffer for what is sent to a client, in bytes.
_SEND_BYTES: Final = 64 * 1024


def serve(source: ClusterSource, settings: ServeSettings, say: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        say: Receives the address, once the server listens.

    Raises InputError if the server cannot listen at the address.
    """
    try:
        # All addresses are those of IPv4 and IPv6, if one socket can have both.
        both = not settings.host and socket.has_dualstack_ipv6()
        wanted = "::" if both else settings.host or None
        family = socket.getaddrinfo(wanted, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.socket(family[0], socket.SOCK_STREAM)
        try:
            if both:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Connections inherit it. With a large buffer of the system, a slow client would seem to take nothing.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
            listening.bind(family[4])
            # From here on clients can connect; they wait until the server has started.
            listening.listen(_BACKLOG)
        except BaseException:
            listening.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        path = "--port" if getattr(error, "errno", None) == errno.EADDRINUSE else "--host"
        raise InputError(f"cannot listen on {settings.host}:{settings.port}: {reason}", path=path) from None
    host, port = listening.getsockname()[:2]
    app = create_app(source, settings)
    config = uvicorn.Config(
        app,
        http=type("Protocol", (TimedProtocol,), {"seconds": settings.limits.body_seconds}),
        ws="none",
        loop="asyncio",
        lifespan="on",
        limit_concurrency=settings.limits.connections,
        timeout_keep_alive=max(1, round(settings.limits.body_seconds)),
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=32 * 1024,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        access_log=False,
        log_config=None,
        # Every broken request would be a warning.
        log_level="error",
    )
    shown = f"[{host}]" if ":" in host else host
    say(f"serving {source.name} at http://{shown}:{port}/")
    # Uvicorn raises the signal that ended it once more.
    previous = {number: signal.signal(number, _ignore) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with listening:
            _Server(config, app.state.served).run(sockets=[listening])
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class _Server(uvicorn.Server):
    """A server that ends the streams of events first: it would wait for them, and most have no end."""

    def __init__(self, config: uvicorn.Config, served: Served) -> None:
        super().__init__(config)
        self._served = served

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, and then the server."""
        self._served.events.close()
        for end in self._served.closing:
            end()
        await super().shutdown(sockets)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing."""


class TimedProtocol(H11Protocol):
    """A protocol that cuts off clients that send headers slowly or take nothing: uvicorn waits for them without end."""

    #: The time for the headers of a request, and in which a client has to take a further part of a response.
    seconds: ClassVar[float] = 10.0
    _reading: asyncio.TimerHandle | None = None
    _writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._reading = self._timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        for timer in (self._reading, self._writing):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Begin to wait for the rest of the headers, or stop if they are complete."""
        if self._reading is None and (self.cycle is None or self.cycle.response_complete):
            self._reading = self._timer()
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before and self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def pause_writing(self) -> None:
        """Begin to wait for the client to take what was sent."""
        super().pause_writing()
        self._wait_for_progress()

    def resume_writing(self) -> None:
        """Stop waiting."""
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()

    def _wait_for_progress(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._writing = self.loop.call_later(self.seconds, self._check_progress, left)

    def _check_progress(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._wait_for_progress()
        else:
            self.transport.abort()

    def _timer(self) -> asyncio.TimerHandle:
        return self.loop.call_later(self.seconds, self.transport.abort)
