"""Reading from an API server: one GET at a time, answers as bytes, refusals as what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import Final
from urllib.parse import urlencode

from urllib3 import Retry, Timeout
from urllib3.exceptions import HTTPError, LocationValueError, SSLError

from kschedctl.errors import ClusterError
from kschedctl.live.api_server import ApiServer, cause_of
from kschedctl.live.context import LiveContext
from kschedctl.live.http import JSON, read_body, read_lines, sent
from kschedctl.live.limits import Deadline, Limits
from kschedctl.live.sockets import OpenSockets

_CONNECT_SECONDS: Final = 10.0
#: How long to wait before asking again.
_PAUSES: Final = (0.2, 0.4, 0.8)
_BUSY: Final = (429, 502, 503, 504)
#: A thread may take this much longer to notice that its time is over.
_GRACE_SECONDS: Final = 1.0


class Connection(ApiServer):
    """An API server that is read.

    Attributes
    ----------
    limits : Limits
        How long and how much is read.
    """

    def __init__(self, live: LiveContext) -> None:
        self.limits = Limits(live.request_seconds, live.max_answer)
        super().__init__(live)
        self._sockets = OpenSockets(self._pool)
        self._due: dict[int, tuple[Deadline, str]] = {}

    def get(self, path: str, *, accept: str = JSON, **query: str) -> bytes:
        """Read what is at a path; of the query, empty values are left out.

        Raises
        ------
        ForbiddenError, NotServedError, GoneError
            For the answers 403, 404 and 410.
        ClusterError
            Where the server cannot be reached, does not answer in time, does not know the user or answers with another
            error.
        """
        asked = _query(query)
        with self._watched(path) as until:
            for pause in (*_PAUSES, None):
                if self.limits.ended.is_set():
                    raise ClusterError(f"{self.host} is not asked any more")
                try:
                    status, headers, body = self._ask(
                        "GET", path, self.limits, until, query=asked, accept=accept, connect_seconds=_CONNECT_SECONDS
                    )
                except HTTPError as error:
                    if until.passed:
                        raise until.too_late(f"{self.host}{path} has not answered") from None
                    if pause is None or isinstance(error, (SSLError, LocationValueError)):
                        raise ClusterError(f"{self.host} cannot be reached: {cause_of(error)}") from None
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
        """Read an answer that goes on, line by line, until the server ends it or tells nothing for too long.

        Raises
        ------
        ForbiddenError, NotServedError, GoneError
            For the answers 403, 404 and 410.
        ClusterError
            Where the server cannot be reached, answers with another error, falls silent or breaks off.
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
            raise ClusterError(f"{name} breaks off: {cause_of(error)}") from None

    def overdue(self) -> ClusterError | None:
        """The error of a request that goes on although its time is over; not all that it waits for can be bounded."""
        for until, path in tuple(self._due.values()):
            if until.left is not None and Deadline(until.seconds, until.until + _GRACE_SECONDS).passed:
                return until.too_late(f"{self.host}{path} has not answered")
        return None

    def close(self) -> None:
        """End all requests; more can be asked once the limits begin anew."""
        self.limits.ended.set()
        self._sockets.shut_down()
        self._pool.clear()

    def _wait(self, seconds: float, path: str, until: Deadline) -> None:
        """Wait before asking again, where there is time for that."""
        if until.left is not None and seconds > until.left:
            asked = f"{self.host}{path} is busy and wants to be asked again in {seconds:.0f} s, so that nothing is read"
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
    """The seconds that a busy server asks for; none where it asks for nothing that can be read."""
    with suppress(HTTPError, ValueError, OverflowError):
        return float(Retry().parse_retry_after(headers.get("Retry-After", "0").strip()))
    return 0.0
