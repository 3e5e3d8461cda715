"""Validation of texts other than names: ports, percentages, headers, variables, keys, IP addresses.

Each function returns or yields the problems, in the words of Kubernetes' validation; no problem means valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address
from typing import Final

from kschedctl.objects.names import too_long

_PORT_NAME: Final = re.compile("[-a-z0-9]+").fullmatch
_PERCENT: Final = re.compile("[0-9]+%").fullmatch
_HTTP_HEADER: Final = re.compile("[-A-Za-z0-9]+").fullmatch
_ENV_VAR: Final = re.compile("[-._a-zA-Z][-._a-zA-Z0-9]*").fullmatch
_CONFIG_KEY: Final = re.compile("[-._a-zA-Z0-9]+").fullmatch
_LEADING_ZEROS: Final = re.compile(r"(^|[.:])0+(?=[0-9]+(\.|$))")
_MAX_ID: Final = 2**31 - 1


def range_problems(value: int, lowest: int, highest: int) -> tuple[str, ...]:
    """Return a problem if a number is outside of an inclusive range."""
    return () if lowest <= value <= highest else (f"must be between {lowest} and {highest}, inclusive",)


def port_problems(port: int) -> tuple[str, ...]:
    """Return the problems of a port number: the range is 1 to 65535."""
    return range_problems(port, 1, 65535)


def id_problems(number: int) -> tuple[str, ...]:
    """Return the problems of a user or group ID: the range is 0 to 2,147,483,647."""
    return range_problems(number, 0, _MAX_ID)


def port_name_problems(name: str) -> Iterator[str]:
    """Yield the problems of a port name (``IsValidPortName``)."""
    if too_long(name, 15):
        yield "must be no more than 15 characters"
    if not _PORT_NAME(name):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not any("a" <= char <= "z" for char in name):
        yield "must contain at least one letter (a-z)"
    if "--" in name:
        yield "must not contain consecutive hyphens"
    if name.startswith("-") or name.endswith("-"):
        yield "must not begin or end with a hyphen"


def percent_problems(text: str) -> tuple[str, ...]:
    """Return the problems of a percentage, such as ``25%``."""
    if _PERCENT(text):
        return ()
    return (
        "a valid percent string must be a numeric string followed by an ending '%' "
        "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    )


def http_header_problems(name: str) -> tuple[str, ...]:
    """Return the problems of an HTTP header's name."""
    if _HTTP_HEADER(name):
        return ()
    return (
        "a valid HTTP header must consist of alphanumeric characters or '-' "
        "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
    )


def env_var_problems(name: str, *, relaxed: bool) -> Iterator[str]:
    """Yield the problems of an environment variable's name.

    Parameters
    ----------
    relaxed : bool
        True if all printable ASCII characters except ``=`` are allowed (``IsRelaxedEnvVarName``).
    """
    if relaxed:
        if not name:
            yield "environment variable name must be non-empty"
        if any(not " " <= char <= "~" or char == "=" for char in name):
            yield "a valid environment variable name must consist only of printable ASCII characters other than '='"
        return
    if not _ENV_VAR(name):
        yield (
            "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and "
            "must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for "
            "validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')"
        )
    yield from _of_dots(name)


def config_key_problems(key: str) -> Iterator[str]:
    """Yield the problems of a key of a ConfigMap or Secret."""
    if too_long(key, 253):
        yield "must be no more than 253 characters"
    if not _CONFIG_KEY(key):
        yield (
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
            "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        )
    yield from _of_dots(key)


def _of_dots(text: str) -> Iterator[str]:
    if text in (".", ".."):
        yield f"must not be '{text}'"
    elif text.startswith(".."):
        yield "must not start with '..'"


def ip_problems(text: str, *, strict: bool) -> Iterator[str]:
    """Yield the problems of an IP address.

    Parameters
    ----------
    strict : bool
        True if leading zeros and IPv4-mapped IPv6 addresses are rejected (StrictIPCIDRValidation).
    """
    try:
        ip = ip_address(_LEADING_ZEROS.sub(r"\1", text))
    except ValueError:
        yield "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        return
    if "%" in text:
        yield "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        return
    if strict:
        try:
            ip_address(text)
        except ValueError:
            yield "must not have leading 0s"
        if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
            yield "must not be an IPv4-mapped IPv6 address"


def usual_ip(text: str) -> str:
    """Return the canonical form of an IP address, with IPv4-mapped addresses as IPv4; other text unchanged."""
    try:
        ip = ip_address(_LEADING_ZEROS.sub(r"\1", text))
    except ValueError:
        return text
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ip)
