"""The address of the form for the token, which names the page that is shown afterwards."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

#: An address on this server. Browsers read two slashes, or a slash and a backslash, as the name of another one, and
#: ignore control characters.
_LOCAL: Final = re.compile(r"/(?!/)[!-\[\]-~]*")


def login_address(path: str, query: bytes) -> str:
    """Return the address of the form for the token.

    Parameters
    ----------
    path, query
        The address that the client asked for; the path is decoded.

    Examples
    --------
    >>> login_address("/pods", b"q=a"), login_address("/", b"")
    ('/login?next=/pods%3Fq%3Da', '/login')
    """
    wanted = quote(path) + (f"?{quote(query, safe='%&=+')}" if query else "")
    return "/login" if wanted == "/" else f"/login?next={quote(wanted)}"


def local_address(wanted: str) -> str:
    """Return an address if it is one on this server, else that of the first page.

    Examples
    --------
    >>> local_address("/pods?q=a"), local_address("//evil.example"), local_address("https://evil.example")
    ('/pods?q=a', '/', '/')
    """
    return wanted if _LOCAL.fullmatch(wanted) else "/"
