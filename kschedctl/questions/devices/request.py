"""The question of ``devices``."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from kschedctl.common.options import Example
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.request import AnalysisRequest, RequestError

if TYPE_CHECKING:
    from kschedctl.objects.device import DeviceClass, ResourceClaim
    from kschedctl.questions.devices.answer import DevicesOverview, DeviceSupply
    from kschedctl.trials.loaded_cluster import LoadedCluster
else:
    DeviceClass = ResourceClaim = Any


@dataclass(frozen=True)
class DevicesOfClaim(AnalysisRequest["DevicesOverview | DeviceSupply"]):
    """The claim of a question of a program."""

    claim: Annotated[str, "A ResourceClaim as namespace/name; empty for none."] = ""


@dataclass(frozen=True, kw_only=True)
class DevicesRequest(DevicesOfClaim):
    """Show devices, the claims that hold them, and the nodes on which a claim or a device of a class can be allocated.

    Raises
    ------
    InputError
        If there is no such claim or class.
    ClusterError
        If the ResourceSlices could not be listed.

    Command
    -------
    Without an argument, all pools and their problems are listed. With an argument: the nodes on which the devices can
    be allocated, and for the others the number of devices that exist, match and are free.

    The exit code is 1 if a claim cannot be allocated on any node, or if the devices of a pool are not used.
    """

    examples: ClassVar[tuple[Example, ...]] = (
        Example("List all devices, the claims that hold them, and pools that are not used:", "devices"),
        Example("Show the nodes with the devices of a claim, and what the others lack:", "devices ml/train -o wide"),
    )

    device_class: Annotated[str, "A DeviceClass; empty for none."] = ""
    #: The claims and classes, each with an answer of its own; empty for all devices.
    subjects: tuple[ResourceClaim | DeviceClass, ...] = ()

    def check(self) -> None:
        if self.claim and self.device_class:
            raise RequestError("cannot be combined with {claim}", "device_class")

    def answer(self, cluster: "LoadedCluster", handle: AnalysisHandle) -> "DevicesOverview | DeviceSupply":
        from kschedctl.objects.device import DeviceClass, ResourceClaim
        from kschedctl.questions.devices.analysis import devices
        from kschedctl.trials.whatif.targets import find_object

        subjects = [*self.subjects]
        if self.claim:
            subjects.append(find_object(cluster.cluster, ResourceClaim, self.claim))
        if self.device_class:
            subjects.append(find_object(cluster.cluster, DeviceClass, self.device_class))
        return devices(cluster, replace(self, subjects=tuple(subjects)), handle)[0]
