"""Kinds and objects that a snapshot lacks although the answer for a pod depends on them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final, TypeAlias

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PodClass
from kschedctl.common.errors import ClusterError
from kschedctl.common.findings import Finding, ObjectRef, Severity
from kschedctl.common.wording import listed
from kschedctl.objects.core import Namespace
from kschedctl.objects.device import DeviceClass, ResourceClaim, ResourceSlice
from kschedctl.objects.kinds import (
    EVIDENCE_KINDS,
    LISTED_KINDS,
    PERMISSIONS_PAGE,
    cannot_be_listed,
    is_namespaced,
    plural,
    resource_of,
)
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod, PodSpec, pod_affinity_terms
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.policies import RuntimeClass
from kschedctl.objects.volume import PersistentVolume, PersistentVolumeClaim, StorageClass, Volume
from kschedctl.objects.workload import ReplicaSet, ReplicationController, StatefulSet
from kschedctl.scheduler.devices.extended_resources import backing_classes, can_be_backed
from kschedctl.scheduler.volumes.claims import claim_uses

# The kinds of objects and what depends on them: only for that does it matter that a kind could not be listed.


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
    EVIDENCE = "what other components say about a pod"


#: The parts that add to an answer, which is right without them.
ADDITIONS: Final = frozenset({Part.SCORES, Part.USERS, Part.CANDIDATES, Part.PROBLEMS, Part.EVIDENCE})
_NO_VOLUME: Final = "claims are treated as if they allowed all nodes"
_NO_DEVICES: Final = "pods that need devices are treated as if they needed none"
_NO_GROUP: Final = "pods of a group are scheduled as if they were in no group"
_SPREADING: Final = "default spreading ignores them, so scores can differ"
_OF_NODES: Final = (Part.PLACEMENT, Part.EVICTION, Part.ROLLOUT, Part.CAPACITY, Part.VOLUMES, Part.DEVICES)
#: The consequence if kinds that are evidence for a diagnosis could not be listed.
UNHEARD: Final = "no cause rests on their words"
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
    "DaemonSet": {Part.PROBLEMS: _LACKING, Part.NEW_NODES: "new nodes are treated as if no DaemonSet had pods there"},
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

    Args:
        is_new: True if the pod goes through admission.
        preempts: True if preemption finds victims for the pod.
        is_scored: True if the pod fits on nodes, of which one is chosen.
    """
    given = {Part.ADMISSION: is_new, Part.EVICTION: preempts, Part.SCORES: is_scored}
    return [Part.PLACEMENT, Part.EVIDENCE, *(part for part, is_there in given.items() if is_there)]


def concerns(kind: str, cluster: Cluster, pod: Pod) -> bool:
    """Report whether objects of a kind could change the answer for a pod, by the fields of the pod."""
    test = _TESTS.get(kind)
    return test is None or test(cluster, pod)


def _is_spread_with(kind: str, _: Cluster, pod: Pod) -> bool:
    """Report whether a pod is spread by default with the other pods of its controller of a kind."""
    owner = pod.metadata.controller
    return not pod.spec.topology_spread_constraints and owner is not None and owner.kind == kind


def _has_unbound_claims(cluster: Cluster, pod: Pod) -> bool:
    """Report whether a claim of a pod has no volume, as far as is known."""
    claims = (cluster.get(PersistentVolumeClaim, use.claim, pod.namespace) for use in claim_uses(pod))
    return any(claim is None or not claim.spec.volume_name for claim in claims)


def _needs_devices(cluster: Cluster, pod: Pod) -> bool:
    """Report whether a pod has claims for devices, or a DeviceClass backs an extended resource of it, or may do so."""
    if pod.spec.resource_claims:
        return True
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    names = {name for container in containers for name in container.resources.requests if can_be_backed(name)}
    return bool(names) and ("DeviceClass" in cluster.not_listed or not names.isdisjoint(backing_classes(cluster)))


