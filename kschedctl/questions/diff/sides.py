"""The two sides of a comparison, and their answers for pods."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from kschedctl.cluster.records import PodRecord
from kschedctl.objects.device import ResourceClaim
from kschedctl.objects.pod import Pod
from kschedctl.questions.diff.answer import OutcomeData, SideData, SideOutcome
from kschedctl.questions.provenance import PodSubject, envelope, provenance
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.rescheduled import RescheduledPods
from kschedctl.scheduler.devices.extended_resources import is_extended_claim
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.trials.completeness import Missing
from kschedctl.trials.loaded_cluster import LoadedCluster

#: Namespace and name of a pod.
Key = tuple[str, str]
#: Alike pods on fewer nodes are decided for one by one, which costs less.
_FEW_NODES: Final = 4


@dataclass(frozen=True)
class SideAnswer:
    """The answer of one side for a pod."""

    #: The decision; ``None`` if the side lacks the pod or no profile is responsible for it.
    decision: Decision | None
    #: The node that the pod runs on.
    node_name: str = ""
    #: True if the side has the pod.
    there: bool = True

    @cached_property
    def outcome(self) -> OutcomeData:
        decision = self.decision
        if decision is None:
            return OutcomeData(SideOutcome.OTHER_SCHEDULER if self.there else SideOutcome.ABSENT, self.node_name)
        return OutcomeData(
            outcome=SideOutcome(decision.outcome),
            node_name=self.node_name,
            nodes=decision.best,
            feasible_nodes=len(decision.statuses.feasible) if decision.statuses is not None else 0,
            victims=dict(decision.victims),
            message=decision.event_message,
            error=decision.error,
        )


@dataclass(slots=True)
class Side:
    """A side, and the missing data and unmodelled features that its answers depend on, in the order of finding."""

    cluster: LoadedCluster
    config: str
    new_pods: Mapping[Key, PodSubject]
    #: The running pods that are asked for and alike, as indices into the cluster's pods, by what they have in common;
    #: those on few nodes are left out.
    alike: Mapping[Hashable, Sequence[int]]
    _shared: dict[Hashable, "_Shared | None"] = field(default_factory=dict)
    missing: dict[Missing, None] = field(default_factory=dict)
    not_modelled: dict[NotModelled, None] = field(default_factory=dict)

    @classmethod
    def of(
        cls, asked: Iterable[Key], cluster: LoadedCluster, config: str, new_pods: Mapping[Key, PodSubject]
    ) -> "Side":
        """Return a side that is asked for some pods."""
        pods = cluster.pods
        alike: dict[Hashable, list[int]] = {}
        for key in asked:
            index = None if key in new_pods else pods.index.get(key)
            if index is not None and pods.node_row[index] >= 0:
                alike.setdefault(_likeness(pods.records[index]), []).append(index)
        many = {kind: own for kind, own in alike.items() if len(np.unique(pods.node_row[own])) >= _FEW_NODES}
        return cls(cluster, config, new_pods, many)

    def kind(self, key: Key) -> object:
        """Return a value that is equal for pods that differ only in their names; each such kind is decided for once."""
        pods = self.cluster.pods
        index = pods.index.get(key)
        if key in self.new_pods:
            return key
        return None if index is None else self.cluster.kind(pods.pod(index))

    def answer(self, key: Key, cluster: LoadedCluster | None = None, *, trial: bool = False) -> SideAnswer:
        """Return the answer for a pod, in a cluster derived from the side's if one is given.

        Args:
            trial: True if the answer is not part of the comparison, so that what it depends on is not reported.
        """
        if cluster is None and (found := self._of_alike(key)) is not None:
            return found
        given, cluster = self.new_pods.get(key), cluster or self.cluster
        index = cluster.pods.index.get(key)
        if given is None and index is None:
            return SideAnswer(None, there=False)
        pod, where = (given.pod, given.where) if given is not None else (cluster.pods.pod(index or 0), "")
        admitted = cluster.admit(pod, where=where).pod
        node_name = cluster.node_name(admitted)
        if admitted.spec.scheduler_name not in cluster.configuration.profiles:
            return SideAnswer(None, node_name)
        decision = cluster.decide_admitted(admitted)
        if trial:
            return SideAnswer(decision, node_name)
        self.missing |= dict.fromkeys(cluster.missing(pod, decision))
        self.not_modelled |= dict.fromkeys(decision.not_modelled)
        return SideAnswer(decision, node_name)

    def _of_alike(self, key: Key) -> SideAnswer | None:
        """Return the answer for a running pod that is like others; ``None`` if it has to be found for it alone."""
        pods = self.cluster.pods
        index = None if key in self.new_pods else pods.index.get(key)
        if index is None:
            return None
        record = pods.records[index]
        likeness = _likeness(record)
        if likeness not in self.alike:
            return None
        pod = pods.pod(index)
        if likeness not in self._shared:
            self._shared[likeness] = _Shared.of(self.cluster, pod, self.alike[likeness])
        shared = self._shared[likeness]
        decision = shared.decisions.decide(pod, index) if shared is not None else None
        if shared is None or decision is None:
            return None
        self.missing |= shared.missing
        self.not_modelled |= dict.fromkeys(decision.not_modelled)
        return SideAnswer(decision, record.node_name)

    def data(self) -> SideData:
        """Return the provenance of the side."""
        shared = envelope(self.cluster.cluster, provenance(self.cluster, tuple(self.missing)), self.not_modelled)
        return SideData(**shared, config=self.config)


def _likeness(record: PodRecord) -> Hashable:
    """Return a value that is equal for running pods that differ only in their names and nodes."""
    return record.class_id, id(record.spec), record.metadata.owner_references, record.status.nominated_node_name


@dataclass(frozen=True, slots=True)
class _Shared:
    """The part of the answers for running pods that those of alike pods share."""

    decisions: RescheduledPods
    #: The data that is missing for each of them, if it fits somewhere.
    missing: dict[Missing, None]

    @classmethod
    def of(cls, cluster: LoadedCluster, pod: Pod, indices: Sequence[int]) -> "_Shared | None":
        """Return what pods share, one of which is given; ``None`` if each of them may be decided for by other rules."""
        spec = pod.spec
        if cluster.pod_edits or cluster.configuration.extenders or not cluster.scheduler.knows(pod):
            return None
        # Members of groups are decided for together, claims may be a pod's own, and a nomination decides.
        if spec.pod_group_name or spec.resource_claims or pod.status.nominated_node_name:
            return None
        if any(map(is_extended_claim, cluster.cluster.list(ResourceClaim))) or cluster.admit(pod).pod != pod:
            return None
        decisions = RescheduledPods(
            cluster.scheduler.framework(spec.scheduler_name), pod, np.array(indices, dtype=np.int64)
        )
        return cls(decisions, dict.fromkeys(cluster.missing_for(pod, preempts=False, is_scored=True)))
