"""A StatefulSet that creates its pods in order, and waits for a pod that is not ready before it creates the next one.

With ``podManagementPolicy: OrderedReady``, the default, web-2 is created after web-1 is running and ready. If web-1 is
pending or crashes, web-2 does not exist, and nothing says so.

Operators repair the first pod that is not ready; the rest follows. ``Parallel`` needs a new StatefulSet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kschedctl.cluster.records import LOST, PENDING
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.ownership import wanted_replicas
from kschedctl.diagnosis.cluster_diagnosis import ClusterDiagnosis, ClusterSituation
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.diagnosis.node_health import condition_of_pod, since
from kschedctl.objects.workload import StatefulSet
from kschedctl.scheduler.framework.remedy import Risk

_PARALLEL: Final = "Parallel"
#: At most this many ordinals of a StatefulSet are looked at.
_MOST: Final = 1000


def check(situation: ClusterSituation) -> Iterator[ClusterDiagnosis]:
    """Yield the StatefulSets in which a pod that is not ready keeps others from being created."""
    for obj in situation.cluster.list(StatefulSet):
        if obj.spec.pod_management_policy == _PARALLEL or obj.metadata.deletion_timestamp is not None:
            continue
        found = _waiting(situation, obj)
        if found is not None:
            yield found


def _waiting(situation: ClusterSituation, obj: StatefulSet) -> ClusterDiagnosis | None:
    n_wanted = wanted_replicas(obj)
    index: Mapping[tuple[str, str], int] = situation.cluster.pods.index
    start = obj.spec.ordinals.start
    names = [f"{obj.name}-{ordinal}" for ordinal in range(start, start + min(n_wanted, _MOST))]
    missing = [name for name in names if (obj.namespace, name) not in index]
    if not missing or len(missing) == len(names):
        return None
    before = names[: names.index(missing[0])]
    for name in before:
        problem = _problem(situation, index[obj.namespace, name])
        if not problem:
            continue
        pod = f"{obj.namespace}/{name}"
        verb = "is" if len(missing) == 1 else "are"
        advice = Advice(
            summary=f"get {pod} ready; {listed(missing, most=2)} {'follows' if len(missing) == 1 else 'follow'}",
            risk=Risk.MISTAKE,
            untried="the StatefulSet controller creates the pods",
            command=f"kubectl describe pod -n {obj.namespace} {name}",
        )
        return ClusterDiagnosis(
            rule="ordinal-waits",
            cause=f"{listed(missing, most=2)} {verb} not created before {name} is ready, and {name} {problem}",
            evidence=("podManagementPolicy is OrderedReady, which a StatefulSet cannot change",),
            advice=(advice,),
            kind=StatefulSet.__name__,
            namespace=obj.namespace,
            name=obj.name,
            state=f"has {n_wanted - len(missing)} of {counted(n_wanted, 'replica')}",
            missing=len(missing),
            since=situation.cluster.pods.records[index[obj.namespace, name]].metadata.creation_timestamp,
        )
    return None


def _problem(situation: ClusterSituation, index: int) -> str:
    """Return the reason why a pod is not ready, as a clause; empty for a pod that seems ready."""
    pods = situation.cluster.pods
    record, row = pods.records[index], pods.node_row[index]
    if record.metadata.deletion_timestamp is not None:
        return f"is being deleted{since(record.metadata.deletion_timestamp)}"
    if row == PENDING:
        return "is pending"
    if row == LOST:
        return f"is on {record.node_name}, a node that no longer exists"
    ready = condition_of_pod(record, "Ready")
    if ready is not None and ready.status == "False":
        return f"is not ready on {record.node_name}{since(ready.last_transition_time)}"
    return f"does not start on {record.node_name}" if record.status.phase == "Pending" else ""
