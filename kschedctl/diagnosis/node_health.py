"""The health of nodes: taints that the node controller, a cloud provider or an autoscaler sets, and conditions."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from kschedctl.cluster.records import PodRecord
from kschedctl.diagnosis.diagnosis import Advice
from kschedctl.objects.core import Condition, Node, Taint
from kschedctl.objects.pod import (
    NO_EXECUTE,
    NO_SCHEDULE,
    OS_TAINT,
    UNSCHEDULABLE_TAINT,
    Toleration,
    is_startup_taint,
    marks_problem,
    tolerated,
)
from kschedctl.scheduler.framework.risk import Risk

#: The taint of a node that the cluster autoscaler is about to delete; its value is the Unix time of the tainting.
AUTOSCALER_REMOVAL: Final = "ToBeDeletedByClusterAutoscaler"
#: A node is removed within minutes; after an hour the autoscaler has failed, or no longer runs.
_REMOVED_WITHIN: Final = timedelta(hours=1)
#: The number of digits of a Unix time in seconds, at most: such a time is before the year 5139.
_DIGITS: Final = 11
#: The problem that a taint stands for, by the beginning of its key (kubernetes.io reference "Well-Known Taints").
PROBLEMS: Final = {
    "node.kubernetes.io/not-ready": "not ready",
    "node.kubernetes.io/unreachable": "unreachable",
    "node.kubernetes.io/memory-pressure": "under memory pressure",
    "node.kubernetes.io/disk-pressure": "under disk pressure",
    "node.kubernetes.io/pid-pressure": "short of process IDs",
    "node.kubernetes.io/network-unavailable": "without a network",
    "node.kubernetes.io/out-of-service": "out of service",
    "node.kubernetes.io/": "unhealthy",
    "node.cloudprovider.kubernetes.io/uninitialized": "not initialized by the cloud provider",
    "node.cloudprovider.kubernetes.io/shutdown": "shut down",
    AUTOSCALER_REMOVAL: "being removed by the cluster autoscaler",
    "DeletionCandidateOfClusterAutoscaler": "a candidate for removal by the cluster autoscaler",
    "karpenter.sh/disrupted": "being removed by Karpenter",
    "karpenter.sh/disruption": "being removed by Karpenter",
    "karpenter.sh/unregistered": "not registered by Karpenter yet",
}
#: The taints, besides those of agents, that a part of the cluster removes from each new node.
_OF_SETUP: Final = (
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.kubernetes.io/network-unavailable",
    "karpenter.sh/unregistered",
)
#: The kubelet's word for a container runtime without a network plugin.
NETWORK_PLUGIN: Final = "NetworkPluginNotReady"
#: The condition that shows since when a node has the problem of a taint.
_CONDITIONS: Final = {
    "node.kubernetes.io/memory-pressure": "MemoryPressure",
    "node.kubernetes.io/disk-pressure": "DiskPressure",
    "node.kubernetes.io/pid-pressure": "PIDPressure",
    "node.kubernetes.io/network-unavailable": "NetworkUnavailable",
}


def health_taints(node: Node, tolerations: Sequence[Toleration] = ()) -> list[Taint]:
    """Return the untolerated taints of a node that stand for a problem of the node; a cordon is none."""
    return [
        taint
        for taint in node.spec.taints
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE)
        and taint.key != UNSCHEDULABLE_TAINT.key
        and stands_for_problem(taint)
        and not tolerated(tolerations, taint)
    ]


def stands_for_problem(taint: Taint) -> bool:
    """Report whether a taint stands for a problem of its node, or for a node that is not set up yet."""
    known = taint.key.startswith(tuple(PROBLEMS)) and taint.key != OS_TAINT
    return known or is_startup_taint(taint) or marks_problem(taint)


def is_unhealthy(node: Node, tolerations: Sequence[Toleration] = ()) -> bool:
    """Report whether a taint that the tolerations do not cover stands for a problem of the node."""
    return bool(health_taints(node, tolerations))


def health_problem(node: Node) -> str:
    """Return the problem of an unhealthy node as text, with the time since when, the reason and the taint."""
    taint = health_taints(node)[0]
    problem = next((words for key, words in PROBLEMS.items() if taint.key.startswith(key)), "")
    problem = problem or ("marked as broken" if marks_problem(taint) else "not set up")
    condition = condition_of(node, _CONDITIONS.get(taint.key, "Ready"))
    reason = ""
    if condition is not None and (condition.status == "True") == (condition.type != "Ready"):
        why = NETWORK_PLUGIN if lacks_network_plugin(node) else condition.reason
        reason = f"{since(condition.last_transition_time)}{f' ({why})' if why else ''}"
    return f"{problem}{reason or since(removal_began(taint))}: taint {taint.key}"


def removal_began(taint: Taint) -> datetime | None:
    """Return the time at which the cluster autoscaler tainted a node to delete it; ``None`` for other taints."""
    if taint.key != AUTOSCALER_REMOVAL or not taint.value.isdecimal() or len(taint.value) > _DIGITS:
        return None
    return datetime.fromtimestamp(int(taint.value), UTC)


def removal_failed(taint: Taint, now: datetime | None) -> bool:
    """Report whether the cluster autoscaler tainted a node more than an hour ago, and has not deleted it."""
    began = removal_began(taint)
    return began is not None and now is not None and now - began > _REMOVED_WITHIN


def lacks_network_plugin(node: Node) -> bool:
    """Report whether the kubelet is not ready because no network plugin (CNI) is set up on the node."""
    ready = condition_of(node, "Ready")
    said = f"{ready.reason} {ready.message}" if ready is not None and ready.status != "True" else ""
    return NETWORK_PLUGIN in said or "cni plugin not initialized" in said or "cni config uninitialized" in said


def lacks_setup(node: Node) -> bool:
    """Report whether a part of the cluster has not set the node up; new nodes would have the same problem."""
    taints = health_taints(node)
    waits = any(taint.key.startswith(_OF_SETUP) or is_startup_taint(taint) for taint in taints)
    return waits or (bool(taints) and lacks_network_plugin(node))


def condition_of(node: Node, kind: str) -> Condition | None:
    """Return the condition of a type, or ``None``."""
    return next((each for each in node.status.conditions if each.type == kind), None)


def condition_of_pod(pod: PodRecord, kind: str) -> Condition | None:
    """Return the condition of a type of a stored pod, or ``None``; pods on nodes keep ``Ready`` only if it is False."""
    return next((each for each in pod.status.conditions if each.type == kind), None)


def since(time: datetime | None) -> str:
    """Return `` since 2026-11-20 09:41 UTC``; empty if the time is unknown.

    >>> from datetime import UTC
    >>> since(datetime(2026, 11, 20, 9, 41, tzinfo=UTC)), since(None)
    (' since 2026-11-20 09:41 UTC', '')
    """
    return f" since {time:%Y-%m-%d %H:%M} UTC" if time is not None else ""


def silent_node_advice(node: str, back: str, effect: str = "") -> tuple[Advice, Advice]:
    """Return the two ways out for a node whose kubelet does not answer: get it back, or declare it out of service.

    Args:
        back: The first way, in the imperative.
        effect: A clause about the effect of the second way; empty for none.
    """
    return (
        Advice(
            summary=back,
            risk=Risk.MISTAKE,
            untried="the kubelet runs on the machine",
            command=f"kubectl describe node {node}",
        ),
        Advice(
            summary=f"once the machine of {node} is certainly off: taint it as out of service{effect}",
            risk=Risk.SHARED,
            untried="controllers delete the pods of the node and detach its volumes",
            command=f"kubectl taint nodes {node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
        ),
    )
