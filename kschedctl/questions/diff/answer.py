"""The differences between the decisions of two sides: each a snapshot, a release and a configuration."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import field

from kschedctl.questions.answer import CompoundAnswer, Data, Envelope
from kschedctl.questions.answer_parts import CureData, DiagnosisData, GroupLossData


class SideOutcome(StrEnum):
    """The outcome for a pod on one side."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    ERROR = "error"
    ABSENT = "absent"
    OTHER_SCHEDULER = "otherScheduler"


class AnswerPart(StrEnum):
    """A part of an answer that changes."""

    PLACE = "place"
    OUTCOME = "outcome"
    WINNER = "winner"
    VICTIMS = "victims"
    NODES = "nodes"
    SCORES = "scores"
    MESSAGE = "message"


#: The parts of the outcome itself; the other parts are how kube-scheduler arrives at it.
OUTCOME_PARTS: Final = frozenset({AnswerPart.PLACE, AnswerPart.OUTCOME, AnswerPart.WINNER, AnswerPart.VICTIMS})


class OutcomeData(Data, frozen=True):
    """The outcome for a pod on one side."""

    outcome: Annotated[SideOutcome, "The outcome as in explain; absent if the side does not have the pod."]
    node_name: Annotated[str, "The node that the pod runs on; the decision is made as if the pod were not bound."] = ""
    nodes: Annotated[tuple[str, ...], "The nodes that the pod can be scheduled to: those with the highest score."] = ()
    feasible_nodes: Annotated[int, "The number of nodes that the pod fits on."] = 0
    victims: Annotated[
        dict[str, tuple[str, ...]], "The pods that preemption would evict, by node that can be nominated."
    ] = field(default_factory=dict)
    message: Annotated[str, "The text of the FailedScheduling event; empty where the pod fits."] = ""
    error: Annotated[
        str, "The error with which kube-scheduler aborts the scheduling cycle; empty if there is none."
    ] = ""


class NodeOutcomeData(Data, frozen=True):
    """The result for a node on one side."""

    fits: Annotated[bool, "True if the pod fits on the node."]
    plugin: Annotated[str, "The plugin that rejects the node; empty if the pod fits."]
    reasons: Annotated[tuple[str, ...], "The reasons of that plugin, in the scheduler's own words."]
    score: Annotated[int | None, "The total score; null if nodes were not scored."]
    scores: Annotated[dict[str, int], "The weighted score of each plugin."]


class NodeChangeData(Data, frozen=True):
    """A node whose result changes."""

    name: Annotated[str, "The name of the node."]
    before: Annotated[NodeOutcomeData | None, "The result on the first side; null if that side does not have the node."]
    after: Annotated[NodeOutcomeData | None, "The result on the second side; null if that side does not have the node."]


class PodChangeData(Data, frozen=True):
    """A pod for which something changes."""

    namespace: Annotated[str, "The namespace of the pod."]
    name: Annotated[str, "The name of the pod."]
    summary: Annotated[tuple[str, ...], "The changes in words; equal for pods with the same changes."]
    parts: Annotated[tuple[AnswerPart, ...], "The parts of the answer that change."]
    worse: Annotated[bool, "True if the pod has or gets a node on the first side and gets none on the second."]
    before: Annotated[OutcomeData, "The result on the first side."]
    after: Annotated[OutcomeData, "The result on the second side."]
    nodes: Annotated[
        tuple[NodeChangeData, ...] | None,
        "The nodes whose result changes; null if they are left out because many pods are compared: request this "
        "pod alone to get them.",
    ]
    rules: Annotated[
        tuple[str, ...],
        "The names of the rules behind the change, if the rules of the sides differ: with the first side's value of "
        "each, the second side answers as with all rules of the first. If the node, the outcome or the victims "
        "change, these are the rules behind that.",
    ] = ()
    rules_together: Annotated[
        bool, "True if only the first side's values of all these rules together have that effect."
    ] = False

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def changes_outcome(self) -> bool:
        """True if the pod's node, outcome or victims change, and not only reasons, scores or messages."""
        return not OUTCOME_PARTS.isdisjoint(self.parts)


class ReleaseRuleData(Data, frozen=True):
    """A rule of kube-scheduler that differs between the sides, and changes the answer for a pod."""

    name: Annotated[str, "The name of the rule."]
    field: Annotated[str, "The field of the release that has the rule; features.NAME for a feature gate."]
    before: Annotated[str, "The rule of the first side, in words."]
    after: Annotated[str, "The rule of the second side, in words."]
    since: Annotated[str, "The release that changed the rule last; empty if an option sets it."]
    advice: Annotated[str, "The action before an upgrade; empty if there is nothing to do."]
    pods: Annotated[int, "The number of pods for which the rule is behind the change."]


class SideData(Envelope, frozen=True, kw_only=True):
    """A side of the comparison."""

    config: Annotated[str, "The file with the scheduler's configuration; empty if there is none."]


class Diff(CompoundAnswer, frozen=True, kw_only=True):
    """The changes from the first side to the second."""

    before: Annotated[SideData, "The first side."]
    after: Annotated[SideData, "The second side."]
    summary: Annotated[str, "The pods that lose their node and the pods that move, in one or two sentences."]
    pods: Annotated[int, "The number of compared pods."]
    changed: Annotated[tuple[PodChangeData, ...], "The pods for which something changes."]
    nodes_gone: Annotated[tuple[str, ...], "The nodes that only the first side has."]
    nodes_new: Annotated[tuple[str, ...], "The nodes that only the second side has."]
    causes: Annotated[
        tuple[DiagnosisData, ...],
        "The changes of nodes for which pods fit on no node of the second side, if the sides are different snapshots.",
    ] = ()
    rules: Annotated[
        tuple[ReleaseRuleData, ...],
        "The rules behind the changes, if the rules of the sides differ, by number of pods. Pods that lose their node "
        "are not examined, as they compete with one another.",
    ] = ()
    suggestions: Annotated[
        tuple[CureData, ...], "The ways to take these changes back, each tried unless it says otherwise."
    ] = ()
    groups: Annotated[
        tuple[GroupLossData, ...],
        "The pod groups that lose members: compared pods that have a node on the first side and none on the "
        "second. At the end, those of them count that the second side schedules.",
    ] = ()

    @property
    def yes(self) -> bool:
        """True if no pod changes its node, outcome or victims."""
        return not any(pod.changes_outcome for pod in self.changed)

    @property
    def complete(self) -> bool:
        """True if the envelopes of both sides are complete."""
        return self.before.complete and self.after.complete

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the pods that change their node, outcome or victims, one line per pod: ``pod/NAMESPACE/NAME``."""
        return tuple(f"pod/{pod.key}" for pod in self.changed if pod.changes_outcome)
