"""The values of CEL, including those of Kubernetes such as quantities and semantic versions.

``bool``, ``int``, ``float``, ``str``, ``bytes``, ``list``, ``dict`` and ``None`` are represented by Python's values.
"""

import re
from dataclasses import dataclass, field
from functools import total_ordering
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any, Final

_IDENTIFIER: Final = re.compile(r"[0-9A-Za-z-]*", re.ASCII)
_DIGITS: Final = re.compile(r"[0-9]*", re.ASCII)
_MAX_UINT: Final = 2**64 - 1


class CelError(Exception):
    """An error that ends the evaluation, in cel-go's words."""


class NoSuchOverloadError(CelError):
    """An error for argument types that no overload of a function takes."""

    def __init__(self, function: str = "") -> None:
        super().__init__(f"no such overload: {function}" if function else "no such overload")
        self.function = function


class Uint(int):
    """An unsigned integer."""


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type used as a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Opt:
    """An optional value, present or absent."""

    value: object = None
    present: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """A quantity in nano-units."""

    nanos: int


@total_ordering
@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version (semver 2.0.0); comparisons ignore build metadata."""

    core: tuple[int, int, int]
    pre: tuple[str, ...] = ()

    def __lt__(self, other: "Semver") -> bool:
        return self._precedence() < other._precedence()

    def _precedence(self) -> tuple[object, ...]:
        # A release comes after all its prereleases; numeric identifiers come before textual ones.
        parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in self.pre)
        return self.core, not self.pre, parts


@dataclass(frozen=True, slots=True)
class IP:
    """An IP address."""

    address: IPv4Address | IPv6Address

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class CIDR:
    """An IP address and the number of bits in its network prefix."""

    address: IPv4Address | IPv6Address
    bits: int

    @property
    def masked(self) -> "CIDR":
        """The CIDR with the network's own address."""
        return CIDR(ip_network((self.address, self.bits), strict=False).network_address, self.bits)

    def has(self, address: IPv4Address | IPv6Address) -> bool:
        """Report whether an address is in the network."""
        return address in ip_network((self.address, self.bits), strict=False)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


@dataclass(frozen=True, slots=True)
class URL:
    """The parts of a URL, unescaped except for ``escaped_path``."""

    text: str
    scheme: str
    host: str
    escaped_path: str
    query: str


@dataclass(frozen=True, slots=True, order=True)
class CelDuration:
    """A duration, in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time, in nanoseconds since 1970, and the UTC offset in minutes with which it is written."""

    nanos: int
    offset: int = field(default=0, compare=False)


class LazyMap(dict[str, Any]):
    """A map with values that cannot be read: in place of such a value is the error that reading it raises."""

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if isinstance(value, CelError):
            raise value
        return value

    def readable_keys(self) -> list[str]:
        """Return the keys of the values that can be read; the operator ``in`` finds no others."""
        return [key for key in self if not isinstance(self.get(key), CelError)]


def parse_semver(text: str) -> Semver:
    """Parse a semantic version.

    Raises CelError in the words of github.com/blang/semver if the text is not a semantic version, or if one of its
        numbers does not fit into 64 bits.
    """
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    major, minor = _semver_number("major", parts[0]), _semver_number("minor", parts[1])
    before_build, plus, build = parts[2].partition("+")
    core, dash, pre = before_build.partition("-")
    patch = _semver_number("patch", core)
    identifiers = tuple(pre.split(".")) if dash else ()
    for part in identifiers:
        _check_prerelease(part)
    for part in build.split(".") if plus else ():
        if not part:
            raise CelError("Build meta data is empty")
        if not _IDENTIFIER.fullmatch(part):
            raise CelError(f'Invalid character(s) found in build meta data "{part}"')
    return Semver((major, minor, patch), identifiers)


def _semver_number(name: str, part: str) -> int:
    if not _DIGITS.fullmatch(part):
        raise CelError(f'Invalid character(s) found in {name} number "{part}"')
    if _leading_zero(part):
        raise CelError(f'{name.capitalize()} number must not contain leading zeroes "{part}"')
    return _uint64(part)


