"""The question of ``devices``."""

from typing import TYPE_CHECKING, Any

import msgspec

from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest

if TYPE_CHECKING:
    from kschedctl.objects.device import DeviceClass, ResourceClaim
    from kschedctl.questions.devices.answer import DevicesOverview, DeviceSupply
    from kschedctl.trials.loaded_cluster import LoadedCluster
else:
    DeviceClass = ResourceClaim = Any


class DevicesOfClaim(AnalysisRequest["DevicesOverview | DeviceSupply"], frozen=True):
    """The claim of a question of a program."""

    #: A ResourceClaim, as ``namespace/name``; empty for none.
    claim: str = ""


class DevicesRequest(DevicesOfClaim, frozen=True, kw_only=True):
    """Show devices, the claims that hold them, and the nodes on which a claim or a device of a class can be allocated.

    Without an argument, all pools and their problems are listed. With an argument: the nodes on which the devices can
    be allocated, and for the others the number of devices that exist, match and are free.

    The exit code is 1 if a claim cannot be allocated on any node, or if the devices of a pool are not used.

    Raises
    ------
    InputError
        If there is no such claim or class.
    ClusterError
        If the ResourceSlices could not be listed.
    """

    #: A DeviceClass; empty for none.
    device_class: str = ""
    #: The claims and classes, each with an answer of its own; empty for all devices.
    subjects: tuple[ResourceClaim | DeviceClass, ...] = ()

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "DevicesOverview | DeviceSupply":
        from kschedctl.objects.device import DeviceClass, ResourceClaim
        from kschedctl.questions.devices.analysis import devices
        from kschedctl.trials.whatif.targets import find_object

        claims = [find_object(cluster.cluster, ResourceClaim, self.claim)] if self.claim else []
        classes = [find_object(cluster.cluster, DeviceClass, self.device_class)] if self.device_class else []
        found = (*claims, *classes)
        return devices(cluster, msgspec.structs.replace(self, subjects=self.subjects or found), handle)[0]
