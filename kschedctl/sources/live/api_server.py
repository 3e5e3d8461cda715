"""An API server, accessed as the user of a context: authenticated requests, and error responses as exceptions."""

from __future__ import annotations

from threading import Lock
from typing import Final

from urllib3 import HTTPHeaderDict, Timeout

from kschedctl.common.errors import ClusterError
from kschedctl.sources.live.context import LiveContext
from kschedctl.sources.live.error_responses import refusal
from kschedctl.sources.live.http import JSON, USER_AGENT, read_body, seconds_left, sent, silence_urllib3
from kschedctl.sources.live.limits import Deadline, Limits
from kschedctl.sources.live.settings import client_settings

#: The maximum number of open connections.
CONNECTIONS: Final = 8


class ApiServer:
    """An API server, accessed as the user of a context. The constructor sends no request to the server.

    Attributes
    ----------
    name : str
        The name of the context.
    host : str
        The server's address.

    Raises
    ------
    InputError, ClusterError
        As for ``client_settings``.
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
