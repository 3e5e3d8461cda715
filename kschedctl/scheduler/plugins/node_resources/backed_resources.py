"""Extended resources that a DeviceClass backs, as the plugins of node resources count them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from kschedctl.common.arrays import Int64Array
from kschedctl.objects.device import DeviceClass
from kschedctl.scheduler.devices.claims import KINDS
from kschedctl.scheduler.devices.extended_resources import (
    backing_classes,
    can_be_backed,
    device_totals,
    resources_with_class,
)
from kschedctl.scheduler.framework.dependencies import Dependencies, Reach
from kschedctl.scheduler.framework.interface import Handle
from kschedctl.scheduler.framework.status import SUCCESS, Code, Status
from kschedctl.scheduler.plugins.node_resources.scoring import Allocation

#: The dependencies of the plugins of node resources: the node, its pods and its devices.
READS: Final = Dependencies(pods=Reach.NODE, nodes=Reach.NODE, kinds=KINDS)


def backed_resources(handle: Handle, resources: Iterable[str]) -> dict[str, DeviceClass]:
    """Return those of the resources that a DeviceClass backs, each with the class.

    The result is empty in releases in which devices do not back extended resources.
    """
    if not handle.release.devices_back_extended_resources or not handle.cluster.list(DeviceClass):
        return {}
    resources = [name for name in resources if can_be_backed(name)]
    if not resources:
        return {}
    classes = backing_classes(handle.cluster)
    return {name: classes[name] for name in resources_with_class(resources, classes)}


def backed_allocations(
    handle: Handle, wanted: Mapping[str, int], offers: Sequence[Allocation], rows: Int64Array
) -> list[Allocation]:
    """Count devices as the allocatable amount on nodes that offer none of a resource that a DeviceClass backs.

    Args:
        wanted: The configured resources, in order, and the amount of each that the pod requests.
        offers: The amounts without devices, in the same order.
    """
    backed = backed_resources(handle, (name for name, amount in wanted.items() if amount))
    if not backed:
        return list(offers)
    # Few pods request such resources.
    from kschedctl.scheduler.devices.inventory import Inventory

    inventory = Inventory.of(handle.cluster, handle.release.devices)
    out = []
    for (name, amount), offer in zip(wanted.items(), offers, strict=True):
        if name not in backed:
            out.append(offer)
            continue
        devices, in_use = (counts[rows] for counts in device_totals(inventory, backed[name]))
        counts_devices = (offer.allocatable == 0) & (devices > 0)
        out.append(
            Allocation(
                np.where(counts_devices, devices, offer.allocatable),
                np.where(counts_devices, in_use, offer.allocated),
                np.where(counts_devices, in_use + amount, offer.requested),
            )
        )
    return out


def usage_status(handle: Handle, resources: Iterable[str]) -> Status:
    """Return the status of the devices' usage, which is read if a DeviceClass backs one of the scored resources.

    It is an error if the consumed capacity of a claim is negative, and the release refuses that.
    """
    if not handle.release.devices.refuses_negative_capacity or not backed_resources(handle, resources):
        return SUCCESS
    # Few clusters have devices.
    from kschedctl.scheduler.devices.inventory import Inventory

    problem = Inventory.of(handle.cluster, handle.release.devices).usage.problem
    return Status(Code.ERROR, (problem,)) if problem else SUCCESS


def crashing_resources(handle: Handle, wanted: Mapping[str, int]) -> list[str]:
    """Return the resources over which kube-scheduler's NodeResourcesBalancedAllocation crashes.

    Their DeviceClass has CEL selectors, and the upstream plugin has no CEL compiler.
    """
    backed = backed_resources(handle, (name for name, amount in wanted.items() if amount))
    return [name for name, device_class in backed.items() if device_class.spec.selectors]
