"""The stored form of pods: records, and specs and classes that many pods share and that are stored once."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Final, Self

import msgspec
from msgspec.structs import replace

from kschedctl.objects.cluster_autoscaler import SAFE_TO_EVICT
from kschedctl.objects.defaults import DEFAULT_NAMESPACE, default_pod_spec
from kschedctl.objects.karpenter import DISRUPTION_COST, DO_NOT_DISRUPT
from kschedctl.objects.meta import Labels, LabelSelector, ObjectMeta, OwnerReference, Time
from kschedctl.objects.pod import (
    DELETION_COST,
    Affinity,
    Container,
    ContainerState,
    ContainerStatus,
    Pod,
    PodAffinityTerm,
    PodSpec,
    PodStatus,
)
from kschedctl.objects.resources import RequestRules, pod_requests
from kschedctl.objects.selectors import SelectorError, parse_label_selector
from kschedctl.objects.volume import Volume

#: Node rows of pods without a node (``PENDING``) and of pods whose node is not in the snapshot (``LOST``).
PENDING: Final = -1
LOST: Final = -2
#: The start time of a pod that has not started; later than any real time.
NOT_STARTED: Final = 2**63 - 1

#: The phases of pods that have ended, which are no part of a cluster.
FINISHED: Final = frozenset({"Succeeded", "Failed"})

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class PodClass(msgspec.Struct, frozen=True):
    """Pods with the same namespace, labels, spec (as far as other pods depend on it) and reported resources."""

    #: A pod of the class without a name, defaulted.
    pod: Pod
    #: True if the pods are being deleted.
    terminating: bool

    @property
    def namespace(self) -> str:
        return self.pod.metadata.namespace

    @property
    def labels(self) -> Labels:
        return self.pod.metadata.labels


class PodRecord(msgspec.Struct, frozen=True):
    """A pod of the snapshot; the data that it shares with others is in its class and its spec."""

    metadata: ObjectMeta
    class_id: int
    spec: PodSpec
    node_name: str
    status: PodStatus

    @property
    def name(self) -> tuple[str, str]:
        """The pod's namespace and name."""
        return self.metadata.namespace, self.metadata.name

    @property
    def priority(self) -> int:
        """The value of ``spec.priority``, 0 without one."""
        return self.spec.priority or 0

    @property
    def start_time(self) -> int:
        """The value of ``status.startTime`` in microseconds since 1970, or ``NOT_STARTED``."""
        time = self.status.start_time
        if time is None:
            return NOT_STARTED
        since = time - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds

    def node_row(self, rows: Mapping[str, int]) -> int:
        """Return the row of the pod's node; ``PENDING`` without a node, ``LOST`` if the node does not exist."""
        return rows.get(self.node_name, LOST) if self.node_name else PENDING

    def nominated_row(self, rows: Mapping[str, int]) -> int:
        """Return the row of a pending pod's nominated node; ``PENDING`` without one."""
        return rows.get(self.status.nominated_node_name, PENDING) if not self.node_name else PENDING


# Records as data, for another process or a file.