#: A test whether objects of a kind could change the answer for a pod.
_Test: TypeAlias = Callable[[Cluster, Pod], bool]
#: The tests by kind; the other kinds concern every pod.
_TESTS: Final[Mapping[str, _Test]] = {
    "Namespace": lambda cluster, pod: names_namespaces(pod.spec) or others_name_namespaces(cluster, pod),
    "Service": lambda _, pod: not pod.spec.topology_spread_constraints and bool(pod.metadata.labels),
    **{kind: partial(_is_spread_with, kind) for kind in ("ReplicationController", "ReplicaSet", "StatefulSet")},
    **dict.fromkeys(
        ("PersistentVolumeClaim", "PersistentVolume"), lambda _, pod: next(claim_uses(pod), None) is not None
    ),
    **dict.fromkeys(("StorageClass", "CSIDriver", "CSIStorageCapacity"), _has_unbound_claims),
    # A volume without any field but its name is of a type that is not attached.
    **dict.fromkeys(
        ("CSINode", "VolumeAttachment"),
        lambda _, pod: any(volume != Volume(name=volume.name) for volume in pod.spec.volumes),
    ),
    **dict.fromkeys(("ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule"), _needs_devices),
    "ResourceClaimTemplate": lambda _, pod: any(
        claim.resource_claim_template_name for claim in pod.spec.resource_claims
    ),
    **dict.fromkeys(("PodGroup", "CompositePodGroup", "Workload"), lambda _, pod: bool(pod.spec.pod_group_name)),
    "PriorityClass": lambda _, pod: pod.spec.priority is None,
    "RuntimeClass": lambda _, pod: bool(pod.spec.runtime_class_name),
}


def names_namespaces(spec: PodSpec) -> bool:
    """Report whether a pod's affinity selects namespaces by their labels."""
    selectors = (term.namespace_selector for term in pod_affinity_terms(spec))
    # An empty selector selects all namespaces, whatever their labels.
    return any(one is not None and bool(one.match_labels or one.match_expressions) for one in selectors)


def others_name_namespaces(cluster: Cluster, pod: Pod) -> bool:
    """Report whether the affinity of any pod of the cluster may select the pod's namespace by label."""
    return bool(pod.metadata.namespace and cluster.pods.classes_having(_class_names_namespaces))


def _class_names_namespaces(pod_class: PodClass) -> bool:
    return names_namespaces(pod_class.pod.spec)


#: The kinds that the answer for the claims of a pod depends on.
CLAIM_KINDS: Final = ("PersistentVolumeClaim", *kinds_of(Part.VOLUMES), *kinds_of(Part.PROVISIONING))
_CONTROLLERS: dict[str, type[ApiObject]] = {
    "ReplicaSet": ReplicaSet,
    "StatefulSet": StatefulSet,
    "ReplicationController": ReplicationController,
}


@dataclass(frozen=True, slots=True)
class Missing(Finding):
    """A missing kind or object: ``object`` names it, ``problem`` is the reason why the pod needs it.

    Attributes
    ----------
    effect : str
        The consequence for the answer.
    permission : str
        If the kind could not be listed, the permission that is needed, as arguments of ``kubectl auth can-i``.
    decides : bool
        True if the answer is unknown without it; False if it only adds to the answer.
    """

    effect: str = ""
    permission: str = ""
    decides: bool = True

    @property
    def kind(self) -> str:
        """The missing kind, or the kind of the missing object."""
        return self.object.kind if self.object is not None else ""

    @property
    def needed_for(self) -> str:
        """The reason why the pod needs the missing kind or object."""
        return self.problem

    def __str__(self) -> str:
        return f"{self.problem}: {self.effect}"


def _missing(kind: str, needed_for: str, effect: str, *, permission: str = "", decides: bool = True) -> Missing:
    return Missing(
        needed_for,
        object=ObjectRef(kind),
        rule="Missing",
        severity=Severity.WARNING,
        effect=effect,
        permission=permission,
        decides=decides,
    )


