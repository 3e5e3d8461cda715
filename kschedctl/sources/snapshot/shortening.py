"""The shortening of objects, given as JSON, to the fields that reading uses, for the way between two processes."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from kschedctl.common.errors import InputError
from kschedctl.objects.kinds import kind_type
from kschedctl.sources.snapshot.decoding import decode
from kschedctl.sources.snapshot.documents import read_envelope
from kschedctl.sources.snapshot.summary import ReadSummary
from kschedctl.sources.snapshot.templates import BRACES

# The beginning of an object as written by API servers and kubectl.
_BEGINNING: Final = re.compile(
    rb'\{\s*(?:"apiVersion":\s*"([\w./-]+)",\s*"kind":\s*"(\w+)"|"kind":\s*"(\w+)",\s*"apiVersion":\s*"([\w./-]+)")'
)


def shortened(text: bytes, summary: ReadSummary) -> bytes | None:
    r"""Return an object without the fields that reading skips, and with its newest time in the field ``time``.

    Parameters
    ----------
    text : bytes
        The object as JSON.
    summary : ReadSummary
        Records the times of the object.

    Returns
    -------
    bytes, optional
        An object that is read as the same; ``None`` if nothing is known about its kind, or it is invalid or a list.
    """
    match = _BEGINNING.match(text)
    if match is None:
        return None
    type_ = kind_type((match[1] or match[4]).decode(), (match[2] or match[3]).decode())
    if type_ is None:
        return None
    try:
        read = decode(text, type_)
        if read_envelope(text).items is not msgspec.UNSET:
            return None
    except InputError:
        return None
    if not read.metadata.name or BRACES in read.metadata.name:
        return None
    # Only where reading notes the times, too: a document may be left unparsed if its times are older.
    newest = summary.note_times(text)
    # No kind has the field ``time`` itself; the name of the object guarantees that there are other fields.
    time = b',"time":"' + newest + b'Z"' if newest else b""
    return match[0] + time + b"," + msgspec.json.encode(read)[1:]
