"""The meaning of every reason that kube-scheduler gives, by plugin: for the page docs/reasons.md.

A reason with operands is described by their documentation; only the others are described here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from kschedctl.objects.releases.rules import POD_GROUPS_1_37, POD_GROUPS_1_38
from kschedctl.scheduler.devices.explain import NotAllocated
from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.plugins import node_ports as ports
from kschedctl.scheduler.plugins import volume_restrictions as restrictions
from kschedctl.scheduler.plugins.basics import Cordoned, OtherNodeNamed
from kschedctl.scheduler.plugins.dynamic_resources import filtering as devices
from kschedctl.scheduler.plugins.gang_scheduling import TOO_FEW_NODES
from kschedctl.scheduler.plugins.inter_pod_affinity import filtering as affinity
from kschedctl.scheduler.plugins.node_affinity import UnmetNodeAffinity, UnmetNodeSelector
from kschedctl.scheduler.plugins.node_declared_features import UndeclaredFeatures
from kschedctl.scheduler.plugins.node_resources.fit import InsufficientResource
from kschedctl.scheduler.plugins.node_volume_limits import DriverNotInstalled, TooManyVolumes
from kschedctl.scheduler.plugins.pod_topology_spread.filtering import SkewTooHigh
from kschedctl.scheduler.plugins.taint_toleration import UntoleratedTaint
from kschedctl.scheduler.plugins.topology import NoTopologyLabel
from kschedctl.scheduler.plugins.volume_zone import OtherZone
from kschedctl.scheduler.preemption.result import NoLowerPriority
from kschedctl.scheduler.volumes import reasons as volumes


@dataclass(frozen=True, slots=True)
class BeforeFilter:
    """The meaning of a reason of PreEnqueue or PreFilter, for which the plugin itself proposes cures."""

    text: str


#: The types of operands that a reason can have, or its meaning.
Meaning: TypeAlias = tuple[type[Operands], ...] | BeforeFilter | str

_NO_CLAIM: Final = BeforeFilter("A claim that the pod names does not exist in its namespace.")
_OTHER_OWNER: Final = BeforeFilter("The claim of an ephemeral volume belongs to something else than this pod.")
_CLASS_SELECTOR: Final = (
    "A CEL selector of the DeviceClass fails on a device, for example because it reads an absent value."
)
_CLAIM_SELECTOR: Final = "A CEL selector of the claim fails on a device, for example because it reads an absent value."
_NEGATIVE: Final = "The request asks for a negative amount of a device's capacity."
_OTHER_OWNER_OF_DEVICES: Final = BeforeFilter(
    "The ResourceClaim of a template belongs to something else than this pod."
)

#: By the plugin that gives the reason, as in ``conformance/reasons.toml``.
MEANINGS: Final[Mapping[str, Mapping[str, Meaning]]] = {
    "SchedulingGates": {
        "waiting for scheduling gates: [*]": BeforeFilter(
            "The pod has scheduling gates. The controller that set them removes them."
        )
    },
    "NodeUnschedulable": {"node(s) were unschedulable": (Cordoned,)},
    "NodeName": {"node(s) didn't match the requested node name": (OtherNodeNamed,)},
    "NodeDeclaredFeatures": {"node(s) didn't match Pod's required features": (UndeclaredFeatures,)},
    "TaintToleration": {
        "node(s) had untolerated taint {*: *}": (UntoleratedTaint,),
        "node(s) had untolerated taint(s)": (UntoleratedTaint,),
    },
    "NodeAffinity": {
        "node(s) didn't match Pod's node affinity/selector": (UnmetNodeSelector, UnmetNodeAffinity),
        "node(s) didn't match scheduler-enforced node affinity": (
            "The node lacks labels that the `addedAffinity` of the scheduler's profile requires of all nodes."
        ),
        "pod affinity terms conflict": BeforeFilter(
            "The required node affinity names nodes, and no node is in all its terms."
        ),
    },
    "": {
        "node(s) didn't satisfy plugin(s) [NodeAffinity]": "The required node affinity names other nodes.",
        "node(s) didn't satisfy plugin(s) [NodeName]": "`spec.nodeName` is another node.",
        "node(s) didn't satisfy plugin(s) [NodeAffinity NodeName]": (
            "The node affinity and `spec.nodeName` name other nodes."
        ),
        "node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously": (
            "The node affinity and `spec.nodeName` name different nodes, so no node is left."
        ),
    },
    "NodePorts": {
        "node(s) didn't have free ports for the requested pod ports": (ports.PortInUse, ports.PortOfNominatedPod)
    },
    "NodeResourcesFit": dict.fromkeys(
        (
            "Too many pods",
            "Insufficient cpu",
            "Insufficient memory",
            "Insufficient ephemeral-storage",
            "Insufficient example.com/*",
            "Insufficient vendor.io/*",
            "Insufficient hugepages-*",
            "Insufficient deviceclass.resource.kubernetes.io/*",
        ),
        (InsufficientResource,),
    ),
    "VolumeRestrictions": {
        "node(s) had no available disk": (restrictions.DiskInUse, restrictions.DiskOfNominatedPod),
        **dict.fromkeys(
            (
                "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
                "another pod",
            ),
            (restrictions.ClaimInUse, restrictions.ClaimOfNominatedPod),
        ),
        'persistentvolumeclaim "*" not found': _NO_CLAIM,
    },
    "NodeVolumeLimits": {
        "node(s) exceed max volume count": (TooManyVolumes,),
        "* CSI driver is not installed on the node": (DriverNotInstalled,),
        'looking up PVC *: persistentvolumeclaim "*" not found': _NO_CLAIM.text,
        "PVC * was not created for pod * (pod is not owner)": _OTHER_OWNER.text,
    },
    "VolumeBinding": {
        'persistentvolumeclaim "*" not found': _NO_CLAIM,
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "*"': BeforeFilter(
            "The claim of an ephemeral volume does not exist yet; kube-controller-manager creates it."
        ),
        'persistentvolumeclaim "*" bound to non-existent persistentvolume "*"': BeforeFilter(
            "A claim has lost its volume: the PersistentVolume was deleted."
        ),
        'persistentvolumeclaim "*" is being deleted': BeforeFilter("A claim of the pod has a deletion timestamp."),
        "PVC * was not created for pod * (pod is not owner)": _OTHER_OWNER,
        "pod has unbound immediate PersistentVolumeClaims": BeforeFilter(
            "A claim whose class binds at once (`volumeBindingMode: Immediate`) has no volume yet. The scheduler waits "
            "for the PersistentVolume controller or a provisioner."
        ),
        "node(s) didn't match PersistentVolume's node affinity": (
            volumes.VolumeForOtherNodes,
            volumes.VolumeForNoNode,
            volumes.VolumeNotTranslated,
        ),
        "node(s) didn't find available persistent volumes to bind": (
            volumes.NotProvisioned,
            volumes.ProvisionedElsewhere,
            volumes.ProvisionedForOtherNodes,
        ),
        "node(s) did not have enough free storage": (volumes.NotEnoughStorage,),
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)": (volumes.VolumeMissing,),
    },
    "VolumeZone": {
        "node(s) had no available volume zone": (OtherZone,),
        'persistentvolume "*" not found': BeforeFilter("A claim of the pod names a volume that does not exist."),
        'persistentvolumeclaim "*" not found': _NO_CLAIM,
        'storageclass.storage.k8s.io "*" not found': BeforeFilter(
            "A claim without a volume names a StorageClass that does not exist."
        ),
        "PersistentVolume had no name": BeforeFilter(
            "A claim without a volume has a class that binds at once; the scheduler does not wait for the volume here."
        ),
        "PersistentVolumeClaim had no pv name and storageClass name": BeforeFilter(
            "A claim has neither a volume nor a StorageClass, so nothing will bind it."
        ),
    },
    "PodTopologySpread": {
        "node(s) didn't match pod topology spread constraints": (SkewTooHigh,),
        "node(s) didn't match pod topology spread constraints (missing required label)": (NoTopologyLabel,),
    },
    "InterPodAffinity": {
        "node(s) didn't match pod affinity rules": (affinity.NoPodNear, NoTopologyLabel),
        "node(s) didn't match pod anti-affinity rules": (affinity.OwnAntiAffinity, affinity.NominatedPodInTheWay),
        "node(s) didn't satisfy existing pods anti-affinity rules": (
            affinity.ExistingAntiAffinity,
            affinity.NominatedPodInTheWay,
        ),
    },
    "DynamicResources": {
        'pod "*": ResourceClaim not created yet': BeforeFilter(
            "A ResourceClaim of a template does not exist yet; kube-controller-manager creates it."
        ),
        'could not find ResourceClaim "*"': BeforeFilter(
            "A ResourceClaim that the pod names does not exist in its namespace."
        ),
        'resourceclaim "*" is being deleted': BeforeFilter("A ResourceClaim of the pod has a deletion timestamp."),
        "ResourceClaim * was not created for pod * (pod is not owner)": _OTHER_OWNER_OF_DEVICES,
        "ResourceClaim * was not created for Pod * (Pod is not owner)": _OTHER_OWNER_OF_DEVICES,
        "request *: device class * does not exist": BeforeFilter("A request names a DeviceClass that does not exist."),
        "cannot allocate all claims": (NotAllocated,),
        "resourceclaim not available on the node": (devices.ClaimNotUsableOnNode,),
        "claim *: number of requested devices * exceeds the claim limit of *": (
            "A claim can hold 32 devices at most, and requests more."
        ),
        "claim *, request *: adding * devices exceeds the claim limit of *, with * already accounted for": (
            "A claim can hold 32 devices at most; with this request, it requests more."
        ),
        "claim *, request *: asks for all devices, but resource pool * is currently being updated": (NotAllocated,),
        "claim *, request *: asks for all devices, but resource pool * is currently invalid": (NotAllocated,),
        "claim *, request *: cannot add device * because a claim constraint would not be satisfied": (
            "`allocationMode: All` requires each device, and a constraint of the claim excludes one."
        ),
        "pool * is invalid: duplicate device name *": "Two slices of a pool have a device of this name.",
        "invalid resource pools were encountered": (NotAllocated,),
        "claim *: selector #*: CEL compile error: *": "A selector of the claim is no valid CEL expression.",
        "claim *: selector #*: CEL runtime error: *": _CLAIM_SELECTOR,
        "claim *: selector #* on device *: CEL runtime error: *": _CLAIM_SELECTOR,
        "class *: selector #*: CEL compile error: *": "A selector of the DeviceClass is no valid CEL expression.",
        "class *: selector #*: CEL runtime error: *": _CLASS_SELECTOR,
        "class *: selector #* on device *: CEL runtime error: *": _CLASS_SELECTOR,
        'claim *, request *: checking capacity for device *: capacity "*": capacity request cannot be represented in '
        "the device's range arithmetic: *": "A requested capacity does not fit the steps of the device.",
        'claim *, request *: checking capacity for device *: capacity "*": capacity value is negative': _NEGATIVE,
        'claim *, request *: checking capacity for device *: capacity "*": capacity value is negative: request *': (
            _NEGATIVE
        ),
        'claim *, request *: checking capacity for device *: capacity "*" requested both as "*" and as "*"': (
            "The request names a capacity twice: with the driver's domain and without it."
        ),
        "claim *, request *: device *: unsupported attribute value for *": (
            "A constraint compares an attribute whose value this scheduler cannot read, such as a version with numbers "
            "of more than 64 bits."
        ),
        'running PreFilter plugin "*": gather allocation state: claim *, device *: consumed capacity "*" must not be '
        "negative, got *": (
            "The status of an allocated claim, of any pod, says that it consumes a negative capacity. No devices are "
            "allocated until its driver or an administrator repairs it."
        ),
        "claim *, constraint #*: empty constraint (unsupported constraint type?)": (
            "A constraint of the claim has a kind that this scheduler does not know."
        ),
        "claim *, request *: has capacity requests, but the DRAConsumableCapacity feature is disabled": (
            "The request needs a feature gate that is off in this scheduler."
        ),
        "cannot fit resource": (devices.UnavailableExtendedResource,),
        "cannot schedule extended resource claim": (devices.LeftoverClaim,),
    },
    "GangScheduling": {
        POD_GROUPS_1_37.no_group.format(group="*"): "The pod names a PodGroup that does not exist.",
        POD_GROUPS_1_37.too_few: "Fewer pods of the gang exist than its `minCount`; its workload has to create more.",
        POD_GROUPS_1_38.no_group.format(group="*"): (
            "The pod names a PodGroup that does not exist, or that is below a CompositePodGroup that does not."
        ),
        POD_GROUPS_1_38.too_few.format(root="*"): (
            "Fewer pods of the gang exist than its `minCount`, or too few groups of a tree have enough pods."
        ),
        POD_GROUPS_1_38.no_ready_child.format(root="*"): "No group below the CompositePodGroup has enough pods.",
        TOO_FEW_NODES: "The member has a node, and waits until `minCount` members have one.",
    },
    "Score": {
        'running Score plugins: plugin "*" failed with: number of allocations * is smaller than number of claims': (
            "A defect of kube-scheduler 1.35 for pods with several claims. The pod is tried again."
        )
    },
    "PostFilter": {
        "plugin disabled": "The plugin DynamicResources is off, and so does nothing after Filter.",
        "not found": "DynamicResources did not prepare anything before Filter, and so does nothing after it.",
        "deletion of ResourceClaim completed": "A claim of an earlier attempt was deleted; the pod is tried again.",
        "deallocation of ResourceClaim completed": "A claim on the wrong devices was released; the pod is tried again.",
        "no new claims to deallocate": "The pod has no claims of devices.",
        "still not schedulable": "No claim of the pod can be released.",
        "preemption: found a potential placement for pod on node *, preempting * victims": (
            "Preemption helps. The pod waits for the victims to end."
        ),
        "preemption: not eligible due to preemptionPolicy=Never.": "The pod's `preemptionPolicy` forbids evictions.",
        "preemption: not eligible due to a terminating pod on the nominated node.": (
            "Preemption has already chosen a node, and the victims there are still ending."
        ),
        "preemption: Preemption is not helpful for scheduling": (
            "The node would reject the pod without any other pod, too, for example because of a taint."
        ),
        "preemption: No preemption victims found for incoming pod": (NoLowerPriority,),
    },
}
