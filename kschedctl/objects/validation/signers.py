"""Validation of the names of certificate signers and of ClusterTrustBundles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.names import label_problems, subdomain_problems, too_long
from kschedctl.objects.validation.context import Found

_LONGEST_DOMAIN: Final = 253
_LONGEST: Final = _LONGEST_DOMAIN + _LONGEST_DOMAIN + 63 + 1 + 1


def is_of_kubernetes(signer: str) -> bool:
    """Report whether a signer is in the domain ``kubernetes.io``."""
    host = signer.partition("/")[0]
    return host == "kubernetes.io" or host.endswith(".kubernetes.io")


def signer_name(name: str, path: str) -> Found:
    """Yield the problems of a signer's name, which consists of a domain and a path."""
    if not name:
        yield field_errors.required(path)
        return
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        problem = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield field_errors.invalid(path, name, problem)
        return
    if too_long(domain, _LONGEST_DOMAIN):
        yield field_errors.too_long(path, _LONGEST_DOMAIN)
    labels = domain.split(".")
    yield from _first_wrong(labels, label_problems, domain, path)
    if len(labels) < 2:
        yield field_errors.invalid(path, domain, "should be a domain with at least two segments separated by dots")
    yield from _first_wrong(rest.split("."), subdomain_problems, rest, path)
    if too_long(name, _LONGEST):
        yield field_errors.too_long(path, _LONGEST)


def _first_wrong(labels: Iterable[str], rule: Callable[[str], tuple[str, ...]], whole: str, path: str) -> Found:
    for label in labels:
        problems = rule(label)
        for problem in problems:
            yield field_errors.invalid(path, whole, f"validating label {field_errors.go_quote(label)}: {problem}")
        if problems:
            return


def trust_bundle_problems(name: str) -> tuple[str, ...]:
    """Return the problems of a ClusterTrustBundle's name, which begins with the signer's name if it has a signer."""
    signer, colon, own = name.rpartition(":")
    if not colon:
        return subdomain_problems(name)
    if not signer:
        return ('ClusterTrustBundle without signer name must not have ":" in its name',)
    return subdomain_problems(own)
