"""The settings of the server: address, access and limits."""

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final

from kschedctl.common.errors import InputError
from kschedctl.common.processes import available_cores
from kschedctl.questions.cluster_request import ClusterRequest

#: The shortest token: 128 bits in base64.
_SHORTEST_TOKEN: Final = 16
#: The name of a header (RFC 9110).
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits on requests and jobs."""

    #: The number of processes that answer requests; each holds the cluster.
    workers: int = field(default_factory=lambda: max(1, min(4, available_cores())))
    #: The number of processes that run jobs; each holds the cluster from its first job on. With 0 the processes that
    #: answer requests run jobs, too.
    jobs: int = 1
    #: The number of requests that may wait for a process; further ones are refused.
    waiting: int = 200
    #: The number of jobs that are remembered; the oldest ended one is forgotten first.
    jobs_kept: int = 50
    #: The size of the compressed answers of the jobs that are remembered, in bytes; the oldest are forgotten
    #: first.
    answer_bytes: int = 128 * 2**20
    #: The longest time for a request, including its wait, in seconds.
    seconds: float = 30.0
    #: The longest time for a job, without its wait, in seconds.
    job_seconds: float = 1800.0
    #: The longest time in which a client may send the headers or the body of a request, in seconds.
    body_seconds: float = 10.0
    #: The largest body of a request, in bytes.
    body_bytes: int = 2**20
    #: The number of open connections; further ones are refused.
    connections: int = 1000
    #: The number of open streams of events; further ones are refused.
    streams: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """The settings of the server."""

    #: The address to listen on; empty for all addresses.
    host: str = "127.0.0.1"
    #: The port; 0 for any free port.
    port: int = 8080
    #: Further names of the server in the ``Host`` header, in lower case.
    hosts: frozenset[str] = frozenset()
    #: The token that clients need; empty if none is needed.
    token: str = ""
    #: The headers, one of which a trusted proxy sets to the name of the user, in lower case.
    proxy_headers: tuple[str, ...] = ()
    #: The snapshots that the cluster can be compared with, each with the rules of the cluster.
    compare: tuple[ClusterRequest, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name in self.proxy_headers:
            if not _HEADER.fullmatch(name):
                raise InputError(
                    f'"{name}" is not the name of a header',
                    path="--trusted-proxy-header",
                    hint="such as X-Forwarded-User",
                )
        if not self.is_loopback and not self.token and not self.proxy_headers:
            raise InputError(
                f"{self.host or 'every address'} can be reached by others, so that clients have to identify themselves",
                path="--host",
                hint="give --token-file or --trusted-proxy-header, or listen on 127.0.0.1",
            )

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


def read_token(path: str, warn: Callable[[str], None]) -> str:
    """Return the token in a file, without the white space around it.

    Args:
        warn: Receives a warning if other users of this machine can read the file.

    Raises InputError if the file cannot be read, or holds no token of at least 16 printable ASCII characters.
    """
    try:
        with open(path, encoding="ascii") as file:
            token = file.read(4096).strip()
            mode = os.fstat(file.fileno()).st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "is not ASCII text"
        raise InputError(f"cannot be read: {reason}", where=path, path="--token-file") from None
    if len(token) < _SHORTEST_TOKEN or not token.isprintable() or " " in token:
        hint = f"create it: (umask 077; head -c 32 /dev/urandom | base64 > {path})"
        raise InputError(f"holds no token of {_SHORTEST_TOKEN} or more characters", where=path, hint=hint)
    # Windows has other rights than these bits.
    if os.name == "posix" and mode & stat.S_IROTH:
        warn(f"{path} can be read by every user of this machine: chmod o-r {path}")
    return token
