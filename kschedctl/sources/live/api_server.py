"""An API server, accessed as the user of a context: authenticated requests, and error responses as exceptions."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock, get_ident
from typing import Any, Final
from urllib.parse import urlencode
from weakref import WeakSet

from urllib3 import HTTPHeaderDict, Retry, Timeout
from urllib3.exceptions import HTTPError, LocationValueError, SSLError

from kschedctl.common.errors import ClusterError
from kschedctl.sources.live.failures import refusal, unreachable
from kschedctl.sources.live.http import JSON, USER_AGENT, read_body, read_lines, seconds_left, sent, silence_urllib3
from kschedctl.sources.live.kubeconfig import LiveContext
from kschedctl.sources.live.limits import Deadline, Limits
from kschedctl.sources.live.settings import client_settings

#: The maximum number of open connections.
CONNECTIONS: Final = 8


class ApiServer:
    """An API server, accessed as the user of a context. The constructor sends no request to the server.

    host: The server's address.

    Raises InputError, ClusterError as for ``client_settings``.
    """

    def __init__(self, live: LiveContext) -> None:
        settings = client_settings(live)
        silence_urllib3()
        settings.configuration.connection_pool_maxsize = CONNECTIONS
        self.name = settings.name
        self.host = str(settings.configuration.host)
        self._settings = settings
        self._pool = settings.pool()
        self._login = Lock()

    def _ask(
        self,
        method: str,
        path: str,
        limits: Limits,
        until: Deadline,
        *,
        query: str = "",
        accept: str = JSON,
        body: bytes | None = None,
        content_type: str = JSON,
        connect_seconds: float | None = None,
    ) -> tuple[int, HTTPHeaderDict, bytes]:
        """Send a request once and return status, headers and body of the response."""
        name = f"{self.host}{path}"
        headers = self._headers(accept)
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            timeout = Timeout(total=seconds_left(until), connect=connect_seconds)
        except TimeoutError:
            # The login, or the wait for a thread, has used up the time.
            raise until.too_late(f"{name} was not queried") from None
        with sent(self._pool, method, f"{name}{query}", headers, timeout, body) as response:
            return response.status, response.headers, read_body(response, limits, until, name)

    def _headers(self, accept: str) -> HTTPHeaderDict:
        headers = HTTPHeaderDict({"Accept": accept, "User-Agent": USER_AGENT})
        # ``headers`` renews an expired token, which must happen only once.
        with self._login:
            for name, value in self._settings.headers():
                headers.add(name, value)
        return headers

    def _refusal(self, status: int, body: bytes, path: str) -> ClusterError:
        return refusal(status, body, self.host, path, self.name)


# A registry of open sockets, so that waiting requests can be aborted.


class OpenSockets:
    """A registry of the connections of a pool.

    Args:
        pool_manager: The pool whose future connections are registered.
    """

    def __init__(self, pool_manager: Any) -> None:
        self._connections: WeakSet[Any] = WeakSet()
        connections = self._connections
        pools = {}
        for scheme, pool in pool_manager.pool_classes_by_scheme.items():

            class Remembered(pool.ConnectionCls):  # type: ignore[misc, name-defined]
                def connect(self) -> None:
                    connections.add(self)
                    super().connect()

            pools[scheme] = type(pool.__name__, (pool,), {"ConnectionCls": Remembered})
        pool_manager.pool_classes_by_scheme = pools

    def shut_down(self) -> None:
        """Shut down all sockets, so that requests that wait for a response fail at once."""
        for connection in tuple(self._connections):
            found = getattr(connection, "sock", None)
            if found is not None:
                with suppress(OSError):
                    # ``close`` does not wake a waiting thread. For TLS, the underlying TCP connection is shut down.
                    socket.socket.shutdown(found, socket.SHUT_RDWR)


# Read access to an API server: GET requests with retries, and streamed responses of watches.

_CONNECT_SECONDS: Final = 10.0
#: The pauses before the three retries of a request, in seconds.
_PAUSES: Final = (0.2, 0.4, 0.8)
_BUSY: Final = (429, 502, 503, 504)
#: The time that a thread may need to notice that its deadline has passed, in seconds.
_GRACE_SECONDS: Final = 1.0


class Connection(ApiServer):
    """A read-only connection to an API server."""

    def __init__(self, live: LiveContext) -> None:
        self.limits = Limits(live.request_seconds, live.max_answer)
        super().__init__(live)
        self._sockets = OpenSockets(self._pool)
        self._due: dict[int, tuple[Deadline, str]] = {}

    def get(self, path: str, *, accept: str = JSON, **query: str) -> bytes:
        """Send a GET request and return the body; query parameters with empty values are omitted.

        A request that fails, or gets status 429, 502, 503 or 504, is retried up to three times.

        Raises ForbiddenError, NotServedError, GoneError if the status is 403, 404 or 410.
        Raises ClusterError if the server cannot be reached, does not respond in time, does not accept the
            credentials or responds with another error.
        """
        asked = _query(query)
        until = self.limits.request()
        self._due[get_ident()] = until, path
        try:
            for pause in (*_PAUSES, None):
                if self.limits.ended.is_set():
                    raise ClusterError(f"{self.host} is no longer queried: the connection was closed")
                try:
                    status, headers, body = self._ask(
                        "GET", path, self.limits, until, query=asked, accept=accept, connect_seconds=_CONNECT_SECONDS
                    )
                except HTTPError as error:
                    if until.passed:
                        raise until.too_late(f"{self.host}{path} did not respond") from None
                    if pause is None or isinstance(error, (SSLError, LocationValueError)):
                        raise unreachable(self.host, error) from None
                    self._wait(pause, path, until)
                    continue
                if status == 200:
                    return body
                if pause is None or status not in _BUSY:
                    break
                self._wait(max(pause, _retry_after(headers)), path, until)
        finally:
            del self._due[get_ident()]
        raise self._refusal(status, body, path)

    @contextmanager
    def lines(self, path: str, idle_seconds: float, **query: str) -> Iterator[Iterator[bytes]]:
        """Stream a response line by line until the server ends it.

        Args:
            idle_seconds: The longest time without data, in seconds.
            **query: The query parameters; empty values are omitted.

        Raises ForbiddenError, NotServedError, GoneError if the status is 403, 404 or 410.
        Raises ClusterError if the server cannot be reached, responds with another error, sends nothing for
            ``idle_seconds`` or breaks the connection.
        """
        name = f"{self.host}{path}"
        timeout = Timeout(connect=_CONNECT_SECONDS, read=idle_seconds)
        try:
            with sent(self._pool, "GET", f"{name}{_query(query)}", self._headers(JSON), timeout) as response:
                if response.status != 200:
                    body = read_body(response, self.limits, Deadline.after(idle_seconds), name)
                    raise self._refusal(response.status, body, path)
                yield read_lines(response, self.limits.ended, name)
        except HTTPError as error:
            raise unreachable(name, error, "broke the connection") from None

    def overdue(self) -> ClusterError | None:
        """Return the error of a request that runs more than 1 s beyond its deadline, or ``None`` if there is none.

        Some waits inside a request cannot be bounded, so another thread checks them.
        """
        for until, path in tuple(self._due.values()):
            if until.left is not None and Deadline(until.seconds, until.until + _GRACE_SECONDS).passed:
                return until.too_late(f"{self.host}{path} did not respond")
        return None

    def close(self) -> None:
        """Abort all requests. New requests are possible after ``limits.begin``."""
        self.limits.ended.set()
        self._sockets.shut_down()
        self._pool.clear()

    def _wait(self, seconds: float, path: str, until: Deadline) -> None:
        """Wait before a retry.

        Raises ClusterError if the wait would exceed the deadline.
        """
        if until.left is not None and seconds > until.left:
            asked = f"{self.host}{path} is busy and asks for a retry in {seconds:.0f} s, so the answer did not arrive"
            raise until.too_late(asked)
        self.limits.ended.wait(seconds)


def _query(given: Mapping[str, str]) -> str:
    text = urlencode({name: value for name, value in given.items() if value})
    return f"?{text}" if text else ""


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds in the header ``Retry-After``; 0 if it is missing or cannot be parsed."""
    with suppress(HTTPError, ValueError, OverflowError):
        return float(Retry().parse_retry_after(headers.get("Retry-After", "0").strip()))
    return 0.0


# A client for single requests of any method to an API server, used by the few features that modify a cluster.
#
# Requests are not retried: the caller decides about retries of a modification.

#: The maximum size of a response, which is one object, in bytes (16 MiB).
_MAX_ANSWER: Final = 16 * 1024 * 1024


class ObjectClient(ApiServer):
    """A client of an API server for requests that can modify objects."""

    def request(
        self, method: str, path: str, body: bytes | None, seconds: float, *, query: str = "", content_type: str = JSON
    ) -> bytes:
        """Send a request once, with a JSON body or without a body, and return the body of the response.

        Args:
            query: The query, with its question mark; empty for none.
            content_type: The content type of the body, such as that of a patch.

        Raises ForbiddenError, NotServedError, ConflictingError if the status is 403, 404 or 409.
        Raises ClusterError if the server cannot be reached, does not respond in time or responds with another
            error.
        """
        limits = Limits(seconds, _MAX_ANSWER)
        try:
            status, _, answer = self._ask(
                method, path, limits, limits.request(), query=query, body=body, content_type=content_type
            )
        except HTTPError as error:
            raise unreachable(self.host, error) from None
        if 200 <= status < 300:
            return answer
        raise self._refusal(status, answer, path)
