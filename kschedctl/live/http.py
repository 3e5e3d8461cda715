"""The HTTP client of everything that is asked over a network: clusters that are read or written to, and extenders.

A request is sent once and followed nowhere. Its sender decides when to ask again or somewhere else, and has words for
what fails. Bodies come piece by piece, so that one that never ends or unpacks to too much is given up early.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from threading import Event
from typing import Any, Final

from urllib3 import BaseHTTPResponse, PoolManager, Timeout, disable_warnings
from urllib3.exceptions import InsecureRequestWarning

from kschedctl.errors import ClusterError
from kschedctl.live.limits import Deadline, Limits
from kschedctl.snapshot.unpacking import size_text

JSON: Final = "application/json"
USER_AGENT: Final = "kschedctl"
#: Bytes of a line, which is one object; etcd takes objects of a few megabytes at most.
MAX_LINE: Final = 64 * 1024 * 1024
_PIECE: Final = 256 * 1024
#: For zlib: the header tells whether it is gzip or zlib.
_ANY_HEADER: Final = zlib.MAX_WBITS | 32
_GZIP: Final = ("gzip", "x-gzip", "deflate")


def silence_urllib3() -> None:
    """Keep urllib3 from logging what fails, which senders tell, and from warning of servers that are trusted unseen."""
    # Configurations say so themselves; kubectl does not warn either.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    disable_warnings(InsecureRequestWarning)


@contextmanager
def sent(
    pool: PoolManager, method: str, url: str, headers: Mapping[str, str], timeout: Timeout, body: bytes | None = None
) -> Iterator[BaseHTTPResponse]:
    """Send a request and read nothing of the answer's body, which may be left unread.

    Raises
    ------
    urllib3.exceptions.HTTPError
        Where there is no answer.
    """
    once: dict[str, Any] = {"retries": False, "redirect": False, "preload_content": False}
    response = pool.request(method, url, body=body, headers=headers, timeout=timeout, **once)
    try:
        yield response
    finally:
        # What is left of the answer is not waited for; a connection whose answer is read is kept all the same.
        response.close()


def seconds_left(until: Deadline) -> float | None:
    """Tell the seconds that are left; ``None`` for any number.

    Raises
    ------
    TimeoutError
        Where no time is left.
    """
    left = until.left
    if left == 0:
        raise TimeoutError
    return left


def pieces(response: BaseHTTPResponse, until: Deadline) -> Iterator[bytes]:
    """Yield what has arrived of a body, packed as it is.

    One piece is no more than that: waiting for a whole one would be waiting for a server that sends a byte at a time.

    Raises
    ------
    TimeoutError
        Where it is not complete in time and something of it has just come.
    urllib3.exceptions.HTTPError
        Where it breaks off, or nothing more comes in time.
    """
    while True:
        left = seconds_left(until)
        socket = getattr(response.connection, "sock", None)
        if socket is not None:
            socket.settimeout(left)
        piece = response.read1(_PIECE, decode_content=False)
        if not piece:
            return
        yield piece


def read_body(response: BaseHTTPResponse, limits: Limits, until: Deadline, name: str) -> bytes:
    """Read the whole body of an answer; ``name`` is the address, for errors.

    Raises
    ------
    ClusterError
        Where it is too large, comes too slowly or is packed in a way that was not asked for.
    urllib3.exceptions.HTTPError
        Where it breaks off, or nothing more comes in time.
    """
    body = BytesIO()
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("identity", "", *_GZIP):
        raise ClusterError(f"{name} answers in the encoding {encoding[:40]!r}, which was not asked for")
    packed = _wanted(response, limits.ended, until, name)
    for piece in _unpacked(packed, name) if encoding in _GZIP else packed:
        if body.tell() + len(piece) > limits.max_answer:
            raise ClusterError(f"{name} answers with more than {size_text(limits.max_answer)}")
        limits.add(len(piece), name)
        body.write(piece)
    return body.getvalue()


def _wanted(response: BaseHTTPResponse, ended: Event, until: Deadline, name: str) -> Iterator[bytes]:
    try:
        for piece in pieces(response, until):
            yield piece
            if ended.is_set():
                raise ClusterError(f"{name} is not asked any more")
    except TimeoutError:
        raise until.too_late(f"{name} has not answered in full") from None


def _unpacked(packed: Iterator[bytes], name: str) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_ANY_HEADER)
    try:
        for piece in packed:
            while piece:
                yield unpacker.decompress(piece, _PIECE)
                piece = unpacker.unconsumed_tail
    except zlib.error as error:
        raise ClusterError(f"{name} sends what cannot be unpacked: {error}") from None
    if not unpacker.eof:
        raise ClusterError(f"{name} sends a packed answer that breaks off")


def read_lines(response: BaseHTTPResponse, ended: Event, name: str) -> Iterator[bytes]:
    """Read an answer that goes on, each line as soon as it has come, without empty ones and a last one that breaks off.

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