def _check_prerelease(part: str) -> None:
    if not part:
        raise CelError("Prerelease is empty")
    if _DIGITS.fullmatch(part):
        if _leading_zero(part):
            raise CelError(f'Numeric PreRelease version must not contain leading zeroes "{part}"')
        _uint64(part)
    elif not _IDENTIFIER.fullmatch(part):
        raise CelError(f'Invalid character(s) found in prerelease "{part}"')


def _uint64(digits: str) -> int:
    if not digits:
        raise CelError('strconv.ParseUint: parsing "": invalid syntax')
    # More than 20 digits do not fit. Python refuses to convert thousands of them.
    if len(digits) > 20 or int(digits) > _MAX_UINT:
        raise CelError(f'strconv.ParseUint: parsing "{digits}": value out of range')
    return int(digits)


def _leading_zero(part: str) -> bool:
    return len(part) > 1 and part.startswith("0")


def type_name(value: object) -> str:
    """Return the CEL name of a value's type."""
    if value is None:
        return "null_type"
    for kind, name in _TYPE_NAMES:
        if isinstance(value, kind):
            return name
    return type(value).__name__


_TYPE_NAMES: Final[tuple[tuple[type, str], ...]] = (
    (bool, "bool"),
    (Uint, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (dict, "map"),
    (Opt, "optional_type"),
    (TypeValue, "type"),
    (Quantity, "kubernetes.Quantity"),
    (Semver, "kubernetes.Semver"),
    (IP, "net.IP"),
    (CIDR, "net.CIDR"),
    (URL, "kubernetes.URL"),
    (CelDuration, "google.protobuf.Duration"),
    (Timestamp, "google.protobuf.Timestamp"),
)


def is_number(value: object) -> bool:
    """Report whether a value is an int, uint or double."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(left: object, right: object) -> bool:
    """Report whether two values are equal in CEL: numbers across types, other values of the same type only."""
    if is_number(left) and is_number(right):
        return left == right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    if type(left) is not type(right) and isinstance(left, Quantity | Semver | IP | CIDR | URL):
        raise NoSuchOverloadError
    return type(left) is type(right) and left == right


def compare(left: object, right: object) -> int:
    """Compare two values: -1, 0 or 1.

    Raises NoSuchOverloadError for values that have no order.
    """
    for kind in (bool, str, bytes):
        if isinstance(left, kind) and isinstance(right, kind):
            return _sign(left, right)
    if is_number(left) and is_number(right):
        return _sign(left, right)
    if type(left) is type(right) and isinstance(left, CelDuration | Timestamp):
        return _sign(left, right)
    raise NoSuchOverloadError


def _sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def native_bool(value: object) -> bool:
    """Return the boolean result of a selector.

    Raises CelError if the result is not a boolean.
    """
    if isinstance(value, bool):
        return value
    name = type_name(value)
    if name == "int":
        problem = "unsupported type conversion from 'int' to bool"
    elif name == "string":
        problem = "unsupported native conversion from string to 'bool'"
    elif isinstance(value, Quantity | Semver):
        problem = f"type conversion error from '{type(value).__name__}' to 'bool'"
    else:
        problem = f"type conversion error from {name} to 'bool'"
    raise CelError(f"CEL result of type {name} could not be converted to bool: {problem}")


# Quoted strings as in Go's error messages.

_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b"}
_ESCAPES_TOO: Final = {"\f": "\\f", "\v": "\\v"}


def quoted(text: str) -> str:
    r"""Quote a text as ``strconv.Quote`` does.

    >>> print(quoted('say "hi"'), quoted("a\x00é"))
    "say \"hi\"" "a\x00é"
    """
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    known = _ESCAPES.get(character) or _ESCAPES_TOO.get(character)
    if known is not None:
        return known
    if character.isprintable():
        return character
    number = ord(character)
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
