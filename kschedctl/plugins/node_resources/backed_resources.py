"""Extended resources that a DeviceClass stands for, as the plugins of node resources count them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from kschedctl.api.device import DeviceClass
from kschedctl.arrays import Int64Array
from kschedctl.devices.extended_resources import backing_classes, can_be_backed, device_totals, resources_with_class
from kschedctl.devices.inventory import KINDS, Inventory
from kschedctl.framework.dependencies import Reach, Reads
from kschedctl.framework.interface import Handle
from kschedctl.plugins.node_resources.allocation import Allocation

#: What the plugins of node resources read: what the node offers, its pods' requests, and its devices.
READS: Final = Reads(pods=Reach.NODE, nodes=Reach.NODE, kinds=KINDS)


def backed_resources(handle: Handle, resources: Iterable[str]) -> dict[str, DeviceClass]:
    """Those of some resources that a class stands for, with the class; none where the release does not know that."""
    if not handle.release.devices_back_extended_resources:
        return {}
    resources = [name for name in resources if can_be_backed(name)]
    if not resources:
        return {}
    classes = backing_classes(handle.cluster)
    return {name: classes[name] for name in resources_with_class(resources, classes)}


def backed_allocations(
    handle: Handle, wanted: Mapping[str, int], offers: Sequence[Allocation], rows: Int64Array
) -> list[Allocation]:
    """Count devices where a node offers none of a resource that a class stands for.

    Parameters
    ----------
    handle : Handle
        The plugin's handle.
    wanted : mapping of str to int
        The configured resources, in order, and what the pod requests of each.
    offers : sequence of Allocation
        What was counted without devices.
    rows : ndarray of int64, shape (n_rows,)
        The nodes.
    """
    backed = backed_resources(handle, (name for name, amount in wanted.items() if amount))
    if not backed:
        return list(offers)
    cluster, rules = handle.cluster, handle.release.devices
    inventory = cluster.derived(Inventory, rules, lambda: Inventory(cluster, rules), of=KINDS)
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


def crashing_resources(handle: Handle, wanted: Mapping[str, int]) -> list[str]:
    """Resources that kube-scheduler cannot balance: their class has selectors, and it lacks what compiles these."""
    backed = backed_resources(handle, (name for name, amount in wanted.items() if amount))
    return [name for name, device_class in backed.items() if device_class.spec.selectors]
