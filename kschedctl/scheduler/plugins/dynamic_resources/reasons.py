"""The operands behind the reasons of DynamicResources."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.objects.device import ResourceClaim
from kschedctl.scheduler.devices.remedies import device_remedies
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext


class ClaimNotUsableOnNode(Operands, frozen=True):
    """A claim of the pod is allocated, but cannot be used on the node.

    Attributes
    ----------
    claim : str
        The claim, ``namespace/name``.
    devices : tuple of str
        The allocated devices, ``driver/pool/device``.
    ready : bool
        True if the devices are ready, so that only the node is wrong.
    pods : tuple of str
        The names of the pods that the claim is reserved for.
    """

    claim: str
    devices: tuple[str, ...]
    ready: bool
    pods: tuple[str, ...]

    def words(self) -> str:
        """State the claim and its devices."""
        devices = ", ".join(self.devices)
        if not self.ready:
            return f"claim {self.claim} holds {devices}, which failed to become ready"
        pods = f" for {', '.join(self.pods)}" if self.pods else ""
        return f"claim {self.claim} holds {devices}{pods}, which this node cannot use"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to drop a claim, or to use another one."""
        return device_remedies(context)


class UnavailableExtendedResource(Operands, frozen=True):
    """The pod requests an extended resource that the node does not list and that no DeviceClass backs.

    Attributes
    ----------
    resources : tuple of str
        The resources.
    """

    resources: tuple[str, ...]

    def words(self) -> str:
        """List the resources."""
        return f"neither the node nor a DeviceClass has {', '.join(self.resources)}"


class LeftoverClaim(Operands, frozen=True):
    """An earlier attempt created a claim for the pod's extended resources, which must be deleted first.

    Attributes
    ----------
    claim : str
        The claim, ``namespace/name``.
    """

    claim: str

    def words(self) -> str:
        """State the leftover claim."""
        return f"claim {self.claim} is left over from an earlier attempt and is deleted first"


def claim_elsewhere(claim: ResourceClaim, *, ready: bool) -> ClaimNotUsableOnNode:
    """Return the operands for a claim that cannot be used on a node."""
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else ()
    return ClaimNotUsableOnNode(
        claim.key,
        tuple(f"{result.driver}/{result.pool}/{result.device}" for result in results),
        ready,
        tuple(user.name for user in claim.status.reserved_for),
    )
