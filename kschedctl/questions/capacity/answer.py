"""The remaining capacity for copies of pods, as data: printed by ``capacity -o json``, and the source of its text.

The form is part of the public interface. ``schema.json`` describes it and is made from these types.
"""

from typing import Annotated

from kschedctl.common.wording import counted
from kschedctl.questions.answer import AnswerList, ClusterAnswer, Data
from kschedctl.questions.answer_parts import AppliedData, DiagnosisData, PodGroupData
from kschedctl.questions.explain.answer import NodeData, PodData


class NodeCopiesData(Data, frozen=True):
    """A node that copies are scheduled to."""

    node: Annotated[str, "The node."]
    zone: Annotated[str, "The value of the node's zone label; empty if the node has none."]
    copies: Annotated[int, "The number of copies; of a pod group, the number of their pods."]


class ZoneCopiesData(Data, frozen=True):
    """The copies that are scheduled to a zone."""

    zone: Annotated[str, "The zone; empty for the nodes without a zone label."]
    nodes: Annotated[int, "The number of nodes in the zone with at least one copy."]
    copies: Annotated[int, "The number of copies; of a pod group, the number of their pods."]


class DomainCopiesData(Data, frozen=True):
    """A domain of the topology constraint of a pod group."""

    name: Annotated[str, "The value of the topology label."]
    copies: Annotated[int, "The number of copies of the group that fit there."]


class GangCopiesData(Data, frozen=True):
    """A pod group that is copied: a copy is counted only if all of its pods find a node."""

    namespace: Annotated[str, "The namespace of the PodGroup."]
    name: Annotated[str, "The name of the PodGroup."]
    asked: Annotated[str, "The requested pod, or the first of several, as namespace/name."]
    pods: Annotated[int, "The number of pods of one copy."]
    min_count: Annotated[int | None, "minCount of the gang; null for the basic policy."]
    domains: Annotated[
        tuple[DomainCopiesData, ...],
        "The domains of the topology constraint, by name; empty if there is no constraint.",
    ]
    next: Annotated[PodGroupData | None, "The decision for the next copy; null if PreEnqueue holds its pods back."]

    @property
    def title(self) -> str:
        """The group in words: ``gang ml/train``, or ``pod group ml/train`` for the basic policy."""
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def kind(self) -> str:
        """The word for the group: ``gang``, or ``pod group`` for the basic policy."""
        return "pod group" if self.min_count is None else "gang"


class MoreCopiesData(AppliedData, frozen=True):
    """Changes with which more copies fit: they were made, and the copies counted again."""

    copies: Annotated[int, "The number of further copies that fit with the changes."]
    bounded: Annotated[bool, "True if the count stopped at 100 copies more than without the changes."]


class PodCapacity(ClusterAnswer, frozen=True, kw_only=True, tag="Capacity"):
    """The number of further copies of one pod or pod group that fit, scheduled one after another without preemption."""

    summary: Annotated[str, "The result in one sentence."]
    name: Annotated[str, "The pod, workload or pod group that is copied, with its kind."]
    pod: Annotated[PodData, "The pod that is copied; of a pod group, the first one that finds no node, or the first."]
    copies: Annotated[
        int,
        "The number of further copies that fit. The first copies of a workload of the cluster are the pods that "
        "it has no node for.",
    ]
    bounded: Annotated[bool, "True if the count stopped at the limit (--max), so that more copies may fit."]
    nodes: Annotated[tuple[NodeCopiesData, ...], "The nodes that the copies are scheduled to, most copies first."]
    zones: Annotated[tuple[ZoneCopiesData, ...], "The copies by zone."]
    message: Annotated[str, "The message of kube-scheduler for the next copy; empty if that copy fits."]
    gate: Annotated[str, "The reason why kube-scheduler does not try the pod; empty if it does."]
    refusals: Annotated[tuple[NodeData, ...], "The nodes that reject the next copy, with the reasons."]
    diagnoses: Annotated[
        tuple[DiagnosisData, ...],
        "The causes for which the next copy does not fit, the most important one first; empty if it fits, and for pod "
        "groups.",
    ] = ()
    suggestions: Annotated[
        tuple[MoreCopiesData, ...],
        "Changes with which more copies fit and that evict no pod; empty if none were searched for.",
    ] = ()
    gang: Annotated[
        GangCopiesData | None, "The pod group that is copied; null if a pod is copied that is scheduled by itself."
    ] = None

    @property
    def copied(self) -> str:
        """The name of the copied pod, as namespace/name, without the "+NUMBER" suffix of copies."""
        if self.gang is not None:
            return self.gang.asked
        return self.pod.key.partition("+")[0]

    @property
    def yes(self) -> bool:
        """True if at least one more copy fits."""
        return self.copies > 0

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return one line per node with its copies, ``node/NAME COPIES``, after the copied object unless ``single``."""
        start = "" if single else f"{self.name} "
        return tuple(f"{start}node/{room.node} {room.copies}" for room in self.nodes)


class CapacityList(AnswerList, frozen=True, kw_only=True):
    """The answers for several pods, each computed independently."""

    items: Annotated[tuple[PodCapacity, ...], "The answers, one per pod."]

    def summed_up(self) -> str:
        workloads = counted(len(self.items), "workload")
        return f"{workloads}, each counted independently, without the copies of the others"
