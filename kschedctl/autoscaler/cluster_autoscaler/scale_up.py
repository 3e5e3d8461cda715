"""The scale-up of Cluster Autoscaler for one pod: the group that it would enlarge, or what each has against it.

The order is that of core/scaleup/orchestrator: pods that it does not look at, groups that it leaves out, and then the
scheduler's filters on the template of one group at a time.
"""

from collections.abc import Iterator
from datetime import timedelta
from functools import cached_property, lru_cache
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.autoscaler.cluster_autoscaler.groups import NodeGroup, annotated_size, group_and_kind, node_groups
from kschedctl.autoscaler.cluster_autoscaler.settings import is_running, settings_of
from kschedctl.autoscaler.cluster_autoscaler.status import Status, status_of
from kschedctl.autoscaler.cluster_autoscaler.template import Template, template_of
from kschedctl.autoscaler.expansion import Expansion, GroupChange, GroupRefusal, NodeOffer
from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted, listed, time_span
from kschedctl.objects.cluster_autoscaler import MAX_SIZES, MachineAutoscaler
from kschedctl.objects.core import Node
from kschedctl.objects.kinds import plural
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.release import Release
from kschedctl.objects.resources import CPU, MEMORY, RequestRules, known_amounts, pod_requests, scheduler_units
from kschedctl.objects.well_known import instance_type_of, zone_of
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import NodeVerdict
from kschedctl.scheduler.cycle.ranking import likeness_of
from kschedctl.scheduler.framework.remedy import Change, Patch, add_operation
from kschedctl.scheduler.framework.runtime import Framework

NAME: Final = "Cluster Autoscaler"
#: The age from which a status is no longer that of a running autoscaler, which writes it every 10 seconds.
_STALE: Final = timedelta(minutes=15)
#: The autoscaler's own words for a group that it leaves out (core/scaleup/orchestrator/skippedreasons.go).
_NOT_READY, _IN_BACKOFF, _MAX_SIZE = (
    "not ready for scale-up",
    "in backoff after failed scale-up",
    "max node group size reached",
)
_MAX_TOTAL: Final = "max total nodes in cluster reached"


