"""An answer that goes on, line by line: each line as soon as it has come, and none that never ends."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Any, Final

from kschedctl.errors import ClusterError
from kschedctl.snapshot.unpacking import size_text

_PIECE: Final = 256 * 1024
#: Bytes of a line, which is one object; etcd takes objects of a few megabytes at most.
MAX_LINE: Final = 64 * 1024 * 1024


def read_lines(response: Any, ended: Event, name: str) -> Iterator[bytes]:
    """Read lines; those that are empty are left out, and so is a last one that breaks off.

    Parameters
    ----------
    response : urllib3.BaseHTTPResponse
        The answer, of which nothing is read.
    ended : Event
        Is set once nothing more is wanted.
    name : str
        The address, for errors.

    Raises
    ------
    ClusterError
        Where a line is too long, or nothing more is wanted.
    urllib3.exceptions.HTTPError
        Where the answer breaks off, or nothing comes for too long.
    """
    rest = bytearray()
    while piece := response.read1(_PIECE):
        if ended.is_set():
            raise ClusterError(f"{name} is not asked any more")
        rest += piece
        if b"\n" in piece:
            *lines, last = bytes(rest).split(b"\n")
            rest = bytearray(last)
            yield from filter(None, lines)
        if len(rest) > MAX_LINE:
            raise ClusterError(f"{name} sends a line of more than {size_text(MAX_LINE)}")
