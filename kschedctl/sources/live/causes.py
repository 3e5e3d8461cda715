"""The causes of failed requests, in plain words on one line."""

from __future__ import annotations

import re
from http.client import HTTPException, RemoteDisconnected
from http.client import IncompleteRead as StdlibIncompleteRead
from typing import Final

from urllib3.exceptions import (
    HTTPError,
    IncompleteRead,
    NewConnectionError,
    ProtocolError,
    ProxyError,
    SSLError,
    TimeoutError,  # noqa: A004 (the name in urllib3)
)

from kschedctl.common.errors import ClusterError


def cause_of(error: BaseException) -> str:
    """Return the innermost reason of a failed request in one line, without the names of objects of libraries."""
    # The errors of requests hold those of urllib3.
    if not isinstance(error, HTTPError) and error.args and isinstance(error.args[0], HTTPError):
        error = error.args[0]
    reason = getattr(error, "reason", None)
    while isinstance(reason, BaseException):
        error, reason = reason, getattr(reason, "reason", None)
    if isinstance(error, ProtocolError) and isinstance(error.args[-1], BaseException):
        error = error.args[-1]
    elif isinstance(error, NewConnectionError) and isinstance(error.__context__, OSError):
        error = error.__context__
    for kind, words in _CAUSES:
        if isinstance(error, kind):
            return words
    if isinstance(error, TimeoutError) and not isinstance(error, NewConnectionError):
        return "it did not respond in time"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(_OF_LIBRARIES.sub("", text).split())


def unreachable(host: str, error: HTTPError, what: str = "cannot be reached") -> ClusterError:
    """Return the error of a request without a response.

    Parameters
    ----------
    what : str
        The failure of a request for which a connection was made and data arrived in time.
    """
    # A connection that cannot be made is a timeout to urllib3.
    if isinstance(error, TimeoutError) and not isinstance(error, NewConnectionError):
        return ClusterError(f"{host} did not respond in time")
    connected = not isinstance(error, (NewConnectionError, SSLError, ProxyError))
    return ClusterError(f"{host} {what if connected else 'cannot be reached'}: {cause_of(error)}")


#: The words for errors whose texts are those of libraries, by class.
_CAUSES: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (RemoteDisconnected, "it closed the connection without a response"),
    (IncompleteRead, "its response is cut off"),
    (StdlibIncompleteRead, "its response is cut off"),
    (HTTPException, "its response is not HTTP"),
)
#: Names of urllib3's objects at the beginning of a text, and the place in Python's source at the end.
_OF_LIBRARIES: Final = re.compile(r"^<[^>]*>: |^\w+\(host=[^)]*\): | \(_ssl\.c:\d+\)$")
