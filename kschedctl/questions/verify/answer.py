"""The comparison of all answers for a snapshot with the decisions of kube-scheduler."""

from enum import StrEnum
from typing import Annotated

from kschedctl.questions.answer import ClusterAnswer, Data
from kschedctl.questions.explain.answer import StatusData


class Match(StrEnum):
    """The result of comparing our answer for a pending pod with the stored one."""

    EQUAL = "equal"
    #: The pod waits for its victims: its message is that of the cycle that evicted them.
    NOMINATED = "nominated"
    DIFFERENT = "different"
    #: The messages differ, and the stored one is older than pods that now run.
    AGED = "aged"
    NOT_TRIED = "notTried"
    OTHER_SCHEDULER = "otherScheduler"


class Standing(StrEnum):
    """The classification of a running pod that would not fit on its node, from the strongest to the weakest."""

    DIFFERENT = "different"
    CHANGED = "changed"
    CORDONED = "cordoned"
    WHAT_IF = "whatIf"


class Choice(StrEnum):
    """The explanation of the node that kube-scheduler chose for a running pod."""

    #: The node is one of the best of all nodes.
    BEST = "best"
    #: The node is one of the best nodes of a sample (percentageOfNodesToScore).
    SAMPLED = "sampled"
    #: No start of the search leads to the node, in the state that the snapshot still shows.
    UNEXPLAINED = "unexplained"


_Causes = Annotated[tuple[str, ...], "The possible causes, most likely first."]


class PendingCountsData(Data, frozen=True):
    """The number of pending pods by result of the comparison."""

    equal: Annotated[int, "The number of pods whose computed message equals the stored one."]
    different: Annotated[int, "The number of pods whose computed message differs from the stored one."]
    nominated: Annotated[
        int,
        "The number of nominated pods whose stored message, of the cycle that evicted their victims, equals the "
        "computed one apart from preemption.",
    ]
    aged: Annotated[
        int,
        "The number of pods whose computed message differs from the stored one, which is older than pods that now "
        "run; this is no difference.",
    ]
    not_tried: Annotated[int, "The number of pods without a stored message, or whose pod group is not tried any more."]
    other_scheduler: Annotated[int, "The number of pods whose schedulerName is not in the configuration."]


class BoundCountsData(Data, frozen=True):
    """The number of bound pods by result of the check against their node."""

    feasible: Annotated[int, "The number of pods that would still fit on their node."]
    infeasible: Annotated[int, "The number of pods that would not fit on their node, for any reason."]
    different: Annotated[int, "The number of infeasible pods that no later change explains."]
    changed: Annotated[int, "The number of infeasible pods that a later change may explain."]
    cordoned: Annotated[
        int, "The number of infeasible pods whose node is cordoned; cordoning does not affect pods that run there."
    ]
    what_if: Annotated[int, "The number of infeasible pods that fit without the what-ifs."]
    other_scheduler: Annotated[int, "The number of pods whose schedulerName is not in the configuration."]
    static: Annotated[int, "The number of static pods, which kubelets create without a scheduler."]
    lost: Annotated[int, "The number of pods whose node is not in the snapshot."]


class ComparedPodData(Data, frozen=True):
    """A pod that was compared."""

    namespace: Annotated[str, "The namespace of the pod."]
    name: Annotated[str, "The name of the pod."]

    @property
    def key(self) -> str:
        """``NAMESPACE/NAME``."""
        return f"{self.namespace}/{self.name}"


class BoundPodData(ComparedPodData, frozen=True):
    """A bound pod and its node."""

    node: Annotated[str, "The node that the pod is bound to."]


class PendingGroupData(Data, frozen=True):
    """Pending pods with the same messages."""

    outcome: Annotated[Match, "The result of the comparison."]
    theirs: Annotated[str, "The message that kube-scheduler stored in the condition PodScheduled."]
    ours: Annotated[str, "The message that kschedctl computed; empty if another scheduler is responsible."]
    causes: _Causes
    pods: Annotated[tuple[ComparedPodData, ...], "The pods."]


class InfeasibleGroupData(Data, frozen=True):
    """Running pods that would not fit on their nodes, for the same reason."""

    standing: Annotated[
        Standing,
        "The classification. different: no later change explains it; changed: a later change may explain it; "
        "cordoned: the node is cordoned, which does not affect running pods; whatIf: the pods fit without the "
        "what-ifs. Only the first one is a difference.",
    ]
    status: Annotated[StatusData, "The most significant rejection, in kube-scheduler's words."]
    causes: _Causes
    pods: Annotated[tuple[BoundPodData, ...], "The pods, with their nodes."]


class ChosenNodeData(BoundPodData, frozen=True):
    """A running pod, and the explanation of its node."""

    choice: Annotated[
        Choice,
        "The explanation. best: the node is one of the best of all nodes; sampled: it is one of the best nodes of "
        "a sample; unexplained: no start of the search leads to it, which pods that ended since, or other "
        "changes, may explain.",
    ]
    best: Annotated[tuple[str, ...], "The best of all nodes."]
    starts: Annotated[int, "The number of starts of the search for which the node is a best node of the sample."]
    of_starts: Annotated[int, "The number of all starts."]


class RecordedCaseData(Data, frozen=True):
    """The test case that --record wrote."""

    path: Annotated[str, "The path of the file."]
    pod: Annotated[ComparedPodData, "The pod of the snapshot that the case is about."]
    objects: Annotated[int, "The number of objects in the case."]


class Verification(ClusterAnswer, frozen=True, kw_only=True, tag="Verification"):
    """The answers for all pods of a snapshot, compared with the decisions of kube-scheduler."""

    equal: Annotated[bool, "True if there is no difference."]
    summary: Annotated[str, "The result in one or two sentences."]
    pending: Annotated[PendingCountsData, "The number of pending pods by result."]
    bound: Annotated[BoundCountsData, "The number of bound pods by result."]
    pending_groups: Annotated[tuple[PendingGroupData, ...], "The pending pods, by result and messages."]
    infeasible_groups: Annotated[
        tuple[InfeasibleGroupData, ...], "The bound pods that would not fit on their nodes, by reason."
    ]
    choices: Annotated[
        tuple[ChosenNodeData, ...] | None,
        "The nodes of up to 100 pods that were scheduled last, the newest first, with --sampling; null without it.",
    ] = None
    recorded: Annotated[RecordedCaseData | None, "The test case that --record wrote; null without --record."] = None

    @property
    def yes(self) -> bool:
        """True if there is no difference."""
        return self.equal

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the pods that differ, one line per pod: ``pod/NAMESPACE/NAME``."""
        differing: list[ComparedPodData] = []
        for group in self.pending_groups:
            differing += group.pods if group.outcome is Match.DIFFERENT else ()
        for infeasible in self.infeasible_groups:
            differing += infeasible.pods if infeasible.standing is Standing.DIFFERENT else ()
        return tuple(f"pod/{pod.key}" for pod in differing)
