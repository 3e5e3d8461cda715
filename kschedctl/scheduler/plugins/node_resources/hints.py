"""Queueing hints of NodeResourcesFit: events that may help a rejected pod (fit.go, ``isSchedulableAfter...``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from kschedctl.cluster.nodes import Nodes
from kschedctl.objects.core import Node
from kschedctl.objects.device import DeviceClass
from kschedctl.objects.pod import Pod
from kschedctl.objects.resources import PODS, pod_requests, scheduler_units
from kschedctl.scheduler.devices.extended_resources import CLASS_PREFIX
from kschedctl.scheduler.framework.events import (
    ActionType,
    ClusterEventWithHint,
    EventResource,
    is_on_node,
    registered,
    same_pod,
)
from kschedctl.scheduler.framework.interface import Handle
from kschedctl.scheduler.plugins.node_resources.allocation import spec_only
from kschedctl.scheduler.plugins.node_resources.backed_resources import backed_resources

_IN_PLACE: str = "InPlacePodVerticalScaling"


def signed_requests(handle: Handle, pod: Pod) -> Hashable | None:
    """Return the requests as signature of the pod, or ``None`` if devices may satisfy one of them."""
    release = handle.release
    requests = scheduler_units(pod_requests(pod, spec_only(handle.request_rules, pod_level=True)))
    if release.devices_back_extended_resources:
        if release.queue.devices_prevent_batches:
            return None
        if backed_resources(handle, (name for name, amount in requests.items() if amount)):
            return None
    return frozenset(requests.items())


class NodeResourcesHints:
    """The queueing hints of NodeResourcesFit.

    Parameters
    ----------
    handle : Handle
        The plugin's handle.
    wanted : callable
        Returns a pod's requests by resource, including ``pods``: milli-CPU, bytes and counts.
    """

    def __init__(self, handle: Handle, wanted: Callable[[Pod], Mapping[str, int]]) -> None:
        self._handle = handle
        self._wanted = wanted

    @property
    def events(self) -> tuple[ClusterEventWithHint, ...]:
        """The events that the plugin registers."""
        handle = self._handle
        pods = handle.pods_that_wake(EventResource.ASSIGNED_POD)
        own = handle.pods_that_wake(EventResource.TARGET_POD)
        of_nodes = ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE
        out = [
            registered(pods, ActionType.DELETE, self.after_pod_deleted),
            registered(EventResource.NODE, of_nodes, self.after_node_change),
        ]
        if handle.release.enabled(_IN_PLACE):
            out += [
                registered(resource, ActionType.UPDATE_POD_SCALE_DOWN, self.after_scale_down)
                for resource in dict.fromkeys((pods, own))
            ]
        if handle.release.devices_back_extended_resources:
            of_classes = ActionType.ADD | ActionType.UPDATE
            out.append(registered(EventResource.DEVICE_CLASS, of_classes, self.after_class_change))
        return tuple(out)

    def after_pod_deleted(self, pod: Pod, old: Pod, new: None) -> bool:
        """Report whether the deleted pod was on a node or nominated to one."""
        return is_on_node(old, or_nominated=True)

    def after_scale_down(self, pod: Pod, old: Pod, new: Pod) -> bool:
        """Report whether the pod itself changed, or a pod on a node lowered a request that may help the pod."""
        if same_pod(pod, new):
            return True
        if not new.spec.node_name:
            return False
        rules = self._handle.request_rules
        before, after, wanted = (scheduler_units(pod_requests(each, rules)) for each in (old, new, pod))
        return any(amount and before.get(name, 0) > after.get(name, 0) for name, amount in wanted.items())

    def after_node_change(self, pod: Pod, old: Node | None, new: Node) -> bool:
        """Report whether the pod fits on the empty node, and the node changed in its favour.

        The node must be new, or offer more of a requested resource, or offer none of a resource that a DeviceClass
        backs.
        """
        wanted = self._wanted(pod)
        backed = backed_resources(self._handle, wanted)
        offers = Nodes((new,)).allocatable[0]
        lacking = (name for name, amount in wanted.items() if amount > offers.get(name, 0))
        if any(name not in backed or offers.get(name, 0) for name in lacking):
            return False
        if old is None:
            return True
        before = Nodes((old,)).allocatable[0]
        if any(offers.get(name, 0) > before.get(name, 0) for name in (PODS, *wanted)):
            return True
        return any(not offers.get(name, 0) for name in backed)

    def after_class_change(self, pod: Pod, old: DeviceClass | None, new: DeviceClass) -> bool:
        """Report whether the class backs a resource that the pod requests and did not back it before."""
        requests = pod_requests(pod, self._handle.request_rules)
        name = new.spec.extended_resource_name
        if old is None:
            return CLASS_PREFIX + new.name in requests or bool(name and name in requests)
        return old.spec.extended_resource_name != name and bool(name and name in requests)
