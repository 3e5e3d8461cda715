"""One decision for the pods of a DaemonSet, each of which is for a node of its own.

The pods differ in their name and in the node that their required node affinity names. A decision without that affinity
has a verdict on every node, and its plugins say of a node what they say of the pod for it. Pods whose nodes get the
same reasons and the same result of preemption share the answer of one of them. Pods that run are decided for without
themselves, and as no plugin may look beyond the node, without all of them.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.common.arrays import Rows
from kschedctl.controllers.workloads.pods import for_node
from kschedctl.objects.pod import Pod, PodSpec
from kschedctl.questions.explain.answer import NodeData
from kschedctl.questions.explain.node_results import node_data
from kschedctl.questions.provenance import PodSubject
from kschedctl.scheduler.cycle.cycle import schedule_pod
from kschedctl.scheduler.cycle.decision import Decision, NodeVerdict
from kschedctl.scheduler.framework.status import Code
from kschedctl.scheduler.plugins.node_affinity import NodeAffinity
from kschedctl.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread
from kschedctl.scheduler.plugins.registry import IN_TREE_PLUGINS
from kschedctl.trials.loaded_cluster import LoadedCluster

#: Fewer pods are decided for one by one.
_FEW: Final = 4


class DaemonSetVerdicts:
    """The verdicts on the nodes of the pods of a DaemonSet.

    Args:
        pods: The pods, each with its node.
    """

    def __init__(self, cluster: LoadedCluster, pods: Sequence[PodSubject]) -> None:
        self._cluster = cluster
        many = len(pods) >= _FEW
        self._first = _besides_its_node(pods[0]) if many else None
        self._decision = _decision_for_any_node(cluster, pods) if self._first is not None else None
        self._preemption = _preemption_by_node(self._decision) if self._decision is not None else {}

    def kind(self, one: PodSubject) -> object:
        """Return a value that is equal for pods that share the answer of one; no other has that of a single pod."""
        decision = self._decision
        if decision is None or _besides_its_node(one) != self._first:
            return one.key
        row = self._cluster.nodes.row[one.node]
        verdict = decision.verdict(row)
        if any(plugin == NodeAffinity.name for plugin, _ in verdict.reasons):
            return one.key
        return verdict.status, _texts(verdict), self._preemption.get(row)

    def node_data(self, one: PodSubject) -> NodeData:
        """Return the verdict on the node of a pod that shares the answer of another."""
        assert self._decision is not None
        return node_data(self._decision, self._cluster.nodes.row[one.node])


def answer_on_node(decision: Decision, node: str) -> tuple[object, ...]:
    """Return the answer for a DaemonSet's pod on its node, without numbers."""
    verdict = decision.node(node)
    preemption = decision.preemption
    return (
        decision.error,
        decision.pre_enqueue,
        decision.best == (node,),
        verdict.status,
        _texts(verdict),
        decision.message,
        None if preemption is None else bool(preemption.nominated),
    )


def _texts(verdict: NodeVerdict) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((plugin, tuple(reason.text for reason in reasons)) for plugin, reasons in verdict.reasons)


def _besides_its_node(one: PodSubject) -> tuple[object, ...] | None:
    """Return what decides about a pod besides its node; ``None`` if its name decides as well, or its status."""
    pod = one.pod
    anywhere = _for_any_node(pod, one.node)
    if (
        anywhere is None
        or pod.status.nominated_node_name
        or pod.spec.resource_claims
        or pod.spec.scheduling_group is not None
        or any(volume.ephemeral is not None for volume in pod.spec.volumes)
    ):
        return None
    metadata = pod.metadata
    owned = metadata.owner_references, metadata.deletion_timestamp
    return pod.namespace, metadata.labels, metadata.annotations, owned, anywhere.spec


def _for_any_node(pod: Pod, node: str) -> Pod | None:
    """Return the pod without the affinity to its node; ``None`` if it is not what a DaemonSet's controller writes."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    own = replace(affinity.node_affinity, required_during_scheduling_ignored_during_execution=None)
    spec = replace(pod.spec, affinity=replace(affinity, node_affinity=own))
    return replace(pod, spec=spec) if for_node(spec, node).affinity == affinity else None


def _decision_for_any_node(cluster: LoadedCluster, pods: Sequence[PodSubject]) -> Decision | None:
    """Return the decision for a pod without the affinity to its node; ``None`` if it says nothing about the others."""
    one = pods[0]
    known = (cluster.pods.index.get((each.pod.namespace, each.pod.name)) for each in pods)
    running = [index for index in known if index is not None and cluster.pods.node_row[index] >= 0]
    if running and any(map(_reaches_other_nodes, {id(spec): spec for spec in _specs(cluster, one, running)}.values())):
        return None
    admitted = cluster.admit(one.pod, where=one.where).pod
    pod = _for_any_node(admitted, one.node)
    if pod is None or not cluster.scheduler.knows(pod):
        return None
    cluster.require_nodes(pod)
    scheduler = cluster.scheduler
    if running:
        scheduler = scheduler.moved(cluster.cluster.with_pods(removed=running))
    decision = scheduler.decide_as_scheduled(pod)
    framework, found = decision.framework, decision.pre_filter
    names = {name for plugins in framework.profile.plugins.values() for name in plugins}
    alike = (
        not decision.error
        and found is not None
        and found.status.code is Code.SUCCESS
        and found.node_names is None
        and not framework.handle.extenders
        # The constraints of other plugins may depend on the affinity of the pod, as those of this one do.
        and all(IN_TREE_PLUGINS.get(name) is framework.plugin_class(name) for name in names)
        and (PodTopologySpread.name not in names or PodTopologySpread.name in decision.state.skip_filter_plugins)
    )
    return decision if alike else None


def _specs(cluster: LoadedCluster, one: PodSubject, running: Sequence[int]) -> Iterator[PodSpec]:
    yield one.pod.spec
    yield from (cluster.pods.records[index].spec for index in running)


def _reaches_other_nodes(spec: PodSpec) -> bool:
    """Report whether a pod with this spec may matter to pods on other nodes: by affinity, a volume or a device."""
    affinity = spec.affinity
    related = affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
    requests = (name for each in (*spec.containers, *spec.init_containers) for name in each.resources.requests)
    has_claim = any(volume.persistent_volume_claim is not None for volume in spec.volumes)
    return related or has_claim or any("/" in name for name in requests)


def _preemption_by_node(decision: Decision) -> dict[int, object]:
    """Return what preemption finds on the nodes that reject the pod, without the numbers, by row."""
    statuses = decision.statuses
    assert statuses is not None
    rejected: Rows = np.flatnonzero(statuses.code)
    if not len(rejected):
        return {}
    if decision.preemption is None:
        # The pod fits on other nodes, so that preemption did not run.
        decision = schedule_pod(decision.framework, decision.pod, among=rejected, gate=decision.pre_enqueue)
    run = decision.preemption.run if decision.preemption is not None else None
    if run is None:
        return {}
    found: dict[int, object] = {row: run.statuses.status(row).reasons for row in run.looked_at.tolist()}
    found |= dict.fromkeys(run.without_victims.tolist(), "no pod of lower priority")
    # An internal error names its node.
    return found | {row: row for row in run.needless.tolist()}
