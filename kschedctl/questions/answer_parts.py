"""The parts that several answers have: diagnoses, cures, tried changes and pod groups."""

from typing import Annotated, Any, Final

from kschedctl.common.wording import counted
from kschedctl.questions.answer import Data
from kschedctl.scheduler.cycle.outcome import GroupOutcome
from kschedctl.scheduler.framework.risk import RemedyScope

#: The kinds of groups in words.
GROUP_WORDS: Final = {"PodGroup": "pod group", "CompositePodGroup": "composite pod group"}


class CureData(Data, frozen=True):
    """A change with which a drain or a rollout finishes, or a pending pod is scheduled."""

    summary: Annotated[str, "The change in a few words."]
    then: Annotated[str, "The outcome with the change, in words; empty if it was not tried."]
    commands: Annotated[
        tuple[str, ...], "The commands that make the change; a line that starts with # describes an edit."
    ]
    untried: Annotated[str, "The reason why the change cannot be tried on a snapshot; empty if it was tried."] = ""


# Diagnoses as data: the form that all answers share.


class DiagnosisData(Data, frozen=True):
    """The cause of a problem."""

    rule: Annotated[str, "The name of the rule that found the cause."]
    cause: Annotated[str, "The cause in one clause, with names and numbers."]
    evidence: Annotated[tuple[str, ...], "Facts that show the cause."]
    checks: Annotated[tuple[str, ...], "Commands that show what the snapshot does not contain."]


class GroupAnswerData(Data, frozen=True):
    """The answer of a node group of an autoscaler for a pod."""

    group: Annotated[str, "The kind and name of the group, such as NodePool general."]
    answer: Annotated[str, "Its answer after its name: the node that it would add, or why it adds none."]
    said: Annotated[str, "The reason in the autoscaler's own words; empty if it has none."]


class ExpansionData(Data, frozen=True):
    """The answer of the autoscaler of nodes for a pod."""

    autoscaler: Annotated[str, "Its name: Karpenter or Cluster Autoscaler."]
    summary: Annotated[str, "The answer in one clause."]
    adds: Annotated[bool, "True if it would add a node for the pod."]
    instance_types: Annotated[
        tuple[str, ...], "The names of the instance types that the node may have, the cheapest first, as far as known."
    ]
    zones: Annotated[tuple[str, ...], "The zones that the node may be in; empty if any."]
    price: Annotated[float | None, "The price of the cheapest instance type per hour; null if it is not known."]
    groups: Annotated[tuple[GroupAnswerData, ...], "The node groups that add no node, those that come closest first."]
    source: Annotated[str, "The source of the instance types, in words; empty if they do not matter."]


# The pod groups that lose members, as data: part of the answers of ``drain``, ``rollout`` and ``diff``.


class GroupLossData(Data, frozen=True):
    """A pod group that loses members. Evictions end single pods: the other members run on."""

    namespace: Annotated[str, "The namespace of the PodGroup."]
    name: Annotated[str, "The name of the PodGroup."]
    min_count: Annotated[
        int | None, "minCount of the gang; null for the basic policy, or if the PodGroup does not exist."
    ]
    disrupted_as_a_whole: Annotated[
        bool,
        "True if preemption takes all members or none (disruptionMode all, or PodGroup). Evictions and deletions "
        "ignore this.",
    ]
    evicted: Annotated[tuple[str, ...], "The members that are evicted or deleted, as namespace/name."]
    preempted: Annotated[tuple[str, ...], "The members that are preempted, as namespace/name."]
    before: Annotated[int, "The number of members on nodes at first."]
    fewest: Annotated[int, "The smallest number of members on nodes at any time."]
    after: Annotated[int, "The number of members on nodes at the end."]

    @property
    def title(self) -> str:
        """The group in words: ``gang ml/train``, or ``pod group ml/train`` for another policy."""
        return f"{'pod group' if self.min_count is None else 'gang'} {self.namespace}/{self.name}"

    @property
    def is_short(self) -> bool:
        """True if fewer members than ``minCount`` are on nodes at the end, and more were at first."""
        least = self.min_count or 0
        return self.after < least <= self.before

    @property
    def was_short(self) -> bool:
        """True if fewer members than ``minCount`` are on nodes for a time, and more were at first."""
        least = self.min_count or 0
        return self.fewest < least <= self.before


# Suggested changes as data: the form that ``explain`` and ``pending`` share.


class ThenData(Data, frozen=True):
    """The decision once the changes are made."""

    nodes: Annotated[
        tuple[str, ...], "The nodes that the pod can be scheduled to, or that preemption would free by evicting pods."
    ]
    members: Annotated[
        int | None, "The number of members that are scheduled with the pod's group; null for a pod by itself."
    ] = None


