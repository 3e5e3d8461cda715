"""The two sides of a comparison, and their answers for pods."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kschedctl.cluster.records import PodRecord
from kschedctl.common.arrays import PodIndices
from kschedctl.objects.device import ResourceClaim
from kschedctl.objects.pod import Pod
from kschedctl.questions.diff.answer import OutcomeData, SideData, SideOutcome
from kschedctl.questions.provenance import PodSubject, envelope, provenance
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.cycle.rescheduled import NodeColumns, Rescheduled, RescheduledPods
from kschedctl.scheduler.devices.extended_resources import is_extended_claim
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.trials.completeness import Missing
from kschedctl.trials.loaded_cluster import LoadedCluster

#: Namespace and name of a pod.
Key = tuple[str, str]
#: Alike pods on fewer nodes are decided for one by one, which costs less.
_FEW_NODES: Final = 4


@dataclass(frozen=True, slots=True)
class SideAnswer:
    """The answer of one side for a pod."""

    outcome: OutcomeData
    #: The verdicts on nodes; ``None`` if there are none.
    columns: NodeColumns | None = None
    #: The decision; ``None`` if the side lacks the pod, no profile is responsible for it, or the pod is decided for
    #: together with others.
    decision: Decision | None = None

    @property
    def is_decided(self) -> bool:
        """True if the side has a decision for the pod."""
        return self.decision is not None or self.columns is not None

    @classmethod
    def of(cls, decision: Decision, node_name: str = "") -> "SideAnswer":
        """Return the answer of a decision for a pod that runs on a node, if any."""
        outcome = OutcomeData(
            outcome=SideOutcome(decision.outcome),
            node_name=node_name,
            nodes=decision.best,
            feasible_nodes=len(decision.statuses.feasible) if decision.statuses is not None else 0,
            victims=dict(decision.victims),
            message=decision.event_message,
            error=decision.error,
        )
        return cls(outcome, NodeColumns.of(decision), decision)


#: The missing data and the unmodelled features that an answer depends on.
Basis = tuple[Iterable[Missing], Iterable[NotModelled]]


@dataclass(frozen=True, slots=True)
class AlikeAnswers:
    """The answers of one side for some running pods that are alike."""

    rescheduled: Rescheduled
    outcomes: Sequence[OutcomeData]
    missing: dict[Missing, None]

    def basis(self, position: int) -> Basis:
        """Return what the answer for a pod depends on."""
        return self.missing, self.rescheduled.not_modelled.get(position, ())


@dataclass(slots=True)
class Side:
    """A side, and the missing data and unmodelled features that its answers depend on, in the order of finding."""

    cluster: LoadedCluster
    config: str
    new_pods: Mapping[Key, PodSubject]
    #: The running pods that are asked for and alike, as indices into the cluster's pods, by what they have in common;
    #: those on few nodes are left out.
    alike: Mapping[Hashable, PodIndices]
    #: For each of these pods, what it has in common with others, and its index.
    alike_to_others: Mapping[Key, tuple[Hashable, int]]
    _shared: dict[Hashable, "_Shared | None"] = field(default_factory=dict)
    #: The names of nodes that are best for some pod, by their mask.
    _best: dict[bytes, tuple[str, ...]] = field(default_factory=dict)
    #: The pods, of those that are like others, for which a cycle has to decide.
    _alone: set[int] = field(default_factory=set)
    missing: dict[Missing, None] = field(default_factory=dict)
    not_modelled: dict[NotModelled, None] = field(default_factory=dict)

    @classmethod
    def of(
        cls, asked: Iterable[Key], cluster: LoadedCluster, config: str, new_pods: Mapping[Key, PodSubject]
    ) -> "Side":
        """Return a side that is asked for some pods."""
        pods = cluster.pods
        alike: dict[Hashable, list[int]] = {}
        found: dict[Key, tuple[Hashable, int]] = {}
        for key in asked:
            index = None if key in new_pods else pods.index.get(key)
            if index is not None and pods.node_row[index] >= 0:
                found[key] = _likeness(pods.records[index]), index
                alike.setdefault(found[key][0], []).append(index)
        groups = {kind: np.array(own, dtype=np.int64) for kind, own in alike.items()}
        many = {kind: own for kind, own in groups.items() if len(np.unique(pods.node_row[own])) >= _FEW_NODES}
        return cls(cluster, config, new_pods, many, {key: each for key, each in found.items() if each[0] in many})

    def kind(self, key: Key) -> object:
        """Return a value that is equal for pods that differ only in their names; each such kind is decided for once."""
        if key in self.new_pods:
            return key
        index = self.cluster.pods.index.get(key)
        return None if index is None else self.cluster.kind_at(index)

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
            return SideAnswer(OutcomeData(SideOutcome.ABSENT))
        pod, where = (given.pod, given.where) if given is not None else (cluster.pods.pod(index or 0), "")
        admitted = cluster.admit(pod, where=where).pod
        node_name = cluster.node_name(admitted)
        if admitted.spec.scheduler_name not in cluster.configuration.profiles:
            return SideAnswer(OutcomeData(SideOutcome.OTHER_SCHEDULER, node_name))
        decision = cluster.decide_admitted(admitted)
        if not trial:
            self.report((cluster.missing(pod, decision), decision.not_modelled))
        return SideAnswer.of(decision, node_name)

    def report(self, basis: Basis) -> None:
        """Add what an answer of the comparison depends on."""
        missing, not_modelled = basis
        self.missing |= dict.fromkeys(missing)
        self.not_modelled |= dict.fromkeys(not_modelled)

    def answers(self, likeness: Hashable, indices: Sequence[int]) -> AlikeAnswers | None:
        """Return the answers for some running pods that are alike; ``None`` if each has to be decided for alone."""
        pods = self.cluster.pods
        if likeness not in self._shared:
            self._shared[likeness] = _Shared.of(self.cluster, pods.pod(indices[0]), self.alike[likeness])
        shared = self._shared[likeness]
        found = shared.decisions.decide(np.array(indices, dtype=np.int64)) if shared is not None else None
        if shared is None or found is None:
            self._alone.update(indices)
            return None
        outcomes = []
        for index, decided, best, n_feasible in zip(
            indices, found.decided.tolist(), found.columns.best, found.columns.fits.sum(axis=1).tolist(), strict=True
        ):
            if not decided:
                self._alone.add(index)
            names = self._best.get(mask := best.tobytes())
            if names is None:
                names = self._best[mask] = self.cluster.nodes.sorted_names(np.flatnonzero(best))
            outcomes.append(OutcomeData(SideOutcome.SCHEDULED, pods.records[index].node_name, names, n_feasible))
        return AlikeAnswers(found, outcomes, shared.missing)

    def _of_alike(self, key: Key) -> SideAnswer | None:
        """Return the answer for a running pod that is like others; ``None`` if it has to be found for it alone."""
        likeness, index = self.alike_to_others.get(key, (None, -1))
        if index < 0 or index in self._alone:
            return None
        found = self.answers(likeness, [index])
        if found is None or not found.rescheduled.decided[0]:
            return None
        self.report(found.basis(0))
        return SideAnswer(found.outcomes[0], found.rescheduled.columns)

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
    def of(cls, cluster: LoadedCluster, pod: Pod, indices: PodIndices) -> "_Shared | None":
        """Return what pods share, one of which is given; ``None`` if each of them may be decided for by other rules."""
        spec = pod.spec
        if cluster.pod_edits or cluster.configuration.extenders or not cluster.scheduler.knows(pod):
            return None
        # Members of groups are decided for together, claims may be a pod's own, and a nomination decides.
        if spec.pod_group_name or spec.resource_claims or pod.status.nominated_node_name:
            return None
        if any(map(is_extended_claim, cluster.cluster.list(ResourceClaim))) or cluster.admit(pod).pod != pod:
            return None
        decisions = RescheduledPods(cluster.scheduler.framework(spec.scheduler_name), pod, indices)
        return cls(decisions, dict.fromkeys(cluster.missing_for(pod, preempts=False, is_scored=True)))
