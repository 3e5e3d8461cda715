"""Read access to an API server: GET requests with retries, and streamed responses of watches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import Final
from urllib.parse import urlencode

from urllib3 import Retry, Timeout
from urllib3.exceptions import HTTPError, LocationValueError, SSLError

from kschedctl.common.errors import ClusterError
from kschedctl.sources.live.api_server import ApiServer
from kschedctl.sources.live.causes import unreachable
from kschedctl.sources.live.context import LiveContext
from kschedctl.sources.live.http import JSON, read_body, read_lines, sent
from kschedctl.sources.live.limits import Deadline, Limits
from kschedctl.sources.live.sockets import OpenSockets

_CONNECT_SECONDS: Final = 10.0
#: The pauses before the three retries of a request, in seconds.
_PAUSES: Final = (0.2, 0.4, 0.8)
_BUSY: Final = (429, 502, 503, 504)
#: The time that a thread may need to notice that its deadline has passed, in seconds.
_GRACE_SECONDS: Final = 1.0


class Connection(ApiServer):
    """A read-only connection to an API server.

    Attributes
    ----------
    limits : Limits
        The limits of time and size.
    """

    def __init__(self, live: LiveContext) -> None:
        self.limits = Limits(live.request_seconds, live.max_answer)
        super().__init__(live)
        self._sockets = OpenSockets(self._pool)
        self._due: dict[int, tuple[Deadline, str]] = {}

    def get(self, path: str, *, accept: str = JSON, **query: str) -> bytes:
        """Send a GET request and return the body; query parameters with empty values are omitted.

        A request that fails, or gets status 429, 502, 503 or 504, is retried up to three times.

        Raises
        ------
        ForbiddenError, NotServedError, GoneError
            If the status is 403, 404 or 410.
        ClusterError
            If the server cannot be reached, does not respond in time, does not accept the credentials or responds with
            another error.
        """
        asked = _query(query)
        with self._watched(path) as until:
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
        raise self._refusal(status, body, path)

    @contextmanager
    def lines(self, path: str, idle_seconds: float, **query: str) -> Iterator[Iterator[bytes]]:
        """Stream a response line by line until the server ends it.

        Parameters
        ----------
        path : str
            The path of the request.
        idle_seconds : float
            The longest time without data, in seconds.
        **query
            The query parameters; empty values are omitted.

        Raises
        ------
        ForbiddenError, NotServedError, GoneError
            If the status is 403, 404 or 410.
        ClusterError
            If the server cannot be reached, responds with another error, sends nothing for ``idle_seconds`` or breaks
            the connection.
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

        Raises
        ------
        ClusterError
            If the wait would exceed the deadline.
        """
        if until.left is not None and seconds > until.left:
            asked = f"{self.host}{path} is busy and asks for a retry in {seconds:.0f} s, so the answer did not arrive"
            raise until.too_late(asked)
        self.limits.ended.wait(seconds)

    @contextmanager
    def _watched(self, path: str) -> Iterator[Deadline]:
        until = self.limits.request()
        self._due[get_ident()] = until, path
        try:
            yield until
        finally:
            del self._due[get_ident()]


def _query(given: Mapping[str, str]) -> str:
    text = urlencode({name: value for name, value in given.items() if value})
    return f"?{text}" if text else ""


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds in the header ``Retry-After``; 0 if it is missing or cannot be parsed."""
    with suppress(HTTPError, ValueError, OverflowError):
        return float(Retry().parse_retry_after(headers.get("Retry-After", "0").strip()))
    return 0.0