class StoredPod(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record, with indices in place of what pods share; namespace and labels are those of its class."""

    name: str
    uid: str
    class_id: int
    spec: int
    owners: int
    node_name: str
    created: Time | None
    deleted: Time | None
    annotations: Labels
    status: PodStatus


class StoredPods(msgspec.Struct, frozen=True, array_like=True):
    """Records of pods as data; what they share is stored once, and shared again after decoding."""

    classes: tuple[PodClass, ...]
    specs: tuple[PodSpec, ...]
    owners: tuple[tuple[OwnerReference, ...], ...]
    pods: tuple[StoredPod, ...]

    @classmethod
    def of(cls, records: Iterable[PodRecord], classes: Iterable[PodClass]) -> Self:
        """Return records as data.

        Args:
            classes: The classes that the records refer to.
        """
        specs: dict[int, tuple[int, PodSpec]] = {}
        owners: dict[tuple[OwnerReference, ...], int] = {}
        pods = []
        for record in records:
            metadata = record.metadata
            pods.append(
                StoredPod(
                    metadata.name,
                    metadata.uid,
                    record.class_id,
                    specs.setdefault(id(record.spec), (len(specs), record.spec))[0],
                    owners.setdefault(metadata.owner_references, len(owners)),
                    record.node_name,
                    metadata.creation_timestamp,
                    metadata.deletion_timestamp,
                    metadata.annotations,
                    record.status,
                )
            )
        return cls(tuple(classes), tuple(spec for _, spec in specs.values()), tuple(owners), tuple(pods))

    def records(
        self, class_ids: Sequence[int], classes: Sequence[PodClass], specs: Sequence[PodSpec]
    ) -> list[PodRecord]:
        """Return the records.

        Args:
            class_ids: The index in ``classes`` of each class here.
            specs: The specs to use in place of those here.
        """
        records = []
        for pod in self.pods:
            class_id = class_ids[pod.class_id]
            shared = classes[class_id].pod.metadata
            metadata = ObjectMeta(
                name=pod.name,
                namespace=shared.namespace,
                uid=pod.uid,
                labels=shared.labels,
                annotations=pod.annotations,
                creation_timestamp=pod.created,
                deletion_timestamp=pod.deleted,
                owner_references=self.owners[pod.owners],
            )
            records.append(PodRecord(metadata, class_id, specs[pod.spec], pod.node_name, pod.status))
        return records


# Conversion of pods to records: specs and classes that many pods share are stored once.

_RESIZE_CONDITIONS = frozenset({"PodResizePending"})
_NOTHING_REPORTED = PodStatus()
#: The conditions of pods on nodes that are kept, whatever their status.
_KEPT_CONDITIONS = frozenset({"DisruptionTarget", *_RESIZE_CONDITIONS, "PodResizeInProgress"})
#: The annotations of pods that are kept: they name the group, or the autoscaler that changed the requests, or keep the
#: autoscaler of nodes away.
_KEPT_ANNOTATIONS = frozenset(
    {
        "scheduling.k8s.io/group-name",
        "scheduling.volcano.sh/group-name",
        "vpaInPlaceUpdated",
        "vpaUpdates",
        DELETION_COST,
        DISRUPTION_COST,
        DO_NOT_DISRUPT,
        SAFE_TO_EVICT,
    }
)
_encode = msgspec.msgpack.Encoder().encode

# Every pod has a projected volume with its token, which is not kept.
_SOURCES = tuple(field for field in Volume.__struct_fields__ if field not in ("name", "projected"))
_NO_SOURCES = (None,) * len(_SOURCES)
_sources = attrgetter(*_SOURCES)

ClassKey = tuple[str, bytes, bytes, bool, bytes]


class PodInterner:
    """A factory of pod records.

    classes: The distinct classes so far; records refer to them by index.
    """

    def __init__(self) -> None:
        self.classes: list[PodClass] = []
        self._specs: dict[bytes, tuple[PodSpec, bytes]] = {}
        self._class_ids: dict[ClassKey, int] = {}
        #: The last pod and its record: replicas of one pod often follow each other.
        self._last: tuple[Pod, PodRecord] | None = None

    @classmethod
    def continuing(cls, classes: list[PodClass]) -> "PodInterner":
        """Return an interner that continues a cluster's list of classes, and appends new classes to it."""
        out = cls()
        out.classes = classes
        for class_id, pod_class in enumerate(classes):
            pod = pod_class.pod
            meaning = _encode(pod.spec)
            key = _class_key(pod.namespace, pod_class.labels, meaning, pod.status, pod_class.terminating)
            out._class_ids[key] = class_id
        return out

    def adopt(self, stored: StoredPods) -> list[PodRecord]:
        """Return the records of pods that another interner has recorded, with the specs and classes of this one."""
        specs = [self._shared(spec)[0] for spec in stored.specs]
        class_ids = []
        for pod_class in stored.classes:
            pod = pod_class.pod
            key = _class_key(pod.namespace, pod_class.labels, _encode(pod.spec), pod.status, pod_class.terminating)
            class_id = self._class_ids.setdefault(key, len(self.classes))
            if class_id == len(self.classes):
                self.classes.append(pod_class)
            class_ids.append(class_id)
        return stored.records(class_ids, self.classes, specs)

    def record(self, pod: Pod) -> PodRecord:
        """Return the record of a pod.

        Raises QuantityError, SelectorError if a quantity or a selector is invalid; the error has the field's path.
        """
        if self._last is not None and _differs_in_name(pod, self._last[0]):
            record = self._last[1]
            metadata = replace(record.metadata, name=pod.metadata.name, uid=pod.metadata.uid)
            return PodRecord(metadata, record.class_id, record.spec, record.node_name, record.status)
        record = self._record(pod)
        self._last = pod, record
        return record

    def _shared(self, spec: PodSpec) -> tuple[PodSpec, bytes]:
        """Return the one spec that is equal to a spec with defaults, and its meaning to others, encoded."""
        known = self._specs.get(encoded := _encode(spec))
        if known is None:
            known = self._specs[encoded] = spec, _encode(_meaning_to_others(spec))
        return known

    def _record(self, pod: Pod) -> PodRecord:
        metadata = pod.metadata
        node_name = pod.spec.node_name
        written = replace(
            pod.spec,
            node_name="",
            volumes=tuple(
                volume for volume in pod.spec.volumes if _sources(volume) != _NO_SOURCES or volume.certificate_keys
            ),
        )
        encoded = _encode(written)
        known = self._specs.get(encoded)
        if known is None:
            _check_pod_selectors(written)
            known = self._specs[encoded] = self._shared(default_pod_spec(written))
        spec, meaning = known
        namespace = metadata.namespace or DEFAULT_NAMESPACE
        reported = _reported_resources(pod.status)
        terminating = metadata.deletion_timestamp is not None
        key = _class_key(namespace, metadata.labels, meaning, reported, terminating)
        class_id = self._class_ids.get(key)
        if class_id is None:
            class_id = self._class_ids[key] = len(self.classes)
            shared = ObjectMeta(namespace=namespace, labels=metadata.labels)
            representative = Pod(metadata=shared, spec=_meaning_to_others(spec), status=reported)
            # Parse every quantity once here, where the location of an invalid one is known.
            pod_requests(representative, RequestRules())
            if reported is not _NOTHING_REPORTED:
                pod_requests(representative, RequestRules(totals=True))
            self.classes.append(PodClass(representative, terminating))
        return PodRecord(
            metadata=ObjectMeta(
                name=metadata.name,
                namespace=namespace,
                uid=metadata.uid,
                labels=self.classes[class_id].labels,
                annotations={key: value for key, value in metadata.annotations.items() if key in _KEPT_ANNOTATIONS},
                creation_timestamp=metadata.creation_timestamp,
                deletion_timestamp=metadata.deletion_timestamp,
                owner_references=metadata.owner_references,
            ),
            class_id=class_id,
            spec=spec,
            node_name=node_name,
            status=_kept_status(pod.status, pending=not node_name),
        )


def _differs_in_name(pod: Pod, other: Pod) -> bool:
    """Report whether two pods differ in nothing but name and uid.

    The check is cheap: it compares most fields by identity, so equal fields that are not shared count as different.
    """
    ours, theirs = pod.metadata, other.metadata
    return (
        pod.spec is other.spec
        and pod.status is other.status
        and ours.labels is theirs.labels
        and ours.annotations is theirs.annotations
        and ours.owner_references is theirs.owner_references
        and ours.namespace == theirs.namespace
        and ours.creation_timestamp is theirs.creation_timestamp
        and ours.deletion_timestamp is theirs.deletion_timestamp
    )


def _class_key(namespace: str, labels: Labels, meaning: bytes, reported: PodStatus, terminating: bool) -> ClassKey:
    status = b"" if reported is _NOTHING_REPORTED or reported == _NOTHING_REPORTED else _encode(reported)
    return namespace, _encode(labels), meaning, terminating, status


def _meaning_to_others(spec: PodSpec) -> PodSpec:
    """Return the part of a spec that matters to other pods' scheduling: resources, ports, volumes and pod affinity."""

    def bare(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(
            Container(
                name=container.name,
                resources=container.resources,
                ports=tuple(port for port in container.ports if port.host_port),
                restart_policy=container.restart_policy,
            )
            for container in containers
        )

    affinity = spec.affinity
    if affinity is not None:
        affinity = Affinity(pod_affinity=affinity.pod_affinity, pod_anti_affinity=affinity.pod_anti_affinity)
    return PodSpec(
        containers=bare(spec.containers),
        init_containers=bare(spec.init_containers),
        volumes=spec.volumes,
        affinity=affinity,
        overhead=spec.overhead,
        resources=spec.resources,
        resource_claims=spec.resource_claims,
    )


def _reported_resources(status: PodStatus) -> PodStatus:
    """Return the part of the status in which the kubelet reports resources; an empty status if there is none."""
    if not (
        status.container_statuses
        or status.init_container_statuses
        or status.conditions
        or status.resources is not None
        or status.allocated_resources
    ):
        # Most new pods have no status yet.
        return _NOTHING_REPORTED

    def reported(statuses: tuple[ContainerStatus, ...]) -> tuple[ContainerStatus, ...]:
        # The state of a container is specific to the pod.
        return tuple(
            replace(status, state=ContainerState(), last_state=ContainerState(), restart_count=0)
            for status in statuses
            if status.resources is not None or status.allocated_resources
        )

    containers = reported(status.container_statuses)
    init_containers = reported(status.init_container_statuses)
    resizing = tuple(
        replace(c, message="", last_transition_time=None) for c in status.conditions if c.type in _RESIZE_CONDITIONS
    )
    if not (containers or init_containers or resizing or status.resources is not None or status.allocated_resources):
        return _NOTHING_REPORTED
    return PodStatus(
        container_statuses=containers,
        init_container_statuses=init_containers,
        resources=status.resources,
        allocated_resources=status.allocated_resources,
        conditions=resizing,
    )


def _kept_status(status: PodStatus, *, pending: bool) -> PodStatus:
    """Return the fields of a pod's status that are specific to the pod, not shared by its class.

    A pending pod keeps all conditions; a pod on a node only those that evictions depend on, those of a resize, and the
    containers that keep it from starting or running.
    """
    if not (status.conditions or status.container_statuses or status.init_container_statuses):
        return PodStatus(
            phase=status.phase,
            nominated_node_name=status.nominated_node_name,
            start_time=status.start_time,
            resource_claim_statuses=status.resource_claim_statuses,
        )

    def stopped(statuses: tuple[ContainerStatus, ...]) -> tuple[ContainerStatus, ...]:
        return tuple(
            replace(each, allocated_resources={}, resources=None)
            for each in statuses
            if not pending and (each.state.waiting or (each.state.terminated and each.state.terminated.exit_code))
        )

    conditions = status.conditions
    if not pending:
        conditions = tuple(
            c for c in conditions if c.type in _KEPT_CONDITIONS or (c.type == "Ready" and c.status == "False")
        )
    return PodStatus(
        phase=status.phase,
        nominated_node_name=status.nominated_node_name,
        start_time=status.start_time,
        conditions=conditions,
        container_statuses=stopped(status.container_statuses),
        init_container_statuses=stopped(status.init_container_statuses),
        resource_claim_statuses=status.resource_claim_statuses,
    )


def _check_pod_selectors(spec: PodSpec) -> None:
    for i, constraint in enumerate(spec.topology_spread_constraints):
        _check_selector(constraint.label_selector, f"spec.topologySpreadConstraints[{i}].labelSelector")
    affinity = spec.affinity
    if affinity is None:
        return
    for field, terms in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
        if terms is None:
            continue
        path = f"spec.affinity.{field}"
        for i, term in enumerate(terms.required_during_scheduling_ignored_during_execution):
            _check_term(term, f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{i}]")
        for i, weighted in enumerate(terms.preferred_during_scheduling_ignored_during_execution):
            _check_term(
                weighted.pod_affinity_term,
                f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{i}].podAffinityTerm",
            )


def _check_term(term: PodAffinityTerm, path: str) -> None:
    _check_selector(term.label_selector, f"{path}.labelSelector")
    _check_selector(term.namespace_selector, f"{path}.namespaceSelector")


def _check_selector(selector: LabelSelector | None, path: str) -> None:
    if selector is None:
        return
    try:
        parse_label_selector(selector)
    except SelectorError as error:
        raise SelectorError(str(error), f"{path}.{error.path}") from None
