"""The HTTP client of all network requests: to clusters that are read or written, and to scheduler extenders.

A request is sent once and redirects are not followed: the caller decides about retries and reports errors. Bodies are
read in chunks, so that a body that never ends or decompresses to too much is abandoned early.
"""

import logging
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from threading import Event
from typing import Any, Final

from urllib3 import BaseHTTPResponse, PoolManager, Timeout, disable_warnings
from urllib3.exceptions import InsecureRequestWarning

from kschedctl.common.errors import ClusterError
from kschedctl.sources.live.limits import Deadline, Limits
from kschedctl.sources.snapshot.archives import size_text

JSON: Final = "application/json"
USER_AGENT: Final = "kschedctl"
#: The maximum length of a line of a watch, in bytes (4 MiB). A line is one object; an API server accepts objects of up
#: to 3 MiB, and etcd stores up to 1.5 MiB. A decoded object can take 100 times as much memory as its text.
MAX_LINE: Final = 4 * 1024 * 1024
_PIECE: Final = 256 * 1024
#: The zlib setting that detects gzip and zlib by their headers.
_ANY_HEADER: Final = zlib.MAX_WBITS | 32
_GZIP: Final = ("gzip", "x-gzip", "deflate")


def silence_urllib3() -> None:
    """Suppress urllib3's log of failures, which callers report, and its warnings about unverified certificates."""
    # Skipping the verification is an explicit setting of the configuration; kubectl does not warn either.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    disable_warnings(InsecureRequestWarning)


@contextmanager
def sent(
    pool: PoolManager, method: str, url: str, headers: Mapping[str, str], timeout: Timeout, body: bytes | None = None
) -> Iterator[BaseHTTPResponse]:
    """Send a request and provide the response without reading its body; the caller may leave the body unread.

    Raises urllib3.exceptions.HTTPError if there is no response.
    """
    once: dict[str, Any] = {"retries": False, "redirect": False, "preload_content": False}
    response = pool.request(method, url, body=body, headers=headers, timeout=timeout, **once)
    try:
        yield response
    finally:
        # Do not wait for the rest of the body. A connection whose response was read completely is still reused.
        response.close()


def seconds_left(until: Deadline) -> float | None:
    """Return the seconds left until a deadline; ``None`` for a deadline without a limit.

    Raises TimeoutError if no time is left.
    """
    left = until.left
    if left == 0:
        raise TimeoutError
    return left


def pieces(response: BaseHTTPResponse, until: Deadline) -> Iterator[bytes]:
    """Yield the chunks of a body as they arrive, without decompression.

    A chunk contains the data that is available, up to 256 KiB. Waiting for full chunks would mean waiting for a server
    that sends one byte at a time.

    Raises TimeoutError if the deadline passes while data keeps arriving.
    Raises urllib3.exceptions.HTTPError if the connection breaks, or no data arrives before the deadline.
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
    """Read and decompress the whole body of a response; ``name`` is the address, for error messages.

    Raises ClusterError if the body is too large, arrives too slowly or has an encoding that was not requested.
    Raises urllib3.exceptions.HTTPError if the connection breaks, or no data arrives before the deadline.
    """
    body = BytesIO()
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("identity", "", *_GZIP):
        raise ClusterError(f"{name} responds in the encoding {encoding[:40]!r}, which was not requested")
    packed = _wanted_pieces(response, limits.ended, until, name)
    for piece in _unpacked(packed, name) if encoding in _GZIP else packed:
        if body.tell() + len(piece) > limits.max_answer:
            raise ClusterError(f"{name} responds with more than {size_text(limits.max_answer)}")
        limits.add(len(piece), name)
        body.write(piece)
    return body.getvalue()


def _wanted_pieces(response: BaseHTTPResponse, ended: Event, until: Deadline, name: str) -> Iterator[bytes]:
    try:
        for piece in pieces(response, until):
            yield piece
            if ended.is_set():
                raise ClusterError(f"{name} is no longer queried: the connection was closed")
    except TimeoutError:
        raise until.too_late(f"{name} did not respond in full") from None


def _unpacked(packed: Iterator[bytes], name: str) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_ANY_HEADER)
    try:
        for piece in packed:
            while piece:
                yield unpacker.decompress(piece, _PIECE)
                piece = unpacker.unconsumed_tail
    except zlib.error as error:
        raise ClusterError(f"{name} sends data that cannot be unpacked: {error}") from None
    if not unpacker.eof:
        raise ClusterError(f"{name} sends a compressed response that is cut off")


def read_lines(response: BaseHTTPResponse, ended: Event, name: str) -> Iterator[bytes]:
    """Yield the lines of a streamed response as they arrive, without empty lines and an incomplete last line.

    Raises ClusterError if a line is longer than 4 MiB, or ``ended`` is set.
    Raises urllib3.exceptions.HTTPError if the connection breaks, or no data arrives within the timeout.
    """
    rest = bytearray()
    while piece := response.read1(_PIECE):
        if ended.is_set():
            raise ClusterError(f"{name} is no longer queried: the connection was closed")
        *lines, last = piece.split(b"\n")
        for line in lines:
            rest += line
            if rest:
                yield bytes(rest)
            rest.clear()
        rest += last
        if len(rest) > MAX_LINE:
            raise ClusterError(f"{name} sends a line of more than {size_text(MAX_LINE)}")
