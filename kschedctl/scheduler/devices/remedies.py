"""Remedies for claims that cannot be allocated: the right name of a ResourceClaim that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.wording import similar
from kschedctl.objects.device import ResourceClaim
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext, Risk, replace_operation


def device_remedies(context: RemedyContext) -> Iterator[Remedy]:
    """Yield remedies that correct the name of a ResourceClaim that does not exist.

    A claim that exists is never replaced or dropped: the pod exists for the devices.
    """
    pod = context.pod
    claims = [claim for claim in context.cluster.list(ResourceClaim) if claim.namespace == pod.namespace]
    names = {claim.name for claim in claims}
    free = sorted(claim.name for claim in claims if claim.metadata.controller is None)
    for i, claim in enumerate(pod.spec.resource_claims):
        wrong = claim.resource_claim_name
        if not wrong or wrong in names:
            continue
        for j, other in enumerate(similar(wrong, free)):
            yield context.pod_patch(
                f"use ResourceClaim {other} instead of {wrong}, which does not exist",
                replace_operation(other, "spec", "resourceClaims", i, "resourceClaimName"),
                risk=Risk.MISTAKE,
                family=("other claim for devices", i),
                within=j,
            )
