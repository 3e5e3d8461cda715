"""The Kubernetes extensions of CEL: quantities, semantic versions, strings, lists, sets and regular expressions.

Upstream: apiserver ``cel/library`` and cel-go ``ext``. IP addresses, CIDRs, URLs and times have separate modules;
named formats are not modelled.
"""

import re
from itertools import pairwise
from typing import Any, Final

from kschedctl.objects.quantity import NANO, QuantityError, parse_quantity
from kschedctl.scheduler.devices.cel.addresses import parse_ip
from kschedctl.scheduler.devices.cel.functions import Function, accepts, matching, pattern
from kschedctl.scheduler.devices.cel.values import (
    URL,
    CelError,
    NoSuchOverloadError,
    Quantity,
    Semver,
    compare,
    equal,
    parse_semver,
    quoted,
)

_MAX_INT: Final = 2**63 - 1
_QUANTITY_PROBLEM: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#: The functions and macros of the libraries that are not modelled.
NOT_MODELLED_FUNCTIONS: Final = frozenset(
    {
        *("format", "validate", "transformList", "transformMap", "transformMapEntry", "quote"),
        # Functions on lists, and macros with two variables.
        *("distinct", "flatten", "slice", "sort", "sortBy", "range", "reverse", "first", "last"),
        *("all", "exists", "existsOne", "exists_one", "map", "filter"),
    }
)


@matching(str)
def _quantity(text: str) -> Quantity:
    try:
        return Quantity(parse_quantity(text))
    except QuantityError:
        raise CelError(_QUANTITY_PROBLEM) from None