def find_missing(
    cluster: Cluster,
    pod: Pod,
    *,
    is_new: bool | None = None,
    preempts: bool = True,
    is_scored: bool = True,
    groups: bool = True,
) -> tuple[Missing, ...]:
    """Return all kinds and objects that are missing for the answer for a pod.

    Args:
        pod: The pod to schedule, with defaults applied but not admitted.
        is_new: True if the pod goes through admission; by default if the cluster does not have it.
        preempts: True if preemption finds victims, so that PodDisruptionBudgets matter.
        is_scored: True if the pod fits on nodes, so that kinds matter that only the choice of a node depends on.
        groups: True if the feature gate of pod groups is on. If it is off, API servers drop the group of new pods.
    """
    if is_new is None:
        is_new = (pod.metadata.namespace, pod.metadata.name) not in cluster.pods.index
    found = (
        *missing_nodes_and_pods(cluster),
        *_classes(cluster, pod),
        *_claims(cluster, pod),
        *_device_claims(cluster, pod),
        *_groups(cluster, pod),
        *(_pod_group(cluster, pod) if groups else ()),
    )
    parts = parts_for_pod(is_new=is_new, preempts=preempts, is_scored=is_scored)
    return (*not_read(cluster), *_not_listed(cluster, parts, pod, pod.metadata.namespace), *_unknown(cluster, found))


def not_read(cluster: Cluster) -> tuple[Missing, ...]:
    """Return the input that looks like part of the cluster and was not read; any answer may depend on it."""
    return tuple(_missing(lack.kind, lack.what, lack.effect) for lack in cluster.unread)


def missing_for_any(cluster: Cluster, *, preempts: bool) -> tuple[Missing, ...]:
    """Return the kinds that could not be listed, for lack of permission, and that any pod's answer depends on."""
    if not cluster.not_listed:
        return ()
    parts = parts_for_pod(is_new=False, preempts=preempts, is_scored=True)
    # The class of a pod has neither its group nor its controller.
    specs = {(id(record.spec), record.class_id): index for index, record in enumerate(cluster.pods.records)}
    pods = (cluster.pods.pod(index) for index in specs.values())
    return tuple(
        dict.fromkeys(each for pod in pods for each in _not_listed(cluster, parts, pod, pod.metadata.namespace))
    )


def not_listed(cluster: Cluster, *parts: Part, namespace: str = "") -> Iterator[Missing]:
    """Yield the kinds that could not be listed and that parts of an answer depend on, whatever pod it is about.

    Args:
        namespace: The only namespace that the answer is about; empty for all.
    """
    return _not_listed(cluster, parts, None, namespace)


def _not_listed(cluster: Cluster, parts: Collection[Part], pod: Pod | None, namespace: str) -> Iterator[Missing]:
    """Yield the kinds that could not be listed, with the consequence for the first part that depends on them."""
    if not cluster.not_listed:
        return
    for kind, consequences in TABLE.items():
        if is_unlisted(kind, cluster, namespace) and (pod is None or concerns(kind, cluster, pod)):
            needed = [part for part in parts if part in consequences]
            if needed:
                decides = not ADDITIONS.issuperset(needed)
                permission = f"list {permitted(kind)}"
                what = _not_listed_text(cluster.listed, kind)
                yield _missing(kind, what, consequences[needed[0]], permission=permission, decides=decides)
    unheard = [type_.__name__ for type_ in EVIDENCE_KINDS.values() if is_unlisted(type_.__name__, cluster, namespace)]
    if Part.EVIDENCE in parts and unheard:
        yield _missing(
            unheard[0],
            f"{listed([resource_of(kind) for kind in unheard])} cannot be listed by this user",
            UNHEARD,
            permission=f"list {permitted(unheard[0])}",
            decides=False,
        )


def _not_listed_text(listed: Mapping[str, str], kind: str) -> str:
    """Return the sentence that a kind could not be listed, or not in all namespaces."""
    only = listed.get(kind)
    resource = plural(kind.lower())
    return f"{resource} outside namespace {only} cannot be listed by this user" if only else cannot_be_listed(kind)


def permitted(kind: str) -> str:
    """Return the resource of a kind as an argument of ``kubectl auth can-i``, for all namespaces.

    >>> permitted("Node"), permitted("PodDisruptionBudget")
    ('nodes', 'poddisruptionbudgets.policy -A')
    """
    (group, name), type_ = next((key, type_) for key, type_ in LISTED_KINDS.items() if type_.__name__ == kind)
    resource = f"{plural(name.lower())}.{group}".removesuffix(".")
    return f"{resource} -A" if is_namespaced(type_) else resource


