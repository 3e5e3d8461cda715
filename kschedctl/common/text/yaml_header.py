r"""The first two lines of a YAML document, if they alone determine what kind of object it is.

A reader that needs nothing else of a document can leave the rest unread, which takes a tenth of the time of parsing it.
The first two lines determine version and kind if nothing below can set them again. In block style, an entry of the
document itself begins in the first column. So all lines there must be comments, items of a list, or simple keys with
other names. Quoted keys, explicit keys, merges, flow collections, tags, directives and the end of a document are no
simple keys. Lines of a quoted scalar may begin in the first column as well; those that look like simple keys are part
of a value, and do no harm.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from kschedctl.common.text.yaml_scalars import plain_scalar

#: Reports, from ``apiVersion``, ``kind`` and text of a document, whether nothing else of it is needed.
Unread: TypeAlias = Callable[[str, str, bytes], bool]
#: Returns an object, given as JSON, with the same meaning and fewer fields; ``None`` if none can be left out.
Shorten: TypeAlias = Callable[[bytes], bytes | None]

#: The next line must begin an entry of the document, or a scalar might continue there.
_HEADER: Final = re.compile(
    rb"(?:[ ]*(?:#[^\n]*)?\n)*+"
    rb"(?:apiVersion: ([A-Za-z][\w./-]*)\nkind: ([A-Za-z]\w*)|kind: ([A-Za-z]\w*)\napiVersion: ([A-Za-z][\w./-]*))"
    rb"(?:\n(?=[A-Za-z])|\n?\Z)"
)
#: The beginning of a line in the first column that may set version or kind again.
_MAY_REPEAT: Final = re.compile(rb"\n(?!(?!(?:kind|apiVersion):)[A-Za-z][A-Za-z0-9]*:[ \n]|- |-\n|[ #\n]|\Z)")


def yaml_header(text: bytes) -> tuple[str, str] | None:
    r"""Return the ``apiVersion`` and the ``kind`` of a document.

    Parameters
    ----------
    text : bytes
        The lines of the document, which ``may_be_plain`` accepts.

    Returns
    -------
    tuple of (str, str) or None
        ``None`` if only a parser can tell, or if one of them is not text.

    Examples
    --------
    >>> yaml_header(b"apiVersion: v1\nkind: Secret\ndata:\n  kind: b\n")
    ('v1', 'Secret')
    >>> yaml_header(b"apiVersion: v1\nkind: Secret\ndata: {}\nkind: Pod\n")
    >>> yaml_header(b"apiVersion: v1\nkind: Secret\n  or not\n")
    """
    header = _HEADER.match(text)
    if header is None or _MAY_REPEAT.search(text, header.end() - 1) is not None:
        return None
    version, kind = (header[1] or header[4]).decode(), (header[2] or header[3]).decode()
    return (version, kind) if plain_scalar(version) == version and plain_scalar(kind) == kind else None
