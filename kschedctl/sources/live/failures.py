"""Failed requests: exceptions for error responses of an API server, and causes in plain words."""

import re
from http.client import HTTPException, RemoteDisconnected
from http.client import IncompleteRead as StdlibIncompleteRead
from typing import Final

import msgspec
from urllib3.exceptions import (
    HTTPError,
    IncompleteRead,
    NewConnectionError,
    ProtocolError,
    ProxyError,
    SSLError,
    TimeoutError,  # noqa: A004
)

from kschedctl.common.errors import ClusterError

_MOST_CHARS: Final = 500


class ForbiddenError(ClusterError):
    """A response with status 403: the user lacks the permission; the message is the server's."""


class NotServedError(ClusterError):
    """A response with status 404: the server has no resource of this name."""


class ConflictingError(ClusterError):
    """A response with status 409: the object has been modified since it was read, or exists already."""


class GoneError(ClusterError):
    """A response with status 410: the resource version or the continue token of a request has expired."""


class _Refusal(msgspec.Struct):
    """The part of a ``Status`` object that is reported."""

    message: str = ""


#: The decoder of ``Status`` objects, created before threads use it.
_DECODER: Final = msgspec.json.Decoder(_Refusal)


def refusal(status: int, body: bytes, host: str, path: str, context: str) -> ClusterError:
    """Return the exception for an error response.

    Args:
        host, path: The address of the server and the path of the request.
    """
    try:
        said = _printable(_DECODER.decode(body).message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        said = ""
    if status == 401:
        hint = "log in again, or check the user of the context with: kubectl auth whoami"
        return ClusterError(f"{host} does not accept the credentials of context {context}", hint=hint)
    if status == 403:
        return ForbiddenError(said or f"{path} is forbidden")
    text = f"{host}{path} responds with status {status}" + (f": {said}" if said else "")
    return {404: NotServedError, 409: ConflictingError, 410: GoneError}.get(status, ClusterError)(text)


def _printable(text: str) -> str:
    """Return a server's message without control characters, cut at 500 characters, so that a terminal can show it."""
    shown = "".join(char if char.isprintable() else " " for char in text[:_MOST_CHARS])
    return f"{shown}..." if len(text) > _MOST_CHARS else shown


# The causes of failed requests, in plain words on one line.


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

    Args:
        what: The failure of a request for which a connection was made and data arrived in time.
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
