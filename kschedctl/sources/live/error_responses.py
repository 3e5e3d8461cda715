"""Exceptions for the error responses of an API server."""

from __future__ import annotations

from typing import Final

import msgspec

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

    Parameters
    ----------
    status : int
        The HTTP status.
    body : bytes
        The body, which may be a ``Status`` object.
    host, path : str
        The address of the server and the path of the request.
    context : str
        The name of the context.
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
