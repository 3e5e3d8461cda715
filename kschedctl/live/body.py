"""The body of an answer, piece by piece: what never ends or unpacks to too much is given up early."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final

from kschedctl.errors import ClusterError
from kschedctl.live.limits import Deadline, Limits
from kschedctl.snapshot.unpacking import size_text

_PIECE: Final = 256 * 1024
#: For zlib: the header tells whether it is gzip or zlib.
_ANY_HEADER: Final = zlib.MAX_WBITS | 32
_GZIP: Final = ("gzip", "x-gzip", "deflate")


def read_body(response: Any, limits: Limits, until: Deadline, name: str) -> bytes:
    """Read the body of an answer.

    Parameters
    ----------
    response : urllib3.BaseHTTPResponse
        The answer, of which nothing is read.
    limits : Limits
        How much it may be.
    until : Deadline
        When it must be there.
    name : str
        The address, for errors.

    Raises
    ------
    ClusterError
        Where it is too large, comes too slowly or is packed in a way that was not asked for.
    urllib3.exceptions.HTTPError
        Where it breaks off.
    """
    body = BytesIO()
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("identity", "", *_GZIP):
        raise ClusterError(f"{name} answers in the encoding {encoding[:40]!r}, which was not asked for")
    packed = _pieces(response, limits, until, name)
    for piece in _unpacked(packed, name) if encoding in _GZIP else packed:
        if body.tell() + len(piece) > limits.max_answer:
            raise ClusterError(f"{name} answers with more than {size_text(limits.max_answer)}")
        limits.add(len(piece), name)
        body.write(piece)
    return body.getvalue()


def _pieces(response: Any, limits: Limits, until: Deadline, name: str) -> Iterator[bytes]:
    # One piece is what has arrived: waiting for a whole one would be waiting for a server that sends a byte at a time.
    while piece := response.read1(_PIECE, decode_content=False):
        yield piece
        if until.passed:
            raise until.too_late(f"{name} has not answered in full")
        if limits.ended.is_set():
            raise ClusterError(f"{name} is not asked any more")


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