class ScaleUp:
    """The scale-up of a cluster's autoscaler; templates and their frameworks are made once for all pods."""

    def __init__(self, cluster: Cluster, status: Status | None, groups: tuple[NodeGroup, ...]) -> None:
        self._cluster = cluster
        self._status = status
        self.groups = groups
        self._settings = settings_of(cluster)
        self._templates: dict[int, Template | None] = {}
        #: The framework of a profile over the cluster with a group's template, by group and profile.
        self._frameworks: dict[tuple[int, str], Framework] = {}
        self._answers: dict[tuple[str, bytes], Expansion] = {}

    def expansion(self, framework: Framework, pod: Pod) -> Expansion:
        """Return the answer for a pod of a profile that fits on no node; pods that are alike have the same one."""
        if pod.spec.resource_claims or any(volume.ephemeral is not None for volume in pod.spec.volumes):
            # Their claims are named after each pod.
            return self._expansion(framework, pod)
        key = framework.profile.scheduler_name, msgspec.msgpack.encode(likeness_of(pod))
        if key not in self._answers:
            self._answers[key] = self._expansion(framework, pod)
        return self._answers[key]

    def _expansion(self, framework: Framework, pod: Pod) -> Expansion:
        if held := self._idle or self._held(pod) or self._awaited(framework, pod):
            return Expansion(autoscaler=NAME, held=held, source=self._source)
        offers: list[tuple[float, NodeOffer]] = []
        refusals: list[GroupRefusal] = []
        changes: list[tuple[float, GroupChange]] = []
        for index, group in enumerate(self.groups):
            left_out = _left_out(group)
            template = self._template(index)
            verdict = self._verdict(framework, index, pod)
            fits = verdict is not None and verdict.feasible
            if left_out is None and not fits:
                refusals.append(_not_fitting(group, verdict))
            if left_out is not None:
                refusals.append(left_out)
            if not fits or template is None:
                continue
            waste, offer = _waste(framework.release, pod, template.node), self._offer(group, template.node)
            if left_out is None:
                offers.append((waste, offer))
            elif left_out.said == _MAX_SIZE:
                changes.append((waste, self._raised(group, offer)))
        best = [offer for _, offer in sorted(offers, key=lambda each: each[0])]
        others = tuple(each.group for each in best[1:])
        return Expansion(
            autoscaler=NAME,
            offer=replace(best[0], alternatives=others) if best else None,
            nodes=tuple(each.node for each in best[:1]),
            refusals=tuple(refusals),
            changes=tuple(change for _, change in sorted(changes, key=lambda each: each[0])),
            source=self._source,
        )

    # What keeps the autoscaler from adding any node, and pods that it does not look at.

    @cached_property
    def _idle(self) -> str:
        """The reason why it adds no node at all, as a clause; empty if there is none."""
        status, now = self._status, self._cluster.taken_at
        if status is not None and status.written is not None and now is not None and now - status.written > _STALE:
            age = time_span((now - status.written).total_seconds())
            since = f"since {status.written:%Y-%m-%d %H:%M} UTC ({age})"
            return f"it has not written its status {since} and does not seem to run"
        if status is not None and not status.cluster_wide.is_healthy:
            counts = status.cluster_wide.health.node_counts.registered
            return f"it does nothing while the cluster is unhealthy ({counts.ready} of {counts.total} nodes are ready)"
        most, n_nodes = self._settings.max_nodes_total, len(self._cluster.nodes)
        n_nodes += sum(group.status.n_upcoming for group in self.groups if group.status is not None)
        return f"{_MAX_TOTAL}: {n_nodes} of {most}" if most and n_nodes >= most else ""

    def _held(self, pod: Pod) -> str:
        """Return the reason why it does not look at a pod, as a clause; empty if it looks."""
        owner, cutoff = pod.metadata.controller, self._settings.cutoff
        if owner is not None and owner.kind == "DaemonSet":
            return "it adds no nodes for pods of DaemonSets"
        if pod.spec.scheduling_gates:
            return "it waits until the pod's scheduling gates are gone"
        if (node := pod.status.nominated_node_name) in self._cluster.nodes.row:
            return f"it counts the pod on {node}, to which the pod is nominated"
        if pod.spec.priority is not None and pod.spec.priority < cutoff:
            return f"the pod's priority, {pod.spec.priority}, is below {cutoff}: it adds no nodes for expendable pods"
        return ""

    def _awaited(self, framework: Framework, pod: Pod) -> str:
        """Return the clause that requested nodes, on which the pod fits, are on their way; empty if there are none."""
        for index, group in enumerate(self.groups):
            number = group.status.n_upcoming if group.status is not None else 0
            verdict = self._verdict(framework, index, pod) if number else None
            if verdict is not None and verdict.feasible:
                are = "is on its way" if number == 1 else "are on their way"
                return f"{counted(number, 'node')} of {group.words} {are}, and the pod fits on such a node"
        return ""

    # The template of a group.

    def _template(self, index: int) -> Template | None:
        if index not in self._templates:
            self._templates[index] = template_of(self._cluster, self.groups[index], self.groups)
        return self._templates[index]

    def _verdict(self, framework: Framework, index: int, pod: Pod) -> NodeVerdict | None:
        """Return the verdict of the scheduler's filters on a group's template; ``None`` without one."""
        template = self._template(index)
        if template is None:
            return None
        key = index, framework.profile.scheduler_name
        if key not in self._frameworks:
            self._frameworks[key] = framework.moved(template.added_to(self._cluster))
        moved = self._frameworks[key]
        row = moved.cluster.nodes.row[template.node.name]
        only = np.array([row], dtype=np.int64)
        decision = schedule_pod(moved, pod, among=only, run_post_filter=False)
        return decision.verdict(row)

    def _offer(self, group: NodeGroup, node: Node) -> NodeOffer:
        nodes = [self._cluster.nodes.objects[row] for row in group.rows] or [node]
        zones = {zone_of(each.metadata.labels) for each in nodes} - {""}
        instance_type = instance_type_of(node.metadata.labels)
        types = (instance_type,) if instance_type else ()
        proviso = f"if {group.words} is not at its maximum size" if group.maximum is None else ""
        return NodeOffer(group=group.words, node=node, types=types, zones=tuple(sorted(zones)), proviso=proviso)

    @property
    def _source(self) -> str:
        if self._status is not None:
            at = self._status.written
            return "its status" + (f" of {at:%Y-%m-%d %H:%M} UTC" if at is not None else "")
        if any(group.scalable is not None for group in self.groups):
            return "the sizes of its sets of machines"
        return "labels of nodes; the sizes of its groups are not known"

    # The change of a group's size.

    def _raised(self, group: NodeGroup, offer: NodeOffer) -> GroupChange:
        size = max(group.maximum or 0, group.target or 0) + 1
        command, changes = self._command(group, size)
        summary = f"raise the maximum size of {group.words} from {group.maximum} to {size}"
        return GroupChange(summary=summary, command=command, changes=changes, offer=offer)

    def _command(self, group: NodeGroup, size: int) -> tuple[str, tuple[Change, ...]]:
        """Return the command that sets a group's maximum size, and the change where an object of the cluster has it."""
        if group.scalable is not None:
            return self._of_object(group, size)
        if group.platform is not None:
            command = group.platform.command
            return command.format(pool=group.pool, minimum=group.minimum or 0, maximum=size), ()
        return f"# set the maximum size of {group.name} to {size} where its provider has it", ()

    def _of_object(self, group: NodeGroup, size: int) -> tuple[str, tuple[Change, ...]]:
        scalable = group.scalable
        assert scalable is not None
        name, namespace = scalable.name, scalable.namespace
        for each in self._cluster.list(MachineAutoscaler):
            # Its operator writes the annotations of the set anew.
            if (each.spec.scale_target_ref.name, each.namespace) == (name, namespace):
                patch = f'{{"spec":{{"maxReplicas":{size}}}}}'
                resource = "machineautoscalers.autoscaling.openshift.io"
                command = f"kubectl patch {resource} -n {namespace} {each.name} --type merge -p '{patch}'"
                operation = add_operation(size, "spec", "maxReplicas")
                api_version, kind = "autoscaling.openshift.io/v1beta1", MachineAutoscaler.__name__
                return command, (Patch(api_version, kind, each.name, namespace, patch=(operation,)),)
        api_group, kind = group_and_kind(scalable)
        found = annotated_size(scalable.metadata.annotations, MAX_SIZES)
        assert found is not None
        key = found[0]
        resource = f"{plural(kind.lower())}.{api_group}"
        command = f"kubectl annotate {resource} -n {namespace} {name} --overwrite {key}={size}"
        operation = add_operation(str(size), "metadata", "annotations", key)
        return command, (Patch(f"{api_group}/v1beta1", kind, name, namespace, patch=(operation,)),)