class TriedData(Data, frozen=True):
    """A suggestion: changes that were made together and simulated."""

    summary: Annotated[str, "The suggestion in a few words."]
    kind: Annotated[RemedyScope, "The kind of object that is changed: pod, node, or cluster for anything else."]
    evicts: Annotated[tuple[str, ...], "The pods that the changes evict, as namespace/name."]
    violates: Annotated[tuple[str, ...], "The disruption budgets that the changes violate, as namespace/name."]
    changes: Annotated[
        tuple[dict[str, Any], ...],
        "The changes: each is an RFC 6902 patch with the apiVersion, kind, namespace and name of its object, or "
        "has the object to create, or the one to delete. Those of a wait happen by themselves.",
    ]


class AppliedData(TriedData, frozen=True):
    """A suggestion with the patches and commands that apply it."""

    workload_changes: Annotated[
        tuple[dict[str, Any], ...],
        "The changes of pods as patches of their workload's pod template; empty if the pods have no workload.",
    ]
    commands: Annotated[
        tuple[str, ...],
        "The kubectl commands that make the changes; a line that starts with # describes an edit of a manifest.",
    ]
    consequences: Annotated[tuple[str, ...], "The side effects of the changes, such as the replicas that restart."]
    alternatives: Annotated[
        tuple[str, ...], "Other ways to make the same change, each tried; the changes are those of the first way."
    ]
    untried: Annotated[
        str, "The reason why the changes cannot be tried on a snapshot; empty if they were tried and help."
    ]


# The decision for a pod group as data: part of the answer for its members.


class PodGroupConditionData(Data, frozen=True):
    """The condition that the attempt writes on the PodGroup."""

    type: Annotated[str, "PodGroupScheduled in 1.36, PodGroupInitiallyScheduled since 1.37."]
    status: Annotated[str, "True or False."]
    reason: Annotated[str, "Scheduled, Unschedulable or SchedulerError."]
    message: Annotated[str, "The message, in kube-scheduler's words."]


class PodGroupMemberData(Data, frozen=True):
    """A member of the group that has no node yet."""

    pod: Annotated[str, "The member, as namespace/name."]
    node: Annotated[str, "The node that it finds, with the members before it in place; else empty."]
    bound: Annotated[bool, "True if it is bound there; false if its group is not scheduled."]
    message: Annotated[str, "The text of its FailedScheduling event; empty if it is bound."]
    nominated: Annotated[str, "The node that is kept for it meanwhile; empty if there is none."]


class PodGroupPlacementData(Data, frozen=True):
    """A placement that was tried: the nodes of one domain of the topology constraint."""

    name: Annotated[str, "The value of the topology label."]
    nodes: Annotated[int, "The number of nodes."]
    fits: Annotated[bool, "True if the group fits there."]
    members: Annotated[int, "The number of members that find a node there."]
    stops: Annotated[str, "The reasons why the next member finds none, in kube-scheduler's words; else empty."]
    chosen: Annotated[bool, "True if the group is scheduled there."]


class PodGroupVictimData(Data, frozen=True):
    """Pods that are evicted together for the group."""

    pods: Annotated[tuple[str, ...], "The pods, as namespace/name."]
    group: Annotated[str, "The group that is evicted as a whole; empty for a single pod."]
    priority: Annotated[int, "The priority by which they count as victims."]
    kind: Annotated[str, "PodGroup, or CompositePodGroup for a tree of groups; empty for a single pod."] = ""

    @property
    def title(self) -> str:
        """The victim in words: a pod, or a group."""
        if not self.group:
            return self.pods[0]
        return f"{GROUP_WORDS[self.kind]} {self.group}"


class SubgroupData(Data, frozen=True):
    """A group of a tree, below its root."""

    kind: Annotated[str, "PodGroup or CompositePodGroup."]
    name: Annotated[str, "The name of the group."]
    parent: Annotated[str, "The CompositePodGroup that it names as its parent."]
    depth: Annotated[int, "The number of groups above it."]
    least: Annotated[int, "The members, or groups right below it, that it needs: minCount, minGroupCount, or 1."]
    members: Annotated[int, "The number of pods in it and in the groups below it."]
    fitting: Annotated[
        int, "The number of these that have a node, or find one in the placement in which most members of the tree do."
    ]
    groups: Annotated[int, "The number of groups right below it."]
    groups_fitting: Annotated[int, "The number of these that find what they need."]
    message: Annotated[str, "The message of kube-scheduler about the group; empty if it is scheduled."]
    condition: Annotated[
        PodGroupConditionData | None, "The condition that the attempt writes on the group; null if nothing changes."
    ] = None

    @property
    def fits(self) -> bool:
        """True if the group finds what it needs."""
        return (self.fitting if self.kind == "PodGroup" else self.groups_fitting) >= self.least


