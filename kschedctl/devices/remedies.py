"""Remedies for claims that cannot be allocated: the pod drops a claim, or uses another one of its namespace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.api.device import ResourceClaim
from kschedctl.framework.remedy import Operation, Remedy, RemedyContext, Size, remove_operation, replace_operation

#: The number of other claims of the namespace that are tried.
_MOST_CLAIMS: Final = 10


def device_remedies(context: RemedyContext) -> Iterator[Remedy]:
    """Yield remedies that drop a device claim or replace it with another one."""
    pod = context.pod
    named = {claim.resource_claim_name for claim in pod.spec.resource_claims}
    others = [
        claim.name
        for claim in context.cluster.list(ResourceClaim)
        if claim.namespace == pod.namespace and claim.name not in named and claim.metadata.controller is None
    ]
    for i, claim in enumerate(pod.spec.resource_claims):
        yield context.pod_patch(
            f"drop the device claim {claim.name}",
            *_dropped(context, i, claim.name),
            size=Size.DONE_WITHOUT,
            family=("claim for devices", i),
        )
        if not claim.resource_claim_name:
            continue
        for j, other in enumerate(others[:_MOST_CLAIMS]):
            yield context.pod_patch(
                f"use ResourceClaim {other} instead of {claim.resource_claim_name}",
                replace_operation(other, "spec", "resourceClaims", i, "resourceClaimName"),
                size=Size.REPLACED,
                family=("other claim for devices", i),
                within=j,
            )


def _dropped(context: RemedyContext, i: int, name: str) -> Iterator[Operation]:
    """Yield the operations that remove a claim and the containers' references to it."""
    spec = context.pod.spec
    yield remove_operation("spec", "resourceClaims", i)
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for j, container in enumerate(containers):
            of_claim = [k for k, each in enumerate(container.resources.claims) if each.name == name]
            # Removal from the last to the first keeps the remaining indices valid.
            for k in reversed(of_claim):
                yield remove_operation("spec", field, j, "resources", "claims", k)
