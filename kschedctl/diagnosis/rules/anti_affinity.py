"""Required anti-affinity with pods in every domain within reach, of the pod itself or of these pods.

If these are pods of the pod's own workload, it has more replicas than there are nodes, or zones. Operators add one,
want fewer replicas, or make the anti-affinity a preference. If the anti-affinity is that of other pods, nothing in the
pod's own manifest shows it. Operators correct the term there, or add a node. To delete one of these pods does not help,
as its controller recreates it, and then that pod is pending.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.ownership import pods_made_by, workload_of
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.rules import obstacles
from kschedctl.diagnosis.situation import Situation, all_rows
from kschedctl.objects.well_known import HOSTNAME
from kschedctl.objects.workload import Deployment, ReplicaSet, StatefulSet
from kschedctl.scheduler.framework.remedy import Risk
from kschedctl.scheduler.plugins.inter_pod_affinity.filtering import ExistingAntiAffinity, OwnAntiAffinity, PodsInTheWay

_PLUGIN: Final = "InterPodAffinity"
_KINDS: Final = {each.__name__: each for each in (Deployment, ReplicaSet, StatefulSet)}


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the pods in the way, if anti-affinity is what keeps the pod away from the nodes that could hold it."""
    if not situation.filtered or situation.is_of_daemon_set:
        return
    others = [plugin for plugin in situation.rejected if plugin != _PLUGIN]
    nodes = situation.in_reach & situation.rejected_by(_PLUGIN) & ~situation.rejected_by(*others)
    found = [
        each for row in all_rows(nodes) for each in situation.operands(row, _PLUGIN) if isinstance(each, PodsInTheWay)
    ]
    advice = tuple(_advice(situation, found))
    if advice:
        base = next(obstacles.check(situation))
        yield Diagnosis(rule="anti-affinity", cause=base.cause, evidence=base.evidence, advice=advice)


def _advice(situation: Situation, found: list[PodsInTheWay]) -> Iterator[Advice]:
    kind, namespace, name = situation.workload
    own = [each for each in found if isinstance(each, OwnAntiAffinity)]
    domains = {(each.topology_key, each.domain) for each in own if _owner(situation, each) == situation.workload}
    keys = {key for key, _ in domains}
    if len(keys) == 1 and kind in _KINDS:
        key = next(iter(keys))
        if key != HOSTNAME:
            yield Advice(
                summary=f"add a node in another {key}: {listed(sorted(value for _, value in domains))} "
                f"{'has' if len(domains) == 1 else 'have'} a pod of {kind} {namespace}/{name} each",
                risk=Risk.CAPACITY,
                untried="the snapshot has no such node to copy",
            )
        fitting = max(len(domains), _running(situation))
        if _replicas(situation) > fitting:
            yield Advice(
                summary=f"{counted(fitting, 'replica')} of {kind} {namespace}/{name}: one per "
                f"{'node' if key == HOSTNAME else key}",
                risk=Risk.REDUCED,
                untried="its controller then deletes the pods that are too many",
                command=f"kubectl scale {kind.lower()} {name} -n {namespace} --replicas={fitting}",
            )
    existing = Counter(_owner(situation, each) for each in found if isinstance(each, ExistingAntiAffinity))
    for (other, space, title), _ in existing.most_common(1):
        yield Advice(
            summary=f"correct the required anti-affinity of {other} {space}/{title}, if it is not meant for this pod",
            risk=Risk.SHARED,
            untried="its pods are replaced first, as running pods keep their anti-affinity",
            command=f"# kubectl edit {other.lower()} {title} -n {space}",
        )


def _replicas(situation: Situation) -> int:
    """Return the number of replicas of the pod's workload that its manifest wants; 0 if it is not known."""
    kind, namespace, name = situation.workload
    found = situation.cluster.get(_KINDS[kind], name, namespace)
    wanted = getattr(getattr(found, "spec", None), "replicas", None)
    return wanted if isinstance(wanted, int) else 0


def _running(situation: Situation) -> int:
    """Return the number of pods of the workload that are on nodes, some of which other filters may reject."""
    kind, namespace, name = situation.workload
    made = pods_made_by(situation.cluster, _KINDS[kind], namespace, name)
    return int((situation.cluster.pods.node_row[made] >= 0).sum())


def _owner(situation: Situation, each: PodsInTheWay) -> tuple[str, str, str]:
    namespace, _, name = each.pod.partition("/")
    index = situation.cluster.pods.index.get((namespace, name))
    if index is None:
        return "Pod", namespace, name
    return workload_of(situation.cluster, situation.cluster.pods.records[index].metadata)
