"""The kinds of objects and what depends on them: only for that does it matter that a kind could not be listed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import Final, TypeAlias

from kschedctl.api.pod import Pod, PodAffinityTerm, PodSpec, pod_affinity_terms
from kschedctl.api.volume import PersistentVolumeClaim, Volume
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PodClass
from kschedctl.devices.extended_resources import backing_classes, can_be_backed
from kschedctl.volumes.pod_claims import claim_uses


class Part(StrEnum):
    """The parts of answers that depend on kinds of objects, in words."""

    PLACEMENT = "the nodes that a pod fits on"
    SCORES = "the choice among the nodes that a pod fits on"
    ADMISSION = "the changes of new pods by the API server, and their refusal"
    EVICTION = "the pods that preemption and drains evict"
    ROLLOUT = "the steps of a rollout"
    VOLUMES = "the volume of a claim, and the nodes that can use it"
    PROVISIONING = "the volume that a claim without one gets"
    USERS = "the pods that use a claim"
    DEVICES = "devices, and the claims that hold them"
    CAPACITY = "the free capacity of nodes"
    NEW_NODES = "the pods on new nodes"
    ELECTION = "the leader of an election"
    CANDIDATES = "the next leader of an election"
    PROBLEMS = "workloads that lack pods, and components that are sick"


#: The parts that add to an answer, which is right without them.
ADDITIONS: Final = frozenset({Part.SCORES, Part.USERS, Part.CANDIDATES, Part.PROBLEMS})
_NO_VOLUME: Final = "claims are treated as if they allowed all nodes"
_NO_DEVICES: Final = "pods that need devices are treated as if they needed none"
_NO_GROUP: Final = "pods of a group are scheduled as if they were in no group"
_SPREADING: Final = "default spreading ignores them, so scores can differ"
_OF_NODES: Final = (Part.PLACEMENT, Part.EVICTION, Part.ROLLOUT, Part.CAPACITY, Part.VOLUMES, Part.DEVICES)
_LACKING: Final = "workloads that lack pods are not found"
#: The parts that depend on each kind, with the consequence if the kind could not be listed. Objects of other kinds are
#: used only if a request names one.
TABLE: Final[Mapping[str, Mapping[Part, str]]] = {
    "Node": dict.fromkeys(_OF_NODES, "no node is known"),
    "Pod": {
        **dict.fromkeys(
            (part for part in _OF_NODES if part not in (Part.VOLUMES, Part.DEVICES)),
            "they take no capacity on nodes, and affinity and spreading do not count them",
        ),
        Part.USERS: "the pods that use a claim are unknown",
    },
    "Namespace": {Part.PLACEMENT: "affinity with a namespaceSelector selects no namespaces"},
    "Service": {Part.SCORES: _SPREADING},
    "ReplicationController": {Part.SCORES: _SPREADING, Part.PROBLEMS: _LACKING},
    "ReplicaSet": {
        Part.SCORES: _SPREADING,
        Part.PROBLEMS: _LACKING,
        Part.ROLLOUT: "pods belong to the Deployment that their names suggest, and missing old pods are not counted",
    },
    "StatefulSet": {Part.SCORES: _SPREADING, Part.PROBLEMS: _LACKING},
    "DaemonSet": {
        Part.PROBLEMS: _LACKING,
        Part.NEW_NODES: "new nodes are treated as if no DaemonSet had pods there",
    },
    "Job": {Part.PROBLEMS: _LACKING},
    "LimitRange": {Part.ADMISSION: "new pods get no default requests and limits, and none is refused for its own"},
    "ResourceQuota": {Part.ADMISSION: "no new pod is refused for a quota"},
    "PersistentVolume": {Part.PLACEMENT: _NO_VOLUME, Part.VOLUMES: "which volumes exist is unknown"},
    "PersistentVolumeClaim": {Part.PLACEMENT: _NO_VOLUME},
    "StorageClass": {
        Part.PLACEMENT: _NO_VOLUME,
        Part.PROVISIONING: "whether a volume can be provisioned for a claim is unknown",
    },
    "CSINode": {Part.PLACEMENT: "limits on attached volumes are not counted"},
    "CSIDriver": dict.fromkeys((Part.PLACEMENT, Part.PROVISIONING), "free storage capacity is not checked"),
    "CSIStorageCapacity": dict.fromkeys((Part.PLACEMENT, Part.PROVISIONING), "free storage capacity is not checked"),
    "VolumeAttachment": {Part.PLACEMENT: "attached volumes of deleted pods are not counted"},
    "ResourceClaim": {Part.PLACEMENT: _NO_DEVICES, Part.DEVICES: "all devices count as free"},
    "ResourceClaimTemplate": {Part.ADMISSION: _NO_DEVICES},
    "ResourceSlice": {Part.PLACEMENT: _NO_DEVICES, Part.DEVICES: "which devices exist is unknown"},
    "DeviceClass": {Part.PLACEMENT: _NO_DEVICES, Part.DEVICES: "which devices a class has is unknown"},
    "DeviceTaintRule": dict.fromkeys((Part.PLACEMENT, Part.DEVICES), "device taints by rules are not counted"),
    "PodDisruptionBudget": {Part.EVICTION: "no eviction is refused or counted as a violation"},
    "PodGroup": {Part.PLACEMENT: _NO_GROUP},
    "Workload": {Part.ADMISSION: "no new group of pods is refused for its Workload"},
    "CompositePodGroup": {Part.PLACEMENT: "groups of pod groups are ignored"},
    "PriorityClass": {Part.ADMISSION: "the priority of a new pod is treated as 0"},
    "RuntimeClass": {Part.ADMISSION: "new pods get no overhead, node selector and tolerations of a runtime class"},
    "Lease": {
        Part.ELECTION: "the leader is unknown",
        Part.PROBLEMS: "a control plane that does not run is not noticed",
    },
    "LeaseCandidate": {Part.CANDIDATES: "the next leader is unknown"},
}
#: The kinds of which the objects of other namespaces matter for a pod, too.
_EVERYWHERE: Final = frozenset(
    {"Pod", "PersistentVolumeClaim", "CSIStorageCapacity", "ResourceClaim", "PodDisruptionBudget"}
)


def kinds_of(part: Part) -> tuple[str, ...]:
    """Return the kinds that a part of an answer depends on."""
    return tuple(kind for kind, parts in TABLE.items() if part in parts)


def is_unlisted(kind: str, cluster: Cluster, namespace: str) -> bool:
    """Report whether a kind could not be listed as far as a pod of a namespace needs it."""
    return cluster.is_forbidden(kind, "" if kind in _EVERYWHERE else namespace)


def parts_for_pod(*, is_new: bool, preempts: bool, is_scored: bool) -> Collection[Part]:
    """Return the parts of the answer for a pod.

    Parameters
    ----------
    is_new : bool
        True if the pod goes through admission.
    preempts : bool
        True if preemption finds victims for the pod.
    is_scored : bool
        True if the pod fits on nodes, of which one is chosen.
    """
    given = {Part.ADMISSION: is_new, Part.EVICTION: preempts, Part.SCORES: is_scored}
    return [Part.PLACEMENT, *(part for part, is_there in given.items() if is_there)]


def concerns(kind: str, cluster: Cluster, pod: Pod) -> bool:
    """Report whether objects of a kind could change the answer for a pod, by the fields of the pod."""
    test = _TESTS.get(kind)
    return test is None or test(cluster, pod)


def _is_spread_with_services(_: Cluster, pod: Pod) -> bool:
    return not pod.spec.topology_spread_constraints and bool(pod.metadata.labels)


def _is_spread_with(kind: str) -> _Test:
    """Return the test whether a pod is spread by default with the other pods of its controller of a kind."""

    def test(_: Cluster, pod: Pod) -> bool:
        owner = pod.metadata.controller
        return not pod.spec.topology_spread_constraints and owner is not None and owner.kind == kind

    return test


def _has_claims(_: Cluster, pod: Pod) -> bool:
    return next(claim_uses(pod), None) is not None


def _has_unbound_claims(cluster: Cluster, pod: Pod) -> bool:
    """Report whether a claim of a pod has no volume, as far as is known."""
    claims = (cluster.get(PersistentVolumeClaim, use.claim, pod.namespace) for use in claim_uses(pod))
    return any(claim is None or not claim.spec.volume_name for claim in claims)


def _has_attached_volumes(_: Cluster, pod: Pod) -> bool:
    # A volume without any field but its name is of a type that is not attached.
    return any(volume != Volume(name=volume.name) for volume in pod.spec.volumes)


def _needs_devices(cluster: Cluster, pod: Pod) -> bool:
    """Report whether a pod has claims for devices, or a DeviceClass backs an extended resource of it, or may do so."""
    if pod.spec.resource_claims:
        return True
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    names = {name for container in containers for name in container.resources.requests if can_be_backed(name)}
    return bool(names) and ("DeviceClass" in cluster.not_listed or not names.isdisjoint(backing_classes(cluster)))


def _has_claim_templates(_: Cluster, pod: Pod) -> bool:
    return any(claim.resource_claim_template_name for claim in pod.spec.resource_claims)


def _is_in_group(_: Cluster, pod: Pod) -> bool:
    return bool(pod.spec.pod_group_name)


def _lacks_priority(_: Cluster, pod: Pod) -> bool:
    return pod.spec.priority is None


def _has_runtime_class(_: Cluster, pod: Pod) -> bool:
    return bool(pod.spec.runtime_class_name)


def _meets_namespace_selectors(cluster: Cluster, pod: Pod) -> bool:
    return names_namespaces(pod.spec) or others_name_namespaces(cluster, pod)


#: A test whether objects of a kind could change the answer for a pod.
_Test: TypeAlias = Callable[[Cluster, Pod], bool]
#: The tests by kind; the other kinds concern every pod.
_TESTS: Final[Mapping[str, _Test]] = {
    "Namespace": _meets_namespace_selectors,
    "Service": _is_spread_with_services,
    **{kind: _is_spread_with(kind) for kind in ("ReplicationController", "ReplicaSet", "StatefulSet")},
    **dict.fromkeys(("PersistentVolumeClaim", "PersistentVolume"), _has_claims),
    **dict.fromkeys(("StorageClass", "CSIDriver", "CSIStorageCapacity"), _has_unbound_claims),
    **dict.fromkeys(("CSINode", "VolumeAttachment"), _has_attached_volumes),
    **dict.fromkeys(("ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule"), _needs_devices),
    "ResourceClaimTemplate": _has_claim_templates,
    **dict.fromkeys(("PodGroup", "CompositePodGroup", "Workload"), _is_in_group),
    "PriorityClass": _lacks_priority,
    "RuntimeClass": _has_runtime_class,
}


def names_namespaces(spec: PodSpec) -> bool:
    """Report whether a pod's affinity selects namespaces by their labels."""
    return any(_by_namespace_labels(term) for term in pod_affinity_terms(spec))


def others_name_namespaces(cluster: Cluster, pod: Pod) -> bool:
    """Report whether the affinity of any pod of the cluster may select the pod's namespace by label."""
    return bool(pod.metadata.namespace and cluster.pods.classes_having(_class_names_namespaces))


def _class_names_namespaces(pod_class: PodClass) -> bool:
    return names_namespaces(pod_class.pod.spec)


def _by_namespace_labels(term: PodAffinityTerm) -> bool:
    # An empty selector selects all namespaces, whatever their labels.
    selector = term.namespace_selector
    return selector is not None and bool(selector.match_labels or selector.match_expressions)
