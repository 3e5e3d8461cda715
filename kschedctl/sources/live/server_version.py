"""The version of the control plane."""

from __future__ import annotations

from typing import Final

import msgspec

from kschedctl.common.errors import ClusterError
from kschedctl.sources.live.connection import Connection
from kschedctl.sources.live.error_responses import ForbiddenError, NotServedError

_LONGEST: Final = 100


class _Version(msgspec.Struct, rename="camel"):
    git_version: str = ""


#: The decoder of versions, created before threads use it.
_DECODER: Final = msgspec.json.Decoder(_Version)


def server_version(connection: Connection) -> str:
    """Return the server's version, such as ``v1.36.3``; empty if the server does not report a version.

    Raises
    ------
    ClusterError
        If the server cannot be reached or is not an API server.
    """
    try:
        version = _DECODER.decode(connection.get("/version")).git_version
    except (ForbiddenError, NotServedError):
        # Some proxies block the path; the versions of the kubelets are used instead.
        return ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ClusterError(f"{connection.host} does not respond like an API server: {error}") from None
    # The version is printed without escaping: discard a text that cannot be a version.
    return version if version.isprintable() and len(version) <= _LONGEST else ""
