"""Objects in, one by one, as a reader yields them; a ``Cluster`` out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import msgspec
from msgspec.structs import replace

from kschedctl.api.core import Node
from kschedctl.api.defaults import DEFAULT_NAMESPACE, default_object, default_pod_spec
from kschedctl.api.meta import ApiObject, LabelSelector, ObjectMeta
from kschedctl.api.pod import Affinity, Container, ContainerStatus, Pod, PodAffinityTerm, PodSpec, PodStatus
from kschedctl.api.quantity import QuantityError
from kschedctl.api.resources import RequestRules, parse_resources, pod_requests
from kschedctl.api.selectors import SelectorError, parse_label_selector
from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import PodClass, PodRecord, Pods
from kschedctl.errors import SnapshotError

_FINISHED = frozenset({"Succeeded", "Failed"})
_RESIZE_CONDITIONS = frozenset({"PodResizePending"})
_encode = msgspec.msgpack.Encoder().encode


class ClusterBuilder:
    """Collects objects. Of two with the same kind and name the later counts, and a warning names both places."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._nodes: dict[str, Node] = {}
        self._pods: dict[tuple[str, str], PodRecord] = {}
        self._objects: dict[type[ApiObject], dict[tuple[str, str], ApiObject]] = {}
        self._places: dict[tuple[type[ApiObject], str, str], object] = {}
        self._specs: dict[bytes, tuple[PodSpec, bytes]] = {}
        self._class_ids: dict[tuple[object, ...], int] = {}
        self._classes: list[PodClass] = []

    def add(self, obj: ApiObject, place: object = "") -> None:
        """Take one object.

        Parameters
        ----------
        obj : ApiObject
            Of any kind that scheduling reads.
        place : object
            Where it was read; its text is used in warnings and errors.

        Raises
        ------
        SnapshotError
            Where a quantity or a selector of the object is not one.
        """
        if type(obj) is Pod:
            with _errors_at(place, obj):
                self._add_pod(obj, place)
            return
        if type(obj) is Node:
            with _errors_at(place, obj):
                parse_resources(obj.status.allocatable, "status.allocatable")
            self._note(obj, place)
            self._nodes[obj.name] = obj
            return
        obj = default_object(obj)
        self._warn_of_selector(obj)
        self._note(obj, place)
        self._objects.setdefault(type(obj), {})[obj.namespace, obj.name] = obj

    def build(self, *, server_version: str = "", taken_at: datetime | None = None) -> Cluster:
        """The cluster of all objects taken so far."""
        nodes = Nodes(tuple(self._nodes.values()))
        pods = Pods(tuple(self._pods.values()), self._classes, nodes.row, len(nodes))
        return Cluster(
            nodes, pods, self._objects, server_version=server_version, taken_at=taken_at, warnings=self.warnings
        )

    def _note(self, obj: ApiObject, place: object) -> None:
        key = (type(obj), obj.namespace, obj.name)
        earlier = self._places.get(key)
        if earlier is not None and place != "":
            name = f"{obj.namespace}/{obj.name}" if obj.namespace else obj.name
            self.warnings.append(f"{type(obj).__name__} {name} is in {earlier} and again in {place}; the later counts")
        if place != "":
            self._places[key] = place

    def _warn_of_selector(self, obj: ApiObject) -> None:
        """A controller or disruption budget whose selector is wrong is ignored by the scheduler, not refused."""
        selector = getattr(getattr(obj, "spec", None), "selector", None)
        if isinstance(selector, LabelSelector):
            try:
                parse_label_selector(selector)
            except SelectorError as error:
                name = f"{type(obj).__name__} {obj.namespace}/{obj.name}"
                self.warnings.append(f"{name} is ignored: spec.selector.{error.path}: {error}")

    def _add_pod(self, pod: Pod, place: object) -> None:
        metadata = pod.metadata
        namespace = metadata.namespace or DEFAULT_NAMESPACE
        key = (namespace, metadata.name)
        self._note(pod, place)
        if pod.status.phase in _FINISHED:
            self._pods.pop(key, None)
            return
        node_name = pod.spec.node_name
        encoded = _encode(replace(pod.spec, node_name="") if node_name else pod.spec)
        known = self._specs.get(encoded)
        if known is None:
            known = self._specs[encoded] = self._intern_spec(pod.spec)
        spec, meaning = known
        status = _reported_resources(pod.status)
        terminating = metadata.deletion_timestamp is not None
        class_key = (namespace, _encode(metadata.labels), meaning, terminating, _encode(status) if status else b"")
        class_id = self._class_ids.get(class_key)
        if class_id is None:
            class_id = self._class_ids[class_key] = len(self._classes)
            representative = Pod(
                metadata=ObjectMeta(namespace=namespace, labels=metadata.labels),
                spec=_meaning_to_others(spec),
                status=status or PodStatus(),
            )
            pod_requests(representative, RequestRules())
            self._classes.append(PodClass(representative, terminating))
        self._pods.pop(key, None)
        self._pods[key] = PodRecord(
            metadata=ObjectMeta(
                name=metadata.name,
                namespace=namespace,
                uid=metadata.uid,
                labels=self._classes[class_id].labels,
                creation_timestamp=metadata.creation_timestamp,
                deletion_timestamp=metadata.deletion_timestamp,
                owner_references=metadata.owner_references,
            ),
            class_id=class_id,
            spec=spec,
            node_name=node_name,
            status=_kept_status(pod.status, pending=not node_name),
        )

    def _intern_spec(self, spec: PodSpec) -> tuple[PodSpec, bytes]:
        """The defaulted spec without its node, and what of it matters to other pods, encoded."""
        _check_pod_selectors(spec)
        defaulted = default_pod_spec(replace(spec, node_name="") if spec.node_name else spec)
        return defaulted, _encode(_meaning_to_others(defaulted))


