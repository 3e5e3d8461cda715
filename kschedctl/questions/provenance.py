"""The provenance of an answer about a loaded cluster: rules, snapshot, changes and cautions."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.findings import Where
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.disruption import computed_budgets
from kschedctl.diagnosis.diagnosis import Diagnosis
from kschedctl.objects.kinds import plural
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.pod import Pod
from kschedctl.objects.releases.choice import ReleaseChoice
from kschedctl.objects.workload import DaemonSet
from kschedctl.questions.answer import EnvelopeFields, MissingData, NotModelledData, RulesData, SnapshotData
from kschedctl.questions.answer_parts import DiagnosisData, ExpansionData, GroupAnswerData
from kschedctl.questions.explain.answer import WorkloadData
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.trials.completeness import Missing, not_read
from kschedctl.trials.loaded_cluster import LoadedCluster

if TYPE_CHECKING:
    from kschedctl.autoscaler.expansion import Expansion
    from kschedctl.trials.simulate.attempts import Attempt
    from kschedctl.trials.whatif.pods import WorkloadPods


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """The provenance of an answer."""

    #: The release whose rules apply, and the reason for the choice.
    release_choice: ReleaseChoice
    #: The files that the snapshot was read from.
    paths: tuple[str, ...]
    #: The number of pods in the snapshot.
    n_pods: int
    #: The data that the snapshot lacks for this answer.
    missing: tuple[Missing, ...] = ()
    #: Other warnings that make the answer uncertain.
    doubts: tuple[str, ...] = ()
    #: Warnings that leave the answer exact.
    warnings: tuple[str, ...] = ()
    #: The what-ifs that were applied to the snapshot, in words.
    changes: tuple[str, ...] = ()


def envelope(cluster: Cluster, provenance: Provenance, not_modelled: Iterable[NotModelled] = ()) -> EnvelopeFields:
    """Return the envelope of an answer, to be passed to its type.

    Args:
        not_modelled: The features that the answer depends on and that are not modelled.
    """
    choice = provenance.release_choice
    doubts = tuple(text for text in (choice.warning, *provenance.doubts) if text)
    return EnvelopeFields(
        rules=RulesData(
            kubernetes_version=choice.release.version,
            chosen_by=choice.chosen_by,
            why=choice.why,
            cluster_version=choice.cluster_version,
            feature_gates=dict(sorted(choice.release.features.items())),
        ),
        snapshot=SnapshotData(
            paths=provenance.paths,
            nodes=len(cluster.nodes),
            pods=provenance.n_pods,
            written_at=cluster.taken_at,
            changes=provenance.changes,
        ),
        warnings=(*doubts, *provenance.warnings),
        doubts=doubts or UNSET,
        missing=tuple(map(missing_data, provenance.missing)),
        not_modelled=tuple(NotModelledData(n.feature, n.effect) for n in not_modelled),
    )


def missing_data(missing: Missing) -> MissingData:
    """Return a missing kind as data."""
    permission = missing.permission or UNSET
    return MissingData(missing.kind, missing.needed_for, missing.effect, permission, missing.decides)


def missing_for_attempts(
    cluster: LoadedCluster, attempts: "Iterable[Attempt]", *, is_new: bool | None = None
) -> tuple[Missing, ...]:
    """Return the data that is missing for the pods of scheduling cycles; pods that share a spec count once.

    Args:
        is_new: True if the pods go through admission; by default those that the cluster does not have.
    """
    alike: dict[tuple[str, int, bool, bool], Attempt] = {}
    for attempt in attempts:
        pod = attempt.search.pod
        alike.setdefault((pod.metadata.namespace, id(pod.spec), bool(attempt.node), bool(attempt.victims)), attempt)
    return tuple(
        dict.fromkeys(
            missing
            for each in alike.values()
            for missing in cluster.missing_for(
                each.search.pod, is_new=is_new, preempts=bool(each.victims), is_scored=bool(each.node)
            )
        )
    )


def provenance(
    cluster: LoadedCluster,
    missing: Iterable[Missing] = (),
    *,
    pod: Pod | None = None,
    many: bool = False,
    evicts: bool = False,
) -> Provenance:
    """Return the provenance of an answer.

    Args:
        missing: The data that the cluster lacks for the answer, besides the kinds that were not read.
        pod: The pod that the answer is about: what-ifs that change nothing in it become warnings.
        many: True if many pods go through the queue, so that the queue's feature gates and disruption budgets
            matter.
        evicts: True if the answer is about victims, so that disruption budgets matter.
    """
    missing = tuple(missing)
    return Provenance(
        release_choice=cluster.release_choice,
        paths=cluster.snapshot.paths,
        n_pods=len(cluster.pods),
        missing=tuple(dict.fromkeys((*not_read(cluster.cluster), *missing))),
        doubts=cluster.cluster.warnings,
        warnings=tuple(_warnings(cluster, missing, pod, many=many, evicts=evicts)),
        changes=cluster.snapshot.changes,
    )


def _warnings(
    cluster: LoadedCluster, missing: Iterable[Missing], pod: Pod | None, *, many: bool, evicts: bool
) -> Iterator[str]:
    """Yield warnings: about what was given or could not be listed and has no effect, and about computed budgets."""
    others = sorted(cluster.cluster.not_listed.difference(lack.kind for lack in missing))
    if others:
        names = [plural(kind.lower()) for kind in others]
        yield f"{listed(names, most=3)} cannot be listed by this user, but the answer does not depend on them"
    release = cluster.release_choice.release
    gates = [gate for gate in release.idle_gates if not (many and gate in release.queue_gates)]
    if gates:
        verb = "gate {} has" if len(gates) == 1 else "gates {} have"
        yield f"feature {verb.format(listed(gates))} no effect on the answer"
    budgets = computed_budgets(cluster.cluster) if many or evicts else ()
    if budgets:
        numbers = [
            f"{budget.namespace}/{budget.name} allows {counted(budget.status.disruptions_allowed or 0, 'disruption')} "
            f"({budget.status.current_healthy} healthy, {budget.status.desired_healthy} desired)"
            for budget in budgets
        ]
        what = "a PodDisruptionBudget has" if len(budgets) == 1 else f"{len(budgets)} PodDisruptionBudgets have"
        yield (
            f"{what} no current status, so it is computed as the disruption controller does: {listed(numbers, most=3)}"
        )
    yield from cluster.configuration.warnings
    if pod is not None:
        yield from (f"what if: {edit} changes nothing in {pod.key}" for edit in cluster.idle_edits(pod))


# A pod that a question is about, and the pods of a workload that one is about.

#: Option values by option name; together they name exactly one pod or workload.
Arguments = Mapping[str, object]


class PodSubject(msgspec.Struct, frozen=True):
    """A pod that a question is about."""

    pod: Pod
    #: The options that name only this pod, such as ``{"filename": ("web.yaml",)}``; empty if its name does.
    arguments: Arguments = msgspec.field(default_factory=dict)
    #: The place in a manifest that the pod was read from; empty for a pod of the cluster.
    where: Where = ""
    #: The workload that creates the pod, if the request names the workload instead of the pod.
    workload: WorkloadData | None = None
    #: The only node that the pod is for, if a DaemonSet creates it.
    node: str = ""
    #: The number of pods that differ only in their name, this one included.
    replicas: int = 1

    @property
    def key(self) -> str:
        """The pod's name, as namespace/name."""
        return self.pod.key


