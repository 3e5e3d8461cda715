"""From a comparison with kube-scheduler to its data."""

from __future__ import annotations

from kschedctl.api.wording import counted
from kschedctl.cluster.cluster import Cluster
from kschedctl.report.envelope import Provenance, envelope
from kschedctl.report.explain.data import StatusData
from kschedctl.report.verify.data import (
    BoundCountsData,
    InfeasiblePodData,
    PendingCountsData,
    PendingPodData,
    VerificationData,
)
from kschedctl.scheduler.verify import Match, Verification


def verification_data(found: Verification, cluster: Cluster, provenance: Provenance) -> VerificationData:
    """Put a comparison into data.

    Parameters
    ----------
    found : Verification
        The comparison.
    cluster : Cluster
        What was compared over.
    provenance : Provenance
        What it rests on.
    """
    outcomes = [each.outcome for each in found.pending]
    pending = PendingCountsData(
        outcomes.count(Match.EQUAL),
        outcomes.count(Match.DIFFERENT),
        outcomes.count(Match.NOT_TRIED),
        outcomes.count(Match.OTHER_SCHEDULER),
    )
    bound = BoundCountsData(
        found.bound.n_feasible,
        len(found.misplaced),
        len(found.bound.others),
        len(found.bound.mirrored),
        len(found.bound.lost),
    )
    records = cluster.pods.records
    return VerificationData(
        equal=found.equal,
        summary=_summary(pending, bound),
        **envelope(cluster, provenance),
        pending=pending,
        bound=bound,
        pending_pods=tuple(
            PendingPodData(
                records[each.pod].metadata.namespace,
                records[each.pod].metadata.name,
                records[each.pod].spec.scheduler_name,
                each.outcome,
                each.theirs,
                each.ours,
                each.causes,
            )
            for each in found.pending
        ),
        infeasible_pods=tuple(
            InfeasiblePodData(
                records[each.found.pod].metadata.namespace,
                records[each.found.pod].metadata.name,
                records[each.found.pod].node_name,
                StatusData(str(each.found.status.code), each.found.status.plugin, each.found.status.reasons),
                each.causes,
            )
            for each in found.misplaced
        ),
    )


def _summary(pending: PendingCountsData, bound: BoundCountsData) -> str:
    compared = pending.equal + pending.different + bound.feasible + bound.infeasible
    if not compared:
        return "There is nothing to compare: no pod runs on a node or has a message of kube-scheduler's."
    differences = pending.different + bound.infeasible
    if not differences:
        kept = f"{counted(pending.equal, 'pending pod')} with kube-scheduler's own message"
        return f"No difference: {kept}, {counted(bound.feasible, 'running pod')} that would still fit."
    parts = []
    if pending.different:
        parts.append(f"{counted(pending.different, 'pending pod')} of {pending.equal + pending.different}")
    if bound.infeasible:
        parts.append(f"{counted(bound.infeasible, 'running pod')} of {bound.feasible + bound.infeasible}")
    return f"{counted(differences, 'difference')} to what kube-scheduler did: {' and '.join(parts)}."