class PodGroupData(Data, frozen=True):
    """The decision for the pod's group, or for its tree of groups: kube-scheduler tries its members together."""

    namespace: Annotated[str, "The namespace of the group."]
    name: Annotated[str, "The name of the PodGroup, or of the CompositePodGroup that is the root of its tree."]
    min_count: Annotated[
        int | None, "minCount of the gang; null for the basic policy, which needs one member, and for a tree."
    ]
    priority: Annotated[int, "The priority of the PodGroup."]
    evicted_as_a_whole: Annotated[
        bool, "True if preemption evicts all members or none (disruptionMode all, or PodGroup)."
    ]
    topology_key: Annotated[str, "The label of the topology constraint; empty if there is none."]
    outcome: Annotated[GroupOutcome, "The outcome of the attempt at the group."]
    message: Annotated[str, "The message of the group, in kube-scheduler's words; else empty."]
    scheduled: Annotated[int, "The number of members that are on nodes in the snapshot."]
    fitting: Annotated[int, "The number of other members that find a node, in the placement in which most do."]
    members: Annotated[tuple[PodGroupMemberData, ...], "The members without a node, in the order of the attempt."]
    untried: Annotated[
        int,
        "The number of members, unlike those that find no node, that are not tried, because minCount cannot be "
        "met without those.",
    ] = 0
    placements: Annotated[
        tuple[PodGroupPlacementData, ...], "The placements that were tried; empty without a topology constraint."
    ] = ()
    victims: Annotated[
        tuple[PodGroupVictimData, ...], "The pods that are evicted for the group, the most important first."
    ] = ()
    condition: Annotated[
        PodGroupConditionData | None, "The condition that the attempt writes on the group; null if nothing changes."
    ] = None
    kind: Annotated[str, "PodGroup, or CompositePodGroup for a tree of groups."] = "PodGroup"
    min_group_count: Annotated[
        int | None,
        "minGroupCount of a tree's root; null for its basic policy, which needs one group, and for a PodGroup.",
    ] = None
    subgroups: Annotated[
        tuple[SubgroupData, ...], "The groups of a tree below its root, each before those below it."
    ] = ()

    @property
    def key(self) -> str:
        """The group's ``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def size(self) -> int:
        """The number of members that exist."""
        return self.scheduled + len(self.members)

    @property
    def title(self) -> str:
        """The group in words: ``gang ml/train``, ``pod group ml/train`` for the basic policy, or a composite one."""
        return f"{'gang' if self.min_count is not None else GROUP_WORDS[self.kind]} {self.key}"

    @property
    def count(self) -> str:
        """The members that have or find a node, and the number that is needed, in words.

        If several placements were tried, they begin with the placement that the numbers are about.
        """
        verb = "have" if self.is_rest and not self.fitting else "find"
        has = f"{self._place}{self.scheduled + self.fitting} of {self.size} members {verb} a node"
        untried = f"{self.untried} {'is' if self.untried == 1 else 'are'} not tried" if self.untried else ""
        if self.subgroups:
            below = [each for each in self.subgroups if each.parent == self.name and each.depth == 1]
            needed = 1 if self.min_group_count is None else self.min_group_count
            fit = sum(each.fits for each in below)
            fits = "fits" if fit == 1 or len(below) == 1 else "fit"
            rest = f"; {untried}" if untried else ""
            return f"{has} and {fit} of {counted(len(below), 'group')} {fits}, {needed} must{rest}"
        if self.min_count is None:
            return has
        return f"{has}, {self.min_count} are needed{f' and {untried}' if untried else ''}"

    @property
    def is_rest(self) -> bool:
        """True if enough members are on nodes, so that only the rest of the group is pending."""
        return self.scheduled >= (self.min_count or 1)

    @property
    def _place(self) -> str:
        if not self.placements:
            return ""
        kind = self.topology_key.rpartition("/")[2]
        chosen = next((each for each in self.placements if each.chosen), None)
        if chosen is None and len(self.placements) == 1:
            chosen = self.placements[0]
        if chosen is not None:
            return f"in {kind} {chosen.name}, "
        fullest = max(self.placements, key=lambda each: each.members)
        return f"in {kind} {fullest.name}, where most fit, " if fullest.members else f"in every {kind}, "