def pods_asked_about(cluster: LoadedCluster, workload: ApiObject) -> "WorkloadPods":
    """Return the pods of a workload of the cluster; if none is pending or missing, an additional one is missing.

    A running pod of a DaemonSet counts as missing: the question is about the pod that replaces it.

    Raises ManifestError if an API server would refuse the workload.
    """
    # Most questions name no workload.
    from kschedctl.controllers.workloads.pods import node_of
    from kschedctl.trials.whatif.pods import workload_pods

    where = workload.ref
    found = workload_pods(cluster.cluster, workload, where=where)
    if isinstance(workload, DaemonSet):
        pending = {node_of(cluster.pods.records[i].spec) for i in found.pending}
        missing = tuple(one for one in cluster.pods_of(workload, where=where) if one.node not in pending)
        return replace(found, running=[], missing=missing, wanted=len(found.pending) + len(missing))
    if found.pending or found.missing:
        return found
    return workload_pods(cluster.cluster, workload, where=where, more=1)


# The form in which all answers have diagnoses.


def expansion_data(found: "Expansion") -> ExpansionData:
    """Return an autoscaler's answer as data."""
    offer = found.offer
    return ExpansionData(
        autoscaler=found.autoscaler,
        summary=found.words,
        adds=offer is not None,
        instance_types=offer.types if offer is not None else (),
        zones=offer.zones if offer is not None else (),
        price=offer.price if offer is not None else None,
        groups=tuple(GroupAnswerData(each.group, each.reason, each.said) for each in found.refusals),
        source=found.source,
    )


def diagnosis_data(diagnosis: Diagnosis) -> DiagnosisData:
    """Return a diagnosis as data."""
    return DiagnosisData(diagnosis.rule, diagnosis.cause, diagnosis.evidence, diagnosis.checks)