@lru_cache(maxsize=2)
def scale_up_of(cluster: Cluster) -> ScaleUp | None:
    """Return the scale-up of a cluster; ``None`` if no Cluster Autoscaler is seen in it, or it has no group."""
    status = status_of(cluster)
    groups = node_groups(cluster, status)
    if not groups or not (any(each.scalable for each in groups) or is_running(cluster, status)):
        return None
    return ScaleUp(cluster, status, groups)


def _waste(release: Release, pod: Pod, node: Node) -> float:
    """Return the shares of CPU and memory that the pod leaves unused on a node, added (expander/waste)."""
    wanted = scheduler_units(pod_requests(pod, RequestRules.of(release)))
    offered = known_amounts(node.status.capacity or node.status.allocatable)
    return sum(1 - wanted.get(name, 0) / offered[name] for name in (CPU, MEMORY) if offered.get(name))


def _left_out(group: NodeGroup) -> GroupRefusal | None:
    """Return the reason why no pod is tried on a group; ``None`` if there is none."""
    status = group.status
    if status is not None and not status.is_healthy:
        counts = status.health.node_counts.registered
        reason = f"is unhealthy ({counts.ready} of {counts.total} nodes are ready)"
        return GroupRefusal(group=group.words, reason=reason, said=_NOT_READY)
    if status is not None and status.is_in_backoff:
        since = f" since {status.backoff_since:%Y-%m-%d %H:%M} UTC" if status.backoff_since is not None else ""
        cause = f": {status.backoff_cause}" if status.backoff_cause else ""
        reason = f"is in backoff{since}, after nodes could not be added{cause}"
        return GroupRefusal(group=group.words, reason=reason, said=_IN_BACKOFF)
    if group.is_at_maximum:
        return GroupRefusal(
            group=group.words, reason=f"is at its maximum size of {counted(group.maximum or 0, 'node')}", said=_MAX_SIZE
        )
    return None


def _not_fitting(group: NodeGroup, verdict: NodeVerdict | None) -> GroupRefusal:
    if verdict is None:
        reason = "has no node now, and nothing in the cluster tells what its nodes are like"
        return GroupRefusal(group=group.words, reason=reason, is_open=True)
    texts = list(dict.fromkeys(_texts(verdict))) or [verdict.status.message]
    return GroupRefusal(
        group=group.words,
        reason=f"would add a node that does not take the pod: {listed(texts)}",
        said=verdict.status.message,
    )


def _texts(verdict: NodeVerdict) -> Iterator[str]:
    for _, reasons in verdict.reasons:
        for reason in reasons:
            yield reason.detail or reason.text
