"""Queueing hints of DynamicResources: events that may help a rejected pod (upstream ``isSchedulableAfter...``)."""

from __future__ import annotations

from kschedctl.objects.device import ResourceClaim
from kschedctl.objects.pod import Pod
from kschedctl.scheduler.devices.claims import ClaimProblemError, pod_claims
from kschedctl.scheduler.framework.events import ActionType, ClusterEventWithHint, EventResource, registered, same_pod
from kschedctl.scheduler.framework.interface import Handle

_CHANGED = ActionType.ADD | ActionType.UPDATE


class DynamicResourcesHints:
    """The queueing hints of DynamicResources.

    Parameters
    ----------
    handle : Handle
        The plugin's handle.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    @property
    def events(self) -> tuple[ClusterEventWithHint, ...]:
        """The events that the plugin registers."""
        handle = self._handle
        of_nodes = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        of_claims = ActionType.ALL if handle.release.queue.deleted_claims_wake else _CHANGED
        own = handle.pods_that_wake(EventResource.TARGET_POD)
        return (
            registered(EventResource.NODE, of_nodes),
            registered(EventResource.RESOURCE_CLAIM, of_claims, self.after_claim_change),
            registered(own, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, self.after_claim_generated),
            registered(EventResource.DEVICE_CLASS, _CHANGED),
            registered(EventResource.RESOURCE_SLICE, _CHANGED),
        )

    def after_claim_change(self, pod: Pod, old: ResourceClaim | None, new: ResourceClaim | None) -> bool:
        """Report whether a claim released its devices, or is one of the pod's claims and changed its status."""
        if new is None:
            return old is not None and old.status.allocation is not None
        try:
            claims = list(pod_claims(self._handle.cluster, pod, self._handle.release.devices))
        except ClaimProblemError:
            return False
        if old is not None and old.status.allocation is not None and new.status.allocation is None:
            return True
        names = {(claim.namespace, claim.name) for claim in claims}
        return (new.namespace, new.name) in names and (old is None or old.status != new.status)

    def after_claim_generated(self, pod: Pod, old: Pod, new: Pod) -> bool:
        """Report whether all claims of the pod exist."""
        if not same_pod(pod, new):
            return False
        try:
            list(pod_claims(self._handle.cluster, new, self._handle.release.devices))
        except ClaimProblemError:
            return False
        return True
