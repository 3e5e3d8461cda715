"""The texts that explain the words of answers: diagnoses, and the reasons that kube-scheduler gives.

A diagnosis is described by its rule, and a reason with operands by theirs; only the other reasons are described here.
"""

import inspect
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from kschedctl.diagnosis.diagnose import (
    cluster_rules,
    last_rule,
    rules_of_failed,
    rules_of_gated,
    rules_of_placed,
    rules_of_unscheduled,
)
from kschedctl.diagnosis.rules.other_schedulers import other_scheduler, two_schedulers
from kschedctl.diagnosis.rules.unstarted import unstarted
from kschedctl.objects.releases.release import LATEST
from kschedctl.objects.releases.rules import GENERIC_WORKLOAD, POD_GROUPS_1_37, POD_GROUPS_1_38
from kschedctl.scheduler.devices.explain import NotAllocated
from kschedctl.scheduler.framework.interface import Plugin
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
from kschedctl.scheduler.plugins.registry import IN_TREE_PLUGINS, in_tree_registry
from kschedctl.scheduler.plugins.taint_toleration import UntoleratedTaint
from kschedctl.scheduler.plugins.topology import NoTopologyLabel
from kschedctl.scheduler.plugins.volume_zone import OtherZone
from kschedctl.scheduler.preemption.result import NoLowerPriority
from kschedctl.scheduler.volumes import reasons as volumes

# Reasons, by plugin.


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


#: Reasons that no single plugin gives: the key in `MEANINGS`, the heading, and the text below it.
_OTHERS: Final = {
    "": ("Several PreFilter plugins", "Each plugin names the nodes that it allows, and no node is allowed by all."),
    "Score": ("Errors of Score plugins", "The scheduling cycle ends with an error."),
    "PostFilter": (
        "After Filter: preemption and claims",
        "The last part of the message of an event, after the reasons of the nodes.",
    ),
}


def reasons(notes: Mapping[str, Mapping[str, str]] = MappingProxyType({})) -> dict[str, Mapping[str, str]]:
    """Return what each in-tree plugin does, with its reasons, as Markdown by its name, below the heading of its part.

    Args:
        notes: What to add to a reason, by plugin and reason.
    """
    gates = dict.fromkeys((GENERIC_WORKLOAD, *LATEST.gate_dependencies), True)
    release = LATEST.with_features(gates)
    points = in_tree_registry().extension_points(release)
    weights = dict(release.default_plugins)
    plugins = {}
    for name, plugin in IN_TREE_PLUGINS.items():
        weight = f" Its weight in the default profile is {weights[name]}." if weights.get(name) else ""
        used = f"Extension points: {', '.join(f'`{point}`' for point in sorted(map(str, points[name])))}.{weight}"
        own = "" if plugin.remedies is Plugin.remedies else _proposal(plugin.remedies.__doc__)
        plugins[name] = "\n".join((description(plugin), "", used, *_table(name, own, notes.get(name, {}))))
    others = {title: "\n".join((text, *_table(key, "", notes.get(key, {})))) for key, (title, text) in _OTHERS.items()}
    return {"Plugins": plugins, "Other reasons": others}


def description(plugin: type[Plugin]) -> str:
    """Return the documentation of a plugin, without its name in front: its own, or that of its module or package."""
    own, _, _ = (inspect.getdoc(plugin) or "").rpartition("\n\nUpstream: ")
    module, package = sys.modules[plugin.__module__], sys.modules[plugin.__module__.rpartition(".")[0]]
    text = own or (package if module.__name__.endswith(".plugin") else module).__doc__ or ""
    text = text.strip().removeprefix(f"{plugin.name}: ").replace("``", "`")
    return text[:1].upper() + text[1:]


def cures(operands: type[Operands]) -> str:
    """Return the cures that the operands of a reason propose, in one sentence; empty if there are none."""
    return "" if operands.remedies is Operands.remedies else _proposal(operands.remedies.__doc__)


def _table(plugin: str, own_cures: str, notes: Mapping[str, str]) -> Iterator[str]:
    """Yield the table of a plugin's reasons; ``own_cures`` help against those that have no operands."""
    if plugin not in MEANINGS:
        yield from ("", "It rejects no pod.")
        return
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for reason, meaning in MEANINGS[plugin].items():
        rows[_meaning(meaning), _cures(meaning, own_cures)].append(f"`{reason}`{notes.get(reason, '')}")
    yield from ("", "| reason | meaning | cures that are tried |", "|---|---|---|")
    yield from (f"| {'<br>'.join(reasons)} | {text} | {tried} |" for (text, tried), reasons in rows.items())


def _meaning(meaning: Meaning) -> str:
    if isinstance(meaning, str | BeforeFilter):
        return meaning if isinstance(meaning, str) else meaning.text
    return _joined(((operands.__doc__ or "").partition("\n")[0] for operands in meaning), " Or: ").replace("``", "`")


def _cures(meaning: Meaning, own_cures: str) -> str:
    if isinstance(meaning, str | BeforeFilter):
        return own_cures if isinstance(meaning, BeforeFilter) and own_cures else "-"
    return _joined(filter(None, map(cures, meaning)), " ").replace("``", "`") or "-"


def _proposal(docstring: str | None) -> str:
    """Return the first line of a docstring, ``Propose to do this, or to do that.``, as an instruction."""
    text = (docstring or "").partition("\n")[0].removeprefix("Propose to ").replace(", or to ", ", or ")
    return (text[:1].upper() + text[1:]).replace(", to ", ", ")


def _joined(texts: Iterable[str], separator: str) -> str:
    return separator.join(dict.fromkeys(texts))


# Diagnoses.


def diagnoses() -> dict[str, Mapping[str, str]]:
    """Return the text of each diagnosis as Markdown, by the heading of its part and its name (``lost-label``)."""
    parts = {
        "Pods that are not scheduled, the most important cause first": (
            *rules_of_unscheduled(),
            last_rule(),
            two_schedulers,
        ),
        "Pods that kube-scheduler does not try": (*rules_of_gated(), other_scheduler),
        "Pods for which kube-scheduler returns an error": rules_of_failed(),
        "Pods that are scheduled and do not start": (*rules_of_placed(), unstarted),
        "Workloads, nodes and components of the cluster": cluster_rules(),
    }
    return {title: dict(_named(rule) for rule in rules) for title, rules in parts.items()}


def _named(rule: object) -> tuple[str, str]:
    name = rule.__name__.removesuffix("_of_placed")  # type: ignore[attr-defined]
    text = inspect.getdoc(getattr(sys.modules[rule.__module__], name)) or ""
    return name.replace("_", "-"), text.replace("``", "`")
