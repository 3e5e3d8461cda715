"""From a comparison with kube-scheduler to its data: one reason once, with the pods that it holds for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.report.envelope import Provenance, envelope
from kschedctl.report.explain.data import StatusData
from kschedctl.report.merging import merge, shape
from kschedctl.report.verify.data import (
    BoundCountsData,
    BoundPodData,
    InfeasibleGroupData,
    PendingCountsData,
    PendingGroupData,
    PodData,
    RecordedCaseData,
    VerificationData,
)
from kschedctl.scheduler.standing import Standing
from kschedctl.scheduler.verify import BoundPod, Match, PendingPod, Verification


def verification_data(
    found: Verification, cluster: Cluster, provenance: Provenance, recorded: RecordedCaseData | None = None
) -> VerificationData:
    """Put a comparison into data.

    Parameters
    ----------
    found : Verification
        The comparison.
    cluster : Cluster
        What was compared over.
    provenance : Provenance
        What it rests on.
    recorded : RecordedCaseData, optional
        The case that was written.
    """
    outcomes = Counter(each.outcome for each in found.pending)
    pending = PendingCountsData(
        outcomes[Match.EQUAL], outcomes[Match.DIFFERENT], outcomes[Match.NOT_TRIED], outcomes[Match.OTHER_SCHEDULER]
    )
    standings = Counter(each.standing for each in found.misplaced)
    bound = BoundCountsData(
        found.bound.n_feasible,
        len(found.misplaced),
        standings[Standing.DIFFERENT],
        standings[Standing.CHANGED],
        standings[Standing.CORDONED],
        standings[Standing.WHAT_IF],
        len(found.bound.others),
        len(found.bound.mirrored),
        len(found.bound.lost),
    )
    return VerificationData(
        equal=found.equal,
        summary=_summary(pending, bound),
        **envelope(cluster, provenance),
        pending=pending,
        bound=bound,
        pending_groups=tuple(_pending_groups(found.pending, cluster)),
        infeasible_groups=tuple(_infeasible_groups(found.misplaced, cluster)),
        recorded=recorded,
    )


def _pending_groups(pods: tuple[PendingPod, ...], cluster: Cluster) -> Iterator[PendingGroupData]:
    """Pods with the same messages and causes, where the numbers in causes (ages, counts) may differ."""
    groups: dict[tuple[object, ...], list[PendingPod]] = {}
    for pod in pods:
        key = pod.outcome, pod.theirs, pod.ours, tuple(map(shape, pod.causes))
        groups.setdefault(key, []).append(pod)
    for members in groups.values():
        first = members[0]
        causes = tuple(map(merge, zip(*(member.causes for member in members), strict=True)))
        named = tuple(PodData(*cluster.pods.key(member.pod).split("/")) for member in members)
        yield PendingGroupData(first.outcome, first.theirs, first.ours, causes, named)


def _infeasible_groups(pods: tuple[BoundPod, ...], cluster: Cluster) -> Iterator[InfeasibleGroupData]:
    """What is a difference comes first, and of one standing the larger group."""
    groups: dict[tuple[object, ...], list[BoundPod]] = {}
    for pod in pods:
        groups.setdefault((pod.standing, pod.status, pod.causes), []).append(pod)
    order = [*Standing]
    for members in sorted(groups.values(), key=lambda group: (order.index(group[0].standing), -len(group))):
        first = members[0]
        records = [cluster.pods.records[member.found.pod] for member in members]
        yield InfeasibleGroupData(
            first.standing,
            StatusData(str(first.status.code), first.status.plugin, first.status.reasons),
            first.causes,
            tuple(BoundPodData(each.metadata.namespace, each.metadata.name, each.node_name) for each in records),
        )


def _summary(pending: PendingCountsData, bound: BoundCountsData) -> str:
    compared = pending.equal + pending.different + bound.feasible + bound.infeasible
    if not compared:
        return "There is nothing to compare: no pod runs on a node or has a message of kube-scheduler's."
    return " ".join([_verdict(pending, bound), *_explained(bound)])


def _verdict(pending: PendingCountsData, bound: BoundCountsData) -> str:
    differences = pending.different + bound.different
    if not differences:
        kept = f"{counted(pending.equal, 'pending pod')} with kube-scheduler's own message"
        return f"No difference: {kept}, {counted(bound.feasible, 'running pod')} that would still fit."
    parts = []
    if pending.different:
        parts.append(f"{counted(pending.different, 'pending pod')} of {pending.equal + pending.different}")
    if bound.different:
        parts.append(f"{counted(bound.different, 'running pod')} of {bound.feasible + bound.infeasible}")
    return f"{counted(differences, 'difference')} to what kube-scheduler did: {' and '.join(parts)}."


def _explained(bound: BoundCountsData) -> Iterator[str]:
    """What is no difference although pods would not fit any more."""
    if bound.changed:
        yield f"{counted(bound.changed, 'running pod')} would not fit any more, which a later change may explain."
    if bound.cordoned:
        verb = "is" if bound.cordoned == 1 else "are"
        yield f"{counted(bound.cordoned, 'running pod')} {verb} on cordoned nodes, where pods may stay."
    if bound.what_if:
        yield f"{counted(bound.what_if, 'running pod')} would not fit with the what-ifs."
