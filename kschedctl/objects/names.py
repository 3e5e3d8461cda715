"""Validation of names, labels and other texts, in the words of Kubernetes' validation."""

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final

from kschedctl.common.text.patterns import pattern

_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NAME_RULE: Final = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME_TEXT: Final = (
    f"must {_NAME_RULE} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_LABEL_VALUE: Final = f"({_NAME})?"
_LABEL_VALUE_TEXT: Final = (
    f"a valid label must be an empty string or {_NAME_RULE} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_LABEL_VALUE}')"
)
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_UNDERSCORED: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED_SUBDOMAIN: Final = rf"{_UNDERSCORED}(\.{_UNDERSCORED})*"
_UNDERSCORED_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_UNDERSCORED_SUBDOMAIN}')"
)
_MATCH_NAME: Final = pattern(_NAME).fullmatch
_MATCH_LABEL_VALUE: Final = pattern(_LABEL_VALUE).fullmatch
_MATCH_LABEL: Final = pattern(_LABEL).fullmatch
_MATCH_SUBDOMAIN: Final = pattern(_SUBDOMAIN).fullmatch
_MATCH_UNDERSCORED: Final = pattern(_UNDERSCORED_SUBDOMAIN).fullmatch
_NATIVE: Final = "kubernetes.io/"
_QUOTA_PREFIX: Final = "requests."
_NONE: Final[tuple[str, ...]] = ()


@lru_cache(maxsize=1 << 14)
def qualified_name_problems(value: str) -> tuple[str, ...]:
    """Return the problems of a label key or resource name (``IsQualifiedName``)."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return (
            f"a valid label key {_NAME_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {problem}" for problem in _subdomain(prefix, "bytes")]
    if not name:
        problems.append("name part must be non-empty")
    elif too_long(name, 63):
        problems.append("name part must be no more than 63 bytes")
    if not _MATCH_NAME(name):
        problems.append(f"name part {_NAME_TEXT}")
    return tuple(problems)


@lru_cache(maxsize=1 << 14)
def label_value_problems(value: str) -> tuple[str, ...]:
    """Return the problems of a label value (``IsValidLabelValue``)."""
    problems = ("must be no more than 63 bytes",) if too_long(value, 63) else _NONE
    return problems if _MATCH_LABEL_VALUE(value) else (*problems, _LABEL_VALUE_TEXT)


@lru_cache(maxsize=4096)
def extended_resource_problems(name: str) -> tuple[str, ...]:
    """Return the problems of an extended resource's name, such as ``example.com/gpu``."""
    problems = qualified_name_problems(name)
    if problems:
        return problems
    native = is_native_resource(name) or name.startswith(_QUOTA_PREFIX)
    return ("is an invalid extended resource name",) if native or qualified_name_problems(_QUOTA_PREFIX + name) else ()


def is_native_resource(name: str) -> bool:
    """Report whether a resource is native to Kubernetes: without a domain, or in the domain ``kubernetes.io``."""
    return "/" not in name or _NATIVE in name


@lru_cache(maxsize=4096)
def label_problems(value: str, unit: str = "characters") -> tuple[str, ...]:
    """Return the problems of a name without dots, such as a container's or namespace's (``IsDNS1123Label``).

    Args:
        unit: The word for the unit of the length: ``bytes`` in the messages about newer kinds.
    """
    problems = (f"must be no more than 63 {unit}",) if too_long(value, 63) else _NONE
    if _MATCH_LABEL(value):
        return problems
    return (*problems, "must not contain dots" if _MATCH_SUBDOMAIN(value) else _LABEL_TEXT)


@lru_cache(maxsize=4096)
def subdomain_problems(value: str, unit: str = "characters") -> tuple[str, ...]:
    """Return the problems of the name of most objects (``IsDNS1123Subdomain``); for `unit` see ``label_problems``."""
    return _subdomain(value, unit)


def underscored_subdomain_problems(value: str) -> tuple[str, ...]:
    """Return the problems of a DNS name that can contain underscores (``IsDNS1123SubdomainWithUnderscore``)."""
    problems = ("must be no more than 253 characters",) if too_long(value, 253) else _NONE
    return problems if _MATCH_UNDERSCORED(value) else (*problems, _UNDERSCORED_TEXT)


def path_segment_problems(value: str) -> tuple[str, ...]:
    """Return the problems of a name used as a segment of an API path (``IsPathSegmentName``)."""
    if value in (".", ".."):
        return (f"may not be '{value}'",)
    return tuple(f"may not contain '{char}'" for char in "/%" if char in value)


def _subdomain(value: str, unit: str) -> tuple[str, ...]:
    problems = (f"must be no more than 253 {unit}",) if too_long(value, 253) else _NONE
    return problems if _MATCH_SUBDOMAIN(value) else (*problems, _SUBDOMAIN_TEXT)


def too_long(value: str, most: int) -> bool:
    """Report whether a text is longer than `most` bytes."""
    # JSON can contain a lone surrogate; Go decodes it as a character of the same number of bytes.
    return len(value) > most or (not value.isascii() and len(value.encode(errors="surrogatepass")) > most)


# Validation of texts other than names: ports, percentages, headers, variables, keys, IP addresses.
#
# Each function returns or yields the problems, in the words of Kubernetes' validation; no problem means valid.

_PORT_NAME: Final = pattern("[-a-z0-9]+").fullmatch
_PERCENT: Final = pattern("[0-9]+%").fullmatch
_HTTP_HEADER: Final = pattern("[-A-Za-z0-9]+").fullmatch
_ENV_VAR: Final = pattern("[-._a-zA-Z][-._a-zA-Z0-9]*").fullmatch
_CONFIG_KEY: Final = pattern("[-._a-zA-Z0-9]+").fullmatch
_LEADING_ZEROS: Final = pattern(r"(^|[.:])0+(?=[0-9]+(\.|$))")
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

    Args:
        relaxed: True if all printable ASCII characters except ``=`` are allowed (``IsRelaxedEnvVarName``).
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

    Args:
        strict: True if leading zeros and IPv4-mapped IPv6 addresses are rejected (StrictIPCIDRValidation).
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