def require_listed(cluster: Cluster, kind: str, namespace: str | None = None, said: str = "") -> None:
    """Require that a kind that the request is about could be listed.

    Args:
        namespace: The only namespace that matters; by default one that was listed is enough.
        said: The facts that are known without the kind, for the hint.

    Raises ClusterError if listing the kind was not allowed: no statement about its objects would be reliable.
    """
    if not cluster.is_forbidden(kind, cluster.listed.get(kind, "") if namespace is None else namespace):
        return
    hint = f"permission is required: kubectl auth can-i list {permitted(kind)}; {PERMISSIONS_PAGE}"
    problem = f"{_not_listed_text(cluster.listed, kind)}, and the answer depends on them"
    raise ClusterError(problem, hint=f"{hint}; {said}" if said else hint)


def _unknown(cluster: Cluster, found: Iterable[Missing]) -> Iterator[Missing]:
    """Yield the entries of `found` whose kind the source does not cover.

    The cluster has no objects of a kind that was listed, and for one that could not be listed the reason is reported.
    """
    for each in found:
        if each.kind not in cluster.not_listed and each.kind not in cluster.listed:
            yield each


def _has(cluster: Cluster, kind: type[ApiObject]) -> bool:
    return next(iter(cluster.list(kind)), None) is not None


def missing_for_nodes(cluster: Cluster) -> tuple[Missing, ...]:
    """Return all kinds that are missing for the capacity of nodes."""
    return (*not_listed(cluster, Part.CAPACITY), *_unknown(cluster, missing_nodes_and_pods(cluster)))


def every_unlisted(
    cluster: Cluster, kinds: Collection[str], effect: str = "they are not in the list"
) -> Iterator[Missing]:
    """Yield those of some kinds that could not be listed, for an answer that only counts or lists objects."""
    for kind in sorted(cluster.not_listed.intersection(kinds)):
        if cluster.is_forbidden(kind):
            permission = f"list {permitted(kind)}"
            yield _missing(kind, _not_listed_text(cluster.listed, kind), effect, permission=permission, decides=False)


