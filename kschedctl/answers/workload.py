"""Phrases for the workload that an answer is about."""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec.structs import replace

from kschedctl.answers.explain import Explanation, WorkloadData
from kschedctl.answers.preempt import Preemption
from kschedctl.api.wording import counted, listed

T = TypeVar("T", Explanation, Preemption)

#: The noun for the pods of a kind, if it is not "replica".
_NOUNS: Final = {"DaemonSet": "node", "Job": "pod", "CronJob": "pod"}


def standing_for(answer: T, workload: WorkloadData) -> T:
    """Return the answer for one pod as the answer for its workload.

    Parameters
    ----------
    answer : Explanation or Preemption
        The answer for one of the workload's pods.
    workload : WorkloadData
        The workload, with the pods that the answer applies to.
    """
    said = words(workload)
    if answer.group is not None:
        # The pods of a group are scheduled together, and the summary has their number.
        said = said.partition(";")[0]
    elif workload.running:
        said = _beside_running(workload)
    elif not workload.all_placed:
        said = f"{said.partition(';')[0]}: {workload.placed} of them fit, scheduled one after another; one of them"
    verdict = replace(answer.verdict, summary=f"{said}: {answer.verdict.summary}")
    return replace(answer, workload=workload, verdict=verdict)


def words(workload: WorkloadData) -> str:
    """Return the workload, its size, and the pods that the answer applies to, in words.

    Examples
    --------
    >>> words(WorkloadData("Deployment", "shop", "web", 6, pods=("web-xxxxx",)))
    'Deployment shop/web, 6 replicas; one of them'
    >>> words(WorkloadData("StatefulSet", "shop", "db", 3, pods=("db-0", "db-1")))
    'StatefulSet shop/db, 3 replicas; db-0 and db-1 alike'
    >>> words(WorkloadData("Job", "shop", "nightly", 0, suspended=True))
    'Job shop/nightly is suspended (spec.suspend), so that no pod is created; one pod would be'
    >>> words(WorkloadData("DaemonSet", "ops", "agent", 9, pods=("agent-xxxxx",), nodes=("node-1",)))
    'DaemonSet ops/agent, 9 nodes; the pod on node-1'
    """
    text = f"{workload.kind} {workload.namespace}/{workload.name}"
    if workload.kind == "PodTemplate":
        return text
    if workload.suspended:
        return f"{text} is suspended (spec.suspend), so that no pod is created; one pod would be"
    text = f"{text}, {counted(workload.replicas, _NOUNS.get(workload.kind, 'replica'))}"
    if workload.replicas == 0:
        return f"{text}; one replica would be"
    if len(workload.pods) > 1:
        return f"{text}; {'on ' if workload.nodes else ''}{listed(workload.nodes or workload.pods)} alike"
    if workload.nodes:
        return f"{text}; the pod on {workload.nodes[0]}"
    # The name of a single ordinal identifies the pod.
    return text if workload.replicas == 1 or workload.kind == "StatefulSet" else f"{text}; one of them"


def _beside_running(workload: WorkloadData) -> str:
    """Return the workload, the number of replicas that run, and the number of others that fit, in words."""
    text = f"{workload.kind} {workload.namespace}/{workload.name}"
    if workload.runs:
        run = f"all {workload.replicas} replicas run" if workload.replicas > 1 else "its replica runs"
        return f"{text}: {run}; one more"
    text = f"{text}: {workload.running} of {workload.replicas} replicas run"
    if workload.missing == 1:
        return f"{text}; the other"
    if workload.all_placed:
        return f"{text}; one of the other {workload.missing}"
    fit = "fits" if workload.placed == 1 else "fit"
    return f"{text}; {workload.placed} of the other {workload.missing} {fit}, scheduled one after another; one of them"
