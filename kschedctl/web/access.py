"""The rules about who may send requests: the name of the server, the origin of the request, and its identity."""

import hmac
import re
import time
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import quote

from kschedctl.web.settings import ServeSettings

#: Paths that need no identity: probes, the form for the token and what it is drawn with.
PUBLIC: Final = frozenset({"/healthz", "/readyz", "/login"})
_PUBLIC_BELOW: Final = "/static/"
COOKIE: Final = "kschedctl_session"
_EXPIRY_DIGITS: Final = 12
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_HOST: Final = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9._-]{1,253}))(?::(?P<port>[0-9]{1,5}))?"
)
#: The values of ``Sec-Fetch-Site`` for pages of this server, and for what a user does without a page.
_OWN_SITES: Final = frozenset({b"same-origin", b"none"})
_LAST_PORT: Final = 65535
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class RefusedError(Exception):
    """The error for a request that is refused before it is read."""

    def __init__(self, status: HTTPStatus, detail: str) -> None:
        super().__init__(detail)
        self.status = status


def session_of(token: str, expiry: int) -> str:
    """Return the value of the cookie that stands for a token; the token cannot be computed from it.

    Args:
        expiry: The time from which on the cookie is refused, in seconds since 1970.
    """
    signature = hmac.new(token.encode(), f"kschedctl session {expiry}".encode(), sha256).hexdigest()
    return f"{expiry}.{signature}"


class Access:
    """The rules about who may send requests."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings

    def check(self, scope: Mapping[str, Any]) -> None:
        """Check a request.

        Raises RefusedError if it is not allowed.
        """
        headers = list(scope["headers"])
        # Refuse names of the server that are not its own: a page of another site may have pointed them here.
        found = _HOST.fullmatch(only_header(headers, b"host").decode("latin-1"))
        if found is None or int(found["port"] or 0) > _LAST_PORT:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the request has no valid Host header")
        name = (found["six"] or found["name"]).lower()
        if not self._is_own(name):
            raise RefusedError(
                HTTPStatus.MISDIRECTED_REQUEST,
                "the Host header is no name of this server: --allowed-host NAME adds one",
            )
        foreign = _is_foreign(headers, self._settings.hosts)
        if foreign and not (scope["method"] in _READING and _is_link(headers)):
            raise RefusedError(HTTPStatus.FORBIDDEN, "the request comes from a page of another site")
        path = scope["path"]
        if path not in PUBLIC and not path.startswith(_PUBLIC_BELOW) and not self.is_known(headers):
            raise RefusedError(HTTPStatus.UNAUTHORIZED, "the request needs a token, or a user that the proxy names")

    def is_known(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Report whether the client has the token, or the trusted proxy names its user; true if neither is needed."""
        settings = self._settings
        if not settings.token and not settings.proxy_headers:
            return True
        headers = list(headers)
        if _named_user(headers, settings):
            return True
        if not settings.token:
            return False
        scheme, _, token = only_header(headers, b"authorization").partition(b" ")
        if scheme.lower() == b"bearer" and self.is_token(token.strip().decode("latin-1")):
            return True
        # Cookies of other programs may contain anything.
        pairs = (pair.partition(b"=") for line in _header_values(headers, b"cookie") for pair in line.split(b";"))
        return any(self._is_session(value.strip()) for name, _, value in pairs if name.strip() == COOKIE.encode())

    def is_token(self, token: str) -> bool:
        """Report whether a text is the token, in a time that does not depend on the text."""
        return bool(self._settings.token) and hmac.compare_digest(token.encode(), self._settings.token.encode())

    def _is_session(self, value: bytes) -> bool:
        expiry = value.partition(b".")[0]
        if not expiry.isdigit() or len(expiry) > _EXPIRY_DIGITS:
            return False
        expected = session_of(self._settings.token, int(expiry)).encode()
        return hmac.compare_digest(value, expected) and int(expiry) > time.time()

    def _is_own(self, name: str) -> bool:
        settings = self._settings
        if name in settings.hosts or name == settings.host.lower():
            return True
        if settings.is_loopback:
            return name in _LOCAL
        if settings.host not in ("", "0.0.0.0", "::"):
            return False
        # An address is no name that another site could point here.
        try:
            ip_address(name)
        except ValueError:
            return name == "localhost"
        return True


def user_of(scope: Mapping[str, Any], settings: ServeSettings) -> str:
    """Return the user whom the trusted proxy names in a request; without one, the address of the client."""
    client = scope.get("client")
    return _named_user(list(scope["headers"]), settings) or (client[0] if client else "")


def _named_user(headers: list[tuple[bytes, bytes]], settings: ServeSettings) -> str:
    values = (only_header(headers, name.encode()).strip() for name in settings.proxy_headers)
    return next(filter(None, values), b"").decode("latin-1")


def only_header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes:
    """Return the value of a header; empty if it is absent or given several times."""
    found = _header_values(headers, name)
    return found[0] if len(found) == 1 else b""


def _is_foreign(headers: list[tuple[bytes, bytes]], hosts: Collection[str]) -> bool:
    """Report whether a page of another site sends the request; programs that are no browsers send neither header."""
    sites = _header_values(headers, b"sec-fetch-site")
    if sites:
        # The browser has compared the origin with the address that it knows, which a proxy may have rewritten.
        return any(site not in _OWN_SITES for site in sites)
    own = {only_header(headers, b"host").lower(), *(host.encode() for host in hosts)}
    return any(origin.lower().partition(b"://")[2] not in own for origin in _header_values(headers, b"origin"))


def _is_link(headers: list[tuple[bytes, bytes]]) -> bool:
    """Report whether a user may have followed a link; images and frames would make the server compute unseen."""
    frame = _header_values(headers, b"sec-fetch-dest") not in ([], [b"document"])
    return only_header(headers, b"sec-fetch-mode") == b"navigate" and not frame


def _header_values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for each, value in headers if each.lower() == name]


# The address of the form for the token, which names the page that is shown afterwards.

#: An address on this server. Browsers read two slashes, or a slash and a backslash, as the name of another one, and
#: ignore control characters.
_LOGIN_ADDRESS_LOCAL: Final = re.compile(r"/(?!/)[!-\[\]-~]*")


def login_address(path: str, query: bytes) -> str:
    """Return the address of the form for the token.

    Args:
        path, query: The address that the client asked for; the path is decoded.

    >>> login_address("/pods", b"q=a"), login_address("/", b"")
    ('/login?next=/pods%3Fq%3Da', '/login')
    """
    wanted = quote(path) + (f"?{quote(query, safe='%&=+')}" if query else "")
    return "/login" if wanted == "/" else f"/login?next={quote(wanted)}"


def local_address(wanted: str) -> str:
    """Return an address if it is one on this server, else that of the first page.

    >>> local_address("/pods?q=a"), local_address("//evil.example"), local_address("https://evil.example")
    ('/pods?q=a', '/', '/')
    """
    return wanted if _LOGIN_ADDRESS_LOCAL.fullmatch(wanted) else "/"
