"""A requested resource that no node offers, while nodes offer one with almost the same name.

The API server accepts any name with a domain, such as ``nvidia.com/gpus``, but no device plugin offers that. The name
of another vendor, such as ``amd.com/gpu`` where the nodes offer ``nvidia.com/gpu``, has the same effect. Operators
correct the name in requests and limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.wording import counted, listed, meant
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.diagnosis.extended_resources import offered_resources, requested_devices
from kschedctl.diagnosis.situation import Situation
from kschedctl.objects.pod import ResourceRequirements
from kschedctl.scheduler.framework.remedy import Operation, Remedy, Risk, add_operation

#: Names of the past.
_RENAMED: Final = {"alpha.kubernetes.io/nvidia-gpu": "nvidia.com/gpu"}


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield a resource that no node of the cluster offers, with the resource that was meant."""
    for resource in requested_devices(situation):
        for other in intended(situation, resource)[:1]:
            offers = list(offered_resources(situation))
            n_nodes = int((situation.offered(other) > 0).sum())
            have = "offers" if n_nodes == 1 else "offer"
            domain = resource.partition("/")[0]
            yield Diagnosis(
                rule="mistyped-resource",
                cause=f"no node offers {resource}; {counted(n_nodes, 'node')} {have} {other}",
                evidence=(f"nodes offer {listed(offers)}",) if domain != other.partition("/")[0] else (),
                remedies=(_renamed(situation, resource, other),),
            )


def intended(situation: Situation, resource: str) -> list[str]:
    """Return the offered resources that the name of one was meant for: misspelled, or with another domain.

    Nothing is returned if a node of the cluster offers the resource itself.
    """
    if situation.offered(resource).any():
        return []
    offers = list(offered_resources(situation))
    if _RENAMED.get(resource) in offers:
        return [_RENAMED[resource]]
    name = resource.partition("/")[2]
    same_name = [other for other in offers if other.partition("/")[2] == name]
    return meant(resource, offers) or (same_name if len(same_name) == 1 else [])


def _renamed(situation: Situation, resource: str, other: str) -> Remedy:
    spec = situation.pod.spec
    patch: list[Operation] = []
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for i, container in enumerate(containers):
            own = container.resources
            if resource in own.requests or resource in own.limits:
                patch.append(add_operation(_with_name(own, resource, other), "spec", field, i, "resources"))
    return situation.context().pod_patch(
        f"request {other} instead of {resource}", *patch, risk=Risk.MISTAKE, family=("resource", resource)
    )


def _with_name(own: ResourceRequirements, resource: str, other: str) -> ResourceRequirements:
    requests = {other if name == resource else name: amount for name, amount in own.requests.items()}
    limits = {other if name == resource else name: amount for name, amount in own.limits.items()}
    return ResourceRequirements(requests=requests, limits=limits, claims=own.claims)
