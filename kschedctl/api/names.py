"""What is wrong with a name or a label value, in the words of Kubernetes' validation."""

from __future__ import annotations

import re
from typing import Final

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
_SUBDOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_NATIVE: Final = "kubernetes.io/"
_QUOTA_PREFIX: Final = "requests."


def qualified_name_problems(value: str) -> list[str]:
    """What is wrong with a label key or resource name (``IsQualifiedName``)."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_NAME_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {problem}" for problem in subdomain_problems(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif _too_long(name, 63):
        problems.append("name part must be no more than 63 bytes")
    if not re.fullmatch(_NAME, name):
        problems.append(f"name part {_NAME_TEXT}")
    return problems


def label_value_problems(value: str) -> list[str]:
    """What is wrong with a label's value (``IsValidLabelValue``)."""
    problems = ["must be no more than 63 bytes"] if _too_long(value, 63) else []
    return problems if re.fullmatch(_LABEL_VALUE, value) else [*problems, _LABEL_VALUE_TEXT]


def extended_resource_problems(name: str) -> list[str]:
    """What is wrong with the name of an extended resource, such as ``example.com/gpu``."""
    problems = qualified_name_problems(name)
    if problems:
        return problems
    native = "/" not in name or _NATIVE in name or name.startswith(_QUOTA_PREFIX)
    return ["is an invalid extended resource name"] if native or qualified_name_problems(_QUOTA_PREFIX + name) else []


def subdomain_problems(value: str) -> list[str]:
    """What is wrong with the name of most objects (``IsDNS1123Subdomain``)."""
    problems = ["must be no more than 253 bytes"] if _too_long(value, 253) else []
    return problems if re.fullmatch(_SUBDOMAIN, value) else [*problems, _SUBDOMAIN_TEXT]


def _too_long(value: str, limit: int) -> bool:
    # JSON can have half a character; Go reads it as one of as many bytes.
    return len(value.encode(errors="surrogatepass")) > limit
