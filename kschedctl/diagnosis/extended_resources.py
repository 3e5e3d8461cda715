"""The extended resources that a pod requests, such as GPUs, and the nodes that offer them."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.arrays import Mask
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.resources import is_extended_resource


def requested_devices(situation: Situation) -> list[str]:
    """Return the extended resources that the pod requests and some node within reach is short of."""
    if not situation.filtered or not situation.in_reach.any():
        return []
    rejected = situation.in_reach & situation.rejected_by("NodeResourcesFit")
    return [
        name
        for name in situation.requests
        if is_extended_resource(name) and bool((situation.short_of(name) & rejected).any())
    ]


def offered_resources(situation: Situation, nodes: Mask | None = None) -> Iterator[str]:
    """Yield the extended resources that a node offers, by default any node of the cluster."""
    for name in situation.columns.index:
        offering = situation.offered(name) > 0
        if is_extended_resource(name) and bool(offering.any() if nodes is None else offering[nodes].any()):
            yield name


def offers_of_vendor(situation: Situation, resource: str, nodes: Mask) -> list[str]:
    """Return the other resources in the domain of a resource that the nodes offer: their device plugin works."""
    domain = resource.partition("/")[0]
    return [name for name in offered_resources(situation, nodes) if name.partition("/")[0] == domain]
