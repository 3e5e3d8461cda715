"""Preemption has chosen a node for the pod, and the pods that were evicted for it are still ending there.

kube-scheduler preempts no further pods meanwhile. A victim ends within its grace period, which ``deletionTimestamp``
already includes. A victim that is still there afterwards has a finalizer, or a kubelet that does not answer.

Operators wait, or look at the victim and its node if it is overdue. Nobody needs to delete further pods.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kschedctl.common.wording import listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis
from kschedctl.diagnosis.situation import Situation
from kschedctl.questions.answers.preempt_words import duration
from kschedctl.scheduler.framework.remedy import Risk
from kschedctl.scheduler.preemption.evaluator import TERMINATING, evicted_by_scheduler


def check(situation: Situation) -> Iterator[Diagnosis]:
    """Yield the victims that are still ending on the pod's nominated node."""
    preemption = situation.decision.preemption
    if preemption is None or preemption.status.reasons != (TERMINATING,):
        return
    cluster = situation.cluster
    node = situation.pod.status.nominated_node_name
    row = cluster.nodes.row.get(node)
    if row is None:
        return
    priority = situation.pod.spec.priority or 0
    records = cluster.pods.records
    victims = [
        index
        for index in cluster.pods.on_node(row).tolist()
        if records[index].metadata.deletion_timestamp is not None
        and records[index].priority < priority
        and evicted_by_scheduler(records[index].status)
    ]
    if not victims:
        return
    names = listed([cluster.pods.key(index) for index in victims], most=3)
    last = max(end for index in victims if (end := records[index].metadata.deletion_timestamp) is not None)
    does, has, verb = ("does", "has", "is") if len(victims) == 1 else ("do", "have", "are")
    when, overdue = _when(last, cluster.taken_at)
    if overdue:
        first = records[victims[0]].metadata
        advice = Advice(
            summary=f"find out why {names} {does} not end on {node}: its kubelet, or a finalizer",
            risk=Risk.MISTAKE,
            untried="the kubelet ends pods",
            command=f"kubectl get pod -n {first.namespace} {first.name} -o jsonpath='{{.metadata.finalizers}}'",
        )
    else:
        advice = Advice(summary=f"wait until {names} {has} ended on {node}", risk=Risk.WAIT, untried="it takes time")
    yield Diagnosis(
        rule="nominated-waits",
        cause=f"preemption chose {node} for it, and {names}, evicted for it, {verb} still ending there{when}",
        advice=(advice,),
    )


def _when(end: datetime, now: datetime | None) -> tuple[str, bool]:
    """Return the end of the last victim in words, and whether it is overdue."""
    if now is not None and now > end:
        return f", overdue by {duration(int((now - end).total_seconds()))}", True
    return f", until {end:%H:%M:%S} UTC at the latest", False
