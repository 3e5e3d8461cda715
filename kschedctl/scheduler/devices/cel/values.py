"""The values of CEL, including those of Kubernetes such as quantities and semantic versions.

``bool``, ``int``, ``float``, ``str``, ``bytes``, ``list``, ``dict`` and ``None`` are represented by Python's values.
"""

import re
from dataclasses import dataclass, field
from functools import total_ordering
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any, Final

_SEMVER: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)


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


def parse_semver(text: str) -> Semver:
    """Parse a semantic version.

    Raises CelError if the text is not a semantic version.
    """
    match = _SEMVER.fullmatch(text)
    if match is None or any(_leading_zero(part) for part in (match[4] or "").split(".")):
        raise CelError(_semver_problem(text))
    return Semver((int(match[1]), int(match[2]), int(match[3])), tuple(match[4].split(".")) if match[4] else ())


def _leading_zero(part: str) -> bool:
    return len(part) > 1 and part.isdecimal() and part.startswith("0")


def _semver_problem(text: str) -> str:
    """Return the problem with a version in the words of github.com/blang/semver."""
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) != 3:
        return "No Major.Minor.Patch elements found"
    behind_minor = re.split(r"[-+]", parts[2], maxsplit=1)
    for name, part in zip(("major", "minor", "patch"), (*parts[:2], behind_minor[0]), strict=True):
        if not part.isdecimal():
            return f'Invalid character(s) found in {name} number "{part}"'
        if _leading_zero(part):
            return f'{name.capitalize()} number must not contain leading zeroes "{part}"'
    for part in behind_minor[-1].split("."):
        if _leading_zero(part):
            return f'Numeric PreRelease version must not contain leading zeroes "{part}"'
        if not re.fullmatch(r"[0-9A-Za-z-]+", part):
            return f'Invalid character(s) found in prerelease "{part}"'
    return f'Invalid character(s) found in prerelease "{parts[2]}"'


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
