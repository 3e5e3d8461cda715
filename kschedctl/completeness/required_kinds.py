"""The kinds of objects that the answer for a pod depends on: only for them a missing permission to list matters."""

from __future__ import annotations

from kschedctl.api.pod import Pod, PodAffinityTerm, PodSpec, pod_affinity_terms
from kschedctl.api.volume import Volume
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PodClass
from kschedctl.devices.extended_resources import backing_classes, can_be_backed


def affects_answer(kind: str, cluster: Cluster, pod: Pod, *, is_new: bool, preempts: bool) -> bool:
    """Report whether objects of a kind could change the answer for a pod.

    Parameters
    ----------
    cluster : Cluster
        The cluster, which possibly lacks the kind.
    is_new : bool
        True if the pod goes through admission.
    preempts : bool
        True if preemption is attempted for the pod.
    """
    spec = pod.spec
    match kind:
        case "Node" | "Pod":
            return True
        case "Namespace":
            return names_namespaces(spec) or others_name_namespaces(cluster, pod)
        case "Service":
            return not spec.topology_spread_constraints and bool(pod.metadata.labels)
        case "ReplicationController" | "ReplicaSet" | "StatefulSet":
            owner = pod.metadata.controller
            return not spec.topology_spread_constraints and owner is not None and owner.kind == kind
        case "PersistentVolumeClaim" | "PersistentVolume" | "StorageClass" | "CSIDriver" | "CSIStorageCapacity":
            return any(v.persistent_volume_claim is not None or v.ephemeral is not None for v in spec.volumes)
        case "CSINode" | "VolumeAttachment":
            # A volume without any field but its name is of a type that is not attached.
            return any(volume != Volume(name=volume.name) for volume in spec.volumes)
        case "ResourceClaim" | "ResourceSlice" | "DeviceClass" | "DeviceTaintRule":
            return bool(spec.resource_claims) or _backed(cluster, pod)
        case "PodGroup" | "CompositePodGroup":
            return bool(spec.pod_group_name)
        case "PodDisruptionBudget":
            return preempts
    return is_new and _bears_on_admission(kind, spec)


def _bears_on_admission(kind: str, spec: PodSpec) -> bool:
    """Report whether objects of a kind could change the admission of a new pod."""
    match kind:
        case "ResourceClaimTemplate":
            return any(claim.resource_claim_template_name for claim in spec.resource_claims)
        case "PriorityClass":
            return spec.priority is None
        case "RuntimeClass":
            return bool(spec.runtime_class_name)
    # Objects of all other kinds are used only if a command names one.
    return kind in ("LimitRange", "ResourceQuota")


def _backed(cluster: Cluster, pod: Pod) -> bool:
    """Report whether a DeviceClass backs an extended resource of the pod, or may do so if DeviceClasses are unknown."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    names = {name for container in containers for name in container.resources.requests if can_be_backed(name)}
    return bool(names) and ("DeviceClass" in cluster.not_listed or not names.isdisjoint(backing_classes(cluster)))


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
