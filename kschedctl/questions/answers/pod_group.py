"""The decision for a pod group as data: part of the answer for its members."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kschedctl.questions.answers.base import Data
from kschedctl.scheduler.cycle.outcome import GroupOutcome


class PodGroupConditionData(Data, frozen=True):
    """The condition that the attempt writes on the PodGroup."""

    type: Annotated[str, Meta(description="PodGroupScheduled in 1.36, PodGroupInitiallyScheduled since 1.37.")]
    status: Annotated[str, Meta(description="True or False.")]
    reason: Annotated[str, Meta(description="Scheduled, Unschedulable or SchedulerError.")]
    message: Annotated[str, Meta(description="The message, in kube-scheduler's words.")]


class PodGroupMemberData(Data, frozen=True):
    """A member of the group that has no node yet."""

    pod: Annotated[str, Meta(description="The member, as namespace/name.")]
    node: Annotated[str, Meta(description="The node that it finds, with the members before it in place; else empty.")]
    bound: Annotated[bool, Meta(description="True if it is bound there; false if its group is not scheduled.")]
    message: Annotated[str, Meta(description="The text of its FailedScheduling event; empty if it is bound.")]
    nominated: Annotated[str, Meta(description="The node that is kept for it meanwhile; empty if there is none.")]


class PodGroupPlacementData(Data, frozen=True):
    """A placement that was tried: the nodes of one domain of the topology constraint."""

    name: Annotated[str, Meta(description="The value of the topology label.")]
    nodes: Annotated[int, Meta(description="The number of nodes.")]
    fits: Annotated[bool, Meta(description="True if the group fits there.")]
    members: Annotated[int, Meta(description="The number of members that find a node there.")]
    stops: Annotated[
        str, Meta(description="The reasons why the next member finds none, in kube-scheduler's words; else empty.")
    ]
    chosen: Annotated[bool, Meta(description="True if the group is scheduled there.")]


class PodGroupVictimData(Data, frozen=True):
    """Pods that are evicted together for the group."""

    pods: Annotated[tuple[str, ...], Meta(description="The pods, as namespace/name.")]
    group: Annotated[str, Meta(description="The PodGroup that is evicted as a whole; empty for a single pod.")]
    priority: Annotated[int, Meta(description="The priority by which they count as victims.")]


class PodGroupData(Data, frozen=True):
    """The decision for the pod's group: kube-scheduler tries its members together."""

    namespace: Annotated[str, Meta(description="The namespace of the PodGroup.")]
    name: Annotated[str, Meta(description="The name of the PodGroup.")]
    min_count: Annotated[
        int | None, Meta(description="minCount of the gang; null for the basic policy, which needs one member.")
    ]
    priority: Annotated[int, Meta(description="The priority of the PodGroup.")]
    evicted_as_a_whole: Annotated[
        bool, Meta(description="True if preemption evicts all members or none (disruptionMode all, or PodGroup).")
    ]
    topology_key: Annotated[str, Meta(description="The label of the topology constraint; empty if there is none.")]
    outcome: Annotated[GroupOutcome, Meta(description="The outcome of the attempt at the group.")]
    message: Annotated[str, Meta(description="The message of the group, in kube-scheduler's words; else empty.")]
    scheduled: Annotated[int, Meta(description="The number of members that are on nodes in the snapshot.")]
    fitting: Annotated[
        int, Meta(description="The number of other members that find a node, in the placement in which most do.")
    ]
    members: Annotated[
        tuple[PodGroupMemberData, ...], Meta(description="The members without a node, in the order of the attempt.")
    ]
    untried: Annotated[
        int,
        Meta(
            description="The number of members, unlike those that find no node, that are not tried, because minCount "
            "cannot be met without those."
        ),
    ] = 0
    placements: Annotated[
        tuple[PodGroupPlacementData, ...],
        Meta(description="The placements that were tried; empty without a topology constraint."),
    ] = ()
    victims: Annotated[
        tuple[PodGroupVictimData, ...],
        Meta(description="The pods that are evicted for the group, the most important first."),
    ] = ()
    condition: Annotated[
        PodGroupConditionData | None,
        Meta(description="The condition that the attempt writes on the PodGroup; null if nothing changes."),
    ] = None

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
        """The group in words: ``gang ml/train``, or ``pod group ml/train`` for the basic policy."""
        return f"{'pod group' if self.min_count is None else 'gang'} {self.key}"

    @property
    def count(self) -> str:
        """The members that have or find a node, and the number that is needed, in words.

        If several placements were tried, they begin with the placement that the numbers are about.
        """
        verb = "have" if self.is_rest and not self.fitting else "find"
        has = f"{self._place}{self.scheduled + self.fitting} of {self.size} members {verb} a node"
        if self.min_count is None:
            return has
        untried = f" and {self.untried} {'is' if self.untried == 1 else 'are'} not tried" if self.untried else ""
        return f"{has}, {self.min_count} are needed{untried}"

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