def _is_integer(quantity: Quantity) -> bool:
    return quantity.nanos % NANO == 0 and abs(quantity.nanos // NANO) <= _MAX_INT


def _as_integer(quantity: Quantity) -> int:
    if not _is_integer(quantity):
        raise CelError("cannot convert value to integer")
    return quantity.nanos // NANO


def _plus(quantity: Quantity, other: Any, sign: int) -> Quantity:
    if isinstance(other, Quantity):
        return Quantity(quantity.nanos + sign * other.nanos)
    if isinstance(other, int) and not isinstance(other, bool):
        return Quantity(quantity.nanos + sign * other * NANO)
    raise NoSuchOverloadError


def _both(left: Any, right: Any) -> int:
    """Compare two quantities or two versions: -1, 0 or 1."""
    if type(left) is type(right) and type(left) in (Quantity, Semver):
        return int(left > right) - int(left < right)
    raise NoSuchOverloadError


def _semver(text: Any, normalize: Any = False) -> Semver:
    if not isinstance(text, str) or not isinstance(normalize, bool):
        raise NoSuchOverloadError
    return parse_semver(_normalized(text) if normalize else text)


def _normalized(text: str) -> str:
    """Return a version without ``v``, with all three numbers, and without leading zeros in these."""
    core, separator, rest = (*re.split(r"([-+])", text.removeprefix("v"), maxsplit=1), "", "")[:3]
    parts = [part.lstrip("0") or "0" if part.isdecimal() else part for part in core.split(".", 2)]
    while len(parts) < 3 and not separator:
        parts.append("0")
    return ".".join(parts) + separator + rest


def _index_of(target: Any, part: Any, start: Any = 0) -> int:
    if isinstance(target, list):
        return next((i for i, element in enumerate(target) if equal(element, part)), -1)
    if isinstance(target, str) and isinstance(part, str):
        if not 0 <= start <= len(target):
            raise CelError(f"index out of range: {start}")
        return target.find(part, start)
    raise NoSuchOverloadError


def _last_index_of(target: Any, part: Any, end: Any = None) -> int:
    if isinstance(target, list):
        return next((i for i in range(len(target) - 1, -1, -1) if equal(target[i], part)), -1)
    if isinstance(target, str) and isinstance(part, str):
        return target.rfind(part) if end is None else target.rfind(part, 0, end + len(part))
    raise NoSuchOverloadError


def _char_at(text: Any, position: Any) -> str:
    if not 0 <= position <= len(text):
        raise CelError(f"index out of range: {position}")
    return str(text[position : position + 1])


def _substring(text: Any, start: Any, end: Any = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= len(text):
        raise CelError(f"index out of range: {start}")
    if not 0 <= end <= len(text):
        raise CelError(f"index out of range: {end}")
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    return str(text[start:end])


def _split(text: Any, separator: Any, limit: Any = -1) -> list[str]:
    if limit == 0:
        return []
    pieces = list(text) if separator == "" else text.split(separator)
    if limit < 0 or len(pieces) <= limit:
        return list(pieces)
    return [*pieces[: limit - 1], separator.join(pieces[limit - 1 :])]


def _join(parts: Any, separator: Any = "") -> str:
    if not all(isinstance(part, str) for part in parts):
        raise NoSuchOverloadError
    return str(separator).join(parts)


def _ascii(text: Any, *, upper: bool) -> str:
    if not isinstance(text, str):
        raise NoSuchOverloadError
    return "".join((c.upper() if upper else c.lower()) if c.isascii() else c for c in text)


def _extreme(values: Any, sign: int) -> Any:
    if not values:
        raise CelError(f"{'max' if sign > 0 else 'min'} called on empty list")
    best = values[0]
    for value in values[1:]:
        if compare(value, best) * sign > 0:
            best = value
    return best


def _find_all(text: Any, regex: Any, limit: Any = -1) -> list[str]:
    found = [match[0] for match in pattern(regex).finditer(text)]
    return found if limit < 0 else found[:limit]


def _subset(part: Any, whole: Any) -> bool:
    return all(any(equal(value, other) for other in whole) for value in part)


EXTENSIONS: Final[dict[str, Function]] = {
    "quantity": _quantity,
    "isQuantity": accepts(_quantity),
    "sign": matching(Quantity)(lambda quantity: (quantity.nanos > 0) - (quantity.nanos < 0)),
    "isInteger": matching(Quantity)(_is_integer),
    "asInteger": matching(Quantity)(_as_integer),
    "asApproximateFloat": matching(Quantity)(lambda quantity: quantity.nanos / NANO),
    "add": matching(Quantity, object)(lambda quantity, other: _plus(quantity, other, 1)),
    "sub": matching(Quantity, object)(lambda quantity, other: _plus(quantity, other, -1)),
    "compareTo": _both,
    "isLessThan": lambda left, right: _both(left, right) < 0,
    "isGreaterThan": lambda left, right: _both(left, right) > 0,
    "semver": _semver,
    "isSemver": accepts(_semver),
    "major": matching(Semver)(lambda version: version.core[0]),
    "minor": matching(Semver)(lambda version: version.core[1]),
    "patch": matching(Semver)(lambda version: version.core[2]),
    "charAt": _char_at,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "substring": _substring,
    "split": _split,
    "replace": lambda text, old, new, limit=-1: str(text.replace(old, new, limit)),
    "join": _join,
    "trim": matching(str)(lambda text: text.strip()),
    "lowerAscii": lambda text: _ascii(text, upper=False),
    "upperAscii": lambda text: _ascii(text, upper=True),
    "isSorted": lambda values: all(compare(left, right) <= 0 for left, right in pairwise(values)),
    "sum": lambda values: sum(values),
    "min": lambda values: _extreme(values, -1),
    "max": lambda values: _extreme(values, 1),
    "find": matching(str, str)(lambda text, regex: found[0] if (found := pattern(regex).search(text)) else ""),
    "findAll": _find_all,
    "sets.contains": lambda whole, part: _subset(part, whole),
    "sets.equivalent": lambda left, right: _subset(left, right) and _subset(right, left),
    "sets.intersects": lambda left, right: any(equal(a, b) for a in left for b in right),
}


# URLs in CEL (apiserver ``cel/library``), parsed as by Go's ``net/url``.

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
    return _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), text.encode()).decode(errors="surrogateescape")


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


def _parse_url(text: str, *, via_request: bool) -> URL:
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
        return _parse_url(text, via_request=via_request)
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
    "isURL": accepts(matching(str)(lambda text: _parse_url(text, via_request=True))),
    "getScheme": matching(URL)(lambda url: url.scheme),
    "getHost": matching(URL)(lambda url: url.host),
    "getHostname": matching(URL)(lambda url: _split_host(url)[0]),
    "getPort": matching(URL)(lambda url: _split_host(url)[1]),
    "getEscapedPath": matching(URL)(lambda url: url.escaped_path),
    "getQuery": matching(URL)(_query),
}
