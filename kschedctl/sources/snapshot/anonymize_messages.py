"""Anonymisation of the scheduler's messages in conditions: every word that is not the scheduler's own is replaced."""

import re
from typing import Final

from msgspec.structs import replace

from kschedctl.objects.core import Condition
from kschedctl.sources.snapshot.pseudonyms import Pseudonyms

#: The conditions that the scheduler writes, of pods, of pod groups and of groups of them.
_SCHEDULED: Final = frozenset(
    {"PodScheduled", "PodGroupScheduled", "PodGroupInitiallyScheduled", "CompositePodGroupInitiallyScheduled"}
)
#: The reasons whose messages have known words; messages of errors and of other programs can contain anything.
_SCHEDULER_REASONS: Final = frozenset({"Unschedulable", "SchedulingGated"})
_SCHEDULER_TEXTS: Final = re.compile(
    r"0/[0-9]+ (?:nodes|placements) are available|no nodes available|Scheduling is blocked|no feasible placements found"
    r"|pod group (?:is|preemption)\b|minCount \([0-9]+\) cannot be satisfied"
    r"|waiting for (?:minCount pods|pods's pod group|the preemption for this pod group|(?:composite)?podgroup/)"
    r"|scheduling policy's minimum threshold|no pods were schedulable|nominated placement is feasible"
    r'|(?:parent|ancestor composite)? ?pod group "'
)
#: The reasons that Kubernetes itself sets.
_REASONS: Final = _SCHEDULER_REASONS | {
    "",
    *"""
        SchedulerError Infeasible Deferred PreemptionByScheduler DeletionByTaintManager DeletionByPodGC
        EvictionByEvictionAPI TerminationByKubelet FailedCreate FailedDelete CompletionsReached BackoffLimitExceeded
        DeadlineExceeded Scheduled PodGroupError CompositePodGroupError
    """.split(),
}
#: The reasons of Events that components of Kubernetes and well-known projects set.
EVENT_REASONS: Final = frozenset(
    """
    FailedScheduling FailedCreate FailedCreatePodSandBox FailedMount FailedAttachVolume FailedBinding
    ProvisioningFailed VolumeMismatch Failed BackOff Unhealthy Evicted Preempted NodeNotReady FailedKillPod
    FailedToDrain ResizeDeferred ResizeInfeasible ResizeError NotTriggerScaleUp TriggeredScaleUp Suspended
    FailedDaemonPod OutOfcpu OutOfmemory OutOfpods NodeAffinity UnexpectedAdmissionError TopologyAffinityError
    FailedPreStopHook
    """.split()
)
#: The components that write them.
REPORTERS: Final = frozenset(
    """
    default-scheduler kubelet replicaset-controller statefulset-controller daemonset-controller job-controller
    cronjob-controller deployment-controller persistentvolume-controller attachdetach-controller node-controller
    taint-eviction-controller cluster-autoscaler karpenter horizontal-pod-autoscaler vpa-updater volcano
    """.split()
)
_STATUSES: Final = frozenset({"True", "False"})
_PARTS: Final = re.compile(
    r'"(?P<quoted>[^"]*)"|\{(?P<taint>[^{}]*)\}'
    r"|(?P<insufficient>Insufficient )(?P<resource>[^\s,]+)|(?P<token>[\w./-]+)"
)
_NUMBER: Final = re.compile(r"[0-9]+(?:/[0-9]+)?", re.ASCII)
#: The words of kube-scheduler's messages. They reveal nothing, even if one is also the name of an object.
_WORDS: Final = frozenset(
    """
    Never No NodeAffinity PVC PersistentVolume PersistentVolumeClaim PersistentVolumeClaims Pod Preemption
    ReadWriteOncePod ResourceClaim ResourceClaims Scheduling Too a access affinity all allocate already ancestor
    ancestors and another anti-affinity appear are asked at available aware be been being bind blocked bound but by
    cannot child claim claims class complete completed composite compositepodgroup conflict constraints controller
    could count create created deallocate deallocation deleted deletion device did didn disk does due eligible
    enabled encountered enough ephemeral exceed exist existing extended feasible features find finished first fit
    for found free from gang gates group groups had has have helpful immediate in in-use incoming invalid is its
    label least limitation looking many match max meet minCount minimum missing mode more name new no node nodes
    nominated non-empty non-existent not not-evaluated of on one ongoing or owner parent pending persistent
    persistentvolume persistentvolumeclaim placement placement-based placements plugin plugins pod podgroup pods
    policy pools ports preempting preemption preemptionPolicy preemptor pv pvc queue quorum ready rejected
    remaining request requested required resource resourceclaim rules s satisfied satisfy schedulable schedule
    scheduled scheduler-enforced scheduling selector spread status still storage storageClass
    storageclass.storage.k8s.io supported t taint taints terminating terms the this threshold to topology tree type
    unavailable unbound unknown unschedulable untolerated up victims volume volumes wait waiting was were with
    workload yet zone
    """.split()
)


def anonymous_conditions(conditions: tuple[Condition, ...], names: Pseudonyms) -> tuple[Condition, ...]:
    """Return the conditions with pseudonyms in the scheduler's messages, and without any other message.

    Args:
        conditions: The conditions of a node or a pod, as captured.
    """
    return tuple(
        replace(
            condition,
            status=condition.status if condition.status in _STATUSES else "Unknown",
            reason=condition.reason if condition.reason in _REASONS else "Other",
            message=_anonymous_message(condition, names),
        )
        for condition in conditions
    )


def _anonymous_message(condition: Condition, names: Pseudonyms) -> str:
    known = condition.type in _SCHEDULED and condition.reason in _SCHEDULER_REASONS
    if not known or not _SCHEDULER_TEXTS.match(condition.message):
        return ""

    def renamed(part: re.Match[str]) -> str:
        if (quoted := part["quoted"]) is not None:
            return f'"{names.word(quoted)}"'
        if (taint := part["taint"]) is not None:
            key, colon, value = taint.partition(": ")
            return f"{{{names.key(key)}{colon}{names.value(key, value)}}}"
        if part["insufficient"] is not None:
            resource = part["resource"].rstrip(".")
            return f"{part['insufficient']}{names.resource(resource)}{part['resource'][len(resource) :]}"
        token = part["token"].rstrip(".")
        return f"{_renamed_token(token, names)}{part['token'][len(token) :]}"

    return _PARTS.sub(renamed, condition.message)


def _renamed_token(token: str, names: Pseudonyms) -> str:
    """Return the pseudonym of a bare word; the scheduler's own words and numbers are kept.

    A name may have the prefix ``namespace/``.
    """
    if token in _WORDS or _NUMBER.fullmatch(token) or not token:
        return token
    if (pseudonym := names.known(token)) is not None:
        return pseudonym
    namespace, slash, name = token.partition("/")
    if slash:
        return f"{_renamed_token(namespace, names)}/{_renamed_token(name, names)}"
    return names.word(token)
