"""Phrases for the workload that an answer is about."""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec.structs import replace

from kschedctl.common.wording import counted, listed
from kschedctl.questions.answers.explain import Explanation, WorkloadData
from kschedctl.questions.answers.preempt import Preemption

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
        fit = "fits" if workload.placed == 1 else "fit"
        said = f"{said.partition(';')[0]}: {workload.placed} of them {fit}, {_one_after_another(workload)}; one of them"
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


def running_in_words(workload: WorkloadData) -> str:
    """Return the workload and the number of its pods that run, in words.

    Examples
    --------
    >>> running_in_words(WorkloadData("StatefulSet", "shop", "db", 3, running=1))
    'StatefulSet shop/db: 1 of 3 replicas run'
    >>> running_in_words(WorkloadData("Job", "shop", "import", 3, running=3))
    'Job shop/import: all 3 pods run'
    """
    noun = _NOUNS.get(workload.kind, "replica")
    run = f"{workload.running} of {counted(workload.replicas, noun)} run"
    if workload.runs:
        run = f"all {workload.replicas} {noun}s run" if workload.replicas > 1 else f"its {noun} runs"
    return f"{workload.kind} {workload.namespace}/{workload.name}: {run}"


def _beside_running(workload: WorkloadData) -> str:
    """Return the workload, the number of pods that run, and the number of others that fit, in words."""
    text = running_in_words(workload)
    if workload.runs:
        return f"{text}; one more"
    if workload.missing == 1:
        return f"{text}; the other"
    if workload.all_placed:
        return f"{text}; one of the other {workload.missing}"
    fit = "fits" if workload.placed == 1 else "fit"
    how = _one_after_another(workload)
    return f"{text}; {workload.placed} of the other {workload.missing} {fit}, {how}; one of them"


def _one_after_another(workload: WorkloadData) -> str:
    if not workload.refused:
        return "scheduled one after another"
    return f"and the API server refuses the next one ({workload.refused})"
