"""In-place resizes that kubelets have not carried out: what the spec asks, and what is allocated."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PodClass
from kschedctl.common.wording import listed
from kschedctl.diagnosis.evidence.events import one_line
from kschedctl.diagnosis.evidence.origin import autoscaler_of
from kschedctl.diagnosis.node_health import since
from kschedctl.objects.core import Condition, ResourceList
from kschedctl.objects.pod import ContainerStatus, Pod, ResourceRequirements
from kschedctl.objects.resources import amount_of, format_amount, known_amounts
from kschedctl.scheduler.framework.remedy import ObjectKey, Operation, Patch, Remedy, add_operation
from kschedctl.scheduler.framework.risk import RemedyScope, Risk

PENDING: Final = "PodResizePending"
IN_PROGRESS: Final = "PodResizeInProgress"


class PendingResize(msgspec.Struct, frozen=True):
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

    @property
    def is_infeasible(self) -> bool:
        """True if the kubelet can never carry out the resize; the scheduler then counts what is allocated."""
        return self.reason == "Infeasible"

    def words(self, resources: Iterable[str] = ()) -> str:
        """Return what the pod counts, or asks for in vain, and what it has, as a predicate.

        Args:
            resources: The resources that matter; by default all that the resize raises.
        """
        names = [name for name in self.wanted if name in resources or not resources]
        counts = listed([amount_of(name, self.wanted[name]) for name in names])
        has = listed([format_amount(name, self.allocated[name]) for name in names])
        if self.is_infeasible:
            return (
                f"asks for {counts} by a resize that its kubelet cannot carry out{since(self.since)}, and keeps {has}"
            )
        return f"counts {counts} for a resize that its kubelet defers{since(self.since)}, and has {has}"

    def freed(self, resource: str) -> int:
        """Return the amount that is free once the resize is withdrawn."""
        return 0 if self.is_infeasible else self.wanted.get(resource, 0) - self.allocated.get(resource, 0)


def lowered_autoscaler(cluster: Cluster, pod: Pod) -> str:
    """Return what comes before a resize is withdrawn, if an autoscaler would ask for it again; empty for nothing."""
    found = autoscaler_of(cluster, pod)
    return (
        f"lower maxAllowed of VerticalPodAutoscaler {found.namespace}/{found.name}, then " if found is not None else ""
    )


def withdrawn(cluster: Cluster, resizes: Sequence[PendingResize]) -> Remedy:
    """Return the remedy that withdraws resizes on one node; an autoscaler that would ask for them again comes first."""
    keys = [cluster.pods.key(each.index) for each in resizes]
    node = cluster.nodes.names[resizes[0].row]
    amounts = {name: sum(each.freed(name) for each in resizes) for each in resizes for name in each.wanted}
    freed = listed([amount_of(name, amount) for name, amount in amounts.items() if amount])
    effect = f"{freed} are free on {node} at once" if freed else f"{node} can never hold what it asks for"
    pods = [cluster.pods.pod(each.index) for each in resizes]
    first = "".join(dict.fromkeys(lowered_autoscaler(cluster, pod) for pod in pods))
    commands = [f"kubectl edit pod -n {pod.namespace} {pod.name} --subresource=resize" for pod in pods]
    return Remedy(
        summary=f"{first}withdraw the resize{'s' * (len(keys) > 1)} of {listed(keys)}: {effect}",
        scope=RemedyScope.CLUSTER,
        changes=tuple(each.patch(cluster) for each in resizes),
        risk=Risk.MISTAKE,
        family="withdraw a resize",
        command=" && ".join(commands),
    )


def pending_resizes(cluster: Cluster) -> Iterator[PendingResize]:
    """Yield the resizes that kubelets have not begun, of pods on nodes."""
    pods = cluster.pods
    resizing = [class_id for class_id, _ in pods.classes_having(_is_resized)]
    if not resizing:
        return
    for index in np.flatnonzero(np.isin(pods.class_id, resizing) & (pods.node_row >= 0)).tolist():
        if (found := _resize(cluster, index, int(pods.node_row[index]))) is not None:
            yield found


def _is_resized(pod_class: PodClass) -> bool:
    return any(condition.type == PENDING for condition in pod_class.pod.status.conditions)


def _resize(cluster: Cluster, index: int, row: int) -> PendingResize | None:
    record, of_class = cluster.pods.records[index], cluster.pods.classes[cluster.pods.class_id[index]].pod
    condition = next((each for each in record.status.conditions if each.type == PENDING), Condition())
    reported = (*of_class.status.init_container_statuses, *of_class.status.container_statuses)
    statuses = {each.name: each for each in reported}
    wanted: dict[str, int] = {}
    allocated: dict[str, int] = {}
    withdrawal: list[Operation] = []

    def compare(asks: ResourceRequirements, given: ResourceList, *path: str | int) -> None:
        wants, has = known_amounts(asks.requests), known_amounts(given)
        more = [name for name, amount in wants.items() if name in has and amount > has[name]]
        for name in more:
            wanted[name] = wanted.get(name, 0) + wants[name]
            allocated[name] = allocated.get(name, 0) + has[name]
        if more:
            back = {name: given[name] for name in more}
            # A limit that equals the request is part of the pod's quality of service, which a resize cannot change.
            limits = {name: back[name] for name in more if asks.limits.get(name) == asks.requests[name]}
            changed = replace(asks, requests={**asks.requests, **back}, limits={**asks.limits, **limits})
            withdrawal.append(add_operation(changed, *path, "resources"))

    for field, containers in (("containers", record.spec.containers), ("initContainers", record.spec.init_containers)):
        for number, container in enumerate(containers):
            status = statuses.get(container.name)
            if status is not None and (field == "containers" or container.restart_policy == "Always"):
                compare(container.resources, _allocated(status), "spec", field, number)
    if record.spec.resources is not None and of_class.status.allocated_resources:
        compare(record.spec.resources, of_class.status.allocated_resources, "spec")
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
