"""Validation of StorageClasses."""

from __future__ import annotations

from typing import Final

from kschedctl.objects import field_errors
from kschedctl.objects.names import qualified_name_problems, subdomain_problems
from kschedctl.objects.validation.context import Found, Tree, ValidationContext
from kschedctl.objects.validation.metadata import object_metadata
from kschedctl.objects.validation.values import invalid_findings, one_of, qualified_name

_MOST_PARAMETERS: Final = 512
_MOST_PARAMETER_BYTES: Final = 256 * 1024


def storage_class(tree: Tree, context: ValidationContext) -> Found:
    """Yield the problems of a StorageClass."""
    yield from object_metadata(tree.get("metadata", {}), subdomain_problems, namespaced=False)
    provisioner = tree.get("provisioner", "").lower()
    if not provisioner:
        yield field_errors.required("provisioner")
    else:
        yield from invalid_findings(qualified_name_problems(provisioner), provisioner, "provisioner")
    yield from _parameters(tree.get("parameters", {}))
    if tree.get("reclaimPolicy"):
        yield from one_of(tree["reclaimPolicy"], ("Delete", "Retain"), "reclaimPolicy")
    mode = tree.get("volumeBindingMode", "Immediate")
    yield from one_of(mode, ("Immediate", "WaitForFirstConsumer"), "volumeBindingMode")
    yield from _topologies(tree.get("allowedTopologies", ()), "allowedTopologies")


def _parameters(parameters: dict[str, str]) -> Found:
    if len(parameters) > _MOST_PARAMETERS:
        yield field_errors.too_long("parameters", _MOST_PARAMETERS)
        return
    if "" in parameters:
        yield field_errors.invalid("parameters", "", "field can not be empty.")
    size = sum(len(f"{key}{value}".encode(errors="replace")) for key, value in parameters.items())
    if size > _MOST_PARAMETER_BYTES:
        yield field_errors.too_long("parameters", _MOST_PARAMETER_BYTES)


def _topologies(terms: list[Tree], path: str) -> Found:
    known: list[dict[str, frozenset[str]]] = []
    for i, term in enumerate(terms):
        own: dict[str, frozenset[str]] = {}
        for n, requirement in enumerate(term.get("matchLabelExpressions", ())):
            at = f"{path}[{i}].matchLabelExpressions[{n}]"
            key, values = requirement.get("key", ""), requirement.get("values", ())
            if not values:
                yield field_errors.required(f"{at}.values")
            for v, value in enumerate(values):
                if value in values[:v]:
                    yield field_errors.duplicate(f"{at}.values[{v}]", value)
            yield from qualified_name(key, f"{at}.key")
            if key in own:
                yield field_errors.duplicate(f"{at}.key", key)
            own[key] = frozenset(values)
        # Upstream's list of known terms begins with len(terms) empty ones; a term without expressions equals each.
        for _ in range(len(terms) if not own else 0):
            yield field_errors.duplicate(f"{path}[{i}].matchLabelExpressions", "")
        for _ in (other for other in known if other == own):
            yield field_errors.duplicate(f"{path}[{i}].matchLabelExpressions", "")
        known.append(own)
