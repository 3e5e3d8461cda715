"""A ReadWriteOncePod claim of the pod is used by another pod, and only one pod of the cluster can use it at a time.

The other pod must end first. In a rolling update, it is the old pod of the same workload: the new one waits for it, and
it waits for the new one, so that Deployments with such a claim need strategy Recreate. If several pods are meant to
share the data, they need a claim with ReadWriteMany.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.situation import Situation, all_rows
from kschedctl.objects.workload import Deployment
from kschedctl.scheduler.framework.remedy import Risk
from kschedctl.scheduler.plugins.volume_restrictions import ClaimInUse


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the claim that another pod uses, if it rules out all selected nodes."""
    rejected = situation.rejected_by("VolumeRestrictions")
    if not situation.filtered or not rejected.any() or (situation.selected & ~rejected).any():
        return
    operands = situation.operands(all_rows(rejected)[0], "VolumeRestrictions")
    for one in operands:
        if isinstance(one, ClaimInUse):
            yield _in_use(situation, one)


def _in_use(situation: Situation, used: ClaimInUse) -> Diagnosis:
    cluster, pod = situation.cluster, situation.pod
    namespace, _, name = used.pod.partition("/")
    index = cluster.pods.index[namespace, name]
    record = cluster.pods.records[index]
    workload = workload_of(cluster, record.metadata)
    owner = f" ({workload[0]} {workload[1]}/{workload[2]})" if workload[0] != "Pod" else ""
    ending = record.metadata.deletion_timestamp is not None
    same = workload[0] != "Pod" and workload == situation.workload
    if ending:
        first = Advice(
            summary=f"wait until pod {used.pod} has ended on {record.node_name}",
            risk=Risk.WAIT,
            untried="it is terminating",
            command=f"kubectl describe pod -n {namespace} {name}",
        )
    elif same and workload[0] == Deployment.__name__:
        first = Advice(
            summary=f"set strategy Recreate in Deployment {workload[2]}: the old pod then ends first",
            risk=Risk.POD,
            untried="the Deployment controller deletes the old pod",
            command=f"kubectl patch deployment -n {namespace} {workload[2]} -p '{_RECREATE}'",
        )
    else:
        first = Advice(
            summary=f"let pod {used.pod} end first{f', or scale {workload[0]} {workload[2]} down' if owner else ''}",
            risk=Risk.EVICTION,
            untried="it is up to you which of them may use the claim",
            command=f"kubectl delete pod -n {namespace} {name}" if not owner else "",
        )
    state = "is terminating and still uses it" if ending else "uses it"
    return Diagnosis(
        rule="claim-in-use",
        cause=(
            f"claim {used.claim} is ReadWriteOncePod, for one pod at a time, and pod {name}{owner} on "
            f"{record.node_name} {state}"
        ),
        advice=(
            first,
            Advice(
                summary="if both pods need the data: move it to a claim with ReadWriteMany, in a class that offers it",
                risk=Risk.DATA,
                untried="the access modes of a claim cannot be changed, so the data must be copied",
            ),
        ),
        checks=(f"kubectl get pvc -n {pod.namespace} {used.claim} -o yaml",),
    )


_RECREATE = '{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}'
