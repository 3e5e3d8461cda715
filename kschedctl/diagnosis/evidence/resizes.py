"""In-place resizes that kubelets have not carried out: what the spec asks, and what is allocated."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import listed
from kschedctl.diagnosis.evidence.events import one_line
from kschedctl.diagnosis.node_health import since
from kschedctl.objects.core import Condition, ResourceList
from kschedctl.objects.pod import ContainerStatus
from kschedctl.objects.resources import amount_of, format_amount, known_amounts
from kschedctl.scheduler.framework.remedy import ObjectKey, Operation, Patch, Remedy, add_operation
from kschedctl.scheduler.framework.risk import RemedyScope, Risk

PENDING: Final = "PodResizePending"
IN_PROGRESS: Final = "PodResizeInProgress"


@dataclass(frozen=True, slots=True)
class PendingResize:
    """A resize that a kubelet defers, or finds infeasible, although the scheduler counts it."""

    #: The index of the pod.
    index: int
    #: The row of its node.
    row: int
    #: ``Deferred`` or ``Infeasible``.
    reason: str
    since: datetime | None
    #: The kubelet's words; empty if it gives none.
    message: str
    #: The amounts that the containers ask for and have, where they ask for more: milli-CPU, bytes or a count.
    wanted: Mapping[str, int]
    allocated: Mapping[str, int]
    #: The operations that withdraw the resize.
    withdrawal: tuple[Operation, ...]

    def patch(self, cluster: Cluster) -> Patch:
        """Return the patch of the pod that withdraws the resize."""
        key = ObjectKey.of(cluster.pods.pod(self.index))
        return Patch(key.api_version, key.kind, key.name, key.namespace, patch=self.withdrawal)

    def words(self, resources: Iterable[str] = ()) -> str:
        """Return what the pod counts and what it has, as a predicate.

        Args:
            resources: The resources that matter; by default all that the resize raises.
        """
        names = [name for name in self.wanted if name in resources or not resources]
        counts = listed([amount_of(name, self.wanted[name]) for name in names])
        has = listed([format_amount(name, self.allocated[name]) for name in names])
        does = "cannot carry out" if self.reason == "Infeasible" else "defers"
        return f"counts {counts} for a resize that its kubelet {does}{since(self.since)}, and has {has}"

    def withdrawn(self, cluster: Cluster) -> Remedy:
        """Return the remedy that withdraws the resize."""
        key, node = cluster.pods.key(self.index), cluster.nodes.names[self.row]
        namespace, _, name = key.partition("/")
        freed = listed([amount_of(each, self.freed(each)) for each in self.wanted])
        return Remedy(
            summary=f"withdraw the resize of {key}: {freed} are free on {node} at once",
            scope=RemedyScope.CLUSTER,
            changes=(self.patch(cluster),),
            risk=Risk.MISTAKE,
            family="withdraw a resize",
            command=f"kubectl edit pod -n {namespace} {name} --subresource=resize",
        )

    def freed(self, resource: str) -> int:
        """Return the amount that is free once the resize is withdrawn."""
        return self.wanted.get(resource, 0) - self.allocated.get(resource, 0)


def pending_resizes(cluster: Cluster) -> Iterator[PendingResize]:
    """Yield the resizes that kubelets have not begun, of pods on nodes."""
    pods = cluster.pods
    resizing = {
        number
        for number, each in enumerate(pods.classes)
        if any(condition.type == PENDING for condition in each.pod.status.conditions)
    }
    if not resizing:
        return
    for index, class_id in enumerate(pods.class_id.tolist()):
        row = int(pods.node_row[index])
        if class_id in resizing and row >= 0 and (found := _resize(cluster, index, row)) is not None:
            yield found


def _resize(cluster: Cluster, index: int, row: int) -> PendingResize | None:
    record, of_class = cluster.pods.records[index], cluster.pods.classes[cluster.pods.class_id[index]].pod
    condition = next((each for each in record.status.conditions if each.type == PENDING), Condition())
    statuses = {each.name: each for each in of_class.status.container_statuses}
    wanted: dict[str, int] = {}
    allocated: dict[str, int] = {}
    withdrawal: list[Operation] = []
    for number, container in enumerate(record.spec.containers):
        status = statuses.get(container.name)
        given = _allocated(status) if status is not None else {}
        has = known_amounts(given)
        asks = known_amounts(container.resources.requests)
        more = [name for name, amount in asks.items() if name in has and amount > has[name]]
        for name in more:
            wanted[name] = wanted.get(name, 0) + asks[name]
            allocated[name] = allocated.get(name, 0) + has[name]
        if more:
            requests = {**container.resources.requests, **{name: given[name] for name in more}}
            withdrawal.append(add_operation(requests, "spec", "containers", number, "resources", "requests"))
    if not withdrawal:
        return None
    message = one_line(condition.message)
    return PendingResize(
        index,
        row,
        condition.reason or "Deferred",
        condition.last_transition_time,
        message,
        wanted,
        allocated,
        tuple(withdrawal),
    )


def _allocated(status: ContainerStatus) -> ResourceList:
    return status.allocated_resources or (status.resources.requests if status.resources is not None else {})
