"""Reading from an API server: one GET at a time, answers as bytes, refusals as what they mean."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock, get_ident
from typing import Any, Final
from urllib.parse import urlencode

from kschedctl.errors import ClusterError
from kschedctl.live.body import read_body
from kschedctl.live.context import LiveContext
from kschedctl.live.limits import Deadline, Limits
from kschedctl.live.lines import read_lines
from kschedctl.live.refusals import refusal
from kschedctl.live.settings import client_settings
from kschedctl.live.sockets import OpenSockets

#: How many lists are read at a time.
CONNECTIONS: Final = 8
_JSON: Final = "application/json"
_CONNECT_SECONDS: Final = 10.0
#: How long to wait before asking again.
_PAUSES: Final = (0.2, 0.4, 0.8)
_BUSY: Final = (429, 502, 503, 504)
#: A thread may take this much longer to notice that its time is over.
_GRACE_SECONDS: Final = 1.0


class Connection:
    """An API server, as the user of a context.

    Parameters
    ----------
    live : LiveContext
        Which.

    Attributes
    ----------
    name : str
        The name of the context.
    host : str
        The server's address.
    limits : Limits
        How long and how much is read.

    Raises
    ------
    InputError, ClusterError
        As ``client_settings`` says; nothing is asked of the server yet.
    """

    def __init__(self, live: LiveContext) -> None:
        self.limits = Limits(live.request_seconds, live.max_answer)
        settings = client_settings(live)
        from urllib3 import disable_warnings
        from urllib3.exceptions import InsecureRequestWarning

        self.name = settings.name
        self._settings = settings
        settings.configuration.connection_pool_maxsize = CONNECTIONS
        if not settings.configuration.verify_ssl:
            # The kubeconfig says so itself; kubectl does not warn either.
            disable_warnings(InsecureRequestWarning)
        self.host = str(settings.configuration.host)
        self._pool = settings.pool()
        self._sockets = OpenSockets(self._pool)
        self._login = Lock()
        self._due: dict[int, tuple[Deadline, str]] = {}

    def get(self, path: str, *, accept: str = _JSON, **query: str) -> bytes:
        """Read one thing.

        Parameters
        ----------
        path : str
            Below the server's address, such as ``/api/v1/nodes``.
        accept : str
            The media type that is asked for.
        **query : str
            What to ask for; empty values are left out.

        Raises
        ------
        ForbiddenError, NotServedError, GoneError
            For the answers 403, 404 and 410.
        ClusterError
            Where the server cannot be reached, does not answer in time, does not know the user or answers with another
            error.
        """
        from urllib3.exceptions import HTTPError, LocationValueError, SSLError

        text = urlencode({name: value for name, value in query.items() if value})
        url = f"{self.host}{path}?{text}" if text else f"{self.host}{path}"
        with self._watched(path) as until:
            for pause in (*_PAUSES, None):
                if self.limits.ended.is_set():
                    raise ClusterError(f"{self.host} is not asked any more")
                try:
                    status, headers, body = self._ask(url, path, accept, until)
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
        raise refusal(status, body, self.host, path, self.name)

    @contextmanager
    def lines(self, path: str, idle_seconds: float, **query: str) -> Iterator[Iterator[bytes]]:
        """Read an answer that goes on, line by line; the server says when it ends.

        Parameters
        ----------
        path : str
            Below the server's address.
        idle_seconds : float
            How long nothing may come before the server counts as gone.
        **query : str
            What to ask for; empty values are left out.

        Raises
        ------
        ForbiddenError, NotServedError, GoneError
            For the answers 403, 404 and 410.
        ClusterError
            Where the server cannot be reached, answers with another error, falls silent or breaks off.
        """
        from urllib3 import Timeout
        from urllib3.exceptions import HTTPError

        name = f"{self.host}{path}"
        text = urlencode({key: value for key, value in query.items() if value})
        try:
            timeout = Timeout(connect=_CONNECT_SECONDS, read=idle_seconds)
            response = self._open(f"{name}?{text}", _JSON, lambda: timeout)
            try:
                if response.status != 200:
                    until = Deadline.after(idle_seconds)
                    body = read_body(response, self.limits, until, name)
                    raise refusal(response.status, body, self.host, path, self.name)
                yield read_lines(response, self.limits.ended, name)
            finally:
                # What is left of it is not waited for.
                response.close()
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

    def _ask(self, url: str, path: str, accept: str, until: Deadline) -> tuple[int, Any, bytes]:
        from urllib3 import Timeout

        def timeout() -> Timeout:
            left = until.left
            if left == 0:
                # Logging in, or waiting for a thread, has taken it all.
                raise until.too_late(f"{self.host}{path} has not been asked")
            return Timeout(connect=_CONNECT_SECONDS if left is None else min(_CONNECT_SECONDS, left), read=left)

        response = self._open(url, accept, timeout)
        try:
            body = read_body(response, self.limits, until, f"{self.host}{path}")
        except BaseException:
            # What is left of the answer is not waited for.
            response.close()
            raise
        response.release_conn()
        return response.status, response.headers, body

    def _open(self, url: str, accept: str, timeout: Callable[[], Any]) -> Any:
        """Ask, and read nothing of the body yet; how long it may take is asked once we have logged in."""
        from urllib3 import HTTPHeaderDict

        headers = HTTPHeaderDict({"Accept": accept, "User-Agent": "kschedctl"})
        # Asking for the settings renews a token that has expired, which must happen once.
        with self._login:
            for name, value in self._settings.headers():
                headers.add(name, value)
        return self._pool.request(
            "GET",
            url,
            headers=headers,
            timeout=timeout(),
            retries=False,
            redirect=False,
            preload_content=False,
        )

    def _wait(self, seconds: float, path: str, until: Deadline) -> None:
        """Wait before asking again.

        Raises
        ------
        ClusterError
            Where there is no time for that.
        """
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


def _retry_after(headers: Any) -> float:
    """The seconds that a busy server asks for; none where it asks for nothing that can be read."""
    from urllib3 import Retry
    from urllib3.exceptions import HTTPError

    with suppress(HTTPError, ValueError, OverflowError):
        return float(Retry().parse_retry_after(headers.get("Retry-After", "0").strip()))
    return 0.0


def cause_of(error: BaseException) -> str:
    """The innermost reason of a failed request, without the object's address in front."""
    reason = getattr(error, "reason", None)
    while isinstance(reason, BaseException):
        error, reason = reason, getattr(reason, "reason", None)
    if isinstance(error.__context__, socket.gaierror):
        error = error.__context__
    return str(error).rpartition(">: ")[2] or type(error).__name__