def _meaning_to_others(spec: PodSpec) -> PodSpec:
    """The part of a spec that the scheduling of other pods reads: resources, ports, volumes and pod affinity."""

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


def _reported_resources(status: PodStatus) -> PodStatus | None:
    """What the kubelet reports of a pod's resources, or ``None`` where it reports nothing that counts."""

    def reported(statuses: tuple[ContainerStatus, ...]) -> tuple[ContainerStatus, ...]:
        return tuple(status for status in statuses if status.resources is not None)

    containers = reported(status.container_statuses)
    init_containers = reported(status.init_container_statuses)
    if not containers and not init_containers and status.resources is None:
        return None
    return PodStatus(
        container_statuses=containers,
        init_container_statuses=init_containers,
        resources=status.resources,
        allocated_resources=status.allocated_resources,
        conditions=tuple(
            replace(c, message="", last_transition_time=None) for c in status.conditions if c.type in _RESIZE_CONDITIONS
        ),
    )


def _kept_status(status: PodStatus, *, pending: bool) -> PodStatus:
    """What of a pod's status is its own: not what its class has, and of a running pod's conditions only evictions."""
    conditions = status.conditions if pending else tuple(c for c in status.conditions if c.type == "DisruptionTarget")
    return PodStatus(
        phase=status.phase,
        nominated_node_name=status.nominated_node_name,
        start_time=status.start_time,
        conditions=conditions,
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


@contextmanager
def _errors_at(place: object, obj: ApiObject) -> Iterator[None]:
    """Say where an object with a wrong quantity or selector was read."""
    try:
        yield
    except (QuantityError, SelectorError) as error:
        name = f"{obj.namespace}/{obj.name}" if obj.namespace else obj.name
        what = f"{type(obj).__name__} {name}"
        hint = "a number with an optional suffix is expected, such as 2, 500m or 1.5Gi"
        raise SnapshotError(
            str(error),
            where=f"{place} ({what})" if place != "" else what,
            path=error.path,
            hint=hint if isinstance(error, QuantityError) else "",
        ) from None
