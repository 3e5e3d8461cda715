"""URLs in CEL (apiserver ``cel/library``), parsed as by Go's ``net/url``."""

from __future__ import annotations

import re
from typing import Any, Final

from kschedctl.scheduler.devices.cel.addresses import parse_ip
from kschedctl.scheduler.devices.cel.functions import Function, matching
from kschedctl.scheduler.devices.cel.quoting import quoted
from kschedctl.scheduler.devices.cel.values import URL, CelError

_UNRESERVED: Final = r"A-Za-z0-9_.~\-"
#: Characters that a path never escapes; then characters that may also be unescaped in a path as written.
_PATH: Final = re.compile(rf"[{_UNRESERVED}$&+,/:;=@]", re.ASCII)
_PATH_AS_WRITTEN: Final = re.compile(rf"[{_UNRESERVED}$&+,/:;=@!'()*%\[\]]*", re.ASCII)
_HOST: Final = re.compile(rf"[{_UNRESERVED}!$&'()*+,;=:\[\]<>\"]", re.ASCII)
_USER: Final = re.compile(rf"[{_UNRESERVED}:!$&'()*+,;=%@]*", re.ASCII)
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
_PORT: Final = re.compile(r"(?::[0-9]*)?", re.ASCII)
_PORT_AT_END: Final = re.compile(r":([0-9]*)$", re.ASCII)
_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


def _unescaped(text: str, *, in_host: bool = False) -> str:
    """Return the text with percent escapes resolved; bytes that are not UTF-8 become surrogates."""
    for found in re.finditer("%", text):
        escape = text[found.start() : found.start() + 3]
        # In a host, only non-ASCII characters and the percent sign of a zone may be escaped.
        if not _ESCAPE.fullmatch(escape.encode()) or (in_host and escape != "%25" and int(escape[1], 16) < 8):
            raise CelError(f"invalid URL escape {quoted(escape)}")
    if in_host:
        for character in text:
            if character < "\x80" and character != "%" and not _HOST.fullmatch(character):
                raise CelError(f"invalid character {quoted(character)} in host name")
    plain = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), text.encode())
    return plain.decode(errors="surrogateescape")


def _host(scheme: str, text: str) -> str:
    if "[" in text and not text.startswith("["):
        raise CelError("invalid IP-literal")
    if text.startswith("["):
        name, bracket, port = text.rpartition("]")
        if not bracket:
            raise CelError("missing ']' in host")
        if not _PORT.fullmatch(port):
            raise CelError(f"invalid port {quoted(port)} after host")
        name = _unescaped(name[1:], in_host=True)
        try:
            address = parse_ip(name)
        except CelError as error:
            raise CelError(f"invalid host: {error}") from None
        if address.version == 4:
            raise CelError("invalid IP-literal")
        return f"[{name}]{port}"
    if ":" in text:
        # Only http and https require that the first colon starts the port.
        first = text.index(":") if scheme in ("http", "https") else text.rindex(":")
        if not _PORT.fullmatch(text[first:]):
            raise CelError(f"invalid port {quoted(text[first:])} after host")
    return _unescaped(text, in_host=True)


def _authority(scheme: str, text: str) -> str:
    """Return the host of an authority; check the user information in front of it."""
    user, at, host = text.rpartition("@")
    out = _host(scheme, host)
    if at:
        if not _USER.fullmatch(user):
            raise CelError("net/url: invalid userinfo")
        for part in user.split(":", 1):
            _unescaped(part)
    return out


def _parsed(text: str, *, via_request: bool) -> URL:
    """Parse a URL; with ``via_request`` it must be absolute or start with a slash."""
    whole = text
    if _CONTROL.search(text):
        raise CelError("net/url: invalid control character in URL")
    if not text and via_request:
        raise CelError("empty url")
    if text == "*":
        return URL(whole, "", "", "*", "")
    if text.startswith(":"):
        raise CelError("missing protocol scheme")
    found = _SCHEME.match(text)
    scheme = "" if found is None else found[1].lower()
    rest, _, query = (text if found is None else text[found.end() :]).partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(whole, scheme, "", "", query)
        if via_request:
            raise CelError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise CelError("first path segment in URL cannot contain colon")
    host = ""
    if rest.startswith("//") and (scheme or (not via_request and not rest.startswith("///"))):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
        host = _authority(scheme, authority)
    return URL(whole, scheme, host, _escaped_path(rest), query)


def _escaped_path(text: str) -> str:
    """Return a path as written if it is a valid encoding, and otherwise an escaped form of it."""
    path = _unescaped(text)
    if _PATH_AS_WRITTEN.fullmatch(text):
        return text
    octets = path.encode(errors="surrogateescape")
    return "".join(chr(b) if b < 0x80 and _PATH.fullmatch(chr(b)) else f"%{b:02X}" for b in octets)


def _checked(text: str, *, via_request: bool) -> URL:
    try:
        return _parsed(text, via_request=via_request)
    except CelError as error:
        raise CelError(f"parse {quoted(text)}: {error}") from None


@matching(str)
def _url(text: str) -> URL:
    try:
        _checked(text, via_request=True)
        without, sharp, fragment = text.partition("#")
        found = _checked(without, via_request=False)
        if sharp:
            try:
                _unescaped(fragment)
            except CelError as error:
                raise CelError(f"parse {quoted(text)}: {error}") from None
    except CelError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None
    return URL(text, found.scheme, found.host, found.escaped_path, found.query)


@matching(str)
def _is_url(text: str) -> bool:
    try:
        _parsed(text, via_request=True)
    except CelError:
        return False
    return True


def _split_host(url: URL) -> tuple[str, str]:
    """Return the host name and the port."""
    found = _PORT_AT_END.search(url.host)
    name, port = (url.host, "") if found is None else (url.host[: found.start()], found[1])
    return (name[1:-1] if name.startswith("[") and name.endswith("]") else name), port


def _query(url: URL) -> dict[Any, Any]:
    """Return the query parameters with their values; malformed parameters are skipped."""
    out: dict[Any, Any] = {}
    for pair in url.query.split("&"):
        if not pair or ";" in pair:
            continue
        key, _, value = pair.partition("=")
        try:
            name, text = (_unescaped(part.replace("+", " ")) for part in (key, value))
        except CelError:
            continue
        out.setdefault(name, []).append(text)
    return out


URLS: Final[dict[str, Function]] = {
    "url": _url,
    "isURL": _is_url,
    "getScheme": matching(URL)(lambda url: url.scheme),
    "getHost": matching(URL)(lambda url: url.host),
    "getHostname": matching(URL)(lambda url: _split_host(url)[0]),
    "getPort": matching(URL)(lambda url: _split_host(url)[1]),
    "getEscapedPath": matching(URL)(lambda url: url.escaped_path),
    "getQuery": matching(URL)(_query),
}