def refusals(not_listed: Collection[str], listed: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each kind that could not be listed, with the consequence for answers."""
    for kind in not_listed:
        if listed.get(kind) != "":
            effect = next(iter(TABLE.get(kind, {}).values()), "they cannot be named in a request")
            yield f"{_not_listed_text(listed, kind)}: {effect}"


def missing_nodes_and_pods(cluster: Cluster) -> Iterator[Missing]:
    """Yield the lack of nodes, or else of pods."""
    if not len(cluster.nodes):
        yield _missing("Node", "the snapshot has no nodes", "no pod fits on any node")
    elif not len(cluster.pods):
        yield _missing("Pod", "the snapshot has no pods", "all nodes are treated as empty")


def _classes(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    spec = pod.spec
    name = spec.priority_class_name
    if name and spec.priority is None:
        # The pods of a cluster have a priority: its API server knew the class.
        from kschedctl.controllers.admission.priority import priority_class

        if priority_class(cluster, name) is None:
            needed = f"the pod names PriorityClass {name} and the snapshot has no priority classes"
            yield _missing("PriorityClass", needed, "its priority is treated as 0")
    runtime = spec.runtime_class_name
    if runtime and cluster.get(RuntimeClass, runtime) is None and not spec.overhead:
        yield _missing(
            "RuntimeClass",
            f"the pod names RuntimeClass {runtime}, which the snapshot does not have",
            "its overhead, node selector and tolerations are not counted",
        )


def _claims(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    names = [v.persistent_volume_claim.claim_name for v in pod.spec.volumes if v.persistent_volume_claim is not None]
    if not names:
        return
    if not _has(cluster, PersistentVolumeClaim):
        yield _missing(
            "PersistentVolumeClaim",
            f"the pod uses PersistentVolumeClaim {', '.join(names)} and the snapshot has no claims",
            "they are treated as not found",
        )
        return
    claims = (cluster.get(PersistentVolumeClaim, name, pod.metadata.namespace) for name in names)
    yield from _volumes(cluster, [claim for claim in claims if claim is not None])


def _device_claims(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    entries = pod.spec.resource_claims
    if not entries:
        return
    names = [entry.resource_claim_name for entry in entries if entry.resource_claim_name]
    if names and not _has(cluster, ResourceClaim):
        yield _missing(
            "ResourceClaim",
            f"the pod uses ResourceClaim {', '.join(names)} and the snapshot has no ResourceClaims",
            "they are treated as not found",
        )
        return
    made = {status.resource_claim_name for status in pod.status.resource_claim_statuses}
    claims = [cluster.get(ResourceClaim, name, pod.metadata.namespace) for name in (*names, *made)]
    yield from _devices(cluster, [claim for claim in claims if claim is not None])


def missing_for_devices(cluster: Cluster, claims: Sequence[ResourceClaim]) -> tuple[Missing, ...]:
    """Return all kinds that are missing for the answer for the given ResourceClaims."""
    return (*not_listed(cluster, Part.DEVICES), *_unknown(cluster, _devices(cluster, claims)))


def _devices(cluster: Cluster, claims: Sequence[ResourceClaim]) -> Iterator[Missing]:
    waiting = [claim.name for claim in claims if claim.status.allocation is None]
    if not waiting:
        return
    needed_for = f"ResourceClaim {', '.join(waiting)} is not allocated and the snapshot has no"
    if not _has(cluster, ResourceSlice):
        yield _missing("ResourceSlice", f"{needed_for} resource slices", "all nodes are treated as having no devices")
    if not _has(cluster, DeviceClass):
        yield _missing("DeviceClass", f"{needed_for} device classes", "its classes are treated as not existing")


def missing_for_claims(cluster: Cluster, claims: Sequence[PersistentVolumeClaim]) -> tuple[Missing, ...]:
    """Return all kinds that are missing for the answer for the given PersistentVolumeClaims."""
    parts = (
        Part.VOLUMES,
        Part.USERS,
        *([] if all(claim.spec.volume_name for claim in claims) else [Part.PROVISIONING]),
    )
    return (*not_listed(cluster, *parts), *_unknown(cluster, _volumes(cluster, claims)))


def _volumes(cluster: Cluster, claims: Sequence[PersistentVolumeClaim]) -> Iterator[Missing]:
    bound = [claim.name for claim in claims if claim.spec.volume_name]
    if bound and not _has(cluster, PersistentVolume):
        yield _missing(
            "PersistentVolume",
            f"PersistentVolumeClaim {', '.join(bound)} is bound and the snapshot has no volumes",
            "the nodes that can use them are unknown",
        )
    waiting = [claim.name for claim in claims if not claim.spec.volume_name]
    if waiting and not _has(cluster, StorageClass):
        yield _missing(
            "StorageClass",
            f"PersistentVolumeClaim {', '.join(waiting)} is not bound and the snapshot has no storage classes",
            "it is unknown if a volume can be provisioned for it",
        )


def _pod_group(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    name = pod.spec.pod_group_name
    if name and not _has(cluster, PodGroup):
        yield _missing(
            "PodGroup",
            f"the pod belongs to PodGroup {name} and the snapshot has no PodGroups",
            "it is treated as not found",
        )


def _groups(cluster: Cluster, pod: Pod) -> Iterator[Missing]:
    """Yield the missing kinds that group pods: namespaces, by label, and controllers, for default spreading."""
    if not _has(cluster, Namespace):
        if names_namespaces(pod.spec):
            yield _missing(
                "Namespace",
                "the pod's affinity selects namespaces by label and the snapshot has no namespaces",
                "such terms match no pods",
            )
        if others_name_namespaces(cluster, pod):
            yield _missing(
                "Namespace",
                "pods select namespaces by label in their affinity and the snapshot has no namespaces",
                "it is unknown if they select this pod",
            )
    owner = pod.metadata.controller
    kind = _CONTROLLERS.get(owner.kind) if owner is not None else None
    if owner is not None and kind is not None and not pod.spec.topology_spread_constraints and not _has(cluster, kind):
        yield _missing(
            owner.kind,
            f"the pod belongs to {owner.kind} {owner.name} and the snapshot has no {owner.kind}s",
            "default spreading uses its Services only, so scores can differ",
        )
