"""What an API server means by an answer that is not 200."""

from __future__ import annotations

from typing import Final

import msgspec

from kschedctl.errors import ClusterError

_MOST_CHARS: Final = 500


class ForbiddenError(ClusterError):
    """The user may not read this; the text is the server's."""


class NotServedError(ClusterError):
    """The server has nothing of this name."""


class ConflictingError(ClusterError):
    """What was to be changed has changed meanwhile, or what was to be made is there already."""


class GoneError(ClusterError):
    """What a list was continued from is too old to be known."""


class _Refusal(msgspec.Struct):
    """A ``Status`` object, as far as it is told on."""

    message: str = ""


#: Made before threads use it.
_DECODER: Final = msgspec.json.Decoder(_Refusal)


def refusal(status: int, body: bytes, host: str, path: str, context: str) -> ClusterError:
    """The error that an answer stands for.

    Parameters
    ----------
    status : int
        Its status.
    body : bytes
        Its body, which may be a ``Status`` object.
    host, path : str
        What was asked for.
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
    text = f"{host}{path} answers with status {status}" + (f": {said}" if said else "")
    return {404: NotServedError, 409: ConflictingError, 410: GoneError}.get(status, ClusterError)(text)


def _printable(text: str) -> str:
    """A server's words as a terminal may get them."""
    shown = "".join(char if char.isprintable() else " " for char in text[:_MOST_CHARS])
    return f"{shown}..." if len(text) > _MOST_CHARS else shown
