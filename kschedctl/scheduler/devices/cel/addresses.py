"""IP addresses and CIDRs in CEL (apiserver ``cel/library``), with the errors of Go's ``net/netip``."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final

from kschedctl.scheduler.devices.cel.functions import Function, accepts, matching
from kschedctl.scheduler.devices.cel.values import CIDR, IP, CelError, NoSuchOverloadError, quoted

_GROUP: Final = re.compile(r"[0-9a-fA-F]*", re.ASCII)
_BITS: Final = re.compile(r"[0-9]|[1-9][0-9]+", re.ASCII)
_GROUPS: Final = 8
_GROUP_DIGITS: Final = 4
_FIELDS: Final = 4
_FIELD_MAX: Final = 255
_MAX_INT: Final = 2**63 - 1


class _AddressError(Exception):
    """An error for a text that is not an address, with the position of the problem."""

    def __init__(self, problem: str, at: str = "") -> None:
        super().__init__(f"{problem} (at {quoted(at)})" if at else problem)


def parse_ip(text: str) -> IPv4Address | IPv6Address:
    """Parse an address as ``netip.ParseAddr`` does; an IPv6 address may have a zone.

    Raises CelError if the text is not an address.
    """
    try:
        _check_address(text)
        return ip_address(text)
    except (_AddressError, ValueError) as error:
        raise CelError(f"ParseAddr({quoted(text)}): {error}") from None


def _check_address(text: str) -> None:
    first = next((c for c in text if c in ".:%"), "")
    if first == ".":
        _check_fields(text)
    elif first == ":":
        _check_groups(text)
    else:
        raise _AddressError("missing IPv6 address" if first else "unable to parse IP")


def _check_fields(text: str) -> None:
    """Check the fields of an IPv4 address."""
    n_dots, field = 0, ""
    for i, character in enumerate(text):
        if character in "0123456789":
            if field == "0":
                raise _AddressError("IPv4 field has octet with leading zero")
            field += character
            if int(field) > _FIELD_MAX:
                raise _AddressError("IPv4 field has value >255")
        elif character == ".":
            if not field or i == len(text) - 1:
                raise _AddressError("IPv4 field must have at least one digit", text[i:])
            n_dots += 1
            if n_dots == _FIELDS:
                raise _AddressError("IPv4 address too long")
            field = ""
        else:
            raise _AddressError("unexpected character", text[i:])
    if n_dots < _FIELDS - 1:
        raise _AddressError("IPv4 address too short")


def _check_groups(text: str) -> None:
    """Check the groups of an IPv6 address."""
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _AddressError("zone must be a non-empty string")
    shortened = rest.startswith("::")
    rest = rest[2:] if shortened else rest
    if shortened and not rest:
        return
    n_groups = 0
    while rest and n_groups < _GROUPS:
        found = _GROUP.match(rest)
        n_digits = len(found[0]) if found is not None else 0
        if n_digits > _GROUP_DIGITS:
            raise _AddressError("each group must have 4 or less digits", rest)
        if not n_digits:
            raise _AddressError("each colon-separated field must have at least one digit", rest)
        if rest[n_digits:].startswith("."):
            if not shortened and n_groups != _GROUPS - 2:
                raise _AddressError("embedded IPv4 address must replace the final 2 fields of the address", rest)
            if n_groups > _GROUPS - 2:
                raise _AddressError("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
            _check_fields(rest)
            n_groups, rest = n_groups + 2, ""
        else:
            n_groups, rest = n_groups + 1, _after_group(rest[n_digits:])
        if rest.startswith(":"):
            if shortened:
                raise _AddressError("multiple :: in address", rest)
            shortened, rest = True, rest[1:]
    if rest:
        raise _AddressError("trailing garbage after address", rest)
    if n_groups < _GROUPS and not shortened:
        raise _AddressError("address string too short")
    if n_groups == _GROUPS and shortened:
        raise _AddressError("the :: must expand to at least one field of zeros")


def _after_group(rest: str) -> str:
    """Return the text after the colon that follows a group; empty at the end."""
    if not rest:
        return ""
    if not rest.startswith(":"):
        raise _AddressError("unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _AddressError("colon must be followed by more characters", rest)
    return rest[1:]


@matching(str)
def _ip(text: str) -> IP:
    try:
        address = parse_ip(text)
    except CelError as error:
        raise CelError(f"IP Address {quoted(text)} parse error during conversion from string: {error}") from None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise CelError(f"IP address {quoted(text)} with zone value is not allowed")
        if address.ipv4_mapped is not None:
            raise CelError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return IP(address)


@matching(str)
def _cidr(text: str) -> CIDR:
    try:
        start, slash, bits = text.rpartition("/")
        problem = ""
        if not slash:
            problem = "no '/'"
        else:
            try:
                address = parse_ip(start)
            except CelError as error:
                problem = str(error)
        if not problem:
            if isinstance(address, IPv6Address) and address.scope_id is not None:
                problem = "IPv6 zones cannot be present in a prefix"
            elif not _BITS.fullmatch(bits) or int(bits) > _MAX_INT:
                problem = f"bad bits after slash: {quoted(bits)}"
            elif int(bits) > address.max_prefixlen:
                problem = "prefix length out of range"
        if problem:
            where = "network address parse error during conversion from string"
            raise CelError(f"{where}: netip.ParsePrefix({quoted(text)}): {problem}")
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            raise CelError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
        return CIDR(address, int(bits))
    except CelError as error:
        raise CelError(f"network address parse error during conversion from string: {error}") from None


_is_ip = accepts(_ip)


def _contains_ip(cidr: Any, other: Any) -> bool:
    if not isinstance(cidr, CIDR):
        raise NoSuchOverloadError
    if isinstance(other, str) and not _is_ip(other):
        # Upstream drops the error of the text.
        raise CelError("no such overload")
    return cidr.has((other if isinstance(other, IP) else _ip(other)).address)


def _contains_cidr(cidr: Any, other: Any) -> bool:
    if not isinstance(cidr, CIDR):
        raise NoSuchOverloadError
    found = other if isinstance(other, CIDR) else _cidr(other)
    return cidr.has(found.address) and cidr.bits <= found.bits


def _is_global_unicast(ip: IP) -> bool:
    address = ip.address
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and address != _BROADCAST


_BROADCAST: Final = IPv4Address("255.255.255.255")


def _is_link_local_multicast(ip: IP) -> bool:
    """Report whether an address is in ``224.0.0.0/24``, or for IPv6 a multicast address of scope 2."""
    packed = ip.address.packed
    if ip.address.version == 4:
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 2


ADDRESSES: Final[dict[str, Function]] = {
    "ip": _ip,
    # The method ``ip()`` of CIDRs.
    ".ip": matching(CIDR)(lambda cidr: IP(cidr.address)),
    "isIP": _is_ip,
    "ip.isCanonical": matching(str)(lambda text: str(_ip(text)) == text),
    "family": matching(IP)(lambda ip: ip.address.version),
    "isUnspecified": matching(IP)(lambda ip: ip.address.is_unspecified),
    "isLoopback": matching(IP)(lambda ip: ip.address.is_loopback),
    "isLinkLocalMulticast": matching(IP)(_is_link_local_multicast),
    "isLinkLocalUnicast": matching(IP)(lambda ip: ip.address.is_link_local),
    "isGlobalUnicast": matching(IP)(_is_global_unicast),
    "cidr": _cidr,
    "isCIDR": accepts(_cidr),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "prefixLength": matching(CIDR)(lambda cidr: cidr.bits),
    "masked": matching(CIDR)(lambda cidr: cidr.masked),
}
