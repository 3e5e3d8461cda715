"""Which version the control plane is of."""

from __future__ import annotations

from typing import Final

import msgspec

from kschedctl.errors import ClusterError
from kschedctl.live.connection import Connection
from kschedctl.live.refusals import ForbiddenError, NotServedError

_LONGEST: Final = 100


class _Version(msgspec.Struct, rename="camel"):
    git_version: str = ""


#: Made before threads use it.
_DECODER: Final = msgspec.json.Decoder(_Version)


def server_version(connection: Connection) -> str:
    """The server's version, such as ``v1.36.3``; empty where it does not tell.

    Raises
    ------
    ClusterError
        Where it cannot be reached, or is no API server.
    """
    try:
        version = _DECODER.decode(connection.get("/version")).git_version
    except (ForbiddenError, NotServedError):
        # Some proxies do not let it pass; the kubelets' versions tell as well.
        return ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ClusterError(f"{connection.host} does not answer as an API server does: {error}") from None
    # It is shown as it is; what is no version is none.
    return version if version.isprintable() and len(version) <= _LONGEST else ""
