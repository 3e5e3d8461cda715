"""Validation of references to artifacts in a registry, pinned by digest (``distribution/reference``)."""

import re
from collections.abc import Iterator
from typing import Final

_LONGEST_NAME: Final = 255
_DEFAULT: Final = "docker.io"
_LABEL: Final = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_PART: Final = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_DIGEST: Final = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE: Final = re.compile(
    rf"((?:{_DOMAIN}/)?{_PART}(?:/{_PART})*)(?::(\w[\w.-]{{0,127}}))?(?:@({_DIGEST}))?", re.ASCII
).fullmatch
_IDENTIFIER: Final = re.compile("[a-f0-9]{64}").fullmatch
_HEX: Final = re.compile("[a-f0-9]*").fullmatch
#: The digits of a digest of each algorithm.
_DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
_FORM: Final = "<registry>/<repository>@<algorithm>:<digest>"


def pinned_reference_problems(text: str) -> Iterator[str]:
    """Yield the problem of a reference that must be canonical, without a tag, and pinned by a digest.

    >>> list(pinned_reference_problems("registry.example.com/web:1"))
    ['must not contain a tag']
    """
    problem, tag, digest = _parsed(text)
    if problem:
        yield f"must be a digest-pinned reference in canonical form ({_FORM}): {problem}"
    elif tag:
        yield "must not contain a tag"
    elif not digest:
        yield f"must be pinned by digest ({_FORM})"


def _parsed(text: str) -> tuple[str, str, str]:
    """Return the problem of a reference as a name in canonical form, its tag and its digest; empty if it has none."""
    if _IDENTIFIER(text):
        return f"invalid repository name ({text}), cannot specify 64-byte hexadecimal strings", "", ""
    domain, rest = _split(text)
    remote = rest.partition(":")[0]
    if remote.lower() != remote:
        return f"invalid reference format: repository name ({remote}) must be lowercase", "", ""
    whole = f"{domain}/{rest}"
    found = _REFERENCE(whole)
    if found is None:
        return "repository name must be lowercase" if _REFERENCE(whole.lower()) else "invalid reference format", "", ""
    name, tag, digest = found.groups("")
    if len(name.removeprefix(f"{domain}/")) > _LONGEST_NAME:
        return f"repository name must not be more than {_LONGEST_NAME} characters", "", ""
    problem = _digest_problem(digest) if digest else ""
    return problem or ("" if whole == text else "repository name must be canonical"), tag, digest


def _split(text: str) -> tuple[str, str]:
    """Return the domain of a reference, or the default domain, and the rest."""
    first, slash, rest = text.partition("/")
    if not slash or (not re.search("[.:]", first) and first != "localhost" and first.lower() == first):
        first, rest = _DEFAULT, text
    if first in (_DEFAULT, f"index.{_DEFAULT}"):
        first, rest = _DEFAULT, rest if "/" in rest else f"library/{rest}"
    return first, rest


def _digest_problem(digest: str) -> str:
    algorithm, _, digits = digest.partition(":")
    if algorithm.lower() != algorithm:
        return "invalid checksum digest format"
    if algorithm not in _DIGITS:
        return "unsupported digest algorithm"
    if len(digits) != _DIGITS[algorithm]:
        return "invalid checksum digest length"
    return "" if _HEX(digits) else "invalid checksum digest format"
