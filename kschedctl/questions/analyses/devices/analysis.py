"""The analysis behind ``devices``: all devices, or the nodes on which a claim or a class can be allocated."""

from __future__ import annotations

from dataclasses import dataclass

from kschedctl.objects.device import DeviceClass, ResourceClaim
from kschedctl.questions.analyses.devices.answer import claim_answer, class_answer, overview_answer
from kschedctl.questions.analyses.handle import AnalysisHandle
from kschedctl.questions.analyses.provenance import provenance
from kschedctl.questions.answers.devices import DevicesOverview, DeviceSupply
from kschedctl.scheduler.devices.allocator import claim_of_class
from kschedctl.scheduler.devices.claims import KINDS
from kschedctl.scheduler.devices.inventory import Inventory
from kschedctl.trials.completeness import missing_for_devices, require_listed
from kschedctl.trials.loaded_cluster import LoadedCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicesRequest:
    """A question about devices.

    Attributes
    ----------
    subjects : tuple of ResourceClaim or DeviceClass
        The claims and classes, each with an answer of its own; empty for all devices.
    """

    subjects: tuple[ResourceClaim | DeviceClass, ...] = ()


def devices(
    cluster: LoadedCluster, request: DevicesRequest, handle: AnalysisHandle
) -> tuple[DevicesOverview | DeviceSupply, ...]:
    """Report all devices, or the nodes on which each claim or a device of each class can be allocated.

    Raises
    ------
    ClusterError
        If the ResourceSlices could not be listed.
    """
    cluster.require_nodes()
    rules = cluster.release_choice.release.devices
    inventory = cluster.cluster.derived(Inventory, rules, lambda: Inventory(cluster.cluster, rules), of=KINDS)
    if not request.subjects:
        require_listed(cluster.cluster, "ResourceSlice")
        return (overview_answer(inventory, provenance(cluster, missing_for_devices(cluster.cluster, ()))),)
    return tuple(_supply(cluster, inventory, subject) for subject in request.subjects)


def _supply(cluster: LoadedCluster, inventory: Inventory, subject: ResourceClaim | DeviceClass) -> DeviceSupply:
    claim = claim_of_class(subject.name) if isinstance(subject, DeviceClass) else subject
    rests_on = provenance(cluster, missing_for_devices(cluster.cluster, [claim]))
    if isinstance(subject, DeviceClass):
        return class_answer(subject, inventory, rests_on)
    return claim_answer(subject, inventory, rests_on)
